"""Distances between vectors of class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.kernels.metrics.base import Metric
from kernelcal.predictions import Bernoulli, ClassPredictions

__all__ = ["Hellinger", "TotalVariation"]


def _probabilities(metric: Metric, predictions: Any) -> Array:
    if isinstance(predictions, ClassPredictions):
        return predictions.probabilities
    raise InputError(
        f"{type(metric).__name__} compares class probabilities; it is not defined for {type(predictions).__name__}: "
        "use Euclidean() or kernelcal.kernels.Wasserstein()"
    )


@dataclass(frozen=True)
class TotalVariation(Metric):
    """Total variation distance, half the L1 distance: ``sum_k |p_k - p'_k| / 2``, in [0, 1].

    Its root is Hilbertian, the distance itself is not beyond two classes: exp(-d) is positive definite,
    exp(-d^2) need not be.
    """

    order: ClassVar[int] = 1

    def coordinates(self, predictions: Any) -> Array:
        """Half the probabilities (for one probability: itself)."""
        if isinstance(predictions, Bernoulli):
            return predictions.p[:, None]
        return 0.5 * _probabilities(self, predictions)

    def largest_exponent(self, predictions: Any) -> float:
        """1, or 2 for two classes, where the distance is that of a line."""
        return 2.0 if predictions.n_classes == 2 else 1.0

    def why_not(self, predictions: Any) -> str:
        """Reason and alternatives, for more than two classes."""
        if self.hilbertian(predictions):
            return ""
        return (
            "for more than two classes only the root of total variation is the distance of a Hilbert space: use "
            "Laplacian with this metric, or the metric Euclidean() or Hellinger()"
        )


@dataclass(frozen=True)
class Hellinger(Metric):
    """Hellinger distance ``|sqrt(p) - sqrt(p')| / sqrt(2)``, in [0, 1].

    Hilbertian; it stretches the corners of the simplex, where confident predictions live. Its gradient does
    not exist at a probability of 0.
    """

    order: ClassVar[int] = 2

    def coordinates(self, predictions: Any) -> Array:
        """Roots of half the probabilities."""
        probabilities = _probabilities(self, predictions)
        return namespace(probabilities).sqrt(0.5 * probabilities)

    def largest_exponent(self, predictions: Any) -> float:
        """2: Euclidean space after the root."""
        return 2.0
