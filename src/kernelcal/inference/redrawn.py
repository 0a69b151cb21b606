"""Rows that depend on each other, redrawn for several questions in the same draws: groups of rows, and all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.dependence import Coupling, Parts, Scores
from kernelcal.inference.cluster_sums import ClusterSums, observed_and_flipped, under_signs
from kernelcal.inference.draws import Draws
from kernelcal.inference.laws import (
    DrawnValues,
    Gate,
    coupled,
    effective_clusters,
    exact_null,
    family_wise_pvalues,
    merged_ranks,
    not_redrawn,
    ranks,
    residual_variances,
)
from kernelcal.predictions import Quantiles
from kernelcal.runs import Run
from kernelcal.statistics import Look, Prepared, Together

__all__ = ["CoupledRows", "Redrawn", "RedrawnValues", "Sliced", "band_draws"]


@dataclass(frozen=True, eq=False)
class CoupledRows:
    """Some rows: how strongly they depend on each other, by their own outcomes, and how much their clusters count.

    Attributes
    ----------
    rows : numpy.ndarray of int
        Rows of the whole.
    coupling : Coupling
        How all rows were drawn if they depended as these do.
    effective : float
        Clusters of equal size that these count like; infinite where rows are series.
    sums : ClusterSums or None
        Sums of residuals over clusters, where these are enough to look at whether they differ by a common shift.
    clusters : numpy.ndarray of int, or None
        Number, among all clusters, of each cluster of these rows.
    observed : numpy.ndarray
        Outcomes, or cells of quantile forecasts.
    """

    rows: np.ndarray
    coupling: Coupling
    effective: float
    sums: ClusterSums | None
    clusters: np.ndarray | None
    observed: np.ndarray

    @classmethod
    def of(cls, case: Case, rows: np.ndarray, *, by_cells: bool = True) -> Self:
        """Look at some rows of a case whose rows depend on each other; of quantile forecasts at cells, or numbers."""
        some = case[rows]
        shown = some.in_cells if by_cells and isinstance(some.predictions, Quantiles) else some
        own, whole, scores = some.rows, case.rows, Scores.of(shown.predictions)
        assert own is not None  # for the type checker: it was asked for rows that depend
        assert whole is not None
        coupling, rho = coupled(scores, shown.targets, own, whole)
        if own.clusters is None or whole.clusters is None:
            return cls(rows, coupling, np.inf, None, None, shown.targets)
        effective = effective_clusters(own, rho, residual_variances(some))
        sums = ClusterSums(scores, some, own) if Gate.looks(effective) else None
        return cls(rows, coupling, effective, sums, np.unique(whole.clusters[rows]), shown.targets)

    @property
    def enough(self) -> bool:
        """Whether the clusters are enough for a test."""
        return Gate.serves(self.effective)


class Sliced(Prepared):
    """Statistics of some of the columns of targets."""

    def __init__(self, prepared: Prepared, place: slice | np.ndarray, *, by_cells: bool) -> None:
        self.prepared, self.place, self.by_cells = prepared, place, by_cells
        self.names, self.engine, self.bytes_per_draw = prepared.names, prepared.engine, prepared.bytes_per_draw

    @property
    def looks(self) -> tuple[Look, ...]:
        """Its columns, whichever of them are looked at."""
        return ((self.place, len(self.names)),)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, all columns)."""
        return self.prepared.values(targets[:, self.place])


