"""What every kernel is, a function of the pairs it is asked about; its algebra, and pairs in any array library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from kernelcal.arrays import Array, ArrayOps, Functional, namespace, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels.metrics import CoordinateView, Euclidean, Metric, MetricView, view
from kernelcal.predictions import floating

__all__ = [
    "CLOSE",
    "AlignedPairs",
    "CrossPairs",
    "Kernel",
    "Pairs",
    "Points",
    "Product",
    "Scaled",
    "Sum",
    "class_matrix",
    "has_leaf",
    "leaves",
    "left_factor",
    "positive",
    "repair",
    "right_factor",
    "smaller",
    "squares",
]


# Below this share of |x|^2 + |z|^2 the matrix product has lost too many digits of d^2 to cancellation, and
# d^2 is taken from differences: relative errors of d^2 stay below 1e-10 (float64) and 1e-4 (float32).
CLOSE = {np.dtype(np.float64): 4e-6, np.dtype(np.float32): 1e-3}


class Pairs(Protocol):
    """What a kernel may ask about pairs of points. Every answer belongs to the kernel: it may overwrite it."""

    @property
    def ops(self) -> ArrayOps:
        """Operations of the array library, in place or functional."""

    def distance(self, metric: Metric) -> Array:
        """Distances d."""

    def squared_distance(self, metric: Metric) -> Array:
        """Squared distances d^2 (no root is taken where the metric has none)."""

    def inner(self) -> Array:
        """Inner products."""

    def smaller(self) -> Array:
        """Smaller one of two numbers, for points that are one number each."""

    def equal(self) -> Array:
        """1 where the points are equal, else 0."""

    def lookup(self, matrix: np.ndarray) -> Array:
        """Entries of a matrix over the classes (pairs of class labels only)."""


class Kernel(ABC):
    """A function of two points, k(x, x') = k(x', x). Add, multiply and scale kernels with ``+`` and ``*``."""

    @abstractmethod
    def evaluate(self, pairs: Pairs) -> Array:
        """Kernel values of the pairs."""

    def diagonal(self, pairs: Any) -> Array:
        """Kernel values of points with themselves; `pairs` are such."""
        return self.evaluate(pairs)

    @abstractmethod
    def positive_definite(self, points: Any) -> bool:
        """Tell whether every Gram matrix over such points is known to be positive semi-definite."""

    @abstractmethod
    def bound(self) -> float:
        """Return a bound of the absolute value over all predictions, for bounds of p-values."""

    def map_leaves(self, function: Callable[[Kernel], Kernel]) -> Kernel:
        """Rebuild the kernel with `function` applied to its leaves (the kernels without parts)."""
        return function(self)

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(float(other), self) if isinstance(other, int | float | np.number) else NotImplemented

    __rmul__ = __mul__


@dataclass(frozen=True)
class _OfTwo(Kernel):
    """What a sum and a product share: two parts, both of which must be positive definite."""

    left: Kernel
    right: Kernel

    def positive_definite(self, points: Any) -> bool:
        """Both parts must be."""
        return self.left.positive_definite(points) and self.right.positive_definite(points)

    def map_leaves(self, function: Callable[[Kernel], Kernel]) -> Kernel:
        """Rebuild with `function` applied to the leaves."""
        return type(self)(self.left.map_leaves(function), self.right.map_leaves(function))


@dataclass(frozen=True)
class Sum(_OfTwo):
    """k + k'."""

    def __str__(self) -> str:
        return f"{self.left} + {self.right}"

    def evaluate(self, pairs: Pairs) -> Array:
        """Kernel values of the pairs."""
        return pairs.ops.add(self.left.evaluate(pairs), self.right.evaluate(pairs))

    def bound(self) -> float:
        """Sum of the bounds."""
        return self.left.bound() + self.right.bound()


@dataclass(frozen=True)
class Product(_OfTwo):
    """k * k'."""

    def __str__(self) -> str:
        return " * ".join(f"({k})" if isinstance(k, Sum) else str(k) for k in (self.left, self.right))

    def evaluate(self, pairs: Pairs) -> Array:
        """Kernel values of the pairs."""
        return pairs.ops.multiply(self.left.evaluate(pairs), self.right.evaluate(pairs))

    def bound(self) -> float:
        """Product of the bounds."""
        return self.left.bound() * self.right.bound()


@dataclass(frozen=True)
class Scaled(Kernel):
    """c * k with a positive number c."""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        positive("the factor of a kernel", self.factor)

    def evaluate(self, pairs: Pairs) -> Array:
        """Kernel values of the pairs."""
        return pairs.ops.scale(self.kernel.evaluate(pairs), self.factor)

    def bound(self) -> float:
        """Return the bound, scaled."""
        return self.factor * self.kernel.bound()

    def positive_definite(self, points: Any) -> bool:
        """As the kernel that is scaled."""
        return self.kernel.positive_definite(points)

    def map_leaves(self, function: Callable[[Kernel], Kernel]) -> Kernel:
        """Rebuild with `function` applied to the leaves."""
        return Scaled(self.factor, self.kernel.map_leaves(function))


def leaves(*kernels: Kernel) -> list[Kernel]:
    """Leaves of kernels, the parts that have no parts, in their order."""
    found: list[Kernel] = []

    def leaf(k: Kernel) -> Kernel:
        found.append(k)
        return k

    for kernel in kernels:
        kernel.map_leaves(leaf)
    return found


def has_leaf(kernel: Kernel, kind: type[Kernel]) -> bool:
    """Tell whether a kernel has a part of a kind."""
    return any(isinstance(leaf, kind) for leaf in leaves(kernel))


def positive(what: str, value: Any) -> None:
    """Refuse what is not a positive finite number."""
    if not isinstance(value, int | float | np.integer | np.floating) or not 0 < value < float("inf"):
        raise InputError(f"{what} must be a positive finite number, got {value!r}")


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
    """Matrix of a target kernel over the labels 0 to m - 1, shape (m, m)."""
    return np.asarray(kernel.evaluate(CrossPairs(_Labels(number), slice(None), slice(None))))


def squares(x: np.ndarray) -> np.ndarray:
    """|x|^2 of every row."""
    return np.einsum("ij,ij->i", x, x)


def left_factor(x: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """Rows ``(-2 x, |x|^2, 1)``."""
    return np.hstack([-2 * x, squared[:, None], np.ones_like(squared)[:, None]])


def right_factor(z: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """Columns ``(z, 1, |z|^2)``, whose products with the rows are squared distances."""
    return np.ascontiguousarray(np.hstack([z, np.ones_like(squared)[:, None], squared[:, None]]).T)


def repair(values: np.ndarray, x: np.ndarray, z: np.ndarray, scale: float) -> None:
    """Take the distances of close pairs from differences; `scale` is the largest |x|^2 + |z|^2."""
    bound = CLOSE[values.dtype] * scale
    if not values.min(initial=np.inf) <= bound:
        return
    i, j = np.nonzero(values <= bound)
    for part in range(0, len(i), max(1, values.size // 16)):  # many equal rows: a part of the pairs at a time
        at = slice(part, part + max(1, values.size // 16))
        values[i[at], j[at]] = squares(x[i[at]] - z[j[at]])
