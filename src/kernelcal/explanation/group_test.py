"""Which groups are miscalibrated: the whole default family in every group, under one batch of draws of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.explanation.differing import differences_of
from kernelcal.explanation.findings import ByGroup, GroupFinding
from kernelcal.explanation.groups import Group, Grouping
from kernelcal.explanation.sizes import KernelSize, gap_name, has_ties, kernel_size, score_name, sizes_of
from kernelcal.inference import DefaultFamily, DrawnValues, Draws, exact_null
from kernelcal.inference.laws import family_wise_pvalues, merged_ranks
from kernelcal.inference.test import PreparedFamily, directions, family_of_pairs
from kernelcal.predictions import Samples
from kernelcal.runs import Run
from kernelcal.statistics import SKCE, Prepared
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = ["Null", "PreparedGroups", "by_group", "by_size", "found_by_group", "prepared_groups"]


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
    """

    def __init__(self, families: Sequence[PreparedFamily], groups: Sequence[Group]) -> None:
        self.families, self.groups = families, groups
        pairs = list(zip(families, groups, strict=True))
        self.names = tuple(f"{g.column} {g.name}: {name}" for family, g in pairs for name in family.names)
        self.engine = "; ".join(dict.fromkeys(family.engine for family in families))
        largest = max(family.bytes_per_draw + 8 * len(g.rows) for family, g in pairs)
        self.bytes_per_draw = largest + 8 * len(self.names)
        self.by_cells = all(family.by_cells for family in families)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all members in all groups, shape (B, members)."""
        pairs = zip(self.families, self.groups, strict=True)
        return np.hstack([family.values(targets[:, group.rows]) for family, group in pairs])

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


def prepared_groups(null: Null, groups: Sequence[Group], chosen: PreparedPairMean | None = None) -> PreparedGroups:
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
        return PreparedGroups([family_of_pairs(chosen.part(group.rows)) for group in groups], groups)
    family = DefaultFamily(engine=null.run.engine).resolved(batch, weights)
    own = [None if weights is None else weights[group.rows] for group in groups]
    return PreparedGroups([family.prepare(batch[g.rows], w) for g, w in zip(groups, own, strict=True)], groups)


def found_by_group(
    null: Null,
    prepared: PreparedGroups | None,
    values: np.ndarray,
    untested: Sequence[Group],
    error: SKCE,
    run: Run,
    grouping: Grouping,
    contributions: np.ndarray | None = None,
) -> ByGroup:
    """Findings about all groups, the surest first; values have shape (draws + 1, members)."""
    found: list[GroupFinding] = []
    batch, ties = null.case.predictions, has_ties(null.case)
    pairs = None if ties else error.prepare(batch, null.case.weights)  # with ties residuals have no values
    if prepared is not None:
        drawn = prepared.ranked(values)
        pvalues = prepared.corrected(drawn)
        for group, family, own, p in zip(prepared.groups, prepared.families, drawn, pvalues, strict=True):
            tested = _tested(family, own, null.case.targets[group.rows], float(p), null.run.alpha)
            found.append(_finding(group, null, contributions, run, pairs, **tested))
    found.sort(key=lambda g: (g.pvalue, g.own_pvalue, -abs(g.deviation or 0.0)))
    found += [_finding(group, null, contributions, run, None) for group in untested]
    return ByGroup(
        tuple(found),
        gap_name(null.case),
        score_name(batch),
        null.run.alpha,
        run.confidence_level,
        max(len(values) - 1, 0),
        (*grouping.notes, *_untested_note(untested)),
        "conservative" if ties else "exact",
        differences_of(null.case, _columns(grouping.groups), null.run),
    )


def _columns(groups: Sequence[Group]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(group.column, []).append(group)
    return found


def _tested(
    family: PreparedFamily, drawn: DrawnValues, targets: np.ndarray, pvalue: float, alpha: float
) -> dict[str, Any]:
    """P-values of a group, what decides, and directions if it is rejected: the members are those that were drawn."""
    outcome = drawn.outcome(family.names)
    deviation = next((m.deviation for m in outcome.members if m.name == outcome.fired), float("nan"))
    rejected = pvalue <= alpha
    words = directions(family.signals, targets, outcome.members, outcome.fired, alpha) if rejected else ()
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


def _untested_note(small: Sequence[Group]) -> tuple[str, ...]:
    """Name groups without a pair of rows that count."""
    if not small:
        return ()
    names = ", ".join(f"{group.column} {group.name}" for group in small[:5])
    more = f" and {len(small) - 5:,} more" if len(small) > 5 else ""
    return (f"not tested, since fewer than two of their rows count: {names}{more}",)


def by_group(case: Case, grouping: Grouping, run: Run) -> ByGroup:
    """Test and measure the groups of a case in NumPy whose predictions have a law; nothing else of it is explained."""
    null = Null.of(case, run)
    large, small = by_size(grouping.groups, case.weights)
    prepared = prepared_groups(null, large) if large else None
    values = np.empty((0, 0)) if prepared is None else null.ranked(prepared).values
    return found_by_group(null, prepared, values, small, SKCE().resolved(case.predictions, case.weights), run, grouping)
