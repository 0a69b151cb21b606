"""Targets beside predictions: one target a row, or a sentence that says what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.adapters import as_predictions
from kernelcal.predictions.base import Predictions
from kernelcal.predictions.classes import ClassPredictions
from kernelcal.predictions.frames import is_frame, plain_array, series_to_array
from kernelcal.predictions.labels import as_labels
from kernelcal.predictions.number_adapters import predictions_of_numbers
from kernelcal.predictions.outcomes import as_outcomes
from kernelcal.predictions.real import RealPredictions
from kernelcal.predictions.wrappers import Wrapper

__all__ = ["checked_pair"]


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
        return as_outcomes(targets, batch), batch
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
    if values.ndim == 0:
        raise InputError(f"targets must be an array, a list or a column of shape (n,), got {type(y).__name__}")
    if isinstance(values, np.ma.MaskedArray):
        values = _with_none(values.data, np.ma.getmaskarray(values))
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _with_none(values: np.ndarray, missing: np.ndarray) -> np.ndarray:
    objects = values.astype(object)
    objects[missing] = None
    return objects


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
