"""Outcomes from a second file, joined to the predictions of a long table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import ReadOptions, Units, listed, usual_column, where_mask
from kernelcal.io.opening import open_source
from kernelcal.io.sources import Source, missing

__all__ = ["Outcomes", "condition_of_truth", "join_outcomes", "rows_of_truth", "truth_column"]


_VALUES = ("value", "observation", "observed", "oracle_value", "target_value", "obs_value")
_DATES = ("target_end_date", "date")
_TARGETS = ("target", "target_name", "target_variable", "target_id", "variable", "signal")
_ORACLE, _TYPE, _ID = "oracle_value", "output_type", "output_type_id"
_VERSIONS = ("as_of", "issue", "version")


class Outcomes:
    """Outcome of every prediction (NaN or None where there is none), its column, and how the files were joined."""

    def __init__(self, y: np.ndarray, name: str, joined: str = "") -> None:
        self.y, self.name, self.joined = y, name, joined


def join_outcomes(units: Units, table: Source, options: ReadOptions, output_type: str = "quantile") -> Outcomes:
    """Look every prediction up in the truth file; what is not clear is refused.

    Outcomes are numbers, for probabilities of categories (``output_type="pmf"``) text. Conditions of ``--where`` on
    columns that the table lacks are about the truth file.
    """
    path = Path(str(options.truth))
    truth = open_source([path], options.delimiter if path.suffix == Path(str(table.path)).suffix else None)
    keys = _stated_keys(units, truth, options.truth_keys) if options.truth_keys else _usual_keys(units, truth)
    what = f"outcome in {path}"
    name = (
        truth_column(truth, options.target) if options.target else usual_column(truth, _VALUES, what, "--target NAME")
    )
    kept = _kept(truth, table, options)
    if name == _ORACLE and _TYPE in truth.names:
        kept &= _of_type(truth, output_type)
    if output_type != "pmf":
        values: np.ndarray = truth.array(name).astype(np.float64)
    elif name == _ORACLE and _ID in truth.names:  # a row a category: 1 where it came true
        kept &= truth.array(name) == 1
        values = _texts(truth, _ID)
    else:
        values = _texts(truth, name)
    rows = rows_of_truth(units, truth, keys, [values], kept)
    nothing: Any = None if values.dtype.kind == "O" else np.nan
    y = np.where(rows >= 0, values[rows], nothing) if len(values) else np.full(len(units), nothing)
    return Outcomes(y, name, f"{path} ({', '.join('='.join(key) for key in keys)})")


def _texts(truth: Source, name: str) -> np.ndarray:
    cells = truth.cells([name])[0]
    return np.array([None if missing(text) else text for text in cells.texts], dtype=object)[cells.numbers]


def _of_type(truth: Source, output_type: str) -> np.ndarray:
    """Rows of oracle values that are about an output type; outcomes of quantiles are those of means and medians too."""
    types = truth.cells([_TYPE])[0]
    of_numbers = ("quantile", "sample", "median", "mean")
    same = [text == output_type or (output_type in of_numbers and text in of_numbers) for text in types.texts]
    return np.array(same, dtype=bool)[types.numbers]


def _kept(truth: Source, table: Source, options: ReadOptions) -> np.ndarray:
    """Rows of the truth file that --where asks for, by columns that the table does not have."""
    return condition_of_truth(truth, [c for c in options.where or () if c.partition("=")[0].strip() not in table.names])


def condition_of_truth(truth: Source, theirs: Sequence[str]) -> np.ndarray:
    """Rows of a truth file for which conditions hold."""
    mask = where_mask(truth, ReadOptions(where=list(theirs))) if theirs else None
    return np.ones(len(truth.cells(truth.names[:1])[0].numbers), dtype=bool) if mask is None else mask


def _stated_keys(units: Units, truth: Source, stated: str) -> list[tuple[str, str]]:
    keys = []
    for pair in stated.split(","):
        mine, _, other = (part.strip() for part in pair.partition("="))
        if mine not in units.names:
            raise InputError(
                f"--truth-keys {stated}: {mine!r} is none of the columns that tell predictions apart, which are "
                f"{listed(units.names)}"
            )
        keys.append((mine, truth_column(truth, other or mine)))
    return keys


def truth_column(truth: Source, name: str) -> str:
    """Return the name of a column of the truth file that exists."""
    if name not in truth.names:
        raise InputError(f"{truth.path}: there is no column {name!r}. The columns are {listed(truth.names)}")
    return name


def _usual_keys(units: Units, truth: Source) -> list[tuple[str, str]]:
    """Location, date and, where the truth file has it, target; every doubt is refused."""
    dates = [name for name in _DATES if name in truth.names]
    if _ORACLE in truth.names:  # a hub's oracle output: it has the columns that tell its outcomes apart
        own = [n for n in truth.names if n not in (_TYPE, _ID, _ORACLE, *_VERSIONS) and n in units.names]
        if own:
            return [(name, name) for name in own]
    shared = [n for n in units.names if n in truth.names and n not in ("location", "target_end_date", "target")]
    absent = [name for name in ("location", "target_end_date") if name not in units.names]
    if absent:
        raise _doubt(f"the table has no column {absent[0]}", units, truth)
    if "location" not in truth.names or len(dates) != 1:
        why = "has no column location" if "location" not in truth.names else f"has {len(dates)} columns for the date"
        raise _doubt(f"the truth file {why}", units, truth)
    if shared:
        raise _doubt(f"both files also have {listed(shared)}", units, truth)
    target = _target_key(units, truth)
    several = "target" in units.names and units.kinds("target", np.arange(len(units))) > 1
    if several and not target:
        raise _doubt(
            "the table has several targets, the truth file no column target (--where target=NAME)", units, truth
        )
    return [("location", "location"), ("target_end_date", dates[0]), *target]


def _target_key(units: Units, truth: Source) -> list[tuple[str, str]]:
    """The column of the truth file that holds the targets of the table."""
    if "target" not in units.names:
        return []
    if "target" in truth.names:
        return [("target", "target")]
    place = units.names.index("target")
    mine = {units.text(unit, place) for unit in range(len(units))}
    found = [name for name in _TARGETS if name in truth.names and mine <= set(truth.cells([name])[0].texts)]
    return [("target", found[0])] if len(found) == 1 else []


def _doubt(why: str, units: Units, truth: Source) -> InputError:
    return InputError(
        f"it is not clear how {truth.path} is joined, since {why}: say which columns agree, such as --truth-keys "
        f"location=location,target_end_date=date. Predictions are told apart by {listed(units.names)}; the columns of "
        f"the truth file are {listed(truth.names)}"
    )


def rows_of_truth(
    units: Units, truth: Source, keys: list[tuple[str, str]], values: Sequence[np.ndarray], kept: np.ndarray
) -> np.ndarray:
    """Row of the truth file for every prediction, -1 where there is none; rows that say the same are one."""
    columns = [[cells.texts[k] for k in cells.numbers] for cells in truth.cells([other for _, other in keys])]
    book: dict[tuple[str, ...], int] = {}
    again: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(zip(*columns, strict=True)):
        if not kept[row]:
            continue
        first = book.setdefault(key, row)
        same = all(v[first] == v[row] or (missing(v[first]) and missing(v[row])) for v in values)
        if first != row and not same:
            again.setdefault(key, row)
    places = [units.names.index(mine) for mine, _ in keys]
    sought = [tuple(units.text(unit, place) for place in places) for unit in range(len(units))]
    double = next((key for key in sought if key in again), None)
    if double is not None:
        raise InputError(
            f"{truth.path}: rows {book[double]} and {again[double]} are both for {_named(keys, double)}: "
            f"{_which_of_them(truth)}"
        )
    rows = np.array([book.get(key, -1) for key in sought], dtype=np.int64)
    if not np.any(rows >= 0):
        raise InputError(_no_match(truth, keys, sought, book))
    return rows


def _which_of_them(truth: Source) -> str:
    version = next((name for name in _VERSIONS if name in truth.names), None)
    if version is not None:
        return (
            f"the file holds several versions ({version} {listed(truth.cells([version])[0].texts)}): say which is "
            f"meant, --where {version}=VALUE"
        )
    return (
        "keep one of them, say which are meant, --where column=value, or name further columns that agree, --truth-keys "
        "a=b,c=d"
    )


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
