"""Exact sums over all pairs of points on a line, after one sort: O(n log n) in place of O(n^2)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from kernelcal.arrays import is_numpy, row_slices, to_numpy
from kernelcal.kernels import Euclidean, Kernel, Metric, Stationary, leaves
from kernelcal.pairs.base import KernelProducts, QuadraticForms, Sums, threaded_map
from kernelcal.pairs.tile_sums import FeatureTiles
from kernelcal.pairs.tree import (
    Branch,
    States,
    Strands,
    Walk,
    branches_of,
    climb,
    joins,
    power_of,
    side_sums,
    triple_weights,
)
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import ClassResidual, FeatureResidual

__all__ = ["Scan", "ScanForms", "line_of"]


_AT_ONCE = 2**22  # numbers of the columns that are handled together


def line_of(kernels: Sequence[Kernel], predictions: Any) -> np.ndarray | None:
    """Points x with distances |x - x'| in the metrics of all these kernels, shape (n,), or None where there are none.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.pairs.scan import line_of
    >>> line_of([kc.Laplacian(0.3)], kc.Bernoulli([0.2, 0.7]))
    array([0.2, 0.7])
    >>> line_of([kc.Gaussian(0.3)], kc.Bernoulli([0.2, 0.7])) is None
    True
    """
    if any(branches_of(kernel) is None for kernel in kernels):
        return None
    found: np.ndarray | None = None
    for metric in _metrics(kernels):
        if metric.by_pairs(predictions) is not None:
            return None
        x = to_numpy(metric.coordinates(predictions)).astype(np.float64, copy=False)
        point = x[:, 0] if x.shape[1] == 1 else _mirrored(x, metric, kernels)
        if point is None or (found is not None and not np.array_equal(found, point)):
            return None
        found = point
    return found


_EVEN = 8 * float(np.finfo(np.float64).eps)  # of a sum of two probabilities


def _mirrored(x: np.ndarray, metric: Metric, kernels: Sequence[Kernel]) -> np.ndarray | None:
    """Two coordinates of which one falls as the other rises are a line: sqrt(2) or 2 times the second alone."""
    if x.shape[1] != 2 or not all(isinstance(leaf, Stationary) for leaf in leaves(*kernels)):
        return None
    sums = x.sum(axis=1)
    if float(np.ptp(sums)) > _EVEN * float(np.abs(sums).max()):
        return None
    return x[:, 1] * (math.sqrt(2) if metric.order == 2 else 2.0)


def _metrics(kernels: Sequence[Kernel]) -> set[Metric]:
    return {leaf.metric if isinstance(leaf, Stationary) else Euclidean() for leaf in leaves(*kernels)}


_HELD = 1_100  # bytes of a row for its places and sums in the order of the scan, measured


class Scan(KernelProducts):
    """Sums with a kernel of points on a line.

    Parameters
    ----------
    branches : sequence of Branch
        The kernel, see `branches_of`.
    x : numpy.ndarray of shape (n,)
        Points, in any order.
    like : Scan, optional
        Another scan of the same points, which are then sorted once.

    Notes
    -----
    With the points sorted, ``exp(-|x_i - x_j| / l)`` is a product along the way from one to the other, so that sums
    over all points on one side follow from their neighbour's: ``a_i = w_i (a_{i-1} + r_{i-1})``. Kernels with a
    polynomial of degree q carry q + 1 such sums. Neighbours are joined two by two, not one after the other
    (`scan_tree`).
    Cost: one sort, then O(n q^2) time and memory a column.

    References
    ----------
    Bodenham and Kawahara (2023), Statistics and Computing 33: the sums of a Laplacian in one dimension.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.pairs.tree import branches_of
    >>> from kernelcal.pairs.scan import Scan
    >>> x = np.array([0.3, 0.1, 0.3])
    >>> scan = Scan(branches_of(kc.Laplacian(0.5)), x)
    >>> kernel = np.exp(-abs(x[:, None] - x) / 0.5)
    >>> bool(np.allclose(scan.apply(np.ones((3, 1)))[:, 0], kernel.sum(axis=1) - 1))
    True
    """

    def __init__(self, branches: Sequence[Branch], x: np.ndarray, like: Scan | None = None) -> None:
        self.branches, self.rows, self.like = tuple(branches), x, like

    @cached_property
    def order(self) -> np.ndarray:
        """Rows in the order of their points; taken from another scan of the same points where there is one."""
        return np.argsort(self.rows, kind="stable") if self.like is None else self.like.order

    @cached_property
    def x(self) -> np.ndarray:
        """Sorted points."""
        return self.rows[self.order] if self.like is None else self.like.x

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Values K_ii, in the order of the rows."""
        return _at_zero(self.branches, self.rows)

    @property
    def seconds_per_column(self) -> float:
        """Time of one column."""
        return 4e-7 * len(self.rows) * sum(branch.order for branch in self.branches)

    def pairs(self, columns: np.ndarray) -> float:
        """Sum of ``K_ij c_i.c_j`` over i != j, for c of shape (n, J)."""
        total = 0.0
        for part in self._parts(columns):
            f = columns.T[part].take(self.order, axis=1)
            for branch in self.branches:
                levels = joins(branch, self.x, self.x)
                total += 2 * float(climb(levels, [f], [self._source(branch, f)])[0].sum())
        return total

    def apply(self, columns: np.ndarray, exponent: int = 1) -> np.ndarray:
        """Sums over j != i of ``K_ij^exponent c_j`` for every row i and column c, shape (n, J)."""
        branches, found = power_of(self.branches, exponent), np.empty(columns.T.shape)
        for part in self._parts(columns):
            f = columns.T[part].take(self.order, axis=1)
            found[part, self.order] = sum(self._apply(branch, f) for branch in branches)
        return found.T

    def _parts(self, columns: np.ndarray) -> list[slice]:
        """Columns that are handled together."""
        return row_slices(columns.shape[1], max(1, _AT_ONCE // len(self.x)))

    def _apply(self, branch: Branch, f: np.ndarray) -> np.ndarray:
        lower, upper = side_sums(branch, self.x, f, self._source(branch, f))
        above = _combined(branch.coefficients, upper)
        return _combined(branch.coefficients, lower) + (above * self.x**branch.power if branch.power else above)

    def _source(self, branch: Branch, f: np.ndarray) -> np.ndarray:
        """What lower points send upwards."""
        return f * self.x**branch.power if branch.power else f

    def triples(self, values: np.ndarray) -> float:
        """Sum of ``K_ij K_jk K_ki v_i v_j v_k`` over ordered triples of different rows, for v of shape (n,).

        Between sorted i < j < k the longest distance is the sum of the others, so the product of the three values is
        one of i and j times one of j and k: sums below j times sums above j.
        """
        v = values[self.order]
        choices = product(self.branches, repeat=3)
        return 6 * sum(self._triples(first, second, outer, v) for first, second, outer in choices)

    def _triples(self, first: Branch, second: Branch, outer: Branch, v: np.ndarray) -> float:
        """Sum over i < j < k with the first branch between i and j, the second between j and k."""
        weights = triple_weights(first, second, outer)
        near, far = (Branch(0, b.rate + outer.rate, (1.0,) * (b.order + outer.order - 1)) for b in (first, second))
        lower, upper = side_sums(near, self.x, v, v * self.x ** (first.power + outer.power))
        if far != near:
            upper = side_sums(far, self.x, v, v)[1]
        middle = v * self.x**second.power
        return float(sum(w * ((lower[p] * upper[q]) @ middle) for (p, q), w in np.ndenumerate(weights) if w))


def _at_zero(branches: Sequence[Branch], x: np.ndarray) -> np.ndarray:
    return np.sum([branch.coefficients[0] * x**branch.power for branch in branches], axis=0)


def _combined(coefficients: Sequence[float], states: States) -> np.ndarray:
    return np.sum([c * state for c, state in zip(coefficients, states, strict=True)], axis=0)


_FROM = 1_000  # rows; below, a tile of all pairs is as quick
_DRAWS = 16  # draws of a step: what they take fits the cache, and calls are long
_SECONDS, _SECONDS_PER_DRAW = 4e-7, 2e-9  # a row with its sorting, and a row or an order of a branch
_ALL = slice(None)


class ScanForms(QuadraticForms):
    """Exact pairs of scalar residuals and kernels that scan, see `Scan`.

    The factors of the strands are kept for all draws: 16 bytes a row and `Laplacian`, 48 a `Matern52`.
    """

    label = "exact scan"

    def __init__(self, tiles: FeatureTiles, x: np.ndarray) -> None:
        self.tiles, self.threads = tiles, tiles.threads
        self.n, self.scalar = tiles.n, tiles.dimension == 1
        self.residual = tiles.residual.double() if self.scalar else _of_one(tiles)
        branches = [branches_of(kernel) or () for kernel in tiles.kernels]
        self.scans = [Scan(branches[0], x)]
        self.scans += [Scan(own, x, self.scans[0]) for own in branches[1:]]
        self.bytes_per_draw = len(x)
        self.held_bytes = _HELD * len(x)

    @property
    def seconds(self) -> float:
        """Time of one set of targets, roughly."""
        return _SECONDS * self.n

    @property
    def seconds_per_draw(self) -> float:
        """The same for each of many sets of targets and each kernel."""
        orders = sum(branch.order for scan in self.scans for branch in scan.branches) / len(self.scans)
        return _SECONDS_PER_DRAW * self.n * (1 + orders)

    @property
    def products(self) -> Scan:
        """Sums with the first kernel."""
        return self.scans[0]

    @classmethod
    def of_line(cls, tiles: FeatureTiles) -> ScanForms | None:
        """Return the scan in the place of tiles, where it is exact and quicker."""
        predictions = tiles.predictions
        if tiles.n < _FROM or not is_numpy(predictions.reference):
            return None
        if tiles.dimension != 1 and not _is_of_one(tiles):
            return None
        x = line_of(tiles.kernels, predictions)
        return None if x is None else cls(tiles, x)

    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel for one set of targets."""
        r = self.residual.features(targets)
        return Sums(np.float64(self.scans[0].pairs(r)), np.float64(self.scans[0].diagonal @ r[:, 0] ** 2))

    def kernel_rows(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        """Values of the first kernel for some rows and columns."""
        return self.tiles.kernel_rows(rows, columns)

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels for many sets of targets."""
        self._steps  # noqa: B018  made before threads ask for it
        parts = row_slices(len(targets), _DRAWS)  # whatever the threads, so that they change no number
        found = np.concatenate(threaded_map(lambda part: self._sums(targets[part]), parts, self.threads))
        return Sums(found[..., 0], found[..., 1])

    @cached_property
    def _steps(self) -> _Steps:
        return _Steps(self.scans, self.residual)

    def _sums(self, targets: np.ndarray) -> np.ndarray:
        """Sums off and on the diagonal of some draws, shape (B, kernels, 2)."""
        steps, sums = self._steps, np.zeros((len(targets), len(self.scans), 2))
        walks = [Walk(branch, steps.strands, factors, len(targets)) for branch, factors in steps.branches]
        for j, r in enumerate(steps.residuals(targets)):
            sums[..., 1] += (r * r) @ steps.diagonals[j]
            for walk in walks:
                walk.step(j, r)
        for kernel, walk in zip(steps.owners, walks, strict=True):
            sums[:, kernel, 0] += 2 * walk.sum()
        return sums


def _is_of_one(tiles: FeatureTiles) -> bool:
    """Tell whether residuals are those of two classes whose probabilities sum to 1 but for their rounding."""
    p = tiles.predictions
    if not isinstance(tiles.residual, ClassResidual) or not isinstance(p, ClassPredictions) or p.n_classes != 2:
        return False
    table = p.table()
    return table.dtype == np.float64 and bool(np.abs(table.sum(axis=1) - 1).max(initial=0.0) <= _EVEN)


def _of_one(tiles: FeatureTiles) -> ClassResidual:
    """Residuals of the probability of the second class, whose inner products are those of both."""
    residual, p = tiles.residual, tiles.predictions
    assert isinstance(residual, ClassResidual)
    assert isinstance(p, ClassPredictions)  # for the type checker
    table = residual.label_features.table()
    step = float(np.linalg.norm(table[1] - table[0]))
    return ClassResidual(np.array([[0.0], [step]]), p.table()[:, 1:] * step, residual.weights)


class _Steps:
    """What all draws share: strands, factors of every branch and its kernel, and the rows of every step.

    Attributes
    ----------
    diagonals : numpy.ndarray of shape (steps, strands, kernels)
        Values K_ii.
    """

    def __init__(self, scans: Sequence[Scan], residual: FeatureResidual) -> None:
        self.strands = Strands(scans[0].x)
        self.owners = [kernel for kernel, scan in enumerate(scans) for _ in scan.branches]
        flat = [branch for scan in scans for branch in scan.branches]
        self.branches = [(branch, self.strands.factors(branch)) for branch in flat]
        self.places = scans[0].order[self.strands.rows]
        self.diagonals = np.stack([scan.diagonal[self.places] for scan in scans], axis=2)
        self.parts = [residual[rows] for rows in self.places]

    def residuals(self, targets: np.ndarray) -> Iterator[np.ndarray]:
        """Residuals of draws, shape (B, strands), step after step; those of rows that do not exist are 0."""
        sorted_targets = targets.take(self.places, axis=1)  # at once: a draw's targets stay in the cache meanwhile
        for j, (part, present) in enumerate(zip(self.parts, self.strands.present, strict=True)):
            r = part.scalars(sorted_targets[:, j])
            r[:, present:] = 0
            yield r
