"""The exact Monte-Carlo test: redraw the targets from the predictions, keep the predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference.drawn import DrawnValues
from kernelcal.inference.draws import Draws
from kernelcal.inference.law import NullLaw, Outcome, Problem
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.runs import DRAWS, SIGNIFICANCE, Run
from kernelcal.statistics import Prepared

__all__ = ["Exact", "exact_notes", "exact_null", "with_ranks"]

STOP_ABOVE = 0.2  # at an early look a p-value above this ends the test
_FIRST_LOOK = 99
_MEMORY = 2**28


@dataclass(frozen=True)
class Exact(NullLaw):
    """Exact law of any statistic: targets redrawn from the predictions, predictions held fixed.

    ``p = (1 + #{b: T_b >= T}) / (B + 1)`` is valid at every n. Of several statistics the smallest rank is ranked.

    Notes
    -----
    Cost: B times what the statistic costs for other targets of the same predictions.

    References
    ----------
    Dwass (1957); Barnard (1963).
    """

    label: ClassVar[str] = "exact, targets redrawn from the predictions"
    asymptotic: ClassVar[bool] = False
    resident: ClassVar[bool] = True

    def test(self, problem: Problem) -> Outcome:
        """Rank the observed values among the drawn ones."""
        drawn = exact_null(problem.prepared, problem.case, problem.run, problem.source)
        return drawn.outcome(problem.prepared.names, exact_notes(drawn, problem.case.predictions))


def exact_null(prepared: Prepared, case: Case, run: Run, source: Draws | None = None) -> DrawnValues:
    """Rank the observed values among those of redrawn targets.

    Parameters
    ----------
    prepared : Prepared
        Statistics of these predictions.
    case : Case
        Observed targets, and the predictions that targets are drawn from.
    run : Run
        How many draws, their seed, whether they may stop early, and whom to tell.
    source : Draws, optional
        Where draws come from; default that of the seed.

    Returns
    -------
    DrawnValues

    Notes
    -----
    The test looks after 99, 199, 399, ... draws and stops when the p-value is above 0.2. This is exact: for a
    level a <= 0.2 a rejection needs the full number of draws, whose p-value is valid; for a > 0.2 it implies a
    first look with p <= a, which is valid too.
    """
    source = Draws(run.rng) if source is None else source
    values = np.empty((0, len(prepared.names)))
    for look in _looks(run.draws, run.early_stopping):
        values = _extend(values, look, prepared, case, run, source)
        drawn = DrawnValues.of(values, stopped_early=look < run.draws)
        if drawn.pvalue > STOP_ABOVE:
            break
    return drawn


def _looks(draws: int, early_stopping: bool) -> list[int]:
    looks, look = [], _FIRST_LOOK
    while early_stopping and look < draws:
        looks.append(look)
        look = 2 * look + 1
    return [*looks, draws]


def _extend(values: np.ndarray, look: int, prepared: Prepared, case: Case, run: Run, source: Draws) -> np.ndarray:
    """Append draws up to a look; the first batch begins with the observed targets, on the same code path."""
    batch = max(1, _MEMORY // (prepared.bytes_per_draw + 2 * len(case)))
    while len(values) < look + 1:
        done = max(len(values) - 1, 0)
        drawn = source.targets(case.predictions, done, min(done + batch, look))
        if len(values) == 0:
            drawn = np.concatenate([case.targets[None].astype(drawn.dtype), drawn])
        values = np.concatenate([values, with_ranks(prepared.values(drawn), prepared.names)])
        run.tell(len(values) - 1)
    return values


def with_ranks(values: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Return values of statistics, or refuse those that are NaN, which has no rank."""
    missing = np.isnan(values)
    if missing.any():
        name = names[int(np.flatnonzero(missing.any(axis=0))[0])]
        raise InputError(
            f"the statistic {name!r} is NaN for some targets, which has no rank: return a number for "
            "every set of targets"
        )
    return values


def _certain(batch: ClassPredictions) -> bool:
    p = batch.probabilities
    return bool(np.all((p == 0) | (p == 1)))


def exact_notes(drawn: DrawnValues, batch: Predictions) -> tuple[str, ...]:
    """What the reader must know about these draws."""
    notes = []
    if drawn.stopped_early:
        notes.append(
            f"the draws stopped at {drawn.draws}, since p was above {STOP_ABOVE} (early_stopping=False, or "
            "--all-draws, makes all of them)"
        )
    if 1 / (drawn.draws + 1) > SIGNIFICANCE:
        least = 1 / (drawn.draws + 1)
        notes.append(f"{drawn.draws} draws cannot give a p-value below {least:.2g}: use {DRAWS} or more")
    if np.all(drawn.values == drawn.values[0]):
        certain = isinstance(batch, ClassPredictions) and _certain(batch)
        why = (
            "every prediction is certain, and every label is as predicted"
            if certain
            else "no draw differs from the data"
        )
        notes.append(f"the null has no variance: {why}")
    return tuple(notes)
