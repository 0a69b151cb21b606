"""A file as named columns: numbers for predictions, any values for targets."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.sources.cells import Cells, missing, typed
from kernelcal.registry import Registry

__all__ = ["READERS", "Arrays", "Reader", "Source", "reads"]


Reader = Callable[[Path], Mapping[str, np.ndarray]]
READERS: Registry[Reader] = Registry("suffix")


def reads(*suffixes: str) -> Callable[[Reader], Reader]:
    """Register a function ``f(path)``, which returns arrays by column name, as the reader of files with these suffixes.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from kernelcal.io import READERS, readers, reads
    >>> @reads(".columns")
    ... def load_columns(path):
    ...     return {name: np.array(values) for name, values in json.loads(path.read_text()).items()}
    >>> ".columns" in readers()
    True
    >>> reads("csv")
    Traceback (most recent call last):
    ...
    kernelcal.errors.InputError: a suffix begins with a point and is in lower case, such as '.sqlite', got 'csv'
    >>> READERS.forget(".columns")
    """
    for suffix in suffixes:
        if not isinstance(suffix, str) or suffix[:1] != "." or suffix != suffix.lower() or len(suffix) < 2:
            raise InputError(f"a suffix begins with a point and is in lower case, such as '.sqlite', got {suffix!r}")

    def register(reader: Reader) -> Reader:
        summary = (inspect.getdoc(reader) or reader.__name__).splitlines()[0].rstrip(".")
        for suffix in suffixes:
            READERS.register(suffix, reader, summary=summary)
        return reader

    return register


class Source(ABC):
    """Columns of one file (or of a pair of npy files)."""

    path: Any
    names: list[str]

    @abstractmethod
    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Numeric columns side by side, shape (n, k), a missing value as NaN; one wide column keeps its shape."""

    @abstractmethod
    def values(self, name: str) -> np.ndarray:
        """One column as it is: numbers, booleans or text, shape (n,), with None or NaN for missing values."""

    @abstractmethod
    def cells(self, names: Sequence[str]) -> list[Cells]:
        """What the cells of some columns say, as text: what tells rows apart, levels, dates and places."""

    def array(self, name: str) -> np.ndarray:
        """One column of numbers as it is, shape (n,), or with further axes where it is an array."""
        return self.numbers([name])[:, 0]

    def axes(self, name: str) -> int:
        """Number of axes of a column: 1, or more where it is an array with the sample on axis 0."""
        return 1

    def wide(self, name: str) -> bool:
        """Tell whether a column holds several numbers a row."""
        return False


class Arrays(Source):
    """npz, a pair of npy files, parquet and json lines: columns that are arrays already."""

    def __init__(self, path: Any, columns: Mapping[str, np.ndarray]) -> None:
        self.path, self.columns, self.names = path, columns, list(columns)

    def wide(self, name: str) -> bool:
        """Tell whether an array has several columns."""
        shape = self.columns[name].shape
        return len(shape) == 2 and shape[1] > 1

    def array(self, name: str) -> np.ndarray:
        """One array of numbers with any number of axes."""
        return self._numeric(name, axes=(1, 2, 3, 4))

    def axes(self, name: str) -> int:
        """Number of axes of an array."""
        return int(self.columns[name].ndim)

    def cells(self, names: Sequence[str]) -> list[Cells]:
        """Text of every value; dates without a time as 2024-01-06, whole numbers without a point."""
        return [Cells.of(map(_as_text, _dates(self._single(name)).tolist())) for name in names]

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Arrays side by side, or one wide array as it is."""
        arrays = [self._numeric(name) for name in names]
        if len(arrays) == 1:
            return arrays[0] if arrays[0].ndim == 2 else arrays[0][:, None]
        if any(array.shape != arrays[0].shape or array.ndim != 1 for array in arrays):
            raise InputError(
                f"{self.path}: {', '.join(names)} are not single columns of equal length: name one wide array"
            )
        return np.stack(arrays, axis=1)

    def _numeric(self, name: str, axes: Sequence[int] = (1, 2)) -> np.ndarray:
        array = self.columns[name]
        if array.dtype.kind == "O" and array.ndim == 1:
            array = self._floats(name, array)
        if array.dtype.kind not in "fiub" or array.ndim not in axes:
            raise InputError(
                f"{self.path}, column {name!r}: expected numbers with one row a sample, got {array.dtype} of shape "
                f"{array.shape}"
            )
        return array

    def _floats(self, name: str, array: np.ndarray) -> np.ndarray:
        numbers = np.empty(len(array))
        for row, value in enumerate(array):
            try:
                numbers[row] = np.nan if missing(value) else float(_no_text(value))
            except (TypeError, ValueError, OverflowError):
                raise InputError(
                    f"{self.path}, row {row}, column {name!r}: {str(value)[:60]!r} is not a number"
                ) from None
        return numbers

    def values(self, name: str) -> np.ndarray:
        """One array of shape (n,) or (n, 1)."""
        array = self._single(name)
        return typed(array.tolist()) if array.dtype.kind == "O" else array

    def _single(self, name: str) -> np.ndarray:
        array = self.columns[name]
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise InputError(f"{self.path}, column {name!r}: expected one value a row, got shape {array.shape}")
        return array


def _dates(array: np.ndarray) -> np.ndarray:
    """Dates, and times that are all midnight, as days."""
    if array.dtype.kind != "M":
        return array
    days = array.astype("datetime64[D]")
    midnight = bool(np.all((days == array) | np.isnat(array)))
    return np.datetime_as_string(days if midnight else array)


def _as_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None or value != value else str(value).strip()


def _no_text(value: Any) -> Any:
    if isinstance(value, str):
        raise TypeError
    return value
