"""What is significant: the witness and the groups, from one batch of draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelcal.explain.findings import group_findings, untested, witness_of
from kernelcal.explain.group_test import GroupFinding, PreparedGroups, large_enough
from kernelcal.explain.grouping import Group
from kernelcal.explain.null import Null, Together
from kernelcal.explain.places import places_of
from kernelcal.explain.signals import signals_of
from kernelcal.explain.witness import PreparedWitness, Witness
from kernelcal.kernels import Kernel, Spectral, Stationary, resolve, resolve_target
from kernelcal.pairs import ExactPairs
from kernelcal.predictions import RealPredictions
from kernelcal.statistics import SKCE

__all__ = ["Tested", "tested"]

_FINER = 4.0  # the median distance is the scale of all predictions together; a place is smaller
_FREQUENCIES = 16
_ALONE = 1_000  # rows of a group below which starting threads takes longer than the sums
_VECTORS = (
    "targets are vectors: there is no witness; explain a coordinate k by itself, y[:, k] with "
    "kernelcal.statistics.coordinate(predictions, k)"
)


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
    error = (SKCE() if statistic is None else statistic).resolved(null.pool.predictions)
    if witness_kernel is None:
        witness_kernel = _finer(error.prediction_kernel) if statistic is None else error.prediction_kernel
    witness = _witness(null, witness_kernel)
    named_target = statistic is not None and statistic.target_kernel is not None
    parts = [p for p in (witness, _groups(null, large, error, named_target=named_target)) if p is not None]
    notes, found = _notes(witness, small), untested(small, null, contributions)
    if not parts:
        return Tested(None, tuple(found), notes)
    drawn = null.ranked(Together(parts))
    if large:
        found = group_findings(large, drawn.values[:, -len(large) :], null, contributions) + found
    seen = None if witness is None else witness_of(witness, null, drawn)
    return Tested(seen, tuple(found), notes)


def _finer(kernel: Kernel) -> Kernel:
    assert isinstance(kernel, Stationary)  # for the type checker: the default has a lengthscale
    return kernel.with_lengthscale(kernel.scale / _FINER)


def _witness(null: Null, kernel: Kernel) -> PreparedWitness | None:
    batch = null.pool.predictions
    signals = signals_of(batch, null.pool.weights)
    if signals is None:
        return None
    return PreparedWitness(resolve(kernel, batch)[0], places_of(batch), batch, signals)


def _groups(null: Null, groups: Sequence[Group], error: SKCE, *, named_target: bool) -> PreparedGroups | None:
    """Groups under the kernels of all rows, whose lengthscales are numbers before rows are taken."""
    if not groups:
        return None
    if isinstance(null.pool.predictions, RealPredictions) and not named_target:
        # with features a draw costs a product of matrices, without them four exponentials a pair
        error = replace(error, target_kernel=resolve_target(Spectral(frequencies=_FREQUENCIES), null.pool.predictions))
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
