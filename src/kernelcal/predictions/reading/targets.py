"""Targets beside predictions: one target a row, or a sentence that says what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import as_array, concrete, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions
from kernelcal.predictions.border import is_frame, plain_array, refuse_rows, series_to_array
from kernelcal.predictions.classes import ClassPredictions
from kernelcal.predictions.reading.adapters import Wrapper, as_predictions, predictions_of_numbers
from kernelcal.predictions.reading.labels import as_labels
from kernelcal.predictions.real import RealPredictions

__all__ = ["checked_pair", "checked_weights"]


_FINITE = "a finite number: a family whose laws have no mean or variance says centre and width in their place"
_LARGEST = 1e75  # squares of ratios of such numbers are still finite


def _as_outcomes(y: np.ndarray, predictions: RealPredictions) -> np.ndarray:
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


def checked_weights(weights: Any, n: int) -> np.ndarray | None:
    """Return weights with mean 1 (only their ratios matter), None where every row counts alike."""
    if weights is None:
        return None
    values = series_to_array(weights) if is_frame(weights) else to_numpy(as_array(weights))
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != (n,) or values.dtype.kind not in "fiub":
        raise InputError(f"weights must be {n} numbers, one a row, got {values.dtype} of shape {values.shape}")
    values = values.astype(np.float64)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        value = "missing (NaN or masked)" if np.isnan(values[row]) else f"{values[row]:g}"
        raise InputError(f"weights must be finite and not negative; row {row} is {value}: drop or mend such rows")
    if not values.any():
        raise InputError("all weights are 0: at least one row must count")
    _, exponent = np.frexp(values.max())  # the largest is near 1 first, so that no sum overflows and no ratio is lost
    values = np.ldexp(values, -int(exponent))
    return values / values.mean()


def checked_pair(y: Any, predictions: Any, *, classes: Any = None, normalize: bool = False) -> tuple[np.ndarray, Any]:
    """Return labels 0 to m - 1, or numbers, and predictions of equal length, or refuse with the remedy."""
    _refuse_misaligned(y, predictions)
    read = predictions_of_numbers(predictions)  # pairs and distributions of other libraries have no shape to judge
    predictions = predictions if read is None else read
    targets = _target_array(y)
    _refuse_swapped(targets, predictions)
    _refuse_transposed(targets, predictions)
    _refuse_points(targets, predictions)
    batch = as_predictions(predictions, classes=classes, normalize=normalize)
    if len(batch) == 0:
        raise InputError("there are no rows: predictions and targets are empty")
    if isinstance(batch, RealPredictions):
        return _as_outcomes(targets, batch), batch
    if not isinstance(batch, ClassPredictions):
        raise InputError(f"{type(batch).__name__} predicts neither classes nor numbers")
    return as_labels(targets, batch), batch


def _refuse_misaligned(y: Any, predictions: Any) -> None:
    """Two pandas objects whose indexes differ: pandas would align them, arrays cannot, so say which is meant."""
    indexes = [x.index for x in (y, predictions) if type(x).__module__.split(".")[0] == "pandas" and hasattr(x, "loc")]
    if len(indexes) == 2 and len(indexes[0]) == len(indexes[1]) and not indexes[0].equals(indexes[1]):
        position = int(np.argmax(np.asarray(indexes[0] != indexes[1])))
        raise InputError(
            f"targets and predictions have different indexes (at position {position}: {indexes[0][position]!r} and "
            f"{indexes[1][position]!r}): align them, y.loc[predictions.index], or, if the rows correspond in order, "
            "drop the index, y.to_numpy()"
        )


def _target_array(y: Any) -> np.ndarray:
    if isinstance(y, Predictions | Wrapper):
        raise InputError(
            f"the first argument must be the targets, got {type(y).__name__}: were the arguments swapped? The order "
            "is (y, predictions)"
        )
    try:
        values = series_to_array(y) if is_frame(y) else to_numpy(as_array(y))
    except InputError:
        raise
    except ValueError as error:  # rows of unequal length
        raise InputError(f"targets must have one value a row: {error}") from None
    if values.dtype.kind == "c":
        raise InputError(f"targets must be labels or real numbers, got complex ones of dtype {values.dtype}")
    if values.ndim == 0:
        raise InputError(f"targets must be an array, a list or a column of shape (n,), got {type(y).__name__}")
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _refuse_swapped(targets: np.ndarray, predictions: Any) -> None:
    """Targets that are probabilities beside predictions that are labels: the arguments changed places."""
    if isinstance(predictions, Predictions) or targets.dtype.kind != "f" or is_frame(predictions):
        return
    fractions = bool(np.any(np.isfinite(targets) & (targets != np.round(targets))))
    if not fractions:
        return
    other = to_numpy(as_array(_unwrapped(predictions)))
    labels = other.dtype.kind in "iubUSO" or bool(np.all(other == np.round(other)))
    if labels and (targets.ndim == 2 or other.ndim == 1):
        raise InputError(
            "the targets are fractions, not 0/1 or class numbers, and the predictions are whole numbers: were the "
            "arguments swapped? The order is (y, predictions)"
        )


def _refuse_points(targets: np.ndarray, predictions: Any) -> None:
    """Targets that are numbers beside plain numbers outside [0, 1]: what they mean was not said."""
    if isinstance(predictions, Predictions | Wrapper) or targets.dtype.kind != "f":
        return
    if not np.any(np.isfinite(targets) & (targets != np.round(targets))):
        return
    try:
        other = to_numpy(plain_array(predictions)[0])
    except InputError:  # what is wrong with it is said where it is read
        return
    if other.dtype.kind not in "fiu" or other.ndim not in (1, 2) or len(other) != len(targets) or _in_unit(other):
        return
    if other.ndim == 1:
        raise InputError(
            "the targets and the predictions are numbers, one a row: point predictions alone cannot be tested for "
            "calibration. Pass a distribution: kernelcal.Normal(mean, std), kernelcal.Quantiles(values, levels) or "
            "kernelcal.Samples(draws) (command line: --std, --quantiles, --samples)"
        )
    raise InputError(
        f"the targets are numbers, and the predictions have shape {other.shape}: say what they are, "
        "kernelcal.Samples(x) for draws or ensemble members, kernelcal.Quantiles(x, levels) for quantiles, "
        "kernelcal.Normal(mean, std) for two columns of them (command line: --samples, --quantiles, --mean and --std)"
    )


def _in_unit(values: np.ndarray) -> bool:
    return bool(np.all((values >= 0) & (values <= 1)))


def _unwrapped(predictions: Any) -> Any:
    return predictions.values if isinstance(predictions, Wrapper) else predictions


def _refuse_transposed(targets: np.ndarray, predictions: Any) -> None:
    """Predictions with a column, not a row, a target: said before their rows are summed."""
    predictions = _unwrapped(predictions)
    shape: Any = getattr(predictions, "shape", None)
    if shape is None and isinstance(predictions, list | tuple) and predictions and hasattr(predictions[0], "__len__"):
        shape = (len(predictions), len(predictions[0]))
    if shape is not None and len(shape) == 2 and shape[0] != len(targets) == shape[1]:
        raise InputError(
            f"there are {len(targets)} targets, but predictions of shape {tuple(shape)}: they look transposed, one row "
            "a target is expected: pass predictions.T"
        )
