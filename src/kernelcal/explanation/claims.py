"""Quantile forecasts with ties: each group of rows by what its levels claim, since no residual has a value."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.explanation.groups import Group, GroupFinding, large_enough
from kernelcal.explanation.result import Explanation
from kernelcal.inference import DefaultFamily, DrawnValues, Draws, exact_null
from kernelcal.inference.laws import family_wise_pvalues
from kernelcal.inference.test import directions
from kernelcal.predictions import Quantiles
from kernelcal.runs import Run
from kernelcal.statistics import Merge, Prepared, claimed_levels_of

__all__ = ["claim_gap", "claim_gaps", "explained_claims", "has_ties"]


GAP = "least share above quantiles, observed - claimed"
_GROUPS_ALONE = (
    "outcomes equal quantiles, or quantiles each other, so that residuals have bounds and no values: no places and no "
    "rows are named, and groups are tested by what their levels claim, all members of the default test together"
)


def has_ties(case: Case) -> bool:
    """Tell whether an outcome equals a quantile, or quantiles each other; never of other predictions."""
    batch = case.predictions
    return isinstance(batch, Quantiles) and batch.cells.has_ties(case.in_numpy.targets)


def claim_gaps(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the gap of every row: means over levels of ``1[y > q] - (1 - l)`` and ``1[y >= q] - (1 - l)``.

    Of a calibrated model the first has a mean of at most 0, and the second of at least 0; without ties they are equal.
    Of equal quantiles the level l is the last one of them in the first bound, and the first one in the second.
    """
    cells = case.predictions.cells
    lo, hi = cells.ends(cells.codes(case.targets))
    below, upto = (claims.mean(axis=1) for claims in cells.claims)
    return lo / len(cells.taus) - (1 - upto), hi / len(cells.taus) - (1 - below)


def claim_gap(case: Case) -> float | None:
    """Mean gap that is the least to agree with the claims; None where no row has weight."""
    if case.weights is not None and not case.weights.any():
        return None
    low, high = (float(np.average(gaps, weights=case.weights)) for gaps in claim_gaps(case))
    return float(np.clip(0.0, low, high))


class PreparedClaims(Prepared):
    """The default family of quantile forecasts in every group by itself, side by side.

    Nothing in a family decreases where a claim is broken (`kernelcal.predictions.compositions.cells.QuantileCells`),
    and neither does a rank among draws: p-values of groups are exact where no outcome equals a quantile, and
    conservative where outcomes do.
    """

    by_cells = True
    engine = "cells between quantiles in groups"

    def __init__(self, case: Case, groups: Sequence[Group]) -> None:
        self.groups, parts = groups, [_of_rows(case, group.rows) for group in groups]
        self.families = [DefaultFamily().prepare(part.predictions, part.weights) for part in parts]
        self.names = tuple(name for family in self.families for name in family.names)
        self.bytes_per_draw = max(family.bytes_per_draw for family in self.families) + 8 * len(self.names)
        ends = np.cumsum([0, *(len(family.names) for family in self.families)]).tolist()
        self.columns = [slice(a, b) for a, b in pairwise(ends)]
        self.merge = Merge(
            tuple(
                tuple(columns.start + k for k in members)
                for family, columns in zip(self.families, self.columns, strict=True)
                for members in _members(family)
            ),
            standardised=True,
        )

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all members of all groups, shape (B, groups times members)."""
        pairs = zip(self.families, self.groups, strict=True)
        return np.hstack([family.values(targets[:, group.rows]) for family, group in pairs])

    def pvalues(self, drawn: DrawnValues) -> list[float]:
        """P-value of every group, corrected for the choice among all members of all groups."""
        found = iter(family_wise_pvalues(drawn.values, drawn.rank, self.merge).tolist())
        return [min(next(found) for _ in _members(family)) for family in self.families]

    def words(self, k: int, drawn: DrawnValues, case: Case, alpha: float) -> tuple[str, ...]:
        """Directions of one group, by its own draws."""
        family = self.families[k]
        own = DrawnValues.of(drawn.values[:, self.columns[k]], merge=family.merge).outcome(family.names)
        return directions(family.signals, case.targets[self.groups[k].rows], own.members, own.fired, alpha)


def _members(family: Any) -> tuple[tuple[int, ...], ...]:
    assert family.merge is not None  # for the type checker: quantile forecasts have groups of members
    return family.merge.groups


def _of_rows(case: Case, rows: np.ndarray) -> Case:
    """Some of the rows, whose weights have mean 1 again."""
    some = case[rows]
    return some if some.weights is None else replace(some, weights=some.weights / some.weights.mean())


def explained_claims(case: Case, run: Run, groups: Sequence[Group]) -> Explanation:
    """Explain quantile forecasts with ties by their groups."""
    started = time.perf_counter()
    if not groups:
        raise InputError(
            "outcomes equal quantiles, or quantiles each other, so that levels claim bounds and no residual of a "
            "row has a value to explain: pass groups= of rows, which are tested by what their levels claim; "
            "kernelcal.evaluate tests the claims of all rows and tells each level"
        )
    kept = large_enough(groups, case.weights)
    large = [group for group, enough in zip(groups, kept, strict=True) if enough]
    small = [group for group, enough in zip(groups, kept, strict=True) if not enough]
    found = _tested(case, large, run) if large else []
    notes: tuple[str, ...] = (_GROUPS_ALONE,)
    if small:
        named = ", ".join(f"{group.column} {group.name}" for group in small[:5])
        more = f" and {len(small) - 5:,} more" if len(small) > 5 else ""
        notes += (f"not tested, since fewer than two of their rows count: {named}{more}",)
    return Explanation(
        n=len(case),
        estimate=replace(claimed_levels_of(case, run).estimate, notes=()),
        witness=None,
        regions=(),
        contributions=None,
        rows=(),
        classes=(),
        groups=(*found, *(_finding(case, group) for group in small)),
        gap_name=GAP,
        alpha=run.alpha,
        question=None,
        seconds=time.perf_counter() - started,
        notes=tuple(dict.fromkeys((*notes, *case.predictions.notes))),
    )


def _tested(case: Case, groups: Sequence[Group], run: Run) -> list[GroupFinding]:
    """Findings about groups with two rows or more, the surest first."""
    prepared = PreparedClaims(case, groups)
    drawn = exact_null(prepared, case, replace(run, early_stopping=False), Draws(run.rng, "draws of an explanation"))
    found = []
    for k, (group, p) in enumerate(zip(groups, prepared.pvalues(drawn), strict=True)):
        words = prepared.words(k, drawn, case, run.alpha) if p <= run.alpha else ()
        found.append(_finding(case, group, pvalue=p, directions=words))
    return sorted(found, key=lambda g: (g.pvalue, -abs(g.gap or 0.0)))


def _finding(case: Case, group: Group, **tested: Any) -> GroupFinding:
    return GroupFinding(group.column, group.name, len(group.rows), None, claim_gap(case[group.rows]), **tested)
