"""Pairs of one batch or of two, in any array library: what kernels ask about points, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import Array, Functional, namespace, row_slices, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import CoordinateView, Euclidean, Metric, MetricView, PairwiseMetric, view
from kernelcal.predictions import floating

__all__ = [
    "AlignedPairs",
    "CrossPairs",
    "Points",
    "class_matrix",
    "kernel_between",
    "kernels_between",
    "smaller",
]


class Points:
    """Predictions seen through metrics: what depends on one prediction is computed once.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import Points
    >>> Points(kc.Bernoulli([0.2, 0.7])).coordinates(kc.Euclidean())
    array([[0.2],
           [0.7]])
    """

    def __init__(self, predictions: Any) -> None:
        self.predictions = predictions
        self._views: dict[Metric, MetricView] = {}
        self._coordinates: dict[Metric, Array] = {}

    def __len__(self) -> int:
        return len(self.predictions)

    @cached_property
    def library(self) -> Any:
        """Array namespace of the predictions."""
        return namespace(self.predictions.reference)

    def view(self, metric: Metric) -> MetricView:
        """Distances of all points in a metric."""
        if metric not in self._views:
            self._views[metric] = view(metric, self.predictions)
        return self._views[metric]

    def coordinates(self, metric: Metric) -> Array:
        """Coordinates of all points for a metric that has some, shape (n, d)."""
        if metric not in self._coordinates:
            self._coordinates[metric] = metric.coordinates(self.predictions)
        return self._coordinates[metric]

    def lookup(self, matrix: np.ndarray) -> Array:
        """Refuse: predictions are no class labels."""
        raise InputError("FiniteKernel is a kernel between class labels: use it as target_kernel")


@dataclass(frozen=True)
class CrossPairs:
    """All pairs of some rows with some columns: answers have shape (rows, columns).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import CrossPairs, Points
    >>> pairs = CrossPairs(Points(kc.Bernoulli([0.2, 0.7])), slice(None), slice(None))
    >>> pairs.distance(kc.Euclidean()).round(3)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """

    points: Any
    rows: Any
    columns: Any

    @cached_property
    def ops(self) -> Functional:
        """Operations of the library that holds the points."""
        return Functional(self.points.library)

    def _native(self, seen: MetricView) -> Array:
        return seen.cross(self.rows, self.columns)

    def squared_distance(self, metric: Metric) -> Array:
        """Squared distances; their gradient exists everywhere where the metric has coordinates."""
        seen = self.points.view(metric)
        value = self._native(seen)
        return value if seen.squared else value**2

    def distance(self, metric: Metric) -> Array:
        """Distances; where two points are equal the gradient is set to 0, a subgradient of the norm."""
        seen = self.points.view(metric)
        value = self._native(seen)
        return _root(value) if seen.squared else value

    def inner(self) -> Array:
        """Inner products of the Euclidean coordinates (for classes: of the probabilities)."""
        left, right = self._sides()
        return left @ right.T

    def smaller(self) -> Array:
        """Smaller one of two numbers, for points that are one number each."""
        left, right = self._sides()
        return smaller(left, right.T)

    def _sides(self) -> tuple[Array, Array]:
        x = self.points.coordinates(Euclidean())
        return take_rows(x, self.rows), take_rows(x, self.columns)

    def equal(self) -> Array:
        """1 where the Euclidean coordinates are equal, else 0."""
        distance = self.squared_distance(Euclidean())
        return namespace(distance).astype(distance == 0, distance.dtype)

    def lookup(self, matrix: np.ndarray) -> Array:
        """Entries of a matrix over class labels."""
        return self.points.lookup(matrix)[self.rows, self.columns]


class AlignedPairs(CrossPairs):
    """Row i of some rows with row i of some columns: answers have shape (n,).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import AlignedPairs, Points
    >>> pairs = AlignedPairs(Points(kc.Bernoulli([0.2, 0.7])), [0, 1], [1, 1])
    >>> pairs.distance(kc.Euclidean()).round(3)
    array([0.5, 0. ])
    """

    def _native(self, seen: MetricView) -> Array:
        return seen.aligned(self.rows, self.columns)

    @cached_property
    def ones(self) -> Array:
        """A 1 for every pair, in the library of the predictions."""
        values = take_rows(self.points.predictions.reference, self.rows)
        while values.ndim > 1:
            values = values[:, 0]
        return namespace(values).ones_like(floating(values))

    def inner(self) -> Array:
        """Inner products of the Euclidean coordinates."""
        left, right = self._sides()
        return namespace(left).sum(left * right, axis=-1)

    def smaller(self) -> Array:
        """Smaller one of two numbers, for points that are one number each."""
        left, right = self._sides()
        return smaller(left, right)[:, 0]


def smaller(left: Array, right: Array) -> Array:
    """Smaller ones of numbers, as columns or as a column and a row; refused for points of several numbers."""
    if left.shape[1] != 1:
        raise InputError(
            f"Brownian compares points of one number, here they have {left.shape[1]}: ask a question of one "
            "probability through a lens such as kernelcal.TopLabel(), or use Laplacian()"
        )
    return namespace(left).minimum(left, right)


def _root(squared: Array) -> Array:
    xp, apart = namespace(squared), squared > 0
    root = xp.sqrt(xp.where(apart, squared, xp.ones_like(squared)))
    return xp.where(apart, root, xp.zeros_like(root))


@dataclass(frozen=True)
class _Labels:
    """The class labels 0 to m - 1 as points on a line."""

    number: int

    @property
    def library(self) -> Any:
        """NumPy, looked up when asked for: its wrapper would be a third of the time to import kernelcal."""
        return namespace(np.zeros(0))

    def view(self, metric: Metric) -> MetricView:
        return CoordinateView(self.coordinates(metric), 2)

    def coordinates(self, metric: Metric) -> Array:
        if not isinstance(metric, Euclidean):
            raise InputError(
                f"{type(metric).__name__} compares predictions, not class labels: a target kernel for classes is "
                "Dirac(), FiniteKernel(matrix), or a profile with a numeric lengthscale and the Euclidean metric "
                "(for ordered classes)"
            )
        return np.arange(self.number, dtype=np.float64)[:, None]

    def lookup(self, matrix: np.ndarray) -> Array:
        if len(matrix) != self.number:
            raise InputError(f"FiniteKernel has {len(matrix)} classes, the predictions have {self.number}")
        return matrix


def class_matrix(kernel: Kernel, number: int) -> np.ndarray:
    """Matrix of a target kernel over the labels 0 to m - 1, shape (m, m).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import class_matrix
    >>> class_matrix(2.0 * kc.Dirac(), 2)
    array([[2., 0.],
           [0., 2.]])
    """
    return np.asarray(kernel.evaluate(CrossPairs(_Labels(number), slice(None), slice(None))))


_NUMBERS_AT_ONCE = 2**20  # 8 MiB of float64 while differences of coordinates are held


def kernel_between(kernel: Kernel, left: Any, right: Any) -> Array:
    """Kernel values of every prediction of one batch with every prediction of another, shape (left, right).

    The batches are not joined: a metric takes coordinates of each, or computes pair by pair. Cost: one distance a pair.
    """
    return kernels_between([kernel], left, right)[0]


def kernels_between(kernels: Sequence[Kernel], left: Any, right: Any) -> list[Array]:
    """Values of several kernels: lengthscales of one metric share its distances, which are computed once."""
    everything = slice(None)
    pairs = _Between(Points(left), everything, everything, right)
    return [kernel.evaluate(pairs) for kernel in kernels]


@dataclass(frozen=True)
class _Between(CrossPairs):
    """All pairs of one batch, the points, with another."""

    others: Any
    known: list[tuple[Metric, Array]] = field(default_factory=list)

    @cached_property
    def ops(self) -> Functional:
        """Operations of the library of both."""
        return Functional(namespace(self.points.predictions.reference, self.others.reference))

    def squared_distance(self, metric: Metric) -> Array:
        """Squared distances."""
        pairwise = metric.by_pairs(self.others)
        if pairwise is not None:
            return self._by_pairs(pairwise)
        distance = self._norms(metric)
        return distance if metric.order == 2 else distance**2

    def distance(self, metric: Metric) -> Array:
        """Distances; where two points are equal the gradient is set to 0, a subgradient of the norm."""
        for given, distance in self.known:
            if given is metric:
                return distance
        distance = self._norms(metric) if metric.order == 1 else self.ops.power(self.squared_distance(metric), 0.5)
        self.known.append((metric, distance))
        return distance

    def _sides(self) -> tuple[Array, Array]:
        return self._coordinates(Euclidean())

    def _coordinates(self, metric: Metric) -> tuple[Array, Array]:
        left = self.points.coordinates(metric)
        right = left if self.others is self.points.predictions else metric.coordinates(self.others)
        if left.shape[1] != right.shape[1]:
            raise InputError(
                f"{metric} sees {left.shape[1]} numbers in each test prediction and {right.shape[1]} in each "
                f"prediction, both {type(self.others).__name__}: give test predictions with as many draws, or let "
                "locations be a number, so that they are drawn from the predictions"
            )
        return left, right

    def _norms(self, metric: Metric) -> Array:
        """Sums of squares, or of absolute values, of the differences: some columns at a time."""
        left, right = self._coordinates(metric)
        xp, parts = namespace(left, right), []
        for part in row_slices(right.shape[0], _NUMBERS_AT_ONCE // max(1, left.shape[0] * left.shape[1])):
            difference = left[:, None, :] - right[None, part, :]
            parts.append(xp.sum(difference * difference if metric.order == 2 else xp.abs(difference), axis=-1))
        return xp.concat(parts, axis=1)

    def _by_pairs(self, metric: PairwiseMetric) -> Array:
        left, right = metric.prepare(self.points.predictions), metric.prepare(self.others)
        rows = left.map_arrays(lambda x: x[:, None, ...])
        step = _NUMBERS_AT_ONCE // max(1, len(self.points) * metric.numbers(self.others))
        parts = [
            metric.squared_distances(rows, right[part].map_arrays(lambda x: x[None, ...]))
            for part in row_slices(len(self.others), step)
        ]
        return namespace(*parts).concat(parts, axis=1)
