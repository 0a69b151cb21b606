"""Rows that depend on each other: what --clusters, --time, --horizon and --series say of them, or their dates do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcal.dependence import STRETCHES
from kernelcal.errors import InputError
from kernelcal.io.columns.hubs import Hub, hub_columns
from kernelcal.io.columns.rows import Units, count, kept_given, texts_of_rows, texts_of_units
from kernelcal.io.columns.selection import ReadOptions, flag, listed
from kernelcal.io.sources import Cells, Source, is_number, missing

__all__ = ["Dependents", "dependents_of_rows", "dependents_of_units", "horizon_column"]


_LABELS = ("clusters", "series")
_MANY = 200_000  # rows, above which columns are not looked at unasked
_Columns = dict[str, list[str]]


@dataclass(frozen=True, eq=False)
class Kept:
    """What is known of the rows that are kept.

    Attributes
    ----------
    said : dict
        Arguments for `kernelcal.cases.Case.of`: labels as numbers, times as numbers or dates, the horizon.
    words : str
        What the sentence of what was read says of it.
    notes : tuple of str
        What holds no more, for results.
    labels : dict of str to numpy.ndarray
        Where nothing was said: labels that rows may share, as numbers, by the name of the column.
    """

    said: dict[str, Any] = field(default_factory=dict)
    words: str = ""
    notes: tuple[str, ...] = ()
    labels: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Dependents:
    """What was said of which rows depend on each other, of all rows of a table.

    Attributes
    ----------
    columns : dict of str to columns
        By option, ``clusters``, ``series``, ``time`` and ``horizon``: the columns that were named.
    horizon : int or None
        Steps, where a number was said.
    hub : tuple and columns, or None
        Which columns hold the dates of forecasts (`hub_columns`), and these columns.
    taken : bool
        Whether what a table of forecasts knows is taken where nothing was said.
    given : bool
        Whether columns are given, which goes with rows that depend on each other only where outcomes are redrawn.
    labels : callable
        Reads the columns of a name that subjects have: numbers of their labels, by name.
    """

    columns: dict[str, _Columns]
    horizon: int | None = None
    hub: tuple[tuple[str, str, list[str]], _Columns] | None = None
    taken: bool = True
    given: bool = False
    labels: Callable[[], dict[str, np.ndarray]] = dict

    @property
    def holes(self) -> np.ndarray | None:
        """NaN for every row without a label or time, else 0: such rows are dropped, or refused, as others are."""
        if not self.columns:
            return None
        empty = np.logical_or.reduce([_missing(texts) for named in self.columns.values() for texts in named.values()])
        return np.where(empty, np.nan, 0.0)

    def kept(self, rows: np.ndarray, row_in_words: Callable[[int], str], *, redrawn: bool = True) -> Kept:
        """Return what is known of some rows, of predictions whose outcomes are `redrawn`, as those of draws are not.

        Raises
        ------
        InputError
            Where a cell is missing, and where a column of horizons holds several.
        """
        hub = None if self.hub is None else Hub.of(*self.hub, rows)
        said = self._said(rows, row_in_words, of_hub=hub is not None)
        if hub is None:
            looked = {} if said or len(rows) > _MANY else self.labels()
            labels = {name: numbers[rows] for name, numbers in looked.items()}
            return Kept(said, self._in_words(said), labels=labels)
        if not self.columns and self.horizon is None:
            known = hub.known()
            redrawn = redrawn and len(rows) >= STRETCHES * known.get("horizon", 1)
            taken = known and self.taken and (redrawn or not self.given)
            return Kept(known, hub.in_words(known)) if taken else Kept(notes=(hub.untaken(known),))
        if "clusters" not in said:
            said = {**hub.overlapping(said.get("horizon")), **said}
        doubt = hub.doubt(said)
        return Kept(said, self._in_words(said), (doubt,) if doubt else ())

    def _said(self, rows: np.ndarray, row_in_words: Callable[[int], str], *, of_hub: bool) -> dict[str, Any]:
        """What columns and numbers say of some rows; a column of a hub leaves its horizon to the dates."""
        said: dict[str, Any] = {} if self.horizon is None else {"horizon": self.horizon}
        for option, named in self.columns.items():
            _refuse_missing(option, named, rows, row_in_words)
            if option in _LABELS:
                said[option] = _labels(list(named.values()), rows)
            elif option == "time":
                said[option] = _times(named, rows)
            elif (steps := _one_horizon(named, rows, counted=not of_hub)) is not None:
                said[option] = steps
        return said

    def _in_words(self, said: dict[str, Any]) -> str:
        """Return ``; 60 clusters of patient`` of the kept rows, or what was said of forecasts that overlap."""
        words = []
        for option in _LABELS:
            if option in said and option in self.columns:
                named, number = " and ".join(self.columns[option]), len(np.unique(said[option]))
                words.append(
                    f"{count(number, 'cluster')} of {named}" if option == "clusters" else f"series {named} ({number:,})"
                )
        words += [f"time {name}" for name in self.columns.get("time", ())]
        words += [f"horizon {said['horizon']}"] if "horizon" in said else []
        return "".join(f"; {part}" for part in words)


def _missing(texts: list[str]) -> np.ndarray:
    book = {text: missing(text) for text in set(texts)}
    return np.array([book[text] for text in texts], dtype=bool)


def _refuse_missing(option: str, named: _Columns, rows: np.ndarray, row_in_words: Callable[[int], str]) -> None:
    for name, texts in named.items():
        empty = rows[_missing([texts[row] for row in rows])]
        if len(empty):
            own = ", a label of its own if a row stands alone" if option in _LABELS else ""
            raise InputError(
                f"{flag(option)} {name}: {row_in_words(int(empty[0]))} says nothing ({count(len(empty))} in all): fill "
                f"it in{own}, or say --drop-missing to leave such rows out"
            )


def _labels(columns: Sequence[list[str]], rows: np.ndarray) -> np.ndarray:
    """Number of the combination of what columns say, in order of first appearance."""
    book: dict[tuple[str, ...], int] = {}
    return np.array([book.setdefault(tuple(texts[row] for texts in columns), len(book)) for row in rows], dtype=int)


def _times(named: _Columns, rows: np.ndarray) -> np.ndarray:
    ((name, texts),) = named.items()
    times = (kept_given(named, rows) or {})[name]
    if isinstance(times, np.ndarray):
        return times
    wrong = next(texts[row] for row in rows if not is_number(texts[row]))
    raise InputError(
        f"--time {name}: {wrong!r} is no time: numbers of steps or ISO dates such as 2026-03-31 are expected; without "
        "--time rows are taken in their order"
    )


def _one_horizon(named: _Columns, rows: np.ndarray, *, counted: bool) -> int | None:
    """Steps that one column says of all rows; None where the dates of a hub count them, whose horizon 0 looks ahead."""
    ((name, column),) = named.items()
    texts = [column[row] for row in rows]
    found = dict.fromkeys(texts)
    if len(found) > 1:
        first = next(iter(found))
        raise InputError(
            f"--horizon {name}: the column holds {len(found)} horizons ({listed(list(found))}), and forecasts of one "
            f"series at several horizons are not independent of each other: take one at a time, --where {name}={first}"
        )
    if not counted:
        return None
    steps = float(texts[0]) if is_number(texts[0]) else 0.0
    if steps < 1 or steps != int(steps):
        raise InputError(
            f"--horizon {name}: the column says {texts[0]!r}, and the steps that a forecast looks ahead are a whole "
            "number, 1 or more: say it yourself, such as --horizon 2"
        )
    return int(steps)


def horizon_column(options: ReadOptions) -> str | None:
    """Name of the column that --horizon names; None where it says a number, or nothing."""
    said = options.horizon
    return None if said is None or isinstance(said, int) or is_number(said) else said.strip()


def _steps(options: ReadOptions) -> int | None:
    said = options.horizon
    if said is None or horizon_column(options) is not None:
        return None
    steps = float(said)
    if isinstance(said, bool) or steps < 1 or steps != int(steps):
        raise InputError(
            f"--horizon is the whole number of steps that a forecast looks ahead, 1 or more, or a column that says it, "
            f"got {said!r}"
        )
    return int(steps)


_SUBJECTS = re.compile(
    r"(?:\w+_)?(?:ids?|race|patient|subject|person|user|customer|account|family|question|prompt|item|case|document|doc|"
    r"article|video|image|match|game|event|team\d?|player|station|site|county|district|state|city|hospital|school|"
    r"cluster|household|plot|field|batch|run)(?:_(?:id|name|code|number))?",
    re.IGNORECASE,
)


def dependents_of_rows(
    source: Source, options: ReadOptions, targets: Sequence[str], used: Sequence[str] = ()
) -> Dependents | None:
    """What was said of every row of a table, or its dates or names of subjects say; None where nothing is."""
    found = hub_columns(source.names)
    dates = {} if found is None else _readable(source, [*found[:2], *found[2]])
    hub = (
        None if found is None or len(dates) < len({*found[:2], *found[2]}) else (found, texts_of_rows(source, [*dates]))
    )
    names = [name for name in source.names if _SUBJECTS.fullmatch(name) and name not in (*targets, *used)]

    def labels() -> dict[str, np.ndarray]:
        return {name: cells.numbers for name, cells in _readable(source, names).items()}

    subjects = labels if names and hub is None else None
    return _said(options, targets, hub, lambda asked, _: texts_of_rows(source, asked), subjects)


def _readable(source: Source, names: Sequence[str]) -> dict[str, Cells]:
    """Cells of the columns that hold one value a row; nobody asked for them, so that others are left."""
    try:
        whole = [name for name in names if source.axes(name) == 1]
        return dict(zip(whole, source.cells(whole), strict=True))
    except InputError:
        return {}


def dependents_of_units(units: Units, options: ReadOptions) -> Dependents | None:
    """What was said of every prediction of a long table, or its dates say; None where nothing is."""
    found = hub_columns(units.names, tasks=units.names)
    hub = None if found is None else (found, texts_of_units(units, [*found[:2], *found[2]], "--unit") or {})
    names = [name for name in units.names if _SUBJECTS.fullmatch(name)] if hub is None else []

    def labels() -> dict[str, np.ndarray]:
        return {name: units.numbers[:, units.names.index(name)] for name in names}

    def texts(asked: str, option: str) -> _Columns:
        return texts_of_units(units, asked, flag(option)) or {}

    return _said(options, (), hub, texts, labels if names else None)


def _said(
    options: ReadOptions,
    targets: Sequence[str],
    hub: tuple[tuple[str, str, list[str]], _Columns] | None,
    texts: Callable[[str, str], _Columns],
    labels: Callable[[], dict[str, np.ndarray]] | None,
) -> Dependents | None:
    asked = {name: getattr(options, name) for name in ("clusters", "series", "time")}
    asked = {**asked, "horizon": horizon_column(options)}
    columns = {option: texts(names, option) for option, names in asked.items() if names}
    steps = _steps(options)
    if not columns and steps is None and hub is None and labels is None:
        return None
    for option, named in columns.items():
        same = next((name for name in named if name in targets), None)
        if same is not None:
            raise InputError(
                f"{flag(option)} {same}: this is the target: name a column that was known before the outcome"
            )
        if option not in _LABELS and len(named) > 1:
            raise InputError(f"{flag(option)} takes one column, got {listed(list(named))}")
    return Dependents(columns, steps, hub, options.unasked, bool(options.given), labels or dict)
