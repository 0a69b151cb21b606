"""The contract of an embedding: expectations of a target kernel under predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from kernelcal.arrays import Array

__all__ = ["Embedding"]


class Embedding(ABC):
    """Expectations of one target kernel under predictions of one kind: a node of a plan.

    Predictions and targets come with leading axes that broadcast: arrays of shape (rows, 1, ...) beside
    (1, columns, ...) give all pairs, equal shapes give pair by pair. A formula is therefore written once, for one pair.
    """

    @abstractmethod
    def mean(self, p: Any, y: Array) -> Array:
        """E k(Z, y) with Z drawn from p."""

    @abstractmethod
    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z') with Z drawn from p and, independently, Z' from q."""

    @abstractmethod
    def describe(self) -> tuple[str, ...]:
        """Lines that say what is computed how; the lines of parts are indented."""

    def __str__(self) -> str:
        return "\n".join(self.describe())
