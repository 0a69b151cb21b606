"""Mixtures: weighted sums over components, and over all pairs of components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelcal.arrays import Array
from kernelcal.errors import NoClosedFormError
from kernelcal.kernels.embeddings.base import Cross, Embedding, indented
from kernelcal.kernels.embeddings.elementwise import add, operations

__all__ = ["OverComponents", "cross_between"]


@dataclass(frozen=True)
class OverComponents(Embedding):
    """Expectations under a mixture (2021, App. D.3): of every component, and of all pairs of components.

    Components may have different families.
    """

    parts: tuple[Embedding, ...]

    def __post_init__(self) -> None:
        """Find, before anything is computed, how every pair of components is; what is missing raises here."""
        known: dict[tuple[int, int], Cross] = {}
        for k, left in enumerate(self.parts):
            for j, right in enumerate(self.parts[k:], start=k):
                known[k, j] = cross_between(left, right)
                known[j, k] = known[k, j] if j == k else _swapped(known[k, j])
        object.__setattr__(self, "_crosses", known)

    def mean(self, p: Any, y: Array) -> Array:
        """``sum_k w_k E k(Z_k, y)``."""
        return _weighted(p.weights, [part.mean(c, y) for part, c in self._of(p)])

    def cross(self, p: Any, q: Any) -> Array:
        """``sum_kj w_k w'_j E k(Z_k, Z'_j)`` over all pairs."""
        return _weighted(p.weights, (self._row(k, p, q) for k in range(len(self.parts))))
