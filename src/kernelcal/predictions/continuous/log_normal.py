"""Log-normal distributions of one positive number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.predictions.base import trusted
from kernelcal.predictions.border import NO_SPREAD, finite_numbers, positive_numbers, together
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.real import Parametric
from kernelcal.predictions.special_functions import log_normal_wave

__all__ = ["LogNormal"]


_FARTHEST = -37.0  # normal score of the least probability


@dataclass(frozen=True, eq=False)
class LogNormal(Parametric):
    """Log-normal predictions of one positive number: ``log Y`` is normal.

    Parameters
    ----------
    mu : array of shape (n,), or number
        Means of the logarithm; ``exp(mu)`` is the median.
    sigma : array of shape (n,), or number
        Standard deviations of the logarithm, positive. One number serves all rows.

    Raises
    ------
    InputError
        If a value is missing or sigma is not positive, with the row.

    Notes
    -----
    The mean is ``exp(mu + sigma^2 / 2)``, the variance ``(exp(sigma^2) - 1) exp(2 mu + sigma^2)``. The characteristic
    function is an integral by the trapezoidal rule, accurate to 1e-12.

    References
    ----------
    Baran, Lerch (2015), for the CRPS.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.LogNormal([0.0, 1.0], 0.5)
    >>> predictions.quantile(0.5).round(4)
    array([1.    , 2.7183])
    >>> kc.predictions.LogNormal.from_mean([3.0], std=1.5).mean.round(12)
    array([3.])
    """

    given_by: ClassVar[tuple[str, ...]] = ("mu", "sigma")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("lognorm", "LogNormal"), ("s",), lambda s: (0.0, s)),
        Reading(BOTH, ("LogNormal",), ("loc", "scale")),
    )

    mu: Array
    sigma: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        mu, sigma = together(mu=self.mu, sigma=self.sigma)
        object.__setattr__(self, "mu", finite_numbers(mu, "mu, the mean of the logarithm,", ndim=1))
        sigma = positive_numbers(sigma, "sigma, the standard deviation of the logarithm,", ndim=1, remedy=NO_SPREAD)
        object.__setattr__(self, "sigma", sigma)

    @classmethod
    def from_mean(cls, mean: Array, *, std: Array) -> LogNormal:
        """Predictions of given mean and standard deviation of the target itself."""
        mean, std = together(mean=mean, std=std)
        mean = positive_numbers(mean, "the mean", ndim=1)
        std = positive_numbers(std, "the standard deviation", ndim=1, remedy=NO_SPREAD)
        xp = namespace(mean)
        variance = xp.log1p((std / mean) ** 2)
        return cls(xp.log(mean) - variance / 2, xp.sqrt(variance))

    @classmethod
    def moved(cls, loc: Any, scale: Any, *parameters: Any) -> tuple[Any, ...] | None:
        """A positive multiple is of the family; a shifted law begins elsewhere."""
        if np.any(np.asarray(loc) != 0) or np.any(np.asarray(scale) <= 0):
            return None
        return parameters[0] + np.log(scale), parameters[1]

    @property
    def mean(self) -> Array:
        """Means ``exp(mu + sigma^2 / 2)``."""
        return namespace(self.mu).exp(self.mu + 0.5 * self.sigma * self.sigma)

    @property
    def std(self) -> Array:
        """Standard deviations: mean times ``sqrt(exp(sigma^2) - 1)``."""
        xp = namespace(self.mu)
        return self.mean * xp.sqrt(xp.expm1(self.sigma * self.sigma))

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the density, shape (..., n); -inf for targets that are not positive."""
        xp, y, possible, log = self._logarithms(y)
        z = (log - self.mu) / self.sigma
        return xp.where(possible, -0.5 * z * z - log - xp.log(self.sigma) - 0.5 * math.log(2 * math.pi), -xp.inf)

    def score(self, y: Array) -> Array:
        """``-(1 + (log y - mu) / sigma^2) / y``, shape (..., n), infinite for targets that are not positive."""
        xp, y, possible, log = self._logarithms(y)
        return xp.where(possible, -(1 + (log - self.mu) / self.sigma / self.sigma) / y, xp.inf)

    def _logarithms(self, y: Array) -> tuple[Any, Array, Array, Array]:
        """Library, targets with 1 where they are not positive, which are positive, and their logarithms."""
        xp = namespace(self.mu)
        y = xp.asarray(y)
        y = y if xp.isdtype(y.dtype, "real floating") else xp.astype(y, self.mu.dtype)
        possible = y > 0
        y = xp.where(possible, y, xp.ones_like(y))
        return xp, y, possible, xp.log(y)

    def _z(self, y: Array) -> np.ndarray:
        """Standardised logarithms in NumPy: -inf for targets that are not positive."""
        mu, sigma = self.in_numpy()
        with np.errstate(divide="ignore"):
            return (np.log(np.maximum(self.numbers_of(y), 0.0)) - mu) / sigma

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y)."""
        from scipy.special import ndtr  # imported when needed: the import of kernelcal stays light

        return ndtr(self._z(y))

    def normal_scores(self, y: np.ndarray) -> np.ndarray:
        """Standardised logarithms; targets that are not positive lie as far out as the least probability."""
        return np.maximum(self._z(y), _FARTHEST)

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """``exp(mu + sigma Phi^-1(level))``."""
        from scipy.special import ndtri

        mu, sigma = self.in_numpy()
        return np.exp(mu + sigma * ndtri(levels))

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Targets that are not positive."""
        return np.asarray(y) <= 0

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``E exp(i w exp(mu) exp(sigma Z))`` by quadrature."""
        mu, sigma = (x[:, None] for x in self.in_numpy())
        return log_normal_wave(sigma, np.exp(mu) * frequencies)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """``y (2 Phi(z) - 1) - 2 m (Phi(z - sigma) + Phi(sigma / sqrt 2) - 1)`` with the mean m."""
        from scipy.special import ndtr

        mu, sigma = self.in_numpy()
        z, mean = self._z(y), np.exp(mu + 0.5 * sigma**2)
        return y * (2 * ndtr(z) - 1) - 2 * mean * (ndtr(z - sigma) - ndtr(-sigma / math.sqrt(2)))

    def density_level(self, y: np.ndarray) -> np.ndarray:
        """The density is symmetric in log y about its mode ``exp(mu - sigma^2)``."""
        from scipy.special import ndtr

        away = np.abs(self._z(y) + self.in_numpy()[1])  # from the mode, in standard deviations of the logarithm
        sigma = self.in_numpy()[1]
        return ndtr(away - sigma) - ndtr(-away - sigma)

    def tempered(self, temperature: float) -> Self:
        """``sigma^2`` times T: the power with respect to ``dy / y``, which keeps the median."""
        return trusted(self, sigma=self.sigma * math.sqrt(temperature))

    def temperatures(self, y: np.ndarray) -> np.ndarray:
        """Squared standardised logarithms, whose mean the best temperature is."""
        return self._z(y) ** 2
