"""The exact Monte-Carlo test: redraw the targets from the predictions, keep the predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference.draws import Draws
from kernelcal.inference.law import NullLaw, Outcome, Problem, Progress
from kernelcal.inference.ranks import minimum_rank_pvalue, ranks, standardised
from kernelcal.inference.result import Member
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics import Prepared

__all__ = ["Exact", "ExactNull", "exact_null", "outcome_of_values"]

STOP_ABOVE = 0.2  # at an early look a p-value above this ends the test
_FIRST_LOOK = 99
_MEMORY = 2**28


@dataclass(frozen=True)
class Exact(NullLaw):
    """Exact law of any statistic: targets redrawn from the predictions, predictions held fixed.

    ``p = (1 + #{b: T_b >= T}) / (B + 1)`` is valid at every n. Of several statistics the smallest rank is ranked.

    Notes
    -----
    Cost: B times what the statistic costs for other labels of the same predictions.

    References
    ----------
    Dwass (1957); Barnard (1963).
    """

    label: ClassVar[str] = "exact, targets redrawn from the predictions"

    def test(self, problem: Problem) -> Outcome:
        """Rank the observed values among the drawn ones."""
        law = exact_null(
            problem.prepared,
            problem.labels,
            problem.predictions,
            problem.draws,
            problem.source,
            early_stopping=problem.early_stopping,
            progress=problem.progress,
        )
        return outcome_of_values(law.values, problem.prepared.names, law, notes=_notes(law, problem.predictions))


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


def outcome_of_values(
    values: np.ndarray, names: tuple[str, ...], law: ExactNull | None = None, notes: tuple[str, ...] = ()
) -> Outcome:
    """Outcome from observed (row 0) and drawn values, shape (draws + 1, S)."""
    if law is None:
        rank = ranks(values)
        law = ExactNull(values, rank, minimum_rank_pvalue(values, rank), False)
    return Outcome(law.pvalue, _members(law, names), _fired(law, names), law.draws, law.stopped_early, notes)


def _members(law: ExactNull, names: tuple[str, ...]) -> tuple[Member, ...]:
    drawn, observed = law.values[1:], law.values[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = drawn.std(axis=0)
        deviation = np.where(spread > 0, (observed - drawn.mean(axis=0)) / spread, np.nan)
        deviation = np.where((spread == 0) & (observed > drawn.max(axis=0)), np.inf, deviation)
    pvalues = law.rank[0] / (law.draws + 1)
    columns = zip(names, observed, pvalues, deviation, strict=True)
    members = [Member(name, float(v), float(p), float(d)) for name, v, p, d in columns]
    return tuple(m for m in members if m.name != "impossible label" or m.value > 0)


def _fired(law: ExactNull, names: tuple[str, ...]) -> str:
    """Name of the member with the smallest rank; of equal ones the one that deviates most, as in the p-value."""
    deviation = [standardised(column)[0] for column in law.values.T]
    return min(zip(law.rank[0], [-d for d in deviation], names, strict=True))[2]


def _notes(law: ExactNull, batch: ClassPredictions) -> tuple[str, ...]:
    notes = []
    if law.stopped_early:
        notes.append(
            f"the draws stopped at {law.draws}, since p was above {STOP_ABOVE} (early_stopping=False, or --all-draws, "
            "makes all of them)"
        )
    if 1 / (law.draws + 1) > 0.05:
        notes.append(f"{law.draws} draws cannot give a p-value below {1 / (law.draws + 1):.2g}: use 999 or more")
    if np.all(law.values == law.values[0]):
        p = batch.probabilities
        certain = bool(np.all((p == 0) | (p == 1)))
        why = (
            "every prediction is certain, and every label is as predicted"
            if certain
            else "no draw differs from the data"
        )
        notes.append(f"the null has no variance: {why}")
    return tuple(notes)
