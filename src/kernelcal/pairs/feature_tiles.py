"""Sums over tiles where residuals have features: the kernel values are multiplied with them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, on_accelerator, place_of, to_numpy
from kernelcal.kernels.metrics import Euclidean
from kernelcal.kernels.points import CrossPairs, Points
from kernelcal.pairs.base import Sums
from kernelcal.pairs.same_label import PRODUCT, SameLabel, lookup_cost
from kernelcal.pairs.tiles import WIDE_FROM, Tile, Tiles, upper
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import ClassResidual, FeatureResidual

__all__ = ["FeatureTiles"]

_SECONDS = 3e-11  # a multiplication, of which half the pairs take one
_LARGER = 16  # times the rows and columns of a tile that fits a processor's cache


class FeatureTiles(Tiles):
    """Exact pairs of residuals with features."""

    residual: FeatureResidual

    @property
    def seconds(self) -> float:
        """Time of one set of targets, roughly: products, and some thirty multiplications a kernel value."""
        features = 0 if isinstance(self.predictions, ClassPredictions) else self.residual.dimension
        own = self.predictions.columns + features + (100 if features else 30)
        return _SECONDS * float(len(self.residual)) ** 2 * own

    @property
    def seconds_per_draw(self) -> float:
        """The same for each of many sets of targets and each kernel: a column of a product."""
        pairs = PRODUCT * float(len(self.residual)) ** 2 * self.residual.dimension
        if isinstance(self.residual, ClassResidual) and self.residual.class_features is None:
            assert isinstance(self.predictions, ClassPredictions)  # for the type checker: others have other residuals
            return min(pairs, lookup_cost(len(self.kernels), self.predictions))
        return pairs

    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel for one set of targets."""
        r = self.residual.features(targets)
        xp = namespace(r)
        diagonal = xp.sum(self._diagonals[0] * xp.sum(r * r, axis=1))
        if not is_numpy(r):
            return Sums(self._functional(r), diagonal)
        if self._one_hot and self.residual.dimension >= WIDE_FROM:
            return Sums(self._by_gram(targets), diagonal)
        return Sums(self.by_columns(r[:, None, :])[0, 0], diagonal)

    @property
    def _one_hot(self) -> bool:
        residual = self.residual
        return isinstance(residual, ClassResidual) and residual.class_features is None and residual.weights is None

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels for many sets of targets."""
        if on_accelerator(self.predictions.reference):
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
    def _same_label(self) -> SameLabel | None:
        predictions, residual = self.predictions, self.residual
        if not isinstance(residual, ClassResidual) or not isinstance(predictions, ClassPredictions):
            return None
        if not SameLabel.worthwhile(self.kernels, predictions, residual):
            return None
        return SameLabel(self.kernels, self._points, self._diagonals, residual)

    def by_columns(self, r: np.ndarray) -> np.ndarray:
        """Multiply K with the residuals r of shape (n, B, r) as columns: sums of shape (B, kernels)."""
        draws, dimension = r.shape[1:]
        flat = r.reshape(len(r), draws * dimension)

        def work(rows: slice, tiles: Iterator[Tile]) -> np.ndarray:
            sums = np.zeros((len(self.kernels), rows.stop - rows.start, flat.shape[1]))
            for columns, tile in tiles:
                for s, kernel in enumerate(self.kernels):
                    values = upper(tile.evaluate(kernel), columns.start - rows.start)
                    sums[s] += values.astype(flat.dtype, copy=False) @ flat[columns]
            sums *= flat[rows]
            return sums.reshape(len(self.kernels), -1, draws, dimension).sum(axis=(1, 3)).T

        return self._rows_of_tiles(work, shared=len(self.kernels) > 1)

    def _by_gram(self, targets: np.ndarray) -> np.ndarray:
        """Many classes, Dirac: <r_i, r_j> from the squared distance, so that one matrix product serves both.

        ``<r_i, r_j> = 1[y_i = y_j] - p_i[y_j] - p_j[y_i] + p_i.p_j`` with ``2 p_i.p_j = |p_i|^2 + |p_j|^2 - d_ij^2``.
        """
        p = to_numpy(self.predictions.mean)
        halves = 0.5 * np.einsum("ij,ij->i", p, p)

        def work(rows: slice, tiles: Iterator[Tile]) -> np.ndarray:
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
