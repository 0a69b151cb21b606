"""Nodes of a plan without parts: an entry of the table of closed forms, and the linear kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelcal.arrays import Array
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings.base import Cross, Embedding
from kernelcal.kernels.embeddings.elementwise import contract
from kernelcal.kernels.embeddings.rules import CROSS, MEAN, cross_rule

__all__ = ["ClosedForm", "OfMeans"]


@dataclass(frozen=True)
class ClosedForm(Embedding):
    """An entry of the table of closed forms."""

    kernel: Kernel
    family: type

    def mean(self, p: Any, y: Array) -> Array:
        """E k(Z, y)."""
        return MEAN[type(self.kernel), self.family](self.kernel, p, y)

    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z')."""
        return CROSS[type(self.kernel), self.family, self.family](self.kernel, p, q)

    def crossing(self, other: Embedding) -> Cross | None:
        """The table has some pairs of different families."""
        if not isinstance(other, ClosedForm):
            return None
        rule = cross_rule(type(self.kernel), self.family, other.family)
        return None if rule is None else partial(rule, self.kernel)

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"closed form: {self.kernel} under {self.family.__name__}",)


@dataclass(frozen=True)
class OfMeans(Embedding):
    """Linear kernel: expectations are values at the means, whatever the family.

    The residual of the linear kernel is target minus mean.
    """

    vector: bool

    def mean(self, p: Any, y: Array) -> Array:
        """m.y."""
        return contract(p.mean, y) if self.vector else p.mean * y

    def cross(self, p: Any, q: Any) -> Array:
        """m.m'."""
        return self.mean(p, q.mean)

    def crossing(self, other: Embedding) -> Cross | None:
        """Means are all that counts."""
        return self.cross if isinstance(other, OfMeans) else None

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return ("linear kernel: inner products of means and targets, for every family",)
