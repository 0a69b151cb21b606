"""Sums over rows from which sums over pairs and second moments follow: they add up over any parts of the rows."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, squared_lengths
from kernelcal.kernels import Kernel
from kernelcal.pairs.base import Sums
from kernelcal.pairs.features import FeatureEngine, resident_moments, total_of
from kernelcal.predictions import Predictions
from kernelcal.residuals import ClassResidual, FeatureResidual

__all__ = ["feature_sums", "features_of", "off_diagonal", "row_sums", "second_moments"]


def features_of(engine: FeatureEngine, kernel: Kernel, predictions: Predictions) -> Array:
    """Features of one kernel, shape (n, D); of random Fourier features those of a row depend on the row alone."""
    features, _ = engine.maps([kernel], predictions)
    return features(slice(None))


def feature_sums(phi: Array, residual: FeatureResidual, columns: int, targets: np.ndarray) -> dict[str, Array]:
    """``S = sum_i r_i x phi_i`` and ``sum_i |phi_i|^2 |r_i|^2`` for many sets of targets.

    Parameters
    ----------
    phi : array of shape (n, D)
        Features of the predictions; the sums are made in their library and on their device.
    residual : FeatureResidual
        Residuals of the same rows.
    columns : int
        Classes, for residuals of classes.
    targets : numpy.ndarray of shape (B, n, ...)
        Sets of targets.

    Returns
    -------
    dict
        ``totals`` of shape (r, B, D) and ``diagonal`` of shape (B,).
    """
    total = total_of(residual, columns, len(targets), phi.shape[1], phi)
    diagonal = total.add(slice(None), phi, targets) @ squared_lengths(phi)
    return {"totals": total.value(), "diagonal": diagonal}


def off_diagonal(sums: dict[str, np.ndarray]) -> Sums:
    """``sum_{i != j} K_ij <r_i, r_j> = |S|^2 - sum_i |phi_i|^2 |r_i|^2`` of every set of targets, shape (B,)."""
    s, diagonal = sums["totals"], sums["diagonal"]
    return Sums(np.einsum("kbd,kbd->b", s, s) - diagonal, diagonal)


def second_moments(phi: Array, residual: ClassResidual, probabilities: Array, labels: np.ndarray) -> dict[str, Array]:
    """Sums over rows of ``z_i = r_i x phi_i`` of second order, with ``h_ii = |z_i|^2``.

    Parameters
    ----------
    phi : array of shape (n, D)
        Features; the sums are made in their library and on their device.
    residual : ClassResidual
        Residuals of the same rows.
    probabilities : array of shape (n, m)
        Of every class.
    labels : numpy.ndarray of shape (n,)
        Observed.

    Returns
    -------
    dict
        ``moment = sum z_i z_i'`` and ``covariance = sum V_i x phi_i phi_i'``, the known covariance of ``sum z_i``,
        both of shape (r D, r D) with residual features r; ``lengthened = sum h_ii z_i`` and ``squares = sum h_ii^2``;
        ``features = sum phi_i``, shape (D,), ``means = sum E psi x phi_i``, (r D,), and ``lengths = sum |E psi|^2``.

    Notes
    -----
    Cost: O(n (m D)^2) for both matrices together, since ``sum p_i p_i' x phi_i phi_i'`` is part of both; O(n D^2) for
    residuals of one feature.
    """
    r = residual.features(labels)
    own = squared_lengths(phi) * squared_lengths(r)
    hosted = _of_one if residual.dimension == 1 else _of_classes
    moments = hosted if is_numpy(phi) else resident_moments
    moment, covariance = moments(phi, residual, probabilities, labels)
    lengthened = namespace(phi).reshape((r * own[:, None]).T @ phi, (-1,))
    return {
        "moment": moment,
        "covariance": covariance,
        "lengthened": lengthened,
        "squares": own @ own,
        "features": namespace(phi).sum(phi, axis=0),
        "means": namespace(phi).reshape(residual.mean.T @ phi, (-1,)),
        "lengths": namespace(phi).sum(squared_lengths(residual.mean)),
    }


def row_sums(sums: dict[str, np.ndarray], total: np.ndarray) -> tuple[float, float]:
    """``sum_i s_i^2`` with ``s_i = sum_{j != i} h_ij``, and ``sum_{i != j} h_ij^2``, from S of shape (r D,)."""
    moment, squares = sums["moment"], float(sums["squares"])
    rows = float(total @ moment @ total) - 2 * float(sums["lengthened"] @ total) + squares
    return rows, float(np.einsum("ij,ij->", moment, moment)) - squares


def _of_one(
    phi: np.ndarray, residual: ClassResidual, p: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both matrices for residuals of one feature, whose variance is a number."""
    left = residual.label_features.table()
    variance = p @ left[:, 0] ** 2 - (p @ left[:, 0]) ** 2
    observed = phi * residual.features(labels)
    expected = phi * np.sqrt(np.maximum(variance, 0))[:, None]
    return observed.T @ observed, expected.T @ expected


def _of_classes(
    phi: np.ndarray, residual: ClassResidual, p: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both matrices from ``sum p p' x phi phi'``, ``sum e_y p' x phi phi'``, and blocks of the classes."""
    (n, m), size = p.shape, phi.shape[1]
    z = (p[:, :, None] * phi[:, None, :]).reshape(n, m * size)
    product = z.T @ z
    moment, covariance = product.copy(), -product
    for k in range(m):
        block, rows = slice(k * size, (k + 1) * size), np.flatnonzero(labels == k)
        own, expected = phi[rows], phi * np.sqrt(p[:, k, None])
        cross = own.T @ z[rows]
        moment[block] -= cross
        moment[:, block] -= cross.T
        moment[block, block] += own.T @ own
        covariance[block, block] += expected.T @ expected
    return _seen(moment, residual, size), _seen(covariance, residual, size)


def _seen(matrix: np.ndarray, residual: ClassResidual, size: int) -> np.ndarray:
    """From classes to residual features: L' on both sides."""
    left = residual.class_features
    if left is None:
        return matrix
    half = np.tensordot(left.T, matrix.reshape(len(left), -1), 1).reshape(-1, len(left), size)
    whole = np.einsum("ild,ls->isd", half, left)
    return whole.reshape(left.shape[1] * size, -1)
