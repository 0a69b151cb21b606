"""Arrays of one file by what they hold, as every layout gives them, and from there to targets and predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.data import Data
from kernelcal.io.families import families_in_words, family
from kernelcal.io.keys import kept_groups, kept_keys
from kernelcal.io.options import ReadOptions
from kernelcal.io.rows import count, holes, rows_to_keep
from kernelcal.io.selection import listed

__all__ = ["FileArrays", "as_data"]


@dataclass(frozen=True)
class FileArrays:
    """Arrays with the sample on axis 0.

    Attributes
    ----------
    form : str
        normal, covariances, samples, quantiles or parameters.
    read, rows, end : str
        Files, what a row is, and what was left out, for the sentence that says what was read.
    targets : sequence of str
        Names of the targets.
    columns : mapping of str to sequence of str
        Names of the columns of every array of predictions, target and weights, which messages use.
    shown : mapping of str to sequence of str
        Those that the sentence names.
    arrays : mapping of str to numpy.ndarray
        target, weights (perhaps), and what the form takes.
    levels : numpy.ndarray or None
        Levels of quantiles.
    wanted : numpy.ndarray or None
        Rows that are asked for and have an outcome; None for all.
    row_in_words : callable
        What a message calls a row.
    together : callable
        What is said of the kept rows that are of several models or kinds.
    keys : list of str or None
        What tells rows apart.
    groups : dict of str to list of str, or None
        Columns of groups.
    """

    form: str
    read: str
    rows: str
    end: str
    targets: Sequence[str]
    columns: Mapping[str, Sequence[str]]
    shown: Mapping[str, Sequence[str]]
    arrays: Mapping[str, np.ndarray]
    levels: np.ndarray | None
    wanted: np.ndarray | None
    row_in_words: Callable[[int], str]
    together: Callable[[np.ndarray], str]
    keys: list[str] | None = None
    groups: dict[str, list[str]] | None = None


def as_data(table: FileArrays, options: ReadOptions) -> Data:
    """Leave out rows as asked, build the predictions, and say what was read."""
    rows, dropped = _rows(table, options)
    arrays = {role: array if len(rows) == len(array) else array[rows] for role, array in table.arrays.items()}
    parts = arrays if table.levels is None else {**arrays, "levels": table.levels}
    predictions = family(table.form, parts, options, lambda row: table.row_in_words(int(rows[row])))
    target = f"target{'s' * (len(table.targets) > 1)} {listed(table.targets)}"
    words = families_in_words(predictions, table.shown, table.targets)
    weights = f"; weights {options.weights}" if options.weights else ""
    start = f"read {table.read}: {count(len(rows))}{table.rows}; {target}; {words}{weights}"
    description = f"{start}{table.together(rows)}{table.end}{dropped}"
    keys, groups = kept_keys(table.keys, rows), kept_groups(table.groups, rows)
    return Data(arrays["target"], predictions, description, arrays.get("weights"), keys, groups)


def _rows(table: FileArrays, options: ReadOptions) -> tuple[np.ndarray, str]:
    """Numbers of the rows to keep, and what was dropped."""
    y = table.arrays["target"]
    if options.drop_target is not None and y.ndim > 1:
        raise InputError("--drop-target is for one target column: leave these rows out of the file")
    others = [array for role, array in table.arrays.items() if role != "target"]
    kept, dropped = rows_to_keep(y, others, table.wanted, options)
    end = f"; dropped {', '.join(dropped)}" if dropped else ""
    if not kept.any():
        raise InputError(f"no rows are left{table.end}{end}" if len(y) else "there are no rows, only names")
    rows = np.flatnonzero(kept)
    for role, array in table.arrays.items():
        _refuse_missing(array, table.columns[role], rows, table.row_in_words)
    return rows, end


def _refuse_missing(
    array: np.ndarray, names: Sequence[str], rows: np.ndarray, row_in_words: Callable[[int], str]
) -> None:
    empty = rows[holes(array[rows])]
    if not len(empty):
        return
    place = np.argwhere(np.isnan(np.atleast_1d(array[empty[0]])))[0]
    one = f"{names[0]}[{', '.join(map(str, place))}]" if array.ndim > 1 else names[0]
    which = names[place[0]] if len(names) > 1 else one
    raise InputError(
        f"{row_in_words(int(empty[0]))}: {which} is missing ({count(len(empty))} with missing values there): fill in "
        "the values, or say --drop-missing to leave these rows out"
    )
