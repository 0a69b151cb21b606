"""Which groups are miscalibrated: the whole default family in every group, under one batch of draws of all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.explanation.differing import differences_of
from kernelcal.explanation.findings import ByGroup, GroupFinding
from kernelcal.explanation.groups import Group, Grouping
from kernelcal.explanation.sizes import KernelSize, gap_name, has_ties, kernel_size, score_name, sizes_of
from kernelcal.inference import CoupledRows, DefaultFamily, DrawnValues, Draws, Redrawn, RedrawnValues, exact_null
from kernelcal.inference.laws import family_wise_pvalues, merged_ranks, refuse_few_clusters, thinned_in_words
from kernelcal.inference.test import PreparedFamily, directions, family_of_pairs
from kernelcal.predictions import Samples
from kernelcal.runs import Run
from kernelcal.statistics import SKCE, Look, Prepared
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = [
    "PURPOSE",
    "Beside",
    "Coupled",
    "Null",
    "PreparedGroups",
    "by_group",
    "by_size",
    "dependent_by_group",
    "found_by_group",
    "prepared_groups",
]

PURPOSE = "draws of an explanation"  # the same in `Null.of`
_WEAK = "not tested, since their clusters count like fewer than 5"
_EACH = 20  # draws a thinned series, so that the smallest p-value times h reaches 5 %


@dataclass(frozen=True, eq=False)
class Null:
    """Observed targets among redrawn ones.

    Attributes
    ----------
    case : Case
        Observed targets, the predictions themselves, case weights.
    pool : Case
        The same with what targets are drawn from: of `Samples` the pool of draws and outcome, which no draw changes.
    run : Run
        How many draws, all of which are made.
    source : Draws
        Where from.
    """

    case: Case
    pool: Case
    run: Run
    source: Draws

    @classmethod
    def of(cls, case: Case, run: Run) -> Self:
        """Targets redrawn from the predictions; where these are draws, the outcome swapped with them."""
        batch, case = case.predictions, replace(case, given=None)  # columns that are given have a test of their own
        pool = replace(case, predictions=batch.pooled(case.targets)) if isinstance(batch, Samples) else case
        return cls(case, pool, replace(run, early_stopping=False), Draws(run.rng, "draws of an explanation"))

    def ranked(self, prepared: Prepared) -> DrawnValues:
        """Values of prepared statistics, all draws made."""
        return exact_null(prepared, self.pool, self.run, self.source)


class PreparedGroups(Prepared):
    """Members of the default family in every group, for many sets of targets of all rows.

    One batch of draws of all rows serves every group, so that the joint law of the groups is that of the predictions:
    what rows they share they share in every draw.

    Parameters
    ----------
    families : sequence of PreparedFamily
        One a group, of its rows.
    groups : sequence of Group
        The groups.
    places : sequence of slice, optional
        Where the rows of each lie in targets; default where they are.
    """

    def __init__(
        self, families: Sequence[PreparedFamily], groups: Sequence[Group], places: Sequence[slice] | None = None
    ) -> None:
        self.families, self.groups = families, groups
        self.places: Sequence[Any] = [group.rows for group in groups] if places is None else places
        pairs = list(zip(families, groups, strict=True))
        self.names = tuple(f"{g.column} {g.name}: {name}" for family, g in pairs for name in family.names)
        self.engine = "; ".join(dict.fromkeys(family.engine for family in families))
        largest = max(family.bytes_per_draw + 8 * len(g.rows) for family, g in pairs)
        self.bytes_per_draw = largest + 8 * len(self.names)
        self.by_cells = all(family.by_cells for family in families)

    @property
    def looks(self) -> tuple[Look, ...]:
        """The rows of every group."""
        return tuple((place, len(family.names)) for family, place in zip(self.families, self.places, strict=True))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all members in all groups, shape (B, members)."""
        pairs = zip(self.families, self.places, strict=True)
        return np.hstack([family.values(targets[:, place]) for family, place in pairs])

    def ranked(self, values: np.ndarray) -> list[DrawnValues]:
        """Members of every group, ranked among the rows of values, shape (draws + 1, members)."""
        bounds = np.cumsum([len(family.names) for family in self.families])[:-1]
        parts = np.split(values, bounds, axis=1)
        return [DrawnValues.of(part, merge=family.merge) for part, family in zip(parts, self.families, strict=True)]

    @staticmethod
    def corrected(drawn: Sequence[DrawnValues]) -> np.ndarray:
        """P-values of groups, corrected for the choice among all: every group has its merged rank in every row.

        They are exact, since a group sees its own rows alone (`family_wise_pvalues`).
        """
        merged = [merged_ranks(own.values, own.rank, own.merge) for own in drawn]
        rank, deviation = (np.stack(columns, axis=1) for columns in zip(*merged, strict=True))
        return family_wise_pvalues(rank, deviation)


