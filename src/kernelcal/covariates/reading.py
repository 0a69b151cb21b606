"""From what people have to columns: arrays, mappings, data frames; what cannot help is refused, or left out."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.covariates.columns import Covariate
from kernelcal.errors import InputError
from kernelcal.predictions import is_frame, series_to_array

__all__ = ["Covariates"]


_FEW = 20  # rows; with fewer a column may equal the outcomes by chance
_DAY = np.timedelta64(86_400_000_000, "us")
_SHARE = 0.5  # of the rows: a column with more categories names rows
_EXACTLY = 1e-9
_MANY = 1_000  # columns


@dataclass(frozen=True, eq=False)
class Covariates:
    """Columns of what is known of the rows, none of them constant.

    Attributes
    ----------
    columns : tuple of Covariate
        At least one, of one length.
    notes : tuple of str
        What the reader must know: columns that were left out, missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.covariates import Covariate, Covariates
    >>> Covariates((Covariate("age", np.array([30.0, 50.0, 70.0])),)).names
    ('age',)
    """

    columns: tuple[Covariate, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Any, n: int) -> Self:
        """Read columns of n rows, or refuse them with the remedy.

        Parameters
        ----------
        given : array of shape (n,) or (n, d), mapping of names to columns, or data frame
            Numbers, text, booleans, dates or durations; missing values (None, NaN, NaT) are a level of their own.
        n : int
            Rows of the targets.

        Raises
        ------
        InputError
            Naming the column, what was given and what to do.
        """
        if isinstance(given, cls):
            found = given.columns
        else:
            found = tuple(_column(name, _values(name, values, n), n) for name, values in _items(given, n))
        _refuse_names(found)
        for column in found:
            _refuse_length(column.name, len(column), n)
        kept = tuple(column for column in found if column.varies)
        if not kept:
            names = ", ".join(repr(column.name) for column in found) or "none"
            raise InputError(
                f"given holds no column that varies (columns: {names}): leave given out, or pass what differs from row "
                "to row"
            )
        return cls(kept, tuple(_notes(found)))

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, rows: Any) -> Self:
        """Return some of the rows, with all columns."""
        return replace(self, columns=tuple(column[rows] for column in self.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def refuse_outcome(self, targets: np.ndarray) -> None:
        """Refuse a column that is the outcome, or says it: given it nothing is left to be predicted."""
        if len(targets) < _FEW or targets.ndim > 1:
            return
        for column in self.columns:
            if _says(column, targets):
                raise InputError(
                    f"given: column {column.name!r} equals the outcome in all {len(targets):,} rows, up to its name "
                    "or unit: what is given must be known before the outcome; leave this column out"
                )


def _items(given: Any, n: int) -> Iterator[tuple[str, Any]]:
    """Columns with their names."""
    if isinstance(given, Mapping):
        yield from ((str(name), values) for name, values in given.items())
        return
    if is_frame(given) and hasattr(given, "columns"):
        names = getattr(given, "column_names", given.columns)  # pyarrow calls its arrays columns
        if len(set(map(str, names))) < len(list(names)):
            raise InputError(
                f"given: two columns of the frame have one name ({', '.join(map(str, names))}): rename one"
            )
        yield from ((str(name), given[name]) for name in names)
        return
    if isinstance(given, str | bytes) or not (hasattr(given, "__len__") or is_frame(given)):
        raise InputError(
            f"given must hold one value for each of the {n:,} rows, got {given!r:.60}: pass an array, a mapping of "
            "names to columns, or a data frame; names of columns belong to the command line, --given"
        )
    if is_frame(given):
        name = getattr(given, "name", None)
        yield (str(name) if isinstance(name, str) and name else "x"), given
        return
    array = _array("x", given)
    if array.ndim == 2 and array.shape[1] > 1:
        yield from ((f"x{k}", array[:, k]) for k in range(array.shape[1]))
    else:
        yield "x", array


def _array(name: str, given: Any) -> np.ndarray:
    """What was given as an array; a list keeps its own values, which NumPy would turn into text."""
    if not isinstance(given, list | tuple):
        if is_frame(given):
            return series_to_array(given)
        array = to_numpy(as_array(given)) if not isinstance(given, np.ndarray) else given
        return np.ma.filled(array.astype(np.float64), np.nan) if isinstance(array, np.ma.MaskedArray) else array
    rows = [list(row) if isinstance(row, list | tuple | np.ndarray) else row for row in given]
    lengths = {len(row) if isinstance(row, list) else None for row in rows}
    if len(lengths) > 1:
        raise InputError(
            f"given: column {name!r} is nested, with rows of different lengths: one value a row and column is expected"
        )
    width = next(iter(lengths), None)
    found = np.empty(len(rows) if width is None else (len(rows), width), dtype=object)
    for k, row in enumerate(rows):
        found[k] = row
    return found


def _values(name: str, given: Any, n: int) -> np.ndarray:
    """Values of one column, shape (n,)."""
    if isinstance(given, Covariate):
        return given.values
    if isinstance(given, str | bytes) or not (hasattr(given, "__len__") or is_frame(given)):
        raise InputError(f"given: column {name!r} must hold one value for each of the {n:,} rows, got {given!r:.60}")
    values = np.asarray(_array(name, given))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(
            f"given: column {name!r} is nested, of shape {values.shape}, and one value a row is expected: give every "
            f"column a name of its own, such as {{'{name}0': ..., '{name}1': ...}}, or pass all columns as one array "
            f"of shape ({n}, d)"
        )
    _refuse_length(name, len(values), n)
    return values


def _refuse_length(name: str, length: int, n: int) -> None:
    if length != n:
        raise InputError(
            f"given: column {name!r} has {length:,} values, and there are {n:,} rows: pass one value a row, in the "
            "order of the targets"
        )


def _refuse_names(columns: tuple[Covariate, ...]) -> None:
    names = [column.name for column in columns]
    if len(names) > _MANY:
        raise InputError(
            f"given holds {len(names):,} columns, and at most {_MANY:,} are looked at: pass those that matter"
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"given holds two columns {twice!r}: rename one")


def _column(name: str, values: np.ndarray, n: int) -> Covariate:
    kind = values.dtype.kind
    if kind == "b":
        return Covariate(name, values.astype(np.int64), ("False", "True"))
    if kind in "iuf":
        return Covariate(name, _finite(name, values.astype(np.float64)))
    if kind in "Mm":
        return _of_time(name, values)
    if kind == "c":
        raise InputError(f"given: column {name!r} holds complex numbers: pass their real and imaginary parts")
    return _of_objects(name, values.astype(object), n)


def _finite(name: str, values: np.ndarray) -> np.ndarray:
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        row = int(infinite[0])
        raise InputError(
            f"given: row {row} of column {name!r} is {values[row]:g}: pass a finite number, or NaN where none is known"
        )
    return values


def _of_time(name: str, values: np.ndarray) -> Covariate:
    """Days, since 1970 of dates; NaT is missing."""
    if values.dtype.kind == "M":
        days = (values.astype("datetime64[us]") - np.datetime64(0, "us")) / _DAY
        return Covariate(name, days, unit="date")
    return Covariate(name, values.astype("timedelta64[us]") / _DAY, unit="duration")


def _of_objects(name: str, values: np.ndarray, n: int) -> Covariate:
    missing = np.array([_is_missing(value) for value in values], dtype=bool)
    there = values[~missing]
    if not len(there):
        return Covariate(name, np.full(len(values), np.nan))
    if all(isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) for value in there):
        return Covariate(name, _finite(name, _filled(values, missing, np.nan, float)))
    for what, dtype in ((datetime.date, "datetime64[us]"), (datetime.timedelta, "timedelta64[us]")):
        if all(isinstance(value, what) for value in there):
            return _of_time(name, _filled(values, missing, "NaT", _without_zone, dtype))
    if all(isinstance(value, np.datetime64) for value in there):
        return _of_time(name, _filled(values, missing, "NaT", np.datetime64, "datetime64[us]"))
    nested = next((row for row in np.flatnonzero(~missing) if not _is_scalar(values[row])), None)
    if nested is not None:
        raise InputError(
            f"given: row {nested} of column {name!r} is nested, a {type(values[nested]).__name__}: one number, text, "
            "boolean or date a row is expected; give each of its parts a column"
        )
    return _of_categories(name, values, missing, n)


def _of_categories(name: str, values: np.ndarray, missing: np.ndarray, n: int) -> Covariate:
    texts = np.array([str(value) for value in values[~missing]], dtype=object)
    levels, codes = np.unique(texts.astype(str), return_inverse=True)
    if len(levels) > max(2, _SHARE * n) and n >= 4:
        raise InputError(
            f"given: column {name!r} has {len(levels):,} different texts in {n:,} rows, such as {texts[0]!r}: a name "
            "of each row says nothing of others; leave it out, or pass what rows share, such as the site or the month; "
            "if these are numbers or dates, pass them as such"
        )
    found = np.full(len(values), -1)
    found[~missing] = codes
    return Covariate(name, found, tuple(str(level) for level in levels))


def _filled(values: np.ndarray, missing: np.ndarray, empty: Any, made: Any, dtype: Any = np.float64) -> np.ndarray:
    try:
        found = [empty if gone else made(value) for value, gone in zip(values, missing, strict=True)]
        return np.array(found, dtype=dtype)
    except OverflowError:
        raise InputError("given: whole numbers without end have no place among numbers of 64 bits") from None


def _without_zone(value: Any) -> Any:
    """A time of a zone as that of Greenwich; of pandas as what Python has."""
    value = value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, str) and not value.strip()):
        return True
    return _is_scalar(value) and isinstance(value, float | np.floating | np.datetime64) and bool(value != value)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | bytes | numbers.Number | np.generic | datetime.date | datetime.timedelta)


def _notes(columns: tuple[Covariate, ...]) -> Iterator[str]:
    for column in columns:
        if not column.varies:
            yield f"given: column {column.name!r} is the same in all rows and was left out"
        elif (missing := int(column.missing.sum())) > 0:
            yield f"given: {missing:,} values of column {column.name!r} are missing: such rows are one kind"


def _says(column: Covariate, targets: np.ndarray) -> bool:
    """Whether a column tells every outcome: categories one by one, numbers by a line."""
    if column.missing.any() or len(np.unique(targets)) < 2:
        return False
    if not column.is_number or targets.dtype.kind in "iub":
        pairs = set(zip(column.values.tolist(), targets.tolist(), strict=True))
        return len(pairs) == len(np.unique(column.values)) == len(np.unique(targets)) and len(pairs) < len(targets)
    x, y = (v - v.mean() for v in (column.values, targets.astype(np.float64)))
    return bool((x @ y) ** 2 >= (1 - _EXACTLY) * (x @ x) * (y @ y))
