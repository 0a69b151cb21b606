"""Sums of class residuals where the predictions lie: in their library, on their device, by large products."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import Array, like, namespace, place_of, squared_lengths
from kernelcal.residuals import ClassResidual

__all__ = ["ResidentTotal", "resident_moments"]


class ResidentTotal:
    """Running sums of features times residuals, label by label, as `pairs.totals.Total`."""

    def __init__(self, residual: ClassResidual, classes: int, draws: int, size: int) -> None:
        self.residual, self.classes = residual, classes
        xp, place = namespace(residual.mean), place_of(residual.mean)
        self.sums = [xp.zeros((draws, size), dtype=xp.float64, device=place) for _ in range(classes)]
        self.mean = xp.zeros((size, residual.dimension), dtype=xp.float64, device=place)

    def add(self, rows: slice, phi: Array, targets: np.ndarray) -> Array:
        """Add some rows, their features (rows, D) and targets (B, rows); return |r_i|^2, shape (B, rows)."""
        part, xp = self.residual[rows], namespace(phi)
        labels = _labels(targets, phi)
        weights = None if part.weights is None else like(part.weights, phi)
        weighted = phi if weights is None else phi * weights[:, None]
        table, norms = _table(part), xp.zeros(labels.shape, dtype=phi.dtype, device=place_of(phi))
        for k in range(self.classes):
            chosen = xp.astype(labels == k, phi.dtype)
            self.sums[k] = self.sums[k] + chosen @ weighted
            norms = norms + chosen * table[:, k]
        self.mean = self.mean + weighted.T @ part.mean
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


def _table(residual: ClassResidual) -> Array:
    """What of |r|^2 depends on the label: shape (n, m)."""
    if residual.class_features is None:
        return 1 - 2 * residual.mean
    features = like(residual.class_features, residual.mean)
    return squared_lengths(features) - 2 * residual.mean @ features.T


def resident_moments(phi: Array, residual: ClassResidual, p: Array, labels: np.ndarray) -> tuple[Array, Array]:
    """Observed and known second moments of ``r_i x phi_i``, each (r D, r D), as `pairs.second_moments` makes them.

    The known one is ``sum_k L_k L_k' x (sum_i p_ik phi_i phi_i') - sum_i m_i m_i' x phi_i phi_i'``, with the features
    L_k of class k and their means m_i.
    """
    xp, m, size = namespace(phi), p.shape[1], phi.shape[1]
    left = like(np.eye(m) if residual.class_features is None else residual.class_features, phi)
    observed, predicted = _outer(residual.features(labels), phi), _outer(residual.mean, phi)
    blocks = xp.stack([(phi * p[:, k][:, None]).T @ phi for k in range(m)])
    own = xp.tensordot(left[:, :, None] * left[:, None, :], blocks, axes=((0,), (0,)))
    own = xp.reshape(xp.permute_dims(own, (0, 2, 1, 3)), (residual.dimension * size,) * 2)
    return observed.T @ observed, own - predicted.T @ predicted


def _outer(r: Array, phi: Array) -> Array:
    """Rows ``r_i x phi_i``, shape (n, r D)."""
    product: Array = r[:, :, None] * phi[:, None, :]
    return namespace(phi).reshape(product, (phi.shape[0], -1))
