"""How far out a count lies among those of calibrated models: binomial tails, also for unequal probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelcal.predictions.bisection import smallest_reaching

__all__ = ["CountLaw"]

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CountLaw:
    """Laws of K counts, each near a binomial one.

    A sum ``X = sum_i w_i e_i`` of independent events of probability p_i is taken for ``unit`` times a binomial
    variable with the mean and the variance of X: ``probability = sum w p^2 / sum w p``,
    ``unit = sum w^2 p (1 - p) / sum w p (1 - p)``. For equal p and weights this is the law itself, and for
    the similar p of a bin near it. It only sets the scale on which counts of different bins are compared: bands made
    with it are exact.

    Attributes
    ----------
    size, probability, unit : numpy.ndarray of shape (K,)
        Number of trials (not always whole), probability, and value of one event.
    most : numpy.ndarray of shape (K,)
        Largest value that X can take.
    whole : bool
        Whether X counts rows, and so takes whole values only.
    binomial : bool
        Whether these are the laws themselves, not only near.
    """

    size: np.ndarray
    probability: np.ndarray
    unit: np.ndarray
    most: np.ndarray
    whole: bool = True
    binomial: bool = False

    @classmethod
    def equal(cls, n: int, probability: Any) -> Self:
        """Binomial laws of n rows."""
        p = np.asarray(probability, dtype=np.float64)
        full = np.full(p.shape, float(n))
        return cls(full, p, np.ones(p.shape), full, binomial=True)

    @classmethod
    def of_bins(cls, p: np.ndarray, index: np.ndarray, bins: int, weights: np.ndarray | None) -> Self:
        """Laws of the events in bins: probabilities p of shape (n,), the bin of every row, and case weights."""
        w = np.ones(len(p)) if weights is None else weights
        sums = [np.bincount(index, values, minlength=bins) for values in (w, w * p, w * p**2, w * w * p * (1 - p))]
        most, mean, squares, variance = (np.asarray(values, dtype=np.float64) for values in sums)
        probability = np.divide(squares, mean, out=np.zeros(bins), where=mean > 0)
        spread = mean - squares
        unit = np.divide(variance, spread, out=np.ones(bins), where=(spread > 0) & (variance > 0))
        size = np.divide(mean, unit * probability, out=np.zeros(bins), where=probability > 0)
        return cls(size, np.minimum(probability, 1.0), unit, most, weights is None)

    def depth(self, values: np.ndarray) -> np.ndarray:
        """Smaller one of ``P(X <= x)`` and ``P(X >= x)``, shape of the values (..., K)."""
        return np.minimum(self._up_to(values), self._from(values))

    def ends(self, depth: Any) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest value of this depth or more, shape (K,) each."""
        wanted = np.broadcast_to(
            np.asarray(depth) * (1 - 1e-10), self.size.shape
        )  # reached but for rounding is reached
        zero, top = np.zeros_like(self.most), np.maximum(self.most, self.unit * (self.size + 1))
        low = smallest_reaching(self._up_to, wanted, zero, top)
        high = smallest_reaching(lambda x: -self._from(x), -wanted, zero, top)
        if self.whole:
            low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
        low, high = np.where(wanted > 0, [low, high], [zero, top])
        return np.clip(low, 0, self.most), np.clip(high, 0, self.most)

    def _up_to(self, values: np.ndarray) -> np.ndarray:
        from scipy.special import betainc

        x, size = values / self.unit, self.size
        inside = x < size - _ROUNDING * np.maximum(size, 1)
        a, b = np.where(inside, size - x, 1.0), np.maximum(x, 0.0) + 1
        return np.where(inside, betainc(a, b, 1 - self.probability), 1.0)

    def _from(self, values: np.ndarray) -> np.ndarray:
        from scipy.special import betainc

        x, size = values / self.unit, self.size
        end = np.where(self.probability < 1, size + 1 - _ROUNDING, size + _ROUNDING * np.maximum(size, 1))
        inside = (x > _ROUNDING) & (x < end)
        a, b = np.where(inside, x, 1.0), np.where(inside, size - x + 1, 1.0)
        return np.where(inside, betainc(a, b, self.probability), np.where(x > _ROUNDING, 0.0, 1.0))
