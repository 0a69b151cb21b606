"""From columns of some rows to predictions and sums: which columns hold what is decided once for all parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.io import (
    Arrays,
    ReadOptions,
    class_columns,
    form_of,
    is_constant,
    is_number,
    missing,
    read_source,
    typed,
    wide_columns,
)
from kernelcal.io.columns import (
    Choice,
    choose_target,
    class_names,
    flag,
    groups_of_rows,
    identities,
    is_one_hot,
    kept_groups,
    key_columns,
    known,
    read_targets,
    refuse_doubt,
    refuse_outcome_groups,
    rows_to_keep,
    was_said,
)
from kernelcal.sketch import GroupedCase
from kernelcal.stream.formats import Columns

__all__ = [
    "Batch",
    "Labels",
    "Place",
    "Roles",
    "batch_of",
    "keys_of",
    "label_columns",
    "listed_names",
    "roles_of",
]


_MOST = 10_000


@dataclass(frozen=True, eq=False)
class Labels:
    """Different labels of all rows.

    Attributes
    ----------
    values : numpy.ndarray
        In order: numbers or booleans if all are, else text.
    """

    values: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[Iterable[Any]], name: str) -> Self:
        """Gather what the parts hold; numbers may be written 1 and 1.0."""
        found: set[str] = set()
        for some in texts:
            found.update(str(text).strip() for text in some if not missing(text))
            if len(found) > _MOST:
                raise InputError(
                    f"column {name!r} holds more than {_MOST:,} different texts, which are too many for labels: name "
                    "the target with --target NAME"
                )
        return cls(typed(sorted(found)))

    @property
    def texts(self) -> set[str]:
        """Labels that are text; none where all are numbers."""
        return {value for value in self.values.tolist() if isinstance(value, str)}

    def as_read(self, column: np.ndarray) -> np.ndarray:
        """Cells of some rows as what all rows are: the text "1" is text if another part holds "cat"."""
        if column.dtype.kind != "O":
            return column
        cells = column.tolist()
        book = {cell: None if missing(cell) else str(cell).strip() for cell in set(cells)}
        none = None in book.values()
        if self.values.dtype.kind == "O" and not none:
            return np.array([book[cell] for cell in cells], dtype=np.str_)
        if self.values.dtype.kind in "if":
            late = next((text for text in book.values() if text is not None and not is_number(text)), None)
            if late is not None:
                raise InputError(
                    f"label {late!r} is no number, and the labels that were looked at first are: name all of them, "
                    "classes='cat,dog' (--classes), in the order of the columns"
                )
            numbers = {cell: np.nan if text is None else float(text) for cell, text in book.items()}
            return np.array([numbers[cell] for cell in cells])
        return np.array([book[cell] for cell in cells], dtype=object)


_REFUSED = {
    "weights": "a sketch takes no case weights",
    "abstained": "rows are numbered by their place in the files: write the rows with an answer to files of their own",
    "where": "rows are numbered by their place in the files: write the rows to keep to files of their own",
    "given": "columns that are given are looked at with all rows at once",
    **dict.fromkeys(
        ("clusters", "time", "horizon", "series"),
        "how strongly rows depend on each other is learned from all of them before targets are redrawn",
    ),
    "truth": "outcomes of a second file are joined to all rows at once (or write them beside the predictions)",
    "model_column": "one pass is about one model",
}
_BESIDE = ("groups", "given", "clusters", "time", "horizon", "series")  # what is known of rows, all of them at once
_WHOLE = "Files that fit into memory are read at once with a larger --memory"


def keys_of(options: ReadOptions) -> tuple[str, ...]:
    """Names of the columns that tell rows apart; none where rows are numbered."""
    return tuple((options.row_id or "").split(",")) if options.row_id else ()


@dataclass(frozen=True, eq=False)
class Roles:
    """Options that leave nothing to be found, the columns to read, and the labels of all parts.

    Attributes
    ----------
    options : ReadOptions
        Columns and classes by their names; nothing is dropped by them.
    asked : ReadOptions
        What was said, for the rows to drop.
    targets : tuple of str
        Columns of the targets.
    numbers, texts : tuple of str
        Columns of numbers, and columns of labels.
    labels : Labels or None
        Labels, where a type does not tell what they are.
    of_classes : bool
        Whether classes are predicted.
    beside : tuple of str
        Columns of what is known of the rows, where all are read at once.
    percent : mapping of str to int
        Columns whose numbers have a percent sign, and a line that has one.
    choices : tuple of Choice
        What was found by name, with the reasons.
    """

    options: ReadOptions
    asked: ReadOptions
    targets: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    labels: Labels | None
    of_classes: bool
    beside: tuple[str, ...] = ()
    percent: Mapping[str, int] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()

    def source(self, name: Any, columns: Columns) -> Arrays:
        """Columns of some rows as a source that knows which of them have percent signs."""
        found = Arrays(name, columns)
        found.percent = {column: line for column, line in self.percent.items() if column in self.numbers}
        return found

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that are read as they are written."""
        return (*self.texts, *self.beside)

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns that tell rows apart; none where rows are numbered."""
        return keys_of(self.asked)

    @property
    def names(self) -> list[str]:
        """All columns that are read, each once."""
        return [*dict.fromkeys([*self.numbers, *self.others, *self.keys])]

    def identities(self, columns: Columns) -> np.ndarray:
        """Identities of rows by their keys."""
        return identities({name: columns[name] for name in self.keys})

    def known(self) -> dict[str, Any]:
        """What was said of the rows: options for all of them."""
        return {name: getattr(self.asked, name) for name in _BESIDE}

    def as_read(self, columns: Columns) -> Columns:
        """Columns of a batch, labels as what all labels are."""
        if self.labels is None:
            return columns
        return {name: self.labels.as_read(x) if name in self.texts else x for name, x in columns.items()}


def label_columns(head: Arrays, options: ReadOptions, *, together: bool = False) -> list[str]:
    """Columns of labels: the target of class predictions and, for top labels, the predicted label; else none.

    What needs all rows at once is refused, unless they are read `together`.
    """
    _refuse(options, together)
    form, options, _ = form_of(head, options)
    if form != "classes":
        return []
    targets = choose_target(head, options.target)
    if is_one_hot(head, targets):
        return []
    predicted = [] if options.predicted_label is None else [known(head, options.predicted_label)]
    return [*targets, *predicted]


def roles_of(head: Arrays, labels: Labels | None, options: ReadOptions) -> Roles:
    """Decide what the columns hold, from the first rows and the labels of all rows."""
    said, unsaid = options.predictions is not None, options.classes is None
    form, options, choices = form_of(head, options, None if labels is None else lambda: labels.texts)
    roles = _roles_of(form, head, labels, options, said=said)
    told = {one.role for one in choices}
    if roles.of_classes and unsaid and roles.options.classes and "classes" not in told:
        names = tuple(roles.options.classes.split(","))
        choices = (*choices, Choice("classes", names, "the names of the columns, beside the labels"))
    if roles.of_classes and options.kind == "probabilities" and set(roles.numbers) & set(head.percent):
        choices = (*choices, Choice("kind", ("percent",), "the numbers have a percent sign"))
    return replace(roles, percent=dict(head.percent), choices=choices)


def _roles_of(form: str, head: Arrays, labels: Labels | None, options: ReadOptions, *, said: bool) -> Roles:
    if form == "long":
        raise InputError(
            "a long table spreads a prediction over several lines, which may lie in several parts: write one row a "
            f"prediction. {_WHOLE}"
        )
    if form == "samples":
        raise InputError(
            "draws have no exact test of redrawn targets, which one pass is about (their swap test needs all rows): "
            f"pass quantiles, or a mean and a standard deviation. {_WHOLE}"
        )
    if form == "classes":
        return _of_classes(head, labels, options, said=said)
    targets, columns = wide_columns(head, form, options)
    if options.drop_target is not None and len(targets) > 1:
        raise InputError("--drop-target is for one target column: leave these rows out of the files")
    named: dict[str, Any] = {}
    if form != "covariances":
        named = {role: listed_names(names) for role, names in columns.items()}
    if form == "parameters":
        named = {"parameters": listed_names([name for names in columns.values() for name in names])}
    found = replace(options, target=listed_names(targets), **named)
    read = [name for names in columns.values() for name in names if not is_constant(head, name)]
    return _roles(head, found, options, targets, [*targets, *read], [], None)


def _of_classes(head: Arrays, labels: Labels | None, options: ReadOptions, *, said: bool) -> Roles:
    texts = label_columns(head, options, together=True)
    targets, columns = class_columns(head, options, None if labels is None else lambda: labels.texts)
    y = _known_labels(head, labels, targets)
    width = head.columns[columns[0]].shape[1] if head.wide(columns[0]) else len(columns)
    names = class_names(head, options, columns, width, y, targets if is_one_hot(head, targets) else ())
    if names is None and not said and texts:
        refuse_doubt(columns, y)
    named: dict[str, Any] = {"target": listed_names(targets), "predictions": listed_names(columns)}
    if names is not None and not options.one_based:
        named["classes"] = listed_names(list(map(str, names)))
    numbers = [*columns, *(() if texts else targets)]
    return _roles(head, replace(options, **named), options, targets, numbers, texts, labels)


def _known_labels(head: Arrays, labels: Labels | None, targets: list[str]) -> np.ndarray:
    if labels is not None:
        return labels.values
    return head.numbers(targets) if is_one_hot(head, targets) else head.values(targets[0])


def _roles(
    head: Arrays,
    found: ReadOptions,
    asked: ReadOptions,
    targets: list[str],
    numbers: list[str],
    texts: list[str],
    labels: Any,
) -> Roles:
    beside: dict[str, Any] = dict.fromkeys(_BESIDE)
    refuse_outcome_groups(targets, asked)
    keeping = replace(found, drop_missing=False, drop_target=None, **beside)
    ordered, classes = tuple(dict.fromkeys(numbers)), found.predictions is not None
    known = tuple(name for name in dict.fromkeys(key_columns(head, asked)) if name not in (*ordered, *texts))
    return Roles(keeping, asked, tuple(targets), ordered, tuple(texts), labels, classes, known)


def listed_names(names: list[str]) -> str:
    """Names as an option takes them."""
    bad = next((name for name in names if "," in name or name != name.strip()), None)
    if bad is not None:
        raise InputError(
            f"the name {bad!r} has a comma or a space at its end, and names are listed with commas: rename the column "
            "or class"
        )
    return ",".join(names)


def _refuse(options: ReadOptions, together: bool) -> None:
    for name, why in _REFUSED.items():
        if was_said(options, name) and not (together and name in _BESIDE):
            raise InputError(f"{flag(name)} cannot be said of files read in one pass: {why}. {_WHOLE}")


_ROW = re.compile(r"\brow (\d+)")


@dataclass(frozen=True)
class Place:
    """Where some rows stand: the name of their part, and the number of the first one there and among all rows."""

    name: str
    begin: int
    first: int

    def after(self, rows: int) -> Place:
        """Return the place so many rows further on."""
        return replace(self, begin=self.begin + rows, first=self.first + rows)

    @contextmanager
    def naming(self, kept: np.ndarray | None = None) -> Iterator[None]:
        """Say what is refused with the part, and with the row as the part has it."""
        try:
            yield
        except InputError as error:

            def row(found: re.Match[str]) -> str:
                number = int(found.group(1))
                return f"row {self.begin + (number if kept is None else int(kept[number]))}"

            text = str(error).removeprefix(self.name)
            raise InputError(f"{self.name}{'' if text[:1] in (',', ':') else ': '}{_ROW.sub(row, text)}") from None


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows that are kept, None if there are none, which these are, how many were dropped, and what was read."""

    case: Case | None
    kept: np.ndarray | None
    missing: int
    unwanted: int
    description: str = ""


