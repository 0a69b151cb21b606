"""Sums over tiles where residuals have no features: their inner products are computed pair by pair."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace
from kernelcal.kernels.points import CrossPairs, Points
from kernelcal.pairs.base import Sums
from kernelcal.pairs.blocks import Block
from kernelcal.pairs.tiles import Tile, Tiles, upper
from kernelcal.predictions import MultivariateNormal

__all__ = ["GramTiles"]

_EXPONENTIALS = 4e-9  # seconds of the four kernel values of a pair, and half of it a component
_FACTORISATION = 3e-7  # a pair of full covariance matrices


class GramTiles(Tiles):
    """Exact pairs of residuals without features."""

    @property
    def seconds(self) -> float:
        """Time of one set of targets, roughly."""
        pair = _EXPONENTIALS * (1 + math.prod(self.predictions.event_shape) / 2)
        full = isinstance(self.predictions, MultivariateNormal)
        return float(len(self.residual)) ** 2 * (pair + (_FACTORISATION if full else 0))

    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel for one set of targets."""
        if is_numpy(self.predictions.reference):
            return Sums(self._sums(targets[None])[0, 0], self._diagonal(targets[None])[0, 0])
        return self._functional(targets)

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels for many sets of targets."""
        if self._double is not self:
            return self._double.batch(targets)
        return Sums(self._sums(targets), self._diagonal(targets))

    def _sums(self, targets: np.ndarray) -> np.ndarray:
        """Sums over i != j for every draw and kernel; kernel values and what no target changes once a tile."""
        inners = [self.residual.inner(row) for row in targets]

        def work(rows: slice, tiles: Iterator[Tile]) -> np.ndarray:
            sums = np.zeros((len(inners), len(self.kernels)))
            for columns, tile in tiles:
                kernels = self._kernel_values(tile, columns.start - rows.start)
                cross = self.residual.cross(rows, columns)
                for b, inner in enumerate(inners):
                    sums[b] += kernels @ inner.block(rows, columns, cross).ravel()
            return sums

        return self._rows_of_tiles(work, shared=len(self.kernels) > 1)

    def _kernel_values(self, tile: Block, offset: int) -> np.ndarray:
        """Values of all kernels above the diagonal, shape (kernels, pairs)."""
        values = [upper(tile.evaluate(kernel), offset).ravel().copy() for kernel in self.kernels]
        return np.stack(values)

    def _diagonal(self, targets: np.ndarray) -> np.ndarray:
        norms = np.stack([self.residual.inner(row).aligned(slice(None), slice(None)) for row in targets])
        return np.stack([norms @ np.asarray(d, dtype=norms.dtype) for d in self._diagonals], axis=1)

    def _functional(self, targets: np.ndarray) -> Sums:
        inner, points = self.residual.inner(targets), Points(self.predictions)
        own = inner.aligned(slice(None), slice(None))
        xp, total = namespace(own), 0.0 * own[0]
        for rows, columns, above in self._functional_tiles():
            values: Array = self.kernels[0].evaluate(CrossPairs(points, rows, columns)) * inner.block(rows, columns)
            total = total + xp.sum(above(values))
        return Sums(2 * total, xp.sum(self._diagonals[0] * own))
