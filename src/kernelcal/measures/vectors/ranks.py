"""Mean ranks of outcome vectors among the draws of their rows, by pre-ranks, as measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.measures.base import Measure, PreparedMeasure
from kernelcal.predictions import Samples
from kernelcal.statistics.vectors import PreRanks, RanksOfMembers

__all__ = ["RankByBandDepth", "RankByDependence", "RankByMean", "RankBySpread"]


class _PreparedRanks(PreparedMeasure):
    """Relative ranks, from the draws of a row and its outcome together."""

    def __init__(self, measure: _MeanRank, batch: Samples, weights: np.ndarray | None) -> None:
        super().__init__(measure, bytes_per_draw=8 * len(batch) * batch.dimension)
        self.of_rows, self.batch, self.weights = measure.ranks, batch, weights

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Mean ranks."""
        return np.asarray(np.average(self._rows(targets), axis=1, weights=self.weights))

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """Ranks less their mean."""
        own = self._rows(targets[None])[0]
        return np.asarray(own - np.average(own, weights=self.weights))

    def _rows(self, targets: np.ndarray) -> np.ndarray:
        """Ranks of sets of targets, shape (B, n); of pooled draws they are looked up."""
        rows, wanted = np.arange(len(self.batch)), targets.astype(to_numpy(self.batch.draws).dtype)
        if self.batch.holds_outcomes:
            found = self.of_rows(self.batch)
            return np.asarray(_middles(found)[rows, found.places(wanted)])
        pools = [(self.of_rows(self.batch.pooled(one)), one) for one in wanted]
        return np.stack([_middles(found)[rows, found.places(one[None])[0]] for found, one in pools])


def _middles(found: RanksOfMembers) -> np.ndarray:
    """Relative ranks of all members, in the middle of their steps, shape (n, M)."""
    return np.asarray(0.5 * (found.low + found.high)[:, :, 0])


@dataclass(frozen=True)
class _MeanRank(Measure):
    """Mean relative rank by one pre-rank, 1/2 if outcomes could be draws."""

    pre_rank: ClassVar[str]
    ideal: ClassVar[float | None] = 0.5
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    signed: ClassVar[bool] = True
    serves: ClassVar[str] = "equally likely draws of vectors"
    mean_of_rows: ClassVar[bool] = True

    def takes(self, predictions: Any) -> bool:
        """Draws of vectors, all that count."""
        if not isinstance(predictions, Samples) or len(predictions.event_shape) != 1:
            return False
        weights = None if predictions.weights is None else to_numpy(predictions.weights)
        return weights is None or np.allclose(weights, weights[:, :1])

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Rank row by row."""
        return _PreparedRanks(self, predictions, weights)

    def ranks(self, pool: Samples) -> RanksOfMembers:
        """Ranks of all members of a pool."""
        return RanksOfMembers(PreRanks(pre_ranks=(self.pre_rank,), tarp=False), pool)

    def of_members(self, pooled: Samples) -> np.ndarray:
        """Ranks of every member."""
        return _middles(self.ranks(pooled))


class RankByMean(_MeanRank):
    """Mean rank of outcomes by the mean of their components: above 1/2 where they are higher than predicted.

    Examples
    --------
    >>> import kernelcal as kc
    >>> draws = kc.Samples([[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]])
    >>> float(kc.measures.RankByMean()([[3.0, 3.0]], draws))
    0.875
    """

    name: ClassVar[str] = "mean rank by mean"
    pre_rank: ClassVar[str] = "mean"


class RankBySpread(_MeanRank):
    """Mean rank of outcomes by the variance between their components.

    Above 1/2 where components differ more than predicted.

    Examples
    --------
    >>> import kernelcal as kc
    >>> draws = kc.Samples([[[0.0, 0.0], [1.0, 1.5], [2.0, 1.0]]])
    >>> float(kc.measures.RankBySpread()([[-3.0, 3.0]], draws))
    0.875
    """

    name: ClassVar[str] = "mean rank by spread"
    pre_rank: ClassVar[str] = "spread"


class RankByDependence(_MeanRank):
    """Mean rank of outcomes by the distances between their components.

    Below 1/2 where components go together more than predicted.

    Examples
    --------
    >>> import kernelcal as kc
    >>> draws = kc.Samples([[[0.0, 0.0], [1.0, 1.5], [2.0, 1.0]]])
    >>> float(kc.measures.RankByDependence()([[-3.0, 3.0]], draws))
    0.875
    """

    name: ClassVar[str] = "mean rank by dependence"
    pre_rank: ClassVar[str] = "dependence"


class RankByBandDepth(_MeanRank):
    """Mean rank of outcomes by band depth.

    Below 1/2 where they lie further out than draws, which are too narrow, or off.

    Examples
    --------
    >>> import kernelcal as kc
    >>> draws = kc.Samples([[[0.0, 0.0], [1.0, 1.5], [2.0, 1.0]]])
    >>> float(kc.measures.RankByBandDepth()([[-3.0, 3.0]], draws))
    0.125
    """

    name: ClassVar[str] = "mean rank by band depth"
    pre_rank: ClassVar[str] = "band depth"
