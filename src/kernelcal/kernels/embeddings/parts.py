"""NumPy arrays over pairs of vectors, filled a part at a time: a component after the other, in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices

__all__ = ["Fill", "by_parts", "filled"]

_PAIRS = 2**16  # at once, 512 KiB an array: with a quarter of them two threads mostly wait for the interpreter
Fill = Callable[..., None]


def filled(fill: Fill, *arrays: Any) -> np.ndarray:
    """Values over the broadcast leading axes of arrays whose last axis holds components.

    ``fill(values, *arrays)`` writes a part of the values; it gets the arrays with their components first.
    """
    ndim = max(x.ndim for x in arrays)
    columns = [_components_first(x.reshape(*(1,) * (ndim - x.ndim), *x.shape)) for x in arrays]
    shape = np.broadcast_shapes(*(x.shape[1:] for x in columns))
    values = np.empty(shape, np.result_type(*arrays))
    for part in row_slices(len(values), _PAIRS * len(values) // max(values.size, 1)):
        fill(values[part], *(x if x.shape[1] == 1 else x[:, part] for x in columns))
    return values


def by_parts(function: Callable[..., np.ndarray], *arrays: Any) -> np.ndarray:
    """``function(*arrays)`` of arrays whose axes all broadcast, for a formula with many temporary arrays."""

    def fill(values: np.ndarray, *columns: np.ndarray) -> None:
        values[...] = function(*(x[0] for x in columns))

    return filled(fill, *(x[..., None] for x in arrays))


def _components_first(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(x, -1, 0))
