"""How well predictions tell rows apart: the c-statistic, beside the one that calibrated predictions have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.measures.base import Measure, PreparedMeasure, positive_probabilities

__all__ = ["AUROC"]


class _PreparedAUROC(PreparedMeasure):
    def __init__(self, measure: Measure, predictions: Any, weights: np.ndarray | None) -> None:
        p = positive_probabilities(predictions)
        super().__init__(measure, bytes_per_draw=48 * len(p))
        self.w = np.ones(len(p)) if weights is None else weights
        self.order = np.argsort(p, kind="stable")
        ordered = p[self.order]
        self.starts = np.flatnonzero(np.append(True, ordered[1:] > ordered[:-1]))
        self.place = np.empty(len(p), dtype=np.intp)  # which of the different predictions a row has
        self.place[self.order] = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(p))))

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over rows of one prediction, (B, n) to (B, different predictions)."""
        return np.asarray(np.add.reduceat(values[:, self.order], self.starts, axis=1))

    def _below(self, sums: np.ndarray) -> np.ndarray:
        """Sums over lower predictions and half of those that are equal."""
        return np.asarray(np.cumsum(sums, axis=1) - sums / 2)

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Share of pairs in the right order, ties half."""
        events = self._sums(np.asarray(targets, dtype=np.float64) * self.w)
        others = self._sums((1 - np.asarray(targets, dtype=np.float64)) * self.w)
        pairs = events.sum(axis=1) * others.sum(axis=1)
        right = (events * self._below(others)).sum(axis=1)
        return np.divide(right, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """Of an event the share of others below it, of another the share of events above it: DeLong's parts."""
        y = np.asarray(targets, dtype=np.float64)
        events, others = self._sums((y * self.w)[None]), self._sums(((1 - y) * self.w)[None])
        area, whole = self.measured(y[None])[0], self.w.sum()
        of_event = self._below(others)[0, self.place] / others.sum() - area
        of_other = 1 - self._below(events)[0, self.place] / events.sum() - area
        return np.asarray(np.where(y > 0.5, of_event * whole / events.sum(), of_other * whole / others.sum()))


@dataclass(frozen=True)
class AUROC(Measure):
    """C-statistic: how often of an event and a non-event the event has the higher prediction, ties counting half.

    It is no measure of calibration, but calibrated predictions have one that follows from how much they vary: where
    the value is far from it, predictions tell rows apart less, or better, than they claim.

    Notes
    -----
    Not defined without an event and a non-event. Cost: O(n log n), and O(n) for every further set of outcomes.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson (1988), whose standard error it has; van Klaveren et al. (2016), the model-based
    concordance.

    Examples
    --------
    >>> import kernelcal as kc
    >>> float(kc.measures.AUROC()([0, 1, 1, 0], [0.2, 0.6, 0.15, 0.1]))
    0.75
    """

    name: ClassVar[str] = "c-statistic"
    signed: ClassVar[bool] = True
    scale: ClassVar[str] = "logit"

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Put the predictions in order."""
        return _PreparedAUROC(self, predictions, weights)
