"""Targets beside predictions: labels as integers, numbers, one a row, or a sentence that says what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import as_array, concrete, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.adapters import Wrapper, as_predictions, predictions_of_numbers, refuse_names
from kernelcal.predictions.base import Predictions
from kernelcal.predictions.border import is_frame, plain_array, refuse_nested, refuse_rows, series_to_array
from kernelcal.predictions.classes import ClassPredictions
from kernelcal.predictions.real import RealPredictions

__all__ = ["checked_pair", "checked_weights"]


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
    refuse_names(y, predictions)
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
    return _as_labels(targets, batch), batch


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
        if is_frame(y) and len(getattr(y, "columns", ())) > 1 and not hasattr(y, "dtype"):
            values = to_numpy(plain_array(y)[0])  # the numbers of vectors
        else:
            values = series_to_array(y) if is_frame(y) else to_numpy(_array_of(y))
    except InputError:
        raise
    except ValueError as error:  # rows of unequal length
        raise InputError(f"targets must have one value a row: {error}") from None
    if values.dtype.kind == "c":
        raise InputError(f"targets must be labels or real numbers, got complex ones of dtype {values.dtype}")
    if values.ndim == 0:
        raise InputError(f"targets must be an array, a list or a column of shape (n,), got {type(y).__name__}")
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _array_of(y: Any) -> Any:
    try:
        return as_array(y)
    except InputError as error:  # rows of unequal length, sparse ones
        raise InputError(f"targets must have one value a row: {error}") from None


def _refuse_swapped(targets: np.ndarray, predictions: Any) -> None:
    """Targets that are probabilities beside predictions that are labels: the arguments changed places."""
    if isinstance(predictions, Predictions) or is_frame(predictions) or not _has_fractions(targets):
        return
    other = to_numpy(as_array(_unwrapped(predictions)))
    labels = other.dtype.kind in "iubUSO" or (other.dtype.kind == "f" and bool(np.all(other == np.round(other))))
    if labels and (targets.ndim == 2 or other.ndim == 1):
        raise InputError(
            "the targets are fractions, not 0/1 or class numbers, and the predictions are whole numbers: were the "
            "arguments swapped? The order is (y, predictions)"
        )


def _refuse_points(targets: np.ndarray, predictions: Any) -> None:
    """Targets that are numbers beside plain numbers outside [0, 1]: what they mean was not said."""
    if isinstance(predictions, Predictions | Wrapper) or not _has_fractions(targets):
        return
    try:
        other = to_numpy(plain_array(predictions)[0])
    except InputError:  # what is wrong with it is said where it is read
        return
    if other.dtype.kind not in "fiu" or other.ndim not in (1, 2) or len(other) != len(targets):
        return
    if np.all((other >= 0) & (other <= 1)):  # probabilities
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


def _has_fractions(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and bool(np.any(np.isfinite(values) & (values != np.round(values))))


def _unwrapped(predictions: Any) -> Any:
    return predictions.values if isinstance(predictions, Wrapper) else predictions


def _refuse_transposed(targets: np.ndarray, predictions: Any) -> None:
    """Predictions with a column, not a row, a target: said before their rows are summed."""
    predictions = _unwrapped(predictions)
    shape: Any = getattr(predictions, "shape", None)
    if shape is None and isinstance(predictions, list | tuple) and predictions and np.ndim(predictions[0]) == 1:
        shape = (len(predictions), len(predictions[0]))
    if shape is not None and len(shape) == 2 and shape[0] != len(targets) == shape[1]:
        raise InputError(
            f"there are {len(targets)} targets, but predictions of shape {tuple(shape)}: they look transposed, one row "
            "a target is expected: pass predictions.T"
        )


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
        missing = np.array([_is_missing(value) for value in y.flat])
        y = np.where(missing.reshape(y.shape), np.nan, y)
    try:
        if y.dtype.kind in "USMmc":
            raise ValueError
        return y.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        first = y.ravel()[0] if y.size else ""
        refuse_nested(y, "numbers")
        raise InputError(
            f"the targets must be numbers for these predictions, got {y.dtype} such as {str(first)!r}: text labels "
            "need class probabilities, shape (n, m)"
        ) from None


_IGNORED = 0.9  # share of rows up to which a label outside the classes may mark rows to be ignored
_MORE_CLASSES = "; if it is a class, columns are missing"


def _which_is_which(found: list[str], m: int) -> str:
    """Ask for the order of text labels; none is proposed that the labels themselves do not tell."""
    if m == 2 and len(found) > 2:
        return (
            f"the targets are text with more than two values ({_some(found)}), but there is one probability a row: "
            "pass whether the class in question happened, y == label, or a column for every class"
        )
    if m == 2:
        return (
            f"the targets are text ({_some(found)}): say which class is which, in the order of the columns (of one "
            "probability: the other class first, the one that it is about last), classes=[negative, positive] "
            "(command line: --classes NEGATIVE,POSITIVE)"
        )
    return (
        f"the targets are text ({_some(found)}): say which class is which, in the order of the columns, classes=[...] "
        "(command line: --classes LABEL,LABEL,...)"
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


def _some(names: Any) -> str:
    """The first names, shortened, and how many there are."""
    names = [text if len(text) <= 30 else f"{text[:27]}..." for text in map(repr, names)]
    return ", ".join(names[:6]) + (f", ... ({len(names)} in all)" if len(names) > 6 else "")


def _as_labels(y: np.ndarray, predictions: ClassPredictions) -> np.ndarray:
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
        else:  # text names cannot be meant by numbers: they are the numbers in the names, or positions
            numbers = _numbers_in(predictions.classes, listed)
            if numbers is None:
                return _by_number(y, len(index))
            index = {name: k for k, name in enumerate(numbers)}
    elif text and any(v not in index for v in listed):
        index = _matched(predictions.classes, listed) or index
    unknown = [(v, k) for k, v in enumerate(listed) if v not in index]
    if unknown:
        row = int(np.argmax(inverse == unknown[0][1]))
        raise InputError(f"the target in row {row} is {unknown[0][0]!r}, which is none of the classes {_some(index)}")
    return np.array([index[v] for v in listed], dtype=np.int64)[inverse]


def _matched(names: Any, labels: list[Any]) -> dict[Any, int] | None:
    """Labels that are called as the classes but for case and words such as prob, which columns of a frame have."""
    from kernelcal.predictions.label_names import matched  # where names differ alone

    found = matched(labels, names) if all(isinstance(label, str) for label in labels) else None
    return None if found is None else {name: k for k, name in enumerate(found)}


def _numbers_in(names: Any, labels: list[Any]) -> list[int] | None:
    """Classes of columns such as p2, p0, p1 or p_yes, p_no; None where they are called otherwise, or are in order."""
    from kernelcal.predictions.label_names import column_numbers, numbered_classes  # as above

    if any(not isinstance(v, bool | int | float) or not float(v).is_integer() for v in labels):
        return None
    found, numbers = numbered_classes(labels, names), column_numbers(names)
    if found is None and numbers is not None and sorted(numbers) == list(range(1, len(numbers) + 1)):
        raise InputError(
            f"the columns {_some(names)} count from 1: is label 1 the first or the second of them? If the labels count "
            f"from 1: classes=range(1, {len(numbers) + 1}); if from 0: pass frame.to_numpy()"
        )
    return None if found == list(range(len(names))) else found


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _unique_objects(y: np.ndarray) -> tuple[list[Any], np.ndarray]:
    positions: dict[Any, int] = {}
    try:
        inverse = np.array([positions.setdefault(value, len(positions)) for value in y], dtype=np.int64)
    except TypeError:
        refuse_nested(y, "labels")
        raise
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
            refuse_nested(y, allowed)
            raise InputError(f"the targets must be {allowed}; row {row} is {value!r}, a {type(value).__name__}")
    return np.array(y.tolist())
