"""What a cell can be: a number, true or false, text, a list, or missing."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError

__all__ = ["EXACT", "Cells", "absent", "is_number", "missing", "side_by_side", "typed"]


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
    present = [v for v in values if not missing(v)]
    complete = len(present) == len(values)
    if present and {str(v).lower() for v in present} <= {"true", "false"}:
        mapped = [None if missing(v) else str(v).lower() == "true" for v in values]
        return np.array(mapped, dtype=bool if complete else object)
    if all(is_number(v) for v in present):
        return _whole(np.array([np.nan if missing(v) else float(v) for v in values]))
    return np.array([None if missing(v) else str(v) for v in values], dtype=object)


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
