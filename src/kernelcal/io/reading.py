"""From a file and what was said about it to targets and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.cells import EXACT, absent
from kernelcal.io.class_names import class_names, name_positions, refuse_doubt
from kernelcal.io.labels import is_one_hot, read_targets
from kernelcal.io.opening import open_source
from kernelcal.io.options import ReadOptions
from kernelcal.io.selection import choose_predictions, choose_target, known
from kernelcal.io.sources import Source
from kernelcal.predictions import Bernoulli, Logits, LogProbs, Percent, Predictions, as_predictions

__all__ = ["Data", "read"]

_SHOWN = 6  # class names in the sentence that says what was read
_WRAPPERS: dict[str, Any] = {"logits": Logits, "log-probabilities": LogProbs, "percent": Percent}


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
    weights : numpy.ndarray or None
        Case weights, where a column of them was named.
    """

    y: np.ndarray
    predictions: Predictions
    description: str
    weights: np.ndarray | None = None


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
    taken = [*targets, *_others(options, source)]
    columns = choose_predictions(source, options.predictions, taken, lambda: _text_labels(source, targets))
    x, y, weights, end = _rows(source, targets, columns, options)
    names = class_names(source, options, columns, x.shape[1], y)
    if is_one_hot(source, targets):
        y = name_positions(y, names, source.numbers(targets).shape[1], x.shape[1])
    elif names is None and options.predictions is None:
        refuse_doubt(columns, y)
    predictions = _predictions(x, names, options)
    if options.kind == "top-label":
        predictions = _as_hits(predictions)
    return Data(y, predictions, _describe(paths, targets, columns, predictions, options) + end, weights)


def _rows(
    source: Source, targets: Sequence[str], columns: Sequence[str], options: ReadOptions
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, str]:
    """Predictions, targets and case weights of the rows to keep, and what was dropped."""
    x, y = source.numbers(columns), read_targets(source, targets, options)
    if len(x) != len(y):
        raise InputError(f"{len(y)} targets in {', '.join(targets)}, but {len(x)} rows in {columns[0]}")
    w = None if options.weights is None else source.numbers([known(source, options.weights)])[:, 0]
    kept, dropped = _rows_to_keep(x, y, w, options)
    end = f"; dropped {', '.join(dropped)}" if dropped else ""
    if not kept.any():
        raise InputError(f"no rows are left{end}" if len(y) else "there are no rows, only names")
    return (x if kept.all() else x[kept]), _as_written(y[kept]), None if w is None else w[kept], end


def _text_labels(source: Source, targets: Sequence[str]) -> set[str]:
    """Distinct labels of one target column of text; none where the labels are numbers."""
    if is_one_hot(source, targets):
        return set()
    return {value for value in source.values(targets[0]).tolist() if isinstance(value, str)}


def _others(options: ReadOptions, source: Source) -> list[str]:
    named = [options.predicted_label, options.classes, options.weights]
    return [name for name in named if name in source.names]


def _rows_to_keep(
    x: np.ndarray, y: np.ndarray, w: np.ndarray | None, options: ReadOptions
) -> tuple[np.ndarray, list[str]]:
    kept, dropped = np.ones(len(y), dtype=bool), []
    if options.drop_missing:
        empty = absent(y) | np.isnan(x).any(axis=1) | (False if w is None else np.isnan(w))
        kept &= ~empty
        dropped.append(f"{_rows_in_words(int(empty.sum()))} with missing values")
    if options.drop_target is not None:
        unwanted = kept & np.array([_same(v, options.drop_target) for v in y.tolist()], dtype=bool)
        kept &= ~unwanted
        dropped.append(f"{_rows_in_words(int(unwanted.sum()))} with target {options.drop_target}")
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


def _as_written(y: np.ndarray) -> np.ndarray:
    """Whole numbers that were floats only because a value was missing are whole again."""
    if y.dtype.kind == "O" and all(isinstance(v, bool) for v in y):
        return y.astype(bool)
    if y.dtype.kind == "f" and np.all(y == np.round(y)) and np.all(np.abs(y) < EXACT):
        return y.astype(np.int64)
    return y


def _predictions(x: np.ndarray, classes: Sequence[Any] | None, options: ReadOptions) -> Predictions:
    values = x[:, 0] if x.shape[1] == 1 else x
    wrapper = _WRAPPERS.get(options.kind)
    return as_predictions(values if wrapper is None else wrapper(values), classes=classes, normalize=options.normalize)


def _as_hits(predictions: Any) -> Predictions:
    """Confidences of the first choice: the question, and the names of its two answers."""
    return Bernoulli(predictions.p, ("wrong", "right"), predictions.notes, "top label")


def _describe(
    paths: Sequence[Path],
    targets: Sequence[str],
    columns: Sequence[str],
    predictions: Any,
    options: ReadOptions,
) -> str:
    files = " and ".join(str(path) for path in paths)
    target = targets[0] if len(targets) == 1 else f"one-hot {', '.join(targets)}"
    if options.kind == "top-label":
        target = f"{targets[0]} equal to {options.predicted_label}"
    shown = columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]} ({len(columns)} columns)"
    classes = f"{predictions.n_classes} classes: {_shown_classes(columns, predictions)}"
    rows = _rows_in_words(len(predictions))
    weights = f"; weights {options.weights}" if options.weights else ""
    return f"read {files}: {rows}; target {target}; predictions {shown}, {options.kind}; {classes}{weights}"


def _rows_in_words(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _shown_classes(columns: Sequence[str], predictions: Any) -> str:
    """Names of the first classes, each with its column where this says more."""
    names = [str(predictions.class_name(k)) for k in range(min(predictions.n_classes, _SHOWN))]
    if len(columns) > 1:
        names = [name if name == column else f"{name} ({column})" for name, column in zip(names, columns, strict=False)]
    return ", ".join(names) + (", ..." if predictions.n_classes > _SHOWN else "")
