"""What is significant: the witness and the groups, from one batch of draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.explanation.groups import Group, GroupFinding, PreparedGroups, large_enough, mean_gap, median_gap
from kernelcal.explanation.smoothed import gaps_of
from kernelcal.explanation.witness import PreparedWitness, Witness, places_of
from kernelcal.inference import DrawnValues, Draws, exact_null
from kernelcal.inference.laws import family_wise_pvalues
from kernelcal.inference.test import directions, prepared_signals
from kernelcal.kernels import Kernel, Spectral, Stationary, resolve, resolve_target
from kernelcal.pairs import ExactPairs
from kernelcal.predictions import ClassPredictions, Quantiles, RealPredictions, Samples
from kernelcal.runs import Run
from kernelcal.statistics import SKCE, Prepared

__all__ = ["Null", "Tested", "Together", "tested"]


_FINER = 4.0  # the median distance is the scale of all predictions together; a place is smaller

_FREQUENCIES = 16

_ALONE = 1_000  # rows of a group below which starting threads takes longer than the sums

_VECTORS = (
    "targets are vectors: there is no witness; explain a coordinate k by itself, y[:, k] with "
    "kernelcal.statistics.coordinate(predictions, k)"
)


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
        batch = case.predictions
        pool = replace(case, predictions=batch.pooled(case.targets)) if isinstance(batch, Samples) else case
        return cls(case, pool, replace(run, early_stopping=False), Draws(run.rng, "draws of an explanation"))

    def ranked(self, prepared: Prepared) -> DrawnValues:
        """Values of prepared statistics, all draws made."""
        return exact_null(prepared, self.pool, self.run, self.source)

    def part(self, rows: np.ndarray) -> Self:
        """Return the same for some of the rows, of whose draws nobody is told."""
        pool = self.pool[rows]
        case = pool if self.case is self.pool else self.case[rows]
        return replace(self, case=case, pool=pool, run=replace(self.run, progress=None))


class Together(Prepared):
    """Several prepared statistics of the same targets, side by side."""

    def __init__(self, parts: Sequence[Prepared]) -> None:
        self.parts = parts
        self.names = tuple(name for part in parts for name in part.names)
        self.engine = "; ".join(dict.fromkeys(part.engine for part in parts))
        self.bytes_per_draw = sum(part.bytes_per_draw for part in parts)
        self.by_cells = all(part.by_cells for part in parts)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all of them, shape (B, statistics)."""
        return np.hstack([part.values(targets) for part in self.parts])


@dataclass(frozen=True, eq=False)
class Tested:
    """Witness, if there is one, findings about groups, and notes."""

    witness: Witness | None
    groups: tuple[GroupFinding, ...]
    notes: tuple[str, ...]


def tested(
    null: Null,
    groups: Sequence[Group],
    contributions: np.ndarray,
    statistic: SKCE | None,
    witness_kernel: Kernel | None,
) -> Tested:
    """Draw once for the witness, which is the first column, and for every group with a pair of rows."""
    kept = large_enough(groups, null.pool.weights)
    large = [group for group, enough in zip(groups, kept, strict=True) if enough]
    small = [group for group, enough in zip(groups, kept, strict=True) if not enough]
    error = (SKCE() if statistic is None else statistic).resolved(null.pool.predictions, null.pool.weights)
    if witness_kernel is None:
        witness_kernel = _finer(error.prediction_kernel) if statistic is None else error.prediction_kernel
    witness = _witness(null, witness_kernel)
    named_target = statistic is not None and statistic.target_kernel is not None
    parts = [p for p in (witness, _groups(null, large, error, named_target=named_target)) if p is not None]
    notes, found = _notes(witness, small), _untested(small, null, contributions)
    if not parts:
        return Tested(None, tuple(found), notes)
    drawn = null.ranked(Together(parts))
    if large:
        found = _group_findings(large, drawn.values[:, -len(large) :], null, contributions) + found
    seen = None if witness is None else _witness_of(witness, null, drawn)
    return Tested(seen, tuple(found), notes)


