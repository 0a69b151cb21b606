"""Sums over rows of features times residuals, label by label where residuals are of classes, and of pairs from them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from kernelcal.arrays import Array, is_numpy, like, namespace, place_of, row_slices, squared_lengths, to_numpy
from kernelcal.pairs.base import Sums, threaded_map
from kernelcal.residuals import ClassResidual, FeatureResidual

__all__ = ["DENSE_UP_TO", "LabelTotal", "ResidentTotal", "Total", "off_diagonal", "row_sums", "total_of"]


DENSE_UP_TO = 24  # classes; above, adding rows label by label beats a matrix product with one-hot columns
_INDICATORS = 2**20  # of some rows in all draws: they stay in the cache, and sums of single precision are short
_RESIDUALS = 2**17  # of some rows in all draws: what they are made of stays in the cache


def off_diagonal(sums: dict[str, np.ndarray]) -> Sums:
    """``sum_{i != j} K_ij <r_i, r_j> = |S|^2 - sum_i |phi_i|^2 |r_i|^2`` of every set of targets, shape (B,)."""
    s, diagonal = sums["totals"], sums["diagonal"]
    return Sums(np.einsum("kbd,kbd->b", s, s) - diagonal, diagonal)


def row_sums(sums: dict[str, np.ndarray], total: np.ndarray) -> tuple[float, float]:
    """``sum_i s_i^2`` with ``s_i = sum_{j != i} h_ij``, and ``sum_{i != j} h_ij^2``, from S of shape (r D,)."""
    moment, squares = sums["moment"], float(sums["squares"])
    rows = float(total @ moment @ total) - 2 * float(sums["lengthened"] @ total) + squares
    return rows, float(np.einsum("ij,ij->", moment, moment)) - squares


class Total(ABC):
    """Running sums of features times residuals, by parts of the rows."""

    @abstractmethod
    def add(self, rows: slice, phi: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Add some rows, their features (rows, D) and targets (B, rows, ...); return |r_i|^2, shape (B, rows)."""

    @abstractmethod
    def value(self) -> np.ndarray:
        """Sums of shape (residual features, B, D)."""


def total_of(
    residual: FeatureResidual, usual: np.ndarray, draws: int, size: int, reference: Array
) -> Total | ResidentTotal:
    """Choose by the kind of residual, and by where the features lie, which `reference` tells."""
    if isinstance(residual, ClassResidual):
        made = LabelTotal if is_numpy(reference) else ResidentTotal
        return made(residual, usual, draws, size)
    return _DenseTotal(residual, draws, size)


