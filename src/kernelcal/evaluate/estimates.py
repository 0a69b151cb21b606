"""The kernel error and its interval: all pairs while they take seconds, blocks for very many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kernelcal.inference.family import spectral_target
from kernelcal.kernels import Kernel
from kernelcal.pairs import Engine
from kernelcal.pairs.features import FeatureEngine
from kernelcal.predictions import ClassPredictions, Predictions, ScorePredictions
from kernelcal.statistics import KCCSD, SKCE

__all__ = ["estimators_of", "pairs_or_blocks", "seconds_of"]

_SECONDS = 30.0  # on two cores, up to which the estimate takes all pairs
_INTERVAL = 4.0  # the same for an interval over all pairs; above, the standard error comes from blocks
_FEWEST = 10  # rows; of fewer an interval by resampling them says nothing
_WEIGHTED_UP_TO = 8_000  # rows; the interval with case weights is a bootstrap over all pairs
_BLOCKS = 30  # at least, for the normal law of their values
_SCORES_UP_TO, _SCORES_IN_A_BLOCK = 20_000, 1_000  # rows of scores: a test redraws the signs of all pairs


def seconds_of(statistic: SKCE, batch: Predictions) -> float:
    """Time of one value on two cores, roughly, as its engine tells it; of blocks, the share of pairs in them."""
    if statistic.block_size is not None:
        return seconds_of(SKCE(), batch) * statistic.block_size / len(batch)
    few = batch if isinstance(batch, ClassPredictions) else batch[:2]  # numbers: all pairs cost the same
    return statistic.seconds(few) * (len(batch) / len(few)) ** 2


def estimators_of(
    batch: Predictions, template: SKCE | None = None, engine: Engine | None = None, *, weighted: bool = False
) -> tuple[SKCE | KCCSD, SKCE | None]:
    """Return the estimator of the error and that of its interval, None where there is no interval.

    All pairs while they take some seconds, which is the same object for both, else blocks; kernels and engine as given.
    The interval with case weights is a bootstrap over all pairs, of some thousand rows at most.
    """
    if isinstance(batch, ScorePredictions):
        few = len(batch) <= _SCORES_UP_TO or engine is not None
        scores = KCCSD() if few else KCCSD(estimator="block", block_size=_SCORES_IN_A_BLOCK)
        return scores if engine is None else replace(scores, engine=engine), None
    whole, n = SKCE() if template is None else template, len(batch)
    if engine is None:
        needed = seconds_of(SKCE(), batch)
        own, of = _within(_SECONDS, needed, n, 1, whole), _within(_INTERVAL, needed, n, _BLOCKS, whole)
    else:
        own = of = replace(whole, engine=engine, target_kernel=_target_for(engine, whole, batch))
    of, most = (whole, _WEIGHTED_UP_TO) if weighted else (of, n)
    return own, of if _FEWEST <= n <= most else None


def pairs_or_blocks(batches: Sequence[Predictions], template: SKCE) -> SKCE:
    """One estimator for several models: all pairs one by one while they take seconds, else blocks.

    Their differences need the products of two models pair by pair, so that no engine helps that sums without pairs.
    """
    n = len(batches[0])
    needed = max(SKCE().seconds(batch[:2]) for batch in batches) * (n / 2) ** 2
    return _within(_INTERVAL / len(batches), needed, n, _BLOCKS, template)


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
