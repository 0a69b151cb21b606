"""Which rows belong together: columns of groups as they are given, numbers cut at their quartiles, ids refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Samples, ScorePredictions, is_frame, series_to_array

__all__ = [
    "Group",
    "Grouping",
    "checked_groups",
    "columns_of_text",
    "cuts_of",
    "number_of_text",
    "ranges_in_words",
    "refuse_ungrouped",
    "values_of_groups",
]


_NUMBERS = 30  # different whole numbers that are names; more are measured
_RANGES = 4
_DIGITS = 4


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that share a value of a column.

    Attributes
    ----------
    column, name : str
        Column, and its value; of numbers that were cut the ends of the range, as they occur.
    rows : numpy.ndarray of int
        Rows, in order.
    """

    column: str
    name: str
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of all columns, in the order in which they were given, and what was done to the columns.

    Attributes
    ----------
    groups : tuple of Group
        In the order in which values first occur; ranges of numbers from the lowest.
    notes : tuple of str
        Where numbers were cut.
    """

    groups: tuple[Group, ...] = ()
    notes: tuple[str, ...] = ()


def checked_groups(groups: Any, n: int) -> Grouping:
    """Read the groups of every column, or refuse with the remedy; what was read already is as it is."""
    if isinstance(groups, Grouping):
        return groups
    if groups is None:
        return Grouping()
    found: list[Group] = []
    notes: list[str] = []
    for column, given in _columns(groups):
        values = _values(column, given, n)
        if _measured(values):
            values, ranges, note = _cut(column, values)
            notes.append(note)
            found += sorted(_groups(column, values), key=lambda g: ranges.index(g.name) if g.name in ranges else n)
        else:
            _refuse_ids(column, values)
            found += _groups(column, values)
    return Grouping(tuple(found), tuple(notes))


def values_of_groups(groups: Any, n: int) -> dict[str, list[Any]]:
    """Values of every column, one a row, as Python objects, or refuse with the remedy; nothing is cut."""
    return {column: _values(column, given, n) for column, given in _columns(groups)}


def refuse_ungrouped(case: Case) -> None:
    """Refuse predictions that have no law to draw from, hence no test of a group."""
    batch = case.predictions
    if isinstance(batch, ScorePredictions):
        raise InputError(
            "densities known through their score functions have no groups: pass draws of the model, "
            "kernelcal.Samples(draws)"
        )
    if isinstance(batch, Samples) and not batch.exchangeable:
        raise InputError("draws with unequal weights have no test, hence no groups: draw an unweighted sample by them")


def columns_of_text(columns: Mapping[str, Sequence[str]] | None) -> dict[str, list[Any]] | None:
    """Read the columns of a text file: of measured numbers as numbers, which are then cut; others stay text.

    Numbers are measured if there are fractions among them or more than 30 different ones; such as begin with a
    superfluous 0 are codes.
    """
    return None if columns is None else {name: _as_numbers(texts) for name, texts in columns.items()}


def _as_numbers(texts: Sequence[str]) -> list[Any]:
    read: dict[str, Any] = {text: number_of_text(text) for text in set(texts)}
    named = [text for text, value in read.items() if isinstance(value, str)]
    numbers = [value for value in read.values() if not isinstance(value, str)]
    if named not in ([], ["missing"]) or not _measured(numbers):
        return list(texts)
    return [read[text] for text in texts]


def number_of_text(text: str) -> Any:
    """Return a number, or the text where it is none, or a code such as 007."""
    plain = text.strip()
    code = len(plain) > 1 and plain[0] == "0" and plain[1].isdecimal()
    try:
        value = float(plain)
    except ValueError:
        return text
    if code or not np.isfinite(value) or "_" in plain:
        return text
    return int(value) if value.is_integer() else value


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
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        raise InputError(
            f"groups: row {row} of column {column!r} is missing: give such rows a name of their own, for example "
            "'unknown', or drop them from targets, predictions and groups together"
        )
    if not isinstance(value, str | int | float):
        raise InputError(
            f"groups: row {row} of column {column!r} is a {type(value).__name__}, {value!r:.60}: groups are text, "
            "numbers or booleans; of several values make a text, or a column each"
        )
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _measured(values: Sequence[Any]) -> bool:
    """Whether numbers are measured, and no names: there are fractions, or very many of them."""
    numbers = {value for value in values if _is_number(value)}
    return len(numbers) > _NUMBERS or any(isinstance(value, float) for value in numbers)


def _cut(column: str, values: list[Any]) -> tuple[list[Any], list[str], str]:
    """Put the ranges of numbers into their places: about equally many rows each, rows of one number together.

    A cut lies between two numbers that occur, where it leaves closest to a quarter, half or three quarters of the rows
    below. Values that are no numbers stay.
    """
    numbers, inverse, counts = np.unique([v for v in values if _is_number(v)], return_inverse=True, return_counts=True)
    starts = _starts(counts)
    bounds = [0, *map(int, starts), len(numbers)]
    names = _names([(numbers[a], numbers[b - 1]) for a, b in pairwise(bounds)])
    which = iter(np.searchsorted(starts, inverse, side="right"))
    cut = [names[next(which)] if _is_number(value) else value for value in values]
    if not len(starts):
        return cut, names, f"{column} holds one number alone: it is one group"
    at = ", ".join(_number(numbers[k]) for k in starts)
    return cut, names, f"{column} was cut at {at}; pass ranges of your own to choose others"


def _starts(counts: np.ndarray) -> np.ndarray:
    """Places of the first numbers of all ranges but the lowest, by how often every number occurs."""
    below = np.cumsum(counts)
    if len(below) < 2:
        return np.array([], dtype=np.intp)
    wanted = below[-1] * np.arange(1, _RANGES) / _RANGES
    return np.unique([int(np.abs(below[:-1] - w).argmin()) + 1 for w in wanted])


def cuts_of(values: Sequence[Any]) -> tuple[float, ...] | None:
    """Numbers at which ranges of measured numbers begin, all but the lowest; None of names."""
    if not _measured(values):
        return None
    numbers, counts = np.unique([v for v in values if _is_number(v)], return_counts=True)
    return tuple(float(numbers[k]) for k in _starts(counts))


def ranges_in_words(cuts: Sequence[float]) -> list[str]:
    """Names of the ranges between some cuts, from the lowest, with as many digits as tell them apart."""
    for digits in (_DIGITS, 8, 17):
        at = [_number(cut, digits) for cut in cuts]
        if len(set(at)) == len(at):
            break
    if not at:
        return ["all numbers"]
    return [f"below {at[0]}", *(f"{a} to below {b}" for a, b in pairwise(at)), f"{at[-1]} and above"]


def _names(ends: list[tuple[Any, Any]]) -> list[str]:
    """Ranges by their ends, with as many digits as tell them apart."""
    for digits in (_DIGITS, 8, 17):
        names = [_number(a, digits) if a == b else f"{_number(a, digits)} to {_number(b, digits)}" for a, b in ends]
        if len(set(names)) == len(names):
            break
    return names


def _number(value: Any, digits: int = _DIGITS) -> str:
    """Whole numbers in full, fractions to some digits."""
    whole = float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else f"{value:.{digits}g}"


def _refuse_ids(column: str, values: list[Any]) -> None:
    """Refuse texts nearly all of which are different: they name rows."""
    texts = {value for value in values if isinstance(value, str)}
    if len(texts) > max(_NUMBERS, len(values) / 2):
        raise InputError(
            f"groups: column {column!r} holds {len(texts):,} different texts in {len(values):,} rows, such as "
            f"{values[0]!r:.40}: these name rows, not groups of rows; name a column whose values many rows share, or "
            "cut the texts, for example to their first letters"
        )


def _groups(column: str, values: list[Any]) -> Iterator[Group]:
    numbers: dict[tuple[type, Any], int] = {}  # text "1" is not the number 1, and neither is True
    index = np.array([numbers.setdefault((type(value), value), len(numbers)) for value in values])
    order = np.argsort(index, kind="stable")
    bounds = np.searchsorted(index[order], np.arange(1, len(numbers)))
    names = [str(value) for _, value in numbers]
    times = Counter(names)
    for (_, value), name, rows in zip(numbers, names, np.split(order, bounds), strict=True):
        yield Group(column, name if times[name] == 1 else repr(value), rows)
