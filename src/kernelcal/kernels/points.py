"""Pairs of points as pure functions, for any array library: the plain reading of what a kernel asks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import Array, Functional, namespace, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import CoordinateView, Euclidean, Metric, MetricView, view

__all__ = ["AlignedPairs", "CrossPairs", "Points", "class_matrix", "smaller"]


class Points:
    """Predictions seen through metrics: what depends on one prediction is computed once."""

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
    """All pairs of some rows with some columns: answers have shape (rows, columns)."""

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
    """Row i of some rows with row i of some columns: answers have shape (n,)."""

    def _native(self, seen: MetricView) -> Array:
        return seen.aligned(self.rows, self.columns)

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
    """Matrix of a target kernel over the labels 0 to m - 1, shape (m, m)."""
    return np.asarray(kernel.evaluate(CrossPairs(_Labels(number), slice(None), slice(None))))
