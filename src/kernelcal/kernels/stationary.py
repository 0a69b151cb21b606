"""What the profiles share: a lengthscale, a metric, and how random frequencies are drawn."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel, positive
from kernelcal.kernels.metrics import Euclidean, Metric

__all__ = ["Stationary"]


@dataclass(frozen=True)
class Stationary(Kernel):
    """A kernel of the distance alone.

    Parameters
    ----------
    lengthscale : float or "median"
        Unit of distance, positive. ``"median"`` is resolved from the predictions by `median_lengthscale`.
    metric : Metric
        Distance between predictions.
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
            positive("lengthscale", self.lengthscale)

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
