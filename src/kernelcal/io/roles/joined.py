"""Outcomes of a second file beside a table with a row a prediction: which column they are, and how rows are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import Choice, ReadOptions, count, listed, units_of, where_mask
from kernelcal.io.opening import open_source
from kernelcal.io.roles import vocabulary as words
from kernelcal.io.roles.main import target_of
from kernelcal.io.roles.table import NamedColumns
from kernelcal.io.sources import Arrays, Cells, Source
from kernelcal.io.truth import condition_of_truth, rows_of_truth, truth_column

__all__ = ["Joined", "WithOutcomes", "with_outcomes"]


_NO_KEYS = ("", "index", "unnamed_0", "usage", "split", "fold", "set")
_ID = ("id", "ids", "uid", "uuid", "key", "rowid", "passengerid", "caseid", "qid")
_ENOUGH = 0.9  # of the values that a key must have in common to be proposed
_MOST = 20  # columns of each file that are looked at for a proposal


class Joined(Source):
    """Columns of a table, and beside them the outcomes of another file.

    Attributes
    ----------
    outcomes : dict of str to str
        Names of the outcomes here, and in their file.
    there : numpy.ndarray
        Rows that have an outcome.
    """

    def __init__(self, own: Source, outcomes: dict[str, np.ndarray], names: dict[str, str], there: np.ndarray) -> None:
        self._own, self._more = own, Arrays(own.path, outcomes)
        self.path, self.names, self.percent = own.path, [*own.names, *outcomes], own.percent
        self.outcomes, self.there = names, there
        self.across = getattr(own, "across", {})

    def _of(self, name: str) -> Source:
        return self._more if name in self._more.names else self._own

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Numeric columns of either file side by side."""
        files = {self._of(name) for name in names}
        if len(files) == 1:
            return files.pop().numbers(names)
        return np.column_stack([self._of(name).numbers([name]) for name in names])

    def values(self, name: str) -> np.ndarray:
        """One column as it is."""
        return self._of(name).values(name)

    def first(self, name: str, rows: int) -> np.ndarray:
        """First values of a column."""
        return self._of(name).first(name, rows)

    def cells(self, names: Sequence[str]) -> list[Cells]:
        """What the cells of some columns say."""
        return [self._of(name).cells([name])[0] for name in names]

    def array(self, name: str) -> np.ndarray:
        """One column of numbers."""
        return self._of(name).array(name)

    def axes(self, name: str) -> int:
        """Number of axes of a column."""
        return self._of(name).axes(name)

    def wide(self, name: str) -> bool:
        """Tell whether a column holds several numbers a row."""
        return self._of(name).wide(name)


@dataclass(frozen=True)
class WithOutcomes:
    """A table with its outcomes, options that name them, and what was found by name."""

    source: Joined
    options: ReadOptions
    choices: tuple[Choice, ...]


def with_outcomes(source: Source, options: ReadOptions) -> WithOutcomes:
    """Join a second file by the columns that tell rows apart.

    Raises
    ------
    InputError
        Where it is not clear which column holds the outcomes or how the files are joined, where the second file says
        two things of one row, and where no row has an outcome.
    """
    path = Path(str(options.truth))
    same_kind = path.suffix == Path(str(source.path)).suffix
    truth = open_source([path], options.delimiter if same_kind else None)
    targets, why = _outcomes(source, truth, options)
    keys, reason = _keys(source, truth, options, targets)
    own = [c for c in options.where or () if c.partition("=")[0].strip() in source.names]
    theirs = [c for c in options.where or () if c not in own]
    rows, without = _rows(source, truth, keys, targets, replace(options, where=own or None), theirs)
    names = {(f"{name} (truth)" if name in source.names else name): name for name in targets}
    made = {here: _taken(truth.values(name), rows) for here, name in names.items()}
    joined = Joined(source, made, names, rows >= 0)
    joined.aside = f"{source.aside}; outcomes of {path} ({', '.join('='.join(key) for key in keys)}){without}"
    said: dict[str, Any] = {"target": ",".join(names), "truth": None, "truth_keys": None, "where": own or None}
    choices = [] if options.target else [Choice("target", tuple(targets), why)]
    if not options.truth_keys:
        choices.append(Choice("truth_keys", tuple("=".join(key) for key in keys), reason))
    if len(targets) > 1 and not options.predictions and all(name in source.names for name in targets):
        said["predictions"] = ",".join(targets)
        choices.append(Choice("predictions", tuple(targets), f"called as the outcomes in {path.name}"))
    return WithOutcomes(joined, replace(options, **said), tuple(choices))


def _outcomes(source: Source, truth: Source, options: ReadOptions) -> tuple[list[str], str]:
    """Columns of the outcomes in their file, and why it is these."""
    if options.target:
        return [truth_column(truth, part.strip()) for part in options.target.split(",")], ""
    stated = [pair.partition("=")[2].strip() for pair in (options.truth_keys or "").split(",")]
    table, mine = NamedColumns(truth, ReadOptions(), None), NamedColumns(source, ReadOptions(), None)
    table.free = [name for name in table.free if name not in stated]
    found = target_of(table)
    if found is not None:
        return list(found.columns), f"{found.why} in {truth.path}"
    shared = [name for name in table.free if name in source.names]
    one_hot = [name for name in shared if table.kind(name) == "binary" and mine.kind(name) in ("fractions", "binary")]
    if len(one_hot) > 1:
        one_hot = [name for name in source.names if name in one_hot]
        return one_hot, f"columns of 0 and 1 in {truth.path}, which the table has too"
    rest = [n for n in table.free if n not in source.names and words.plain(n) not in _NO_KEYS and n not in stated]
    if len(rest) == 1 and (shared or stated):
        return rest, f"the one column of {truth.path} that the table does not have"
    raise InputError(
        f"{truth.path}: it is not clear which column holds the outcomes: say which, --target NAME. The columns are "
        f"{listed(truth.names)}"
    )


