"""From a target kernel and predictions to the embedding that computes their expectations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings import gaussian  # noqa: F401  registers its closed forms
from kernelcal.kernels.embeddings.base import Embedding
from kernelcal.kernels.embeddings.rules import CROSS, MEAN

__all__ = ["plan"]


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

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"closed form: {self.kernel} under {self.family.__name__}",)


def plan(kernel: Kernel, predictions: Any, integrator: Any = None) -> Embedding:
    """Choose how the expectations are computed."""
    if (type(kernel), type(predictions)) in MEAN:
        return ClosedForm(kernel, type(predictions))
    raise InputError(f"no closed form for {kernel} under {type(predictions).__name__}")
