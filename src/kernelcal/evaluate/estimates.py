"""The kernel error and its interval: all pairs while they take seconds, blocks for very many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.inference import Interval, confidence_interval
from kernelcal.predictions import ClassPredictions, MultivariateNormal, Predictions, RealPredictions, ScorePredictions
from kernelcal.residuals import GramResidual, residual_of, target_kernel_of
from kernelcal.statistics import KCCSD, SKCE

__all__ = ["estimator_of", "interval_of", "pair_cost", "pairs_or_blocks"]

# Multiplications up to which the exact estimate takes less than about half a minute on two cores
_MULTIPLICATIONS = 3e12
_INTERVAL = 2e11  # the same for an interval over all pairs; above, the standard error comes from blocks
_WEIGHTED_UP_TO = 8_000  # rows; the interval with case weights is a bootstrap over all pairs
_BLOCKS = 30  # at least, for the normal law of their values
_DRAWS = 999  # at least, for percentiles
_EXPONENTIALS = 400  # multiplications that the four kernel values of a pair cost, and half of it a component
_SCORES_UP_TO, _SCORES_IN_A_BLOCK = 20_000, 1_000  # rows of scores: a test redraws the signs of all pairs
_FACTORISATION = 30_000  # a pair of full covariance matrices


def pair_cost(batch: Predictions) -> float:
    """Multiplications that a pair of rows costs, roughly."""
    if isinstance(batch, ClassPredictions):
        return batch.columns + 30.0
    assert isinstance(batch, RealPredictions)  # for the type checker: there is no third kind
    residual = residual_of(batch[:2], target_kernel_of(None, batch))
    if not isinstance(residual, GramResidual):
        return batch.columns + residual.dimension + 100.0
    full = isinstance(batch, MultivariateNormal)
    return _EXPONENTIALS * (1 + batch.dimension / 2) + (_FACTORISATION if full else 0)


def estimator_of(
    batch: Predictions, work: float | None = None, blocks: int = 1, template: SKCE | None = None
) -> SKCE | KCCSD:
    """All pairs while they take at most so many multiplications, else at least so many blocks; kernels as given."""
    if isinstance(batch, ScorePredictions):
        few = len(batch) <= _SCORES_UP_TO
        return KCCSD() if few else KCCSD(estimator="block", block_size=_SCORES_IN_A_BLOCK)
    template, work = SKCE() if template is None else template, _MULTIPLICATIONS if work is None else work
    n, cost = len(batch), pair_cost(batch)
    if float(n) * n * cost <= work:
        return template
    size = int(np.clip(work / (float(n) * cost), 2, max(n // blocks, 2)))
    return replace(template, estimator="block", block_size=size)


def pairs_or_blocks(batches: Sequence[Predictions], template: SKCE) -> SKCE:
    """One estimator for several models, whose standard error is known: all pairs while they take seconds, or blocks."""
    found = estimator_of(max(batches, key=pair_cost), _INTERVAL / len(batches), _BLOCKS, template)
    assert isinstance(found, SKCE)  # for the type checker: scores are not compared
    return found


def interval_of(
    targets: np.ndarray, batch: Predictions, pvalue: float, level: float, template: SKCE | None = None, **options: Any
) -> Interval | None:
    """Interval for the SKCE of all pairs; where these are too many, from the values of blocks."""
    weighted = options["weights"] is not None
    whole = SKCE() if template is None else template
    statistic = whole if weighted else estimator_of(batch, _INTERVAL, _BLOCKS, whole)
    if isinstance(statistic, KCCSD) or (weighted and len(batch) > _WEIGHTED_UP_TO):
        return None
    options["draws"] = max(options["draws"], _DRAWS)
    return confidence_interval(targets, batch, statistic=statistic, level=level, pvalue=pvalue, **options)
