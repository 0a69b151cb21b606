"""Pairs of points as pure functions, for any array library: the plain reading of what a kernel asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, Functional, namespace, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import Euclidean, Metric

__all__ = ["AlignedPairs", "CrossPairs", "Points", "class_matrix"]


class Points:
    """Predictions seen through metrics: the coordinates of every metric, computed once."""

    def __init__(self, predictions: Any) -> None:
        self.predictions = predictions
        self._coordinates: dict[Metric, Array] = {}

    def __len__(self) -> int:
        return len(self.predictions)

    def coordinates(self, metric: Metric) -> Array:
        """Coordinates of all points for a metric, shape (n, d)."""
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

    @property
    def ops(self) -> Functional:
        """Operations of the library that holds the points."""
        return Functional(namespace(self._sides(Euclidean())[0]))

    def _sides(self, metric: Metric) -> tuple[Array, Array]:
        x = self.points.coordinates(metric)
        return take_rows(x, self.rows), take_rows(x, self.columns)

    def _differences(self, metric: Metric) -> tuple[Any, Array]:
        left, right = self._sides(metric)
        return namespace(left), left[:, None, :] - right[None, :, :]

    def squared_distance(self, metric: Metric) -> Array:
        """Squared distances from differences: exact for close points, and its gradient exists everywhere."""
        xp, difference = self._differences(metric)
        if metric.order == 1:
            return xp.sum(xp.abs(difference), axis=-1) ** 2
        return xp.sum(difference * difference, axis=-1)

    def distance(self, metric: Metric) -> Array:
        """Distances; where two points are equal the gradient is set to 0, a subgradient of the norm."""
        xp, difference = self._differences(metric)
        if metric.order == 1:
            return xp.sum(xp.abs(difference), axis=-1)
        squared = xp.sum(difference * difference, axis=-1)
        apart = squared > 0
        root = xp.sqrt(xp.where(apart, squared, xp.ones_like(squared)))
        return xp.where(apart, root, xp.zeros_like(root))

    def inner(self) -> Array:
        """Inner products of the probabilities."""
        left, right = self._sides(Euclidean())
        return left @ right.T

    def equal(self) -> Array:
        """1 where the points are equal, else 0."""
        xp, difference = self._differences(Euclidean())
        return xp.astype(xp.all(difference == 0, axis=-1), difference.dtype)

    def lookup(self, matrix: np.ndarray) -> Array:
        """Entries of a matrix over class labels."""
        return self.points.lookup(matrix)[self.rows, self.columns]


class AlignedPairs(CrossPairs):
    """Row i of some rows with row i of some columns: answers have shape (n,)."""

    def _differences(self, metric: Metric) -> tuple[Any, Array]:
        left, right = self._sides(metric)
        return namespace(left), left - right

    def inner(self) -> Array:
        """Inner products of the probabilities."""
        left, right = self._sides(Euclidean())
        return namespace(left).sum(left * right, axis=-1)


@dataclass(frozen=True)
class _Labels:
    """The class labels 0 to m - 1 as points on a line."""

    number: int

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
