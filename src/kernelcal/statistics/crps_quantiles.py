"""Continuous ranked probability score of quantiles: the exact integral over the family's distribution function."""

from __future__ import annotations

import numpy as np

from kernelcal.predictions import Quantiles
from kernelcal.predictions.piecewise import Piecewise

__all__ = ["crps_of_quantiles"]


def crps_of_quantiles(predictions: Quantiles, y: np.ndarray) -> np.ndarray:
    """Integrate ``(F(x) - 1[y <= x])^2`` over the linear segments and the two tails."""
    values, levels = predictions.values.astype(np.float64), predictions.levels
    pieces = Piecewise(values, levels, predictions.tails == "exponential")
    lower, upper = pieces.lower, pieces.upper
    low_mass, high_mass = float(levels[0]), float(1 - levels[-1])
    if not pieces.exponential:  # the tails are two more segments, with nothing beyond
        values = np.column_stack([values[:, 0] - lower, values, values[:, -1] + upper])
        levels = np.concatenate([[0.0], levels, [1.0]])
        low_mass = high_mass = 0.0
    below = np.maximum(values[:, 0] - y, 0)
    above = np.maximum(y - values[:, -1], 0)
    return _segments(values, levels, y) + _tail(below, low_mass, lower) + _tail(above, high_mass, upper)


def _segments(values: np.ndarray, levels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Integral between the first and the last value; the square of a linear function from a to b is (a²+ab+b²)/3."""
    start, end = values[:, :-1], values[:, 1:]
    middle = np.clip(y[:, None], start, end)
    width = end - start
    share = np.divide(middle - start, width, out=np.zeros_like(width), where=width > 0)
    at_middle = levels[:-1] + share * np.diff(levels)
    left = (middle - start) * _square(levels[:-1], at_middle)
    right = (end - middle) * _square(1 - at_middle, 1 - levels[1:])
    return (left + right).sum(axis=1)


def _square(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * a + a * b + b * b) / 3


def _tail(outside: np.ndarray, mass: float, length: np.ndarray) -> np.ndarray:
    """Integral over a tail ``mass e^{-x / length}`` with the outcome at the distance `outside` in it (0: not in it).

    ``int_0^d (1 - q e^{-x/l})^2 dx + int_d^inf (q e^{-x/l})^2 dx = d - 2 q l (1 - e^{-d/l}) + q^2 l / 2``.
    """
    ratio = np.divide(outside, length, out=np.zeros_like(outside), where=length > 0)
    return outside + mass * length * (2 * np.expm1(-ratio) + mass / 2)
