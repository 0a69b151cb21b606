"""Exact sums over all pairs, tile by tile: threaded and in place for NumPy, functional for other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import Euclidean
from kernelcal.kernels.points import AlignedPairs, CrossPairs, Points
from kernelcal.pairs.base import Engine, QuadraticForms, Sums
from kernelcal.pairs.blocks import Block, BlockPoints, Workspace
from kernelcal.pairs.same_label import SameLabel
from kernelcal.pairs.threads import threaded_map
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import MeanResidual

__all__ = ["ExactPairs"]

Tile = tuple[slice, Block]  # columns and the kernel values' pairs
_DIAGONAL_ROWS = 4096
_GRAM_FROM = 50  # classes; above, looking up p_i[y_j] is cheaper than a second matrix product


@dataclass(frozen=True)
class ExactPairs(Engine):
    """Every pair of rows, in tiles that fit the cache.

    Parameters
    ----------
    rows, columns : int, optional
        Size of a tile. The default is 128 x 512, whose 512 KiB stay in the second-level cache, and 256 x 1024
        from 50 classes, where the matrix product wants larger operands.
    threads : int, optional
        Threads over blocks of rows, for NumPy; default all processors. No number changes with the threads,
        and none beyond rounding with the tiles.

    Notes
    -----
    Cost: O(n^2 m) time and O(n m) memory for one set of labels; no n x n array is held. In a test of many classes
    the kernel matrices are held where all of them fit 256 MiB, since then a draw only looks up pairs of equal
    labels. The extra ``threads`` (threadpoolctl) holds the linear algebra
    library to one thread a worker, which matters from about 50 classes.
    """

    rows: int | None = None
    columns: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if min(self.rows or 1, self.columns or 1) < 1 or 0 in (self.rows, self.columns):
            raise InputError(f"a tile has at least one row and column, got {self.rows} x {self.columns}")

    def tile(self, classes: int) -> tuple[int, int]:
        """Rows and columns of a tile for so many classes."""
        rows, columns = (128, 512) if classes < _GRAM_FROM else (256, 1024)
        return self.rows or rows, self.columns or columns

    def prepare(
        self, kernels: Sequence[Kernel], predictions: ClassPredictions, residual: MeanResidual
    ) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        return _Tiles(self, tuple(kernels), predictions, residual)


class _Tiles(QuadraticForms):
    label = "exact pairs"

    def __init__(
        self, engine: ExactPairs, kernels: tuple[Kernel, ...], predictions: ClassPredictions, residual: MeanResidual
    ) -> None:
        self.engine, self.kernels, self.predictions, self.residual = engine, kernels, predictions, residual
        self.rows, self.columns = engine.tile(predictions.n_classes)
        self.bytes_per_draw = 16 * len(predictions) * residual.dimension

    @cached_property
    def _points(self) -> BlockPoints:
        return BlockPoints(self.predictions, self.kernels)

    @cached_property
    def _diagonals(self) -> list[Array]:
        """K_ii of every kernel, each of shape (n,)."""
        points = Points(self.predictions)
        parts = row_slices(len(self.predictions), _DIAGONAL_ROWS)
        pieces = [[kernel.evaluate(AlignedPairs(points, part, part)) for part in parts] for kernel in self.kernels]
        return [namespace(*piece).concat(piece) for piece in pieces]

    def of(self, labels: np.ndarray) -> Sums:
        r = self.residual.features(labels)
        xp = namespace(r)
        diagonal = xp.sum(self._diagonals[0] * xp.sum(r * r, axis=1))
        if not is_numpy(r):
            return Sums(self._functional(xp, r), diagonal)
        if self._plain and self.residual.dimension >= _GRAM_FROM:
            return Sums(self._by_gram(labels), diagonal)
        return Sums(self._by_columns(r[:, None, :])[0, 0], diagonal)

    @property
    def _plain(self) -> bool:
        return self.residual.class_features is None and self.residual.weights is None

    def batch(self, labels: np.ndarray) -> Sums:
        if self._double is not self:
            return self._double.batch(labels)
        if self._same_label is not None:
            return self._same_label.batch(labels)
        r = self.residual.batch(labels)
        norms = np.einsum("ibk,ibk->bi", r, r)
        diagonal = np.stack([norms @ np.asarray(d, dtype=norms.dtype) for d in self._diagonals], axis=1)
        return Sums(self._by_columns(r), diagonal)

    @cached_property
    def _double(self) -> _Tiles:
        """The same in float64: draws are ranked, and float32 would let the last digit decide between equal ones."""
        if to_numpy(self.residual.mean).dtype == np.float64:
            return self
        double = replace(self.residual, mean=to_numpy(self.residual.mean).astype(np.float64))
        predictions = self.predictions.map_arrays(lambda x: to_numpy(x).astype(np.float64))
        return _Tiles(self.engine, self.kernels, predictions, double)

    def kernel_rows(self, rows: slice) -> np.ndarray:
        """Values of the first kernel for some rows and all columns, in float64."""
        if self._double is not self:
            return self._double.kernel_rows(rows)
        return self.kernels[0].evaluate(Block(self._points, rows, slice(None), shared=False))

    @cached_property
    def _same_label(self) -> SameLabel | None:
        if not SameLabel.worthwhile(self.kernels, self.predictions, self.residual):
            return None
        return SameLabel(self.kernels, self._points, self._diagonals, self.residual)

    def _rows_of_tiles(self, work: Callable[[slice, Iterator[Tile]], np.ndarray], *, shared: bool) -> np.ndarray:
        """Sum over i != j: twice the sum, in a fixed order, of what `work` makes of each block of rows."""
        n = len(self.residual)

        def tiles(rows: slice) -> Iterator[Tile]:
            workspace = Workspace()
            for first in range(rows.start, n, self.columns):
                columns = slice(first, min(first + self.columns, n))
                yield columns, Block(self._points, rows, columns, shared=shared, workspace=workspace)

        def block_of_rows(start: int) -> np.ndarray:
            rows = slice(start, min(start + self.rows, n))
            return work(rows, tiles(rows))

        self._points  # noqa: B018  made before threads ask for it
        return 2 * np.sum(threaded_map(block_of_rows, range(0, n, self.rows), self.engine.threads), axis=0)

    def _by_columns(self, r: np.ndarray) -> np.ndarray:
        """Multiply K with the residuals r of shape (n, B, r) as columns: sums of shape (B, kernels)."""
        draws, dimension = r.shape[1:]
        flat = r.reshape(len(r), draws * dimension)

        def work(rows: slice, tiles: Iterator[Tile]) -> np.ndarray:
            sums = np.zeros((len(self.kernels), rows.stop - rows.start, flat.shape[1]))
            for columns, tile in tiles:
                for s, kernel in enumerate(self.kernels):
                    values = _upper(tile.evaluate(kernel), columns.start - rows.start)
                    sums[s] += values.astype(flat.dtype, copy=False) @ flat[columns]
            sums *= flat[rows]
            return sums.reshape(len(self.kernels), -1, draws, dimension).sum(axis=(1, 3)).T

        return self._rows_of_tiles(work, shared=len(self.kernels) > 1)

    def _by_gram(self, labels: np.ndarray) -> np.ndarray:
        """Many classes, Dirac: <r_i, r_j> from the squared distance, so that one matrix product serves both.

        ``<r_i, r_j> = 1[y_i = y_j] - p_i[y_j] - p_j[y_i] + p_i.p_j`` with ``2 p_i.p_j = |p_i|^2 + |p_j|^2 - d_ij^2``.
        """
        p = to_numpy(self.predictions.probabilities)
        halves = 0.5 * np.einsum("ij,ij->i", p, p)

        def work(rows: slice, tiles: Iterator[Tile]) -> np.ndarray:
            total, own, y = 0.0, p[rows], labels[rows]
            for columns, tile in tiles:
                inner = tile.squared_distance(Euclidean())
                inner *= -0.5
                inner += halves[rows, None] + halves[columns]
                inner -= np.take(own, labels[columns], axis=1)
                inner -= np.take(p[columns], y, axis=1).T
                inner += y[:, None] == labels[columns]
                inner *= _upper(self.kernels[0].evaluate(tile), columns.start - rows.start)
                total += float(inner.sum(dtype=np.float64))
            return np.asarray(total)

        return self._rows_of_tiles(work, shared=True)

    def _functional(self, xp: object, r: Array) -> Array:
        kernel, n, step = self.kernels[0], len(self.residual), self.rows
        points, total = Points(self.predictions), 0.0 * r[0, 0]
        width = max(1, min(self.columns, 2**23 // (step * self.predictions.n_classes)))  # differences: 64 MiB
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            for first in range(start, n, width):
                columns = slice(first, min(first + width, n))
                values = kernel.evaluate(CrossPairs(points, rows, columns))
                upper = np.triu(np.ones(values.shape, dtype=bool), 1 - (first - start))
                values = values * namespace(r).asarray(upper, dtype=values.dtype)
                total = total + namespace(r).sum(r[rows, :] * (values @ r[columns, :]))
        return 2 * total


def _upper(values: np.ndarray, offset: int) -> np.ndarray:
    """Set to zero, in place, the pairs i >= j; `offset` is first column minus first row."""
    width = len(values) - offset
    if width > 0:
        low = np.tri(len(values), min(values.shape[1], width), k=-offset, dtype=bool)
        values[:, : low.shape[1]][low] = 0
    return values
