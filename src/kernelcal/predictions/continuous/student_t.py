"""Student's t distributions of one number: tails heavier than normal."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import trusted
from kernelcal.predictions.border import NO_SPREAD, finite_numbers, positive_numbers, together
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.real import Parametric
from kernelcal.predictions.special_functions import student_wave

__all__ = ["StudentT"]


@dataclass(frozen=True, eq=False)
class StudentT(Parametric):
    """Student's t predictions of one number: ``loc + scale T`` with T of `df` degrees of freedom.

    Parameters
    ----------
    df : array of shape (n,), or number
        Degrees of freedom, positive, not necessarily whole. One number serves all rows.
    loc : array of shape (n,), or number
        Centres m: medians, and means where there is one (df > 1).
    scale : array of shape (n,), or number
        Scales s, positive. The standard deviation is ``s sqrt(df / (df - 2))``, and infinite up to df = 2.

    Raises
    ------
    InputError
        If a value is missing or out of range, with the row.

    Notes
    -----
    Laws without variance (df <= 2) or mean (df <= 1) work wherever these are not needed: predictions are compared by
    centre and scale, and residuals are standardised to normal quantiles, ``Phi^-1(F(y))``, at every df, since the
    square of an ordinary residual varies without bound up to df = 4. The CRPS needs a mean.

    References
    ----------
    Jordan, Krueger, Lerch (2019), for the CRPS.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.StudentT(3.0, [0.0, 1.0], 2.0)
    >>> predictions.cdf([0.0, 3.0]).round(4)
    array([0.5   , 0.8045])
    """

    given_by: ClassVar[tuple[str, ...]] = ("df", "loc", "scale")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("t", "StudentT"), ("df",), lambda df: (df, 0.0, 1.0)),
        Reading(SCIPY, ("cauchy", "Cauchy"), (), lambda: (1.0, 0.0, 1.0)),
        Reading(BOTH, ("StudentT",), ("df", "loc", "scale")),
        Reading(BOTH, ("Cauchy",), ("loc", "scale"), lambda loc, scale: (1.0, loc, scale)),
    )

    df: Array
    loc: Array
    scale: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        df, loc, scale = together(df=self.df, loc=self.loc, scale=self.scale)
        object.__setattr__(self, "df", positive_numbers(df, "df", ndim=1, remedy=" (a normal law is Normal)"))
        object.__setattr__(self, "loc", finite_numbers(loc, "the centre", ndim=1))
        object.__setattr__(self, "scale", positive_numbers(scale, "the scale", ndim=1, remedy=NO_SPREAD))

    @classmethod
    def from_std(cls, df: Array, mean: Array, std: Array) -> StudentT:
        """Predictions of given mean and standard deviation, for df > 2."""
        df, mean, std = together(df=df, mean=mean, std=std)
        df = positive_numbers(df - 2, "df minus 2", ndim=1, remedy=": up to df = 2 there is no variance") + 2
        return cls(df, mean, std * namespace(df).sqrt((df - 2) / df))

    @classmethod
    def moved(cls, loc: Any, scale: Any, *parameters: Any) -> tuple[Any, ...]:
        """A location-scale family."""
        df, center, spread = parameters
        return df, loc + scale * center, abs(scale) * spread

    @property
    def mean(self) -> Array:
        """Means: the centres, NaN where there is no mean (df <= 1)."""
        xp = namespace(self.df)
        return xp.where(self.df > 1, self.loc, xp.full_like(self.loc, xp.nan))

    @property
    def std(self) -> Array:
        """Standard deviations ``s sqrt(df / (df - 2))``, infinite for df <= 2."""
        xp = namespace(self.df)
        finite = self.df > 2
        excess = xp.where(finite, self.df - 2, xp.ones_like(self.df))
        return xp.where(finite, self.scale * xp.sqrt(self.df / excess), xp.full_like(self.scale, xp.inf))

    @property
    def centre(self) -> Array:
        """The centres m, which are medians too."""
        return self.loc

    @property
    def width(self) -> Array:
        """The scales s."""
        return self.scale

    def log_prob(self, y: Array) -> np.ndarray:
        """Logarithm of the density, shape (..., n), in NumPy."""
        df, loc, scale = self.in_numpy()
        return _log_density(df, (self.numbers_of(y) - loc) / scale) - np.log(scale)

    def score(self, y: Array) -> Array:
        """``-(df + 1) z / (s (df + z^2))``, shape (..., n)."""
        xp = namespace(self.loc)
        z = (xp.asarray(y) - self.loc) / self.scale
        return -(self.df + 1) * z / (self.df + z * z) / self.scale

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y): each half keeps the digits of its own tail."""
        df, loc, scale = self.in_numpy()
        z = (self.numbers_of(y) - loc) / scale
        tail = _tail(df, np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def survival(self, y: Array) -> np.ndarray:
        """P(Y > y), the distribution function mirrored at the centre."""
        return self.cdf(2 * self.in_numpy()[1] - self.numbers_of(y))

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """From the nearer tail, whose level keeps its digits."""
        df, loc, scale = self.in_numpy()
        return loc + scale * np.where(levels > 0.5, -1, 1) * _lower_quantile(df, np.minimum(levels, 1 - levels))

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``exp(i w m)`` times a Bessel function of the second kind of order df / 2."""
        df, loc, scale = (x[:, None] for x in self.in_numpy())
        return np.exp(1j * loc * frequencies) * student_wave(df, scale * frequencies)

    def standardised(self, y: np.ndarray) -> np.ndarray:
        """Normal scores, which have mean 0 and variance 1 whatever df, from the tail on which the target lies."""
        from scipy.special import ndtri

        df, loc, scale = self.in_numpy()
        z = (self.numbers_of(y) - loc) / scale
        return -np.sign(z) * ndtri(np.maximum(_tail(df, np.abs(z)), 1e-300))

    def normal_scores(self, y: np.ndarray) -> np.ndarray:
        """The same: residuals are normal scores here."""
        return self.standardised(y)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """``s (z (2 F - 1) + 2 f (df + z^2) / (df - 1) - 2 sqrt(df) B(1/2, df - 1/2) / ((df - 1) B(1/2, df/2)^2))``."""
        from scipy.special import betaln

        df, loc, scale = self.in_numpy()
        self.refuse_without_mean("the CRPS")
        z = (y - loc) / scale
        tail = _tail(df, np.abs(z))
        density = np.exp(self.log_prob(y)) * scale
        constant = math.log(2) + 0.5 * np.log(df) + betaln(0.5, df - 0.5) - 2 * betaln(0.5, 0.5 * df)
        return scale * (np.abs(z) * (1 - 2 * tail) + (2 * density * (df + z * z) - np.exp(constant)) / (df - 1))

    def density_level(self, y: np.ndarray) -> np.ndarray:
        """``P(|T| < |z|)`` as an incomplete beta function, so that small levels keep their digits."""
        from scipy.special import betainc

        df, loc, scale = self.in_numpy()
        square = ((y - loc) / scale) ** 2
        return betainc(0.5, 0.5 * df, square / (df + square))

    def tempered(self, temperature: float) -> Self:
        """Power 1/T of the density: df' = (df + 1)/T - 1 degrees of freedom and scales ``s sqrt(df / df')``."""
        df = (self.df + 1) / temperature - 1
        lowest = float(np.min(self.in_numpy()[0], initial=math.inf))
        if not (lowest + 1) / temperature > 1:
            raise InputError(
                f"the density of df = {lowest:g} to the power 1/{temperature:g} has no finite integral: temperatures "
                "of these predictions lie below the smallest df + 1"
            )
        return trusted(self, df=df, scale=self.scale * namespace(df).sqrt(self.df / df))

    @property
    def largest_temperature(self) -> float:
        """The smallest df + 1, from which on the power of the density has no finite integral."""
        return float(np.min(self.in_numpy()[0], initial=math.inf)) + 1


def _tail(df: np.ndarray, z: np.ndarray) -> np.ndarray:
    """P(T > z) for z from 0: with the digits of a small number, and where the square of z is too large for one."""
    from scipy.special import betaln, stdtr  # imported when needed: the import of kernelcal stays light

    far = z > 1e100
    logs = 0.5 * df * (np.log(df) - 2 * np.log(np.where(far, z, 1.0))) - betaln(0.5 * df, 0.5) - np.log(df)
    return np.where(far, np.exp(np.where(far, logs, 0.0)), stdtr(df, -np.where(far, 0.0, z)))


def _lower_quantile(df: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Quantiles at levels up to 1/2: ``x = df / (df + t^2)`` has the incomplete beta function I_x(df/2, 1/2) = 2 u."""
    from scipy.special import betaincinv, betaln, ndtri, stdtr

    x = betaincinv(0.5 * df, 0.5, 2 * levels)
    with np.errstate(divide="ignore"):  # far out x is a small number, or none: x^(df/2) = u df B(df/2, 1/2)
        logs = np.where(x > 1e-290, np.log(x), 2 / df * (np.log(levels * df) + betaln(0.5 * df, 0.5)))
        outer = -np.exp(np.minimum(0.5 * (np.log(df) + np.log1p(-x) - logs), 690.0))
    near = (x > 0.5) & (levels > 0)  # where 1 - x has few digits: one step of Newton's method mends a rough start
    middle = np.minimum(betaincinv(0.5, 0.5 * df, 1 - 2 * levels), 0.75)
    rough = np.where(levels > 1e-3, -np.sqrt(df * middle / (1 - middle)), outer)
    start = np.where(near, np.where(df > 1e10, ndtri(np.where(near, levels, 0.5)), rough), 0.0)
    reached = stdtr(df, start)
    step = reached * np.exp(-_log_density(df, start)) * np.log(reached / np.where(near, levels, reached))
    return np.where(levels > 0, np.where(near, start - step, outer), -np.inf)


def _log_density(df: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Logarithm of the density with centre 0 and scale 1."""
    from scipy.special import betaln

    root = np.abs(z) / np.sqrt(df)
    with np.errstate(divide="ignore", over="ignore"):  # far out, where the square is too large a number
        tail = np.where(root > 1e8, 2 * np.log(root), np.log1p(root * root))
    return -0.5 * (df + 1) * tail - betaln(0.5, 0.5 * df) - 0.5 * np.log(df)
