"""Rows: which are kept, what is said of the others, and what tells rows apart, so that two models can be joined."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns.selection import ReadOptions, known, listed
from kernelcal.io.sources import Cells, Source, absent, is_number, missing

__all__ = [
    "Units",
    "abstentions",
    "count",
    "given_of_rows",
    "given_of_units",
    "groups_of_rows",
    "groups_of_units",
    "holes",
    "kept_given",
    "kept_groups",
    "kept_keys",
    "key_columns",
    "keys_of_rows",
    "keys_of_units",
    "refuse_outcome_groups",
    "rows_to_keep",
    "texts_of_rows",
    "texts_of_units",
    "units_of",
    "where_in_words",
    "where_mask",
]


_NO_ANSWER = frozenset({"1", "1.0", "true", "yes", "abstained", "abstain", "refused", "refusal", "no answer"})
_ANSWER = frozenset({"0", "0.0", "false", "no", "answered", "answer", ""})


def count(number: int, what: str = "row") -> str:
    """Return a number and what is counted, in words."""
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"


def holes(array: np.ndarray) -> np.ndarray:
    """Tell for every row whether something is missing in it."""
    return absent(array) if array.ndim == 1 else np.isnan(array.reshape(len(array), -1)).any(axis=1)


def _endless(array: np.ndarray, options: ReadOptions) -> np.ndarray:
    """Tell for every row whether a number is infinite that must not be; a logarithm of 0 may."""
    if array.dtype.kind != "f":
        return np.zeros(len(array), dtype=bool)
    wrong = array == np.inf if options.kind in ("logits", "log-probabilities") else np.isinf(array)
    return wrong.reshape(len(array), -1).any(axis=1)


def where_mask(source: Source, options: ReadOptions) -> np.ndarray | None:
    """Rows that --where asks for, without those that --abstained names; None where neither was said."""
    masks = _asked_for(source, options)
    if options.abstained is not None:
        masks.append(~_without_answer(source, options.abstained))
    return np.logical_and.reduce(masks) if masks else None


def abstentions(source: Source, options: ReadOptions) -> int:
    """How many of the rows that --where asks for have no answer."""
    if options.abstained is None:
        return 0
    return int(np.logical_and.reduce([*_asked_for(source, options), _without_answer(source, options.abstained)]).sum())


def _asked_for(source: Source, options: ReadOptions) -> list[np.ndarray]:
    wanted = _conditions(source, options)
    return [
        _matching(name, cells, wanted[name]) for name, cells in zip(wanted, source.cells(list(wanted)), strict=True)
    ]


def _without_answer(source: Source, said: str) -> np.ndarray:
    """Rows whose column says that there was no answer: by yes and no, or by one value, ``NAME=VALUE``."""
    name, equals, value = (said, "", "") if said in source.names else said.partition("=")
    cells = source.cells([known(source, name.strip())])[0]
    texts = [text.strip().lower() for text in cells.texts]
    if equals:
        own = value.strip().lower()
        found = [missing(text) if not own else text == own for text in texts]
        if not any(found):
            raise InputError(f"no row has {name}={value}: the column holds {listed(cells.texts)}")
        return np.array(found)[cells.numbers]
    if not set(texts) <= _NO_ANSWER | _ANSWER:
        raise InputError(
            f"--abstained {name}: the column says by true and false, or 1 and 0, where there was no answer; it holds "
            f"{listed(cells.texts)}: say --abstained {name}=VALUE"
        )
    return np.array([text in _NO_ANSWER for text in texts])[cells.numbers]


def where_in_words(options: ReadOptions, source: Source, mask: np.ndarray | None, what: str = "row") -> str:
    """Return ``; 5 of 20 rows where model=a or b``, and how many abstained."""
    if options.abstained is not None:
        silent = abstentions(source, options)
        asked = where_mask(source, replace(options, abstained=None))
        whole = len(_without_answer(source, options.abstained)) if asked is None else int(asked.sum())
        said = f"; {silent:,} of {count(whole, what)} abstained ({options.abstained}) and are counted, not measured"
        return where_in_words(replace(options, abstained=None), source, asked, what) + said
    if mask is None:
        return ""
    conditions = " and ".join(f"{name}={' or '.join(v)}" for name, v in _conditions(source, options).items())
    return f"; {int(mask.sum()):,} of {count(len(mask), what)} where {conditions}"


def _conditions(source: Source, options: ReadOptions) -> dict[str, list[str]]:
    """Columns and their values; a column that was named twice may have either value."""
    wanted: dict[str, list[str]] = {}
    for condition in options.where or ():
        name, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f"--where takes column=value, such as horizon=1, got {condition!r}")
        wanted.setdefault(known(source, name.strip()), []).append(value.strip())
    return wanted


def _matching(name: str, cells: Cells, values: Sequence[str]) -> np.ndarray:
    chosen = np.zeros(len(cells.texts), dtype=bool)
    for value in values:
        same = [text == value for text in cells.texts]
        if not any(same) and is_number(value):  # 1 and 1.0 are one number, but 01 and 1 may be two codes
            same = [is_number(text) and float(text) == float(value) for text in cells.texts]
        if not any(same):
            raise InputError(f"no row has {name}={value}: the column holds {listed(cells.texts)}")
        chosen |= np.array(same)
    return chosen[cells.numbers]


def rows_to_keep(
    y: np.ndarray, others: Sequence[np.ndarray], wanted: np.ndarray | None, options: ReadOptions
) -> tuple[np.ndarray, list[str]]:
    """Which rows are wanted and complete, and what was dropped, in words."""
    kept, dropped = np.ones(len(y), dtype=bool) if wanted is None else wanted.copy(), []
    if options.drop_missing:
        empty = kept & np.logical_or.reduce([holes(array) for array in (y, *others)])
        endless = kept & ~empty & np.logical_or.reduce([_endless(array, options) for array in (y, *others)])
        kept &= ~(empty | endless)
        also = f" and {count(int(endless.sum()))} with infinite ones" if endless.any() else ""
        dropped.append(f"{count(int(empty.sum()))} with missing values{also}")
    if options.drop_target is not None:
        unwanted = kept & np.array([_same(v, options.drop_target) for v in y.tolist()], dtype=bool)
        kept &= ~unwanted
        dropped.append(f"{count(int(unwanted.sum()))} with target {options.drop_target}")
    return kept, dropped


def _same(value: Any, text: str) -> bool:
    if isinstance(value, bool):
        return str(value).lower() == text.strip().lower()
    if isinstance(value, float | int):
        try:
            return value == float(text)
        except ValueError:
            return False
    return str(value) == text


@dataclass(frozen=True)
class Units:
    """Predictions in order of their first line.

    Attributes
    ----------
    names : tuple of str
        Columns that tell predictions apart.
    texts : tuple of list of str
        Distinct texts of every column.
    numbers : numpy.ndarray of shape (n, columns)
        Which of them every prediction has.
    of_line : numpy.ndarray
        Prediction that a line belongs to.
    first : numpy.ndarray of shape (n,)
        First line of every prediction, as a position in `of_line`.
    """

    names: tuple[str, ...]
    texts: tuple[list[str], ...]
    numbers: np.ndarray
    of_line: np.ndarray
    first: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    def in_words(self, unit: int) -> str:
        """Name one prediction by the columns that are not the same for all."""
        vary = [k for k in range(len(self.names)) if np.any(self.numbers[:, k] != self.numbers[0, k])]
        return ", ".join(f"{self.names[k]}={self.text(unit, k)}" for k in vary or range(len(self.names)))

    def text(self, unit: int, column: int) -> str:
        """What a prediction has in a column."""
        return self.texts[column][self.numbers[unit, column]]

    def kinds(self, name: str, units: np.ndarray) -> int:
        """Return how many distinct texts some predictions have in a column."""
        return len(np.unique(self.numbers[units, self.names.index(name)]))


def units_of(source: Source, names: Sequence[str], lines: np.ndarray) -> Units:
    """Predictions of some lines of a table."""
    cells = source.cells(names)
    numbers = np.stack([column.numbers[lines] for column in cells], axis=1)
    key = np.zeros(len(lines), dtype=np.int64)
    for column in numbers.T:  # one number a prediction so far, times the texts of the next column, made small again
        key = np.unique(key * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    _, first, of_line = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = first[order]
    return Units(tuple(names), tuple(column.texts for column in cells), numbers[first], rank[of_line], first)


_MODELS = ("model", "model_id")


def key_columns(source: Source, options: ReadOptions) -> list[str]:
    """Columns that tell rows apart, or what is known of them: they hold no predictions."""
    dependent = (options.clusters, options.time, options.series)
    horizon = options.horizon if options.horizon in source.names else None
    lists = (options.row_id, options.groups, options.given, options.model_column, *dependent, horizon)
    return [known(source, name.strip()) for text in lists for name in (text or "").split(",") if name.strip()]


def keys_of_rows(source: Source, options: ReadOptions) -> list[str] | None:
    """``case=17`` of every row of the table, by the columns of --row-id; None where it was not said."""
    if not options.row_id:
        return None
    names = [known(source, name.strip()) for name in options.row_id.split(",")]
    return _in_words(names, [_of_rows(column) for column in source.cells(names)])


def _of_rows(column: Cells) -> list[str]:
    """Text of every row."""
    texts = column.texts
    return [texts[number] for number in column.numbers]


def keys_of_units(units: Units, options: ReadOptions) -> list[str]:
    """The same of every prediction of a long table, by all that tells predictions apart but the model.

    Columns are in the order of their names: files of one hub may have them in another.

    A column ``model`` that is the same in the whole file names the file, not its rows. --row-id names the columns.
    """
    asked = [name.strip() for name in (options.row_id or "").split(",") if name.strip()]
    unknown = next((name for name in asked if name not in units.names), None)
    if unknown is not None:
        raise InputError(f"--row-id {unknown}: the columns that tell predictions apart are {listed(units.names)}")
    columns = [units.names.index(name) for name in asked] or [
        k
        for k, name in enumerate(units.names)
        if name != options.model_column and not (name in _MODELS and np.ptp(units.numbers[:, k]) == 0)
    ]
    columns = sorted(columns, key=lambda k: units.names[k])
    texts = [[units.text(unit, k) for unit in range(len(units))] for k in columns]
    return _in_words([units.names[k] for k in columns], texts) if columns else [str(k) for k in range(len(units))]


def groups_of_rows(source: Source, options: ReadOptions) -> dict[str, list[str]] | None:
    """What the columns of --groups say of every row of the table; None where it was not said."""
    if not options.groups:
        return None
    return texts_of_rows(source, options.groups)


def texts_of_rows(source: Source, asked: str | Sequence[str]) -> dict[str, list[str]]:
    """What columns say of every row of the table, by a list of names as text, or by their names."""
    names = [known(source, name.strip()) for name in asked.split(",")] if isinstance(asked, str) else list(asked)
    return dict(zip(names, map(_of_rows, source.cells(names)), strict=True))


def given_of_rows(source: Source, options: ReadOptions) -> dict[str, list[str]] | None:
    """What the columns of --given say of every row of the table; None where it was not said."""
    return texts_of_rows(source, options.given) if options.given else None


def kept_given(given: dict[str, list[str]] | None, rows: np.ndarray) -> dict[str, Any] | None:
    """Columns of --given in some rows: numbers or dates where every cell is one, else text; None where empty."""
    if given is None:
        return None
    return {
        name: _typed([None if missing(texts[row]) else texts[row] for row in rows]) for name, texts in given.items()
    }


def _typed(texts: list[str | None]) -> Any:
    there = [text for text in texts if text is not None]
    for made, empty, dtype in ((float, "nan", np.float64), (_date, "NaT", "datetime64[us]")):
        try:
            _ = [made(text) for text in there]
        except ValueError:
            continue
        return np.array([empty if text is None else made(text) for text in texts], dtype=dtype)
    return texts


def _date(text: str) -> np.datetime64:
    return np.datetime64(datetime.datetime.fromisoformat(text.strip()).replace(tzinfo=None))


def refuse_outcome_groups(targets: Sequence[str], options: ReadOptions) -> None:
    """Refuse groups of rows with the same outcome, and an outcome that is given: no prediction is right in all."""
    same = next((name.strip() for name in (options.given or "").split(",") if name.strip() in targets), None)
    if same is not None:
        raise InputError(
            f"--given {same}: this is the target, and given it nothing is left to be predicted: name columns that were "
            "known before the outcome"
        )
    same = next((name.strip() for name in (options.groups or "").split(",") if name.strip() in targets), None)
    if same is not None:
        raise InputError(
            f"--groups {same}: this is the target, and groups of rows with one outcome differ from any prediction: "
            "name columns that were known before the outcome"
        )


def groups_of_units(units: Units, options: ReadOptions) -> dict[str, list[str]] | None:
    """The same of every prediction of a long table."""
    return texts_of_units(units, options.groups, "--groups")


def given_of_units(units: Units, options: ReadOptions) -> dict[str, list[str]] | None:
    """What the columns of --given say of every prediction of a long table."""
    return texts_of_units(units, options.given, "--given")


def texts_of_units(units: Units, asked: str | Sequence[str] | None, flag: str) -> dict[str, list[str]] | None:
    """What columns say of every prediction of a long table, by a list of names in the option `flag`, or their names."""
    if not asked:
        return None
    names = [name.strip() for name in asked.split(",")] if isinstance(asked, str) else list(asked)
    unknown = next((name for name in names if name not in units.names), None)
    if unknown is not None:
        raise InputError(f"{flag} {unknown}: the columns that tell predictions apart are {listed(units.names)}")
    return {name: [units.text(unit, units.names.index(name)) for unit in range(len(units))] for name in names}


def kept_groups(groups: dict[str, list[str]] | None, rows: np.ndarray) -> dict[str, list[str]] | None:
    """Groups of some rows; a row that says nothing is in the group "missing"."""
    if groups is None:
        return None
    return {name: [_named(texts[row]) for row in rows] for name, texts in groups.items()}


def _named(text: str) -> str:
    return "missing" if missing(text) else text


def _in_words(names: Sequence[str], texts: Sequence[Sequence[str]]) -> list[str]:
    return [
        ", ".join(f"{name}={text}" for name, text in zip(names, row, strict=True)) for row in zip(*texts, strict=True)
    ]


def kept_keys(keys: list[str] | None, rows: np.ndarray) -> list[str] | None:
    """Keys of some rows."""
    return None if keys is None else [keys[row] for row in rows]
