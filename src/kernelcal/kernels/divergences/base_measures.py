"""Base measures: where distances between score functions look, from what users give and from predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import as_array, concrete, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import MultivariateNormal, Predictions, RealPredictions
from kernelcal.randomness import generator_of

__all__ = ["BaseMeasure", "NormalBase", "PointBase", "checked_base", "fixed_base"]


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
