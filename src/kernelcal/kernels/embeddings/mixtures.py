"""Mixtures: weighted sums over components, and over all pairs of components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels.embeddings.base import Cross, Embedding, indented
from kernelcal.kernels.embeddings.elementwise import add, operations
from kernelcal.predictions import Mixture

__all__ = ["OverComponents", "components"]


def components(p: Mixture) -> Iterator[tuple[Array, Any]]:
    """Weights and components, those of mixtures inside a mixture included."""
    for k, component in enumerate(p.components):
        weight = p.weights[..., k]
        if isinstance(component, Mixture):
            yield from ((weight * inner, part) for inner, part in components(component))
        else:
            yield weight, component


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


def _weighted(terms: Iterator[tuple[Array, Array]]) -> Array:
    total = None
    for weight, values in terms:
        total = add(total, operations(values).multiply(values, weight))
    return total
