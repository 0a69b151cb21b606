"""What the families for numbers share: scalars, counts and vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kernelcal.arrays import Array, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions

__all__ = ["RealPredictions"]


class RealPredictions(Predictions):
    """Predictions of a number or of a vector of numbers.

    Targets have shape ``(n, *event_shape)``; every method that takes targets also takes many sets of them, shape
    ``(..., n, *event_shape)``. A family must say how to draw, its mean and its standard deviation; the rest is defined
    where it exists and raises `InputError` elsewhere.

    Attributes
    ----------
    mean, std : array of shape ``(n, *event_shape)``
        Mean and standard deviation of every component of every prediction: fields, or properties.
    counts : bool
        Whether targets are whole numbers from 0.
    question : str or None
        What is asked, where it is not the target itself.
    coordinates : array of shape (n, k), or None
        Numbers that describe the predictions, for the Euclidean metric, in place of mean and standard deviation.
    """

    counts: ClassVar[bool] = False
    question: str | None = None
    notes: tuple[str, ...] = ()
    coordinates: Array | None = None

    if TYPE_CHECKING:  # a family has it as a field or as a property

        @property
        def std(self) -> Array:
            """Standard deviation of every component of every target."""

    @property
    def dimension(self) -> int:
        """Number of numbers in one target."""
        return int(np.prod(self.event_shape, dtype=np.int64))

    @property
    def described(self) -> bool:
        """Whether mean and standard deviation are known; those of a score function need draws or a sampler."""
        return True

    @property
    def columns(self) -> int:
        """Mean and standard deviation of every component."""
        return 2 * self.dimension

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the predicted density (probability of a count) of the targets, shape (..., n)."""
        raise self._without("density")

    def score(self, y: Array) -> Array:
        """Gradient of the logarithm of the density at the targets, shape ``(..., n, *event_shape)``."""
        raise self._without_score("no smooth density")

    def unnormalized_log_prob(self, y: Array) -> Array:
        """Log densities of which a constant a row may be missing; here none is."""
        return self.log_prob(y)

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y) for scalar targets, shape (..., n)."""
        raise self._without("distribution function")

    def cdf_below(self, y: Array) -> np.ndarray:
        """P(Y < y) for scalar targets: less than `cdf` where a value has a probability of its own."""
        return self.cdf(y)

    def quantile(self, levels: Any) -> np.ndarray:
        """Smallest value whose distribution function reaches the levels: a scalar, or an array of shape (..., n).

        Levels lie in [0, 1]; several of them for every row have shape (k, 1).
        """
        return self._quantile(checked_probabilities(levels, len(self)))

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Quantiles at levels that are checked, of shape () or one that broadcasts with (..., n): a family's own."""
        raise self._without("quantiles")

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """E exp(i w.Z) for frequencies of shape (D,), or (D, d) for vectors: complex, shape (n, D)."""
        raise self._without("characteristic function")

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Tell which targets the predictions had ruled out, shape (..., n)."""
        return np.zeros(np.shape(y)[: np.ndim(y) - len(self.event_shape)], dtype=bool)

    def standardised(self, y: np.ndarray) -> np.ndarray:
        """Targets minus mean in standard deviations; 0 for a prediction without spread."""
        mean, std = (to_numpy(x).astype(np.float64) for x in (self.mean, self.std))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(std > 0, (y - mean) / std, 0.0)

    def _without(self, what: str) -> InputError:
        return InputError(f"{type(self).__name__} has no {what}: use a statistic or score that does not need it")

    def _without_score(self, reason: str) -> InputError:
        return InputError(
            f"{type(self).__name__} has {reason}, and so no score, the gradient of the log density: use a statistic "
            "that needs none, such as SKCE (statistic='skce'); Normal, Laplace, MultivariateNormal and their mixtures "
            "have scores, and kernelcal.predictions.Score(function) takes any"
        )


def checked_probabilities(levels: Any, n: int) -> np.ndarray:
    """Return levels of quantiles of n rows as float64."""
    try:
        values = np.asarray(levels, dtype=np.float64)
        np.broadcast_shapes(values.shape, (n,))
    except (TypeError, ValueError):
        raise InputError(
            f"levels must be one probability, one for each of the {n:,} rows, or shape (k, 1) for k levels of every "
            f"row, got {_brief(levels)}"
        ) from None
    if not np.all((values >= 0) & (values <= 1)):
        wrong = values[~((values >= 0) & (values <= 1))].flat[0]
        raise InputError(f"levels of quantiles are probabilities in [0, 1], got {wrong:g}: write 0.9 for 90 %")
    return values


def _brief(levels: Any) -> str:
    shape = np.shape(levels) if isinstance(levels, np.ndarray) else None
    return f"an array of shape {shape}" if shape else repr(levels)[:80]
