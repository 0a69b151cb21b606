"""Which rows are kept: as asked by --where, --drop-missing and --drop-target, and what is said of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns.selection import ReadOptions, known, listed
from kernelcal.io.sources import Cells, Source, absent, is_number

__all__ = ["count", "holes", "rows_to_keep", "where_in_words", "where_mask"]


def count(number: int, what: str = "row") -> str:
    """Return a number and what is counted, in words."""
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"


def holes(array: np.ndarray) -> np.ndarray:
    """Tell for every row whether something is missing in it."""
    return absent(array) if array.ndim == 1 else np.isnan(array.reshape(len(array), -1)).any(axis=1)


def where_mask(source: Source, options: ReadOptions) -> np.ndarray | None:
    """Rows that --where asks for; None where it was not said."""
    wanted = _conditions(source, options)
    masks = [
        _matching(name, cells, wanted[name]) for name, cells in zip(wanted, source.cells(list(wanted)), strict=True)
    ]
    return np.logical_and.reduce(masks) if masks else None


def where_in_words(options: ReadOptions, source: Source, mask: np.ndarray | None, what: str = "row") -> str:
    """Return ``; 5 of 20 rows where model=a or b``."""
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
        kept &= ~empty
        dropped.append(f"{count(int(empty.sum()))} with missing values")
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