def batch_of(columns: Columns, roles: Roles, place: Place) -> Batch:
    """Read and check some rows, and leave out those that are to be dropped."""
    with place.naming():
        columns = roles.as_read(columns)
        kept, missing, unwanted = _kept(roles.source(place.name, columns), roles)
    if kept is not None:
        columns = {name: column[kept] for name, column in columns.items()}
        if not len(kept):
            return Batch(None, kept, missing, unwanted)
    with place.naming(kept):
        data = read_source(roles.source(place.name, columns), roles.options)
        case = Case.of(data.y, data.predictions)
        if roles.asked.groups:
            texts = groups_of_rows(roles.source(place.name, columns), roles.asked)
            case = GroupedCase.with_groups(case, kept_groups(texts, np.arange(len(case))) or {})
    return Batch(case, kept, missing, unwanted, data.description)


def _kept(source: Arrays, roles: Roles) -> tuple[np.ndarray | None, int, int]:
    """Rows to keep, None for all, and the numbers of those with missing values and with the target to drop."""
    asked = roles.asked
    if not asked.drop_missing and asked.drop_target is None:
        return None, 0, 0
    y = read_targets(source, roles.targets, asked) if roles.of_classes else _numbers(source, roles)
    others = [source.array(name) for name in roles.numbers if name not in roles.targets]
    complete, _ = rows_to_keep(y, others, None, replace(asked, drop_target=None))
    kept, _ = rows_to_keep(y, others, complete, replace(asked, drop_missing=False))
    rows = np.flatnonzero(kept)
    missing = int((~complete).sum())
    return (None if kept.all() else rows), missing, len(y) - missing - len(rows)


def _numbers(source: Arrays, roles: Roles) -> np.ndarray:
    y = source.numbers(roles.targets)
    return y[:, 0] if y.shape[1] == 1 else y
