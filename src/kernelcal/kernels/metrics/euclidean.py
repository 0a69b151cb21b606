"""Euclidean distance between the numbers that describe predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.kernels.metrics.base import Metric
from kernelcal.predictions import Bernoulli, ClassPredictions, RealPredictions

__all__ = ["Euclidean"]


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
