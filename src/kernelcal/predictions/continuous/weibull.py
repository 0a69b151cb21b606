"""Weibull distributions of one positive number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.border import positive_numbers, together
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.real import Parametric

__all__ = ["Weibull"]


_STEP = 0.08
_PLACES = np.arange(-40.0, 5.0, _STEP)  # of log z


@dataclass(frozen=True, eq=False)
class Weibull(Parametric):
    """Weibull predictions of one positive number: ``P(Y > y) = exp(-(y / scale)^shape)``.

    Parameters
    ----------
    scale : array of shape (n,), or number
        Scales, positive: 63 % of the targets lie below. One number serves all rows.
    shape : array of shape (n,), or number
        Shapes, positive: the hazard rises above 1, falls below; 1 gives exponential laws of mean `scale`.

    Raises
    ------
    InputError
        If a value is missing or not positive, with the row.

    Notes
    -----
    The mean is ``scale Gamma(1 + 1 / shape)``. There is no temperature: powers of the density are of another family.
    The characteristic function is an integral by the trapezoidal rule, accurate to 1e-13.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Weibull([1.0, 2.0], 1.5)
    >>> predictions.survival([1.0, 1.0]).round(4)
    array([0.3679, 0.7022])
    """

    given_by: ClassVar[tuple[str, ...]] = ("scale", "shape")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("weibull_min", "Weibull"), ("c",), lambda c: (1.0, c)),
        Reading(BOTH, ("Weibull",), ("scale", "concentration")),
    )
    remedies: ClassVar[Mapping[str, str]] = {
        "tempered": "powers of its density are of another family; scale the targets instead",
    }

    scale: Array
    shape: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        scale, shape = together(scale=self.scale, shape=self.shape)
        object.__setattr__(self, "scale", positive_numbers(scale, "the scale", ndim=1))
        object.__setattr__(self, "shape", positive_numbers(shape, "the shape", ndim=1))

    @classmethod
    def moved(cls, loc: Any, scale: Any, *parameters: Any) -> tuple[Any, ...] | None:
        """A positive multiple is of the family; a shifted law begins elsewhere."""
        if np.any(np.asarray(loc) != 0) or np.any(np.asarray(scale) <= 0):
            return None
        return parameters[0] * scale, parameters[1]

    @property
    def mean(self) -> Array:
        """Means ``scale Gamma(1 + 1 / shape)``."""
        return self._moment(1)

    @property
    def std(self) -> Array:
        """Standard deviations, of the second moment ``scale^2 Gamma(1 + 2 / shape)``."""
        from scipy.special import gammaln  # imported when needed: the import of kernelcal stays light

        scale, shape = self.in_numpy()
        first, second = gammaln(1 + 1 / shape), gammaln(1 + 2 / shape)
        return self._like(scale * np.exp(first) * np.sqrt(np.expm1(np.maximum(second - 2 * first, 0.0))))

    def _moment(self, order: int) -> Array:
        from scipy.special import gammaln

        scale, shape = self.in_numpy()
        return self._like(scale**order * np.exp(gammaln(1 + order / shape)))

    def _like(self, values: np.ndarray) -> Array:
        """Values where the parameters are."""
        return namespace(self.scale).asarray(values, dtype=self.scale.dtype)

    def _power(self, y: Array) -> np.ndarray:
        """``(y / scale)^shape``, 0 for targets that are not positive."""
        scale, shape = self.in_numpy()
        return (np.maximum(self.numbers_of(y), 0.0) / scale) ** shape

    def log_prob(self, y: Array) -> np.ndarray:
        """Logarithm of the density, shape (..., n), in NumPy; -inf for negative targets."""
        scale, shape = self.in_numpy()
        x = self.numbers_of(y)
        with np.errstate(divide="ignore", invalid="ignore"):  # at 0 the density is 0, or infinite
            z = np.log(np.maximum(x, 0.0) / scale)
            slope = np.where(shape == 1, 0.0, (shape - 1) * z)
            return np.where(x >= 0, np.log(shape / scale) + slope - np.exp(shape * z), -np.inf)

    def score(self, y: Array) -> np.ndarray:
        """``(shape - 1 - shape (y / scale)^shape) / y``, shape (..., n), infinite for targets that are not positive.

        Raises
        ------
        InputError
            For shapes up to 1, whose density does not fall to 0 at 0: Stein features then have no mean of zero.
        """
        shape = self.in_numpy()[1]
        if (shape <= 1).any():
            row = int(np.argmax(shape <= 1))
            raise InputError(
                f"row {row} has a shape of {shape[row]:g}, up to 1, and a density that does not fall to 0 at 0, so "
                "that its score does not average to 0: use a statistic that needs no score, such as SKCE "
                "(statistic='skce')"
            )
        x = self.numbers_of(y)
        inside = np.where(x > 0, x, 1.0)
        return np.where(x > 0, (shape - 1 - shape * self._power(y)) / inside, np.inf)

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y)."""
        return -np.expm1(-self._power(y))

    def survival(self, y: Array) -> np.ndarray:
        """P(Y > y)."""
        return np.exp(-self._power(y))

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """``scale (-log(1 - level))^(1 / shape)``."""
        scale, shape = self.in_numpy()
        with np.errstate(divide="ignore"):
            return scale * (-np.log1p(-levels)) ** (1 / shape)

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Negative targets, and 0 where the density is 0 there."""
        y, shape = np.asarray(y), self.in_numpy()[1]
        return (y < 0) | ((y == 0) & (shape > 1))

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``int exp(-z + i w s z^(1/k)) dz`` by the trapezoidal rule in log z, along a ray on which nothing swings."""
        scale, shape = (x[:, None] for x in self.in_numpy())
        w = np.abs(frequencies) * scale
        turn = np.minimum(math.pi / 3, shape * math.pi / 2)
        total = np.zeros(w.shape, dtype=np.complex128)
        for t in _PLACES:
            z = np.exp(t + 1j * turn)
            total += z * np.exp(-z + 1j * w * np.exp((t + 1j * turn) / shape))
        total *= _STEP
        return np.where(frequencies < 0, total.conj(), total)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """``y (2 F(y) - 1) - 2 m P(1 + 1/k, (y/s)^k) + m 2^(-1/k)`` with the mean m, shape k, scale s."""
        from scipy.special import gammainc, gammaln

        scale, shape = self.in_numpy()
        mean = scale * np.exp(gammaln(1 + 1 / shape))
        partial = mean * gammainc(1 + 1 / shape, self._power(y))
        return y * (2 * self.cdf(y) - 1) - 2 * partial + mean * 2 ** (-1 / shape)
