"""Uniform distributions of one number between two ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import Array, concrete, namespace
from kernelcal.predictions.border import finite_numbers, refuse_rows, together
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.real import Parametric

__all__ = ["Uniform"]


@dataclass(frozen=True, eq=False)
class Uniform(Parametric):
    """Uniform predictions of one number: every value between two ends is equally likely.

    Parameters
    ----------
    low, high : array of shape (n,), or number
        Ends of the interval, low below high. One number serves all rows.

    Raises
    ------
    InputError
        If a value is missing or low is not below high, with the row.

    Notes
    -----
    There is no temperature, since every power of a flat density is the same density.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Uniform([0.0, 1.0], 2.0)
    >>> predictions.cdf([0.5, 1.5])
    array([0.25, 0.5 ])
    """

    given_by: ClassVar[tuple[str, ...]] = ("low", "high")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("uniform",), (), lambda: (0.0, 1.0)),
        Reading(SCIPY, ("Uniform",), ("a", "b"), defaults=(0.0, 1.0)),
        Reading(BOTH, ("Uniform",), ("low", "high")),
    )
    remedies: ClassVar[Mapping[str, str]] = {
        "tempered": "every power of a flat density is the same density; move low and high apart instead",
        "score": "its density jumps at the ends, so that Stein features have no mean of zero; use a statistic that "
        "needs no score, such as SKCE (statistic='skce')",
    }

    low: Array
    high: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        low, high = together(low=self.low, high=self.high)
        low, high = finite_numbers(low, "low", ndim=1), finite_numbers(high, "high", ndim=1)
        width = concrete(high - low)
        if width is not None:
            refuse_rows(width <= 0, "high minus low", width, "a positive number (low comes first)")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def moved(cls, loc: Any, scale: Any, *parameters: Any) -> tuple[Any, ...]:
        """A location-scale family; a negative scale changes the ends."""
        low, high = parameters
        middle, half = loc + scale * (low + high) / 2, abs(scale) * (high - low) / 2
        return middle - half, middle + half

    @property
    def mean(self) -> Array:
        """Middles of the intervals."""
        return self.low + 0.5 * (self.high - self.low)

    @property
    def std(self) -> Array:
        """Lengths of the intervals over ``sqrt(12)``."""
        return (self.high - self.low) / math.sqrt(12)

    def log_prob(self, y: Array) -> Array:
        """``-log(high - low)`` between the ends, -inf elsewhere, shape (..., n)."""
        xp = namespace(self.low)
        y = xp.asarray(y)
        return xp.where((y >= self.low) & (y <= self.high), -xp.log(self.high - self.low), -xp.inf)

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y)."""
        low, high = self.in_numpy()
        return np.clip((self.numbers_of(y) - low) / (high - low), 0.0, 1.0)

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Value below which a share of the interval lies, from the nearer end."""
        low, high = self.in_numpy()
        return np.where(levels > 0.5, high - (1 - levels) * (high - low), low + levels * (high - low))

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Targets beyond the ends."""
        low, high = self.in_numpy()
        return (np.asarray(y) < low) | (np.asarray(y) > high)

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``exp(i w m) sin(w h) / (w h)`` with the middle m and half the length h."""
        low, high = (x[:, None] for x in self.in_numpy())
        return np.exp(0.5j * (low + high) * frequencies) * np.sinc((high - low) * frequencies / (2 * math.pi))

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Length times ``|z - c| + c^2 - c + 1/3``, z the place in the interval and c the nearest in [0, 1]."""
        low, high = self.in_numpy()
        z = (y - low) / (high - low)
        inside = np.clip(z, 0.0, 1.0)
        return (high - low) * (np.abs(z - inside) + inside * inside - inside + 1 / 3)

    def wasserstein_coordinates(self) -> Array:
        """Mean and standard deviation: quantile functions are linear."""
        return namespace(self.low).stack([self.mean, self.std], axis=-1)
