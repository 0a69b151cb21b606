"""Groups of rows as a caller names them: one column, several, or a data frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.frames import is_frame, series_to_array

__all__ = ["Group", "checked_groups"]


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that share a value of a column.

    Attributes
    ----------
    column, name : str
        Column, and its value.
    rows : numpy.ndarray of int
        Rows, in order.
    """

    column: str
    name: str
    rows: np.ndarray


def checked_groups(groups: Any, n: int) -> tuple[Group, ...]:
    """Read the groups of every column, in the order in which they first occur, or refuse with the remedy."""
    if groups is None:
        return ()
    return tuple(group for column, values in _columns(groups) for group in _groups(column, _values(column, values, n)))


def _columns(groups: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(groups, Mapping):
        items = list(groups.items())
    elif is_frame(groups) and hasattr(groups, "columns"):
        names = getattr(groups, "column_names", groups.columns)  # pyarrow calls its arrays columns
        items = [(name, groups[name]) for name in names]
    else:
        items = [("group", groups)]
    if not items:
        raise InputError("groups holds no column: pass one value a row, or a mapping of a column's name to its values")
    yield from ((str(name), values) for name, values in items)


def _values(column: str, given: Any, n: int) -> list[Any]:
    """Values of a column as Python objects."""
    if isinstance(given, str | bytes) or not (hasattr(given, "__len__") or is_frame(given)):
        raise InputError(f"groups: column {column!r} must hold one value for each of the {n:,} rows, got {given!r}")
    try:
        values = series_to_array(given) if is_frame(given) else to_numpy(as_array(_as_objects(given)))
    except ValueError:
        values = np.empty((0, 0))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n:
        shape = f"{len(values):,} values" if values.ndim == 1 else f"shape {values.shape}"
        raise InputError(
            f"groups: column {column!r} has {shape}, and there are {n:,} rows: one value a row is expected; several "
            "columns go into a mapping, {'age': age, 'site': site}"
        )
    return [_checked(column, row, value) for row, value in enumerate(values.tolist())]


def _as_objects(given: Any) -> Any:
    """A list stays a list of its own values: NumPy would turn [1, 'a'] into text and None into NaN."""
    if not isinstance(given, list | tuple):
        return given
    values = np.empty(len(given), dtype=object)
    values[:] = given
    return values


def _checked(column: str, row: int, value: Any) -> Any:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        raise InputError(
            f"groups: row {row} of column {column!r} is missing: give such rows a name of their own, for example "
            "'unknown', or drop them from targets, predictions and groups together"
        )
    if isinstance(value, float) and not value.is_integer():
        raise InputError(
            f"groups: row {row} of column {column!r} is {value:g}: groups are names or whole numbers; cut numbers into "
            f"ranges first, for example numpy.digitize({column}, [18, 65])"
        )
    if not isinstance(value, str | int | float):
        raise InputError(
            f"groups: row {row} of column {column!r} is a {type(value).__name__}, {value!r:.60}: groups are text, "
            "whole numbers or booleans"
        )
    return int(value) if isinstance(value, float) else value


def _groups(column: str, values: list[Any]) -> Iterator[Group]:
    numbers: dict[tuple[type, Any], int] = {}  # text "1" is not the number 1, and neither is True
    index = np.array([numbers.setdefault((type(value), value), len(numbers)) for value in values])
    order = np.argsort(index, kind="stable")
    bounds = np.searchsorted(index[order], np.arange(1, len(numbers)))
    names = [str(value) for _, value in numbers]
    times = Counter(names)
    for (_, value), name, rows in zip(numbers, names, np.split(order, bounds), strict=True):
        yield Group(column, name if times[name] == 1 else repr(value), rows)
