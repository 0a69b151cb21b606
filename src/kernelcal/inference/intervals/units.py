"""Units in the place of rows: intervals where rows of one cluster, or of one stretch of time, move together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.cases import Case
from kernelcal.dependence import DependentUnits
from kernelcal.errors import InputError
from kernelcal.inference.intervals.methods import IntervalMethod, Request, Spread
from kernelcal.inference.intervals.surprises import FEWEST, Surprises
from kernelcal.pairs import PairMatrix, threaded_map
from kernelcal.runs import Run
from kernelcal.statistics import CKCE, SKCE
from kernelcal.statistics.pairwise import Apart, PreparedPairMean, layered, steps_alike

__all__ = [
    "BlockUnits",
    "OperatorUnits",
    "Sharing",
    "UnitPairs",
    "spread_of_dependent",
    "student",
    "wider",
]


_STRIP = 2**19  # numbers of some rows of the matrix
_REFUSED, _FEW = 5, 10  # effective units


@dataclass(frozen=True)
class Sharing:
    """How much rows of one unit share.

    Attributes
    ----------
    correlation : float
        Sum of h_ij over pairs inside units, less their mean over all pairs, as a share of what it would be if rows of
        a unit were the same; between 0 and 1.
    effective : float
        How many units of equal size they count like.
    seen : float
        Variance of sums over units as a multiple of that of independent rows, ``1 + (m - 1) rho`` with m the mean size
        of the unit of a row.
    rows : float
        Rows that one surprise makes: the same with two more units that surprise as a whole in rho, since few surprises
        tell little of it.
    """

    correlation: float
    effective: float
    seen: float
    rows: float

    @classmethod
    def of(cls, units: DependentUnits, inside: float, own: np.ndarray, pairs: float, mean: float = 0.0) -> Sharing:
        """From the sum over pairs inside units, the values h_ii, and the sum of ``w_i w_j`` over these pairs."""
        root = np.sqrt(np.maximum(own, 0.0))
        most = float((units.sums(root) ** 2).sum() - own.sum())
        shared = inside - mean * pairs
        m = float((units.sizes**2).sum() / units.sizes.sum())
        more = FEWEST * m * (m - 1) * float(own.mean())
        correlation = _between(shared, most)
        raised = _between(shared + more, most + more)
        return cls(correlation, units.effective(correlation), 1 + (m - 1) * correlation, 1 + (m - 1) * raised)

    def surprises(self, found: Surprises) -> Surprises:
        """Pseudo-surprises each of which comes with others of its unit."""
        return replace(found, each=found.each * self.rows, shared=self.rows)

    def notes(self, units: DependentUnits) -> tuple[str, ...]:
        """How many units there are, and what that means; few are refused."""
        if self.effective < _REFUSED:
            raise InputError(
                f"{len(units)} {units.name} count like {self.effective:.1f} of equal size, and no interval of fewer "
                f"than {_REFUSED} holds what it promises: more {'series or times' if units.length else 'clusters'} are "
                "needed, not more rows"
            )
        counted = f"the noise is that of {len(units)} {units.name}, which count like {self.effective:.0f} of equal size"
        if self.effective < _FEW:
            return (f"{counted}: too few to tell how much they differ, and the interval is rough",)
        return (f"{counted} (law of Student)",)


def _between(share: float, whole: float) -> float:
    return min(max(share / whole, 0.0), 1.0) if whole > 0 else 0.0


def wider(spread: Spread, freedom: float, units: int) -> Spread:
    """Return what is known of an error where its noise was estimated from few units: the law of Student for the normal.

    At the normal quantile z a method is asked for its ends at ``t sqrt(G / (G - 1))`` of G units, t the quantile of the
    law of Student, as Hesterberg (2015) widens percentiles; a p-value goes the way back.
    """
    factor = math.sqrt(units / (units - 1))

    def level(two_sided: float) -> float:
        return 1 - 2 * _normal_tail(factor * student(freedom, (1 + two_sided) / 2))

    def upper(one_sided: float) -> float:
        return spread.upper(1 - _normal_tail(factor * student(freedom, one_sided)))

    def above(value: float) -> float:
        from scipy.special import ndtri, stdtr  # imported when needed: the import of kernelcal stays light

        return max(float(stdtr(freedom, float(ndtri(min(spread.above(value), 1.0))) / factor)), 1e-300)

    return replace(spread, ends=lambda two_sided: spread.ends(level(two_sided)), upper=upper, above=above)


def student(freedom: float, probability: float) -> float:
    """Quantile of the law of Student."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def _normal_tail(z: float) -> float:
    """Probability of a normal number above z, so that the level is below 1."""
    from scipy.special import ndtr

    return max(float(ndtr(-z)), 1e-16)


