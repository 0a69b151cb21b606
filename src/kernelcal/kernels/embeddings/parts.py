"""NumPy arrays over pairs of vectors, filled a part at a time: a component after the other, in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices

__all__ = ["Fill", "filled"]

_PAIRS = 2**13  # at once: four arrays of them, 256 KiB, stay in the cache
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


def _components_first(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(x, -1, 0))
