"""How an explanation prints: what was found, then classes, groups and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcal.explain.group_test import GroupFinding
from kernelcal.tables import Grid, Table

if TYPE_CHECKING:
    from kernelcal.explain.explanation import Explanation

__all__ = ["tables"]

_SHOWN = 10


def tables(found: Explanation) -> list[Table | Grid]:
    """Return the tables that have rows."""
    grids = ((found.classes, _classes), (found.groups, _groups), (found.rows, _rows))
    return [_findings(found), *(grid(found) for items, grid in grids if items)]


def _findings(found: Explanation) -> Table:
    rows = [
        ("rows", f"{found.n:,}"),
        *([("question", found.question)] if found.question else []),
        ("SKCE, unbiased", f"{float(found.estimate):.3e}"),
        *_witness(found),
        *_tested(found),
    ]
    return Table("Where is the model wrong?", rows, found.notes)


def _witness(found: Explanation) -> list[tuple[str, str]]:
    if found.witness is None:
        return []
    p = ("witness, p-value", f"{found.witness.pvalue:.3g}, exact ({found.witness.draws:,} draws)")
    inside = "nowhere outside: no place can be named"
    words = [("outside the band" if k == 0 else "", r.sentence) for k, r in enumerate(found.regions)]
    return [p, ("band", f"{found.confidence_level:.0%} at all places together")] + (
        words or [("outside the band", inside)]
    )


def _tested(found: Explanation) -> list[tuple[str, str]]:
    if not found.groups:
        return []
    names = [f"{g.column} {g.name}" for g in found.rejected]
    if not names:
        return [("groups rejected", f"none of {len(found.groups):,}")]
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return [("groups rejected", f"{', '.join(names[:_SHOWN])}{more}, of {len(found.groups):,}")]


def _classes(found: Explanation) -> Grid:
    rows = [
        [c.name, f"{c.contribution:+.2e}", f"{c.predicted:.4f}", f"{c.observed:.4f}"] for c in found.classes[:_SHOWN]
    ]
    header = ["class", "contribution", "mean\nprobability", "frequency"]
    return Grid("By class", header, rows, _cut(len(found.classes), "classes add most"))


def _groups(found: Explanation) -> Grid:
    rows = [_group(g) for g in found.groups[:_SHOWN]]
    notes = ["p-values are exact and corrected for the choice among all groups", *_cut(len(found.groups), "groups")]
    header = ["group", "rows", "contribution", found.gap_name, "own SKCE", "p-value", "direction"]
    return Grid("By group", header, rows, notes)


def _group(g: GroupFinding) -> list[str]:
    skce = "" if g.skce is None else f"{g.skce:.2e}"
    p = "" if g.pvalue is None else f"{g.pvalue:.3g}"
    gap = "" if g.gap is None else f"{g.gap:+.4f}"
    numbers = [f"{g.n:,}", f"{g.contribution:+.2e}", gap, skce, p]
    return [f"{g.column}: {g.name}", *numbers, *(g.directions[:1] or ("",))]


def _rows(found: Explanation) -> Grid:
    rows = [[f"{r.row}", f"{r.contribution:+.2e}", r.predicted, r.happened] for r in found.rows]
    return Grid("Rows that add most", ["row", "contribution", "predicted", "happened"], rows)


def _cut(number: int, what: str) -> list[str]:
    return [f"the first {_SHOWN} of {number:,} {what}"] if number > _SHOWN else []