def by_size(groups: Sequence[Group], weights: np.ndarray | None) -> tuple[list[Group], list[Group]]:
    """Groups with a pair of rows that count, and those without."""
    counted = [len(g.rows) if weights is None else int(np.count_nonzero(weights[g.rows])) for g in groups]
    large = [g for g, n in zip(groups, counted, strict=True) if n >= 2]
    return large, [g for g, n in zip(groups, counted, strict=True) if n < 2]


@dataclass(frozen=True, eq=False)
class Beside:
    """What the p-values of groups rest on where rows depend on each other.

    Attributes
    ----------
    law : str
        How rows depend.
    least : mapping of int to (float, float)
        Of groups whose clusters differ by more than a common shift the p-value by flipped signs of clusters, alone and
        over all groups: theirs are not below.
    notes : tuple of str
        What the reader must know.
    """

    law: str
    least: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Coupled:
    """All rows, and groups of them whose clusters are enough, redrawn in the same draws.

    Attributes
    ----------
    redrawn : Redrawn
        All rows, if they are asked for too, and then each group.
    groups, weak : sequence of Group
        Those that are tested, and those whose clusters are too few.
    first : int
        Place of the first group among the parts.
    """

    redrawn: Redrawn
    groups: Sequence[Group]
    weak: Sequence[Group]
    first: int

    @classmethod
    def of(cls, null: Null, groups: Sequence[Group], *, whole: bool) -> Self:
        """Look at the rows of every group."""
        case = null.pool
        assert case.rows is not None  # for the type checker: it was asked for rows that depend
        every = [CoupledRows.of(case, np.arange(len(case)))] if whole else []
        if whole:
            refuse_few_clusters(case.rows, every[0].effective)
        parts = [(group, CoupledRows.of(case, group.rows)) for group in groups]
        kept = [(group, part) for group, part in parts if part.enough]
        redrawn = Redrawn(case, [*every, *(part for _, part in kept)])
        weak = [group for group, part in parts if not part.enough]
        return cls(redrawn, [group for group, _ in kept], weak, len(every))

    @property
    def places(self) -> tuple[slice, ...]:
        """Where the rows of the groups lie in redrawn targets."""
        return self.redrawn.places[self.first :]

    def beside(self, found: RedrawnValues, run: Run) -> Beside:
        """P-values below which those of groups do not go, and notes."""
        rows = self.redrawn.whole.rows
        assert rows is not None  # for the type checker
        looked = [k for k in range(len(self.groups)) if self.redrawn.parts[self.first + k].sums is not None]
        gated = [k for k in looked if found.gated(self.first + k)]
        least: dict[int, tuple[float, float]] = {}
        notes = _named(_WEAK, self.weak)
        if gated:
            own, corrected = self.redrawn.flipped([self.first + k for k in looked], run)
            pairs = {k: (float(a), float(b)) for k, a, b in zip(looked, own, corrected, strict=True)}
            least = {k: pairs[k] for k in gated}
            words = (
                "clusters differ by more than a common shift, so that p is not below that of flipped signs of them, in"
            )
            notes += _named(words, [self.groups[k] for k in gated])
        few = [] if rows.clusters is None else [g for k, g in enumerate(self.groups) if k not in looked]
        notes += _named("few clusters: p-values hold where these differ by a common shift alone, in", few)
        return Beside(rows.in_words, least, notes)


def prepared_groups(
    null: Null,
    groups: Sequence[Group],
    chosen: PreparedPairMean | None = None,
    places: Sequence[slice] | None = None,
) -> PreparedGroups:
    """Prepare the default family in every group, with the lengthscales of all rows.

    Parameters
    ----------
    null : Null
        All rows.
    groups : sequence of Group
        Groups with a pair of rows that count.
    chosen : PreparedPairMean, optional
        Kernel error of all rows whose kernels somebody chose: it stands in the place of the kernels of the family.
    """
    batch, weights = null.pool.predictions, null.pool.weights
    if chosen is not None:
        return PreparedGroups([family_of_pairs(chosen.part(group.rows)) for group in groups], groups, places)
    family = DefaultFamily(engine=null.run.engine).resolved(batch, weights)
    own = [None if weights is None else weights[group.rows] for group in groups]
    families = [family.prepare(batch[g.rows], w) for g, w in zip(groups, own, strict=True)]
    return PreparedGroups(families, groups, places)


