"""What is significant: the witness and the groups, from one batch of draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.explanation.findings import ByGroup
from kernelcal.explanation.group_test import (
    PURPOSE,
    Beside,
    Coupled,
    Null,
    by_size,
    dependent_by_group,
    found_by_group,
    prepared_groups,
)
from kernelcal.explanation.groups import Grouping
from kernelcal.explanation.smoothed import gaps_of
from kernelcal.explanation.witness import PreparedWitness, Witness, places_of
from kernelcal.inference import DrawnValues, Redrawn, Sliced
from kernelcal.inference.laws import ordinal
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

_UNLIKE = (
    "clusters differ by more than a common shift: the band of the witness is not narrower than that of flipped signs "
    "of clusters"
)
_FEW = "few clusters: the band of the witness holds where these differ by a common shift alone"


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
    if null.case.rows is not None and null.case.rows.overlap:
        return _dependent(null, grouping, contributions, error, run, given=given, witness_kernel=witness_kernel)
    large, small = by_size(grouping.groups, null.pool.weights)
    if witness_kernel is None:
        witness_kernel = error.prediction_kernel if given else _finer(error.prediction_kernel)
    witness = _witness(null, witness_kernel)
    chosen = error.prepare(null.pool.predictions, null.pool.weights) if given and large else None
    prepared = prepared_groups(null, large, chosen) if large else None
    parts = [part for part in (witness, prepared) if part is not None]
    notes = (_VECTORS,) if witness is None else witness.signals.notes
    drawn = null.ranked(Together(parts)) if parts else None
    law = "" if null.case.rows is None else null.case.rows.in_words
    seen = None if witness is None or drawn is None else _witness_of(witness, null, drawn, law)
    if not grouping.groups:
        return Tested(seen, None, notes)
    values = np.empty((0, 0)) if drawn is None else drawn.values[:, 0 if witness is None else 1 :]
    beside = None if null.case.rows is None else Beside(null.case.rows.in_words)
    groups = found_by_group(null, prepared, values, small, error, run, grouping, contributions, beside)
    return Tested(seen, groups, notes)


def _dependent(
    null: Null,
    grouping: Grouping,
    contributions: np.ndarray,
    error: SKCE,
    run: Run,
    *,
    given: bool,
    witness_kernel: Kernel | None,
) -> Tested:
    """The same of rows that depend on each other, all drawn from the same numbers, all rows first.

    Where clusters differ by more than a common shift, the band is the wider one of this and that of witnesses whose
    clusters change their signs, and p the larger one.
    """
    large, small = by_size(grouping.groups, null.pool.weights)
    rows, reason = null.case.rows, Redrawn.reason(null.case)
    assert rows is not None  # for the type checker
    chosen = error.prepare(null.pool.predictions, null.pool.weights) if given and large else None
    if reason:
        alone = "of one row a cluster" if rows.clusters is not None else f"of every {ordinal(rows.horizon)} row"
        why = f"{reason}: no place is named; {alone} by itself places can be named"
        if not grouping.groups:
            return Tested(None, None, (why,))
        of_groups = dependent_by_group(null, large, small, error, run, grouping, contributions, chosen)
        return Tested(None, of_groups, (why,))
    if witness_kernel is None:
        witness_kernel = error.prediction_kernel if given else _finer(error.prediction_kernel)
    witness = _witness(null, witness_kernel)
    assert witness is not None  # for the type checker: what has none is not redrawn
    coupled = Coupled.of(null, large, whole=True)
    groups = coupled.groups
    prepared = prepared_groups(null, groups, chosen, coupled.places) if groups else None
    first = Sliced(witness, coupled.redrawn.places[0], by_cells=witness.by_cells)
    found = coupled.redrawn.ranked(Together([first, *([] if prepared is None else [prepared])]), null.run, PURPOSE)
    drawn, flipped = found.drawn, None
    notes: tuple[str, ...] = witness.signals.notes
    if found.gated(0):
        flipped = witness.suprema_of_flips(null.case, rows, null.run)
        notes = (*notes, _UNLIKE)
    elif rows.clusters is not None and coupled.redrawn.parts[0].sums is None:
        notes = (*notes, _FEW)
    seen = _witness_of(witness, null, drawn, rows.in_words, flipped)
    if not grouping.groups:
        return Tested(seen, None, notes)
    beside, values = coupled.beside(found, null.run), drawn.values[:, 1:]
    tested_groups = found_by_group(null, prepared, values, small, error, run, grouping, contributions, beside)
    return Tested(seen, tested_groups, notes)


def _finer(kernel: Kernel) -> Kernel:
    assert isinstance(kernel, Stationary)  # for the type checker: the default has a lengthscale
    return kernel.with_lengthscale(kernel.scale / _FINER)


def _witness(null: Null, kernel: Kernel) -> PreparedWitness | None:
    batch = null.pool.predictions
    signals = gaps_of(batch, null.pool.weights)
    if signals is None:
        return None
    return PreparedWitness(resolve(kernel, batch, weights=null.pool.weights)[0], places_of(batch), batch, signals)


def _witness_of(
    prepared: PreparedWitness, null: Null, drawn: DrawnValues, law: str = "", flipped: np.ndarray | None = None
) -> Witness:
    """Witness of the observed targets, with the band that the drawn suprema (the first column) give."""
    suprema, places, rank = drawn.values[1:, 0], prepared.places, null.run.outside
    critical, pvalue = float(np.sort(suprema)[len(suprema) - rank]), float(drawn.rank[0, 0] / len(drawn.rank))
    if flipped is not None:
        critical = max(critical, float(np.sort(flipped)[len(flipped) - rank]))
        pvalue = max(pvalue, float(1 + (flipped >= drawn.values[0, 0] * (1 - 1e-9)).sum()) / (1 + len(flipped)))
    shown = places.predictions if places.rows is None else null.case.predictions[places.rows]
    return Witness(
        names=prepared.signals.names,
        position=prepared.signals.position(shown),
        rows=places.rows,
        numbers=None if places.rows is None else null.case.row_numbers[places.rows],
        field=prepared.field(null.case.targets[None])[:, 0],
        sd=prepared.sd,
        mass=prepared.mass,
        critical=critical,
        confidence_level=null.run.confidence_level,
        pvalue=pvalue,
        draws=drawn.draws,
        kernel=prepared.kernel,
        of_numbers=not isinstance(null.pool.predictions, ClassPredictions),
        variable="middle quantile" if isinstance(null.pool.predictions, Quantiles) else "predicted mean",
        law=law or "exact",
    )
