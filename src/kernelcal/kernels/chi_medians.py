"""Median distance of two draws of the equal mixture of two isotropic normal distributions, for many pairs at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["chi_medians"]

_SECANTS, _STEPS = 25, 100  # after so many secants bisection takes over
_PRECISION = 1e-11  # relative size of the last step; a secant that small leaves an error of rounding only
_NOTHING = 1e-20
_OUT_OF_REACH = 38.5  # the normal distribution function at minus this is 0 in float64


def chi_medians(first: np.ndarray, second: np.ndarray, apart: np.ndarray, dimension: int) -> np.ndarray:
    """Medians of ``|Z - Z'|`` for independent Z, Z' of ``N(m, s^2 I) / 2 + N(m', s'^2 I) / 2``, shape (k,).

    Both draws come from the first half with probability 1/4, from the second with 1/4, else from different halves:
    ``F(r) = 1/4 C(r / (sqrt(2) s)) + 1/4 C(r / (sqrt(2) s')) + 1/2 C(r / t; |m - m'| / t)``, where ``t^2 = s^2 + s'^2``
    and C is the distribution function of a chi variable of d degrees of freedom, central or not.

    Parameters
    ----------
    first, second : array of shape (k,)
        Standard deviations s and s'.
    apart : array of shape (k,)
        Distances ``|m - m'|``.
    dimension : int
        d.
    """
    unit = np.maximum(first, second)
    first, second, apart = first / unit, second / unit, apart / unit
    start, highest = _approximate(first, second, apart, dimension)

    def function(r: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        return _imbalance(r, first[pairs], second[pairs], apart[pairs], dimension)

    with np.errstate(over="ignore"):  # distributions out of each other's reach
        return unit * _roots(function, start, highest)


def _imbalance(r: np.ndarray, first: np.ndarray, second: np.ndarray, apart: np.ndarray, dimension: int) -> np.ndarray:
    """Logarithm of how often different halves are nearer than r, minus that of how often one half is farther.

    It increases, and is 0 where F is 1/2. Logarithms keep digits where far halves leave a gap that holds little mass.
    """
    between = np.hypot(first, second)
    nearer = _nearer(r / between, apart / between, dimension)
    farther = 0.5 * (_farther(r / (math.sqrt(2) * first), dimension) + _farther(r / (math.sqrt(2) * second), dimension))
    empty = (nearer < _NOTHING) & (farther < _NOTHING)  # to all digits of float64 every point of the gap is a median
    with np.errstate(divide="ignore"):
        return np.log(np.where(empty, 1.0, nearer)) - np.log(np.where(empty, 1.0, farther))


def _nearer(r: np.ndarray, centre: np.ndarray, dimension: int) -> np.ndarray:
    """Distribution function of the noncentral chi variable."""
    from scipy.special import chndtr, ndtr  # imported when needed: the import of kernelcal stays light

    if dimension == 1:
        return ndtr(r - centre) - ndtr(-r - centre)
    reached = centre - r < _OUT_OF_REACH  # beyond, the value is 0, which takes long
    return np.where(reached, chndtr(r**2, dimension, np.where(reached, centre, 0.0) ** 2), 0.0)


def _farther(r: np.ndarray, dimension: int) -> np.ndarray:
    """One minus the distribution function of the chi variable."""
    from scipy.special import erfc, gammaincc

    return erfc(r / math.sqrt(2)) if dimension == 1 else gammaincc(dimension / 2, 0.5 * r**2)


def _approximate(
    first: np.ndarray, second: np.ndarray, apart: np.ndarray, dimension: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where normal laws in place of the chi laws put the median, and a bound: a root mean square is above a median."""
    widest, between = np.maximum(first, second), np.hypot(first, second)
    inside, across = math.sqrt(2 * dimension) * widest, np.hypot(math.sqrt(dimension) * between, apart)
    spread = between * np.hypot(math.sqrt(dimension) * between, math.sqrt(2) * apart) / (math.sqrt(2) * across)
    return (inside / widest + across / spread) / (1 / widest + 1 / spread), np.maximum(inside, across)


def _roots(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray], start: np.ndarray, highest: np.ndarray
) -> np.ndarray:
    """Roots of increasing functions between 0 and a bound, all at once: secants inside a bracket, for what is left."""
    roots, left = start.copy(), np.arange(len(start))
    low, high, before, root = np.zeros_like(start), highest, start * (1 - 1e-3), start
    value_before = function(before, left)
    for step in range(_STEPS):
        value = function(root, left)
        low, high = np.where(value <= 0, root, low), np.where(value >= 0, root, high)
        new = _next(value, root, value_before, before, 0.5 * (low + high), step >= _SECANTS)
        new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        roots[left] = new
        more = np.abs(new - root) > _PRECISION * root
        if not more.any():
            break
        left, low, high = left[more], low[more], high[more]
        before, value_before, root = root[more], value[more], new[more]
    return roots


def _next(
    value: np.ndarray, root: np.ndarray, value_before: np.ndarray, before: np.ndarray, middle: np.ndarray, bisect: bool
) -> np.ndarray:
    """Where the secant is 0, or the middle of the bracket; a root that is met stays."""
    with np.errstate(divide="ignore", invalid="ignore"):
        secant = root - value * (root - before) / (value - value_before)
    sloped = np.isfinite(secant) & np.isfinite(value_before) & (not bisect)
    return np.where(value == 0, root, np.where(sloped, secant, middle))
