"""Class labels of any kind as integers, in the order of the prediction's classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.predictions.classes import ClassPredictions

__all__ = ["as_labels", "some"]


_IGNORED = 0.9  # share of rows up to which a label outside the classes may mark rows to be ignored
_MORE_CLASSES = "; if it is a class, columns are missing"


def _which_is_which(found: list[str], m: int) -> str:
    """Ask for the order of text labels, with the labels that were found as the example."""
    if m == 2 and len(found) > 2:
        return (
            f"the targets are text with more than two values ({some(found)}), but there is one probability a row: "
            "pass whether the class in question happened, y == label, or a column for every class"
        )
    order = "(negative, positive)" if m == 2 else "in the order of the columns"
    example = (
        found if len(found) == m <= 6 and max(map(len, found)) <= 20 else ["no", "yes"] if m == 2 else ["a", "b", "..."]
    )
    return (
        f"the targets are text ({some(found)}): say which class is which, {order}, for example classes={example} "
        f"(command line: --classes {','.join(example)})"
    )


def _refuse_fractions(y: np.ndarray, allowed: str) -> None:
    """Labels are whole numbers: nothing is rounded."""
    wrong = y != np.round(y) if y.dtype.kind == "f" else np.zeros(0, dtype=bool)  # inf is out of range instead
    if not wrong.any():
        return
    row, count = int(np.argmax(wrong)), int(wrong.sum())
    cause = (
        "were the arguments swapped? The order is (y, predictions)"
        if count > len(y) / 2
        else f"nothing is rounded. If such rows (draws, unclear outcomes: {count} of {len(y)}) are to be left out, "
        f"drop them from targets and predictions together (command line: --drop-target {y[row]:g})"
    )
    raise InputError(f"the targets must be {allowed}; row {row} is {y[row]:g}: {cause}")


def _refuse_out_of_range(labels: np.ndarray, m: int, allowed: str) -> None:
    """Labels lie between 0 and m - 1; say which other numbering they look like."""
    labels = labels.astype(np.int64) if labels.dtype.kind == "b" else labels
    if len(labels) == 0 or (labels.min() >= 0 and labels.max() < m):
        return
    if labels.min() >= 1 and labels.max() == m:
        raise InputError(
            f"label {m} but columns 0..{m - 1}: the labels look one-based. Say so: "
            f"classes=range(1, {m + 1}) (command line: --one-based)"
        )
    if m == 2 and set(np.unique(labels).tolist()) == {-1, 1}:
        raise InputError("the labels are -1 and 1: say so with classes=(-1, 1) (command line: --classes=-1,1)")
    outside = (labels < 0) | (labels >= m)
    row = int(np.argmax(outside))
    _refuse_ignored(labels, outside, m, allowed)
    hint = (
        "; if the prediction is the probability that the top label is right, pass the hit (label == predicted "
        "label) as the target (command line: --kind top-label)"
        if m == 2
        else "; are columns missing?"
    )
    raise InputError(f"the targets must be {allowed}; row {row} is {labels[row]:.15g}{hint}")


def _refuse_ignored(labels: np.ndarray, outside: np.ndarray, m: int, allowed: str) -> None:
    """Say of one value in some of the rows, below 0 or far above all classes, that it marks rows to be ignored."""
    values = np.unique(labels[outside])
    marks = (values < 0) | (values >= 2 * m + 1)
    if len(values) > 1 or not marks.all() or outside.mean() > _IGNORED:
        return
    value, row = values[0], int(np.argmax(outside))
    raise InputError(
        f"the targets must be {allowed}; row {row} is {value:.15g} ({int(outside.sum()):,} of {len(labels):,} rows): "
        f"if this marks rows to be ignored, drop them from targets and predictions together, y != {value:.15g} "
        f"(command line: --drop-target={value:.15g}){_MORE_CLASSES if value >= 0 else ''}"
    )


def some(names: Any) -> str:
    """The first names, shortened, and how many there are."""
    names = [text if len(text) <= 30 else f"{text[:27]}..." for text in map(repr, names)]
    return ", ".join(names[:6]) + (f", ... ({len(names)} in all)" if len(names) > 6 else "")


def as_labels(y: np.ndarray, predictions: ClassPredictions) -> np.ndarray:
    """Encode targets as integers 0 to m - 1 in the order of the prediction's classes."""
    n, m = len(predictions), predictions.n_classes
    if y.ndim == 2 and y.dtype.kind == "f" and not np.all((y == 0) | (y == 1)):
        raise InputError(
            f"targets have shape {y.shape} and are not all 0 or 1: were the arguments swapped? The order is "
            "(y, predictions)"
        )
    if y.ndim == 2:
        raise InputError(
            f"targets have shape {y.shape}, expected ({n},): for one-hot rows pass y.argmax(axis=1) "
            "(command line: name all the columns after --target)"
        )
    if y.ndim != 1:
        raise InputError(f"targets must have shape ({n},), got {y.shape}")
    if len(y) != n:
        raise InputError(f"there are {len(y)} targets but {n} rows of predictions: one row a target is expected")
    _refuse_missing(y)
    if predictions.classes is not None:
        return _by_name(y, predictions)
    return _by_number(y, m)


