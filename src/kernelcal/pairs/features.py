"""Low rank: K is replaced by Phi Phi', and sums over pairs become sums over rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace, row_slices, to_numpy
from kernelcal.kernels.base import Kernel
from kernelcal.pairs.base import Engine, QuadraticForms, Sums
from kernelcal.pairs.threads import threaded_map
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import MeanResidual

__all__ = ["FeatureEngine", "FeatureMap"]

FeatureMap = Callable[[slice], Array]  # rows -> their features of all kernels side by side, (rows, sum of D)
_KEEP_BYTES = 2**29  # features below this size are kept between batches of draws, above they are made anew
_CHUNK_BYTES = 2**26
_SINGLE_FROM = 10_000  # rows; above, features are held in float32
_DENSE_UP_TO = 24  # classes; above, adding rows label by label beats a matrix product with one-hot columns


@dataclass(frozen=True)
class FeatureEngine(Engine):
    """An engine whose kernel is the product of two feature matrices."""

    @abstractmethod
    def maps(self, kernels: Sequence[Kernel], predictions: ClassPredictions) -> tuple[FeatureMap, list[int]]:
        """Return the map from rows to features of all kernels, and the number of features of each."""

    def prepare(
        self, kernels: Sequence[Kernel], predictions: ClassPredictions, residual: MeanResidual
    ) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        features, sizes = self.maps(kernels, predictions)
        return _Features(features, sizes, predictions, residual, self.describe(predictions))

    @abstractmethod
    def describe(self, predictions: ClassPredictions) -> str:
        """Name for the result."""


class _Features(QuadraticForms):
    """With S = Phi' R: sum over i != j is |S|^2 - sum_i |phi_i|^2 |r_i|^2, for each kernel's features."""

    def __init__(
        self,
        features: FeatureMap,
        sizes: list[int],
        predictions: ClassPredictions,
        residual: MeanResidual,
        label: str,
    ) -> None:
        self.label = label
        self.features, self.predictions, self.residual = features, predictions, residual
        self.bounds = np.concatenate([[0], np.cumsum(sizes)])
        self.classes = predictions.n_classes
        self.bytes_per_draw = 24 * int(self.bounds[-1]) * self.classes
        self._kept: list[tuple[slice, np.ndarray]] | None = None

    def of(self, labels: np.ndarray) -> Sums:
        r = self.residual.features(labels)
        xp = namespace(r)
        total, diagonal = 0.0, 0.0 * r[0, 0]
        for rows in row_slices(len(self.predictions), _CHUNK_BYTES // (8 * int(self.bounds[1]) or 1)):
            phi = self.features(rows)[:, : int(self.bounds[1])]
            total = total + phi.T @ r[rows, :]
            diagonal = diagonal + xp.sum(xp.sum(phi * phi, axis=1) * xp.sum(r[rows, :] ** 2, axis=1))
        return Sums(xp.sum(total * total) - diagonal, diagonal)

    def batch(self, labels: np.ndarray) -> Sums:
        draws, kernels = len(labels), len(self.bounds) - 1
        sums = np.zeros((self.classes, draws, int(self.bounds[-1])))
        mean = np.zeros((int(self.bounds[-1]), self.residual.dimension))
        diagonal = np.zeros((draws, kernels))
        for rows, phi in self._rows_of_features():
            sizes = np.add.reduceat(phi * phi, self.bounds[:-1], axis=1)
            diagonal += self.residual[rows].squared_norms(labels[:, rows]) @ sizes
            if self.residual.weights is not None:  # S = sum_i phi_i w_i (psi(y_i) - mean_i)
                phi = phi * self.residual.weights[rows, None].astype(phi.dtype)
            _add_by_label(sums, labels[:, rows], phi)
            mean += phi.T @ to_numpy(self.residual.mean)[rows]
        return Sums(self._squares(sums, mean) - diagonal, diagonal)

    def _squares(self, sums: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """|S|^2 for every draw and kernel; S = sums over labels times class features, minus its mean."""
        features = self.residual.class_features
        s = sums if features is None else np.tensordot(features.T, sums, 1)  # residual columns, draws, features
        s -= mean.T[:, None, :]
        squares = np.einsum("kbd,kbd->bd", s, s)
        return np.add.reduceat(squares, self.bounds[:-1], axis=1)

    def kernel_rows(self, rows: slice) -> np.ndarray:
        """Products of features of the first kernel."""
        return self._first[rows] @ self._first.T

    @cached_property
    def _first(self) -> np.ndarray:
        parts = [phi[:, : int(self.bounds[1])] for _, phi in self._rows_of_features()]
        return np.concatenate(parts).astype(np.float64)

    def _rows_of_features(self) -> Any:
        size = int(self.bounds[-1])
        if self._kept is not None:
            return self._kept
        n = len(self.predictions)
        dtype = np.float32 if n > _SINGLE_FROM else None  # the kernel is approximate, the level exact with any
        parts = row_slices(n, _CHUNK_BYTES // (8 * size or 1))
        made = ((rows, np.asarray(to_numpy(self.features(rows)), dtype=dtype)) for rows in parts)
        if 4 * size * n > _KEEP_BYTES:
            return made
        self._kept = list(made)
        return self._kept


def _add_by_label(sums: np.ndarray, labels: np.ndarray, phi: np.ndarray) -> None:
    """Add to sums[k, b] the features of the rows whose label in draw b is k."""
    if len(sums) <= _DENSE_UP_TO:
        _add_dense(sums, labels, phi)
    else:
        threaded_map(lambda b: _add_sparse(sums, b, labels[b], phi), range(len(labels)), None)


def _add_dense(sums: np.ndarray, labels: np.ndarray, phi: np.ndarray) -> None:
    rest = np.broadcast_to(phi.sum(axis=0, dtype=np.float64), sums.shape[1:]).copy()
    for k in range(1, len(sums)):
        part = (labels == k).astype(phi.dtype) @ phi
        sums[k] += part
        rest -= part
    sums[0] += rest


def _add_sparse(sums: np.ndarray, draw: int, labels: np.ndarray, phi: np.ndarray) -> None:
    from scipy import sparse  # imported when needed: it would be a third of the time to import kernelcal

    ones, rows = np.ones(len(labels), dtype=phi.dtype), np.arange(len(labels))
    sums[:, draw] += sparse.csr_matrix((ones, (labels, rows)), shape=(len(sums), len(rows))) @ phi
