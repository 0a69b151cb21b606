"""What the classes of a file are called, in the order of the prediction columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns.selection import ReadOptions, numbered_from
from kernelcal.io.sources import Source

__all__ = ["class_names", "common_start", "name_positions", "refuse_doubt"]


def class_names(
    source: Source, options: ReadOptions, columns: Sequence[str], width: int, y: np.ndarray
) -> Sequence[Any] | None:
    """Names as asked for, or of the columns that text labels match; None for the numbers 0 to m - 1."""
    if options.one_based:
        if options.classes:
            raise InputError("--one-based and --classes exclude each other")
        return range(1, max(width, 2) + 1)
    if options.classes:
        listed = options.classes in source.names
        named = source.values(options.classes).tolist() if listed else options.classes.split(",")
        reader: Callable[[Any], Any] = _READ_AS.get(y.dtype.kind, _text)
        return [reader(name) for name in named]
    return _column_names(columns, y) if len(columns) > 1 and y.dtype.kind in "OUS" else None


def _text(name: Any) -> str:
    return str(name).strip()


def _truth_if(name: Any) -> Any:
    return {"true": True, "1": True, "false": False, "0": False}.get(_text(name).lower(), _text(name))


def _number_if(name: Any) -> Any:
    text = _text(name)
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


_READ_AS: dict[str, Callable[[Any], Any]] = {"b": _truth_if, "f": _number_if, "i": _number_if, "u": _number_if}


def _column_names(columns: Sequence[str], y: np.ndarray) -> list[str] | None:
    """Text labels that are the column names, or what is left of them after a common beginning."""
    labels = {v for v in y.tolist() if v is not None}
    start = len(common_start(columns))
    for names in (list(columns), [name[start:] for name in columns]):
        if labels <= set(names):
            return names
    return None


def common_start(names: Sequence[str]) -> str:
    """What all names begin with."""
    low, high = min(names), max(names)
    length = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return low[:length]


def refuse_doubt(columns: Sequence[str], y: np.ndarray) -> None:
    """Columns p1, p2, ... beside labels that are numbers: is 1 the first or the second column?"""
    first = numbered_from(columns)
    if len(columns) < 2 or first in (0, None) or y.dtype.kind not in "fiub":
        return
    named = ",".join(columns) if len(columns) < 6 else f"'{columns[0][:-1]}*'"
    one = "" if len(columns) > 2 else f". If the target says whether {columns[0]} came true: --predictions {columns[0]}"
    raise InputError(
        f"the columns {columns[0]} to {columns[-1]} count from {first}: is label 1 the first or the second of them? "
        "If the labels count from 1: --one-based. If they count from 0, in the order of the columns: "
        f"--predictions {named}{one}"
    )


def name_positions(y: np.ndarray, names: Sequence[Any] | None, given: int, width: int) -> np.ndarray:
    """One-hot rows give positions: call them by the names of the classes, where there are names."""
    if given != max(width, 2):
        raise InputError(
            f"{given} one-hot target columns, but predictions for {max(width, 2)} classes: name one target column a "
            "class, in the order of the prediction columns"
        )
    if names is None or len(names) != given or y.dtype.kind not in "iu":
        return y
    named = np.empty(len(y), dtype=object)
    named[:] = [names[k] for k in y]
    return named
