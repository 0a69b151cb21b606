"""Moments of an exponential of |D| for normal D, without overflow or cancellation.

With D ~ N(delta, sigma^2), s = c sigma, d = c |delta| and t = d / s

    E (c |D|)^n exp(-c |D|) = exp(-t^2 / 2) s^n (T_n(s - t) + T_n(s + t)),
    T_n(x) = int_0^inf v^n exp(-v^2 / 2 - x v) dv / sqrt(2 pi),

with T_0(x) = erfcx(x / sqrt 2) / 2 and T_{n+1} = n T_{n-1} - x T_n. Three ranges of x have their own way to T_n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["exponential_moments"]

_FAR = 5.0  # from here the recurrence would cancel, and its continued fraction converges
_FRACTIONS = 24
_NO_WEIGHT = -1e100  # exp of half of it is 0, but its square is finite
_DENSITY = 1 / math.sqrt(2 * math.pi)


def exponential_moments(s: Any, d: Any, coefficients: Sequence[float]) -> np.ndarray:
    """``sum_n a_n E (c |D|)^n exp(-c |D|)`` for n up to 2, from s = c sigma > 0 and d = c |delta| >= 0."""
    number = len(coefficients)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite in a range that is not taken, or without weight
        t, sx = d / s, s * s - d
        far = _right(s, s + t, s * s + d, number)
        near = _right(s, np.maximum(s - t, 0.0), np.maximum(sx, 0.0), number)
        left = _left(s, np.minimum(s - t, 0.0), np.clip(sx, _NO_WEIGHT, 0.0), number)
        height, tilted = np.exp(-0.5 * t * t), np.exp(np.minimum(0.5 * s * s - d, 0.0))
        total = np.zeros(np.shape(t))
        for a, near_n, left_n, far_n in zip(coefficients, near, left, far, strict=True):
            total += a * (np.where(s < t, tilted * left_n, height * near_n) + height * far_n)
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
