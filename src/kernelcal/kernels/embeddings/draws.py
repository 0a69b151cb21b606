"""Expectations as means over seeded draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcal.arrays import Array, row_slices
from kernelcal.kernels.embeddings.atoms import Atoms, Weights
from kernelcal.kernels.embeddings.base import Cross, Embedding
from kernelcal.kernels.embeddings.batches import Layout
from kernelcal.kernels.embeddings.elementwise import add, numpy_only, operations
from kernelcal.kernels.embeddings.targets import point

__all__ = ["OverSeededDraws"]


@dataclass(frozen=True)
class OverSeededDraws(Atoms):
    """Means over draws that come from the same two sets of uniform numbers for every row and every call."""

    layout: Layout
    uniforms: np.ndarray = field(repr=False)  # (2, draws, uniform numbers a target)

    def size(self, p: Any) -> int:
        """Number of draws of one set."""
        return self.uniforms.shape[1]

    def nodes(self, p: Any, part: slice) -> tuple[Weights, Array]:
        """Draws of the first set."""
        return 1 / self.size(p), self._drawn(0, p, part)

    def cross(self, p: Any, q: Any) -> Array:
        """Means over pairs of draws from different sets, in both ways."""
        return self.meet(p, self, q)

    def meet(self, p: Any, other: OverSeededDraws, q: Any) -> Array:
        """The same where the other predictions have another family."""
        total = None
        for part in row_slices(self.size(p), self._step(p.mean, q.mean)):
            for first, second in ((0, 1), (1, 0)):
                values = point(self.kernel, self._drawn(first, p, part), other._drawn(second, q, part), self.event_ndim)
                total = add(total, values.sum(axis=0))
        return operations(total).scale(total, 0.5 / self.size(p))

    def crossing(self, other: Embedding) -> Cross | None:
        """Draws meet draws one by one."""
        if isinstance(other, OverSeededDraws):
            return lambda p, q: self.meet(p, other, q)
        return super().crossing(other)

    def _drawn(self, which: int, p: Any, part: slice) -> Array:
        """Draws of shape (part, *leading, *event): of every row from the same uniform numbers."""
        numpy_only("Monte Carlo integration", p.mean)
        flat, leading = self.layout.flat(p), self.layout.leading(p)
        uniforms = self.uniforms[which, part]
        rows = np.broadcast_to(uniforms[:, None, :], (len(uniforms), len(flat), uniforms.shape[1]))
        drawn = flat.draw(rows[..., 0] if uniforms.shape[1] == 1 else rows)
        return drawn.reshape(len(uniforms), *leading, *drawn.shape[2:])

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"Monte Carlo: {self.kernel} over {self.size(None)} seeded draws, crosses over pairs of two sets",)