class _DenseTotal(Total):
    def __init__(self, residual: FeatureResidual, draws: int, size: int) -> None:
        self.residual = residual
        self.sums = np.zeros((size, draws * residual.dimension))

    def add(self, rows: slice, phi: np.ndarray, targets: np.ndarray) -> np.ndarray:
        self.draws, norms = len(targets), np.empty((len(targets), len(phi)))
        for part in row_slices(len(phi), max(1, _RESIDUALS // (len(targets) * self.residual.dimension))):
            r = self.residual[rows][part].batch(targets[:, part])
            self.sums += phi[part].T @ r.reshape(len(r), -1).astype(phi.dtype, copy=False)
            norms[:, part] = np.einsum("nbk,nbk->bn", r, r)
        return norms

    def value(self) -> np.ndarray:
        return self.sums.reshape(len(self.sums), self.draws, -1).transpose(2, 1, 0)


class LabelTotal(Total):
    """S = sum_i phi_i w_i (psi(y_i) - mean_i), of which labels make what differs from the usual ones u_i.

    That is ``sum_i phi_i w_i (psi(y_i) - psi(u_i))``: of rows that are nearly certain the features of thousands of
    labels and those of their means would cancel but for rounding.
    """

    def __init__(self, residual: ClassResidual, usual: np.ndarray, draws: int, size: int) -> None:
        self.residual, self.usual = residual, usual
        self.sums = np.zeros((residual.label_features.number, draws, size))
        self.mean, self.known = np.zeros((size, residual.dimension)), False
        residual.mean_squares  # noqa: B018  made once, for all parts and batches of draws

    def keep(self, mean: np.ndarray | None) -> None:
        """Take the sum of features times means less usual labels from another set of labels, where it is known."""
        if mean is not None:
            self.mean, self.known = mean, True

    def add(self, rows: slice, phi: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Add some rows; return the squared lengths of their residuals."""
        if self.residual.weights is not None:
            phi = phi * self.residual.weights[rows, None].astype(phi.dtype)
        usual = self.usual[rows]
        _add_by_label(self.sums, targets, usual, phi)
        if not self.known:
            mean = to_numpy(self.residual.mean)[rows]
            for part in row_slices(len(phi), max(1, _RESIDUALS // mean.shape[1])):
                self.mean += phi[part].T @ _less_usual(self.residual, mean[part], usual[part])
        return self.residual[rows].squared_norms(targets)

    def value(self) -> np.ndarray:
        """Sums of shape (residual features, B, D)."""
        features = self.residual.class_features
        s = self.sums if features is None else np.tensordot(features.T, self.sums, 1)
        s -= self.mean.T[:, None, :]
        return s


def _less_usual(residual: ClassResidual, mean: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Means less the features of usual labels, of some rows, in double precision."""
    less, sure = mean.astype(np.float64), usual >= 0
    less[sure] -= residual.label_features.of(usual[sure])
    return less


def _add_by_label(sums: np.ndarray, labels: np.ndarray, usual: np.ndarray, phi: np.ndarray) -> None:
    """Add to sums[k, b] the features of the rows whose label in draw b is k, less those of which k is the usual one."""
    if len(sums) <= DENSE_UP_TO:
        _add_dense(sums, labels, usual, phi)
    else:
        threaded_map(lambda b: _add_sparse(sums, b, labels[b], usual, phi), range(len(labels)), None)


def _add_dense(sums: np.ndarray, labels: np.ndarray, usual: np.ndarray, phi: np.ndarray) -> None:
    rest = np.broadcast_to(phi[usual < 0].sum(axis=0, dtype=np.float64), sums.shape[1:]).copy()
    for rows in row_slices(len(phi), max(1, _INDICATORS // max(len(labels), 1))):
        own, features = np.ascontiguousarray(labels[:, rows]), phi[rows]
        for k in range(1, len(sums)):
            part = np.subtract(own == k, usual[rows] == k, dtype=phi.dtype) @ features
            sums[k] += part
            rest -= part
    sums[0] += rest


def _add_sparse(sums: np.ndarray, draw: int, labels: np.ndarray, usual: np.ndarray, phi: np.ndarray) -> None:
    from scipy import sparse  # imported when needed: it would be a third of the time to import kernelcal

    rows = np.flatnonzero(labels != usual)
    less = rows[usual[rows] >= 0]
    ones = np.repeat(np.array([1, -1], dtype=phi.dtype), [len(rows), len(less)])
    places = np.concatenate([labels[rows], usual[less]]), np.concatenate([rows, less])
    sums[:, draw] += sparse.csr_matrix((ones, places), shape=(len(sums), len(labels))) @ phi


class ResidentTotal:
    """Running sums of features times residuals, label by label, as `Total`."""

    def __init__(self, residual: ClassResidual, usual: np.ndarray, draws: int, size: int) -> None:
        self.residual, self.usual, self.classes = residual, usual, residual.label_features.number
        xp, place = namespace(residual.mean), place_of(residual.mean)
        self.sums = [xp.zeros((draws, size), dtype=xp.float64, device=place) for _ in range(self.classes)]
        self.mean = xp.zeros((size, residual.dimension), dtype=xp.float64, device=place)

    def add(self, rows: slice, phi: Array, targets: np.ndarray) -> Array:
        """Add some rows, their features (rows, D) and targets (B, rows); return |r_i|^2, shape (B, rows)."""
        part, xp = self.residual[rows], namespace(phi)
        labels, usual = _labels(targets, phi), _usual_ones(part, _labels(self.usual[rows], phi))
        weights = None if part.weights is None else like(part.weights, phi)
        weighted = phi if weights is None else phi * weights[:, None]
        table, norms = _table(part), xp.zeros(labels.shape, dtype=phi.dtype, device=place_of(phi))
        for k in range(self.classes):
            chosen = xp.astype(labels == k, phi.dtype)
            self.sums[k] = self.sums[k] + (chosen - usual[:, k]) @ weighted
            norms = norms + chosen * table[:, k]
        features = part.class_features
        expected = part.mean - (usual if features is None else usual @ like(features, usual))
        self.mean = self.mean + weighted.T @ expected
        norms = norms + squared_lengths(part.mean)
        return norms if weights is None else norms * weights**2

    def value(self) -> Array:
        """Sums of shape (residual features, B, D)."""
        xp, features = namespace(self.mean), self.residual.class_features
        sums = xp.stack(self.sums)
        if features is not None:
            left = like(features.T, self.mean)
            sums = xp.reshape(left @ xp.reshape(sums, (self.classes, -1)), (-1, *sums.shape[1:]))
        return sums - self.mean.T[:, None, :]


def _labels(targets: np.ndarray, reference: Array) -> Array:
    return namespace(reference).asarray(targets.astype(np.int64), device=place_of(reference))


def _usual_ones(residual: ClassResidual, usual: Array) -> Array:
    """Ones in the columns of usual labels, shape (n, m)."""
    xp, mean = namespace(usual), residual.mean
    classes = xp.arange(residual.label_features.number, device=place_of(mean))
    return xp.astype(usual[:, None] == classes[None, :], mean.dtype)


def _table(residual: ClassResidual) -> Array:
    """What of |r|^2 depends on the label: shape (n, m)."""
    if residual.class_features is None:
        return 1 - 2 * residual.mean
    features = like(residual.class_features, residual.mean)
    return squared_lengths(features) - 2 * residual.mean @ features.T
