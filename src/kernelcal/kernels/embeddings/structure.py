"""Step one of a plan: the structure of the kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

from kernelcal.arrays import Array
from kernelcal.kernels.base import Kernel, Product, Scaled, Sum
from kernelcal.kernels.coordinatewise import Coordinatewise
from kernelcal.kernels.embeddings.base import Embedding, indented
from kernelcal.kernels.embeddings.batches import bare
from kernelcal.kernels.embeddings.elementwise import add, operations
from kernelcal.kernels.profiles import Gaussian
from kernelcal.predictions import Normal

__all__ = ["OfSum", "OverCoordinates", "Times", "merged", "normal_coordinate"]


def merged(kernel: Kernel, event_ndim: int) -> Kernel:
    """Write a kernel more simply: a product of Gaussians is a Gaussian, one over coordinates is one of vectors."""
    if isinstance(kernel, Sum):
        return Sum(merged(kernel.left, event_ndim), merged(kernel.right, event_ndim))
    if isinstance(kernel, Scaled):
        return Scaled(kernel.factor, merged(kernel.kernel, event_ndim))
    if isinstance(kernel, Coordinatewise):
        inside = merged(kernel.kernel, 0)
        return inside if event_ndim == 0 or type(inside) is Gaussian else Coordinatewise(inside)
    if isinstance(kernel, Product):
        return _product(merged(kernel.left, event_ndim), merged(kernel.right, event_ndim))
    return kernel


def _product(left: Kernel, right: Kernel) -> Kernel:
    if type(left) is Gaussian and type(right) is Gaussian and left.metric == right.metric:
        return left.with_lengthscale(left.scale * right.scale / math.hypot(left.scale, right.scale))
    return Product(left, right)


@dataclass(frozen=True)
class OfSum(Embedding):
    """k + k': sums of expectations."""

    left: Embedding
    right: Embedding

    def mean(self, p: Any, y: Array) -> Array:
        """E k(Z, y)."""
        return add(self.left.mean(p, y), self.right.mean(p, y))

    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z')."""
        return add(self.left.cross(p, q), self.right.cross(p, q))

    def describe(self) -> tuple[str, ...]:
        """The parts below."""
        return ("sum of", *indented((self.left, self.right)))


@dataclass(frozen=True)
class Times(Embedding):
    """c k: expectations times c."""

    factor: float
    part: Embedding

    def mean(self, p: Any, y: Array) -> Array:
        """E k(Z, y)."""
        return self._scaled(self.part.mean(p, y))

    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z')."""
        return self._scaled(self.part.cross(p, q))

    def _scaled(self, values: Array) -> Array:
        return operations(values).scale(values, self.factor)

    def describe(self) -> tuple[str, ...]:
        """The part below."""
        return (f"{self.factor:g} times", *indented((self.part,)))


@dataclass(frozen=True)
class OverCoordinates(Embedding):
    """Kernel and prediction are products over the coordinates: so are the expectations."""

    inside: Embedding
    label: str

    def mean(self, p: Any, y: Array) -> Array:
        """E k(Z, y)."""
        return _product_of(self.inside.mean(normal_coordinate(p, k), y[..., k]) for k in range(y.shape[-1]))

    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z')."""
        parts = range(p.mean.shape[-1])
        return _product_of(self.inside.cross(normal_coordinate(p, k), normal_coordinate(q, k)) for k in parts)

    def crossing(self, other: Embedding) -> Any:
        """All families with independent normal coordinates meet in their coordinates."""
        return self.cross if isinstance(other, OverCoordinates) else None

    def describe(self) -> tuple[str, ...]:
        """The kernel inside below."""
        return (f"product over the independent coordinates of {self.label}, each", *indented((self.inside,)))


def _product_of(factors: Any) -> Array:
    return reduce(lambda x, y: operations(x).multiply(x, y), factors)


def normal_coordinate(p: Any, k: int) -> Any:
    """Coordinate k of normal predictions whose coordinates are independent."""
    return bare(Normal, mean=p.mean[..., k], std=p.std[..., k])
