"""What the classes of a file are called, and its targets: a column, one-hot columns, or a predicted label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns.selection import ReadOptions, known
from kernelcal.io.sources import Source, absent
from kernelcal.predictions import column_numbers, common_start, matched, numbered_classes

__all__ = ["class_names", "is_one_hot", "name_positions", "names_of_columns", "read_targets", "refuse_doubt"]


def is_one_hot(source: Source, names: Sequence[str]) -> bool:
    """Tell whether the targets are several columns, or one wide array."""
    return len(names) > 1 or source.wide(names[0])


def read_targets(source: Source, names: Sequence[str], options: ReadOptions) -> np.ndarray:
    """Targets as the file has them, shape (n,): labels, column numbers of one-hot rows, or hits."""
    one_hot = is_one_hot(source, names)
    if one_hot and options.one_based:
        raise InputError("one-hot targets have no numbers that could count from 1: leave out --one-based")
    y = _from_one_hot(source.numbers(names), names) if one_hot else source.values(names[0])
    if options.of_top_label:
        return _hits(y, source, options)
    return y


def _hits(y: np.ndarray, source: Source, options: ReadOptions) -> np.ndarray:
    """Whether the predicted label is the true one; NaN where either is missing."""
    name = options.predicted_label
    if options.kind == "logits":
        raise InputError(
            "--predicted-label asks about the confidence in one label, and its logit alone does not tell it, since "
            "those of the other labels are missing: name all columns of logits without --predicted-label (and ask "
            "--lens top-label), or the column of the confidence"
        )
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
    source: Source, options: ReadOptions, columns: Sequence[str], width: int, y: np.ndarray, one_hot: Sequence[str] = ()
) -> Sequence[Any] | None:
    """Names as asked for, or of the columns that labels match; None for the numbers 0 to m - 1.

    Columns of `one_hot` targets are matched to those of the predictions by what differs in their names.
    """
    if options.one_based:
        if options.classes:
            raise InputError("--one-based and --classes exclude each other")
        return range(1, max(width, 2) + 1)
    if options.classes:
        listed = options.classes in source.names
        named = source.values(options.classes).tolist() if listed else options.classes.split(",")
        reader: Callable[[Any], Any] = _READ_AS.get(y.dtype.kind, _text)
        classes = [reader(name) for name in named]
        if len(columns) == len(classes) > 1:
            _refuse_other_names(columns, classes)
        return classes
    if len(columns) < 2:
        return None
    return matched(_differing(one_hot), columns) if len(one_hot) > 1 else names_of_columns(columns, y)


def _differing(names: Sequence[str]) -> list[str]:
    """What is left of names without what all begin and end with."""
    start, end = len(common_start(names)), len(common_start([name[::-1] for name in names]))
    cut = [name[start : len(name) - end] for name in names]
    return cut if all(cut) else [name[start:] or name for name in names]


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


def _labels(y: np.ndarray) -> list[Any]:
    """Different labels that are there."""
    return [v for v in dict.fromkeys(y.tolist()) if v is not None and v == v]  # of many rows few are looked at


def names_of_columns(columns: Sequence[str], y: np.ndarray) -> list[Any] | None:
    """Classes of the columns by their names, for labels that are text or numbers; None where names tell nothing."""
    labels = _labels(y)
    if y.dtype.kind in "OUS" and not any(isinstance(label, bool) for label in labels):
        return matched(labels, columns)
    if any(isinstance(label, str) for label in labels):
        return None
    names = numbered_classes(labels, columns)
    in_order = list(range(len(columns)))
    return None if names == in_order and column_numbers(columns) in (None, in_order) else names


def _refuse_other_names(columns: Sequence[str], classes: Sequence[Any]) -> None:
    """Refuse classes that are said of columns which are called as other ones of them."""
    named = matched(classes, columns) if all(isinstance(name, str) for name in classes) else None
    if named is None or list(named) == list(classes):
        return
    k = next(k for k, (name, said) in enumerate(zip(named, classes, strict=True)) if name != said)
    raise InputError(
        f"column {columns[k]!r} is said to hold class {classes[k]!r}, but its name says {named[k]!r}: say the classes "
        f"in the order of the columns, which is {', '.join(columns[:12])}, or leave out --classes"
    )


def refuse_doubt(columns: Sequence[str], y: np.ndarray) -> None:
    """Columns p1, p2, ... beside labels that are numbers: is 1 the first or the second column?"""
    numbers = column_numbers(columns) if len(columns) > 1 and y.dtype.kind in "fiub" else None
    if numbers is None or sorted(numbers) != list(range(1, len(columns) + 1)):
        return
    ordered = [name for _, name in sorted(zip(numbers, columns, strict=True))]
    one = "" if len(columns) > 2 else f". If the target says whether {ordered[0]} came true: --predictions {ordered[0]}"
    raise InputError(
        f"the columns {ordered[0]} to {ordered[-1]} count from 1: is label 1 the first or the second of them? "
        "If the labels count from 1: --one-based. If they count from 0, in the order of the columns: "
        f"--predictions {','.join(ordered)}{one}"
    )


def name_positions(
    y: np.ndarray, names: Sequence[Any] | None, one_hot: Sequence[str], given: int, width: int, *, said: bool
) -> np.ndarray:
    """One-hot rows give positions: call them by the names of the classes, where there are names.

    Classes that were `said` are those of the one-hot columns in their order; else the names of both kinds of columns
    tell which belong together.
    """
    if given != max(width, 2):
        raise InputError(
            f"{given} one-hot target columns, but predictions for {max(width, 2)} classes: name one target column a "
            "class, in the order of the prediction columns"
        )
    if names is None or len(names) != given or y.dtype.kind not in "iu":
        return y
    order = list(names) if said or len(one_hot) < 2 else _differing(one_hot)
    named = np.empty(len(y), dtype=object)
    named[:] = [order[k] for k in y]
    return named
