"""Targets of a file: a column, one-hot columns, or whether a predicted label is the true one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns.selection import ReadOptions, known
from kernelcal.io.sources import Source, absent

__all__ = ["is_one_hot", "read_targets"]


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
