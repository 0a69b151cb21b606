"""Distances between predictions: what engines ask of a metric, by coordinates or pair by pair; those of coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, namespace, row_slices, take_rows, to_double
from kernelcal.errors import InputError
from kernelcal.predictions import Bernoulli, ClassPredictions, RealPredictions

__all__ = [
    "CLOSE",
    "ROUNDED_CLOSE",
    "CoordinateView",
    "Euclidean",
    "Hellinger",
    "Metric",
    "MetricView",
    "PairwiseMetric",
    "PairwiseView",
    "TotalVariation",
    "above_rounding",
    "in_double",
    "left_factor",
    "repair",
    "right_factor",
    "squares",
    "view",
]


class Metric(ABC):
    """A distance between predictions, given by coordinates in which it is an L1 or an L2 norm.

    Coordinates are all that the engines need: L2 distances come from one matrix product, L1 distances from
    one pass over the columns, and random Fourier features from either. A distance without coordinates is a
    `PairwiseMetric`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> p = kc.Categorical([[0.2, 0.8]])
    >>> kc.Hellinger().hilbertian(p), kc.TotalVariation().hilbertian(p)
    (True, True)
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

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import PairwiseMetric
    >>> isinstance(kc.MMD(kc.Gaussian(1.0)), PairwiseMetric), isinstance(kc.Euclidean(), PairwiseMetric)
    (True, False)
    """

    order: ClassVar[int] = 2

    @abstractmethod
    def squared_distances(self, p: Any, q: Any) -> Array:
        """Squared distances between what `prepare` made of predictions."""

    def prepare(self, predictions: Any) -> Any:
        """Do what depends on one prediction alone; the answer has rows, a length and `map_arrays`, as predictions."""
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

    Examples
    --------
    >>> import kernelcal as kc
    >>> kernel = kc.Laplacian(0.5, metric=kc.TotalVariation())
    >>> round(float(kc.skce([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], prediction_kernel=kernel)), 4)
    -0.0264
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

    Examples
    --------
    >>> import kernelcal as kc
    >>> kernel = kc.Gaussian(0.3, metric=kc.Hellinger())
    >>> round(float(kc.skce([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], prediction_kernel=kernel)), 4)
    -0.0422
    """

    order: ClassVar[int] = 2

    def coordinates(self, predictions: Any) -> Array:
        """Roots of half the probabilities."""
        probabilities = _probabilities(self, predictions)
        return namespace(probabilities).sqrt(0.5 * probabilities)

    def largest_exponent(self, predictions: Any) -> float:
        """2: Euclidean space after the root."""
        return 2.0


_NUMBERS_AT_ONCE = 2**19  # 4 MiB of float64 while pairs are computed


# Below this share of |x|^2 + |z|^2 the matrix product has lost too many digits of d^2 to cancellation, and
# d^2 is taken from differences: relative errors of d^2 stay below 1e-10 (float64) and 1e-4 (float32).
CLOSE = {np.dtype(np.float64): 4e-6, np.dtype(np.float32): 1e-3}
ROUNDED_CLOSE = 1e-7  # the same for products in float64 that are rounded to float32: errors of d^2 below 1e-8


def squares(x: np.ndarray) -> np.ndarray:
    """|x|^2 of every row."""
    return np.einsum("ij,ij->i", x, x)