def _refuse_missing(y: np.ndarray) -> None:
    if y.dtype.kind == "f":
        missing = np.isnan(y)
    elif y.dtype.kind == "O":
        missing = np.array([_is_missing(value) for value in y], dtype=bool)
    else:
        return
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(
            f"the target in row {row} is missing ({int(missing.sum())} in all): drop these rows from targets and "
            "predictions together (command line: --drop-missing)"
        )


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _by_name(y: np.ndarray, predictions: ClassPredictions) -> np.ndarray:
    assert predictions.classes is not None
    index = {name: k for k, name in enumerate(predictions.classes)}
    values, inverse = np.unique(y, return_inverse=True) if y.dtype.kind != "O" else _unique_objects(y)
    listed = [v.item() if isinstance(v, np.generic) else v for v in values]
    text = all(isinstance(name, str) for name in index)
    if text and not any(isinstance(v, str) for v in listed):
        if all(_text(v) in index for v in listed):
            listed = [_text(v) for v in listed]
        else:  # text names cannot be meant by numbers: the numbers are positions
            return _by_number(y, len(index))
    unknown = [(v, k) for k, v in enumerate(listed) if v not in index]
    if unknown:
        row = int(np.argmax(inverse == unknown[0][1]))
        raise InputError(f"the target in row {row} is {unknown[0][0]!r}, which is none of the classes {some(index)}")
    return np.array([index[v] for v in listed], dtype=np.int64)[inverse]


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _unique_objects(y: np.ndarray) -> tuple[list[Any], np.ndarray]:
    positions: dict[Any, int] = {}
    inverse = np.array([positions.setdefault(value, len(positions)) for value in y], dtype=np.int64)
    return list(positions), inverse


def _by_number(y: np.ndarray, m: int) -> np.ndarray:
    allowed = "0/1" if m == 2 else f"integers 0 to {m - 1}"
    if y.dtype.kind == "O":
        y = _from_objects(y, allowed)
    if y.dtype.kind in "US":
        raise InputError(_which_is_which(sorted({str(value) for value in y[:1000]}), m))
    if y.dtype.kind == "b" and m > 2:
        raise InputError(f"the targets are booleans but there are {m} classes: pass class numbers 0 to {m - 1}")
    if y.dtype.kind not in "fiub":
        raise InputError(f"targets must be {allowed}, got dtype {y.dtype}")
    _refuse_fractions(y, allowed)
    _refuse_out_of_range(y, m, allowed)
    return y.astype(np.int64)


def _from_objects(y: np.ndarray, allowed: str) -> np.ndarray:
    for row, value in enumerate(y):
        if not isinstance(value, str | bool | int | float | np.generic):
            raise InputError(f"the targets must be {allowed}; row {row} is {value!r}, a {type(value).__name__}")
    return np.array(y.tolist())
