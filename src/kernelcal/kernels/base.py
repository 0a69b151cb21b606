"""What every kernel is, a function of pairs, and the algebra of kernels."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kernelcal.arrays import Array, ArrayOps
from kernelcal.errors import InputError
from kernelcal.kernels.metrics import Metric

__all__ = [
    "Kernel",
    "Pairs",
    "Product",
    "Scaled",
    "Sum",
    "has_leaf",
    "leaves",
    "positive",
]


class Pairs(Protocol):
    """What a kernel may ask about pairs of points. Every answer belongs to the kernel: it may overwrite it.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import CrossPairs, Points
    >>> pairs = CrossPairs(Points(kc.Bernoulli([0.2, 0.7])), [0], [0, 1])
    >>> pairs.equal(), pairs.inner().round(2)
    (array([[1., 0.]]), array([[0.04, 0.14]]))
    """

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
    """A function of two points, k(x, x') = k(x', x). Add, multiply and scale kernels with ``+`` and ``*``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> 2.0 * kc.Linear() + kc.Dirac()
    Sum(left=Scaled(factor=2.0, kernel=Linear()), right=Dirac())
    """

    joint: bool = False  # whether a factor compares targets: then it is a kernel on predictions and targets together

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

    @property
    def joint(self) -> bool:  # type: ignore[override]
        """Whether a factor compares targets."""
        return self.left.joint or self.right.joint

    def positive_definite(self, points: Any) -> bool:
        """Both parts must be."""
        return self.left.positive_definite(points) and self.right.positive_definite(points)

    def map_leaves(self, function: Callable[[Kernel], Kernel]) -> Kernel:
        """Rebuild with `function` applied to the leaves."""
        return type(self)(self.left.map_leaves(function), self.right.map_leaves(function))


@dataclass(frozen=True)
class Sum(_OfTwo):
    """k + k'.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.Linear() + kc.Dirac()
    Sum(left=Linear(), right=Dirac())
    """

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
    """k * k'.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.Linear() * kc.Dirac()
    Product(left=Linear(), right=Dirac())
    """

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
    """c * k with a positive number c.

    Examples
    --------
    >>> import kernelcal as kc
    >>> 3.0 * kc.Dirac()
    Scaled(factor=3.0, kernel=Dirac())
    """

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        positive("the factor of a kernel", self.factor)

    @property
    def joint(self) -> bool:  # type: ignore[override]
        """Whether a factor compares targets."""
        return self.kernel.joint

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
    if not isinstance(value, int | float | np.integer | np.floating) or not 0 < value <= sys.float_info.max:
        raise InputError(f"{what} must be a positive finite number, got {value!r}")