def left_factor(x: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """Rows ``(-2 x, |x|^2, 1)``."""
    return np.hstack([-2 * x, squared[:, None], np.ones_like(squared)[:, None]])


def right_factor(z: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """Columns ``(z, 1, |z|^2)``, whose products with the rows are squared distances."""
    return np.ascontiguousarray(np.hstack([z, np.ones_like(squared)[:, None], squared[:, None]]).T)


def repair(values: np.ndarray, x: np.ndarray, z: np.ndarray, bound: float) -> None:
    """Take squared distances up to a bound, a share `CLOSE` of the largest |x|^2 + |z|^2, from differences."""
    if not values.min(initial=np.inf) <= bound:
        return
    i, j = np.divmod(np.flatnonzero(values.ravel() <= bound), values.shape[1])  # quicker than `nonzero` of rows
    for part in range(0, len(i), max(1, values.size // 16)):  # many equal rows: a part of the pairs at a time
        at = slice(part, part + max(1, values.size // 16))
        values[i[at], j[at]] = squares(x[i[at]] - z[j[at]])


class MetricView(ABC):
    """Distances of some rows with some columns: slices or integer arrays of positions.

    Attributes
    ----------
    squared : bool
        Whether `cross` and `aligned` give squared distances, where these are what the metric computes.
    """

    squared: bool

    @abstractmethod
    def cross(self, rows: Any, columns: Any) -> Array:
        """All pairs, shape (rows, columns)."""

    @abstractmethod
    def aligned(self, rows: Any, columns: Any) -> Array:
        """Pair by pair, shape (n,)."""


class CoordinateView(MetricView):
    """Coordinates x of shape (n, d), whose L1 or L2 norm of differences is the distance.

    Differences are exact for close points, and the gradient of d^2 exists everywhere.
    """

    def __init__(self, x: Array, order: int) -> None:
        self.x, self.squared = x, order == 2

    def cross(self, rows: Any, columns: Any) -> Array:
        """All pairs."""
        return self._norm(take_rows(self.x, rows)[:, None, :] - take_rows(self.x, columns)[None, :, :])

    def aligned(self, rows: Any, columns: Any) -> Array:
        """Pair by pair."""
        return self._norm(take_rows(self.x, rows) - take_rows(self.x, columns))

    def _norm(self, difference: Array) -> Array:
        xp = namespace(difference)
        return xp.sum(difference * difference if self.squared else xp.abs(difference), axis=-1)


class PairwiseView(MetricView):
    """Predictions prepared for a pairwise metric; pairs are computed a few at a time, in bounded memory."""

    def __init__(self, metric: PairwiseMetric, predictions: Any) -> None:
        self.metric, self.prepared, self.squared = metric, metric.prepare(predictions), True
        self.at_once = max(1, _NUMBERS_AT_ONCE // max(1, metric.numbers(predictions)))

    def cross(self, rows: Any, columns: Any) -> Array:
        """All pairs: strips of columns, and of rows inside."""
        p, q = self.prepared[rows], self.prepared[columns]
        strips = []
        for strip in _slices(len(q), self.at_once):
            right = q[strip].map_arrays(lambda x: x[None, ...])
            parts = _slices(len(p), self.at_once // max(1, strip.stop - strip.start))
            pieces = [self.metric.squared_distances(p[part].map_arrays(_as_rows), right) for part in parts]
            strips.append(_joined(pieces, 0))
        return _joined(strips, 1)

    def aligned(self, rows: Any, columns: Any) -> Array:
        """Pair by pair."""
        p, q = self.prepared[rows], self.prepared[columns]
        parts = _slices(len(p), self.at_once)
        return _joined([self.metric.squared_distances(p[part], q[part]) for part in parts], 0)


def view(metric: Metric, predictions: Any) -> MetricView:
    """See predictions through a metric: what depends on single predictions is done here, once."""
    pairwise = metric.by_pairs(predictions)
    if pairwise is not None:
        return PairwiseView(pairwise, predictions)
    return CoordinateView(metric.coordinates(predictions), metric.order)


def in_double(predictions: Any) -> Any:
    """Copy of the predictions in NumPy and float64."""
    return predictions.map_arrays(to_double)


def _as_rows(x: Array) -> Array:
    return x[:, None, ...]


def _slices(n: int, step: int) -> list[slice]:
    return row_slices(n, step) or [slice(0, 0)]


def _joined(parts: list[Array], axis: int) -> Array:
    return parts[0] if len(parts) == 1 else namespace(*parts).concat(parts, axis=axis)
