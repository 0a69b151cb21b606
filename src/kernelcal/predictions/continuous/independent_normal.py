"""Normal distributions of vectors with independent components, and what all normal distributions of vectors share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, like, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.border import NO_SPREAD, finite_numbers, inside, positive_numbers, rows_of
from kernelcal.predictions.continuous.normal import Normal
from kernelcal.predictions.foreign import BOTH, Reading
from kernelcal.predictions.real import RealPredictions

__all__ = ["DiagonalNormal", "IsotropicNormal", "VectorNormal", "vector_means"]


class VectorNormal(RealPredictions):
    """Normal predictions of vectors of d numbers: ``m + L z`` with z standard normal and covariance ``L L'``.

    A subclass says how to multiply with L, how to solve with L and its transpose, and what the logarithm of the
    determinant of L is.

    Attributes
    ----------
    mean : array of shape (n, d)
        Means.
    std : array of shape (n, d)
        Standard deviations of the components.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.predictions import VectorNormal
    >>> p = kc.IsotropicNormal([[0.0, 0.0], [1.0, 1.0]], 1.0)
    >>> isinstance(p, VectorNormal), p.event_shape
    (True, (2,))
    """

    score_is_affine: ClassVar[bool] = True
    mean: Array

    def __len__(self) -> int:
        return int(self.mean.shape[0])

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: (d,)."""
        return (int(self.mean.shape[-1]),)

    @property
    def uniforms(self) -> int:
        """A number a component."""
        return self.dimension

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """``m + L z``, z from the uniform numbers of a target by the normal quantile function."""
        from scipy.special import ndtri

        # a vector of one number takes one uniform number, which comes without the last axis
        z = ndtri(inside(uniforms if self.dimension > 1 else uniforms[..., None]))
        return to_numpy(self.mean) + self.map_arrays(to_numpy).spread(z)

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the density, shape (..., n)."""
        xp = namespace(self.mean)
        z = self.whiten(xp.asarray(y) - self.mean)
        return -0.5 * xp.sum(z * z, axis=-1) - self.log_determinant() - 0.5 * self.dimension * math.log(2 * math.pi)

    def score(self, y: Array) -> Array:
        """``C^-1 (m - y)``, shape (..., n, d)."""
        return self.whiten_transposed(self.whiten(self.mean - namespace(self.mean).asarray(y)))

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``exp(i w.m - w' C w / 2)`` for frequencies of shape (D, d)."""
        mean = to_numpy(self.mean)
        return np.exp(1j * (mean @ frequencies.T) - 0.5 * self.variance_along(frequencies))

    def marginal(self, k: int) -> Normal:
        """Mean and standard deviation of component k."""
        return Normal(self.mean[:, k], self.std[:, k])

    def density_level(self, y: np.ndarray) -> np.ndarray:
        """Distribution function of chi-square with d degrees of freedom at the squared Mahalanobis distance."""
        from scipy.special import gammainc

        wide = self.map_arrays(lambda x: to_numpy(x).astype(np.float64))
        z = wide.whiten(y - wide.mean)
        return gammainc(self.dimension / 2, 0.5 * (z * z).sum(axis=-1))

    def temperatures(self, y: np.ndarray) -> np.ndarray:
        """Squared Mahalanobis distance over d, whose mean the best temperature is."""
        return (self.whiten(y - self.mean) ** 2).mean(axis=1)

    @abstractmethod
    def spread(self, z: Array) -> Array:
        """Multiply vectors, shape (..., n, d), with L."""

    @abstractmethod
    def whiten(self, x: Array) -> Array:
        """Solve ``L z = x`` for vectors of shape (..., n, d)."""

    @abstractmethod
    def whiten_transposed(self, x: Array) -> Array:
        """Solve ``L' z = x`` for vectors of shape (..., n, d)."""

    @abstractmethod
    def log_determinant(self) -> Array:
        """Logarithm of the determinant of L, shape (n,)."""

    @abstractmethod
    def variance_along(self, directions: np.ndarray) -> np.ndarray:
        """``w' C w`` for directions w of shape (D, d): shape (n, D)."""


def vector_means(mean: Any) -> Array:
    """Means of shape (n, d) with d > 0; numbers without a second axis belong to `Normal`."""
    if np.ndim(mean) == 1:
        raise InputError(
            f"the mean of vectors must have shape (n, d), got shape ({len(mean)},): for one number a row use "
            "kernelcal.Normal(mean, std); for one vector alone pass mean[None, :]"
        )
    array = finite_numbers(mean, "the mean", ndim=2)
    if array.shape[1] == 0:
        raise InputError(f"the mean must have at least one column, got shape {tuple(array.shape)}")
    return array


