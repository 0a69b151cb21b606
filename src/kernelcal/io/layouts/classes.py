"""Class probabilities of a file and their labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import (
    ReadOptions,
    choose_predictions,
    choose_target,
    class_names,
    count,
    groups_of_rows,
    has_usual_predictions,
    is_one_hot,
    kept_groups,
    kept_keys,
    key_columns,
    keys_of_rows,
    known,
    name_positions,
    read_targets,
    refuse_a_lonely_number,
    refuse_doubt,
    refuse_outcome_groups,
    refuse_points,
    rows_to_keep,
    where_in_words,
    where_mask,
)
from kernelcal.io.layouts.table import Data
from kernelcal.io.sources import EXACT, Source
from kernelcal.predictions import Bernoulli, Logits, LogProbs, Percent, Predictions, as_predictions

__all__ = ["class_columns", "read_classes"]


_SHOWN = 6  # class names in the sentence that says what was read
_WRAPPERS: dict[str, Any] = {"logits": Logits, "log-probabilities": LogProbs, "percent": Percent}


def read_classes(source: Source, options: ReadOptions) -> Data:
    """Read labels and class probabilities."""
    targets, columns = class_columns(source, options)
    x, y, weights, rows, end = _rows(source, targets, columns, options)
    names = class_names(source, options, columns, x.shape[1], y)
    if is_one_hot(source, targets):
        y = name_positions(y, names, source.numbers(targets).shape[1], x.shape[1])
    elif names is None and options.predictions is None:
        refuse_doubt(columns, y)
    predictions = _predictions(x, names, options)
    if options.kind == "top-label":
        predictions = _as_hits(predictions)
    refuse_outcome_groups(targets, options)
    keys = kept_keys(keys_of_rows(source, options), rows)
    description = _describe(source, targets, columns, predictions, options) + end
    return Data(y, predictions, description, weights, keys, kept_groups(groups_of_rows(source, options), rows))


def class_columns(
    source: Source, options: ReadOptions, text_labels: Callable[[], set[str]] | None = None
) -> tuple[list[str], list[str]]:
    """Columns of the targets and of the predictions; `text_labels` gives the labels where they are not all at hand."""
    targets = choose_target(source, options.target)
    taken = [*targets, *_others(options, source), *key_columns(source, options)]
    if options.predictions is None and not has_usual_predictions(source):
        refuse_a_lonely_number(source, targets, taken)
    labels = text_labels or (lambda: _text_labels(source, targets))
    return targets, choose_predictions(source, options.predictions, taken, labels)


def _rows(
    source: Source, targets: Sequence[str], columns: Sequence[str], options: ReadOptions
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray, str]:
    """Predictions, targets and case weights of the rows to keep, their numbers, and what was dropped."""
    x, y = source.numbers(columns), read_targets(source, targets, options)
    if len(x) != len(y):
        raise InputError(f"{len(y)} targets in {', '.join(targets)}, but {len(x)} rows in {columns[0]}")
    w = None if options.weights is None else source.numbers([known(source, options.weights)])[:, 0]
    if options.kind == "probabilities":
        refuse_points(x, y, columns, targets)
    wanted = where_mask(source, options)
    kept, dropped = rows_to_keep(y, [x] if w is None else [x, w], wanted, options)
    end = where_in_words(options, source, wanted) + (f"; dropped {', '.join(dropped)}" if dropped else "")
    if not kept.any():
        raise InputError(f"no rows are left{end}" if len(y) else "there are no rows, only names")
    x = x if kept.all() else x[kept]
    return x, _as_written(y[kept]), None if w is None else w[kept], np.flatnonzero(kept), end


def _text_labels(source: Source, targets: Sequence[str]) -> set[str]:
    """Distinct labels of one target column of text; none where the labels are numbers."""
    if is_one_hot(source, targets):
        return set()
    return {value for value in source.values(targets[0]).tolist() if isinstance(value, str)}


def _others(options: ReadOptions, source: Source) -> list[str]:
    named = [options.predicted_label, options.classes, options.weights]
    return [name for name in named if name in source.names]


def _as_written(y: np.ndarray) -> np.ndarray:
    """Whole numbers that were floats only because a value was missing are whole again."""
    if y.dtype.kind == "O" and all(isinstance(v, bool) for v in y):
        return y.astype(bool)
    if y.dtype.kind == "f" and np.all(y == np.round(y)) and np.all(np.abs(y) < EXACT):
        return y.astype(np.int64)
    return y


def _predictions(x: np.ndarray, classes: Sequence[Any] | None, options: ReadOptions) -> Predictions:
    values = x[:, 0] if x.shape[1] == 1 else x
    wrapper = _out_of_ten if options.kind == "out-of-ten" else _WRAPPERS.get(options.kind)
    return as_predictions(values if wrapper is None else wrapper(values), classes=classes, normalize=options.normalize)


def _out_of_ten(x: np.ndarray) -> Percent:
    """Confidence on a scale from 0 to 10."""
    outside = np.argwhere((x < 0) | (x > 10))
    if len(outside):
        raise InputError(
            f"--kind out-of-ten reads a scale from 0 to 10, and row {outside[0, 0]} holds {x[tuple(outside[0])]:g}: "
            "what are these numbers?"
        )
    return Percent(10 * x)


def _as_hits(predictions: Any) -> Predictions:
    """Confidences of the first choice: the question, and the names of its two answers."""
    return Bernoulli(predictions.p, ("wrong", "right"), predictions.notes, "top label")


def _describe(
    source: Source,
    targets: Sequence[str],
    columns: Sequence[str],
    predictions: Any,
    options: ReadOptions,
) -> str:
    target = targets[0] if len(targets) == 1 else f"one-hot {', '.join(targets)}"
    if options.kind == "top-label":
        target = f"{targets[0]} equal to {options.predicted_label}"
    shown = columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]} ({len(columns)} columns)"
    classes = f"{predictions.n_classes} classes: {_shown_classes(columns, predictions)}"
    rows = count(len(predictions))
    weights = f"; weights {options.weights}" if options.weights else ""
    return f"read {source.path}: {rows}; target {target}; predictions {shown}, {options.kind}; {classes}{weights}"


def _shown_classes(columns: Sequence[str], predictions: Any) -> str:
    """Names of the first classes, each with its column where this says more."""
    names = [str(predictions.class_name(k)) for k in range(min(predictions.n_classes, _SHOWN))]
    if len(columns) > 1:
        names = [name if name == column else f"{name} ({column})" for name, column in zip(names, columns, strict=False)]
    return ", ".join(names) + (", ..." if predictions.n_classes > _SHOWN else "")
