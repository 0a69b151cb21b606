"""Laplacian and Matern kernels under normal distributions: moments of the halves of a tilted normal distribution.

With c = 1 / l (Laplacian), sqrt(3) / l or sqrt(5) / l (Matern) and D = Z - y ~ N(delta, sigma^2), the kernels are
polynomials of c |D| times exp(-c |D|). Write s = c sigma, d = c |delta| and t = d / s. Then (methods of 2021, App. D)

    E (c |D|)^n exp(-c |D|) = exp(-t^2 / 2) s^n (T_n(s - t) + T_n(s + t)),
    T_n(x) = int_0^inf v^n exp(-v^2 / 2 - x v) dv / sqrt(2 pi),

with T_0(x) = erfcx(x / sqrt 2) / 2 and T_{n+1} = n T_{n-1} - x T_n. Three ranges of x have their own way to T_n, so
that nothing overflows or cancels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernelcal.arrays import Array
from kernelcal.kernels.embeddings.elementwise import numpy_only
from kernelcal.kernels.embeddings.rules import cross_of, mean_of
from kernelcal.kernels.profiles import Laplacian, Matern32, Matern52
from kernelcal.kernels.stationary import Stationary
from kernelcal.predictions import Normal

__all__: list[str] = []

# rate times lengthscale, and coefficients of the polynomial
_PROFILES: dict[type, tuple[float, tuple[float, ...]]] = {
    Laplacian: (1.0, (1.0,)),
    Matern32: (math.sqrt(3), (1.0, 1.0)),
    Matern52: (math.sqrt(5), (1.0, 1.0, 1 / 3)),
}
_FAR = 5.0  # from here the recurrence would cancel, and its continued fraction converges
_FRACTIONS = 24
_DENSITY = 1 / math.sqrt(2 * math.pi)


@mean_of(Laplacian, Normal)
@mean_of(Matern32, Normal)
@mean_of(Matern52, Normal)
def _mean(kernel: Stationary, p: Normal, y: Array) -> Array:
    numpy_only(f"{type(kernel).__name__} under Normal", p.mean, y)
    return _expectation(kernel, p.mean - y, p.std)


@cross_of(Laplacian, Normal, Normal)
@cross_of(Matern32, Normal, Normal)
@cross_of(Matern52, Normal, Normal)
def _cross(kernel: Stationary, p: Normal, q: Normal) -> Array:
    numpy_only(f"{type(kernel).__name__} under Normal", p.mean, q.mean)
    return _expectation(kernel, p.mean - q.mean, np.hypot(p.std, q.std))


def _expectation(kernel: Stationary, difference: Any, std: Any) -> np.ndarray:
    rate, coefficients = _PROFILES[type(kernel)]
    s = std * (rate / kernel.scale)
    d = np.abs(difference) * (rate / kernel.scale)
    with np.errstate(over="ignore"):  # an infinite t or x is a distance of no weight
        t = d / s
        far = _right(s, s + t, s * s + d, len(coefficients))
        near = _right(s, np.maximum(s - t, 0.0), np.maximum(s * s - d, 0.0), len(coefficients))
        left = _left(s, np.minimum(s - t, 0.0), np.minimum(s * s - d, 0.0), len(coefficients))
    height = np.exp(-0.5 * t * t)
    tilted = np.exp(np.minimum(0.5 * s * s - d, 0.0))
    left_of_0 = s < t
    total = np.zeros(np.shape(d))
    for c, near_n, left_n, far_n in zip(coefficients, near, left, far, strict=True):
        total += c * (np.where(left_of_0, tilted * left_n, height * near_n) + height * far_n)
    return total


def _left(s: Any, x: np.ndarray, sx: np.ndarray, number: int) -> list[np.ndarray]:
    """s^n T_n(x) exp(-x^2 / 2) for x <= 0: every term is positive. The product s x is given, since it is exact."""
    from scipy.special import erfc  # imported when needed: the import of kernelcal stays light

    values = [0.5 * erfc(x / math.sqrt(2))]
    if number > 1:
        values.append(s * (_DENSITY * np.exp(-0.5 * x * x)) - sx * values[0])
    if number > 2:
        values.append(s * s * values[0] - sx * values[1])
    return values


def _right(s: Any, x: np.ndarray, sx: np.ndarray, number: int) -> list[np.ndarray]:
    """s^n T_n(x) for x >= 0: by recurrence, and far out by the continued fraction of the ratios T_n / T_{n-1}."""
    from scipy.special import erfcx

    values = [0.5 * erfcx(x / math.sqrt(2))]
    if number == 1:
        return values
    ratios = _ratios(np.maximum(x, _FAR))
    is_far = x > _FAR
    values.append(np.where(is_far, s * ratios[0] * values[0], s * _DENSITY - sx * values[0]))
    if number > 2:
        values.append(np.where(is_far, s * ratios[1] * values[1], s * s * values[0] - sx * values[1]))
    return values


def _ratios(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T_1 / T_0 and T_2 / T_1: r_n = n / (x + r_{n+1}), from a start by its fixed point."""
    ratio = 0.5 * (np.sqrt(x * x + 4 * _FRACTIONS) - x)
    previous = ratio
    for n in range(_FRACTIONS - 1, 0, -1):
        previous, ratio = ratio, n / (x + ratio)
    return ratio, previous
