"""What families need and scipy.special lacks: inverse distribution functions, characteristic functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kernelcal.arrays import row_slices

__all__ = [
    "choose",
    "count_below",
    "dirichlet_wave",
    "log_gamma_quantile",
    "log_normal_wave",
    "smallest_reaching",
    "student_wave",
]


# Comparing with every step takes some K ns a value, a binary search some 50, but 2,000 more a row: measured.
_COMPARE_UP_TO, _SPREAD_OVER_SETS = 50, 500


def choose(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Pick one of K by its weight in every row: weights of shape (n, K), uniform numbers of shape (..., n).

    The choice is the number of cumulative weights <= u: one of weight 0 is never made.
    """
    cumulative = np.cumsum(weights, axis=1, dtype=np.float64)
    steps = cumulative[:, :-1] / cumulative[:, -1:]
    return count_below(steps, uniforms, equal=True)


def count_below(steps: np.ndarray, values: np.ndarray, *, equal: bool = False) -> np.ndarray:
    """Count, per row, the steps that lie below the values (or are `equal` to them).

    Steps of shape (n, K) increase in every row; values and counts have shape (..., n).
    """
    counts = np.zeros(values.shape, dtype=np.intp)
    sets = max(1, values.size // max(1, len(steps)))
    if steps.shape[1] <= _COMPARE_UP_TO + _SPREAD_OVER_SETS // sets:
        for step in np.ascontiguousarray(steps.T):
            counts += step <= values if equal else step < values
    else:
        for row, increasing in enumerate(steps):
            counts[..., row] = np.searchsorted(increasing, values[..., row], side="right" if equal else "left")
    return counts


_HALVINGS = 120  # neighbouring numbers are reached after some 60; only results beside 0 take more


def smallest_reaching(
    cdf: Callable[[np.ndarray], np.ndarray], levels: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Smallest y in [low, high] with cdf(y) >= level, to rounding; everything has shape (..., n).

    Where low = high, or the distribution function has its step at low, low is returned as it is.
    """
    finite = np.isfinite(low) & np.isfinite(high)
    below, above = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
    at_low = cdf(below) >= levels
    above = np.where(at_low, below, above)
    for _ in range(_HALVINGS):
        middle = below + 0.5 * (above - below)
        if np.all((middle <= below) | (middle >= above)):
            break
        reached = cdf(middle) >= levels
        below, above = np.where(reached, below, middle), np.where(reached, middle, above)
    return np.where(finite, above, np.where(np.isfinite(low), high, low))


_DIGITS = 38.0  # exp(-38) is below the rounding of double precision
_FEWER_DIGITS = 30.0  # of sums whose terms are many and costly: an absolute error of 1e-12
_LEAST_CROSSING = 4.0  # of the real axis by a contour, for a small sum of parameters
_CELLS = 2**18  # numbers at a time: 2 MiB
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
    trapezoidal rule converges exponentially; it takes some 100 + 10 W nodes, W the range of a frequency. Rows of nearly
    the same A share a hyperbola, so that logarithms are taken once and the exponent is a matrix product.
    """
    from scipy.special import gammaln

    total = concentration.sum(axis=1)
    found = np.empty((len(concentration), len(frequencies)), dtype=np.complex128)
    alike = np.floor(2 * np.sqrt(np.maximum(total, _LEAST_CROSSING)))
    for key in np.unique(alike):
        rows = np.flatnonzero(alike == key)
        crossing = max(float(total[rows].mean()), _LEAST_CROSSING)
        norm = gammaln(total[rows])[:, None]
        for m, w in enumerate(frequencies):
            found[rows, m] = _over_hyperbola(concentration[rows], norm, w, crossing)
    return found


def _over_hyperbola(concentration: np.ndarray, norm: np.ndarray, w: np.ndarray, crossing: float) -> np.ndarray:
    """One frequency of `dirichlet_wave`, for rows whose saddle is near the point where the contour meets the axis."""
    middle, width = 0.5 * float(w.max() + w.min()), float(np.ptp(w))
    # crossing/2 or more from the points, where cosh(u) <= 1.5; near the saddle no more bent than the steepest descent;
    # and within the root of A of any saddle, which lies to the right of one of the points where it has all the weight
    tall = max(0.5 * (width + crossing) / math.sqrt(1.25), 1.2 * crossing, 0.36 * width * crossing**0.25)
    reach = math.acosh(2 + (_FEWER_DIGITS + crossing) / crossing)
    aside = min(0.35 * crossing, 4 * math.sqrt(crossing))  # by so much the contour may move: the integrand is like
    step = 2 * math.pi / (_FEWER_DIGITS + 14) * min(0.5, aside / (1.5 * tall))
    u = step * np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1)
    s = crossing * (2 - np.cosh(u)) + 1j * tall * np.sinh(u)
    slope = (tall * np.cosh(u) + 1j * crossing * np.sinh(u)) * (step / (2 * math.pi))  # over i
    sides = np.concatenate([slope.real, -slope.imag]), np.concatenate([slope.imag, slope.real])
    logs = np.log(s - 1j * (w - middle)[:, None])
    found = np.empty(len(concentration), dtype=np.complex128)
    for part in row_slices(len(concentration), _CELLS // len(u)):
        size = np.exp(s.real + norm[part] - concentration[part] @ logs.real)
        phase = s.imag - concentration[part] @ logs.imag
        waves = np.concatenate([size * np.cos(phase), size * np.sin(phase)], axis=1)
        found[part] = waves @ sides[0] + 1j * (waves @ sides[1])
    return np.exp(1j * middle) * found


def log_gamma_quantile(shape: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Logarithm of the quantile of a gamma law with rate 1, finite where the quantile itself is too small a number."""
    from scipy.special import gammaincinv, gammaln

    tiny = (np.log(levels) + gammaln(shape + 1)) / shape  # P(shape, x) = x^shape / Gamma(shape + 1) for small x
    with np.errstate(divide="ignore"):
        logs = np.log(gammaincinv(shape, levels))
    return np.where(tiny < -650.0, tiny, logs)
