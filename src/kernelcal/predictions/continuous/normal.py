"""Normal distributions of one number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, as_array, like, namespace, to_numpy
from kernelcal.predictions.base import trusted
from kernelcal.predictions.border import NO_SPREAD, finite_numbers, positive_numbers, together
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.real import Parametric

__all__ = ["Normal", "normal_distance"]


@dataclass(frozen=True, eq=False)
class Normal(Parametric):
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
    given_by: ClassVar[tuple[str, ...]] = ("mean", "std")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("norm",), (), lambda: (0.0, 1.0)),
        Reading(SCIPY, ("Normal", "StandardNormal"), ("mu", "sigma"), defaults=(0.0, 1.0)),
        Reading(BOTH, ("Normal",), ("loc", "scale")),
    )

    mean: Array
    std: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        mean, std = together(mean=self.mean, std=self.std)
        mean = finite_numbers(mean, "the mean", ndim=1)
        std = positive_numbers(std, "the standard deviation", ndim=1, remedy=NO_SPREAD)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)

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

    def standardised(self, y: np.ndarray) -> np.ndarray:
        """Targets minus mean in standard deviations, which all are positive."""
        mean, std = self.in_numpy()
        z = y - mean
        z /= std
        return z

    def normal_scores(self, y: np.ndarray) -> np.ndarray:
        """Standardised residuals: the law is normal."""
        return self.standardised(y)

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Value below which a share of the distribution lies."""
        from scipy.special import ndtri

        return to_numpy(self.mean) + to_numpy(self.std) * ndtri(levels)

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``exp(i w m - w^2 s^2 / 2)``."""
        mean, std = to_numpy(self.mean)[:, None], to_numpy(self.std)[:, None]
        return np.exp(1j * mean * frequencies - 0.5 * (std * frequencies) ** 2)

    @classmethod
    def moved(cls, loc: Any, scale: Any, *parameters: Any) -> tuple[Any, ...]:
        """A location-scale family."""
        return loc + scale * parameters[0], abs(scale) * parameters[1]

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
