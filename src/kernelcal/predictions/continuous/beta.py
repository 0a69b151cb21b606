"""Beta distributions of one number between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import trusted
from kernelcal.predictions.border import positive_numbers, refuse_rows, together
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.real import Parametric
from kernelcal.predictions.special_functions import dirichlet_wave, smallest_reaching

__all__ = ["Beta"]


_EDGE = 1e-300  # of a draw: small parameters put much of their mass nearer to 0 than the smallest number


@dataclass(frozen=True, eq=False)
class Beta(Parametric):
    """Beta predictions of one number in (0, 1), with density ``y^(a - 1) (1 - y)^(b - 1) / B(a, b)``.

    Parameters
    ----------
    a, b : array of shape (n,), or number
        Parameters, positive (also called alpha and beta). One number serves all rows. The mean is ``a / (a + b)``.

    Raises
    ------
    InputError
        If a value is missing or not positive, with the row.

    Notes
    -----
    The characteristic function is a contour integral, accurate to about 1e-9.

    References
    ----------
    Taillardat et al. (2016), for the CRPS; Widmann, Lindsten, Zachariah (2021), Appendix F, for the temperature.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Beta([1.0, 2.0], 2.0)
    >>> predictions.cdf([0.5, 0.5]).round(4)
    array([0.75, 0.5 ])
    >>> kc.predictions.Beta.from_mean([0.25], concentration=8.0).a
    array([2.])
    """

    given_by: ClassVar[tuple[str, ...]] = ("a", "b")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("beta", "Beta"), ("a", "b")),
        Reading(SCIPY, ("arcsine", "Arcsine"), (), lambda: (0.5, 0.5)),
        Reading(BOTH, ("Beta",), ("concentration1", "concentration0")),
    )

    a: Array
    b: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        a, b = together(a=self.a, b=self.b)
        object.__setattr__(self, "a", positive_numbers(a, "a", ndim=1))
        object.__setattr__(self, "b", positive_numbers(b, "b", ndim=1))

    @classmethod
    def from_mean(cls, mean: Array, *, concentration: Array) -> Beta:
        """Predictions of given mean and concentration ``a + b``, as the mean and precision of a beta regression."""
        mean, total = together(mean=mean, concentration=concentration)
        mean = positive_numbers(mean, "the mean", ndim=1, remedy=" below 1")
        values = to_numpy(mean)
        refuse_rows(values >= 1, "the mean", values, "a number between 0 and 1")
        total = positive_numbers(total, "the concentration", ndim=1)
        return cls(mean * total, (1 - mean) * total)

    @property
    def mean(self) -> Array:
        """Means ``a / (a + b)``."""
        return self.a / (self.a + self.b)

    @property
    def std(self) -> Array:
        """Standard deviations ``sqrt(a b / (a + b + 1)) / (a + b)``."""
        total = self.a + self.b
        return namespace(self.a).sqrt(self.a / total * (self.b / total) / (total + 1))

    def log_prob(self, y: Array) -> np.ndarray:
        """Logarithm of the density, shape (..., n), in NumPy; -inf outside [0, 1]."""
        from scipy.special import betaln, xlog1py, xlogy  # imported when needed: the import of kernelcal stays light

        a, b = self.in_numpy()
        y = self.numbers_of(y)
        x = np.clip(y, 0.0, 1.0)
        with np.errstate(divide="ignore"):  # at the ends the density is 0, or infinite
            return np.where(x == y, xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b), -np.inf)

    def score(self, y: Array) -> Array:
        """``(a - 1) / y - (b - 1) / (1 - y)``, shape (..., n), infinite for targets outside (0, 1).

        Raises
        ------
        InputError
            Where a or b is at most 1: the density does not fall to 0 at an end, and scores do not average to 0.
        """
        a, b = self.in_numpy()
        wrong = np.minimum(a, b) <= 1
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"row {row} has a = {a[row]:g} and b = {b[row]:g}, one of them at most 1, and a density that does not "
                "fall to 0 at an end, so that its score does not average to 0: use a statistic that needs no score, "
                "such as SKCE (statistic='skce')"
            )
        xp = namespace(self.a)
        y = xp.asarray(y)
        inside = (y > 0) & (y < 1)
        x = xp.where(inside, y, xp.full_like(y, 0.5))
        return xp.where(inside, (self.a - 1) / x - (self.b - 1) / (1 - x), xp.inf)

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y): the regularised incomplete beta function ``I_y(a, b)``."""
        from scipy.special import betainc

        return betainc(*self.in_numpy(), np.clip(self.numbers_of(y), 0.0, 1.0))

    def survival(self, y: Array) -> np.ndarray:
        """P(Y > y): the complement, with its own digits."""
        from scipy.special import betaincc

        return betaincc(*self.in_numpy(), np.clip(self.numbers_of(y), 0.0, 1.0))

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Inverse of the incomplete beta function."""
        from scipy.special import betaincinv

        return betaincinv(*self.in_numpy(), levels)

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the distribution function; what rounds to an end becomes its neighbour."""
        return np.clip(super().draw(uniforms), _EDGE, np.nextafter(1.0, 0.0))

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Targets outside [0, 1], and ends at which the density is 0."""
        (a, b), y = self.in_numpy(), np.asarray(y)
        return (y < 0) | (y > 1) | ((y == 0) & (a > 1)) | ((y == 1) & (b > 1))

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """Kummer's function ``M(a, a + b, i w)``."""
        pairs = np.stack([frequencies, np.zeros_like(frequencies)], axis=1)
        return dirichlet_wave(np.stack(self.in_numpy(), axis=1), pairs)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """``y (2 F(y) - 1) + m (1 - 2 F_{a+1,b}(y)) - 2 B(2a, 2b) / ((a + b) B(a, b)^2)`` with the mean m."""
        from scipy.special import betainc, betaln

        a, b = self.in_numpy()
        x, mean = np.clip(y, 0.0, 1.0), a / (a + b)
        spread = np.exp(np.log(2 / (a + b)) + betaln(2 * a, 2 * b) - 2 * betaln(a, b))
        return y * (2 * betainc(a, b, x) - 1) + mean * (1 - 2 * betainc(a + 1, b, x)) - spread

    def density_level(self, y: np.ndarray) -> np.ndarray | None:
        """Probability between the target and the point of equal density beyond the mode (or outside, of U shapes).

        None where a row is uniform (a = b = 1), whose densities are all equal.
        """
        a, b = self.in_numpy()
        if ((a == 1) & (b == 1)).any():
            return None
        x, below = np.clip(y, 0.0, 1.0), self.cdf(y)
        peak, valley = np.minimum(a, b) > 1, np.maximum(a, b) < 1
        middle = np.where(peak | valley, (a - 1) / np.where(peak | valley, a + b - 2, 1.0), 0.5)
        between = np.abs(self.cdf(_other_side(a, b, x, middle)) - below)
        falling = (a <= 1) & (b >= 1)
        levels = np.where(valley, 1 - between, np.where(falling, below, 1 - below))
        return np.where(x == y, np.where(peak, between, levels), 1.0)

    def tempered(self, temperature: float) -> Self:
        """Both parameters over T: the power with respect to ``dy / (y (1 - y))``, which keeps the mean (App. F)."""
        return trusted(self, a=self.a / temperature, b=self.b / temperature)


def _other_side(a: np.ndarray, b: np.ndarray, x: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Point beyond the mode (or the lowest point) that has the density of x."""

    def height(t: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sign(a - 1) * ((a - 1) * np.log(t) + (b - 1) * np.log1p(-t))

    right = x < middle
    low, high = np.where(right, middle, 0.0), np.where(right, 1.0, middle)
    target = height(x)
    # beyond the middle the height falls to the right and rises on the left; bisection wants it to rise
    return smallest_reaching(
        lambda t: np.where(right, -1, 1) * np.nan_to_num(height(t), neginf=-1e308, posinf=1e308),
        np.where(right, -1, 1) * np.nan_to_num(target, neginf=-1e308, posinf=1e308),
        low,
        high,
    )
