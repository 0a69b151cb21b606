"""Closed central intervals of predictions, and the probability that they have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from kernelcal.predictions import Quantiles, RealPredictions, Samples

__all__ = ["CentralIntervals", "central_intervals"]


@dataclass(frozen=True, eq=False)
class CentralIntervals:
    """Ends of the closed intervals and their probability under the predictions, each of shape (n,)."""

    low: np.ndarray
    high: np.ndarray
    probability: np.ndarray
    notes: tuple[str, ...] = ()


@singledispatch
def central_intervals(predictions: RealPredictions, level: float) -> CentralIntervals:
    """Return the closed intervals between the quantiles (1 - level)/2 and (1 + level)/2."""
    # rounded, since 0.9 must ask for the quantile 0.05 that was given, not for 0.04999999999999999
    low, high = (predictions.quantile(float(np.round(t, 12))) for t in ((1 - level) / 2, (1 + level) / 2))
    return CentralIntervals(low, high, predictions.cdf(high) - predictions.cdf_below(low))


@central_intervals.register
def _(predictions: Samples, level: float) -> CentralIntervals:
    """Order statistics: the outcome is one of S + 1 exchangeable values."""
    weights = np.ones(predictions.draws.shape) if predictions.weights is None else predictions.weights
    counted = weights > 0
    if not predictions.exchangeable:
        return _weighted(predictions, level)
    members = counted.sum(axis=1)
    cut = np.floor((members + 1) * (1 - level) / 2 + 1e-9).astype(np.int64)
    short = cut < 1
    cut = np.maximum(cut, 1)
    ordered = np.sort(np.where(counted, predictions.draws, np.inf), axis=1)
    rows = np.arange(len(members))
    probability = (members + 1 - 2 * cut) / (members + 1)
    return CentralIntervals(
        ordered[rows, cut - 1], ordered[rows, members - cut], probability, _notes(short, members, level)
    )


@central_intervals.register
def _(predictions: Quantiles, level: float) -> CentralIntervals:
    """Say where the ends are no quantiles that were given."""
    found = central_intervals.dispatch(RealPredictions)(predictions, level)
    ends = np.round([(1 - level) / 2, (1 + level) / 2], 12)
    absent = [f"{end:g}" for end in ends if not np.any(np.isclose(end, predictions.levels, rtol=0, atol=1e-9))]
    if not absent:
        return found
    note = (
        f"{100 * level:g} % intervals need the quantiles {' and '.join(absent)}, which were not given: they are "
        "interpolated, or lie on the tails"
    )
    return CentralIntervals(found.low, found.high, found.probability, (note,))


def _weighted(predictions: Samples, level: float) -> CentralIntervals:
    """Take unequal weights as the distribution itself: no exchangeability tells what they reach."""
    found = central_intervals.dispatch(RealPredictions)(predictions, level)
    note = "the draws have unequal weights: intervals and expected coverage are those of their weighted quantiles"
    return CentralIntervals(found.low, found.high, found.probability, (note,))


def _notes(short: np.ndarray, members: np.ndarray, level: float) -> tuple[str, ...]:
    if not short.any():
        return ()
    most = int(members[short].max())
    return (
        f"intervals of {100 * level:g} % need at least {int(np.ceil(round((1 + level) / (1 - level), 9)))} draws, and "
        f"there are fewer in {int(short.sum()):,} of {len(short):,} rows (at most {most}): their whole range was "
        f"taken, which covers at most {(most - 1) / (most + 1):.3f}",
    )