def _finer(kernel: Kernel) -> Kernel:
    assert isinstance(kernel, Stationary)  # for the type checker: the default has a lengthscale
    return kernel.with_lengthscale(kernel.scale / _FINER)


def _witness(null: Null, kernel: Kernel) -> PreparedWitness | None:
    batch = null.pool.predictions
    signals = gaps_of(batch, null.pool.weights)
    if signals is None:
        return None
    return PreparedWitness(resolve(kernel, batch, weights=null.pool.weights)[0], places_of(batch), batch, signals)


def _groups(null: Null, groups: Sequence[Group], error: SKCE, *, named_target: bool) -> PreparedGroups | None:
    """Groups under the kernels of all rows, whose lengthscales are numbers before rows are taken."""
    if not groups:
        return None
    numbers = isinstance(null.pool.predictions, RealPredictions) and not isinstance(null.pool.predictions, Quantiles)
    if numbers and not named_target:
        # with features a draw costs a product of matrices, without them four exponentials a pair
        pool, spectral = null.pool, Spectral(frequencies=_FREQUENCIES)
        error = replace(error, target_kernel=resolve_target(spectral, pool.predictions, pool.weights))
    if error.engine == ExactPairs() and max(len(group.rows) for group in groups) <= _ALONE:
        error = replace(error, engine=ExactPairs(threads=1))
    return PreparedGroups(error.prepare(null.pool.predictions, null.pool.weights), groups)


def _notes(witness: PreparedWitness | None, small: Sequence[Group]) -> tuple[str, ...]:
    notes: tuple[str, ...] = (_VECTORS,) if witness is None else witness.signals.notes
    if small:
        names = ", ".join(f"{group.column} {group.name}" for group in small[:5])
        more = f" and {len(small) - 5:,} more" if len(small) > 5 else ""
        notes += (f"not tested, since fewer than two of their rows count: {names}{more}",)
    return notes


def _witness_of(prepared: PreparedWitness, null: Null, drawn: DrawnValues) -> Witness:
    """Witness of the observed targets, with the band that the drawn suprema (the first column) give."""
    suprema, places, rank = drawn.values[1:, 0], prepared.places, null.run.outside
    shown = places.predictions if places.rows is None else null.case.predictions[places.rows]
    return Witness(
        names=prepared.signals.names,
        position=prepared.signals.position(shown),
        rows=places.rows,
        numbers=None if places.rows is None else null.case.row_numbers[places.rows],
        field=prepared.field(null.case.targets[None])[:, 0],
        sd=prepared.sd,
        mass=prepared.mass,
        critical=float(np.sort(suprema)[len(suprema) - rank]),
        confidence_level=null.run.confidence_level,
        pvalue=float(drawn.rank[0, 0] / len(drawn.rank)),
        draws=drawn.draws,
        kernel=prepared.kernel,
        of_numbers=not isinstance(null.pool.predictions, ClassPredictions),
        variable="middle quantile" if isinstance(null.pool.predictions, Quantiles) else "predicted mean",
    )


def _group_findings(
    groups: Sequence[Group], values: np.ndarray, null: Null, contributions: np.ndarray
) -> list[GroupFinding]:
    """Findings about tested groups, the surest first; values have shape (draws + 1, groups)."""
    drawn = DrawnValues.of(values)
    pvalues = family_wise_pvalues(drawn.values, drawn.rank)
    found = []
    for group, column, p in zip(groups, values.T, pvalues, strict=True):
        words = _directions(null.part(group.rows)) if p <= null.run.alpha else ()
        own = {"skce": float(column[0]), "deviation": _deviation(column), "pvalue": float(p), "directions": words}
        found.append(_finding(group, null, contributions, **own))
    return sorted(found, key=lambda g: (g.pvalue, -(g.deviation or 0.0)))


def _untested(groups: Sequence[Group], null: Null, contributions: np.ndarray) -> list[GroupFinding]:
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
        median=median_gap(part),
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
    return directions(signals, null.case.targets, outcome.members, outcome.fired, null.run.alpha)
