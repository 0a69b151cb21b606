"""From sums of groups to the table that `evaluate` has of them: p-values over all groups from the same draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.explanation import GAPS, SCORES, ByGroup, GroupFinding
from kernelcal.inference import DrawnValues
from kernelcal.inference.laws import family_wise_pvalues, merged_ranks
from kernelcal.pairs import off_diagonal
from kernelcal.runs import Run
from kernelcal.sketch.directions import directions_of
from kernelcal.sketch.findings import SketchResult, findings
from kernelcal.sketch.grouped.columns import GroupColumn
from kernelcal.sketch.grouped.sizes import sizes_of_sums
from kernelcal.sketch.subject import Settings, Subject
from kernelcal.sketch.sums import Arrays, as_numbers

__all__ = ["SIZES", "by_group_of"]


SIZES = "sizes"  # what the sums of a group hold besides
_ENOUGH = 20  # rows, for an interval of the kernel error
_NAMED = 5
_LEFT = (
    "groups are told from sums: they have no medians, and whether the groups of a column differ from each other is not "
    "told"
)


@dataclass(frozen=True, eq=False)
class _Part:
    """One group: where it belongs, its sums as numbers, and what they tell by themselves; nothing of a single row."""

    column: str
    name: str
    sums: Arrays
    sizes: np.ndarray
    alone: SketchResult | None

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.sums["n"])

    @property
    def values(self) -> DrawnValues:
        """The SKCE among those of drawn outcomes, and outcomes that were ruled out, where there are any."""
        pairs = off_diagonal(self.sums).off_diagonal
        ruled_out = np.zeros(len(pairs))
        ruled_out[0] = self.sums["impossible"]
        return DrawnValues.of(np.stack([pairs, ruled_out], axis=1) if ruled_out[0] else pairs[:, None])


def by_group_of(
    groups: Mapping[str, Mapping[str, Arrays]],
    columns: tuple[GroupColumn, ...],
    settings: Settings,
    subject: Subject,
    run: Run,
) -> ByGroup:
    """Findings about all groups, the surest first.

    Every group is tested by its own rows alone. The draws of a row depend on its identity and nothing else, so that one
    batch of draws serves all groups, and their p-values are corrected by the joint law of these, as `evaluate` does.
    """
    parts = [
        _part(column.name, name, sums, settings, subject, run)
        for column in columns
        for name, sums in _ordered(column, groups[column.name])
    ]
    large = [part for part in parts if part.alone is not None]
    pvalues = _corrected([part.values for part in large]) if large else np.empty(0)
    kind = _kind(subject)
    found = [_finding(part, kind, subject, run, float(p)) for part, p in zip(large, pvalues, strict=True)]
    found.sort(key=lambda g: (g.pvalue, g.own_pvalue, -abs(g.deviation or 0.0)))
    small = [part for part in parts if part.alone is None]
    found += [_finding(part, kind, subject, run, None) for part in small]
    notes = [note for column in columns for note in column.notes]
    if small:
        names = ", ".join(f"{part.column} {part.name}" for part in small[:_NAMED])
        more = f" and {len(small) - _NAMED:,} more" if len(small) > _NAMED else ""
        notes.append(f"not tested, since fewer than two of their rows count: {names}{more}")
    return ByGroup(
        tuple(found),
        GAPS[kind],
        SCORES[kind],
        run.alpha,
        run.confidence_level,
        settings.draws if large else 0,
        (*notes, _LEFT),
        statistic="the SKCE of its rows",
    )


def _ordered(column: GroupColumn, groups: Mapping[str, Arrays]) -> list[tuple[str, Arrays]]:
    """Ranges from the lowest, names in their order."""
    place = {name: k for k, name in enumerate(column.order)}
    return sorted(groups.items(), key=lambda pair: (place.get(pair[0], len(place)), pair[0]))


def _part(column: str, name: str, sums: Arrays, settings: Settings, subject: Subject, run: Run) -> _Part:
    numbers = as_numbers({key: x for key, x in sums.items() if key != SIZES}, settings, subject)
    alone = findings(numbers, settings, subject, run, ()) if numbers["n"] >= 2 else None
    return _Part(column, name, numbers, sums[SIZES], alone)


def _corrected(drawn: list[DrawnValues]) -> np.ndarray:
    """P-values of groups, corrected for the choice among all of them."""
    merged = [merged_ranks(own.values, own.rank, own.merge) for own in drawn]
    rank, deviation = (np.stack(columns, axis=1) for columns in zip(*merged, strict=True))
    return family_wise_pvalues(rank, deviation)


def _kind(subject: Subject) -> str:
    if subject.of_classes:
        return "one" if subject.family == "Bernoulli" or subject.columns == 2 else "classes"
    return "quantiles" if subject.levels else "numbers"


def _finding(part: _Part, kind: str, subject: Subject, run: Run, pvalue: float | None) -> GroupFinding:
    size = sizes_of_sums(kind, part.n, part.sizes, subject.levels, bool(subject.event_shape), run)
    known: dict[str, Any] = {}
    if part.alone is not None and pvalue is not None:
        test, interval = part.alone.test, part.alone.interval
        assert test is not None  # for the type checker: every sketch has one
        rejected = pvalue <= run.alpha
        known = {
            "pvalue": pvalue,
            "own_pvalue": test.pvalue,
            "fired": (test.fired or test.members[-1].name) if rejected else "",
            "deviation": float(np.nan_to_num(test.members[0].deviation)),
            "directions": directions_of(part.sums, subject, run.alpha) if rejected else (),
            "skce": float(part.alone.estimate),
            "root_interval": interval.root if interval is not None and part.n >= _ENOUGH else None,
        }
    return replace(GroupFinding(part.column, part.name, part.n, **vars(size)), **known)
