"""What normal distributions of vectors share, however their covariances are written."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import Array, namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.normal import Normal
from kernelcal.predictions.numbers import inside, numbers
from kernelcal.predictions.real import RealPredictions

__all__ = ["VectorNormal", "vector_means"]


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
    array = numbers(mean, "the mean", ndim=2)
    if array.shape[1] == 0:
        raise InputError(f"the mean must have at least one column, got shape {tuple(array.shape)}")
    return array
