"""Kernels of a distance: a lengthscale, a metric, and a profile that says how they fall.

A new profile is one class here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel, positive
from kernelcal.kernels.metrics import Euclidean, Metric

__all__ = [
    "LARGEST",
    "SMALLEST",
    "Gaussian",
    "InverseMultiquadric",
    "Laplacian",
    "Matern32",
    "Matern52",
    "PowerExponential",
    "RationalQuadratic",
    "Stationary",
]


SMALLEST, LARGEST = 1e-75, 1e75  # their ratios, and squares of these, are numbers


def of_usable_size(what: str, value: Any) -> None:
    """Refuse what is not a positive number whose square and inverse square are numbers too."""
    if isinstance(value, float) and SMALLEST <= value <= LARGEST:
        return
    positive(what, value)
    if not SMALLEST <= value <= LARGEST:
        raise InputError(
            f"{what} must lie between {SMALLEST:g} and {LARGEST:g}, got {value!r}: beyond, its square leaves the range "
            "of floating numbers. Choose another unit for what it measures"
        )


@dataclass(frozen=True)
class Stationary(Kernel):
    """A kernel of the distance alone.

    Parameters
    ----------
    lengthscale : float or "median"
        Unit of distance, positive. ``"median"`` is resolved from the predictions by `median_lengthscale`.
    metric : Metric
        Distance between predictions.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import Stationary
    >>> isinstance(kc.Matern32(), Stationary), kc.Matern32().with_lengthscale(0.5).lengthscale
    (True, 0.5)
    """

    lengthscale: float | str = "median"
    metric: Metric = field(default_factory=Euclidean)

    exponent: ClassVar[float] = 2.0  # exp(-lambda d^exponent) must be positive definite for the kernel to be

    def __post_init__(self) -> None:
        if not isinstance(self.metric, Metric):
            raise InputError(f"metric must be a metric such as kernelcal.Euclidean(), got {self.metric!r}")
        if isinstance(self.lengthscale, str):
            if self.lengthscale != "median":
                raise InputError(f"lengthscale must be a number or 'median', got {self.lengthscale!r}")
        else:
            of_usable_size("lengthscale", self.lengthscale)

    @property
    def scale(self) -> float:
        """The lengthscale as a number."""
        if isinstance(self.lengthscale, str):
            raise InputError(
                "lengthscale='median' must be resolved first: kernelcal.kernels.resolve(kernel, predictions); "
                "a kernel between class labels, and one inside jax.jit, needs a number"
            )
        return float(self.lengthscale)

    def with_lengthscale(self, lengthscale: float) -> Self:
        """Copy with another lengthscale."""
        return replace(self, lengthscale=lengthscale)

    def positive_definite(self, points: Any) -> bool:
        """Tell whether the metric allows the profile's exponent for such points."""
        return self.exponent <= self.metric.largest_exponent(points)

    def bound(self) -> float:
        """Return the value at distance 0: the profiles decrease."""
        return self.amplitude

    @abstractmethod
    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs."""

    def diagonal(self, pairs: Any) -> Array:
        """Kernel values of points with themselves, whose distance is 0: the amplitude."""
        return self.amplitude * pairs.ones

    def frequencies(self, rng: np.random.Generator, size: int, dimension: int) -> np.ndarray:
        """Draw frequencies w, shape (size, d), with k = amplitude * E cos(w.(x - x')) in the metric's coordinates."""
        if self.metric.order != 2:
            raise InputError(
                f"random Fourier features of {type(self).__name__} need an L2 metric (Euclidean, Hellinger), "
                f"not {type(self.metric).__name__}: use kernelcal.Nystrom"
            )
        return rng.standard_normal((size, dimension)) * self.mixing(rng, size)[:, None] / self.scale

    def mixing(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw the random scale that makes normal frequencies those of this profile at lengthscale 1."""
        raise InputError(f"random Fourier features are not available for {type(self).__name__}: use kernelcal.Nystrom")

    @property
    def amplitude(self) -> float:
        """Value at distance 0."""
        return 1.0


@dataclass(frozen=True)
class Laplacian(Stationary):
    """Laplacian (exponential) kernel ``exp(-d / l)``: rough, sees fine structure. The default.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.Laplacian(0.5, metric=kc.TotalVariation())
    Laplacian(lengthscale=0.5, metric=TotalVariation())
    """

    exponent: ClassVar[float] = 1.0

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs."""
        factor = -1 / self.scale
        return pairs.ops.exp(pairs.ops.scale(pairs.distance(self.metric), factor))

    def mixing(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Student t with 1 degree of freedom."""
        return _student(rng, size, 1)

    def frequencies(self, rng: np.random.Generator, size: int, dimension: int) -> np.ndarray:
        """In L1 the kernel is a product over coordinates: independent Cauchy frequencies."""
        if self.metric.order == 1:
            return rng.standard_cauchy((size, dimension)) / self.scale
        return super().frequencies(rng, size, dimension)


@dataclass(frozen=True)
class Gaussian(Stationary):
    """Gaussian (squared exponential) kernel ``exp(-d^2 / (2 l^2))``: smooth.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.skce([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], prediction_kernel=kc.Gaussian(0.3))), 4)
    -0.0237
    """

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs."""
        factor = -0.5 / self.scale**2
        return pairs.ops.exp(pairs.ops.scale(pairs.squared_distance(self.metric), factor))

    def mixing(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """No mixing: the frequencies are normal."""
        return np.ones(size)


@dataclass(frozen=True)
class PowerExponential(Stationary):
    """Power-exponential kernel ``exp(-(d / l)^nu)`` with 0 < nu <= 2; nu = 1 is the Laplacian.

    Parameters
    ----------
    lengthscale, metric
        As for every profile.
    power : float
        Exponent nu.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kernel = kc.PowerExponential(0.3, power=0.5)
    >>> round(float(kc.skce([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], prediction_kernel=kernel)), 4)
    -0.0179
    """

    power: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.power <= 2:
            raise InputError(
                f"power must lie in (0, 2], got {self.power!r}: beyond 2 the kernel is not positive definite"
            )

    def positive_definite(self, points: Any) -> bool:
        """Tell whether the metric allows this power."""
        return self.power <= self.metric.largest_exponent(points)

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs: from d^2, since only even powers are smooth at distance 0."""
        ops = pairs.ops
        if self.power == 2:
            return ops.exp(ops.scale(pairs.squared_distance(self.metric), -1 / self.scale**2))
        scaled = ops.scale(pairs.distance(self.metric), 1 / self.scale)
        return ops.exp(ops.scale(ops.power(scaled, self.power), -1.0))


@dataclass(frozen=True)
class Matern32(Stationary):
    """Matern kernel of smoothness 3/2: ``(1 + t) exp(-t)``, t = sqrt(3) d / l.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.skce([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], prediction_kernel=kc.Matern32(0.3))), 4)
    -0.0151
    """

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs."""
        ops = pairs.ops
        t = ops.scale(pairs.distance(self.metric), math.sqrt(3) / self.scale)
        decay = ops.exp(ops.scale(ops.copy(t), -1.0))
        return ops.multiply(ops.shift(t, 1.0), decay)

    def mixing(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Student t with 3 degrees of freedom."""
        return _student(rng, size, 3)


@dataclass(frozen=True)
class Matern52(Stationary):
    """Matern kernel of smoothness 5/2: ``(1 + t + t^2 / 3) exp(-t)``, t = sqrt(5) d / l.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.skce([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], prediction_kernel=kc.Matern52(0.3))), 4)
    -0.0176
    """

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs: ``(1 + t (1 + t / 3)) exp(-t)``, t times the decay first, which holds any t."""
        ops = pairs.ops
        t = ops.scale(pairs.distance(self.metric), math.sqrt(5) / self.scale)
        decay = ops.exp(ops.scale(ops.copy(t), -1.0))
        slope = ops.multiply(ops.copy(t), decay)
        return ops.add(ops.multiply(ops.shift(ops.scale(t, 1 / 3), 1.0), slope), decay)

    def mixing(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Student t with 5 degrees of freedom."""
        return _student(rng, size, 5)


_LARGEST_POWER = 1000  # beyond, the kernel is a Gaussian to all digits that count


@dataclass(frozen=True)
class InverseMultiquadric(Stationary):
    """Inverse multiquadric kernel ``(c^2 + d^2 / l^2)^beta`` with beta < 0: heavy tails.

    Parameters
    ----------
    lengthscale, metric
        As for every profile.
    beta : float
        Exponent, negative, default -1/2; -1 is that of Glaser et al. (2023), section 2.1. As a target kernel of `KCCSD`
        exponents between -1 and 0 are those for which a Stein discrepancy is known to control convergence.
    offset : float
        c, default 1.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.skce([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], prediction_kernel=kc.InverseMultiquadric(0.3))), 4)
    -0.0388
    """

    beta: float = -0.5
    offset: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        of_usable_size("offset", self.offset)
        if not isinstance(self.beta, int | float | np.number) or not -_LARGEST_POWER < self.beta < 0:
            raise InputError(f"beta must be a negative number above -{_LARGEST_POWER}, got {self.beta!r}")

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs."""
        ops = pairs.ops
        scaled = ops.scale(pairs.squared_distance(self.metric), 1 / self.scale**2)
        return ops.power(ops.shift(scaled, self.offset**2), self.beta)

    def mixing(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Root of a gamma variable: the kernel is a mixture of Gaussians."""
        return np.sqrt(2 * rng.gamma(-self.beta, 1 / self.offset**2, size))

    @property
    def amplitude(self) -> float:
        """Value at distance 0."""
        return self.offset ** (2 * self.beta)


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """Rational quadratic kernel ``(1 + d^2 / (2 alpha l^2))^(-alpha)``: a mixture of Gaussian lengthscales.

    Parameters
    ----------
    lengthscale, metric
        As for every profile.
    alpha : float
        Shape, default 1; towards infinity the Gaussian.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.skce([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], prediction_kernel=kc.RationalQuadratic(0.3))), 4)
    -0.0331
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        of_usable_size("alpha", self.alpha)

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs."""
        ops = pairs.ops
        scaled = ops.scale(pairs.squared_distance(self.metric), 0.5 / (self.alpha * self.scale**2))
        return ops.power(ops.shift(scaled, 1.0), -self.alpha)

    def mixing(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Root of a gamma variable of mean 1."""
        return np.sqrt(rng.gamma(self.alpha, 1 / self.alpha, size))


def _student(rng: np.random.Generator, size: int, freedom: int) -> np.ndarray:
    return np.sqrt(freedom / rng.chisquare(freedom, size))
