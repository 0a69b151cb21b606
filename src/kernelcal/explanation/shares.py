"""What every row and every class adds to the kernel error."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.kernels import Dirac
from kernelcal.pairs import map_strips
from kernelcal.predictions import Bernoulli
from kernelcal.residuals import FeatureResidual
from kernelcal.statistics import ClassSignals
from kernelcal.statistics.pairwise import PreparedPairMean
from kernelcal.tables import Shown, Table

__all__ = ["ClassShare", "RowShare", "class_shares", "row_shares", "top_rows"]


_TOP = 10


@dataclass(frozen=True)
class RowShare(Shown):
    """One row and what it adds.

    Attributes
    ----------
    row : int
        Its number, from 0.
    contribution : float
        Part of the error.
    predicted, happened : str
        What was predicted, and the target.
    """

    row: int
    contribution: float
    predicted: str
    happened: str

    def _table(self) -> Table:
        rows = [("contribution", f"{self.contribution:+.3g}"), ("predicted", self.predicted)]
        return Table(f"row {self.row}", [*rows, ("happened", self.happened)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class ClassShare(Shown):
    """One class and what it adds.

    Attributes
    ----------
    name : str
        The class.
    contribution : float
        Part of the error.
    predicted, observed : float
        Mean predicted probability, and frequency.
    """

    name: str
    contribution: float
    predicted: float
    observed: float

    def _table(self) -> Table:
        rows = [("contribution", f"{self.contribution:+.3g}"), ("mean probability", f"{self.predicted:.4f}")]
        return Table(f"class {self.name}", [*rows, ("frequency", f"{self.observed:.4f}")])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def row_shares(pairs: PreparedPairMean, targets: np.ndarray) -> np.ndarray:
    """``c_i = sum_{j != i} h_ij / sum_{i != j} w_i w_j``, shape (n,): the sum is the unbiased SKCE."""
    matrix = pairs.matrix(targets)
    return (matrix.row_sums - matrix.diagonal) / pairs.total


def class_shares(pairs: PreparedPairMean, case: Case) -> tuple[ClassShare, ...]:
    """Split ``tr(R' K0 R)`` over the columns of R, largest part first; K0 is K without its diagonal.

    For the Dirac kernel between three or more classes; with others a column is no class.
    """
    residual, targets, batch = pairs.residual.double(), case.targets, case.predictions
    if isinstance(batch, Bernoulli) or not isinstance(pairs.target_kernel, Dirac):
        return ()
    assert isinstance(residual, FeatureResidual)  # for the type checker: classes have features
    r = np.asarray(residual.features(targets))

    def work(rows: slice) -> np.ndarray:
        k = pairs.forms.kernel_rows(rows)
        k[np.arange(len(k)), np.arange(rows.start, rows.stop)] = 0
        return ((k @ r) * r[rows]).sum(axis=0)

    pairs.forms.kernel_rows(slice(0, 1))  # what all rows need is made before threads ask for it
    parts = np.sum(map_strips(len(r), work), axis=0) / pairs.total
    signals, n = ClassSignals().prepare(batch, residual.weights), len(batch)
    predicted, observed = signals.expected / n, signals.counts(targets[None])[0] / n
    order = np.argsort(-parts, kind="stable")
    return tuple(
        ClassShare(str(batch.class_name(k)), float(parts[k]), float(predicted[k]), float(observed[k])) for k in order
    )


def top_rows(contributions: np.ndarray, case: Case) -> tuple[RowShare, ...]:
    """Rows that add most, at most ten, with what was predicted and what happened."""
    rows = np.argsort(-contributions, kind="stable")[:_TOP]
    kept = rows[contributions[rows] > 0]
    if not len(kept):
        return ()
    predicted, happened = case.predictions[kept].in_words(case.targets[kept])
    columns = zip(kept, contributions[kept], predicted, happened, strict=True)
    return tuple(RowShare(int(row), float(c), p, h) for row, c, p, h in columns)
