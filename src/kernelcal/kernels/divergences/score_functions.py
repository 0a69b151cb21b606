"""Distances between score functions: by moments of the base measure, or at base points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, like, namespace, row_slices, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels.divergences.base_measures import BaseMeasure, NormalBase

__all__ = [
    "ScoreMoments",
    "gaussian_moments",
    "moments",
    "normal_coordinates",
    "psd_root",
    "scores_at",
    "weighted_moments",
]


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


_NUMBERS_AT_ONCE = 2**20  # 8 MiB of float64 are given to a score at once


def scores_at(predictions: Any, points: np.ndarray) -> Array:
    """Scores of all predictions at all base points of shape (m, d): shape (n, m, d)."""
    if not hasattr(predictions, "score"):
        raise InputError(
            f"{type(predictions).__name__} has no score, the gradient of a log density: use the metric Euclidean(), or "
            "MMD(Gaussian(lengthscale))"
        )
    shape = tuple(predictions.event_shape)
    columns = _in_library(predictions, points.reshape(len(points), 1, *shape))
    parts = []
    for part in row_slices(len(points), _NUMBERS_AT_ONCE // max(1, len(predictions) * points.shape[1])):
        given = take_rows(columns, part)
        xp = namespace(given)
        given = xp.broadcast_to(given, (given.shape[0], len(predictions), *shape))
        parts.append(_checked(predictions, given, points[part]))
    xp = namespace(*parts)
    stacked = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
    return xp.permute_dims(xp.reshape(stacked, (*stacked.shape[:2], points.shape[1])), (1, 0, 2))


def psd_root(gram: np.ndarray) -> np.ndarray:
    """L with ``L L'`` equal to a matrix up to rounding, with as many columns as it has rank; no Cholesky factor.

    The matrix of a smooth kernel at close points has no Cholesky factor in float64.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = values > len(gram) * np.finfo(gram.dtype).eps * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def _checked(predictions: Any, y: Array, points: np.ndarray) -> Array:
    """Scores at targets, refused where they are no finite numbers of the right shape."""
    scores = as_array(predictions.score(y))
    if tuple(scores.shape) != tuple(y.shape):
        raise InputError(
            f"the score of {type(predictions).__name__} must have the shape of the targets, {tuple(y.shape)}, got "
            f"{tuple(scores.shape)}"
        )
    values = concrete(scores)
    if values is not None:
        _refuse_infinite(values.reshape(*values.shape[:2], -1), points)
    return scores


def _refuse_infinite(scores: np.ndarray, points: np.ndarray) -> None:
    wrong = ~np.isfinite(scores).all(axis=-1)
    if not wrong.any():
        return
    row = int(np.flatnonzero(wrong.any(axis=0))[0])
    place = int(np.flatnonzero(wrong[:, row])[0])
    count = int(wrong.any(axis=0).sum())
    raise InputError(
        f"the score of row {row} at the base point {points[place]} is {scores[place, row]}, expected finite numbers "
        f"({count} such row{'s' * (count > 1)}): base points must lie where every prediction has a density; pass "
        "base=, an array of such points"
    )


def _in_library(predictions: Any, points: np.ndarray) -> Array:
    """Points in the library and precision of the first floating array of the predictions; NumPy where there is none."""
    found: list[Array] = []

    def note(x: Array) -> Array:
        if namespace(x).isdtype(x.dtype, "real floating"):
            found.append(x)
        return x

    predictions.map_arrays(note)
    return like(points, found[0]) if found else points
