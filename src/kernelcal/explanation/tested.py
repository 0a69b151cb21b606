"""What is significant: the witness and the groups, from one batch of draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.explanation.findings import ByGroup
from kernelcal.explanation.group_test import Null, by_size, found_by_group, prepared_groups
from kernelcal.explanation.groups import Grouping
from kernelcal.explanation.smoothed import gaps_of
from kernelcal.explanation.witness import PreparedWitness, Witness, places_of
from kernelcal.inference import DrawnValues
from kernelcal.kernels import Kernel, Stationary, resolve
from kernelcal.predictions import ClassPredictions, Quantiles
from kernelcal.runs import Run
from kernelcal.statistics import SKCE, Together

__all__ = ["Tested", "tested"]


_FINER = 4.0  # the median distance is the scale of all predictions together; a place is smaller

_VECTORS = (
    "targets are vectors: there is no witness; explain a coordinate k by itself, y[:, k] with "
    "kernelcal.statistics.coordinate(predictions, k)"
)

_DEPENDENT = "no place is named of rows that depend on each other"


@dataclass(frozen=True, eq=False)
class Tested:
    """Witness, if there is one, findings about groups, and notes."""

    witness: Witness | None
    groups: ByGroup | None
    notes: tuple[str, ...]


def tested(
    null: Null,
    grouping: Grouping,
    contributions: np.ndarray,
    error: SKCE,
    run: Run,
    *,
    given: bool,
    witness_kernel: Kernel | None,
) -> Tested:
    """Draw once for the witness, which is the first column, and for every group with a pair of rows.

    The error is resolved for all rows; where it was given, groups are tested by its kernels beside their signals.
    """
    large, small = by_size(grouping.groups, null.pool.weights)
    if witness_kernel is None:
        witness_kernel = error.prediction_kernel if given else _finer(error.prediction_kernel)
    witness = _witness(null, witness_kernel)
    chosen = error.prepare(null.pool.predictions, null.pool.weights) if given and large else None
    prepared = prepared_groups(null, large, chosen) if large else None
    parts = [part for part in (witness, prepared) if part is not None]
    if null.case.rows is not None:
        return Tested(None, None, (_DEPENDENT,))
    notes = (_VECTORS,) if witness is None else witness.signals.notes
    drawn = null.ranked(Together(parts)) if parts else None
    seen = None if witness is None or drawn is None else _witness_of(witness, null, drawn)
    if not grouping.groups:
        return Tested(seen, None, notes)
    values = np.empty((0, 0)) if drawn is None else drawn.values[:, 0 if witness is None else 1 :]
    return Tested(seen, found_by_group(null, prepared, values, small, error, run, grouping, contributions), notes)


def _finer(kernel: Kernel) -> Kernel:
    assert isinstance(kernel, Stationary)  # for the type checker: the default has a lengthscale
    return kernel.with_lengthscale(kernel.scale / _FINER)


def _witness(null: Null, kernel: Kernel) -> PreparedWitness | None:
    batch = null.pool.predictions
    signals = gaps_of(batch, null.pool.weights)
    if signals is None:
        return None
    return PreparedWitness(resolve(kernel, batch, weights=null.pool.weights)[0], places_of(batch), batch, signals)


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
