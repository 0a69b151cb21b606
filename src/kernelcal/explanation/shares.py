"""What every row and every class adds to the kernel error."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.kernels import Dirac
from kernelcal.pairs import map_strips
from kernelcal.predictions import Bernoulli
from kernelcal.residuals import FeatureResidual
from kernelcal.statistics import ClassSignals
from kernelcal.statistics.pairwise import Apart, PreparedPairMean
from kernelcal.tables import Shown, Table

__all__ = ["ClassShare", "RowShare", "class_shares", "row_shares", "top_rows"]


_TOP, _AT_ONCE = 10, 256
_ROUNDING = 1e-9  # of the contributions of equal rows


@dataclass(frozen=True)
class RowShare(Shown):
    """One row and what it adds.

    Attributes
    ----------
    row : int
        Its number, from 0; of equal rows the first.
    contribution : float
        Part of the error, of one row.
    predicted, happened : str
        What was predicted, and the target.
    count : int
        Equal rows: the same prediction and the same outcome.
    """

    row: int
    contribution: float
    predicted: str
    happened: str
    count: int = 1

    @property
    def named(self) -> str:
        """Number of the row, and how many more are equal."""
        return f"{self.row:,}" + (f" and {self.count - 1:,} equal" if self.count > 1 else "")

    def _table(self) -> Table:
        rows = [("contribution", f"{self.contribution:+.3g}"), ("predicted", self.predicted)]
        return Table(f"row {self.named}", [*rows, ("happened", self.happened)])

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


def row_shares(pairs: PreparedPairMean, case: Case) -> np.ndarray:
    """``c_i = sum_{j != i} h_ij / sum_{i != j} w_i w_j``, shape (n,): the sum is the unbiased SKCE.

    Of rows that depend on each other pairs of one cluster, or of one stretch of time, are left out of both sums.
    """
    apart = None if case.rows is None else Apart.of(pairs, case)
    if apart is not None:
        units, shares = apart.units, np.empty(len(case))
        shares[units.order] = apart.matrix.row_sums - apart.matrix.run_sums(units.first, units.last)
        return shares / apart.pairs
    matrix = pairs.matrix(case.targets)
    return (matrix.row_sums - matrix.diagonal) / pairs.total


def class_shares(pairs: PreparedPairMean, case: Case) -> tuple[ClassShare, ...]:
    """Split ``tr(R' K0 R)`` over the columns of R, largest part first; K0 is K without its diagonal.

    For the Dirac kernel between three or more classes; with others a column is no class. Of rows that depend on each
    other K0 has none of the pairs that `row_shares` leaves out.
    """
    if isinstance(case.predictions, Bernoulli) or not isinstance(pairs.target_kernel, Dirac):
        return ()
    apart, total = None if case.rows is None else Apart.of(pairs, case), pairs.total
    if apart is not None:
        pairs, case, total = apart.prepared, apart.case, apart.pairs
    residual, targets, batch = pairs.residual.double(), case.targets, case.predictions
    assert isinstance(residual, FeatureResidual)  # for the type checker: classes have features
    r = np.asarray(residual.features(targets))

    def work(rows: slice) -> np.ndarray:
        k = pairs.forms.kernel_rows(rows)
        if apart is None:
            k[np.arange(len(k)), np.arange(rows.start, rows.stop)] = 0
        else:
            apart.units.leave_out(k, rows.start)
        return ((k @ r) * r[rows]).sum(axis=0)

    pairs.forms.kernel_rows(slice(0, 1))  # what all rows need is made before threads ask for it
    parts = np.sum(map_strips(len(r), work), axis=0) / total
    signals, n = ClassSignals().prepare(batch, residual.weights), len(batch)
    predicted, observed = signals.expected / n, signals.counts(targets[None])[0] / n
    order = np.argsort(-parts, kind="stable")
    return tuple(
        ClassShare(str(batch.class_name(k)), float(parts[k]), float(predicted[k]), float(observed[k])) for k in order
    )


def top_rows(contributions: np.ndarray, case: Case) -> tuple[RowShare, ...]:
    """Rows that add most, at most ten, with what was predicted and what happened; equal rows are one."""
    order = np.argsort(-contributions, kind="stable")
    order = order[contributions[order] > 0]
    found: list[RowShare] = []
    for start in range(0, len(order), _AT_ONCE):
        part = order[start : start + _AT_ONCE]
        predicted, happened = case.predictions[part].in_words(case.targets[part])
        for row, words, outcome in zip(part, predicted, happened, strict=True):
            value, last = float(contributions[row]), found[-1] if found else None
            if last is not None and _equal(last, value, words, outcome):
                first = min(last.row, int(case.row_numbers[row]))
                found[-1] = replace(last, row=first, count=last.count + 1)
            elif len(found) == _TOP:
                return tuple(found)
            else:
                found.append(RowShare(int(case.row_numbers[row]), value, words, outcome))
    return tuple(found)


def _equal(last: RowShare, value: float, predicted: str, happened: str) -> bool:
    same = (last.predicted, last.happened) == (predicted, happened)
    return same and abs(last.contribution - value) <= _ROUNDING * abs(value)
