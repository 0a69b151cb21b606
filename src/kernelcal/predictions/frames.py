"""Data frames of pandas, polars and others, read through narwhals when it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, as_array
from kernelcal.errors import InputError, MissingExtraError

__all__ = ["is_frame", "is_in_chunks", "is_in_parts", "plain_array", "series_to_array"]

_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")


def is_frame(x: Any) -> bool:
    """Tell whether `x` is an object of a data-frame library, by the module of its type."""
    return type(x).__module__.split(".")[0] in _LIBRARIES


def is_in_parts(x: Any) -> bool:
    """Tell whether `x` is a data frame in partitions, as those of Dask are, by what it can do."""
    return all(hasattr(x, name) for name in ("npartitions", "to_delayed", "columns"))


def is_in_chunks(x: Any) -> bool:
    """Tell whether `x` is an array in chunks, as those of Dask are, by what it can do."""
    return all(hasattr(x, name) for name in ("chunks", "to_delayed", "rechunk"))


def _native(x: Any) -> Any:
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        library = type(x).__module__.split(".")[0]
        raise MissingExtraError("narwhals", "frame", f"reading a {library} object") from None
    try:
        native = nw.from_native(x, allow_series=True)
    except TypeError:  # an index, a categorical, an array of a data-frame library
        return None
    except Exception as error:  # two columns of one name
        raise InputError(f"the data frame cannot be read: {' '.join(str(error).split())}") from None
    return native.collect() if isinstance(native, nw.LazyFrame) else native


def series_to_array(x: Any) -> np.ndarray:
    """Return a column, or a frame of one column, as a NumPy array; the index of pandas is not used."""
    column = _native(x)
    if column is None:
        return np.asarray(x)
    if hasattr(column, "columns"):
        if len(column.columns) != 1:
            raise InputError(
                f"targets must be one column, got a frame with columns {column.columns[:6]}: pass one of them, or "
                "swap the arguments, whose order is (y, predictions)"
            )
        column = column.get_column(column.columns[0])
    return column.to_numpy()


def plain_array(x: Any) -> tuple[Array, tuple[Any, ...] | None]:
    """Return numbers as an array of their library, missing ones as NaN, and the column names of a frame."""
    if is_frame(x):
        array, names = _frame(x)
    else:
        try:
            array, names = as_array(x), None
        except ValueError as error:  # rows of unequal length
            raise InputError(f"predictions do not form a rectangular array: {error}") from None
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    return (_from_objects(array) if isinstance(array, np.ndarray) and array.dtype.kind == "O" else array), names


def _from_objects(array: np.ndarray) -> np.ndarray:
    """Numbers among None: None is NaN. Text stays what it is, to be refused."""
    if array.ndim == 0 or any(isinstance(value, str) for value in array.flat):
        return array
    empty = [value is None or type(value).__name__ == "NAType" for value in array.flat]
    try:
        return np.where(np.reshape(empty, array.shape), np.nan, array).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return array


def _frame(x: Any) -> tuple[np.ndarray, tuple[Any, ...] | None]:
    """Values of a frame and its column names (None for a single column)."""
    frame = _native(x)
    if frame is None:
        return np.asarray(x), None
    if not hasattr(frame, "columns"):
        return frame.to_numpy(), None
    for name in frame.columns:
        if not frame.get_column(name).dtype.is_numeric():
            raise InputError(
                f"column {name!r} holds {frame.get_column(name).dtype}, not probabilities: pass the columns of the "
                "predictions alone, frame[[...]]"
            )
    names = tuple(frame.columns)
    return frame.to_numpy(), names if len(names) > 1 else None