class _Nothing(Prepared):
    """A statistic that is the same for all targets."""

    names, engine, bytes_per_draw = ("nothing",), "nothing", 8

    def __init__(self, *, by_cells: bool) -> None:
        self.by_cells = by_cells

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Zeros."""
        return np.zeros((len(targets), 1))


def band_draws(case: Case, run: Run, purpose: str) -> tuple[Draws | None, str]:
    """Where targets of calibrated models are drawn from for a band, or None and the reason why there is no band.

    Rows that depend on each other are redrawn so; where clusters differ by more than a common shift, draws of one
    shared part would make a band too narrow.
    """
    if case.rows is None or not case.rows.overlap:
        return Draws(run.rng, purpose), ""
    reason = not_redrawn(case)
    if reason:
        return None, reason
    redrawn = Redrawn(case, [CoupledRows.of(case, np.arange(len(case)))])
    if not redrawn.parts[0].enough:
        return None, "there are too few clusters"
    if redrawn.unlike(run, by_cells=isinstance(case.predictions, Quantiles))[0] <= Gate.level:
        return None, "clusters differ by more than a common shift"
    return redrawn.source(run, purpose), ""


@dataclass(frozen=True, eq=False)
class RedrawnValues:
    """What joint draws say.

    Attributes
    ----------
    drawn : DrawnValues
        Of the statistics that were asked for.
    unlike : tuple of float
        For every part the p-value of sums over its clusters, small where these differ by more than a common shift; 1
        where it was not looked at.
    """

    drawn: DrawnValues
    unlike: tuple[float, ...]

    def gated(self, k: int) -> bool:
        """Whether the clusters of a part differ by more than a common shift."""
        return self.unlike[k] <= Gate.level


class Redrawn:
    """Several sets of rows, one after the other, each drawn with its own dependence, all from the same numbers.

    A row that belongs to two sets has a target in each, made of the same latent numbers: each set has the law that a
    test of it alone would draw from, and what sets share they share in every draw.

    Parameters
    ----------
    case : Case
        All rows, of predictions that are redrawn from one number a row.
    parts : sequence of CoupledRows
        The sets.
    """

    def __init__(self, case: Case, parts: Sequence[CoupledRows]) -> None:
        self.whole, self.parts = case, tuple(parts)

    @staticmethod
    def reason(case: Case) -> str:
        """Say why targets that depend on each other cannot be drawn; empty where they can."""
        return not_redrawn(case)

    @cached_property
    def case(self) -> Case:
        """The sets, one after the other."""
        rows = np.concatenate([part.rows for part in self.parts])
        return replace(self.whole[rows], rows=None)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each set lies."""
        ends = np.cumsum([len(part.rows) for part in self.parts]).tolist()
        return tuple(slice(end - len(part.rows), end) for part, end in zip(self.parts, ends, strict=True))

    def source(self, run: Run, purpose: str) -> Draws:
        """Draws of all sets."""
        return Draws(run.rng, purpose, Parts([(part.coupling, part.rows) for part in self.parts]))

    def ranked(self, prepared: Prepared, run: Run, purpose: str) -> RedrawnValues:
        """Values of statistics of targets that lie one after the other, and of sums over clusters beside them."""
        asked = [(k, part.sums) for k, part in enumerate(self.parts) if part.sums is not None]
        beside = [Sliced(sums, self.places[k], by_cells=prepared.by_cells) for k, sums in asked]
        every = Together((prepared, *beside), prepared.merge)
        values = exact_null(every, self.case, run, self.source(run, purpose)).values
        bounds = np.cumsum([len(part.names) for part in every.parts])[:-1]
        own, *spreads = np.split(values, bounds, axis=1)
        unlike = [1.0] * len(self.parts)
        for (k, _), spread in zip(asked, spreads, strict=True):
            unlike[k] = float(merged_ranks(spread, ranks(spread))[0][0] / len(spread))
        return RedrawnValues(DrawnValues.of(own, merge=prepared.merge), tuple(unlike))

    def unlike(self, run: Run, *, by_cells: bool = False) -> tuple[float, ...]:
        """For every set the p-value of sums over its clusters; 1 where they are not looked at."""
        if all(part.sums is None for part in self.parts):
            return (1.0,) * len(self.parts)
        every = replace(run, early_stopping=False, progress=None)
        return self.ranked(_Nothing(by_cells=by_cells), every, "draws of sums over clusters").unlike

    def flipped(self, chosen: Sequence[int], run: Run) -> tuple[np.ndarray, np.ndarray]:
        """P-values by flipped signs of clusters, the same signs for all chosen parts: each alone, and over all of them.

        As for a test of one set: the largest of ``|sum_g e_g S_gj| / sqrt(sum_g S_gj^2)`` by its rank over j.
        """
        assert self.whole.rows is not None
        signs = observed_and_flipped(self.whole.rows.groups, run.draws, run.rng)
        merged = []
        for k in chosen:
            part = self.parts[k]
            assert part.sums is not None  # for the type checker: only such are chosen
            assert part.clusters is not None
            values = under_signs(part.sums.of(part.observed[None])[0], signs[:, part.clusters])
            merged.append(merged_ranks(values, ranks(values)))
        rank, deviation = (np.stack(columns, axis=1) for columns in zip(*merged, strict=True))
        return rank[0] / len(rank), family_wise_pvalues(rank, deviation)
