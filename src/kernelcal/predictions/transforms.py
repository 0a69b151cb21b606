"""Characteristic functions and quantiles that families need and scipy.special lacks."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["dirichlet_wave", "log_gamma_quantile", "log_normal_wave", "student_wave"]

_DIGITS = 38.0  # exp(-38) is below the rounding of double precision
_FEWER_DIGITS = 30.0  # of sums whose terms are many and costly: an absolute error of 1e-12
_LARGE_ORDER = 60.0  # of a Bessel function that is expanded: with five terms the relative error is below 1e-11


def student_wave(df: np.ndarray, t: np.ndarray) -> np.ndarray:
    """``E exp(i t X)`` for Student's t with scale 1: ``2 K_p(x) (x/2)^p / Gamma(p)``, p = df/2, x = sqrt(df) |t|."""
    from scipy.special import gammaln, kve  # imported when needed: the import of kernelcal stays light

    p, x = (np.array(v, dtype=np.float64) for v in np.broadcast_arrays(df / 2, np.sqrt(df) * np.abs(t)))
    found = np.ones(x.shape)
    large, near = p > _LARGE_ORDER, (p > 2) & (x < 1e-2)
    found[large] = _large_order(p[large], x[large])
    series = near & ~large
    u, q = (x[series] / 2) ** 2, p[series]
    found[series] = 1 - u / (q - 1) + 0.5 * u * u / ((q - 1) * (q - 2))
    rest = ~large & ~near & (x > 0)
    q, z = p[rest], x[rest]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        logs = np.log(kve(q, z)) - z + q * np.log(z / 2) + math.log(2) - gammaln(q)
    found[rest] = np.where(np.isnan(logs) | (logs > 0), 1.0, np.exp(np.minimum(logs, 0.0)))
    return found


def _large_order(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same by Debye's expansion of the Bessel function (DLMF 10.41.4), for large p."""
    z = x / p
    root = np.sqrt(1 + z * z)
    u = 1 / root
    square = u * u
    terms = (
        u * (3 - 5 * square) / 24,
        square * (81 - 462 * square + 385 * square**2) / 1152,
        u**3 * (30375 - 369603 * square + 765765 * square**2 - 425425 * square**3) / 414720,
        square**2
        * (4465125 - 94121676 * square + 349922430 * square**2 - 446185740 * square**3 + 185910725 * square**4)
        / 39813120,
    )
    series = 1 - terms[0] / p + terms[1] / p**2 - terms[2] / p**3 + terms[3] / p**4
    # p eta + p log(z p / 2) with the root of Stirling's formula taken out of Gamma(p): all large terms cancel here
    exponent = p * (1 - root + np.log1p(0.5 * (root - 1)))
    stirling = 1 / (12 * p) - 1 / (360 * p**3) + 1 / (1260 * p**5)
    return np.exp(exponent - stirling) * series / np.sqrt(root)


def log_normal_wave(sigma: np.ndarray, t: np.ndarray) -> np.ndarray:
    """``E exp(i t exp(sigma Z))`` with Z standard normal, for arrays that broadcast: complex.

    The integral over log x is moved into the upper half of the plane, where the wave decays, by the angle
    ``a = min(pi/2, 2 sigma)``; there the trapezoidal rule with step a/6 has an error of about exp(-2 pi 6), whatever t.
    """
    sigma, t = np.broadcast_arrays(sigma, t)
    shape, sigma, t = sigma.shape, sigma.ravel(), t.ravel()
    angle = np.minimum(0.5 * math.pi, 2 * sigma)
    step = angle / 6
    reach = int(np.ceil((math.sqrt(2 * _DIGITS) * sigma / step).max(initial=1.0)))
    total = np.zeros(sigma.shape, dtype=np.complex128)
    turn, moved = np.exp(1j * angle), 0.5 * (angle / sigma) ** 2
    for k in range(-reach, reach + 1):
        s = step * k
        size = np.minimum(s, 700.0)
        gauss = moved - 0.5 * (s / sigma) ** 2 - 1j * s * angle / sigma**2
        total += np.exp(1j * np.abs(t) * np.exp(size) * turn + gauss)
    total *= step / (sigma * math.sqrt(2 * math.pi))
    return np.where(t < 0, total.conj(), total).reshape(shape)


def dirichlet_wave(concentration: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """``E exp(i w.Z)`` for Dirichlet laws, (n, d), and frequencies, (D, d): complex, shape (n, D).

    With the sum A of a row of parameters, ``Gamma(A) / (2 pi i) int exp(s) prod_j (s - i w_j)^{-a_j} ds`` over a
    hyperbola around the points i w_j: the Laplace transform of gamma variables, whose proportions are Dirichlet. The
    trapezoidal rule converges exponentially; it takes some 60 + W nodes, W the range of a frequency.
    """
    from scipy.special import gammaln

    total = concentration.sum(axis=1)
    found, norm = np.empty((len(concentration), len(frequencies)), dtype=np.complex128), gammaln(total)
    for m, w in enumerate(frequencies):
        middle, width = 0.5 * (w.max() + w.min()), float(np.ptp(w))
        away = w - middle
        right = np.maximum(total, 4.0)  # where the contour crosses the real axis: near the saddle of exp(s) s^-A
        # right/2 or more from the points, where cosh(u) <= 1.5; near the saddle no more bent than the steepest descent
        tall = np.maximum(0.5 * (width + right) / math.sqrt(1.25), 1.2 * right)
        reach = np.arccosh(2 + (_FEWER_DIGITS + right) / right)
        aside = np.minimum(0.35 * right, 4 * np.sqrt(right))  # by so much the contour may move: the integrand is like
        step = 2 * math.pi / (_FEWER_DIGITS + 14) * np.minimum(0.5, aside / (1.5 * tall))
        count = int(np.ceil((reach / step).max()))
        sums = np.zeros(len(total), dtype=np.complex128)
        for k in range(-count, count + 1):
            u = step * k
            real, imaginary = right * (2 - np.cosh(u)), tall * np.sinh(u)
            beside = imaginary[:, None] - away
            modulus = real + norm - 0.5 * (concentration * np.log(real[:, None] ** 2 + beside**2)).sum(axis=1)
            phase = imaginary - (concentration * np.arctan2(beside, real[:, None])).sum(axis=1)
            size = np.where(np.abs(u) <= reach + step, np.exp(modulus), 0.0)
            wave = size * np.cos(phase) + 1j * (size * np.sin(phase))
            sums += wave * (tall * np.cosh(u) + 1j * right * np.sinh(u))  # the slope of the contour, over i
        found[:, m] = np.exp(1j * middle) * sums * step / (2 * math.pi)
    return found


def log_gamma_quantile(shape: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Logarithm of the quantile of a gamma law with rate 1, finite where the quantile itself is too small a number."""
    from scipy.special import gammaincinv, gammaln

    tiny = (np.log(levels) + gammaln(shape + 1)) / shape  # P(shape, x) = x^shape / Gamma(shape + 1) for small x
    with np.errstate(divide="ignore"):
        logs = np.log(gammaincinv(shape, levels))
    return np.where(tiny < -650.0, tiny, logs)
