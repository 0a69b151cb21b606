"""The exact Monte-Carlo test: targets are drawn from the predictions, or outcomes swapped with their draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import DRAWS
from kernelcal.errors import InputError
from kernelcal.inference.draws import Draws
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem
from kernelcal.inference.laws.ranking import decisive, merged_pvalue, ranks
from kernelcal.inference.result import Member
from kernelcal.pairs import threaded_stream
from kernelcal.predictions import ClassPredictions, Predictions, Samples, ScorePredictions
from kernelcal.runs import Run
from kernelcal.statistics import Look, Merge, Prepared
from kernelcal.tables import Shown, Table

__all__ = [
    "DrawnValues",
    "Exact",
    "Swap",
    "draws_at_once",
    "exact_notes",
    "exact_null",
    "with_ranks",
]


_SHOWN = 30

_KEPT = 250_000  # values that a result keeps for its picture: two megabytes

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

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Exact
    >>> kc.calibration_test([1] * 30, [0.5] * 30, null=Exact(), draws=99).pvalue
    0.01
    """

    label: ClassVar[str] = "exact, targets redrawn from the predictions"
    asymptotic: ClassVar[bool] = False
    resident: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    def test(self, problem: Problem) -> Outcome:
        """Rank the observed values among the drawn ones."""
        drawn = exact_null(problem.prepared, problem.case, problem.run, problem.source)
        return drawn.outcome(problem.prepared.names, exact_notes(drawn, problem.case.predictions, problem.run.alpha))


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

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.cases import Case
    >>> from kernelcal.inference import exact_null
    >>> from kernelcal.runs import Run
    >>> case = Case.of([1] * 20, [0.5] * 20)
    >>> exact_null(kc.ECE().prepare(case.predictions), case, Run(draws=99)).pvalue
    0.01
    """
    source = Draws(run.rng, "draws of a test") if source is None else source
    case = case.in_cells if prepared.by_cells else case
    looks = () if getattr(case.predictions, "continuous", False) else prepared.looks
    values, keys = np.empty((0, len(prepared.names))), np.empty((0, len(looks)), dtype=np.int64)
    for look in _looks(run.draws, run.early_stopping):
        values, keys = _extend(values, keys, look, looks, prepared, case, run, source)
        drawn = DrawnValues.of(_alike(values, keys, looks), stopped_early=look < run.draws, merge=prepared.merge)
        if drawn.pvalue > STOP_ABOVE:
            break
    return drawn


def _looks(draws: int, early_stopping: bool) -> list[int]:
    looks, look = [], _FIRST_LOOK
    while early_stopping and look < draws:
        looks.append(look)
        look = 2 * look + 1
    return [*looks, draws]


def draws_at_once(prepared: Prepared, n: int) -> int:
    """Return how many sets of targets of n rows are drawn and valued at once, so that they fit the working memory."""
    return max(1, _MEMORY // (prepared.bytes_per_draw + 2 * n))


def _extend(
    values: np.ndarray,
    keys: np.ndarray,
    look: int,
    looks: Sequence[Look],
    prepared: Prepared,
    case: Case,
    run: Run,
    source: Draws,
) -> tuple[np.ndarray, np.ndarray]:
    """Append draws up to a look; the first batch begins with the observed targets, on the same code path."""

    def valued(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        drawn = source.targets(case.predictions, max(rows.start - 1, 0), rows.stop - 1)
        if rows.start == 0:
            drawn = np.concatenate([case.targets[None].astype(drawn.dtype), drawn])
        return with_ranks(prepared.values(drawn), prepared.names), _keys(drawn, looks)

    step = prepared.draws_a_thread or draws_at_once(prepared, len(case)) + (len(values) == 0)
    parts = [slice(first, min(first + step, look + 1)) for first in range(len(values), look + 1, step)]
    beside = prepared.draws_a_thread > 0 and len(parts) > 1
    for more, own in threaded_stream(valued, parts, None) if beside else map(valued, parts):
        values, keys = np.concatenate([values, more]), np.concatenate([keys, own])
        run.tell(len(values) - 1)
    return values, keys


def _keys(targets: np.ndarray, looks: Sequence[Look]) -> np.ndarray:
    """A number for the targets that every look sees, of each draw: shape (B, looks)."""
    keys = np.empty((len(targets), len(looks)), dtype=np.int64)
    for k, (place, _) in enumerate(looks):
        for own, row in zip(keys, targets[:, place], strict=True):
            own[k] = hash(row.tobytes())
    return keys


def _alike(values: np.ndarray, keys: np.ndarray, looks: Sequence[Look]) -> np.ndarray:
    """Give targets that are the same the values of the first of them: they must tie.

    Products of matrices sum in another order at their edges, and in batches of another size. Where nearly all draws are
    the same, the last digits would rank them by their place, of which the observed targets have always the first.
    """
    values, first = values.copy(), 0
    for own, (_, number) in zip(keys.T, looks, strict=True):
        _, index, inverse = np.unique(own, return_index=True, return_inverse=True)
        values[:, first : first + number] = values[index[inverse], first : first + number]
        first += number
    return values


def _certain(batch: ClassPredictions) -> bool:
    p = batch.probabilities
    return bool(np.all((p == 0) | (p == 1)))


def exact_notes(drawn: DrawnValues, batch: Predictions, alpha: float) -> tuple[str, ...]:
    """What the reader must know about these draws."""
    notes = []
    if drawn.stopped_early:
        notes.append(
            f"the draws stopped at {drawn.draws}, since p was above {STOP_ABOVE} (early_stopping=False, or "
            "--all-draws, makes all of them)"
        )
    if 1 / (drawn.draws + 1) > alpha:
        least = 1 / (drawn.draws + 1)
        enough = max(DRAWS, math.ceil(1 / alpha))
        notes.append(f"{drawn.draws} draws cannot give a p-value below {least:.2g}: use {enough} or more")
    if np.all(drawn.values == drawn.values[0]):
        certain = isinstance(batch, ClassPredictions) and _certain(batch)
        why = (
            "every prediction is certain, and every label is as predicted"
            if certain
            else "no draw differs from the data"
        )
        notes.append(f"the null has no variance: {why}")
    return tuple(notes)


@dataclass(frozen=True, eq=False, repr=False)
class DrawnValues(Shown):
    """Observed and drawn values, their ranks and the p-value.

    Attributes
    ----------
    values : numpy.ndarray of shape (draws + 1, S)
        Row 0 is observed.
    rank : numpy.ndarray of shape (draws + 1, S)
        Ranks among all rows, 1 for the largest.
    pvalue : float
        P-value of the family, at least 1 / (draws + 1).
    stopped_early : bool
        Whether an early look ended the draws.
    merge : Merge or None
        How the statistics became one p-value; None: each by itself, all alike.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.cases import Case
    >>> from kernelcal.inference import exact_null
    >>> from kernelcal.runs import Run
    >>> case = Case.of([1] * 20, [0.5] * 20)
    >>> drawn = exact_null(kc.ECE().prepare(case.predictions), case, Run(draws=99))
    >>> drawn.draws, drawn.values.shape
    (99, (100, 1))
    """

    values: np.ndarray
    rank: np.ndarray
    pvalue: float
    stopped_early: bool
    merge: Merge | None = None

    @classmethod
    def of(cls, values: np.ndarray, *, stopped_early: bool = False, merge: Merge | None = None) -> Self:
        """Rank values of shape (draws + 1, S)."""
        rank = ranks(values)
        return cls(values, rank, merged_pvalue(values, rank, merge), stopped_early, merge)

    @property
    def draws(self) -> int:
        """Number of draws that were made."""
        return len(self.values) - 1

    def outcome(self, names: tuple[str, ...], notes: tuple[str, ...] = ()) -> Outcome:
        """Outcome with a member for every statistic."""
        members, fired = self._members(names), names[decisive(self.values, self.rank, self.merge)]
        columns = dict(zip(names, self.values[1:].T, strict=True)) if self.values.size <= _KEPT else {}
        kept = {member.name: columns[member.name] for member in members if columns}
        return Outcome(self.pvalue, members, fired, self.draws, self.stopped_early, notes, kept)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: what was observed, and its ranks."""
        observed = {"values": self.values[0].tolist(), "rank": self.rank[0].tolist()}
        return {"pvalue": self.pvalue, "draws": self.draws, "stopped_early": self.stopped_early, **observed}

    def _table(self) -> Table:
        stopped = ", stopped early" if self.stopped_early else ""
        rows = [("p-value", f"{self.pvalue:.4g}"), ("draws", f"{self.draws:,}{stopped}")]
        observed = zip(self.values[0, :_SHOWN], self.rank[0, :_SHOWN], strict=True)
        rows += [(f"statistic {k}", f"{value:.6g}, rank {int(rank):,}") for k, (value, rank) in enumerate(observed)]
        more = self.values.shape[1] - _SHOWN
        return Table("Drawn values", rows, (f"{more:,} more statistics are not shown",) if more > 0 else ())

    def _members(self, names: tuple[str, ...]) -> tuple[Member, ...]:
        """Every statistic; beside others one that no draw changes says nothing and is left out."""
        drawn, observed = self.values[1:], self.values[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = drawn.std(axis=0)
            deviation = np.where(spread > 0, (observed - drawn.mean(axis=0)) / spread, np.nan)
            deviation = np.where((spread == 0) & (observed > drawn.max(axis=0)), np.inf, deviation)
        pvalues = self.rank[0] / (self.draws + 1)
        columns = zip(names, observed, pvalues, deviation, strict=True)
        counted = None if self.merge is None else {k for group in self.merge.groups for k in group}
        members = [
            Member(name, float(v), float(p), float(d), counted is None or k in counted)
            for k, (name, v, p, d) in enumerate(columns)
        ]
        varying = [m for m, column in zip(members, self.values.T, strict=True) if np.any(column != column[0])]
        return tuple(varying or members)


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


@dataclass(frozen=True)
class Swap(NullLaw):
    """Exact law of any statistic where a prediction is a set of draws: the outcome is exchangeable with them.

    If the outcome and the S draws of a row are independent with one law, nothing tells which of the S + 1 values is the
    outcome. The values of every row are pooled, every draw lets one of them, chosen at random, play the outcome, and
    the statistic compares the player with its pool, which no choice changes:
    ``p = (1 + #{b: T_b >= T}) / (B + 1)``, valid at every n and S.

    Notes
    -----
    Assumes that rows are independent and that the draws of a row are independent of its outcome given the model. Draws
    with weights are not exchangeable and are refused. Cost: B times what the statistic costs for other targets.

    References
    ----------
    The exchangeability of rank histograms and of simulation-based calibration, as a permutation test (Dwass 1957).

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Swap
    >>> draws = np.random.default_rng(0).normal(size=(30, 9))
    >>> kc.calibration_test(draws[:, 0] + 3, kc.Samples(draws), null=Swap(), draws=99).pvalue
    0.01
    """

    label: ClassVar[str] = "exact, the outcome swapped with the draws"
    asymptotic: ClassVar[bool] = False
    weighted: ClassVar[bool] = True

    def test(self, problem: Problem) -> Outcome:
        """Rank the observed values among those of swapped outcomes."""
        case = problem.case
        if not isinstance(case.predictions, Samples | ScorePredictions):
            raise InputError(
                f"null='swap' needs predictions that are draws (kernelcal.Samples), got "
                f"{type(case.predictions).__name__}: use null='exact'"
            )
        pooled = case.predictions.pooled(case.targets)
        prepared = problem.statistic.prepare(pooled, case.weights)
        drawn = exact_null(prepared, replace(case, predictions=pooled), problem.run, problem.source)
        return drawn.outcome(prepared.names, exact_notes(drawn, pooled, problem.run.alpha))
