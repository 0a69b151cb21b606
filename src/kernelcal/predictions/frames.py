"""Data frames of pandas, polars and others, read through narwhals when it is installed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from kernelcal.errors import InputError, MissingExtraError

__all__ = ["frame_to_arrays", "is_frame", "series_to_array"]

_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")


def is_frame(x: Any) -> bool:
    """Tell whether `x` is an object of a data-frame library, by the module of its type."""
    return type(x).__module__.split(".")[0] in _LIBRARIES


def _native(x: Any) -> Any:
    if "narwhals" not in sys.modules:
        try:
            import narwhals  # noqa: F401
        except ImportError:
            raise MissingExtraError(
                "narwhals", "frame", f"reading a {type(x).__module__.split('.')[0]} object"
            ) from None
    import narwhals.stable.v1 as nw

    return nw.from_native(x, allow_series=True)


def series_to_array(x: Any) -> np.ndarray:
    """Return a column, or a frame of one column, as a NumPy array; the index of pandas is not used."""
    column = _native(x)
    if hasattr(column, "columns"):
        if len(column.columns) != 1:
            raise InputError(f"targets must be one column, got a frame with columns {column.columns[:6]}")
        column = column.get_column(column.columns[0])
    return column.to_numpy()


def frame_to_arrays(x: Any) -> tuple[np.ndarray, tuple[Any, ...] | None]:
    """Return the values of a frame and its column names (None for a single column)."""
    frame = _native(x)
    if not hasattr(frame, "columns"):
        return frame.to_numpy(), None
    for name in frame.columns:
        if not frame.get_column(name).dtype.is_numeric():
            raise InputError(f"column {name!r} holds {frame.get_column(name).dtype}, not probabilities: select columns")
    names = tuple(frame.columns)
    return frame.to_numpy(), names if len(names) > 1 else None
