"""What a witness smooths: numbers of every row that have mean 0 and a known variance under its prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from kernelcal.predictions import ClassPredictions, Quantiles, RealPredictions
from kernelcal.residuals import ClassResidual
from kernelcal.statistics.signals import CellScores

__all__ = ["SHIFT", "WIDTH", "ClassGaps", "Gaps", "NumberGaps", "QuantileGaps", "gaps_of"]


_CLASSES = 20
SHIFT, WIDTH = "shift", "width"


class Gaps(ABC):
    """Gaps of n rows, times the case weights.

    Attributes
    ----------
    names : tuple of str
        Names of the C components.
    variance : numpy.ndarray of shape (n, C)
        Variance of every signal under its prediction.
    notes : tuple of str
        What was left out.
    by_cells : bool
        Whether they look at the cells between quantiles alone.
    """

    names: tuple[str, ...]
    variance: np.ndarray
    notes: tuple[str, ...] = ()
    by_cells: bool = False

    @abstractmethod
    def batch(self, part: slice, targets: np.ndarray) -> np.ndarray:
        """Gaps of some rows for their targets, shape (B, rows, ...): shape (rows, B, C)."""

    @abstractmethod
    def position(self, predictions: Any) -> np.ndarray:
        """Where predictions stand, in words of the reader: shape (len(predictions), C)."""


class ClassGaps(Gaps):
    """``1[y_i = k] - p_ik`` for each class k, with variance ``p_ik (1 - p_ik)``; of two classes the second alone.

    Of very many classes the 20 that are predicted most: a choice from the predictions alone, so that levels stay exact.
    """

    def __init__(self, batch: ClassPredictions, weights: np.ndarray | None) -> None:
        p, m = np.asarray(batch.probabilities), batch.n_classes
        largest = np.sort(np.argsort(-p.sum(axis=0), kind="stable")[:_CLASSES])
        self.chosen = np.array([1]) if m == 2 else largest
        self.names = tuple(str(batch.class_name(k)) for k in self.chosen)
        self.columns = p[:, self.chosen]
        indicator = np.zeros((m, len(self.chosen)))
        indicator[self.chosen, np.arange(len(self.chosen))] = 1
        self.residual = ClassResidual(indicator, self.columns, weights)
        self.variance = self.columns * (1 - self.columns) * _squares(weights, len(p))
        if m > _CLASSES:
            self.notes = (f"the witness looks at the {_CLASSES} classes of {m:,} that are predicted most",)

    def batch(self, part: slice, targets: np.ndarray) -> np.ndarray:
        """Look up the residuals."""
        return self.residual[part].batch(targets)

    def position(self, predictions: ClassPredictions) -> np.ndarray:
        """Predicted probability of each class."""
        return np.asarray(predictions.probabilities)[:, self.chosen]


class NumberGaps(Gaps):
    """``z_i`` and ``z_i^2 - 1`` with ``z_i = (y_i - mean_i) / std_i``: outcomes too high, predictions too narrow.

    The variance of the first is 1. That of the second is taken as 2, which holds for normal predictions: it only scales
    the band, whose level is exact with any scale that no target changes.
    """

    names = (SHIFT, WIDTH)

    def __init__(self, batch: RealPredictions, weights: np.ndarray | None) -> None:
        self.predictions = batch
        self.weights = np.ones(len(batch)) if weights is None else weights
        self.spread = np.asarray(batch.width) > 0
        self.variance = np.outer(self.spread * self.weights**2, [1.0, 2.0])

    def batch(self, part: slice, targets: np.ndarray) -> np.ndarray:
        """Standardise; rows without spread say nothing."""
        z = self.predictions[part].standardised(targets)
        signals = np.stack([z, z * z - self.spread[part]], axis=-1) * self.weights[part, None]
        return signals.transpose(1, 0, 2)

    def position(self, predictions: RealPredictions) -> np.ndarray:
        """Centre, which is the predicted mean where there is one, for both."""
        return np.repeat(np.asarray(predictions.centre, dtype=np.float64)[:, None], 2, axis=1)


class QuantileGaps(Gaps):
    """Mean scores of the cells that outcomes fall into: too high, too far out; of one level the first alone.

    The numbers ``high`` and ``narrow`` of `CellScores` in units of their standard deviation under the claims: 1. Needs
    outcomes strictly between quantiles.
    """

    by_cells = True

    def __init__(self, batch: Quantiles, weights: np.ndarray | None) -> None:
        self.scores = CellScores(batch.cells)
        self.weights = np.ones(len(batch)) if weights is None else weights
        self.columns = [0, 2][: self.scores.number // 2]
        self.names = (SHIFT, WIDTH)[: len(self.columns)]
        self.spread = np.sqrt(np.diagonal(self.scores.covariance, axis1=1, axis2=2)[0, self.columns])
        self.variance = np.outer(self.weights**2, np.ones(len(self.columns)))

    def batch(self, part: slice, targets: np.ndarray) -> np.ndarray:
        """Look up the scores of the cells."""
        own = self.scores.of_rows(part)
        codes = own.codes(targets)
        signals = np.stack([own.table[f][codes] - own.mean[0, f] for f in self.columns], axis=-1) / self.spread
        return (signals * self.weights[part, None]).transpose(1, 0, 2)

    def position(self, predictions: Quantiles) -> np.ndarray:
        """The quantile whose level is next to 1/2, for both."""
        return np.repeat(np.asarray(predictions.centre, dtype=np.float64)[:, None], len(self.columns), axis=1)


def gaps_of(batch: Any, weights: np.ndarray | None) -> Gaps | None:
    """Gaps of predictions of classes or of one number; None for vectors."""
    if isinstance(batch, ClassPredictions):
        return ClassGaps(batch, weights)
    if isinstance(batch, Quantiles):
        return QuantileGaps(batch, weights)
    return None if batch.event_shape else NumberGaps(batch, weights)


def _squares(weights: np.ndarray | None, n: int) -> np.ndarray:
    return np.ones((n, 1)) if weights is None else weights[:, None] ** 2
