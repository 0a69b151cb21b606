"""Rows that depend on each other: what columns of --clusters, --time, --horizon and --series say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns.rows import Units, count, kept_given, texts_of_rows, texts_of_units
from kernelcal.io.columns.selection import ReadOptions, flag, listed
from kernelcal.io.sources import Source, is_number, missing

__all__ = ["Dependents", "dependents_of_rows", "dependents_of_units", "horizon_column"]


_LABELS = ("clusters", "series")
_Columns = dict[str, list[str]]


@dataclass(frozen=True, eq=False)
class Dependents:
    """What was said of which rows depend on each other, of all rows of a table.

    Attributes
    ----------
    columns : dict of str to columns
        By option, ``clusters``, ``series``, ``time`` and ``horizon``: the columns that were named.
    horizon : int or None
        Steps, where a number was said.
    """

    columns: dict[str, _Columns]
    horizon: int | None = None

    @property
    def holes(self) -> np.ndarray:
        """NaN for every row without a label or time, else 0: such rows are dropped, or refused, as others are."""
        empty = np.logical_or.reduce([_missing(texts) for named in self.columns.values() for texts in named.values()])
        return np.where(empty, np.nan, 0.0)

    def kept(self, rows: np.ndarray, row_in_words: Callable[[int], str]) -> tuple[dict[str, Any], str]:
        """Return arguments for `kernelcal.cases.Case.of` of some rows, and what the sentence of what was read says.

        Labels become numbers, times numbers or dates.

        Raises
        ------
        InputError
            Where a cell is missing, and where a column of horizons holds several.
        """
        said: dict[str, Any] = {} if self.horizon is None else {"horizon": self.horizon}
        for option, named in self.columns.items():
            _refuse_missing(option, named, rows, row_in_words)
            if option in _LABELS:
                said[option] = _labels(list(named.values()), rows)
                continue
            ((name, texts),) = named.items()
            if option == "horizon":
                said[option] = _one_horizon(name, [texts[row] for row in rows])
            else:
                said[option] = _times(named, rows)
        return said, self._in_words(said)

    def _in_words(self, said: dict[str, Any]) -> str:
        """Return ``; 60 clusters of patient`` of the kept rows, or what was said of forecasts that overlap."""
        words = []
        for option in _LABELS:
            if option in said:
                named = " and ".join(self.columns[option])
                number = len(np.unique(said[option]))
                words.append(f"{count(number, 'cluster')} of {named}" if option == "clusters" else f"series {named}")
                words[-1] += f" ({number:,})" if option == "series" else ""
        words += [f"time {next(iter(self.columns['time']))}"] if "time" in said else []
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


def _one_horizon(name: str, texts: list[str]) -> int:
    """Steps that one column says of all rows."""
    found = dict.fromkeys(texts)
    if len(found) > 1:
        first = next(iter(found))
        raise InputError(
            f"--horizon {name}: the column holds {len(found)} horizons ({listed(list(found))}), and forecasts of one "
            f"series at several horizons are not independent of each other: take one at a time, --where {name}={first}"
        )
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


def dependents_of_rows(source: Source, options: ReadOptions, targets: Sequence[str]) -> Dependents | None:
    """What was said of every row of a table; None where nothing was."""
    return _said(options, targets, lambda asked, _: texts_of_rows(source, asked))


def dependents_of_units(units: Units, options: ReadOptions) -> Dependents | None:
    """What was said of every prediction of a long table; None where nothing was."""
    return _said(options, (), lambda asked, option: texts_of_units(units, asked, flag(option)) or {})


def _said(options: ReadOptions, targets: Sequence[str], texts: Callable[[str, str], _Columns]) -> Dependents | None:
    asked = {name: getattr(options, name) for name in ("clusters", "series", "time")}
    asked = {**asked, "horizon": horizon_column(options)}
    columns = {option: texts(names, option) for option, names in asked.items() if names}
    steps = _steps(options)
    if not columns and steps is None:
        return None
    for option, named in columns.items():
        same = next((name for name in named if name in targets), None)
        if same is not None:
            raise InputError(
                f"{flag(option)} {same}: this is the target: name a column that was known before the outcome"
            )
        if option not in _LABELS and len(named) > 1:
            raise InputError(f"{flag(option)} takes one column, got {listed(list(named))}")
    return Dependents(columns, steps)