def found_by_group(
    null: Null,
    prepared: PreparedGroups | None,
    values: np.ndarray,
    untested: Sequence[Group],
    error: SKCE,
    run: Run,
    grouping: Grouping,
    contributions: np.ndarray | None = None,
    beside: Beside | None = None,
) -> ByGroup:
    """Findings about all groups, the surest first; values have shape (draws + 1, members)."""
    tested: list[tuple[Group, dict[str, Any]]] = []
    if prepared is not None:
        drawn = prepared.ranked(values)
        pvalues = prepared.corrected(drawn)
        least = {} if beside is None else beside.least
        for k, (group, family, own) in enumerate(zip(prepared.groups, prepared.families, drawn, strict=True)):
            alone, over_all = least.get(k, (0.0, 0.0))
            one = _tested(family, own, null.case, group.rows, max(float(pvalues[k]), over_all), null.run.alpha)
            tested.append((group, {**one, "own_pvalue": max(one["own_pvalue"], alone)}))
    draws = max(len(values) - 1, 0)
    return _found(null, tested, untested, error, run, grouping, contributions, beside, draws)


def _found(
    null: Null,
    tested: Sequence[tuple[Group, dict[str, Any]]],
    untested: Sequence[Group],
    error: SKCE,
    run: Run,
    grouping: Grouping,
    contributions: np.ndarray | None,
    beside: Beside | None,
    draws: int,
) -> ByGroup:
    """Findings about groups with what their tests say, the surest first."""
    found: list[GroupFinding] = []
    batch, ties = null.case.predictions, has_ties(null.case)
    pairs = None if ties else error.prepare(batch, null.case.weights)  # with ties residuals have no values
    for group, one in tested:
        found.append(_finding(group, null, contributions, run, pairs, **one))
    found.sort(key=lambda g: (g.pvalue, g.own_pvalue, -abs(g.deviation or 0.0)))
    weak = [group for group in grouping.groups if all(group is not other for other, _ in tested)]
    found += [_finding(group, null, contributions, run, None) for group in weak]
    law = "conservative" if ties else "exact"
    return ByGroup(
        tuple(found),
        gap_name(null.case),
        score_name(batch),
        null.run.alpha,
        run.confidence_level,
        draws,
        (*grouping.notes, *_named("not tested, since fewer than two of their rows count", untested))
        + (() if beside is None else beside.notes),
        law if beside is None else beside.law,
        differences_of(null.case, _columns(grouping.groups), null.run),
    )


