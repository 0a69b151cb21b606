"""A file as named columns, numbers for predictions and any values for targets, and what a cell can be."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError
from kernelcal.registry import Registry

__all__ = [
    "EXACT",
    "MISSING",
    "READERS",
    "Arrays",
    "Cells",
    "Noted",
    "Reader",
    "Source",
    "above",
    "absent",
    "column_of",
    "is_number",
    "missing",
    "reads",
    "side_by_side",
    "typed",
]


MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>"})
EXACT = 2**53  # whole numbers below are exact as floats


class Cells:
    """What the cells of a column say: distinct texts in order of first appearance, and which of them every row has."""

    def __init__(self) -> None:
        self._book: dict[str, int] = {}
        self._numbers = array("q")

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Texts of all rows at once."""
        cells = cls()
        cells.add(texts)
        return cells

    def add(self, texts: Iterable[str]) -> None:
        """Append the texts of further rows."""
        book = self._book
        self._numbers.extend(book.setdefault(text, len(book)) for text in texts)

    @property
    def texts(self) -> list[str]:
        """Distinct texts."""
        return list(self._book)

    @property
    def numbers(self) -> np.ndarray:
        """Number of the text of every row, shape (n,)."""
        return np.frombuffer(self._numbers, dtype=np.int64) if self._numbers else np.empty(0, dtype=np.int64)


def missing(value: Any) -> bool:
    """Tell whether a cell is empty or says that it is."""
    if isinstance(value, str):
        return value.strip().lower() in MISSING
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def absent(y: np.ndarray) -> np.ndarray:
    """Tell for every value whether it is missing."""
    return np.array([missing(v) for v in y], dtype=bool) if y.dtype.kind in "fO" else np.zeros(len(y), dtype=bool)


def is_number(value: Any) -> bool:
    """Tell whether a cell is a finite number; Python's 1_000 is text, as in every other tool."""
    try:
        return "_" not in str(value) and bool(np.isfinite(float(value)))
    except (TypeError, ValueError, OverflowError):
        return False


def typed(values: list[Any]) -> np.ndarray:
    """Numbers where all are numbers, booleans where all are true or false, else text; missing is NaN or None."""
    plain = _plain_numbers(values)
    if plain is not None:
        return _whole(plain)
    present = [v for v in values if not missing(v)]
    complete = len(present) == len(values)
    if present and {str(v).lower() for v in present} <= {"true", "false"}:
        mapped = [None if missing(v) else str(v).lower() == "true" for v in values]
        return np.array(mapped, dtype=bool if complete else object)
    if all(is_number(v) for v in present):
        return _whole(np.array([np.nan if missing(v) else float(v) for v in values]))
    return np.array([None if missing(v) else str(v) for v in values], dtype=object)


def _plain_numbers(values: list[Any]) -> np.ndarray | None:
    """Finite numbers of texts all of which are such; None where one is not, and is looked at by itself."""
    if not values or not all(isinstance(v, str) for v in values) or any("_" in v for v in values):
        return None
    try:
        found = np.array(values, dtype=np.float64)
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def _whole(numbers: np.ndarray) -> np.ndarray:
    whole = len(numbers) and np.all(numbers == np.round(numbers)) and np.all(np.abs(numbers) < EXACT)
    return numbers.astype(np.int64) if whole else numbers


def side_by_side(where: str, rows: Sequence[Any]) -> np.ndarray:
    """A list in every row as an array (n, width); a missing list is a row of missing numbers."""
    width = len(next(row for row in rows if _is_list(row)))
    for number, row in enumerate(rows):
        if row is not None and (not _is_list(row) or len(row) != width):
            raise InputError(f"{where}, row {number}: expected a list of {width} numbers, got {_short(row)}")
    try:
        return np.array(
            [[np.nan] * width if row is None else [_cell(c) for c in row] for row in rows], dtype=np.float64
        )
    except (TypeError, ValueError, OverflowError):
        number = next(k for k, row in enumerate(rows) if row is not None and not all(map(_fits, row)))
        raise InputError(f"{where}, row {number}: expected a list of numbers, got {_short(rows[number])}") from None


def column_of(values: Sequence[Any]) -> np.ndarray:
    """Values of a column: lists of one length as an array; others as they are, refused when they are asked for."""
    if any(_is_list(value) for value in values):
        try:
            return side_by_side("", values)
        except InputError:
            pass
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _is_list(value: Any) -> bool:
    return isinstance(value, list | np.ndarray)


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        raise TypeError
    return np.nan if value is None else value


def _fits(value: Any) -> bool:
    return (
        value is None or (isinstance(value, float | np.floating)) or (not isinstance(value, str) and is_number(value))
    )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Noted(dict[str, np.ndarray]):
    """Columns by name, and what is said of lines above their names."""

    aside = ""


def above(lines: int) -> str:
    """Say how many lines above the header were left aside."""
    return f"; {lines} line{'s' * (lines > 1)} above the header left aside" if lines else ""


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
    r"""Columns of one file (or of a pair of npy files).

    Attributes
    ----------
    path : object
        What messages call it.
    names : list of str
        Columns.
    percent : dict of str to int
        Columns whose numbers were found to have a percent sign, and a line that has one.
    aside : str
        What is said of lines above the header, which are left aside.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kernelcal.io import Source, open_source
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("y,p\n0,0.2\n1,0.7\n")
    ...     isinstance(open_source([path]), Source)
    True
    """

    aside = ""
    path: Any
    names: list[str]
    percent: dict[str, int]

    @abstractmethod
    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Numeric columns side by side, shape (n, k), a missing value as NaN; one wide column keeps its shape."""

    @abstractmethod
    def values(self, name: str) -> np.ndarray:
        """One column as it is: numbers, booleans or text, shape (n,), with None or NaN for missing values."""

    def first(self, name: str, rows: int) -> np.ndarray:
        """First values of one column, by which it is told what it holds."""
        return self.values(name)[:rows]

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
        self.percent = {}
        self.aside = getattr(columns, "aside", "")

    def wide(self, name: str) -> bool:
        """Tell whether an array has several columns."""
        return self.axes(name) == 2 and self.columns[name].shape[1] > 1

    def array(self, name: str) -> np.ndarray:
        """One array of numbers with any number of axes."""
        return self._numeric(name, axes=(1, 2, 3, 4))

    def axes(self, name: str) -> int:
        """Number of axes of an array; one that cannot be read does no harm until it is asked for."""
        try:
            return int(self.columns[name].ndim)
        except InputError:
            return 1

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
        if array.dtype.kind == "O" and any(map(_is_list, array)):
            array = side_by_side(f"{self.path}, column {name!r}", list(array))
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

    def first(self, name: str, rows: int) -> np.ndarray:
        """First values of one array."""
        array = self._single(name)[:rows]
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
