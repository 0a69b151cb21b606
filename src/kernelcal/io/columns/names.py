"""What the classes of a file are called, and its targets: a column, one-hot columns, or a predicted label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns.selection import ReadOptions, known, numbered_from
from kernelcal.io.sources import Source, absent

__all__ = ["class_names", "common_start", "is_one_hot", "name_positions", "read_targets", "refuse_doubt"]


def is_one_hot(source: Source, names: Sequence[str]) -> bool:
    """Tell whether the targets are several columns, or one wide array."""
    return len(names) > 1 or source.wide(names[0])


def read_targets(source: Source, names: Sequence[str], options: ReadOptions) -> np.ndarray:
    """Targets as the file has them, shape (n,): labels, column numbers of one-hot rows, or hits."""
    one_hot = is_one_hot(source, names)
    if one_hot and options.one_based:
        raise InputError("one-hot targets have no numbers that could count from 1: leave out --one-based")
    y = _from_one_hot(source.numbers(names), names) if one_hot else source.values(names[0])
    if options.kind == "top-label":
        return _hits(y, source, options.predicted_label)
    if options.predicted_label is not None:
        raise InputError("--predicted-label belongs to --kind top-label: say both, or leave it out")
    return y


def _hits(y: np.ndarray, source: Source, name: str | None) -> np.ndarray:
    """Whether the predicted label is the true one; NaN where either is missing."""
    if name is None:
        raise InputError(
            "--kind top-label needs --predicted-label NAME: the target is then whether it is the true label. If the "
            "target says already whether the answer was right, leave out --kind top-label"
        )
    predicted = source.values(known(source, name))
    if len(predicted) != len(y):
        raise InputError(f"{len(y)} true labels, but {len(predicted)} predicted labels in {name}")
    if _is_text(y) != _is_text(predicted) and len(y):
        raise InputError(
            f"true labels such as {y.tolist()[0]!r} cannot be compared with predicted labels such as "
            f"{predicted.tolist()[0]!r}: both must be text or both numbers"
        )
    hits = (y == predicted).astype(np.float64)
    hits[absent(y) | absent(predicted)] = np.nan
    return hits


def _is_text(y: np.ndarray) -> bool:
    return y.dtype.kind in "US" or (y.dtype.kind == "O" and any(isinstance(v, str) for v in y))


def _from_one_hot(indicators: np.ndarray, names: Sequence[str]) -> np.ndarray:
    y = indicators.argmax(axis=1)
    good = (indicators[np.arange(len(y)), y] == 1) & (np.count_nonzero(indicators, axis=1) == 1)
    empty = np.isnan(indicators).any(axis=1)
    bad = np.flatnonzero(~good & ~empty)
    if len(bad):
        raise InputError(
            f"row {bad[0]} of the target columns {', '.join(names[:4])} is {indicators[bad[0]].tolist()}: expected a "
            f"single 1 among zeros ({len(bad)} such {'row' if len(bad) == 1 else 'rows'}). For fractions (draws, "
            "unclear outcomes) name one of the columns as target and leave them out with --drop-target VALUE"
        )
    return np.where(empty, np.nan, y) if empty.any() else y


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
