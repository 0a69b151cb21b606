"""Normal distributions of vectors with one standard deviation for all components."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, like, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.numbers import NO_SPREAD, positive_numbers, rows_of
from kernelcal.predictions.vector_normal import VectorNormal, vector_means

__all__ = ["IsotropicNormal"]


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
