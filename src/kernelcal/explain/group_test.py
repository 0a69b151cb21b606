"""Which groups are miscalibrated: every group's own kernel error, ranked together under the exact null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.explain.grouping import Group
from kernelcal.lenses import TopLabel
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics import Prepared
from kernelcal.statistics.pair_means import PreparedPairMean
from kernelcal.tables import Shown, Table

__all__ = ["GroupFinding", "PreparedGroups", "gap_name", "large_enough", "mean_gap"]


class PreparedGroups(Prepared):
    """Unbiased SKCE of every group by itself, with the kernels of all rows, for many sets of targets."""

    engine = "exact pairs in groups"

    def __init__(self, pairs: PreparedPairMean, groups: Sequence[Group]) -> None:
        self.groups = groups
        self.names = tuple(f"{group.column}: {group.name}" for group in groups)
        self.parts = [pairs.part(group.rows) for group in groups]
        self.bytes_per_draw = max((part.bytes_per_draw for part in self.parts), default=0) + 8 * len(groups)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all groups, shape (B, groups)."""
        pairs = zip(self.parts, self.groups, strict=True)
        return np.hstack([part.values(targets[:, group.rows]) for part, group in pairs])


@dataclass(frozen=True)
class GroupFinding(Shown):
    """One group of rows.

    Attributes
    ----------
    column, name : str
        Column, and its value.
    n : int
        Rows.
    contribution : float
        What its rows add to the kernel error of all rows.
    gap : float or None
        Observed minus predicted: of one probability; of classes accuracy minus confidence of the first choice; of
        numbers the mean standardised residual. None where no row has weight.
    skce : float or None
        Unbiased SKCE of the group by itself; None for a group with less than two rows.
    deviation : float or None
        The same in standard deviations of the draws.
    pvalue : float or None
        Exact p-value, corrected for the choice among all groups of all columns.
    directions : tuple of str
        For a group that is rejected, in which direction.
    """

    column: str
    name: str
    n: int
    contribution: float
    gap: float | None
    skce: float | None = None
    deviation: float | None = None
    pvalue: float | None = None
    directions: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Directions and p-value in one sentence."""
        p = "not tested" if self.pvalue is None else f"p = {self.pvalue:.3g} over all groups"
        return f"{self.column} {self.name}: {'; '.join(self.directions) or 'no direction'} ({p})"

    def _table(self) -> Table:
        rows = [("rows", f"{self.n:,}"), ("gap", f"{self.gap:+.4f}"), ("contribution", f"{self.contribution:+.3g}")]
        rows += [] if self.skce is None else [("own SKCE", f"{self.skce:.3g}")]
        return Table(f"{self.column}: {self.name}", [*rows, ("finding", self.sentence)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; a deviation that is not finite becomes None."""
        finite = self.deviation is not None and np.isfinite(self.deviation)
        return {
            **asdict(self),
            "deviation": self.deviation if finite else None,
            "directions": list(self.directions),
        }


def large_enough(groups: Sequence[Group], weights: np.ndarray | None) -> list[bool]:
    """Tell which groups have a pair of rows that count."""
    return [(len(g.rows) if weights is None else int(np.count_nonzero(weights[g.rows]))) >= 2 for g in groups]


def gap_name(batch: Any) -> str:
    """What the gap of these predictions is."""
    if isinstance(batch, ClassPredictions):
        return "observed - predicted" if batch.n_classes == 2 else "accuracy - confidence"
    return "mean standardised residual"


def mean_gap(case: Case) -> float | None:
    """Weighted mean of observed minus predicted; None where no row has weight."""
    if case.weights is not None and not case.weights.any():
        return None
    return float(np.average(_row_gaps(case.predictions, case.targets), weights=case.weights))


def _row_gaps(batch: Any, targets: np.ndarray) -> np.ndarray:
    if not isinstance(batch, ClassPredictions):
        return batch.standardised(targets).reshape(len(batch), -1).mean(axis=1)
    if batch.n_classes == 2:
        return targets - np.asarray(batch.probabilities)[:, 1]
    view = TopLabel().view(batch)
    return view.relabel(targets) - np.asarray(view.predictions.probabilities)[:, 1]
