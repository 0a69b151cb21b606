"""Poisson distributions of counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from kernelcal.arrays import Array, namespace, to_numpy
from kernelcal.predictions.counts.base import CountPredictions, not_negative_numbers
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading

__all__ = ["Poisson"]


@dataclass(frozen=True, eq=False)
class Poisson(CountPredictions):
    """Poisson predictions of counts, with probabilities ``exp(-r) r^y / y!``.

    Parameters
    ----------
    rate : array of shape (n,)
        Expected counts r, not negative; with rate 0 nothing but 0 can happen.

    Raises
    ------
    InputError
        If a rate is missing or negative, with the row.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Poisson([3.0])
    >>> predictions.cdf([2]).round(6)
    array([0.42319])
    """

    given_by: ClassVar[tuple[str, ...]] = ("rate",)
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("poisson", "Poisson"), ("mu",)),
        Reading(BOTH, ("Poisson",), ("rate",)),
    )

    rate: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", not_negative_numbers(self.rate, "the rate"))

    @property
    def mean(self) -> Array:
        """Means: the rates."""
        return self.rate

    @property
    def std(self) -> Array:
        """Standard deviations: the roots of the rates."""
        return namespace(self.rate).sqrt(self.rate)

    def cumulative(self, k: np.ndarray) -> np.ndarray:
        """Upper regularised incomplete gamma function ``Q(k + 1, r)``."""
        from scipy.special import gammaincc  # imported when needed: the import of kernelcal stays light

        return gammaincc(k + 1, to_numpy(self.rate))

    def log_probability(self, k: np.ndarray) -> np.ndarray:
        """``k log r - r - log k!``."""
        from scipy.special import gammaln, xlogy

        rate = to_numpy(self.rate)
        return xlogy(k, rate) - rate - gammaln(k + 1)

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``exp(r (exp(i w) - 1))``."""
        return np.exp(to_numpy(self.rate)[:, None] * np.expm1(1j * frequencies))

    def crps(self, y: np.ndarray) -> np.ndarray:
        """From ``E|X - X'| = 2 r e^{-2r} (I_0(2r) + I_1(2r))`` and ``E X 1[X <= y] = r F(y - 1)``."""
        from scipy.special import ive

        rate = to_numpy(self.rate).astype(np.float64)
        distance = y * (2 * self.cdf(y) - 1) + rate * (1 - 2 * self.cdf_below(y))
        return distance - rate * (ive(0, 2 * rate) + ive(1, 2 * rate))
