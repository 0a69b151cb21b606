"""The contract of an embedding: expectations of a target kernel under predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from kernelcal.arrays import Array

__all__ = ["Cross", "Embedding"]

Cross = Callable[[Any, Any], Array]


class Embedding(ABC):
    """Expectations of one target kernel under predictions of one kind: a node of a plan.

    Predictions and targets come with leading axes that broadcast: arrays of shape (rows, 1, ...) beside
    (1, columns, ...) give all pairs, equal shapes give pair by pair. A formula is therefore written once, for one pair.
    Targets may have more leading axes than predictions. Answers are fresh arrays, which the caller may overwrite.
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

    def crossing(self, other: Embedding) -> Cross | None:
        """E k(Z, Z') where Z' has predictions of another embedding of the same kernel, or None where it is not known.

        Components of a mixture may have different families. It is enough if one of the two embeddings knows the other.
        """
        return None

    def __str__(self) -> str:
        return "\n".join(self.describe())


def indented(parts: tuple[Embedding, ...]) -> tuple[str, ...]:
    """Lines of the parts of a node; parts that say the same are said once."""
    lines: list[str] = []
    for part in dict.fromkeys(part.describe() for part in parts):
        lines += [f"  {line}" for line in part]
    return tuple(lines)
