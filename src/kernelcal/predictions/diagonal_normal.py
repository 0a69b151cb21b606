"""Normal distributions of vectors with independent components."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, like, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.numbers import NO_SPREAD, positive_numbers
from kernelcal.predictions.parameters import BOTH, Reading
from kernelcal.predictions.vector_normal import VectorNormal, vector_means

__all__ = ["DiagonalNormal"]


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
