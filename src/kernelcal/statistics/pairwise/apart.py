"""Means over pairs of rows that are apart: of rows that depend on each other, pairs of one unit are left out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.dependence import Dependence, DependentUnits
from kernelcal.errors import InputError
from kernelcal.pairs import PairMatrix

__all__ = ["Apart", "layered", "steps_alike"]


_SOME = 256  # rows by whose pairs it is seen how long rows stay alike
_LEAST_UNITS = 10  # that stretches are not made fewer than by growing
_GROUPS = 30  # at least, of blocks with the same units, where there are units enough


@dataclass(frozen=True, eq=False)
class Apart:
    """What was prepared of a mean over pairs, with rows in the order of units, and the units.

    Attributes
    ----------
    prepared : PreparedPairMean
        Of these rows.
    case : Case
        In this order, predictions as they were prepared.
    units : DependentUnits
        Its `order` leads from the rows as given to these.
    """

    prepared: Any  # what imports this
    case: Case
    units: DependentUnits

    @classmethod
    def of(cls, prepared: Any, case: Case) -> Self | None:
        """Put rows in order and find the units; None where rows count as independent.

        Forecasts that overlap less than h steps make stretches of two horizons, or longer ones where what a row adds to
        the estimate stays alike for longer, as where predictions follow each other (`_persistent`).
        """
        rows = case.rows
        assert rows is not None  # callers have asked
        units = DependentUnits.clusters(rows) if rows.clusters is not None else DependentUnits.stretches(rows, 1)
        if not units.sorted:
            prepared, case = prepared.arranged(units.order), case[units.order]
        if rows.clusters is None:
            assert case.rows is not None
            length = _persistent(prepared.matrix(case.targets), case.rows, units)
            if rows.horizon == 1 and length <= 2:
                return None
            units = replace(DependentUnits.stretches(case.rows, length), order=units.order)
        if len(units) < 2:
            raise InputError(
                f"horizon: {len(case):,} rows make one stretch of {units.length} steps, and no two rows are known to "
                "be independent: a shorter horizon, or more rows"
            )
        return cls(prepared, case, units)

    @cached_property
    def matrix(self) -> PairMatrix:
        """Values of all pairs in this order."""
        return self.prepared.matrix(self.case.targets)

    @cached_property
    def weights(self) -> np.ndarray:
        """Case weights; ones where there are none."""
        return np.ones(len(self.case)) if self.case.weights is None else self.case.weights

    @cached_property
    def pairs(self) -> float:
        """Sum of ``w_i w_j`` over pairs that are not left out, both orders counted."""
        return float(self.weights.sum() ** 2) - self.units.left_out(self.weights)

    def estimate(self) -> float:
        """Mean of h_ij over pairs that are not left out."""
        prepared, units = self.prepared, self.units
        sums = prepared.forms.of(self.case.targets)
        left_out = float(self.matrix.run_sums(units.first, units.last).sum())
        return (float(sums.off_diagonal) + float(sums.diagonal) - left_out) / self.pairs


def _persistent(matrix: PairMatrix, rows: Dependence, units: DependentUnits) -> int:
    """Steps of stretches for what rows add to the mean over pairs, by the sum of h_ij over some rows j far away."""
    n = matrix.n
    some = slice(0, n, -(-n // _SOME))
    index, place = np.arange(*some.indices(n)), np.arange(n)
    strip = matrix.some_rows(some)
    strip[(place >= units.first[index, None]) & (place < units.last[index, None])] = 0
    return steps_alike(strip.sum(axis=0), rows)


def steps_alike(a: np.ndarray, rows: Dependence) -> int:
    """Steps of a stretch so that values of rows are alike inside stretches and little between them; 0: no matter.

    With phi^h the correlation of values of rows that lie h steps apart, ``1.1447 (4 phi^2 T / (1 - phi^2)^2)^(1/3)`` of
    T steps in all, the length of Andrews (1991) for an autoregression; at most a tenth of all rows. Errors that are
    uncorrelated from h steps on have phi = 0.
    """
    n, h, a = len(a), rows.horizon, a - a.mean()
    earlier, later = rows.pairs(h)
    if len(earlier) < _LEAST_UNITS or not a.any():
        return 0
    alike = float((a[earlier] * a[later]).mean() / (a**2).mean())
    if alike <= len(earlier) ** -0.5:
        return 0
    phi = min(alike, 0.99) ** (1 / h)
    steps = 1.1447 * (4 * phi**2 / (1 - phi**2) ** 2 * float(rows.lengths.sum())) ** (1 / 3)
    return int(min(math.ceil(steps), n // _LEAST_UNITS))


def layered(size: int, case: Case, units: DependentUnits) -> tuple[int, Case, np.ndarray]:
    """Blocks of rows of different units: how many rows they have, their rows, and the group of every block.

    Blocks of one group have the same units; they are made smaller until there are 30 groups, down to two rows.
    """
    size = min(size, max(2, len(units) // _GROUPS))
    rows, group = units.layers(size)
    if len(group) == 0:
        raise InputError(
            f"blocks are made of rows of different {units.name}, and there are {len(units)}: more of them are needed, "
            "not more rows"
        )
    return size, case[rows], group
