"""The contract of a metric: by coordinates, or by pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError

__all__ = ["Metric", "PairwiseMetric", "above_rounding"]


class Metric(ABC):
    """A distance between predictions, given by coordinates in which it is an L1 or an L2 norm.

    Coordinates are all that the engines need: L2 distances come from one matrix product, L1 distances from
    one pass over the columns, and random Fourier features from either. A distance without coordinates is a
    `PairwiseMetric`.
    """

    order: ClassVar[int]  # 1 or 2: the norm of the difference of the coordinates

    @abstractmethod
    def coordinates(self, predictions: Any) -> Array:
        """Coordinates of the predictions, shape (n, d)."""

    @abstractmethod
    def largest_exponent(self, predictions: Any) -> float:
        """Largest nu for which exp(-lambda d^nu) is known to be positive definite for every lambda > 0.

        The answer is for this family; 0 means that it is not known for any nu.
        """

    def hilbertian(self, predictions: Any) -> bool:
        """Tell whether the metric is that of a Hilbert space for this family: exponents up to 2 are allowed."""
        return self.largest_exponent(predictions) >= 2

    def why_not(self, predictions: Any) -> str:
        """Why the metric is not known to be that of a Hilbert space for this family, and what is; empty if it is."""
        if self.hilbertian(predictions):
            return ""
        return (
            f"{type(self).__name__}() allows powers of the distance up to {self.largest_exponent(predictions):g} only: "
            "use Laplacian with this metric, or the metric Euclidean()"
        )

    def resolved(self, predictions: Any) -> Self:
        """Return the metric with what it takes from a whole batch, such as a base measure, fixed as numbers."""
        return self

    def by_pairs(self, predictions: Any) -> PairwiseMetric | None:
        """Return the metric that computes distances of this family pair by pair, or None where coordinates do."""
        return None


class PairwiseMetric(Metric):
    """A distance between predictions without coordinates: it is computed pair by pair.

    Predictions come with leading axes that broadcast, as for embeddings: arrays of shape (rows, 1, ...) beside
    (1, columns, ...) give all pairs, equal shapes give pair by pair. A formula is therefore written for one pair.
    """

    order: ClassVar[int] = 2

    @abstractmethod
    def squared_distances(self, p: Any, q: Any) -> Array:
        """Squared distances between what `prepare` made of predictions."""

    def prepare(self, predictions: Any) -> Any:
        """Do what depends on one prediction alone; the answer has rows, `len` and `map_arrays` as predictions have."""
        return predictions

    def numbers(self, predictions: Any) -> int:
        """How many numbers are held at once while one pair is computed: blocks of pairs are sized by it."""
        return int(predictions.columns)

    def by_pairs(self, predictions: Any) -> PairwiseMetric | None:
        """Return this metric: it always computes pair by pair."""
        return self

    def coordinates(self, predictions: Any) -> Array:
        """Refuse: there are none."""
        raise InputError(
            f"{type(self).__name__} computes distances pair by pair and has no coordinates, which random Fourier "
            "features need: use kernelcal.Nystrom, or the metric Euclidean()"
        )


def above_rounding(squared: Array, scale: Array) -> Array:
    """Squared distances that came from a difference of numbers of size `scale`; 0 where they drown in its rounding.

    Equal predictions are then exactly at distance 0, and no root of a negative number is taken.
    """
    xp = namespace(squared)
    drowned = squared <= 16 * float(xp.finfo(squared.dtype).eps) * scale
    return xp.where(drowned, xp.zeros_like(squared), squared)
