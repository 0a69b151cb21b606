"""Sums S = Phi' R over rows for many sets of targets: label by label, or as a matrix product."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from kernelcal.arrays import Array, is_numpy, to_numpy
from kernelcal.pairs.resident import ResidentTotal
from kernelcal.pairs.threads import threaded_map
from kernelcal.residuals import ClassResidual, FeatureResidual

__all__ = ["Total", "total_of"]

_DENSE_UP_TO = 24  # classes; above, adding rows label by label beats a matrix product with one-hot columns


class Total(ABC):
    """Running sums of features times residuals, by parts of the rows."""

    @abstractmethod
    def add(self, rows: slice, phi: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Add some rows, their features (rows, D) and targets (B, rows, ...); return |r_i|^2, shape (B, rows)."""

    @abstractmethod
    def value(self) -> np.ndarray:
        """Sums of shape (residual features, B, D)."""


def total_of(residual: FeatureResidual, columns: int, draws: int, size: int, reference: Array) -> Total | ResidentTotal:
    """Choose by the kind of residual, and by where the features lie, which `reference` tells."""
    if isinstance(residual, ClassResidual):
        made = _LabelTotal if is_numpy(reference) else ResidentTotal
        return made(residual, columns, draws, size)
    return _DenseTotal(residual, draws, size)


class _DenseTotal(Total):
    def __init__(self, residual: FeatureResidual, draws: int, size: int) -> None:
        self.residual = residual
        self.sums = np.zeros((size, draws * residual.dimension))

    def add(self, rows: slice, phi: np.ndarray, targets: np.ndarray) -> np.ndarray:
        r = self.residual[rows].batch(targets)
        self.draws = r.shape[1]
        self.sums += phi.T @ r.reshape(len(r), -1).astype(phi.dtype, copy=False)
        return np.einsum("nbk,nbk->bn", r, r)

    def value(self) -> np.ndarray:
        return self.sums.reshape(len(self.sums), self.draws, -1).transpose(2, 1, 0)


class _LabelTotal(Total):
    """S = sum_i phi_i w_i (psi(y_i) - mean_i): the first part needs only which rows have which label."""

    def __init__(self, residual: ClassResidual, classes: int, draws: int, size: int) -> None:
        self.residual = residual
        self.sums = np.zeros((classes, draws, size))
        self.mean = np.zeros((size, residual.dimension))

    def add(self, rows: slice, phi: np.ndarray, targets: np.ndarray) -> np.ndarray:
        if self.residual.weights is not None:
            phi = phi * self.residual.weights[rows, None].astype(phi.dtype)
        _add_by_label(self.sums, targets, phi)
        self.mean += phi.T @ to_numpy(self.residual.mean)[rows]
        return self.residual[rows].squared_norms(targets)

    def value(self) -> np.ndarray:
        features = self.residual.class_features
        s = self.sums if features is None else np.tensordot(features.T, self.sums, 1)
        s -= self.mean.T[:, None, :]
        return s


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
