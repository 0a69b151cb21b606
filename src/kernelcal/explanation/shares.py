"""What every row and every class adds to the kernel error."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.kernels import Dirac
from kernelcal.pairs import PairMatrix, map_strips
from kernelcal.predictions import Bernoulli
from kernelcal.residuals import FeatureResidual
from kernelcal.statistics import ClassSignals
from kernelcal.statistics.pairwise import Apart, PreparedPairMean
from kernelcal.tables import Shown, Table

__all__ = ["ClassShare", "RowShare", "RowShares", "class_shares", "top_rows"]


_TOP = 10
_ALIKE = 0.9  # cosine of what two rows add
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
    alike : int
        Further rows that add something and are not shown, since they err in nearly the same way at nearly the same
        prediction: the cosine of what they add is at least .9.

    Examples
    --------
    >>> import kernelcal as kc
    >>> row = kc.explain([0, 1, 1, 1] * 10, [0.2, 0.8, 0.7, 0.3] * 10, draws=99).rows[0]
    >>> row.predicted, row.happened
    ('0.300', '1')
    """

    row: int
    contribution: float
    predicted: str
    happened: str
    count: int = 1
    alike: int = 0

    @property
    def named(self) -> str:
        """Number of the row, and how many more are equal, or nearly."""
        more = [f"{self.count - 1:,} equal"] if self.count > 1 else []
        more += [f"{self.alike:,} like it"] if self.alike else []
        return f"{self.row:,}" + (f" and {', '.join(more)}" if more else "")

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

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> share = kc.explain(y, p, draws=99).classes[0]
    >>> share.name, share.observed > share.predicted
    ('0', True)
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


@dataclass(frozen=True, eq=False)
class RowShares:
    """What the rows add to the error, and how alike two rows are in what they add.

    Attributes
    ----------
    values : numpy.ndarray of shape (n,)
        ``c_i = sum_{j != i} h_ij / sum_{i != j} w_i w_j``: the sum is the unbiased SKCE. Of rows that depend on each
        other pairs of one cluster, or of one stretch of time, are left out of both sums.
    matrix : PairMatrix
        The values h_ij.
    apart : Apart or None
        Rows in another order, that of `matrix`, and which pairs are left out.
    """

    values: np.ndarray
    matrix: PairMatrix
    apart: Apart | None

    @classmethod
    def of(cls, pairs: PreparedPairMean, case: Case) -> Self:
        """Walk all pairs."""
        apart = None if case.rows is None else Apart.of(pairs, case)
        if apart is None:
            matrix = pairs.matrix(case.targets)
            return cls((matrix.row_sums - matrix.diagonal) / pairs.total, matrix, None)
        units, shares = apart.units, np.empty(len(case))
        shares[units.order] = apart.matrix.row_sums - apart.matrix.run_sums(units.first, units.last)
        return cls(shares / apart.pairs, apart.matrix, apart)

    def cosines(self, row: int) -> np.ndarray:
        """``h_ij / sqrt(h_ii h_jj)`` of one row with all, shape (n,): 1 of rows that err alike at one prediction."""
        order = np.arange(self.matrix.n) if self.apart is None else self.apart.units.order
        place = int(np.flatnonzero(order == row)[0])
        size = np.sqrt(np.maximum(self.matrix.diagonal, 0.0))
        found = np.empty(self.matrix.n)
        found[order] = self.matrix.rows(slice(place, place + 1))[0] / np.maximum(size * size[place], 1e-300)
        return found


def class_shares(pairs: PreparedPairMean, case: Case, apart: Apart | None) -> tuple[ClassShare, ...]:
    """Split ``tr(R' K0 R)`` over the columns of R, largest part first; K0 is K without its diagonal.

    For the Dirac kernel between three or more classes; with others a column is no class. Of rows that depend on each
    other K0 has none of the pairs that `RowShares` leaves out.
    """
    if isinstance(case.predictions, Bernoulli) or not isinstance(pairs.target_kernel, Dirac):
        return ()
    total = pairs.total
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


def top_rows(shares: RowShares, case: Case) -> tuple[RowShare, ...]:
    """Rows that add most, at most ten, with what was predicted and what happened.

    A row is left out and counted whose cosine with one that is shown already is at least .9: it errs in nearly the same
    way at nearly the same prediction, and says nothing new. Cost: a row of the matrix for every row that is shown.
    """
    values = shares.values
    chosen: list[tuple[int, np.ndarray, int]] = []
    left = values > 0
    for row in np.argsort(-values, kind="stable"):
        if len(chosen) == _TOP or values[row] <= 0:
            break
        if left[row]:
            cosines = shares.cosines(int(row))
            alike = left & (cosines >= _ALIKE)
            alike[row] = True
            left &= ~alike
            near = alike & (cosines >= 1 - _ROUNDING) & (np.abs(values - values[row]) <= _ROUNDING * values[row])
            near[row] = True
            chosen.append((int(row), np.flatnonzero(near), int(alike.sum())))
    if not chosen:
        return ()
    rows = np.array([row for row, _, _ in chosen])
    said = zip(chosen, *case.predictions[rows].in_words(case.targets[rows]), strict=True)
    return tuple(_shown(shares, case, some, words) for some, *words in said)


def _shown(shares: RowShares, case: Case, chosen: tuple[int, np.ndarray, int], words: list[str]) -> RowShare:
    """One row with those that are equal, of which the same is said, and the number of others like it."""
    row, equal, alike = chosen
    if len(equal) > 1:
        predicted, happened = case.predictions[equal].in_words(case.targets[equal])
        equal = equal[[[*pair] == words for pair in zip(predicted, happened, strict=True)]]
    first = int(case.row_numbers[equal].min())
    return RowShare(first, float(shares.values[row]), words[0], words[1], len(equal), alike - len(equal))
