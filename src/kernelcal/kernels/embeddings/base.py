"""The contract of an embedding: expectations of a target kernel under predictions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from kernelcal.arrays import Array, namespace

__all__ = ["BatchLayout", "Cross", "Embedding", "bare"]


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


def bare(family: type, **fields: Any) -> Any:
    """Batch of a family from arrays that are known to be valid: no second look at every value."""
    new: Any = object.__new__(family)
    new.__dict__.update(fields, notes=())
    return new


class BatchLayout:
    """How many axes the arrays of a batch have, so that leading axes which were added later can be told.

    Methods of families such as `draw` expect one row a prediction. Embeddings get batches whose arrays were expanded
    to (rows, 1, ...) or (1, columns, ...), and flatten them first.
    """

    def __init__(self, predictions: Any) -> None:
        self._ndim = len(_shape(predictions))

    def leading(self, p: Any) -> tuple[int, ...]:
        """Leading axes of a batch."""
        shape = _shape(p)
        return shape[: len(shape) - self._ndim + 1]

    def flat(self, p: Any) -> Any:
        """The batch with its leading axes made one."""
        leading = self.leading(p)
        if len(leading) == 1:
            return p
        rows = math.prod(leading)
        return p.map_arrays(lambda x: namespace(x).reshape(x, (rows, *x.shape[len(leading) :])))


def _shape(p: Any) -> tuple[int, ...]:
    """Shape of the first array of a batch."""
    shapes: list[tuple[int, ...]] = []

    def look(x: Array) -> Array:
        shapes.append(tuple(x.shape))
        return x

    p.map_arrays(look)
    return shapes[0]
