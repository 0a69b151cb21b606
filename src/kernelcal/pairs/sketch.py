"""Sums over rows from which sums over pairs follow: they add up over any parts of the rows."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import Array, squared_lengths
from kernelcal.kernels.base import Kernel
from kernelcal.pairs.base import Sums
from kernelcal.pairs.features import FeatureEngine
from kernelcal.pairs.totals import total_of
from kernelcal.predictions import Predictions
from kernelcal.residuals import FeatureResidual

__all__ = ["feature_sums", "features_of", "off_diagonal"]


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
