"""The kernel error and its interval: all pairs while they take seconds, blocks for very many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.evaluation.quantiles import gap_of_ties
from kernelcal.inference.intervals import INTERVAL_METHODS, default_method
from kernelcal.inference.test import spectral_target
from kernelcal.kernels import Kernel
from kernelcal.pairs import Engine, ExactPairs, FeatureEngine, seconds_of_pairs
from kernelcal.predictions import ClassPredictions, Predictions, Quantiles, ScorePredictions
from kernelcal.statistics import KCCSD, SKCE, Estimate
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = ["KernelError", "pairs_or_blocks", "seconds_one_by_one"]


_SECONDS = 30.0  # on two cores, up to which the estimate takes all pairs
_INTERVAL = 4.0  # the same for an interval over all pairs; above, the standard error comes from blocks
_FEWEST = 10  # rows; of fewer an interval by resampling them says nothing
_PREPARED_UP_TO = 20_000  # rows of numbers; of more, features are not made before it is known that they serve
_WEIGHTED_UP_TO = 8_000  # rows; the interval with case weights is a bootstrap over all pairs
_BLOCKS = 30  # at least, for the normal law of their values
_SCORES_UP_TO, _SCORES_IN_A_BLOCK = 20_000, 1_000  # rows of scores: a test redraws the signs of all pairs


Resolved = tuple[Kernel, tuple[str, ...]]


class KernelError:
    """The kernel error of a case and its interval: which estimators serve, prepared once for both.

    All pairs while they take some seconds, which is then the same object for both, else blocks, which are unbiased for
    the same; an engine that is asked for serves both.

    Parameters
    ----------
    case : Case
        With predictions where sums over pairs are to be made.
    engine : Engine, optional
        How pairs are summed.
    shared : SKCE, optional
        An SKCE of all pairs whose kernels are those of several models.
    own : pair of Kernel and notes, optional
        Where kernels are shared, the kernel of the default test, resolved for this model.
    """

    def __init__(
        self, case: Case, engine: Engine | None = None, shared: SKCE | None = None, own: Resolved | None = None
    ) -> None:
        self.case, self.n, self.engine, self._own = case, len(case), engine, own
        self.whole = shared or SKCE()
        if engine is not None and not isinstance(case.predictions, ScorePredictions):
            self.whole = replace(
                self.whole, engine=engine, target_kernel=_target_for(engine, self.whole, case.predictions)
            )

    @cached_property
    def of_ties(self) -> Estimate | None:
        """Estimate of quantile forecasts whose outcomes equal quantiles, of which there is no SKCE; None elsewhere."""
        return gap_of_ties(self.case) if isinstance(self.case.predictions, Quantiles) else None

    @cached_property
    def prepared(self) -> PreparedPairMean:
        """What depends on the predictions alone, done."""
        return self.whole.prepare(self.case.predictions, self.case.weights)

    @property
    def own(self) -> Resolved | None:
        """Kernel of the default test, resolved for these predictions, with its notes; None where blocks need none."""
        if self._own is not None or self.of_ties is not None or self.estimator is not self.whole:
            return self._own
        return self.prepared.kernels[0], ()

    def prepared_for(self, statistic: Any) -> PreparedPairMean | None:
        """Return the preparation, for the statistic of all pairs alone."""
        return self.prepared if statistic is self.whole else None

    @cached_property
    def seconds(self) -> float:
        """Time of one value over all pairs on two cores, roughly, as its engine tells it."""
        if isinstance(self.case.predictions, ClassPredictions) or self.n <= _PREPARED_UP_TO:
            return self.prepared.forms.seconds
        return self.whole.seconds(self.case.predictions[:2]) * (self.n / 2) ** 2  # all pairs cost the same

    def seconds_of(self, statistic: SKCE) -> float:
        """Time of one value; of blocks, the share of pairs in them."""
        return self.seconds * (statistic.block_size or self.n) / self.n

    @cached_property
    def estimator(self) -> SKCE | KCCSD:
        """What estimates the error."""
        if isinstance(self.case.predictions, ScorePredictions):
            few = self.n <= _SCORES_UP_TO or self.engine is not None
            scores = KCCSD() if few else KCCSD(estimator="block", block_size=_SCORES_IN_A_BLOCK)
            return scores if self.engine is None else replace(scores, engine=self.engine)
        if self.of_ties is not None:
            return self.whole
        return self._pairs_or_blocks(_SECONDS, 1)

    @cached_property
    def interval_estimator(self) -> SKCE | None:
        """Whose interval is made; None where there is none.

        With case weights it is a bootstrap over all pairs, of some thousand rows at most.
        """
        if isinstance(self.case.predictions, ScorePredictions) or self.n < _FEWEST or self.of_ties is not None:
            return None
        if self.case.weights is not None:
            return self.whole if self.n <= _WEIGHTED_UP_TO else None
        return self._pairs_or_blocks(_INTERVAL, _BLOCKS)

    def _pairs_or_blocks(self, seconds: float, blocks: int) -> SKCE:
        if self.engine is not None:
            return self.whole
        return _within(seconds, self.seconds, self.n, blocks, self.whole)

    @property
    def _summed(self) -> bool:
        """Whether the interval asks for the sums of rows over all pairs."""
        case, all_pairs = self.case, self.interval_estimator is self.whole and isinstance(self.whole.engine, ExactPairs)
        if not all_pairs or case.weights is not None or case.rows is not None or case.in_numpy is not case:
            return False
        if default_method(self.whole, self.n) is not INTERVAL_METHODS["root"]:
            return False
        return bool(case.predictions.reference.dtype == np.float64)  # others keep the precision of their estimate

    def estimate(self) -> Estimate:
        """Estimate the error."""
        if self.of_ties is not None:
            return self.of_ties
        prepared = self.prepared_for(self.estimator)
        if prepared is not None and self._summed:
            matrix = prepared.matrix(self.case.targets)
            if matrix.by_pairs:
                _ = matrix.row_sums  # one walk over all pairs for the estimate and its interval
        return self.estimator.estimated(self.case) if prepared is None else self.whole.of_pairs(prepared, self.case)


def pairs_or_blocks(batches: Sequence[Predictions], template: SKCE) -> SKCE:
    """One estimator for several models: all pairs one by one while they take seconds, else blocks.

    Their differences need the products of two models pair by pair, so that no engine helps that sums without pairs.
    """
    n = len(batches[0])
    needed = max(map(seconds_one_by_one, batches))
    return _within(_INTERVAL / len(batches), needed, n, _BLOCKS, template)


def seconds_one_by_one(predictions: Predictions) -> float:
    """Time of the default SKCE of all pairs one by one, without the engines that are quicker."""
    n = len(predictions)
    if isinstance(predictions, ClassPredictions):
        return seconds_of_pairs(n, predictions.columns)
    return SKCE().seconds(predictions[:2]) * (n / 2) ** 2


def _within(seconds: float, needed: float, n: int, blocks: int, template: SKCE) -> SKCE:
    if needed <= seconds:
        return template
    size = int(np.clip(n * seconds / needed, 2, max(n // blocks, 2)))
    return replace(template, estimator="block", block_size=size)


def _target_for(engine: Engine, template: SKCE, batch: Predictions) -> Kernel | None:
    """Target kernel whose residuals an engine can take: features of numbers need a finite spectrum."""
    return (
        spectral_target(template.target_kernel, batch) if isinstance(engine, FeatureEngine) else template.target_kernel
    )
