"""Normal distributions of one number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, as_array, like, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.numbers import NO_SPREAD, inside, numbers, positive_numbers, rows_of
from kernelcal.predictions.real import RealPredictions

__all__ = ["Normal", "normal_distance"]


@dataclass(frozen=True, eq=False)
class Normal(RealPredictions):
    """Normal predictions of one number: mean and standard deviation of every row.

    Parameters
    ----------
    mean : array of shape (n,)
        Means.
    std : array of shape (n,), or number
        Standard deviations (not variances), positive; one number serves all rows.

    Raises
    ------
    InputError
        If a value is missing or a standard deviation is not positive, with the row.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.Normal([0.0, 1.0], [1.0, 2.0])
    >>> predictions.cdf([0.0, 3.0]).round(4)
    array([0.5   , 0.8413])
    """

    score_is_affine: ClassVar[bool] = True

    mean: Array
    std: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        mean = numbers(self.mean, "the mean", ndim=1)
        std = positive_numbers(rows_of(self.std, mean), "the standard deviation", ndim=1, remedy=NO_SPREAD)
        if mean.shape != std.shape:
            raise InputError(f"mean and std must have equal length, got {mean.shape[0]} and {std.shape[0]}")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)

    def __len__(self) -> int:
        return int(self.mean.shape[0])

    def __getitem__(self, index: Any) -> Self:
        index = checked_index(index)
        return trusted(self, mean=take_rows(self.mean, index), std=take_rows(self.std, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to means and standard deviations."""
        return trusted(self, mean=function(self.mean), std=function(self.std))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: a scalar."""
        return ()

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the distribution function."""
        return self._quantile(inside(uniforms))

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the density, shape (..., n)."""
        xp = namespace(self.mean)
        z = (xp.asarray(y) - self.mean) / self.std
        return -0.5 * z * z - xp.log(self.std) - 0.5 * math.log(2 * math.pi)

    def score(self, y: Array) -> Array:
        """``(m - y) / s^2``, shape (..., n)."""
        return (self.mean - namespace(self.mean).asarray(y)) / self.std / self.std

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y)."""
        from scipy.special import ndtr  # imported when needed: the import of kernelcal stays light

        return ndtr(self.standardised(to_numpy(as_array(y))))

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Value below which a share of the distribution lies."""
        from scipy.special import ndtri

        return to_numpy(self.mean) + to_numpy(self.std) * ndtri(levels)

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``exp(i w m - w^2 s^2 / 2)``."""
        mean, std = to_numpy(self.mean)[:, None], to_numpy(self.std)[:, None]
        return np.exp(1j * mean * frequencies - 0.5 * (std * frequencies) ** 2)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """``E|X - y| - s / sqrt(pi)``, eq. (21) of Gneiting and Raftery (2007)."""
        mean, std = (to_numpy(x).astype(np.float64) for x in (self.mean, self.std))
        return normal_distance(y - mean, std) - std / math.sqrt(math.pi)

    def density_level(self, y: np.ndarray) -> np.ndarray:
        """``2 Phi(|z|) - 1``, written so that small levels keep their digits."""
        from scipy.special import erf

        return erf(np.abs(self.standardised(y)) / math.sqrt(2))

    def tempered(self, temperature: float) -> Self:
        """Variances times T."""
        return trusted(self, std=self.std * math.sqrt(temperature))

    def temperatures(self, y: np.ndarray) -> np.ndarray:
        """``z^2``: the derivative of ``z^2 / (2 T) + log(T) / 2`` vanishes at its mean."""
        return ((y - self.mean) / self.std) ** 2

    def wasserstein_coordinates(self) -> Array:
        """Mean and standard deviation."""
        return namespace(self.mean).stack([self.mean, self.std], axis=-1)

    def affine_score(self, seen: Any) -> Array:
        """Precision times root and times centre minus mean."""
        centre, root = (like(x[0], self.mean) for x in (seen.centre, np.sqrt(seen.variances)))
        return namespace(self.mean).stack([root / self.std**2, (centre - self.mean) / self.std**2], axis=-1)


def normal_distance(shift: np.ndarray, std: np.ndarray) -> np.ndarray:
    """``E|N(shift, std^2)|``, the function A of Grimit et al. (2006)."""
    from scipy.special import ndtr

    z = shift / std
    return std * (z * (2 * ndtr(z) - 1) + math.sqrt(2 / math.pi) * np.exp(-0.5 * z * z))
