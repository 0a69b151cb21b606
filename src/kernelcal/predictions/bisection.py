"""Bisection of many distribution functions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["smallest_reaching"]

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
