"""Exact sums over all pairs, tile by tile: threaded and in place for NumPy, functional for other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.points import AlignedPairs, CrossPairs, Points
from kernelcal.pairs.base import Engine, QuadraticForms, Sums
from kernelcal.pairs.blocks import Block, BlockPoints
from kernelcal.pairs.threads import threaded_map
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import MeanResidual

__all__ = ["ExactPairs"]


@dataclass(frozen=True)
class ExactPairs(Engine):
    """Every pair of rows, in tiles that fit the cache; no n x n array is ever held.

    Parameters
    ----------
    rows, columns : int
        Size of a tile. The defaults keep a float64 tile in the second-level cache (512 KiB).
    threads : int, optional
        Threads over blocks of rows, for NumPy; default all processors. No number changes with the threads,
        and none beyond rounding with the tiles.

    Notes
    -----
    Cost: O(n^2 m) time, O(n m) memory. The extra ``threads`` (threadpoolctl) holds the linear algebra
    library to one thread a worker, which matters from about 50 classes.
    """

    rows: int = 128
    columns: int = 512
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise InputError(f"a tile has at least one row and column, got {self.rows} x {self.columns}")

    @property
    def label(self) -> str:
        """Name for the result."""
        return "exact pairs"

    def prepare(
        self, kernels: Sequence[Kernel], predictions: ClassPredictions, residual: MeanResidual
    ) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        return _Tiles(self, tuple(kernels), predictions, residual)


class _Tiles(QuadraticForms):
    def __init__(
        self, engine: ExactPairs, kernels: tuple[Kernel, ...], predictions: ClassPredictions, residual: MeanResidual
    ) -> None:
        self.engine, self.kernels, self.predictions, self.residual = engine, kernels, predictions, residual
        self.bytes_per_draw = 16 * len(predictions) * residual.dimension

    @cached_property
    def _points(self) -> BlockPoints:
        return BlockPoints(self.predictions, self.kernels)

    @cached_property
    def _diagonals(self) -> Array:
        """K_ii of every kernel, shape (kernels, n)."""
        everything = slice(None)
        pairs = AlignedPairs(Points(self.predictions), everything, everything)
        return [kernel.evaluate(pairs) for kernel in self.kernels]

    def of(self, labels: np.ndarray) -> Sums:
        r = self.residual.features(labels)
        xp = namespace(r)
        diagonal = xp.sum(self._diagonals[0] * xp.sum(r * r, axis=1))
        if is_numpy(r):
            return Sums(self._tiled(r[:, None, :])[0, 0], diagonal)
        return Sums(self._functional(xp, r), diagonal)

    def batch(self, labels: np.ndarray) -> Sums:
        r = self.residual.batch(labels)
        norms = np.einsum("ibk,ibk->bi", r, r)
        diagonal = np.stack([norms @ np.asarray(d, dtype=norms.dtype) for d in self._diagonals], axis=1)
        return Sums(self._tiled(r), diagonal)

    def _tiled(self, r: np.ndarray) -> np.ndarray:
        """Sum over i != j for r of shape (n, B, r): shape (B, kernels)."""
        n, draws, dimension = r.shape
        points, flat = self._points, r.reshape(n, draws * dimension)
        shared = len(self.kernels) > 1

        def block_of_rows(start: int) -> np.ndarray:
            rows = slice(start, min(start + self.engine.rows, n))
            sums = np.zeros((len(self.kernels), rows.stop - start, flat.shape[1]))
            for first in range(start, n, self.engine.columns):
                columns = slice(first, min(first + self.engine.columns, n))
                tile = Block(points, rows, columns, shared=shared)
                for s, kernel in enumerate(self.kernels):
                    values = kernel.evaluate(tile)
                    _keep_upper(values, first - start)
                    sums[s] += values.astype(flat.dtype, copy=False) @ flat[columns]
            sums *= flat[rows]
            return sums.reshape(len(self.kernels), -1, draws, dimension).sum(axis=(1, 3)).T

        starts = range(0, n, self.engine.rows)
        partial = threaded_map(block_of_rows, starts, self.engine.threads)
        return 2 * np.sum(partial, axis=0)

    def _functional(self, xp: object, r: Array) -> Array:
        kernel, n, step = self.kernels[0], len(self.residual), self.engine.rows
        points, total = Points(self.predictions), 0.0 * r[0, 0]
        width = max(1, min(self.engine.columns, 2**23 // (step * self.predictions.n_classes)))  # differences: 64 MiB
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            for first in range(start, n, width):
                columns = slice(first, min(first + width, n))
                values = kernel.evaluate(CrossPairs(points, rows, columns))
                upper = np.triu(np.ones(values.shape, dtype=bool), 1 - (first - start))
                values = values * namespace(r).asarray(upper, dtype=values.dtype)
                total = total + namespace(r).sum(r[rows, :] * (values @ r[columns, :]))
        return 2 * total


def _keep_upper(values: np.ndarray, offset: int) -> None:
    """Set to zero, in place, the pairs i >= j; `offset` is first column minus first row."""
    width = len(values) - offset
    if width > 0:
        low = np.tri(len(values), min(values.shape[1], width), k=-offset, dtype=bool)
        values[:, : low.shape[1]][low] = 0
