"""Energy and variogram score of vectors as measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.measures.base import Measure, PreparedMeasure
from kernelcal.predictions import Mixture, RealPredictions, Samples, VectorNormal
from kernelcal.statistics.vectors import energy_scores, variogram_scores

__all__ = ["EnergyScore", "VariogramScore"]

_SERVED = "draws of vectors, normal vectors and their mixtures"
_NUMBERS = 2**21  # differences that are held at once


def _of_vectors(predictions: Any) -> bool:
    """Tell whether scores of such vectors are known."""
    if not isinstance(predictions, RealPredictions) or len(predictions.event_shape) != 1:
        return False
    parts = predictions.components if isinstance(predictions, Mixture) else (predictions,)
    return isinstance(predictions, Samples) or all(isinstance(part, VectorNormal) for part in parts)


class _PreparedRows(PreparedMeasure):
    """A mean of scores of rows, by a function of targets of shape (..., n, d)."""

    def __init__(
        self,
        measure: Measure,
        predictions: Any,
        weights: np.ndarray | None,
        scores: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        numbers = len(predictions) * predictions.dimension
        super().__init__(measure, bytes_per_draw=64 * numbers)
        self.weights, self.scores = weights, scores

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Mean scores."""
        return np.asarray(np.average(self.scores(targets.astype(np.float64)), axis=-1, weights=self.weights))

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """Scores less their mean."""
        scores = self.scores(targets.astype(np.float64))
        return np.asarray(scores - np.average(scores, weights=self.weights))


@dataclass(frozen=True)
class EnergyScore(Measure):
    """Energy score of vectors, beside what calibrated predictions would have (`statistics.vectors.energy_score`).

    Above it predictions are too narrow or off, below it they are too wide.

    Examples
    --------
    >>> import kernelcal as kc
    >>> float(kc.measures.EnergyScore()([[0.0, 0.0]], kc.Samples([[[3.0, 4.0], [3.0, 4.0]]])))
    5.0
    """

    name: ClassVar[str] = "energy score"
    limits: ClassVar[tuple[float, float]] = (0.0, np.inf)
    signed: ClassVar[bool] = True
    serves: ClassVar[str] = _SERVED
    mean_of_rows: ClassVar[bool] = True

    def takes(self, predictions: Any) -> bool:
        """Vectors whose expected distances are known."""
        return _of_vectors(predictions)

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Score row by row."""
        return _PreparedRows(self, predictions, weights, energy_scores(predictions))

    def of_members(self, pooled: Samples) -> np.ndarray:
        """Scores of every member among the others: from the distances of all pairs, summed once."""
        draws, counted = _members(pooled)
        scores = np.empty(counted.shape)
        for part in row_slices(len(draws), max(1, _NUMBERS // (draws.shape[1] ** 2 * draws.shape[2]))):
            x, w = draws[part], counted[part]
            lengths = np.linalg.norm(x[:, :, None] - x[:, None], axis=3)
            own = np.einsum("nst,nt->ns", lengths, w)
            others = w.sum(axis=1, keepdims=True) - 1
            between = (own * w).sum(axis=1, keepdims=True) - 2 * own
            scores[part] = own / others - between / (2 * others**2)
        return scores


@dataclass(frozen=True)
class VariogramScore(Measure):
    """Variogram score of vectors, beside what calibrated predictions would have (`statistics.vectors.variogram_score`).

    It looks at the dependence between components.

    Parameters
    ----------
    order : float
        Power of the differences between components.

    Examples
    --------
    >>> import kernelcal as kc
    >>> float(kc.measures.VariogramScore()([[0.0, 1.0]], kc.Samples([[[0.0, 0.0], [0.0, 0.0]]])))
    2.0
    """

    order: float = 0.5
    name: ClassVar[str] = "variogram score"
    limits: ClassVar[tuple[float, float]] = (0.0, np.inf)
    signed: ClassVar[bool] = True
    serves: ClassVar[str] = _SERVED
    mean_of_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.order, bool) or not isinstance(self.order, int | float) or not 0 < self.order < np.inf:
            raise InputError(f"order must be a positive number, such as 0.5, got {self.order!r}")

    def takes(self, predictions: Any) -> bool:
        """Vectors whose expected differences are known."""
        return _of_vectors(predictions)

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Score row by row."""
        return _PreparedRows(self, predictions, weights, variogram_scores(predictions, self.order))

    def of_members(self, pooled: Samples) -> np.ndarray:
        """Scores of every member among the others: from sums of differences over all."""
        draws, counted = _members(pooled)
        i, j = np.triu_indices(draws.shape[2], 1)
        scores = np.empty(counted.shape)
        for part in row_slices(len(draws), max(1, _NUMBERS // (draws.shape[1] * max(1, len(i))))):
            x, w = draws[part], counted[part]
            apart = np.abs(x[:, :, i] - x[:, :, j]) ** self.order
            total = np.einsum("nsp,ns->np", apart, w)[:, None]
            mean = (total - apart) / (w.sum(axis=1)[:, None, None] - 1)
            scores[part] = 2 * ((apart - mean) ** 2).sum(axis=2)
        return scores


def _members(pooled: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Draws (n, M, d), and which of them count, as 0 and 1."""
    draws = to_numpy(pooled.draws).astype(np.float64)
    if pooled.weights is None:
        return draws, np.ones(draws.shape[:2])
    return draws, (to_numpy(pooled.weights) > 0).astype(np.float64)
