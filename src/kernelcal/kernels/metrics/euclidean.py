"""Distances between the numbers that describe predictions: Euclidean, and those of class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.kernels.metrics.base import Metric
from kernelcal.predictions import Bernoulli, ClassPredictions, RealPredictions

__all__ = ["Euclidean", "Hellinger", "TotalVariation"]


@dataclass(frozen=True)
class Euclidean(Metric):
    """Euclidean distance of the probabilities, or of means and standard deviations. The default.

    Between class predictions ``|p - p'|``. For `Bernoulli` it is that of the one probability; written as two classes
    the same prediction is sqrt(2) times as far.

    Between predictions of numbers ``sqrt(|m - m'|^2 + |s - s'|^2)`` with the means m and the standard deviations s of
    the d components, in the unit of the targets. Every family has them (where a law has no variance, its `centre` and
    `width` stand in their place); for normal distributions with independent components it is the 2-Wasserstein
    distance. What means and standard deviations do not show (correlations, the shape) it does not see: two predictions
    may differ and be at distance 0.

    Notes
    -----
    Hilbertian. The fastest: one matrix product a tile. Gradients flow.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), App. D.1: the kernel between normal predictions.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.Euclidean().coordinates(kc.Normal([0.0, 1.0], [1.0, 2.0]))
    array([[0., 1.],
           [1., 2.]])
    """

    order: ClassVar[int] = 2

    def coordinates(self, predictions: Any) -> Array:
        """Probabilities, shape (n, m) (one column for `Bernoulli`), or means and standard deviations, (n, 2 d).

        Predictions that come with coordinates of their own, such as `predictions.Score`, are compared by these.
        """
        if isinstance(predictions, Bernoulli):
            return predictions.p[:, None]
        if isinstance(predictions, ClassPredictions):
            return predictions.probabilities
        if isinstance(predictions, RealPredictions):
            return _moments(predictions)
        raise InputError(
            "Euclidean compares probabilities, or means and standard deviations; "
            f"{type(predictions).__name__} has neither"
        )

    def largest_exponent(self, predictions: Any) -> float:
        """2: Euclidean space."""
        return 2.0


def _moments(predictions: RealPredictions) -> Array:
    if predictions.coordinates is not None:
        return predictions.coordinates
    shape = (len(predictions), predictions.dimension)
    mean, std = predictions.centre, predictions.width  # mean and standard deviation, where they are finite
    xp = namespace(mean, std)
    return xp.concat([xp.reshape(mean, shape), xp.reshape(std, shape)], axis=1)


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
