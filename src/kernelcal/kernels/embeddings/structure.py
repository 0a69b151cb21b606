"""Steps one and two of a plan: the structure of the kernel, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel, Product, Scaled, Sum
from kernelcal.kernels.embeddings.base import Cross, Embedding, add, bare, indented, operations
from kernelcal.kernels.profiles import Gaussian
from kernelcal.kernels.simple import Coordinatewise
from kernelcal.predictions import Mixture, Normal

__all__ = ["OfSum", "OverComponents", "OverCoordinates", "Times", "components", "merged", "normal_coordinate"]


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
        return _multiplied(self.inside.mean(normal_coordinate(p, k), y[..., k]) for k in range(y.shape[-1]))

    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z')."""
        parts = range(p.mean.shape[-1])
        return _multiplied(self.inside.cross(normal_coordinate(p, k), normal_coordinate(q, k)) for k in parts)

    def crossing(self, other: Embedding) -> Any:
        """All families with independent normal coordinates meet in their coordinates."""
        return self.cross if isinstance(other, OverCoordinates) else None

    def describe(self) -> tuple[str, ...]:
        """The kernel inside below."""
        return (f"product over the independent coordinates of {self.label}, each", *indented((self.inside,)))


def _multiplied(factors: Any) -> Array:
    return reduce(lambda x, y: operations(x).multiply(x, y), factors)


def normal_coordinate(p: Any, k: int) -> Any:
    """Coordinate k of normal predictions whose coordinates are independent."""
    return bare(Normal, mean=p.mean[..., k], std=p.std[..., k])


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
        return _product_of_kernels(merged(kernel.left, event_ndim), merged(kernel.right, event_ndim))
    return kernel


def _product_of_kernels(left: Kernel, right: Kernel) -> Kernel:
    if type(left) is Gaussian and type(right) is Gaussian and left.metric == right.metric:
        return left.with_lengthscale(left.scale * right.scale / math.hypot(left.scale, right.scale))
    return Product(left, right)


@dataclass(frozen=True)
class OverComponents(Embedding):
    """Expectations under a mixture: weighted sums over components, and over all pairs of them (2021, App. D.3).

    Attributes
    ----------
    number : int
        Number of components.
    parts : dict from family to Embedding
        How a component of each family is computed.
    crosses : dict from two families to a function
        How a pair of components is.
    """

    number: int
    parts: dict[type, Embedding]
    crosses: dict[tuple[type, type], Cross] = field(repr=False)

    def mean(self, p: Mixture, y: Array) -> Array:
        """``sum_k w_k E k(Z_k, y)``."""
        return _weighted((w, self._part(c).mean(c, y)) for w, c in components(p))

    def cross(self, p: Mixture, q: Mixture) -> Array:
        """``sum_kj w_k w'_j E k(Z_k, Z'_j)`` over all pairs."""
        return _weighted((w, self._with(c, q)) for w, c in components(p))

    def crossing(self, other: Embedding) -> Cross | None:
        """Mixtures are taken apart before they meet."""
        return self.cross if other is self else None

    def describe(self) -> tuple[str, ...]:
        """The families below."""
        pairs = f"means over {self.number} components, crosses over all {self.number**2} pairs of them"
        return (f"mixture: {pairs}", *indented(tuple(self.parts.values())))

    def _with(self, component: Any, q: Mixture) -> Array:
        self._part(component)
        return _weighted((w, self.crosses[type(component), type(c)](component, c)) for w, c in components(q))

    def _part(self, component: Any) -> Embedding:
        if type(component) not in self.parts:
            known = ", ".join(family.__name__ for family in self.parts)
            raise InputError(
                f"the plan was made for mixtures of {known}, got a component {type(component).__name__}: make a plan "
                "of the mixture that has all families"
            )
        return self.parts[type(component)]


def components(p: Mixture) -> Iterator[tuple[Array, Any]]:
    """Weights and components, those of mixtures inside a mixture included."""
    for k, component in enumerate(p.components):
        weight = p.weights[..., k]
        if isinstance(component, Mixture):
            yield from ((weight * inner, part) for inner, part in components(component))
        else:
            yield weight, component


def _weighted(terms: Iterator[tuple[Array, Array]]) -> Array:
    total = None
    for weight, values in terms:
        total = add(total, operations(values).multiply(values, weight))
    return total
