"""The exact Monte-Carlo test: redraw the targets from the predictions, keep the predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference.drawn import DrawnValues
from kernelcal.inference.draws import Draws
from kernelcal.inference.law import NullLaw, Outcome, Problem, Progress
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.statistics import Prepared

__all__ = ["Exact", "exact_notes", "exact_null"]

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
        drawn = exact_null(
            problem.prepared,
            problem.targets,
            problem.predictions,
            problem.draws,
            problem.source,
            early_stopping=problem.early_stopping,
            progress=problem.progress,
        )
        return drawn.outcome(problem.prepared.names, exact_notes(drawn, problem.predictions))


def exact_null(
    prepared: Prepared,
    targets: np.ndarray,
    predictions: Predictions,
    draws: int,
    source: Draws,
    *,
    early_stopping: bool = True,
    progress: Progress | None = None,
) -> DrawnValues:
    """Rank the observed values among those of redrawn targets.

    The test looks after 99, 199, 399, ... draws and stops when the p-value is above 0.2. This is exact: for a
    level a <= 0.2 a rejection needs the full number of draws, whose p-value is valid; for a > 0.2 it implies a
    first look with p <= a, which is valid too.
    """
    values = np.empty((0, len(prepared.names)))
    for look in _looks(draws, early_stopping):
        values = _extend(values, look, prepared, targets, predictions, source, _progress_to(progress, draws))
        drawn = DrawnValues.of(values, stopped_early=look < draws)
        if drawn.pvalue > STOP_ABOVE:
            break
    return drawn


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
    targets: np.ndarray,
    predictions: Predictions,
    source: Draws,
    report: Callable[[int], None],
) -> np.ndarray:
    """Append draws up to a look; the first batch begins with the observed targets, on the same code path."""
    batch = max(1, _MEMORY // (prepared.bytes_per_draw + 2 * len(targets)))
    while len(values) < look + 1:
        done = max(len(values) - 1, 0)
        drawn = source.targets(predictions, done, min(done + batch, look))
        if len(values) == 0:
            drawn = np.concatenate([targets[None].astype(drawn.dtype), drawn])
        values = np.concatenate([values, _numbers(prepared.values(drawn), prepared.names)])
        report(len(values) - 1)
    return values


def _numbers(values: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
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
    if 1 / (drawn.draws + 1) > 0.05:
        notes.append(f"{drawn.draws} draws cannot give a p-value below {1 / (drawn.draws + 1):.2g}: use 999 or more")
    if np.all(drawn.values == drawn.values[0]):
        certain = isinstance(batch, ClassPredictions) and _certain(batch)
        why = (
            "every prediction is certain, and every label is as predicted"
            if certain
            else "no draw differs from the data"
        )
        notes.append(f"the null has no variance: {why}")
    return tuple(notes)
