"""Distances between scores of normal distributions, which are affine: all that counts of a base measure is moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.kernels.metrics.base_measure import BaseMeasure, NormalBase

__all__ = ["ScoreMoments", "gaussian_moments", "moments", "normal_coordinates", "weighted_moments"]


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    """Weight c, centre m and spread S: the squared distance of ``A x + b`` from 0 is ``c (|A m + b|^2 + tr A S A')``.

    Attributes
    ----------
    weight : float
        c.
    centre : array of shape (d,)
        m.
    spread : array of shape (d,) or (d, d)
        Diagonal of S, or S.
    """

    weight: float
    centre: np.ndarray
    spread: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        """Diagonal of S, shape (d,)."""
        return self.spread if self.spread.ndim == 1 else np.diag(self.spread)

    @property
    def root(self) -> np.ndarray:
        """R with ``R R' = S``, shape (d, d)."""
        if self.spread.ndim == 1:
            return np.diag(np.sqrt(self.spread))
        values, vectors = np.linalg.eigh(self.spread)
        return vectors * np.sqrt(np.maximum(values, 0.0))  # S is a sum of squares: below 0 is rounding


def moments(base: BaseMeasure) -> ScoreMoments:
    """Moments without a ground kernel: mean and covariance of the base measure."""
    if isinstance(base, NormalBase):
        factor = base.factor
        return ScoreMoments(1.0, base.mean, factor**2 if factor.ndim == 1 else factor @ factor.T)
    points = base.points(0, 0)
    away = points - points.mean(axis=0)
    return ScoreMoments(1.0, points.mean(axis=0), away.T @ away / len(points))


def gaussian_moments(base: NormalBase, lengthscale: float) -> ScoreMoments:
    """Moments of a normal base measure ``N(m, C)`` under the ground kernel ``exp(-|x - x'|^2 / (2 l^2))``.

    ``c = det(I + 2 C / l^2)^(-1/2)`` and ``S = C^2 (l^2 I + 2 C)^-1``: the kernel makes x and x' neighbours, so they
    vary together.
    """
    if base.factor.ndim == 1:
        variances, vectors = base.factor**2, None
    else:
        variances, vectors = np.linalg.eigh(base.factor @ base.factor.T)
    weight = math.exp(-0.5 * float(np.log1p(2 * variances / lengthscale**2).sum()))
    spread = variances**2 / (lengthscale**2 + 2 * variances)
    return ScoreMoments(weight, base.mean, spread if vectors is None else (vectors * spread) @ vectors.T)


def weighted_moments(points: np.ndarray, gram: np.ndarray) -> ScoreMoments:
    """Moments of equal weights at m points under a ground kernel with values in a matrix of shape (m, m)."""
    total = float(gram.sum())
    centre = gram.sum(axis=0) @ points / total
    away = points - centre
    return ScoreMoments(total / len(points) ** 2, centre, away.T @ gram @ away / total)


def normal_coordinates(predictions: Any, seen: ScoreMoments) -> Array:
    """Coordinates ``sqrt(c) (P R, P (m - mu))`` of normal predictions with precision P and mean mu, shape (n, k)."""
    xp, dtype = namespace(predictions.mean), predictions.mean.dtype
    if not seen.weight > 1e6 * float(xp.finfo(dtype).smallest_normal):
        raise InputError(
            f"the ground kernel is {seen.weight:.3g} on average over pairs of base points, too little to see "
            "differences: use a larger lengthscale, such as kernelcal.kernels.ground_lengthscale(predictions)"
        )
    return math.sqrt(seen.weight) * predictions.affine_score(seen)
