"""Arrays of one file by what they hold, as every layout gives them, and from there to targets and predictions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelcal.dependence import suspicious_labels
from kernelcal.errors import InputError, with_rows
from kernelcal.io.columns import (
    Choice,
    Dependents,
    ReadOptions,
    count,
    flag,
    holes,
    kept_given,
    kept_groups,
    kept_keys,
    listed,
    rows_to_keep,
    was_said,
)
from kernelcal.predictions import (
    NO_SPREAD,
    DiagonalNormal,
    MultivariateNormal,
    Normal,
    Predictions,
    Quantiles,
    RealPredictions,
    Samples,
    checked_pair,
    families,
    positive_numbers,
    trusted,
)

__all__ = [
    "Data",
    "FileArrays",
    "LongLines",
    "as_data",
    "explained",
    "family",
    "family_of_name",
    "how_found",
    "shown",
    "with_dependents",
]


@dataclass(frozen=True, eq=False)
class LongLines:
    """Which line of a long table holds which number of which prediction.

    Attributes
    ----------
    value : str
        Column of the numbers.
    numbers : numpy.ndarray of int, shape (l,)
        Lines of the table.
    rows, columns : numpy.ndarray of int, shape (l,)
        Prediction that a line belongs to, and which of its quantiles, draws or categories it has; -1: none.
    summed : bool
        Whether lines hold sums over the categories up to theirs, as those of a distribution function do.
    """

    value: str
    numbers: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    summed: bool = False

    def kept(self, rows: np.ndarray) -> LongLines:
        """Lines of some of the predictions, by their places among these."""
        place = np.full(int(self.rows.max(initial=-1)) + 1, -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        known = (place[self.rows] >= 0) & (self.columns >= 0)
        parts = self.numbers[known], place[self.rows[known]], self.columns[known]
        return LongLines(self.value, *parts, self.summed)

    def of(self, table: np.ndarray) -> np.ndarray:
        """What every line holds of a table with a row a prediction."""
        return (table.cumsum(axis=1) if self.summed else table)[self.rows, self.columns]


@dataclass(frozen=True, eq=False)
class Data:
    """Targets and predictions, and a sentence that says what was read.

    Attributes
    ----------
    y : numpy.ndarray
        Targets.
    predictions : Predictions
        Predictions.
    description : str
        File, rows, columns, classes, kind, and what was dropped.
    weights : numpy.ndarray or None
        Case weights, where a column of them was named.
    keys : list of str or None
        What tells the rows apart, where it is known.
    groups : dict of str to list of str, or None
        Columns that --groups names, and what they say of every row.
    numbers : numpy.ndarray or None
        Numbers of the rows in the file, dropped ones counted; None where a row of it is no prediction.
    given : dict of str to columns, or None
        Columns that --given names: numbers, dates or text.
    dependence : dict
        What is known of rows that depend on each other: ``clusters``, ``time``, ``horizon``, ``series``, as
        `kernelcal.cases.Case.of` takes them; empty where nothing is.
    choices : tuple of Choice
        Columns that were found by their names, with the reasons.
    doubts : tuple of str
        Questions about what was read.
    labels : numpy.ndarray or None
        True labels, where the targets are whether a predicted label is the true one.
    abstained : int
        Rows without an answer, which are counted and left out.
    lines : LongLines or None
        Of a long table, which line holds which number of which prediction.
    """

    y: np.ndarray
    predictions: Predictions
    description: str
    weights: np.ndarray | None = None
    keys: list[str] | None = None
    groups: dict[str, list[str]] | None = None
    numbers: np.ndarray | None = None
    given: dict[str, Any] | None = None
    dependence: dict[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    doubts: tuple[str, ...] = ()
    labels: np.ndarray | None = None
    abstained: int = 0
    lines: LongLines | None = None

    @property
    def sentence(self) -> str:
        """What was read and how that was decided, in a line; then what is doubtful, a line each."""
        first = f"{self.description}{how_found(self.choices)}"
        return "\n".join([first, *(f"question: {doubt}" for doubt in self.doubts)])

    def explained(self, command: Sequence[str]) -> str:
        """Which columns were taken for what and why, and the command that states it, from the one that was given."""
        return explained(self.sentence, self.choices, command)

    def row_in_words(self, row: int) -> str:
        """What messages call a row: by its number in the file."""
        return f"row {row if self.numbers is None or row >= len(self.numbers) else self.numbers[row]}"


def how_found(choices: Sequence[Choice]) -> str:
    """What was found by name, for the sentence that says what was read."""
    roles = list(dict.fromkeys(flag(one.role)[2:] for one in choices))
    return f"; found by name: {', '.join(roles)}" if roles else ""


def explained(sentence: str, choices: Sequence[Choice], command: Sequence[str]) -> str:
    """What was read, why, and the command that states it."""
    if not choices:
        return f"{sentence}\nevery column was named; nothing was found by name"
    reasons = [f"{flag(one.role)} {shown(one.columns)}: {one.why}" for one in choices]
    stated = [part for one in choices for part in _stated(one)]
    return "\n".join([sentence, *reasons, f"the same, stated: {shlex.join([*command, *stated])}"])


def shown(names: Sequence[str]) -> str:
    """Names, the first and the last of many."""
    return ",".join(names) if len(names) < _LISTED else f"{names[0]},...,{names[-1]} ({len(names)} of them)"


def _stated(one: Choice) -> list[str]:
    value = ",".join(one.columns)
    return [f"{flag(one.role)}={value}"] if value.startswith("-") else [flag(one.role), value]


_LISTED = 12
_SHOWN = 6  # components in the sentence that says what was read


def family(
    form: str, arrays: Mapping[str, Any], options: ReadOptions, row_in_words: Callable[[int], str]
) -> RealPredictions:
    """Predictions from arrays with the sample on axis 0; what is refused is said with the row as the file has it."""
    try:
        found = _FAMILIES[form](arrays, options)
    except InputError as error:
        text = with_rows(str(error), row_in_words)
        raise InputError(text.replace('pass crossing="sort"', "say --crossing sort")) from None
    return trusted(found, notes=tuple(with_rows(note, row_in_words) for note in found.notes)) if found.notes else found


def family_of_name(name: str) -> type[Predictions]:
    """Family whose parameters a file holds as columns, by its name on the command line."""
    known = {_command_name(kind): kind for kind in families(own=True) if kind.given_by}
    found = {key.replace("-", ""): kind for key, kind in known.items()}.get(
        name.lower().replace("-", "").replace("_", "")
    )
    if found is None:
        raise InputError(f"--family is one of {', '.join(sorted(known))}, got {name!r}")
    return found


def _command_name(kind: type[Predictions]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def _parametric(arrays: Mapping[str, Any], options: ReadOptions) -> Any:
    kind: Any = family_of_name(str(options.family))
    return kind(*(arrays[name] for name in kind.given_by))


def _normal(arrays: Mapping[str, Any], _: ReadOptions) -> RealPredictions:
    mean, std = arrays["mean"], arrays.get("std")
    if std is None:
        std = np.sqrt(positive_numbers(arrays["variance"], "the variance", ndim=mean.ndim, remedy=NO_SPREAD))
    return Normal(mean, std) if mean.ndim == 1 else DiagonalNormal(mean, std)


def _quantiles(arrays: Mapping[str, Any], options: ReadOptions) -> RealPredictions:
    return Quantiles(arrays["quantiles"], arrays["levels"], crossing=options.crossing, resolution=options.resolution)


_FAMILIES: dict[str, Callable[[Mapping[str, Any], ReadOptions], RealPredictions]] = {
    "normal": _normal,
    "covariances": lambda arrays, _: MultivariateNormal(arrays["mean"], arrays["cov"]),
    "samples": lambda arrays, _: Samples(arrays["samples"]),
    "quantiles": _quantiles,
    "parameters": _parametric,
}


def _families_in_words(
    predictions: RealPredictions, columns: Mapping[str, Sequence[str]], targets: Sequence[str]
) -> str:
    """Say the family, and from which columns it was made."""
    if isinstance(predictions, Samples):
        numbers = f" of {count(predictions.dimension, 'number')}" if predictions.event_shape else ""
        return f"{count(predictions.size, 'draw')}{numbers} a row{_shown(columns['samples'])}"
    if isinstance(predictions, Quantiles):
        return _quantiles_in_words(predictions) + _shown(columns["quantiles"])
    roles = [_role(role, columns[role]) for role in columns]
    start = f"{type(predictions).__name__} from {' and '.join(filter(None, [', '.join(roles[:-1]), roles[-1]]))}"
    if len(targets) < 2:
        return start
    pairs = [f"{target} ({', '.join(of)})" for target, *of in zip(targets, *columns.values(), strict=False)]
    return f"{start}: {', '.join(pairs[:_SHOWN])}{', ...' if len(pairs) > _SHOWN else ''}"


def _role(role: str, columns: Sequence[str]) -> str:
    words = "the root of variance" if role == "variance" else role
    return words if len(columns) > 1 or columns[0] == role else f"{words} {columns[0]}"


def _quantiles_in_words(predictions: Quantiles) -> str:
    levels, equal = predictions.levels, np.diff(np.asarray(predictions.values), axis=1) == 0
    rows = int(equal.any(axis=1).sum())
    flat = f", {count(rows)} with equal neighbouring quantiles" if rows else ""
    rounded = f", outcomes rounded to {predictions.resolution:g}" if predictions.resolution else ""
    return f"{len(levels)} quantiles from {levels[0]:g} to {levels[-1]:g}{flat}{rounded}"


def _shown(columns: Sequence[str]) -> str:
    if not columns:
        return ""
    return f" ({columns[0]})" if len(columns) == 1 else f" ({columns[0]} to {columns[-1]})"


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
    given : dict of str to list of str, or None
        Columns that are given.
    dependents : Dependents or None
        What was said of rows that depend on each other.
    lines : LongLines or None
        Of a long table, where lines have what the arrays have; None where a row of the file is a prediction.
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
    given: dict[str, list[str]] | None = None
    dependents: Dependents | None = None
    lines: LongLines | None = None


def as_data(table: FileArrays, options: ReadOptions) -> Data:
    """Leave out rows as asked, build the predictions, and say what was read."""
    if table.form != "quantiles":
        _refuse_of_quantiles(options)
    rows, dropped = _rows(table, options)
    arrays = {role: array if len(rows) == len(array) else array[rows] for role, array in table.arrays.items()}
    parts = arrays if table.levels is None else {**arrays, "levels": table.levels}
    predictions = family(table.form, parts, options, lambda row: table.row_in_words(int(rows[row])))
    target = f"target{'s' * (len(table.targets) > 1)} {listed(table.targets)}"
    words = _families_in_words(predictions, table.shown, table.targets)
    weighted = f"; weights {options.weights}" if options.weights else ""
    start = f"read {table.read}: {count(len(rows))}{table.rows}; {target}; {words}{weighted}"
    keys, groups = kept_keys(table.keys, rows), kept_groups(table.groups, rows)
    numbers = rows if table.lines is None else None
    given = kept_given(table.given, rows)
    y, weights = arrays["target"], arrays.get("weights")
    lines = None if table.lines is None else table.lines.kept(rows)
    read = f"{table.together(rows)}{table.end}{dropped}"
    data = Data(y, predictions, read, weights, keys, groups, numbers, given, lines=lines)
    return with_dependents(data, start, table.dependents, rows, table.row_in_words)


def with_dependents(
    data: Data, start: str, dependents: Dependents | None, rows: np.ndarray, row_in_words: Callable[[int], str]
) -> Data:
    """Return data with what is known of rows that depend on each other, and the start of the sentence about them."""
    if dependents is None:
        return replace(data, description=start + data.description)
    batch = data.predictions
    ordered = getattr(batch, "n_classes", 2) == 2 and not getattr(batch, "event_shape", ())
    kept = dependents.kept(rows, row_in_words, redrawn=ordered and not isinstance(batch, Samples))
    notes = (*kept.notes, *_suspicious(data, kept.labels)) if kept.labels else kept.notes
    batch = trusted(batch, notes=(*batch.notes, *notes)) if notes else batch
    return replace(data, predictions=batch, dependence=kept.said, description=start + kept.words + data.description)


def _suspicious(data: Data, labels: dict[str, np.ndarray]) -> tuple[str, ...]:
    """Say whether rows of one subject deviate alike; nothing of targets that will be refused, with their rows."""
    try:
        targets, batch = checked_pair(data.y, data.predictions)
    except InputError:
        return ()
    found = suspicious_labels(batch, targets, labels)
    return (found,) if found else ()


def _refuse_of_quantiles(options: ReadOptions) -> None:
    """Refuse of a long table of draws what is said of quantiles; other tables were refused before."""
    for name, why in (("crossing", "draws have no order"), ("resolution", "draws claim no levels")):
        if was_said(options, name):
            raise InputError(f"{flag(name)} is said of quantiles, and this table holds draws ({why}): leave it out")


def _rows(table: FileArrays, options: ReadOptions) -> tuple[np.ndarray, str]:
    """Numbers of the rows to keep, and what was dropped."""
    y = table.arrays["target"]
    if options.drop_target is not None and y.ndim > 1:
        raise InputError("--drop-target is for one target column: leave these rows out of the file")
    others = [array for role, array in table.arrays.items() if role != "target"]
    holes = None if table.dependents is None else table.dependents.holes
    others += [] if holes is None else [holes]
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