class UnitPairs:
    """Sums of h over pairs of units, as a matrix of pairs of rows has them: what the methods of intervals ask for.

    ``H_gk`` is the sum of h_ij over rows i of unit g and j of unit k that are not left out beside each other, ``N_gk``
    that of ``w_i w_j``; the estimate is ``T = sum H_gk / sum N_gk``. Units differ in size, so that T is a ratio: its
    noise is that of the mean of ``d_gk = (H_gk - T N_gk) / c``, c the mean of N_gk, over pairs of units. Sums and
    squares here are those of d, so that variances are those of a mean over pairs of G independent units.

    Cost: one pass over all pairs of rows, or another one for every pass over pairs of units where these do not fit.

    Parameters
    ----------
    apart : Apart
        Rows in the order of units.

    Attributes
    ----------
    below : PairMatrix
        Values of pairs of rows.
    """

    def __init__(self, apart: Apart) -> None:
        self.apart, self.units, self.below = apart, apart.units, apart.matrix
        self.n = len(self.units)
        self.weights = self.units.sums(apart.weights)
        self.next = self.units.next_to(apart.weights)[:-1]

    @cached_property
    def _parts(self) -> list[slice]:
        """Units whose rows are some strips of the matrix: one of many rows alone, else several."""
        height, ends = max(16, _STRIP // self.below.n), np.append(self.units.starts, self.below.n)
        found, first = [], 0
        while first < self.n:
            stop = max(int(np.searchsorted(ends, ends[first] + height, side="right")) - 1, first + 1)
            found.append(slice(first, stop))
            first = stop
        return found

    def _block(self, part: slice, *, whole: bool = False) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """H of some units with all, without what is left out or with it; sum of squares of rows; h_ii; H_gg whole."""
        units, n = self.units, self.below.n
        ends = np.append(units.starts, n)
        first, stop = int(ends[part.start]), int(ends[part.stop])
        height, squares = max(16, _STRIP // n), 0.0
        own, inside = np.empty(stop - first), np.zeros(part.stop - part.start)
        found = np.zeros((part.stop - part.start, self.n))
        for rows in row_slices(stop - first, height):
            rows = slice(rows.start + first, rows.stop + first)
            strip = self.below.some_rows(rows)
            index = np.arange(rows.start, rows.stop)
            unit = units.unit[index] - part.start
            own[index - first] = strip[index - rows.start, index]
            squares += float(np.einsum("ij,ij->", strip, strip)) - float((own[index - first] ** 2).sum())
            for row, g in zip(strip, unit, strict=True):
                inside[g] += row[ends[g + part.start] : ends[g + part.start + 1]].sum()
            if not whole:
                units.leave_out(strip, rows.start)
            starts = np.flatnonzero(np.diff(unit, prepend=-1))
            found[unit[starts]] += np.add.reduceat(np.add.reduceat(strip, starts, axis=0), units.starts, axis=1)
        return found, squares, own, inside

    @cached_property
    def _sums(self) -> dict[str, np.ndarray | float]:
        """Sums over all pairs in one pass."""

        def work(part: slice) -> tuple[np.ndarray, ...]:
            block, squares, own, inside = self._block(part)
            pairs = self._pairs_of(part)
            products = [(block**2).sum(), (block * pairs).sum(), (pairs**2).sum(), squares]
            return block.sum(axis=1), pairs.sum(axis=1), np.array(products), own, inside

        self.below.ready  # noqa: B018
        parts = zip(*threaded_map(work, self._parts, None), strict=True)
        sums, pairs, products, own, inside = parts
        joined = [np.concatenate(one) for one in (sums, pairs, own, inside)]
        return dict(zip(("sums", "pairs", "own", "inside"), joined, strict=True)) | {
            "products": np.sum(products, axis=0)
        }

    def _pairs_of(self, part: slice) -> np.ndarray:
        """N of some units with all."""
        pairs = np.outer(self.weights[part], self.weights)
        index = np.arange(part.start, part.stop)
        pairs[index - part.start, index] = 0
        later, earlier = index[index < self.n - 1], index[index > 0]
        pairs[later - part.start, later + 1] -= self.next[later]
        pairs[earlier - part.start, earlier - 1] -= self.next[earlier - 1]
        return pairs

    @cached_property
    def estimate(self) -> float:
        """Mean over pairs of rows that are not left out."""
        return float(np.sum(self._sums["sums"]) / np.sum(self._sums["pairs"]))

    @cached_property
    def _size(self) -> float:
        return float(np.sum(self._sums["pairs"])) / (self.n * (self.n - 1))

    @property
    def diagonal(self) -> np.ndarray:
        """Nothing: pairs of a unit with itself are left out."""
        return np.zeros(self.n)

    @cached_property
    def row_sums(self) -> np.ndarray:
        """Sums of d_gk over k, shape (G,)."""
        return np.asarray((self._sums["sums"] - self.estimate * np.asarray(self._sums["pairs"])) / self._size)

    @cached_property
    def row_squares(self) -> np.ndarray:
        """Sum of d_gk^2 over all pairs of units, shape (1,)."""
        own, mixed, pairs, _ = np.asarray(self._sums["products"])
        return np.array([own - 2 * self.estimate * mixed + self.estimate**2 * pairs]) / self._size**2

    @property
    def square_sum(self) -> float:
        """The same as a number."""
        return float(self.row_squares.sum())

    @cached_property
    def sharing(self) -> Sharing:
        """How much rows of one unit share."""
        own, weights = np.asarray(self._sums["own"]), self.apart.weights
        inside = float(np.sum(self._sums["inside"]) - own.sum())
        return Sharing.of(self.units, inside, own, float((self.weights**2).sum() - (weights**2).sum()), self.estimate)

    @cached_property
    def whole(self) -> float:
        """Sum of h_ij over all pairs of rows, those of a row with itself among them."""
        return float(self.quadratic(np.ones((self.n, 1)))[0])

    def surprises(self, of: Callable[[PairMatrix, tuple[float, float]], Surprises | None]) -> Surprises | None:
        """Pseudo-surprises of rows that come several at once, about the mean over pairs that are not left out."""
        n, squares = self.below.n, float(np.asarray(self._sums["products"])[3])
        found = of(self.below, (self.estimate * n * (n - 1), squares))
        return None if found is None else self.sharing.surprises(found)

    @property
    def drawn(self) -> dict[str, Any]:
        """What draws with other outcomes ask for."""
        return {"units": self.units, "alike": self.sharing.rows}

    def totals(self, counts: np.ndarray) -> np.ndarray:
        """Sum of ``c_g c_k N_gk`` for every column c of shape (G, B)."""
        squares = self.weights**2 @ counts**2
        return (self.weights @ counts) ** 2 - squares - 2 * self.next @ (counts[1:] * counts[:-1])

    def quadratic(self, columns: np.ndarray, *, diagonal: bool = True) -> np.ndarray:
        """Return c'Hc for every column c, shape (G, B) -> (B,), with or without the pairs that are left out."""
        self.below.ready  # noqa: B018

        def work(part: slice) -> np.ndarray:
            return np.einsum("gb,gb->b", self._block(part, whole=diagonal)[0] @ columns, columns[part])

        return np.asarray(np.sum(threaded_map(work, self._parts, None), axis=0))


class BlockUnits:
    """Groups of units in the place of blocks: blocks of one group share units, those of two do not.

    Parameters
    ----------
    group : numpy.ndarray
        Group of every block.
    sharing : Sharing
        How much rows of one unit share.
    """

    def __init__(self, group: np.ndarray, sharing: Sharing) -> None:
        self.group, self.sharing = group, sharing

    def mean_values(self, values: np.ndarray) -> np.ndarray:
        """One value a group, whose mean is that of the blocks, and whose spread is that of a ratio of sums."""
        blocks, sums = np.bincount(self.group), np.bincount(self.group, values)
        mean = values.mean()
        return np.asarray(mean + (sums - mean * blocks) * len(blocks) / len(values))


def spread_of_dependent(
    method: IntervalMethod, statistic: SKCE | CKCE, case: Case, run: Run, prepared: PreparedPairMean | None = None
) -> Spread | None:
    """Let a method work on units in the place of rows; None where rows count as independent."""
    if not method.of_units:
        raise InputError(
            f"{method.label}: this method takes rows as independent, and clusters=, time=, horizon= or series= say "
            "that they are not: use method='root', or work on Request.units and say IntervalMethod(of_units=True)"
        )
    if isinstance(statistic, CKCE):
        found = _of_operator(statistic, case)
    elif statistic.estimator == "block":
        found = _of_blocks(statistic, case)
    else:
        apart = Apart.of(statistic.prepare(case.predictions, case.weights) if prepared is None else prepared, case)
        pairs = None if apart is None else UnitPairs(apart)
        found = (
            None if apart is None or pairs is None else (apart.case, apart.prepared, pairs, apart.units, pairs.sharing)
        )
    if found is None:
        return None
    case, ready, of, units, sharing = found
    notes = (units.said, *sharing.notes(units))
    spread = method.spread(Request(case, ready, run, of))
    label = f", {len(units)} {units.name} in the place of rows"
    if isinstance(of, BlockUnits):  # which has the law of Student already
        return replace(spread, notes=(*spread.notes, *notes), units=label)
    return replace(
        wider(spread, max(sharing.effective - 1, 1.0), len(units)), notes=(*spread.notes, *notes), units=label
    )


Found = tuple[Case, Any, Any, DependentUnits, Sharing]


def _of_blocks(statistic: SKCE, case: Case) -> Found | None:
    """Blocks of rows of different units; what rows of a unit share is told by all pairs inside units."""
    whole = replace(statistic, estimator="unbiased", block_size=None)
    apart = Apart.of(whole.prepare(case.predictions, case.weights), case)
    if apart is None:
        return None
    units, matrix = apart.units, apart.matrix
    assert statistic.block_size is not None  # that of blocks has one
    size, blocks, group = layered(statistic.block_size, case, units)
    statistic = replace(statistic, block_size=size)
    ends, own = np.append(units.starts, len(case)), np.arange(len(case))
    inside = float(matrix.run_sums(ends[units.unit], ends[units.unit + 1]).sum())
    own = matrix.run_sums(own, own + 1)
    sharing = Sharing.of(units, inside - float(own.sum()), own, 0.0)
    return blocks, statistic.prepare(blocks.predictions, blocks.weights), BlockUnits(group, sharing), units, sharing


def _of_operator(statistic: CKCE, case: Case) -> Found | None:
    """Rows in the order of units, and how much residuals of one unit share."""
    rows = case.rows
    assert rows is not None  # callers have asked
    units = DependentUnits.clusters(rows) if rows.clusters is not None else DependentUnits.stretches(rows, 1)
    case = case[units.order]
    ready = statistic.prepare(case.predictions, case.weights)
    residuals = ready.observed(case.targets)
    if rows.clusters is None:
        assert case.rows is not None
        length = steps_alike(np.einsum("nk,nk->n", residuals, ready.operator.regression(residuals)[1]), case.rows)
        if rows.horizon == 1 and length <= 2:
            return None
        units = DependentUnits.stretches(case.rows, length)
    own = np.einsum("nk,nk->n", residuals, residuals)
    sharing = Sharing.of(units, float((units.sums(residuals) ** 2).sum() - own.sum()), own, 0.0)
    return case, ready, OperatorUnits(units, sharing), units, sharing


@dataclass(frozen=True, eq=False)
class OperatorUnits:
    """Units in the place of the rows of an operator.

    Attributes
    ----------
    units : DependentUnits
        Rows are in their order.
    sharing : Sharing
        How much rows of one unit share.
    """

    units: DependentUnits
    sharing: Sharing
