"""The exact Monte-Carlo test: redraw the targets from the predictions, keep the predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference.draws import Draws
from kernelcal.inference.ranks import minimum_rank_pvalue, ranks
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics import Prepared

__all__ = ["ExactNull", "exact_null"]

Progress = Callable[[int, int], None]

STOP_ABOVE = 0.2  # at an early look a p-value above this ends the test
_FIRST_LOOK = 99
_MEMORY = 2**28


@dataclass(frozen=True, eq=False)
class ExactNull:
    """Observed and drawn values, their ranks and the p-value.

    Attributes
    ----------
    values : numpy.ndarray of shape (draws + 1, S)
        Row 0 is observed.
    rank : numpy.ndarray of shape (draws + 1, S)
        Ranks among all rows, 1 for the largest.
    pvalue : float
        Exact p-value of the family, at least 1 / (draws + 1).
    stopped_early : bool
        Whether an early look ended the test.
    """

    values: np.ndarray
    rank: np.ndarray
    pvalue: float
    stopped_early: bool

    @property
    def draws(self) -> int:
        """Number of draws that were made."""
        return len(self.values) - 1


def exact_null(
    prepared: Prepared,
    labels: np.ndarray,
    predictions: ClassPredictions,
    draws: int,
    source: Draws,
    *,
    early_stopping: bool = True,
    progress: Progress | None = None,
) -> ExactNull:
    """Rank the observed values among those of redrawn targets.

    The test looks after 99, 199, 399, ... draws and stops when the p-value is above 0.2. This is exact: for a
    level a <= 0.2 a rejection needs the full number of draws, whose p-value is valid; for a > 0.2 it implies a
    first look with p <= a, which is valid too.
    """
    values = np.empty((0, len(prepared.names)))
    for look in _looks(draws, early_stopping):
        values = _extend(values, look, prepared, labels, predictions, source, _progress_to(progress, draws))
        rank = ranks(values)
        pvalue = minimum_rank_pvalue(values, rank)
        if pvalue > STOP_ABOVE:
            break
    return ExactNull(values, rank, pvalue, look < draws)


def _looks(draws: int, early_stopping: bool) -> list[int]:
    looks, look = [], _FIRST_LOOK
    while early_stopping and look < draws:
        looks.append(look)
        look = 2 * look + 1
    return [*looks, draws]


def _progress_to(progress: Progress | None, draws: int) -> Callable[[int], None]:
    return (lambda done: None) if progress is None else (lambda done: progress(done, draws))


def _extend(
    values: np.ndarray,
    look: int,
    prepared: Prepared,
    labels: np.ndarray,
    predictions: ClassPredictions,
    source: Draws,
    report: Callable[[int], None],
) -> np.ndarray:
    """Append draws up to a look; the first batch begins with the observed labels, on the same code path."""
    batch = max(1, _MEMORY // (prepared.bytes_per_draw + 2 * len(labels)))
    while len(values) < look + 1:
        done = max(len(values) - 1, 0)
        drawn = source.targets(predictions, done, min(done + batch, look))
        if len(values) == 0:
            drawn = np.concatenate([labels[None].astype(drawn.dtype), drawn])
        values = np.concatenate([values, _numbers(prepared.values(drawn), prepared.names)])
        report(len(values) - 1)
    return values


def _numbers(values: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    missing = np.isnan(values)
    if missing.any():
        name = names[int(np.flatnonzero(missing.any(axis=0))[0])]
        raise InputError(
            f"the statistic {name!r} is NaN for some labels, which has no rank: return a number for every set of labels"
        )
    return values
