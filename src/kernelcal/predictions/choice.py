"""Inversion of distribution functions with steps, a row at a time."""

from __future__ import annotations

import numpy as np

__all__ = ["choose", "count_below"]

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
