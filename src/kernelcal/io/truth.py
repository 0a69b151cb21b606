"""Outcomes from a second file, joined to the predictions of a long table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import ReadOptions, Units, listed, usual_column
from kernelcal.io.opening import open_source
from kernelcal.io.sources import Source

__all__ = ["Outcomes", "join_outcomes"]


_VALUES = ("value", "observation", "observed")
_DATES = ("target_end_date", "date")


class Outcomes:
    """Outcome of every prediction (NaN where there is none), its column, and how the files were joined."""

    def __init__(self, y: np.ndarray, name: str, joined: str = "") -> None:
        self.y, self.name, self.joined = y, name, joined


def join_outcomes(units: Units, table: Source, options: ReadOptions) -> Outcomes:
    """Look every prediction up in the truth file; what is not clear is refused."""
    path = Path(str(options.truth))
    truth = open_source([path], options.delimiter if path.suffix == Path(str(table.path)).suffix else None)
    keys = _stated_keys(units, truth, options.truth_keys) if options.truth_keys else _usual_keys(units, truth)
    what = f"outcome in {path}"
    name = _column(truth, options.target) if options.target else usual_column(truth, _VALUES, what, "--target NAME")
    rows = _rows(units, truth, keys)
    values = truth.array(name)
    y = np.where(rows >= 0, values[rows], np.nan) if len(values) else np.full(len(units), np.nan)
    return Outcomes(y, name, f"{path} ({', '.join('='.join(key) for key in keys)})")


def _stated_keys(units: Units, truth: Source, stated: str) -> list[tuple[str, str]]:
    keys = []
    for pair in stated.split(","):
        mine, _, other = (part.strip() for part in pair.partition("="))
        if mine not in units.names:
            raise InputError(
                f"--truth-keys {stated}: {mine!r} is none of the columns that tell predictions apart, which are "
                f"{listed(units.names)}"
            )
        keys.append((mine, _column(truth, other or mine)))
    return keys


def _column(truth: Source, name: str) -> str:
    if name not in truth.names:
        raise InputError(f"{truth.path}: there is no column {name!r}. The columns are {listed(truth.names)}")
    return name


def _usual_keys(units: Units, truth: Source) -> list[tuple[str, str]]:
    """Location, date and, where the truth file has it, target; every doubt is refused."""
    dates = [name for name in _DATES if name in truth.names]
    shared = [n for n in units.names if n in truth.names and n not in ("location", "target_end_date", "target")]
    absent = [name for name in ("location", "target_end_date") if name not in units.names]
    if absent:
        raise _doubt(f"the table has no column {absent[0]}", units, truth)
    if "location" not in truth.names or len(dates) != 1:
        why = "has no column location" if "location" not in truth.names else f"has {len(dates)} columns for the date"
        raise _doubt(f"the truth file {why}", units, truth)
    if shared:
        raise _doubt(f"both files also have {listed(shared)}", units, truth)
    several = "target" in units.names and units.kinds("target", np.arange(len(units))) > 1
    if several and "target" not in truth.names:
        raise _doubt(
            "the table has several targets, the truth file no column target (--where target=NAME)", units, truth
        )
    target = [("target", "target")] if "target" in units.names and "target" in truth.names else []
    return [("location", "location"), ("target_end_date", dates[0]), *target]


def _doubt(why: str, units: Units, truth: Source) -> InputError:
    return InputError(
        f"it is not clear how {truth.path} is joined, since {why}: say which columns agree, such as --truth-keys "
        f"location=location,target_end_date=date. Predictions are told apart by {listed(units.names)}; the columns of "
        f"the truth file are {listed(truth.names)}"
    )


def _rows(units: Units, truth: Source, keys: list[tuple[str, str]]) -> np.ndarray:
    """Row of the truth file for every prediction, -1 where there is none."""
    columns = [[cells.texts[k] for k in cells.numbers] for cells in truth.cells([other for _, other in keys])]
    book: dict[tuple[str, ...], int] = {}
    again: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(zip(*columns, strict=True)):
        if book.setdefault(key, row) != row:
            again.setdefault(key, row)
    places = [units.names.index(mine) for mine, _ in keys]
    sought = [tuple(units.text(unit, place) for place in places) for unit in range(len(units))]
    double = next((key for key in sought if key in again), None)
    if double is not None:
        raise InputError(
            f"{truth.path}: rows {book[double]} and {again[double]} are both for {_named(keys, double)}: keep one of "
            "them, or name further columns that agree, --truth-keys a=b,c=d"
        )
    rows = np.array([book.get(key, -1) for key in sought], dtype=np.int64)
    if not np.any(rows >= 0):
        raise InputError(_no_match(truth, keys, sought, book))
    return rows


def _named(keys: list[tuple[str, str]], values: tuple[str, ...]) -> str:
    return ", ".join(f"{other}={value}" for (_, other), value in zip(keys, values, strict=True))


def _no_match(
    truth: Source, keys: list[tuple[str, str]], sought: list[tuple[str, ...]], book: dict[tuple[str, ...], int]
) -> str:
    first = _named(keys, next(iter(book))) if book else "nothing"
    return (
        f"{truth.path} has no outcome for any prediction: the first prediction needs {_named(keys, sought[0])}, the "
        f"file starts with {first}. Are codes and dates written alike? Say --truth-keys a=b,c=d if other columns agree"
    )
