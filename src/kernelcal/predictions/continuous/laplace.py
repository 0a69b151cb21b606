"""Laplace distributions of one number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, as_array, namespace, to_numpy
from kernelcal.predictions.base import trusted
from kernelcal.predictions.border import NO_SPREAD, finite_numbers, positive_numbers, together
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.real import Parametric

__all__ = ["Laplace"]


@dataclass(frozen=True, eq=False)
class Laplace(Parametric):
    """Laplace predictions of one number, with density ``exp(-|y - m| / b) / (2 b)``.

    Parameters
    ----------
    loc : array of shape (n,)
        Centres m: mean and median of every row.
    scale : array of shape (n,), or number
        Scales b, positive: the mean absolute deviation. The standard deviation is ``sqrt(2) b``. One number serves
        all rows.

    Raises
    ------
    InputError
        If a value is missing or a scale is not positive, with the row.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Laplace([0.0, 1.0], 2.0)
    >>> predictions.cdf([0.0, 3.0]).round(4)
    array([0.5   , 0.8161])
    """

    given_by: ClassVar[tuple[str, ...]] = ("loc", "scale")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("laplace", "Laplace"), (), lambda: (0.0, 1.0)),
        Reading(BOTH, ("Laplace",), ("loc", "scale")),
    )

    loc: Array
    scale: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        loc, scale = together(loc=self.loc, scale=self.scale)
        loc = finite_numbers(loc, "the centre", ndim=1)
        scale = positive_numbers(scale, "the scale", ndim=1, remedy=NO_SPREAD)
        object.__setattr__(self, "loc", loc)
        object.__setattr__(self, "scale", scale)

    @property
    def mean(self) -> Array:
        """Means: the centres."""
        return self.loc

    @property
    def std(self) -> Array:
        """Standard deviations ``sqrt(2) b``."""
        return math.sqrt(2) * self.scale

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the density, shape (..., n)."""
        xp = namespace(self.loc)
        return -xp.abs(xp.asarray(y) - self.loc) / self.scale - xp.log(2 * self.scale)

    def score(self, y: Array) -> Array:
        """``sign(m - y) / b``, shape (..., n): 0 at the centre, where the density has a kink."""
        xp = namespace(self.loc)
        return xp.sign(self.loc - xp.asarray(y)) / self.scale

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y): each half keeps the digits of its own tail."""
        z = (to_numpy(as_array(y)) - to_numpy(self.loc)) / to_numpy(self.scale)
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def survival(self, y: Array) -> np.ndarray:
        """P(Y > y), the distribution function mirrored at the centre."""
        return self.cdf(2 * to_numpy(self.loc) - to_numpy(as_array(y)))

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Value below which a share of the distribution lies."""
        upper = levels > 0.5
        with np.errstate(divide="ignore"):  # levels 0 and 1 lie at infinity
            distance = np.log(2 * np.where(upper, 1 - levels, levels))
        return to_numpy(self.loc) + to_numpy(self.scale) * np.where(upper, -distance, distance)

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``exp(i w m) / (1 + b^2 w^2)``."""
        loc, scale = to_numpy(self.loc)[:, None], to_numpy(self.scale)[:, None]
        return np.exp(1j * loc * frequencies) / (1 + (scale * frequencies) ** 2)

    @classmethod
    def moved(cls, loc: Any, scale: Any, *parameters: Any) -> tuple[Any, ...]:
        """A location-scale family."""
        return loc + scale * parameters[0], abs(scale) * parameters[1]

    def crps(self, y: np.ndarray) -> np.ndarray:
        """``b (|z| + exp(-|z|) - 3/4)`` with ``z = (y - m) / b``."""
        scale = to_numpy(self.scale).astype(np.float64)
        z = np.abs(y - to_numpy(self.loc)) / scale
        return scale * (z + np.exp(-z) - 0.75)

    def density_level(self, y: np.ndarray) -> np.ndarray:
        """``1 - exp(-|y - m| / b)``."""
        loc, scale = (to_numpy(x).astype(np.float64) for x in (self.loc, self.scale))
        return -np.expm1(-np.abs(y - loc) / scale)

    def tempered(self, temperature: float) -> Self:
        """Scales times T."""
        return trusted(self, scale=self.scale * temperature)

    def temperatures(self, y: np.ndarray) -> np.ndarray:
        """``|z|``: the derivative of ``|z| / T + log T`` vanishes at its mean."""
        return np.abs(y - self.loc) / self.scale

    def wasserstein_coordinates(self) -> Array:
        """Centre, and ``sqrt(2) b``."""
        return namespace(self.loc).stack([self.loc, math.sqrt(2) * self.scale], axis=-1)
