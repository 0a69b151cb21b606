"""Distances between score functions: the base measures where they look, their moments, and values at base points."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, like, namespace, row_slices, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import MultivariateNormal, Predictions, RealPredictions
from kernelcal.randomness import generator_of

__all__ = [
    "BaseMeasure",
    "NormalBase",
    "PointBase",
    "ScoreMoments",
    "affine_coordinates",
    "checked_base",
    "fixed_base",
    "gaussian_moments",
    "moments",
    "normal_coordinates",
    "psd_root",
    "scores_at",
    "weighted_moments",
]


class BaseMeasure(ABC):
    """A base measure on vectors of d numbers; base measures are equal, and of equal hash, where their arrays are."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of numbers d."""

    @abstractmethod
    def points(self, size: int, rng: int) -> np.ndarray:
        """Seeded draws, shape (size, d), or the points that it consists of."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseMeasure) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return type(self), tuple((x.shape, x.tobytes()) for x in vars(self).values())


@dataclass(frozen=True, eq=False, repr=False)
class NormalBase(BaseMeasure):
    """Normal base measure.

    Parameters
    ----------
    mean : array of shape (d,)
        Mean.
    factor : array of shape (d,) or (d, d)
        Standard deviations of independent components, or a lower Cholesky factor of the covariance.
    """

    mean: np.ndarray
    factor: np.ndarray

    @property
    def dimension(self) -> int:
        """Number of numbers d."""
        return len(self.mean)

    def points(self, size: int, rng: int) -> np.ndarray:
        """Seeded draws, shape (size, d)."""
        z = generator_of(rng, "points of a base measure").standard_normal((size, self.dimension))
        return self.mean + (z * self.factor if self.factor.ndim == 1 else z @ self.factor.T)

    def __repr__(self) -> str:
        if self.factor.ndim == 1:
            return f"normal(mean {_short(self.mean)}, std {_short(self.factor)})"
        std = np.sqrt((self.factor**2).sum(axis=1))
        return f"normal(mean {_short(self.mean)}, std {_short(std)}, correlated)"


@dataclass(frozen=True, eq=False, repr=False)
class PointBase(BaseMeasure):
    """Base measure of equal weights at some points.

    Parameters
    ----------
    values : array of shape (m, d)
        The points.
    """

    values: np.ndarray

    @property
    def dimension(self) -> int:
        """Number of numbers d."""
        return int(self.values.shape[1])

    def points(self, size: int, rng: int) -> np.ndarray:
        """All points, shape (m, d), whatever size is asked for."""
        return self.values

    def __repr__(self) -> str:
        m, d = self.values.shape
        return f"{m} point{'s' * (m > 1)} of {d} number{'s' * (d > 1)}"


def _short(x: np.ndarray) -> str:
    shown = [f"{value:.4g}" for value in x]
    return f"[{', '.join(shown if len(shown) <= 4 else [*shown[:2], '...', *shown[-2:]])}]"


_WAYS = (
    "'predictions' (normal, with the moments of the predictions), 'standard' (standard normal), a batch of one row, or "
    "an array of base points of shape (m, d)"
)


def checked_base(base: Any, size: int, rng: int) -> str | BaseMeasure:
    """Return a base measure as a word or as one that is hashable, from all that a user may give."""
    for name, value, least in (("size", size, 1), ("rng", rng, 0)):
        if not isinstance(value, int | np.integer) or value < least:
            kind = "positive whole number" if least else "whole number, so that every pair sees the same draws"
            raise InputError(f"{name} must be a {kind}, got {value!r}")
    if isinstance(base, BaseMeasure) or (isinstance(base, str) and base in ("predictions", "standard")):
        return base
    if isinstance(base, Predictions):
        return _of_row(base, size, rng)
    if isinstance(base, str) or base is None:
        raise InputError(f"base must be {_WAYS}, got {base!r}")
    return PointBase(_checked_points(base))


def fixed_base(base: str | BaseMeasure, predictions: Any) -> BaseMeasure:
    """Base measure for predictions: words become numbers, and dimensions must agree."""
    if not isinstance(predictions, RealPredictions):
        raise InputError(
            f"scores are gradients of densities of numbers, and {type(predictions).__name__} predicts none: use the "
            "metric Euclidean()"
        )
    if base == "predictions":
        return _moments(predictions)
    d = int(predictions.dimension)
    if isinstance(base, str):
        return NormalBase(np.zeros(d), np.ones(d))
    if base.dimension != d:
        raise InputError(
            f"the base measure has d = {base.dimension} ({base!r}), the predictions d = {d}: base must be {_WAYS}, "
            f"of vectors of {d}"
        )
    return base


def _moments(predictions: RealPredictions) -> NormalBase:
    """Normal with the mean and the standard deviations of an outcome of a row drawn at random."""
    if not predictions.described:
        raise InputError(
            f"{type(predictions).__name__} has no means and standard deviations that could choose the base measure: "
            "pass base='standard', a batch of one row such as the prior, or an array of base points of shape (m, d)"
        )
    mean, std = (concrete(as_array(x)) for x in (predictions.centre, predictions.width))
    if mean is None or std is None:
        raise InputError("base='predictions' needs values, which jax.jit does not have: pass base='standard'")
    shape = (len(predictions), predictions.dimension)
    mean, std = (np.asarray(x, dtype=np.float64).reshape(shape) for x in (mean, std))
    return NormalBase(mean.mean(axis=0), np.sqrt(mean.var(axis=0) + (std**2).mean(axis=0)))


def _of_row(batch: Any, size: int, rng: int) -> BaseMeasure:
    """Base measure that is a prediction: a normal stays one, others give draws."""
    if not isinstance(batch, RealPredictions):
        raise InputError(f"base must be {_WAYS}; {type(batch).__name__} predicts classes")
    if len(batch) != 1:
        raise InputError(
            f"base must be one distribution, a batch of one row, got {len(batch)} rows: pass batch[:1], or an array of "
            "base points of shape (m, d)"
        )
    if not batch.score_is_affine:
        drawn = batch.sample(generator_of(rng, "points of a base measure"), size)
        return PointBase(drawn.reshape(size, batch.dimension).astype(np.float64))
    factor = batch.factor if isinstance(batch, MultivariateNormal) else batch.std
    mean, factor = (to_numpy(x).astype(np.float64) for x in (batch.mean, factor))
    return NormalBase(mean.reshape(batch.dimension), factor[0] if batch.event_shape else factor)


def _checked_points(points: Any) -> np.ndarray:
    try:
        values = np.array(to_numpy(as_array(points)), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"base must be {_WAYS}, got {type(points).__name__}") from None
    if values.ndim not in (1, 2) or values.size == 0:
        raise InputError(f"base points must have shape (m, d), or (m,) for numbers, got shape {values.shape}")
    values = values.reshape(len(values), -1)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise InputError(f"base point {row} is {values[row]}, expected finite numbers: leave it out")
    return values


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


def affine_coordinates(predictions: Any, seen: ScoreMoments, left: np.ndarray) -> Array:
    """Coordinates ``sqrt(c) (L'A R, L'(A m + b))`` of affine scores ``A x + b`` for a matrix ``B = L L'``: (n, k).

    A and b are read off scores at the centre m and one step from it along the columns of R.
    """
    root, centre = seen.root, seen.centre
    scores = scores_at(predictions, np.vstack([centre, centre + root.T]))  # (n, 1 + columns, d)
    xp = namespace(scores)
    at_centre = scores[:, :1, :]
    both = xp.concat([scores[:, 1:, :] - at_centre, at_centre], axis=1)
    turned = xp.matmul(both, like(left, scores))
    return math.sqrt(seen.weight) * xp.reshape(turned, (len(predictions), -1))


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
