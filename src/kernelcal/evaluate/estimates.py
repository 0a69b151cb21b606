"""The kernel error and its interval: all pairs while they take seconds, blocks for very many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.inference import Interval, confidence_interval
from kernelcal.predictions import ClassPredictions, Predictions, ScorePredictions
from kernelcal.statistics import KCCSD, SKCE

__all__ = ["estimator_of", "interval_of", "pair_work", "pairs_or_blocks"]

# Multiplications up to which the exact estimate takes less than about half a minute on two cores
_MULTIPLICATIONS = 3e12
_INTERVAL = 2e11  # the same for an interval over all pairs; above, the standard error comes from blocks
_WEIGHTED_UP_TO = 8_000  # rows; the interval with case weights is a bootstrap over all pairs
_BLOCKS = 30  # at least, for the normal law of their values
_DRAWS = 999  # at least, for percentiles
_SCORES_UP_TO, _SCORES_IN_A_BLOCK = 20_000, 1_000  # rows of scores: a test redraws the signs of all pairs


def pair_work(batch: Predictions) -> float:
    """Multiplications that the SKCE of all pairs costs, as its engine counts them."""
    few = batch if isinstance(batch, ClassPredictions) else batch[:2]  # numbers: all pairs cost the same
    return SKCE().work(few) * (len(batch) / len(few)) ** 2


def estimator_of(
    batch: Predictions, work: float | None = None, blocks: int = 1, template: SKCE | None = None
) -> SKCE | KCCSD:
    """All pairs while they take at most so many multiplications, else at least so many blocks; kernels as given."""
    if isinstance(batch, ScorePredictions):
        few = len(batch) <= _SCORES_UP_TO
        return KCCSD() if few else KCCSD(estimator="block", block_size=_SCORES_IN_A_BLOCK)
    template, work = SKCE() if template is None else template, _MULTIPLICATIONS if work is None else work
    return _within(work, pair_work(batch), len(batch), blocks, template)


def pairs_or_blocks(batches: Sequence[Predictions], template: SKCE) -> SKCE:
    """One estimator for several models: all pairs one by one while they take seconds, else blocks.

    Their differences need the products of two models pair by pair, so that no engine helps that sums without pairs.
    """
    n = len(batches[0])
    needed = max(SKCE().work(batch[:2]) for batch in batches) * (n / 2) ** 2
    return _within(_INTERVAL / len(batches), needed, n, _BLOCKS, template)


def _within(work: float, needed: float, n: int, blocks: int, template: SKCE) -> SKCE:
    if needed <= work:
        return template
    size = int(np.clip(n * work / needed, 2, max(n // blocks, 2)))
    return replace(template, estimator="block", block_size=size)


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
