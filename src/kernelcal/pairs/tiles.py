"""Tiles of pairs of rows: threaded and in place for NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Self

import numpy as np

from kernelcal.arrays import Array, namespace, place_of, row_slices, to_numpy
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.points import AlignedPairs, Points
from kernelcal.pairs.base import QuadraticForms
from kernelcal.pairs.blocks import Block, BlockPoints, Workspace
from kernelcal.pairs.threads import threaded_map
from kernelcal.predictions import Predictions
from kernelcal.residuals import Residual

__all__ = ["WIDE_FROM", "Tile", "Tiles", "upper"]

Tile = tuple[slice, Block]  # columns and the kernel values' pairs
WIDE_FROM = 50  # numbers a prediction; above, a matrix product of the predictions is what costs
_DIAGONAL_ROWS = 4096
_ALL = slice(None)


class Tiles(QuadraticForms):
    """What sums over tiles share: the points, the diagonal, and a walk over the tiles above it."""

    label = "exact pairs"

    def __init__(
        self,
        shape: tuple[int, int],
        threads: int | None,
        kernels: tuple[Kernel, ...],
        predictions: Predictions,
        residual: Residual,
    ) -> None:
        self.shape, self.threads, self.kernels = shape, threads, kernels
        self.predictions, self.residual = predictions, residual
        self.bytes_per_draw = 16 * len(predictions) * residual.dimension

    @cached_property
    def _points(self) -> BlockPoints:
        return BlockPoints(self.predictions, self.kernels)

    @cached_property
    def _diagonals(self) -> list[Array]:
        """K_ii of every kernel, each of shape (n,)."""
        points = Points(self.predictions)
        pairs = [AlignedPairs(points, part, part) for part in row_slices(len(self.predictions), _DIAGONAL_ROWS)]
        pieces = [[kernel.evaluate(part) for part in pairs] for kernel in self.kernels]
        return [namespace(*piece).concat(piece) for piece in pieces]

    @cached_property
    def _double(self) -> Self:
        """The same in float64: draws are ranked, and float32 would let the last digit decide between equal ones."""
        if to_numpy(self.predictions.reference).dtype == np.float64:
            return self
        predictions = self.predictions.map_arrays(lambda x: to_numpy(x).astype(np.float64))
        return type(self)(self.shape, self.threads, self.kernels, predictions, self.residual.double())

    def kernel_rows(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        """Values of the first kernel for some rows and columns, in float64."""
        if self._double is not self:
            return self._double.kernel_rows(rows, columns)
        return self.kernels[0].evaluate(Block(self._points, rows, columns, shared=False))

    def _rows_of_tiles(self, work: Callable[[slice, Iterator[Tile]], np.ndarray], *, shared: bool) -> np.ndarray:
        """Sum over i != j: twice the sum, in a fixed order, of what `work` makes of each block of rows."""
        n = len(self.residual)

        def tiles(rows: slice) -> Iterator[Tile]:
            workspace = Workspace()
            for first in range(rows.start, n, self.shape[1]):
                columns = slice(first, min(first + self.shape[1], n))
                yield columns, Block(self._points, rows, columns, shared=shared, workspace=workspace)

        def block_of_rows(start: int) -> np.ndarray:
            rows = slice(start, min(start + self.shape[0], n))
            return work(rows, tiles(rows))

        self._points  # noqa: B018  made before threads ask for it
        return 2 * np.sum(threaded_map(block_of_rows, range(0, n, self.shape[0]), self.threads), axis=0)

    def _functional_tiles(self, larger: int = 1) -> Iterator[tuple[slice, slice, Callable[[Array], Array]]]:
        """Tiles for other libraries: rows, columns, and what sets to zero the pairs i >= j.

        The differences of a tile's pairs fit 64 MiB, or as many times that, in tiles that are as many times `larger`.
        """
        n, step, columns = len(self.residual), larger * self.shape[0], larger * self.shape[1]
        width = max(1, min(columns, larger * 2**23 // (step * self.predictions.columns)))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            for first in range(start, n, width):
                yield rows, slice(first, min(first + width, n)), partial(_above, offset=first - start)


def _above(values: Array, offset: int) -> Array:
    """Set the pairs i >= j to zero, as a pure function; `offset` is first column minus first row."""
    if offset >= values.shape[0]:
        return values
    xp = namespace(values)
    mask = np.triu(np.ones(values.shape, dtype=bool), 1 - offset)
    return xp.where(xp.asarray(mask, device=place_of(values)), values, xp.zeros_like(values))


def upper(values: np.ndarray, offset: int) -> np.ndarray:
    """Set to zero, in place, the pairs i >= j; `offset` is first column minus first row."""
    width = len(values) - offset
    if width > 0:
        low = np.tri(len(values), min(values.shape[1], width), k=-offset, dtype=bool)
        values[:, : low.shape[1]][low] = 0
    return values
