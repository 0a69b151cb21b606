"""From a file and what was said about it to targets and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.selection import choose_predictions, choose_target
from kernelcal.io.sources import Source, open_source
from kernelcal.predictions import Logits, LogProbs, Percent, Predictions, as_predictions

__all__ = ["KINDS", "Data", "ReadOptions", "read"]

KINDS = ("probabilities", "logits", "log-probabilities", "percent", "top-label")
_WRAPPERS: dict[str, Any] = {"logits": Logits, "log-probabilities": LogProbs, "percent": Percent}


@dataclass(frozen=True)
class ReadOptions:
    """What the user said about the file; see the command line's help."""

    target: str | None = None
    predictions: str | None = None
    kind: str = "probabilities"
    predicted_label: str | None = None
    classes: str | None = None
    one_based: bool = False
    normalize: bool = False
    drop_missing: bool = False
    drop_target: str | None = None
    delimiter: str | None = None


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
    """

    y: np.ndarray
    predictions: Predictions
    description: str


def read(paths: Sequence[Path], options: ReadOptions) -> Data:
    """Read targets and predictions.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        One file, or two npy files.
    options : ReadOptions
        What is known about it.

    Raises
    ------
    InputError
        With file, line, column and remedy.
    """
    source = open_source(paths, options.delimiter)
    targets = choose_target(source, options.target)
    columns = choose_predictions(source, options.predictions, [*targets, *_others(options, source)])
    x, y = source.numbers(columns), _targets(source, targets, options)
    if len(x) != len(y):
        raise InputError(f"{len(y)} targets in {', '.join(targets)}, but {len(x)} rows in {columns[0]}")
    kept, dropped = _rows_to_keep(x, y, options)
    if dropped:
        x, y = x[kept], y[kept]
    if len(y) == 0:
        raise InputError("no rows are left" if dropped else "the file holds no rows")
    y = _as_written(y)
    predictions = _predictions(x, _classes(source, options, columns, x, y), options)
    return Data(y, predictions, _describe(paths, targets, columns, predictions, options, dropped))


def _others(options: ReadOptions, source: Source) -> list[str]:
    named = [options.predicted_label, options.classes]
    return [name for name in named if name in source.names]


def _targets(source: Source, names: Sequence[str], options: ReadOptions) -> np.ndarray:
    if len(names) > 1:
        return _from_one_hot(source.numbers(names), names)
    if source.wide(names[0]) and source.numbers(names).shape[1] > 1:
        return _from_one_hot(source.numbers(names), names * source.numbers(names).shape[1])
    y = source.values(names[0])
    if options.kind != "top-label":
        return y
    if options.predicted_label is None:
        raise InputError("--kind top-label needs --predicted-label NAME: the target is whether it is the true label")
    return (y == source.values(options.predicted_label)).astype(np.int64)


def _from_one_hot(indicators: np.ndarray, names: Sequence[str]) -> np.ndarray:
    y = indicators.argmax(axis=1)
    good = (indicators[np.arange(len(y)), y] == 1) & (np.count_nonzero(indicators, axis=1) == 1)
    missing = np.isnan(indicators).any(axis=1)
    bad = np.flatnonzero(~good & ~missing)
    if len(bad):
        raise InputError(
            f"row {bad[0]} of the target columns {', '.join(names[:4])} is {indicators[bad[0]].tolist()}: expected a "
            "single 1 among zeros"
        )
    return np.where(missing, np.nan, y) if missing.any() else y


def _rows_to_keep(x: np.ndarray, y: np.ndarray, options: ReadOptions) -> tuple[np.ndarray, list[str]]:
    kept, dropped = np.ones(len(y), dtype=bool), []
    if options.drop_missing:
        without_target = np.array([v is None or v != v for v in y]) if y.dtype.kind in "fO" else ~kept
        missing = without_target | np.isnan(x).any(axis=1)
        kept &= ~missing
        dropped.append(f"{int(missing.sum()):,} rows with missing values")
    if options.drop_target is not None:
        unwanted = kept & np.array([_same(v, options.drop_target) for v in y.tolist()], dtype=bool)
        kept &= ~unwanted
        dropped.append(f"{int(unwanted.sum()):,} rows with target {options.drop_target}")
    return kept, dropped


def _same(value: Any, text: str) -> bool:
    if isinstance(value, float):
        try:
            return value == float(text)
        except ValueError:
            return False
    return str(value) == text


def _as_written(y: np.ndarray) -> np.ndarray:
    """Whole numbers that were floats only because a value was missing are whole again."""
    if y.dtype.kind == "O" and all(isinstance(v, bool) for v in y):
        return y.astype(bool)
    if y.dtype.kind == "f" and np.all(y == np.round(y)):
        return y.astype(np.int64)
    return y


def _classes(
    source: Source, options: ReadOptions, columns: Sequence[str], x: np.ndarray, y: np.ndarray
) -> Sequence[Any] | None:
    number = 2 if x.shape[1] == 1 else x.shape[1]
    if options.one_based:
        if options.classes:
            raise InputError("--one-based and --classes exclude each other")
        return range(1, number + 1)
    if options.classes:
        named = (
            source.values(options.classes).tolist() if options.classes in source.names else options.classes.split(",")
        )
        return [_number_if(name) for name in named] if y.dtype.kind in "fiu" else [str(name).strip() for name in named]
    return _column_names(columns, y) if len(columns) > 1 and y.dtype.kind in "OUS" else None


def _number_if(name: Any) -> Any:
    text = str(name).strip()
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def _column_names(columns: Sequence[str], y: np.ndarray) -> list[str] | None:
    """Text labels that are the column names, or what is left of them after a common beginning."""
    labels = {v for v in y.tolist() if v is not None}
    start = len(_common_start(columns))
    for names in (list(columns), [name[start:] for name in columns]):
        if labels <= set(names):
            return names
    return None


def _common_start(names: Sequence[str]) -> str:
    low, high = min(names), max(names)
    length = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return low[:length]


def _predictions(x: np.ndarray, classes: Sequence[Any] | None, options: ReadOptions) -> Predictions:
    values = x[:, 0] if x.shape[1] == 1 else x
    wrapper = _WRAPPERS.get(options.kind)
    return as_predictions(values if wrapper is None else wrapper(values), classes=classes, normalize=options.normalize)


def _describe(
    paths: Sequence[Path],
    targets: Sequence[str],
    columns: Sequence[str],
    predictions: Any,
    options: ReadOptions,
    dropped: list[str],
) -> str:
    files = " and ".join(str(path) for path in paths)
    target = targets[0] if len(targets) == 1 else f"one-hot {', '.join(targets)}"
    if options.kind == "top-label":
        target = f"{targets[0]} equal to {options.predicted_label}"
    shown = columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]} ({len(columns)} columns)"
    m = predictions.n_classes
    names = [str(predictions.class_name(k)) for k in range(min(m, 6))]
    classes = f"{m} classes: {', '.join(names)}" + (", ..." if m > 6 else "")
    end = f"; dropped {', '.join(dropped)}" if dropped else ""
    return (
        f"read {files}: {len(predictions):,} rows; target {target}; predictions {shown}, {options.kind}; {classes}{end}"
    )
