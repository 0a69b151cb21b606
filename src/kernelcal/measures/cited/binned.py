"""The binned error of one probability, a norm of sums of residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.measures.base import Measure, PreparedMeasure, positive_probabilities
from kernelcal.statistics import ECE

__all__ = ["BinnedError"]


class _PreparedBinned(PreparedMeasure):
    def __init__(self, measure: BinnedError, predictions: Any, weights: np.ndarray | None) -> None:
        self.own = ECE(question="positive class", bins=measure.bins).prepare(predictions, weights)
        self.p = positive_probabilities(predictions)
        super().__init__(measure, notes=self.own.notes, bytes_per_draw=self.own.bytes_per_draw)
        self.w = np.ones(len(self.p)) if weights is None else weights
        self.bins = self.own.parts[0].bins

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Errors of the same bins."""
        return np.asarray(self.own.values(targets)[:, 0])

    def noise(self, targets: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Sums over bins of residuals times factors."""
        residuals = self.w * (targets - self.p)
        inside = np.zeros((len(residuals), self.bins.size))
        inside[np.arange(len(residuals)), self.bins.index] = residuals
        return np.asarray(np.abs(factors @ inside).sum(axis=1) / self.w.sum())


@dataclass(frozen=True)
class BinnedError(Measure):
    """Expected calibration error of the positive class in bins of equal width, as `ECE`.

    Parameters
    ----------
    bins : int
        Bins between 0 and 1.

    Examples
    --------
    >>> import kernelcal as kc
    >>> float(kc.measures.BinnedError(bins=2)([1, 1, 1, 1], [0.2, 0.2, 0.8, 0.8]))
    0.5
    """

    bins: int = 15
    name: ClassVar[str] = "binned error (ECE)"
    ideal: ClassVar[float | None] = 0.0
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Make the bins."""
        return _PreparedBinned(self, predictions, weights)
