"""Gamma distributions of one positive number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import trusted
from kernelcal.predictions.border import positive_numbers, together
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.real import Parametric

__all__ = ["Gamma"]


_SMALLEST = 1e-300  # of a draw: shapes near 0 put nearly all of their mass below the smallest number


@dataclass(frozen=True, eq=False)
class Gamma(Parametric):
    """Gamma predictions of one positive number, with density ``b^a y^(a - 1) exp(-b y) / Gamma(a)``.

    Parameters
    ----------
    concentration : array of shape (n,), or number
        Concentrations a, positive (also called shape). One number serves all rows; 1 gives exponential laws.
    rate : array of shape (n,), or number
        Rates b, positive: the inverse of the scale. The mean is ``a / b``, the variance ``a / b^2``.

    Raises
    ------
    InputError
        If a value is missing or not positive, with the row.

    References
    ----------
    Scheuerer, Moeller (2015), for the CRPS.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Gamma([1.0, 4.0], 2.0)
    >>> predictions.cdf([0.5, 2.0]).round(4)
    array([0.6321, 0.5665])
    >>> kc.predictions.Gamma.from_mean([3.0], std=1.5).concentration
    array([4.])
    """

    given_by: ClassVar[tuple[str, ...]] = ("concentration", "rate")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("gamma", "Gamma", "erlang", "Erlang"), ("a",), lambda a: (a, 1.0)),
        Reading(SCIPY, ("expon", "Exponential"), (), lambda: (1.0, 1.0)),
        Reading(SCIPY, ("chi2", "ChiSquared"), ("df",), lambda df: (np.asarray(df) / 2, 0.5)),
        Reading(BOTH, ("Gamma", "Chi2"), ("concentration", "rate")),
        Reading(BOTH, ("Exponential",), ("rate",), lambda rate: (1.0, rate)),
    )

    concentration: Array
    rate: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        concentration, rate = together(concentration=self.concentration, rate=self.rate)
        concentration = positive_numbers(concentration, "the concentration", ndim=1)
        object.__setattr__(self, "concentration", concentration)
        object.__setattr__(
            self, "rate", positive_numbers(rate, "the rate", ndim=1, remedy=" (the inverse of the scale)")
        )

    @classmethod
    def from_mean(cls, mean: Array, *, std: Array) -> Gamma:
        """Predictions of given mean and standard deviation, as the mean and dispersion of a regression."""
        mean, std = together(mean=mean, std=std)
        mean = positive_numbers(mean, "the mean", ndim=1)
        std = positive_numbers(std, "the standard deviation", ndim=1)
        return cls((mean / std) ** 2, mean / std / std)

    @classmethod
    def moved(cls, loc: Any, scale: Any, *parameters: Any) -> tuple[Any, ...] | None:
        """A positive multiple is of the family; a shifted law begins elsewhere."""
        if np.any(np.asarray(loc) != 0) or np.any(np.asarray(scale) <= 0):
            return None
        return parameters[0], parameters[1] / scale

    @property
    def mean(self) -> Array:
        """Means ``a / b``."""
        return self.concentration / self.rate

    @property
    def std(self) -> Array:
        """Standard deviations ``sqrt(a) / b``."""
        return namespace(self.concentration).sqrt(self.concentration) / self.rate

    def log_prob(self, y: Array) -> np.ndarray:
        """Logarithm of the density, shape (..., n), in NumPy; -inf for negative targets."""
        from scipy.special import gammaln, xlogy  # imported when needed: the import of kernelcal stays light

        shape, rate = self.in_numpy()
        x = rate * self.numbers_of(y)
        inside = np.maximum(x, 0.0)
        with np.errstate(divide="ignore"):  # at 0 the density is 0, or infinite
            return np.where(x >= 0, xlogy(shape - 1, inside) - inside - gammaln(shape) + np.log(rate), -np.inf)

    def score(self, y: Array) -> Array:
        """``(a - 1) / y - b``, shape (..., n), infinite for targets that are not positive.

        Raises
        ------
        InputError
            For concentrations up to 1, whose density does not fall to 0 at 0: Stein features then have no mean of zero.
        """
        shape = self.in_numpy()[0]
        if (shape <= 1).any():
            row = int(np.argmax(shape <= 1))
            raise InputError(
                f"row {row} has a concentration of {shape[row]:g}, up to 1, and a density that does not fall to 0 at "
                "0, so that its score does not average to 0: use a statistic that needs no score, such as SKCE "
                "(statistic='skce')"
            )
        xp = namespace(self.concentration)
        y = xp.asarray(y)
        inside = y > 0
        return xp.where(inside, (self.concentration - 1) / xp.where(inside, y, xp.ones_like(y)) - self.rate, xp.inf)

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y): the regularised incomplete gamma function ``P(a, b y)``."""
        from scipy.special import gammainc

        shape, rate = self.in_numpy()
        return gammainc(shape, rate * np.maximum(self.numbers_of(y), 0.0))

    def survival(self, y: Array) -> np.ndarray:
        """P(Y > y): the other incomplete gamma function ``Q(a, b y)``."""
        from scipy.special import gammaincc

        shape, rate = self.in_numpy()
        return gammaincc(shape, rate * np.maximum(self.numbers_of(y), 0.0))

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Inverse of the incomplete gamma function, from the nearer tail."""
        from scipy.special import gammainccinv, gammaincinv

        shape, rate = self.in_numpy()
        return np.where(levels > 0.5, gammainccinv(shape, 1 - levels), gammaincinv(shape, levels)) / rate

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the distribution function; what is too small a number becomes 1e-300."""
        return np.maximum(super().draw(uniforms), _SMALLEST)

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Negative targets, and 0 where the density is 0 there."""
        y, shape = np.asarray(y), self.in_numpy()[0]
        return (y < 0) | ((y == 0) & (shape > 1))

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``(1 - i w / b)^-a``."""
        shape, rate = (x[:, None] for x in self.in_numpy())
        return np.exp(-shape * np.log1p(-1j * frequencies / rate))

    def crps(self, y: np.ndarray) -> np.ndarray:
        """``y (2 F_a(y) - 1) - a/b (2 F_{a+1}(y) - 1) - 1 / (b B(1/2, a))``."""
        from scipy.special import betaln, gammainc

        shape, rate = self.in_numpy()
        x = rate * np.maximum(y, 0.0)
        distance = y * (2 * gammainc(shape, x) - 1) - shape / rate * (2 * gammainc(shape + 1, x) - 1)
        return distance - np.exp(-betaln(0.5, shape)) / rate

    def density_level(self, y: np.ndarray) -> np.ndarray:
        """Probability between the target and the point of equal density on the other side of the mode."""
        from scipy.special import gammainc, lambertw

        shape, rate = self.in_numpy()
        x, mode = rate * np.maximum(y, 0.0), np.maximum(shape - 1, 0.0)
        falling = mode <= 0
        ratio = x / np.where(falling, 1.0, mode)
        # r e^(1 - r) = r' e^(1 - r') on both sides of the mode 1: the branches of Lambert's function
        argument = np.maximum(-ratio * np.exp(-np.minimum(ratio, 745.0)), -np.exp(-1.0))
        other = np.where(ratio > 1, -lambertw(argument, 0).real, -lambertw(np.minimum(argument, -1e-320), -1).real)
        levels = np.abs(gammainc(shape, mode * np.maximum(other, 0.0)) - gammainc(shape, x))
        return np.where(falling, gammainc(shape, x), np.where(y >= 0, levels, 1.0))

    def tempered(self, temperature: float) -> Self:
        """Both parameters over T: the power with respect to ``dy / y``, as of beta laws, which keeps the mean."""
        return trusted(self, concentration=self.concentration / temperature, rate=self.rate / temperature)
