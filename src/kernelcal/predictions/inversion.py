"""Inversion of distribution functions: with steps, a row at a time, and by bisection of many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["choose", "count_below", "smallest_reaching"]


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
