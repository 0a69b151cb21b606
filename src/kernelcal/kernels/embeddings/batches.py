"""Batches inside embeddings: made without checks, and with their leading axes made one."""

from __future__ import annotations

import math
from typing import Any

from kernelcal.arrays import Array, namespace

__all__ = ["Layout", "bare"]


def bare(family: type, **fields: Any) -> Any:
    """Batch of a family from arrays that are known to be valid: no second look at every value."""
    new: Any = object.__new__(family)
    new.__dict__.update(fields, notes=())
    return new


class Layout:
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
