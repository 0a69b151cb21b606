"""The contract of a metric."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from kernelcal.arrays import Array

__all__ = ["Metric"]


class Metric(ABC):
    """A distance between predictions, given by coordinates in which it is an L1 or an L2 norm.

    Coordinates are all that the engines need: L2 distances come from one matrix product, L1 distances from
    one pass over the columns, and random Fourier features from either.
    """

    order: ClassVar[int]  # 1 or 2: the norm of the difference of the coordinates

    @abstractmethod
    def coordinates(self, predictions: Any) -> Array:
        """Coordinates of the predictions, shape (n, d)."""

    @abstractmethod
    def largest_exponent(self, predictions: Any) -> float:
        """Largest nu for which exp(-lambda d^nu) is positive definite for every lambda > 0, for this family."""

    def hilbertian(self, predictions: Any) -> bool:
        """Tell whether the metric is that of a Hilbert space for this family: exponents up to 2 are allowed."""
        return self.largest_exponent(predictions) >= 2
