"""From drawn values to what is said of the witness and of the groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcal.explain.group_test import GroupFinding, mean_gap
from kernelcal.explain.grouping import Group
from kernelcal.explain.null import Null
from kernelcal.explain.witness import PreparedWitness, Witness
from kernelcal.inference import DrawnValues
from kernelcal.inference.direction import directions
from kernelcal.inference.family import prepared_signals
from kernelcal.inference.ranks import family_wise_pvalues
from kernelcal.predictions import ClassPredictions

__all__ = ["group_findings", "untested", "witness_of"]


def witness_of(prepared: PreparedWitness, null: Null, drawn: DrawnValues) -> Witness:
    """Witness of the observed targets, with the band that the drawn suprema (the first column) give."""
    suprema, places, rank = drawn.values[1:, 0], prepared.places, null.run.outside
    shown = places.predictions if places.rows is None else null.case.predictions[places.rows]
    return Witness(
        names=prepared.signals.names,
        position=prepared.signals.position(shown),
        rows=places.rows,
        field=prepared.field(null.case.targets[None])[:, 0],
        sd=prepared.sd,
        mass=prepared.mass,
        critical=float(np.sort(suprema)[len(suprema) - rank]),
        confidence_level=null.run.confidence_level,
        pvalue=float(drawn.rank[0, 0] / len(drawn.rank)),
        draws=drawn.draws,
        kernel=prepared.kernel,
        of_numbers=not isinstance(null.pool.predictions, ClassPredictions),
    )


def group_findings(
    groups: Sequence[Group], values: np.ndarray, null: Null, contributions: np.ndarray
) -> list[GroupFinding]:
    """Findings about tested groups, the surest first; values have shape (draws + 1, groups)."""
    drawn = DrawnValues.of(values)
    pvalues = family_wise_pvalues(drawn.values, drawn.rank)
    found = []
    for group, column, p in zip(groups, values.T, pvalues, strict=True):
        words = _directions(null.part(group.rows)) if p <= 1 - null.run.confidence_level + 1e-12 else ()
        own = {"skce": float(column[0]), "deviation": _deviation(column), "pvalue": float(p), "directions": words}
        found.append(_finding(group, null, contributions, **own))
    return sorted(found, key=lambda g: (g.pvalue, -(g.deviation or 0.0)))


def untested(groups: Sequence[Group], null: Null, contributions: np.ndarray) -> list[GroupFinding]:
    """Findings about groups without a pair of rows."""
    return [_finding(group, null, contributions) for group in groups]


def _finding(group: Group, null: Null, contributions: np.ndarray, **tested: Any) -> GroupFinding:
    part = null.case[group.rows]
    return GroupFinding(
        group.column,
        group.name,
        len(group.rows),
        float(contributions[group.rows].sum()),
        mean_gap(part),
        **tested,
    )


def _deviation(column: np.ndarray) -> float:
    spread = float(column[1:].std())
    excess = float(column[0] - column[1:].mean())
    return excess / spread if spread > 0 else float(np.sign(excess)) * np.inf if excess else 0.0


def _directions(null: Null) -> tuple[str, ...]:
    """Signals of the group that speak against calibration by themselves, in words."""
    signals = prepared_signals(null.pool.predictions, null.pool.weights)
    outcome = null.ranked(signals).outcome(signals.names)
    return directions(signals, null.case.targets, outcome.members, outcome.fired)