@dataclass(frozen=True, eq=False)
class DiagonalNormal(VectorNormal):
    """Normal predictions of vectors whose components are independent.

    Parameters
    ----------
    mean : array of shape (n, d)
        Means.
    std : array of shape (n, d)
        Standard deviations (not variances) of the components, positive.

    Raises
    ------
    InputError
        If a value is missing or a standard deviation is not positive, with row and column.

    Notes
    -----
    Every method costs n d a set of targets.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.DiagonalNormal([[0.0, 1.0]], [[1.0, 2.0]])
    >>> predictions.log_prob([[0.0, 1.0]]).round(4)
    array([-2.531])
    """

    readings: ClassVar[tuple[Reading, ...]] = (Reading(BOTH, ("Independent(Normal)",), ("loc", "scale"), axes=(1, 1)),)

    mean: Array
    std: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        mean = vector_means(self.mean)
        std = positive_numbers(self.std, "the standard deviation", ndim=2, remedy=NO_SPREAD)
        if mean.shape != std.shape:
            raise InputError(f"mean and std must have equal shape, got {tuple(mean.shape)} and {tuple(std.shape)}")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)

    def __getitem__(self, index: Any) -> Self:
        index = checked_index(index)
        return trusted(self, mean=take_rows(self.mean, index), std=take_rows(self.std, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to means and standard deviations."""
        return trusted(self, mean=function(self.mean), std=function(self.std))

    def spread(self, z: Array) -> Array:
        """Multiply every component with its standard deviation."""
        return self.std * z

    def whiten(self, x: Array) -> Array:
        """Divide every component by its standard deviation."""
        return x / self.std

    def whiten_transposed(self, x: Array) -> Array:
        """Divide every component by its standard deviation."""
        return x / self.std

    def log_determinant(self) -> Array:
        """Sum of the logarithms of the standard deviations, shape (n,)."""
        xp = namespace(self.std)
        return xp.sum(xp.log(self.std), axis=-1)

    def variance_along(self, directions: np.ndarray) -> np.ndarray:
        """``sum_k w_k^2 s_k^2``, shape (n, D)."""
        return to_numpy(self.std) ** 2 @ (directions**2).T

    def tempered(self, temperature: float) -> Self:
        """Variances times T."""
        return trusted(self, std=self.std * math.sqrt(temperature))

    def wasserstein_coordinates(self) -> Array:
        """Means and standard deviations."""
        return namespace(self.mean).concat([self.mean, self.std], axis=-1)

    def affine_score(self, seen: Any) -> Array:
        """Precisions times root and times centre minus mean."""
        centre, root = like(seen.centre, self.mean), like(np.sqrt(seen.variances), self.mean)
        return namespace(self.mean).concat([root / self.std**2, (centre - self.mean) / self.std**2], axis=-1)


@dataclass(frozen=True, eq=False)
class IsotropicNormal(VectorNormal):
    """Normal predictions of vectors with independent components of equal standard deviation.

    Parameters
    ----------
    mean : array of shape (n, d)
        Means.
    scale : array of shape (n,), or number
        Standard deviation of every component of a row, positive; one number serves all rows. The attribute `std`
        repeats it for the d components.

    Raises
    ------
    InputError
        If a value is missing or a standard deviation is not positive, with the row.

    Notes
    -----
    Every method costs n d a set of targets.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.IsotropicNormal([[0.0, 1.0]], [2.0])
    >>> predictions.std
    array([[2., 2.]])
    """

    mean: Array
    scale: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        mean = vector_means(self.mean)
        scale = positive_numbers(rows_of(self.scale, mean), "the standard deviation", ndim=1, remedy=NO_SPREAD)
        if mean.shape[0] != scale.shape[0]:
            raise InputError(f"mean and scale must have equal length, got {mean.shape[0]} and {scale.shape[0]}")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "scale", scale)

    def __getitem__(self, index: Any) -> Self:
        index = checked_index(index)
        return trusted(self, mean=take_rows(self.mean, index), scale=take_rows(self.scale, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to means and scales."""
        return trusted(self, mean=function(self.mean), scale=function(self.scale))

    @property
    def std(self) -> Array:
        """Standard deviations of the components, shape (n, d): the scale, d times."""
        return namespace(self.scale).broadcast_to(self.scale[..., None], self.mean.shape)

    def spread(self, z: Array) -> Array:
        """Multiply with the standard deviation."""
        return self.scale[..., None] * z

    def whiten(self, x: Array) -> Array:
        """Divide by the standard deviation."""
        return x / self.scale[..., None]

    def whiten_transposed(self, x: Array) -> Array:
        """Divide by the standard deviation."""
        return x / self.scale[..., None]

    def log_determinant(self) -> Array:
        """``d log s``, shape (n,)."""
        return self.dimension * namespace(self.scale).log(self.scale)

    def variance_along(self, directions: np.ndarray) -> np.ndarray:
        """``s^2 |w|^2``, shape (n, D)."""
        return to_numpy(self.scale)[:, None] ** 2 * (directions**2).sum(axis=1)

    def tempered(self, temperature: float) -> Self:
        """Variances times T."""
        return trusted(self, scale=self.scale * math.sqrt(temperature))

    def wasserstein_coordinates(self) -> Array:
        """Means, and ``sqrt(d)`` times the standard deviation."""
        return namespace(self.mean).concat([self.mean, math.sqrt(self.dimension) * self.scale[..., None]], axis=-1)

    def affine_score(self, seen: Any) -> Array:
        """Precision times the root of the trace of the spread, and times centre minus mean."""
        centre, root = like(seen.centre, self.mean), math.sqrt(float(seen.variances.sum()))
        variance = self.scale[..., None] ** 2
        return namespace(self.mean).concat([root / variance, (centre - self.mean) / variance], axis=-1)