def _columns(groups: Sequence[Group]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(group.column, []).append(group)
    return found


def _tested(
    family: PreparedFamily, drawn: DrawnValues, case: Case, rows: np.ndarray, pvalue: float, alpha: float
) -> dict[str, Any]:
    """P-values of a group, what decides, and directions if it is rejected: the members are those that were drawn."""
    outcome = drawn.outcome(family.names)
    deviation = next((m.deviation for m in outcome.members if m.name == outcome.fired), float("nan"))
    rejected = pvalue <= alpha
    words: tuple[str, ...] = ()
    if rejected:
        depend = None if case.rows is None else case.rows[rows]
        words = directions(family.signals, case.targets[rows], outcome.members, outcome.fired, alpha, depend)
    return {
        "pvalue": pvalue,
        "own_pvalue": drawn.pvalue,
        "fired": outcome.fired if rejected else "",
        "deviation": 0.0 if np.isnan(deviation) else float(deviation),
        "directions": words,
    }


def _finding(
    group: Group,
    null: Null,
    contributions: np.ndarray | None,
    run: Run,
    pairs: PreparedPairMean | None,
    **tested: Any,
) -> GroupFinding:
    part = null.case[group.rows]
    size = sizes_of(part, run, null.run.alpha)
    kernel = KernelSize() if pairs is None else kernel_size(part, pairs.part(group.rows), tested["own_pvalue"], run)
    added = None if contributions is None else float(contributions[group.rows].sum())
    return GroupFinding(
        group.column, group.name, len(group.rows), contribution=added, **vars(size), **vars(kernel), **tested
    )


def _named(words: str, groups: Sequence[Group]) -> tuple[str, ...]:
    """Say something of some groups, the first of which are named; nothing of none."""
    if not groups:
        return ()
    names = ", ".join(f"{group.column} {group.name}" for group in groups[:5])
    more = f" and {len(groups) - 5:,} more" if len(groups) > 5 else ""
    return (f"{words}: {names}{more}",)


def by_group(case: Case, grouping: Grouping, run: Run) -> ByGroup:
    """Test and measure the groups of a case in NumPy whose predictions have a law; nothing else of it is explained."""
    error, null = SKCE().resolved(case.predictions, case.weights), Null.of(case, run)
    large, small = by_size(grouping.groups, case.weights)
    if case.rows is not None:
        return dependent_by_group(null, large, small, error, run, grouping)
    prepared = prepared_groups(null, large) if large else None
    values = np.empty((0, 0)) if prepared is None else null.ranked(prepared).values
    return found_by_group(null, prepared, values, small, error, run, grouping)


def dependent_by_group(
    null: Null,
    large: Sequence[Group],
    small: Sequence[Group],
    error: SKCE,
    run: Run,
    grouping: Grouping,
    contributions: np.ndarray | None = None,
    chosen: PreparedPairMean | None = None,
) -> ByGroup:
    """The same where rows depend on each other: drawn so, or, of outcomes that are not, some rows by themselves."""
    rows = null.case.rows
    assert rows is not None  # for the type checker: it was asked for rows that depend
    if not rows.overlap:
        prepared = prepared_groups(null, large, chosen) if large else None
        values = np.empty((0, 0)) if prepared is None else null.ranked(prepared).values
        return found_by_group(null, prepared, values, small, error, run, grouping, contributions, Beside(rows.in_words))
    if Redrawn.reason(null.case):
        return _thinned(null, large, small, error, run, grouping, contributions, chosen)
    coupled = Coupled.of(null, large, whole=False)
    if not coupled.groups:
        beside = Beside(rows.in_words, {}, _named(_WEAK, coupled.weak))
        return found_by_group(null, None, np.empty((0, 0)), small, error, run, grouping, contributions, beside)
    prepared = prepared_groups(null, coupled.groups, chosen, coupled.places)
    found = coupled.redrawn.ranked(prepared, null.run, PURPOSE)
    beside, values = coupled.beside(found, null.run), found.drawn.values
    return found_by_group(null, prepared, values, small, error, run, grouping, contributions, beside)


def _thinned(
    null: Null,
    large: Sequence[Group],
    small: Sequence[Group],
    error: SKCE,
    run: Run,
    grouping: Grouping,
    contributions: np.ndarray | None,
    chosen: PreparedPairMean | None,
) -> ByGroup:
    """Groups in each of the h sets of rows of which no two depend on each other: h times their smallest p-values.

    In each set p-values are corrected over all groups; that any calibrated group is rejected at level a in one of them
    has probability at most h times a / h.
    """
    rows = null.case.rows
    assert rows is not None  # for the type checker
    subsets = rows.thinned
    best: dict[tuple[str, str], dict[str, Any]] = {}
    enough = replace(null.run, draws=max(null.run.draws, _EACH * len(subsets) - 1), progress=None)
    for subset in subsets:
        part = Null.of(replace(null.case[subset], rows=None), enough)
        place = np.full(len(null.case), -1)
        place[subset] = np.arange(len(subset))
        own = [(group, own[own >= 0]) for group in large for own in [place[group.rows]]]
        inside, _ = by_size([replace(group, rows=found) for group, found in own], part.case.weights)
        if not inside:
            continue
        prepared = prepared_groups(part, inside, None if chosen is None else chosen.part(subset))
        drawn = prepared.ranked(part.ranked(prepared).values)
        pvalues = prepared.corrected(drawn)
        for group, family, values, p in zip(inside, prepared.families, drawn, pvalues, strict=True):
            key, level = (group.column, group.name), null.run.alpha / len(subsets)
            one = _tested(family, values, part.case, group.rows, float(p), level)
            if key not in best or one["pvalue"] < best[key]["pvalue"]:
                best[key] = one
    times = len(subsets)
    tested = []
    for group in large:
        if (group.column, group.name) in best:
            least = best[group.column, group.name]
            corrected = {name: min(1.0, times * least[name]) for name in ("pvalue", "own_pvalue")}
            tested.append((group, {**least, **corrected}))
    law = f"of {thinned_in_words(rows)}"
    missing = [group for group in large if (group.column, group.name) not in best]
    notes = _named("not tested, since no two of their rows are independent of each other", missing)
    why = f"{Redrawn.reason(null.case)}: groups are tested by rows of which no two depend on each other"
    beside = Beside(law, {}, (why, *notes))
    return _found(null, tested, small, error, run, grouping, contributions, beside, enough.draws)
