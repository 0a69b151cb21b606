"""Targets that are numbers or vectors: as the predictions need them, or a sentence that says what is wrong."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import concrete
from kernelcal.errors import InputError
from kernelcal.predictions.numbers import refuse_rows
from kernelcal.predictions.real import RealPredictions

__all__ = ["as_outcomes"]

_FINITE = "a finite number: a family whose laws have no mean or variance says centre and width in their place"
_LARGEST = 1e75  # squares of ratios of such numbers are still finite


def as_outcomes(y: np.ndarray, predictions: RealPredictions) -> np.ndarray:
    """Return finite targets of shape (n, *event_shape) in float64; counts must be whole numbers from 0."""
    n, shape = len(predictions), (len(predictions), *predictions.event_shape)
    values = _numbers(y)
    if values.ndim == 1 and shape[1:] == (1,):
        values = values[:, None]
    if len(values) != n:
        raise InputError(f"there are {len(values)} targets but {n} rows of predictions: one row a target is expected")
    if values.shape != shape:
        raise InputError(
            f"targets must have shape {shape} for these predictions, got {values.shape}{_cure(values, shape)}"
        )
    refuse_rows(~np.isfinite(values), "the target", values, "a finite number (command line: --drop-missing)")
    _refuse_extreme(values, predictions)
    values = _in_precision_of(predictions, values)
    if predictions.counts:
        wrong = (values < 0) | (values != np.round(values))
        refuse_rows(wrong, "the target", values, f"a whole number from 0, since {type(predictions).__name__} counts")
    return values


def _cure(values: np.ndarray, shape: tuple[int, ...]) -> str:
    if len(shape) > 1 or values.ndim != 2:
        return ""
    return (
        f": they predict one number a row. Vectors need a family of vectors, and scores event_shape={values.shape[1]}"
    )


def _in_precision_of(predictions: RealPredictions, values: np.ndarray) -> np.ndarray:
    """Round targets as single-precision predictions are rounded, so that what was equal before is equal here."""
    given = concrete(predictions.reference)
    if given is None or given.dtype != np.float32:
        return values
    largest = float(np.finfo(np.float32).max)
    refuse_rows(np.abs(values) > largest, "the target", values, "at most 3.4e38 in size, as float32 predictions hold")
    return values.astype(np.float32).astype(np.float64)


def _refuse_extreme(values: np.ndarray, predictions: RealPredictions) -> None:
    """Refuse numbers whose squares and ratios leave the range of floating numbers."""
    unit = f"at most {_LARGEST:g} in size: choose another unit"
    refuse_rows(np.abs(values) > _LARGEST, "the target", values, unit)
    if not predictions.described:
        return
    for what, x in (
        ("the predicted mean", predictions.centre),
        ("the predicted standard deviation", predictions.width),
    ):
        given = concrete(x)
        if given is None:
            continue
        given = given.astype(np.float64, copy=False)
        refuse_rows(~np.isfinite(given), what, given, _FINITE)
        refuse_rows(np.abs(given) > _LARGEST, what, given, unit)
        if what.endswith("deviation"):
            refuse_rows((given > 0) & (given < 1 / _LARGEST), what, given, f"0 or at least {1 / _LARGEST:g}")


def _numbers(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "O":
        missing = np.array([value is None or type(value).__name__ in ("NAType", "NaTType") for value in y.flat])
        y = np.where(missing.reshape(y.shape), np.nan, y)
    try:
        if y.dtype.kind in "USMmc":
            raise ValueError
        return y.astype(np.float64)
    except (TypeError, ValueError):
        first = y.ravel()[0] if y.size else ""
        raise InputError(
            f"the targets must be numbers for these predictions, got {y.dtype} such as {str(first)!r}: text labels "
            "need class probabilities, shape (n, m)"
        ) from None
