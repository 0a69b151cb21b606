"""Sums over tiles: of residuals with features, of those known by inner products, of pairs of equal labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, on_accelerator, place_of, to_numpy
from kernelcal.kernels import (
    CrossPairs,
    Euclidean,
    Hellinger,
    Kernel,
    Points,
    Product,
    Scaled,
    Stationary,
    Sum,
    TotalVariation,
)
from kernelcal.pairs.base import QuadraticForms, Sums
from kernelcal.pairs.tiles import WIDE_FROM, BlockPoints, Tile, TileAt, Tiles, upper
from kernelcal.predictions import ClassPredictions, MultivariateNormal
from kernelcal.residuals import ClassResidual, FeatureResidual, Inner

__all__ = ["PRODUCT", "FeatureTiles", "GramTiles", "SameLabel", "lookup_cost", "seconds_of_pairs"]


PRODUCT = 1.6e-11  # seconds of a pair of rows and a residual feature in a product with many columns, for half the pairs

_BUDGET = 2**28  # bytes for the kernel matrices, which are one tile here
_LOOKUP = 5.6e-9  # seconds (measured with four kernels)
_LOOKED_UP = 64  # bytes of a row and draw
_PAIRS_AT_ONCE = 2**21


class SameLabel(QuadraticForms):
    """Sums for the Dirac kernel by the same-label trick.

    ``sum_{i != j} K_ij <r_i, r_j> = sum_{i != j} K_ij 1[y_i = y_j] - 2 sum_i G_{i, y_i} + c`` with ``G = K0 P``
    and ``c = tr(P' K0 P)``, K0 being K without its diagonal and, with case weights, times w_i w_j. G and c are
    computed once; a draw costs about n^2 / m look-ups in place of n^2 m multiplications.
    """

    label = "exact pairs of equal labels"

    def __init__(
        self, kernels: Sequence[Kernel], points: BlockPoints, diagonals: Sequence[Array], residual: ClassResidual
    ) -> None:
        self.residual, self.diagonals = residual, diagonals
        p, everything = to_numpy(residual.mean), slice(None)
        block = Tile(points, everything, everything, shared=len(kernels) > 1)
        matrices = [_weighted(_without_diagonal(kernel.evaluate(block)), residual.weights) for kernel in kernels]
        self.smoothed = [matrix @ p for matrix in matrices]
        self.constants = [float((p * g).sum()) for g in self.smoothed]
        self.values = np.stack(matrices, axis=-1).reshape(-1, len(kernels))  # a look-up finds all kernels together
        self.bytes_per_draw = _LOOKED_UP * len(p)

    def of(self, labels: np.ndarray) -> Sums:
        """Sums of one set of labels."""
        sums = self.batch(labels[None])
        return Sums(sums.off_diagonal[0, 0], sums.diagonal[0, 0])

    def batch(self, labels: np.ndarray) -> Sums:
        """Sums of many sets of labels."""
        rows = np.arange(labels.shape[1])
        norms = self.residual.squared_norms(labels)
        equal = np.stack([self._equal(row) for row in labels])
        linear = np.stack([g[rows, labels].sum(axis=1) for g in self.smoothed], axis=1)
        diagonal = np.stack([norms @ np.asarray(d, dtype=np.float64) for d in self.diagonals], axis=1)
        return Sums(2 * equal - 2 * linear + np.array(self.constants), diagonal)

    def _equal(self, labels: np.ndarray) -> np.ndarray:
        """Sum of K_ij over the pairs i < j of equal labels, for every kernel."""
        order = np.argsort(labels, kind="stable")
        grouped = labels[order]
        starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
        before = np.arange(len(labels)) - np.repeat(starts, np.diff(np.r_[starts, len(labels)]))
        total = np.zeros(self.values.shape[1])
        for part in _parts(before):
            count = before[part]
            second = np.repeat(order[part], count)
            steps = np.arange(len(second)) - np.repeat(np.cumsum(count) - count, count)
            first = order[np.repeat(np.arange(len(labels))[part] - count, count) + steps]
            found = self.values.take(first * len(labels) + second, axis=0)
            total += np.ones(len(found), dtype=found.dtype) @ found  # quicker than a sum over few columns
        return total


def matrix_bytes(kernels: int, n: int) -> int:
    """Memory of the kernel matrices while they are made: they are then there twice."""
    return 8 * n**2 * (2 * kernels + 1)


def lookup_cost(kernels: int, predictions: ClassPredictions) -> float:
    """Seconds of a draw and kernel, roughly; infinite if the matrices exceed the budget.

    The expected number of pairs i < j with equal labels is, up to n, half of |sum_i p_i|^2.
    """
    p = predictions.table()
    if matrix_bytes(kernels, len(p)) > _BUDGET:
        return math.inf
    expected = p.sum(axis=0, dtype=np.float64)
    return _LOOKUP * 0.5 * float((expected**2).sum())


def _parts(count: np.ndarray) -> list[slice]:
    """Slices of consecutive positions with a bounded number of pairs in all (or one position)."""
    ends = np.cumsum(count)
    cuts = np.searchsorted(ends, np.arange(_PAIRS_AT_ONCE, max(int(ends[-1]), 1), _PAIRS_AT_ONCE))
    bounds = np.unique(np.r_[0, cuts, len(count)])
    return [slice(int(a), int(b)) for a, b in pairwise(bounds)]


def _weighted(matrix: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    if weights is not None:
        matrix *= weights
        matrix *= weights[:, None]
    return matrix


def _without_diagonal(matrix: np.ndarray) -> np.ndarray:
    np.fill_diagonal(matrix, 0)
    return matrix


_SECONDS = 3e-11  # a multiplication, of which half the pairs take one
_LARGER = 16  # times the rows and columns of a tile that fits a processor's cache


def seconds_of_pairs(n: int, columns: int, features: int = 0) -> float:
    """Time of all pairs one by one: products, some thirty multiplications a kernel value; no features of classes."""
    return _SECONDS * float(n) ** 2 * (columns + features + (100 if features else 30))


_USUAL = 1e6  # lengthscales and factors up to here, and from its inverse on, leave float32 its range


def _rounds(kernel: Kernel) -> bool:
    """Whether values in single precision err by a few of its units of the largest value, for class probabilities.

    They do where a bounded profile falls with a distance between probabilities: a relative error e of the distance
    moves ``exp(-d / l)`` by ``e (d / l) exp(-d / l) < e / 2``.
    """
    if isinstance(kernel, Sum | Product):
        return _rounds(kernel.left) and _rounds(kernel.right)
    if isinstance(kernel, Scaled):
        return 1 / _USUAL < kernel.factor < _USUAL and _rounds(kernel.kernel)
    if not isinstance(kernel, Stationary) or not isinstance(kernel.metric, Euclidean | Hellinger | TotalVariation):
        return False
    return isinstance(kernel.lengthscale, str) or 1 / _USUAL < kernel.scale < _USUAL


class FeatureTiles(Tiles):
    """Exact pairs of residuals with features."""

    residual: FeatureResidual

    single = False

    def round_values(self) -> None:
        """Round kernel values of one set of targets to single precision where errors are bounded, and say so."""
        x = self.predictions.reference
        double = isinstance(x, np.ndarray) and x.dtype == np.float64 and isinstance(self.predictions, ClassPredictions)
        self.single = double and not self._wide and _rounds(self.kernels[0])
        if self.single:
            self.label, self.label_of_rows = f"{Tiles.label}, kernel values in single precision", Tiles.label

    @property
    def _wide(self) -> bool:
        """Whether one product gives distances and inner products of residuals."""
        return self._one_hot and self.dimension >= WIDE_FROM

    @property
    def seconds(self) -> float:
        """Time of one set of targets, roughly."""
        features = 0 if isinstance(self.predictions, ClassPredictions) else self.dimension
        return seconds_of_pairs(self.n, self.predictions.columns, features)

    @property
    def seconds_per_draw(self) -> float:
        """The same for each of many sets of targets and each kernel: a column of a product."""
        return min(self._ways)

    @property
    def planned_bytes(self) -> tuple[int, int]:
        """Memory of the matrices in which pairs of equal labels are looked up, and of a set of labels."""
        products, looking_up = self._ways
        if not looking_up < products:
            return super().planned_bytes
        return matrix_bytes(len(self.kernels), self.n), _LOOKED_UP * self.n

    @cached_property
    def _ways(self) -> tuple[float, float]:
        """Time of a draw and kernel by products, and by looking up pairs of equal labels: infinite without."""
        products = PRODUCT * float(self.n) ** 2 * self.dimension
        if isinstance(self.residual, ClassResidual) and self.residual.class_features is None:
            assert isinstance(self.predictions, ClassPredictions)  # for the type checker: others have other residuals
            return products, lookup_cost(len(self.kernels), self.predictions)
        return products, math.inf

    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel for one set of targets."""
        r = self.residual.features(targets)
        xp = namespace(r)
        diagonal = xp.sum(self._diagonals[0] * xp.sum(r * r, axis=1))
        if not isinstance(r, np.ndarray):
            return Sums(self._functional(r), diagonal)
        if self._wide:
            return Sums(self._by_gram(targets), diagonal)
        return Sums(self.by_columns(r[:, None, :], single=self.single)[0, 0], diagonal)

    @property
    def _one_hot(self) -> bool:
        residual = self.residual
        return isinstance(residual, ClassResidual) and residual.class_features is None and residual.weights is None

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels for many sets of targets."""
        if self._on_card:
            return self._resident_batch(targets)
        if self._double is not self:
            return self._double.batch(targets)
        if self._same_label is not None:
            return self._same_label.batch(targets)
        r = self.residual.batch(targets)
        norms = np.einsum("ibk,ibk->bi", r, r)
        diagonal = np.stack([norms @ np.asarray(d, dtype=norms.dtype) for d in self._diagonals], axis=1)
        return Sums(self.by_columns(r), diagonal)

    @cached_property
    def _on_card(self) -> bool:
        """Whether the predictions lie on an accelerator."""
        return on_accelerator(self.predictions.reference)

    @cached_property
    def _same_label(self) -> SameLabel | None:
        products, looking_up = self._ways
        if not looking_up < products:
            return None
        assert isinstance(self.residual, ClassResidual)  # for the type checker: others are not looked up
        return SameLabel(self.kernels, self._points, self._diagonals, self.residual)

    def by_columns(self, r: np.ndarray, *, single: bool = False) -> np.ndarray:
        """Multiply K with the residuals r of shape (n, B, r) as columns: sums of shape (B, kernels).

        In single precision distances are float64, then values and products of a tile float32; sums of tiles float64.
        """
        draws, dimension = r.shape[1:]
        flat = right = r.reshape(len(r), draws * dimension)
        if single:
            largest = float(np.abs(flat).max(initial=0)) or 1.0
            flat, right = flat * largest, (flat / largest).astype(np.float32)  # whatever the case weights

        def work(rows: slice, tiles: Iterator[TileAt]) -> np.ndarray:
            sums = np.zeros((len(self.kernels), rows.stop - rows.start, flat.shape[1]))
            for columns, tile in tiles:
                for s, kernel in enumerate(self.kernels):
                    values = upper(tile.evaluate(kernel), columns.start - rows.start)
                    sums[s] += values.astype(right.dtype, copy=False) @ right[columns]
            sums *= flat[rows]
            return sums.reshape(len(self.kernels), -1, draws, dimension).sum(axis=(1, 3)).T

        return self._rows_of_tiles(work, shared=len(self.kernels) > 1 and not single, single=single)

    def _by_gram(self, targets: np.ndarray) -> np.ndarray:
        """Many classes, Dirac: <r_i, r_j> from the squared distance, so that one matrix product serves both.

        ``<r_i, r_j> = 1[y_i = y_j] - p_i[y_j] - p_j[y_i] + p_i.p_j`` with ``2 p_i.p_j = |p_i|^2 + |p_j|^2 - d_ij^2``.
        """
        p = to_numpy(self.predictions.mean)
        halves = 0.5 * np.einsum("ij,ij->i", p, p)

        def work(rows: slice, tiles: Iterator[TileAt]) -> np.ndarray:
            total, own, y = 0.0, p[rows], targets[rows]
            for columns, tile in tiles:
                inner = tile.squared_distance(Euclidean())
                inner *= -0.5
                inner += halves[rows, None] + halves[columns]
                inner -= np.take(own, targets[columns], axis=1)
                inner -= np.take(p[columns], y, axis=1).T
                inner += y[:, None] == targets[columns]
                inner *= upper(self.kernels[0].evaluate(tile), columns.start - rows.start)
                total += float(inner.sum(dtype=np.float64))
            return np.asarray(total)

        return self._rows_of_tiles(work, shared=True)

    def _functional(self, r: Array) -> Array:
        xp, points, total = namespace(r), Points(self.predictions), 0.0 * r[0, 0]
        for rows, columns, above in self._functional_tiles():
            values = above(self.kernels[0].evaluate(CrossPairs(points, rows, columns)))
            total = total + xp.sum(r[rows, :] * (values @ r[columns, :]))
        return 2 * total

    def _resident_batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels where the predictions lie, in tiles that keep a graphics card busy."""
        rows_of = [self.residual.features(row) for row in targets]
        r = namespace(rows_of[0]).stack(rows_of, axis=1)
        xp, points, (n, draws, _) = namespace(r), Points(self.predictions), r.shape
        flat = xp.reshape(r, (n, -1))
        totals = [xp.zeros(draws, dtype=r.dtype, device=place_of(r)) for _ in self.kernels]
        for rows, columns, above in self._functional_tiles(_LARGER):
            pairs, right = CrossPairs(points, rows, columns), r[rows, ...]
            for s, kernel in enumerate(self.kernels):
                product = xp.reshape(above(kernel.evaluate(pairs)) @ flat[columns, :], right.shape)
                totals[s] = totals[s] + xp.sum(xp.sum(product * right, axis=2), axis=0)
        norms = xp.sum(r * r, axis=2)
        diagonal = [to_numpy(norms.T @ own) for own in self._diagonals]
        return Sums(2 * np.stack(list(map(to_numpy, totals)), axis=1), np.stack(diagonal, axis=1))


_EXPONENTIALS = 4e-9  # seconds of the four kernel values of a pair, and half of it a component
_FACTORISATION = 3e-7  # a pair of full covariance matrices


class GramTiles(Tiles):
    """Exact pairs of residuals without features."""

    @property
    def seconds(self) -> float:
        """Time of one set of targets, roughly."""
        pair = _EXPONENTIALS * (1 + math.prod(self.predictions.event_shape) / 2)
        full = isinstance(self.predictions, MultivariateNormal)
        return float(self.n) ** 2 * (pair + (_FACTORISATION if full else 0))

    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel for one set of targets."""
        if is_numpy(self.predictions.reference):
            inners = [self.residual.inner(targets)]
            return Sums(self._sums(inners)[0, 0], self._diagonal(inners)[0, 0])
        return self._functional(targets)

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels for many sets of targets."""
        if self._double is not self:
            return self._double.batch(targets)
        inners = [self.residual.inner(row) for row in targets]
        return Sums(self._sums(inners), self._diagonal(inners))

    def _sums(self, inners: Sequence[Inner]) -> np.ndarray:
        """Sums over i != j for every draw and kernel; kernel values and what no target changes once a tile."""

        def work(rows: slice, tiles: Iterator[TileAt]) -> np.ndarray:
            sums = np.zeros((len(inners), len(self.kernels)))
            for columns, tile in tiles:
                kernels = self._kernel_values(tile, columns.start - rows.start)
                cross = self.residual.cross(rows, columns)
                for b, inner in enumerate(inners):
                    sums[b] += kernels @ inner.block(rows, columns, cross).ravel()
            return sums

        return self._rows_of_tiles(work, shared=len(self.kernels) > 1)

    def _kernel_values(self, tile: Tile, offset: int) -> np.ndarray:
        """Values of all kernels above the diagonal, shape (kernels, pairs)."""
        values = [upper(tile.evaluate(kernel), offset).ravel().copy() for kernel in self.kernels]
        return np.stack(values)

    def _diagonal(self, inners: Sequence[Inner]) -> np.ndarray:
        norms = np.stack([inner.aligned(slice(None), slice(None)) for inner in inners])
        return np.stack([norms @ np.asarray(d, dtype=norms.dtype) for d in self._diagonals], axis=1)

    def _functional(self, targets: np.ndarray) -> Sums:
        inner, points = self.residual.inner(targets), Points(self.predictions)
        own = inner.aligned(slice(None), slice(None))
        xp, total = namespace(own), 0.0 * own[0]
        for rows, columns, above in self._functional_tiles():
            values: Array = self.kernels[0].evaluate(CrossPairs(points, rows, columns)) * inner.block(rows, columns)
            total = total + xp.sum(above(values))
        return Sums(2 * total, xp.sum(self._diagonals[0] * own))
