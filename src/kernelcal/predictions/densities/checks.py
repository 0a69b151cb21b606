"""What a user's functions get and return: refused with a sentence that says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, take_rows
from kernelcal.errors import InputError
from kernelcal.predictions.border import plain_array

__all__ = [
    "checked_event_shape",
    "checked_function",
    "checked_parameters",
    "checked_returned",
    "checked_rows",
    "refuse_unusable_functions",
    "refuse_unusable_scores",
]


_FEW = 8  # rows that are computed twice
_LARGEST, _LARGEST_SINGLE = 1e75, 1e15  # whose squares and their sums are finite


def checked_function(function: Any, name: str) -> None:
    """Refuse what cannot be called."""
    if not callable(function):
        raise InputError(f"{name} needs a function of targets, got {type(function).__name__}")


def checked_event_shape(shape: Any) -> tuple[int, ...]:
    """Shape of a target: () for numbers, (d,) for vectors; d alone will do."""
    given = (shape,) if isinstance(shape, int | np.integer) else shape
    if not isinstance(given, tuple | list) or len(given) > 1 or not all(_whole(size) and size > 0 for size in given):
        raise InputError(f"event_shape must be () for targets that are numbers, (d,) for vectors of d, got {shape!r}")
    return tuple(int(size) for size in given)


def checked_parameters(parameters: Any) -> tuple[Array, ...]:
    """Arrays with the sample on axis 0; one array alone will do."""
    several = parameters if isinstance(parameters, tuple | list) else (parameters,)
    arrays = tuple(plain_array(x)[0] for x in several)
    for k, array in enumerate(arrays):
        if array.ndim == 0:
            raise InputError(
                f"parameter {k} is a single number, expected an array with a row a prediction: what is the same for "
                "all rows belongs into the function"
            )
    return arrays


def checked_rows(n: Any, arrays: Sequence[tuple[str, Array]]) -> int:
    """Number of rows, in which all arrays must agree."""
    if n is not None and (not _whole(n) or n < 0):
        raise InputError(f"n must be the number of rows, a whole number, got {n!r}")
    sizes = [("n", int(n))] if n is not None else []
    sizes += [(name, int(array.shape[0])) for name, array in arrays]
    if not sizes:
        raise InputError(
            "the number of rows is not known: pass parameters=(...), arrays with a row a prediction that the function "
            "gets after the targets, or n=..."
        )
    for name, size in sizes[1:]:
        if size != sizes[0][1]:
            raise InputError(
                f"{sizes[0][0]} says {sizes[0][1]} rows and {name} {size}: one row a prediction is needed, on axis 0"
            )
    return sizes[0][1]


def checked_returned(found: Any, shape: tuple[int, ...], what: str, meaning: str) -> Array:
    """Return an array of a known shape, as functions of one set of targets must."""
    try:
        array = as_array(found)
    except ValueError:  # rows of unequal length
        raise InputError(f"{what} must be one array of shape {shape}, got rows of unequal length") from None
    if tuple(array.shape) != shape:
        raise InputError(f"{what} must have shape {shape}, {meaning}, got {tuple(array.shape)}")
    return array


def refuse_unusable_scores(scores: Array, targets: Array, name: str) -> None:
    """Refuse the first row whose score is NaN, or infinite because the target lies outside the support."""
    values = concrete(scores)
    if values is None:
        return
    largest = _LARGEST if values.dtype == np.float64 else _LARGEST_SINGLE
    bad = ~(np.abs(values) <= largest).reshape(len(values), -1).all(axis=1)
    if not bad.any():
        return
    row, count = int(np.argmax(bad)), int(bad.sum())
    rows = f"({count} such row{'s' * (count > 1)})"
    y = np.array2string(np.asarray(concrete(take_rows(targets, slice(row, row + 1))))[0], precision=6)
    if np.isnan(values[row]).any():
        raise InputError(
            f"the score of {name} in row {row} is NaN at the target {y} {rows}: mend the function or the parameters of "
            "such rows, or drop them and their targets together; nothing is left out silently"
        )
    if np.isfinite(values[row]).all():
        raise InputError(
            f"the score of {name} in row {row} is {np.abs(values[row]).max():g} at the target {y} {rows}: its squares "
            f"leave the range of floating numbers, at most {largest:g} is expected: choose another unit of targets"
        )
    raise InputError(
        f"the score of {name} in row {row} is infinite at the target {y} {rows}: the target lies outside the support "
        "of its prediction, which is proof against calibration by itself; Stein residuals need a density that is "
        "positive and smooth everywhere"
    )


def refuse_unusable_functions(predictions: Any, targets: np.ndarray) -> None:
    """Refuse functions whose scores at the targets are no numbers, or change when other rows stand beside them."""
    beside = predictions.score(targets)
    refuse_unusable_scores(beside, targets, type(predictions).__name__)
    few = min(_FEW, len(predictions) // 2)
    if not predictions.parameters or few < 1:
        return
    alone, beside = concrete(predictions[:few].score(targets[:few])), concrete(beside)
    if alone is None or beside is None:
        return
    rounding = 1e-6 if alone.dtype == np.float64 else 1e-3
    differs = np.abs(alone - beside[:few]) > rounding * (1 + np.abs(alone).max())
    if differs.any():
        row = int(np.argmax(differs.reshape(few, -1).any(axis=1)))
        raise InputError(
            f"the score of {type(predictions).__name__} in row {row} changes when other rows are computed beside it: "
            "row i of the result may depend on row i of the arguments only, not on a mean over the batch or on chance"
        )


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