def _keys(
    source: Source, truth: Source, options: ReadOptions, targets: Sequence[str]
) -> tuple[list[tuple[str, str]], str]:
    """Pairs of columns that agree, and why it is these."""
    if options.truth_keys:
        pairs = [[part.strip() for part in pair.partition("=")[::2]] for pair in options.truth_keys.split(",")]
        unknown = next((mine for mine, _ in pairs if mine not in source.names), None)
        if unknown is not None:
            raise InputError(
                f"--truth-keys {options.truth_keys}: the table has no column {unknown!r}: say its name before the "
                f"sign =, that in {truth.path} behind it. The columns are {listed(source.names)}"
            )
        return [(mine, truth_column(truth, other or mine)) for mine, other in pairs], ""
    asked = [part.strip() for part in (options.predictions or "").split(",")]
    own = [n for n in source.names if n not in asked and source.axes(n) == 1 and words.plain(n) not in _NO_KEYS]
    theirs = {words.plain(name): name for name in truth.names if name not in targets}
    shared = [(name, name) for name in own if name in truth.names and name not in targets]
    shared = shared or [(name, theirs[words.plain(name)]) for name in own if words.plain(name) in theirs]
    ids = [pair for pair in shared if words.plain(pair[0]) in _ID or words.plain(pair[0]).endswith("_id")]
    if len(ids) == 1 and _different(source, ids[0][0]) and _different(truth, ids[0][1]):
        return ids, f"{ids[0][0]} tells the rows of both files apart"
    if not shared:
        raise InputError(_no_keys(source, truth, own, targets))
    return shared, "the columns that both files have"


def _different(source: Source, name: str) -> bool:
    cells = source.cells([name])[0]
    return len(cells.texts) == len(cells.numbers)


def _no_keys(source: Source, truth: Source, own: Sequence[str], targets: Sequence[str]) -> str:
    """The columns that could agree by their values, else all."""
    start = (
        f"it is not clear how {truth.path} is joined, since no column is called alike in both files: say which agree"
    )
    theirs = {}
    for name in [name for name in truth.names if name not in targets and truth.axes(name) == 1][:_MOST]:
        if _different(truth, name):
            theirs[name] = set(truth.cells([name])[0].texts)
    alike = [
        f"{mine}={other}"
        for mine in own[:_MOST]
        if _different(source, mine)
        for texts in [set(source.cells([mine])[0].texts)]
        for other, there in theirs.items()
        if len(texts & there) >= _ENOUGH * len(texts)
    ]
    if len(alike) == 1:
        return f"{start}, --truth-keys {alike[0]} if these are the same (their values are)"
    return (
        f"{start}, --truth-keys mine=theirs. The columns of the table are {listed(source.names)}; those of "
        f"{truth.path} are {listed(truth.names)}"
    )


def _rows(
    source: Source,
    truth: Source,
    keys: list[tuple[str, str]],
    targets: Sequence[str],
    options: ReadOptions,
    theirs: Sequence[str],
) -> tuple[np.ndarray, str]:
    """Row of the second file for every row of the table, -1 where there is none, and what is said of those."""
    wanted = where_mask(source, options)
    number = len(source.cells([keys[0][0]])[0].numbers)
    lines = np.arange(number) if wanted is None else np.flatnonzero(wanted)
    units = units_of(source, [mine for mine, _ in keys], lines)
    if len(units) < len(lines) and not options.truth_keys and not options.model_column:
        first = units.in_words(int(np.flatnonzero(np.bincount(units.of_line) > 1)[0]))
        raise InputError(
            f"{len(lines):,} rows have {len(units):,} different {', '.join(mine for mine, _ in keys)} (several have "
            f"{first}): are they of several models or folds? Say which are meant, --where column=value; or, where all "
            f"are, --truth-keys {','.join('='.join(key) for key in keys)}"
        )
    kept = condition_of_truth(truth, theirs)
    found = rows_of_truth(units, truth, keys, [truth.values(name) for name in targets], kept)
    rows = np.full(number, -1, dtype=np.int64)
    rows[lines] = found[units.of_line]
    absent = int((rows[lines] < 0).sum())
    if not absent:
        return rows, ""
    first = units.in_words(int(np.argmin(found)))
    return rows, f"; {count(absent)} without outcome left out (the first: {first})"


def _taken(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Values of some rows; a missing one where there is no row."""
    found = values[rows]
    if (rows >= 0).all():
        return found
    if values.dtype.kind in "iuf":
        return np.where(rows >= 0, found.astype(np.float64), np.nan)
    found = found.astype(object)
    found[rows < 0] = None
    return found
