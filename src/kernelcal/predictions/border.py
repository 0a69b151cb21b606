"""The border: arrays and frames are accepted as they are, or refused with the likely cause and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import device

from kernelcal.arrays import Array, as_array, concrete, is_half, is_numpy, like, namespace, row_sums
from kernelcal.errors import InputError, MissingExtraError
from kernelcal.predictions.sums import SUM_TOLERANCE, with_sums_of_one

__all__ = [
    "NO_SPREAD",
    "checked_matrix",
    "checked_numbers",
    "checked_vector",
    "finite_numbers",
    "floating",
    "inside",
    "is_frame",
    "is_in_chunks",
    "is_in_parts",
    "plain_array",
    "positive_numbers",
    "refuse_nested",
    "refuse_rows",
    "rows_of",
    "series_to_array",
    "together",
]


_ROUNDING = 1e-6
_OF_ANSWERS = 7  # a scale of answers ends at 5 or 7


def checked_vector(p: Array) -> tuple[Array, tuple[str, ...]]:
    """Check probabilities of the positive class, shape (n,)."""
    values = concrete(p)
    if values is None:
        return p, ()
    if values.ndim != 1:
        raise InputError(f"Bernoulli needs one probability a row, shape (n,), got shape {values.shape}")
    values = checked_numbers(values)
    _refuse_not_finite(values[:, None])
    low, high = values.min(initial=0.0), values.max(initial=0.0)
    if low < -_ROUNDING:
        row = int(values.argmin())
        which = _few_outside(values[:, None]) or (
            "are these logarithms of probabilities (kernelcal.LogProbs(x); command line: --kind log-probabilities), or "
            "logits (kernelcal.Logits(x); --kind logits)? Say which"
            if high <= _ROUNDING
            else "are these logits? Wrap them: kernelcal.Logits(x) (command line: --kind logits)"
        )
        raise InputError(f"row {row} is {values[row]:g}, outside [0, 1]: {which}")
    if high > 1 + _ROUNDING:
        row = int(values.argmax())
        raise InputError(f"row {row} is {values[row]:g}, outside [0, 1]: {_cause_of_large(values)}")
    return _snap(p, values, low, high)


def checked_matrix(probs: Array, *, precision: Array | None = None) -> tuple[Array, tuple[str, ...]]:
    """Check class probabilities, shape (n, m) with rows that sum to 1, and return them as floating numbers.

    Rows must sum to 1 up to the rounding of the numbers that were given; `precision` is the array of these, where the
    probabilities were made of others.
    """
    given, probs = probs if precision is None else precision, floating(probs)
    values = concrete(probs)
    if values is None:
        return probs, ()
    if values.ndim != 2 or values.shape[1] < 2:
        raise InputError(
            f"Categorical needs one row a sample and one column a class (two or more), got shape {values.shape}; "
            "for the probability of one of two classes use kernelcal.Bernoulli(p) with shape (n,)"
        )
    values = checked_numbers(values)
    _refuse_not_finite(values)
    low, high = values.min(initial=0.0), values.max(initial=0.0)
    if low < -_ROUNDING or high > 1 + _ROUNDING:
        _refuse_range(values)
    probs, notes = _snap(probs, values, low, high)
    if is_half(given) or np.any(np.abs(row_sums(values) - 1) > SUM_TOLERANCE):
        probs, more = with_sums_of_one(probs, values, given)
        return probs, (*notes, *more)
    return probs, notes


def floating(x: Array) -> Array:
    """Integers and booleans become floats, and half precision single precision; other floats stay as given."""
    xp = namespace(x)
    if isinstance(x, np.ndarray):
        if is_half(x):
            return x.astype(np.float32)
        if x.dtype.kind == "c":
            raise InputError(_COMPLEX.format(x.dtype))
        return x.astype(np.float64) if x.dtype.kind in "iub" else x
    if xp.isdtype(x.dtype, "complex floating"):
        raise InputError(_COMPLEX.format(x.dtype))
    if is_half(x):
        return xp.astype(x, xp.float32)
    return x if xp.isdtype(x.dtype, "real floating") else xp.astype(x, xp.asarray(0.5).dtype)


_COMPLEX = (
    "predictions must be real numbers, got an array of dtype {}: an imaginary part has no meaning here; pass x.real if "
    "it is 0"
)


def checked_numbers(values: np.ndarray) -> np.ndarray:
    """Return the values if they are real numbers."""
    if values.dtype.kind in "US" or (values.dtype.kind == "O" and any(isinstance(v, str) for v in values.flat)):
        first = next((v for v in values.flat if isinstance(v, str | bytes)), "")
        raise InputError(
            f"predictions must be numbers, got text such as {str(first)[:40]!r}: for numbers written as text pass "
            "x.astype(float), and leave columns of other text out"
        )
    if values.dtype.kind not in "fiub":
        raise InputError(f"predictions must be numbers, got an array of dtype {values.dtype}")
    return values


def _refuse_not_finite(values: np.ndarray) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if values.dtype.kind != "f" or np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = np.argwhere(~np.isfinite(values))
    if len(bad) == 0:  # the sum alone was too large
        return
    row, column = bad[0]
    value = values[row, column]
    where = f"row {row}" + (f", column {column}" if values.shape[1] > 1 else "")
    what = "missing (NaN)" if np.isnan(value) else f"{value}, which is no probability"
    count = len(np.unique(bad[:, 0]))
    raise InputError(
        f"the prediction at {where} is {what} ({count} such {_rows(count)}): drop these rows from predictions "
        "and targets together (command line: --drop-missing; of answers that were not given --abstained COLUMN)"
    )


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"


def _refuse_range(values: np.ndarray) -> None:
    row, column = np.unravel_index(np.argmax(np.abs(values - 0.5)), values.shape)
    found = f"row {row}, column {column} is {values[row, column]:g}, outside [0, 1]"
    with np.errstate(over="ignore"):
        sums = values.sum(axis=1, dtype=np.float64)
        sums_of_exponentials = np.exp(values.astype(np.float64)).sum(axis=1)
    if values.max() <= _ROUNDING and np.all(np.abs(sums_of_exponentials - 1) < 1e-3):
        raise InputError(
            f"{found}; the exponentials of each row sum to 1, so these are log-probabilities: wrap them in "
            "kernelcal.LogProbs(x) (command line: --kind log-probabilities)"
        )
    if values.min() >= 0 and np.all(np.abs(sums - 100) < 1):
        raise InputError(
            f"{found}; the rows sum to 100, so these are percentages: wrap them in kernelcal.Percent(x) "
            "(command line: --kind percent)"
        )
    if values.min() >= 0 and np.all(np.abs(sums - 10) < 0.1):
        raise InputError(
            f"{found}; the rows sum to 10, so these are on a scale from 0 to 10: pass x / 10 (command line: --kind "
            "out-of-ten)"
        )
    if np.all(np.abs(sums - 1) <= SUM_TOLERANCE):
        raise InputError(
            f"{found}, though every row sums to 1: such values come from linear models or extrapolation and are no "
            "probabilities; say how they become some before you pass them"
        )
    few = _few_outside(values)
    if few:
        raise InputError(f"{found}: {few}")
    with np.errstate(divide="ignore"):
        shares = (1 / values.astype(np.float64)).sum(axis=1)
    if values.min() > 1 and np.all((shares > 0.95) & (shares < 1.5)):
        raise InputError(
            f"{found}, and the reciprocals of each row sum to about 1: are these decimal odds? They are no "
            "probabilities: pass 1 / odds divided by its sum in the row, which takes out the bookmaker's margin"
        )
    raise InputError(
        f"{found}, and the rows do not sum to 1: are these logits (scores before the softmax)? Wrap them in "
        "kernelcal.Logits(x) (command line: --kind logits)"
    )


_SCALES = (
    "are these confidences on a scale from 0 to 10 (pass x / 10; command line: --kind out-of-ten), or percentages "
    "(kernelcal.Percent(x); --kind percent)? Say which"
)


def _cause_of_large(values: np.ndarray) -> str:
    scale = values.min() >= 0 and values.max() <= 10
    if values.min() >= 1 and values.max() <= _OF_ANSWERS and np.all(values == np.round(values)):
        return (
            f"whole numbers from {values.min():g} to {values.max():g} are class labels or answers on a scale, and no "
            "probabilities: pass the predicted probabilities, or write the probability that each answer stands for (of "
            "confidence from 0 to 10 command line: --kind out-of-ten)"
        )
    if np.all(values == np.round(values)) and len(np.unique(values)) < len(values):
        return (
            "these look like class labels or numbers on a scale. Labels and other point predictions alone cannot be "
            f"tested for calibration: pass the predicted probabilities. Of a scale: {_SCALES if scale else _PERCENT}"
        )
    few = _few_outside(values[:, None])
    if few:
        return few
    if values.min() >= 1:
        return (
            "no number is below 1: are these decimal odds? Pass 1 / odds, less the bookmaker's margin. Or "
            f"{_SCALES if scale else _PERCENT}"
        )
    if values.min() >= 0 and values.max() <= 100:
        return _SCALES if scale else _PERCENT
    return "are these logits? Wrap them: kernelcal.Logits(x) (command line: --kind logits)"


def _few_outside(values: np.ndarray) -> str:
    """Say of a few rows outside [0, 1] that it is they which are wrong, not the scale of all; empty of many."""
    outside = int(np.count_nonzero(np.any((values < 0) | (values > 1), axis=1)))
    if outside > 0.1 * len(values):
        return ""
    what = "values" if values.shape[1] == 1 else "rows"
    return f"only {outside} of {len(values)} {what} are: correct these rows, or drop them and their targets"


_PERCENT = "are these percentages? Wrap them: kernelcal.Percent(x) (command line: --kind percent)"


def _snap(p: Array, values: np.ndarray, low: float, high: float) -> tuple[Array, tuple[str, ...]]:
    """Set values that leave [0, 1] by rounding alone to the nearest bound, and say so."""
    if low >= 0 and high <= 1:
        return p, ()
    outside = np.flatnonzero((values < 0) | (values > 1))
    row = int(outside[0] // (values.shape[1] if values.ndim == 2 else 1))
    excess = max(-float(low), float(high) - 1)
    note = (
        f"{len(outside)} probabilities outside [0, 1] by at most {excess:.1g} (first in row {row}) "
        "were taken as rounding and set to the nearest bound"
    )
    return namespace(p).clip(p, 0, 1), (note,)


_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")


def is_frame(x: Any) -> bool:
    """Tell whether `x` is an object of a data-frame library, by the module of its type."""
    return type(x).__module__.split(".")[0] in _LIBRARIES


def is_in_parts(x: Any) -> bool:
    """Tell whether `x` is a data frame in partitions, as those of Dask are, by what it can do."""
    return all(hasattr(x, name) for name in ("npartitions", "to_delayed", "columns"))


def is_in_chunks(x: Any) -> bool:
    """Tell whether `x` is an array in chunks, as those of Dask are, by what it can do."""
    return all(hasattr(x, name) for name in ("chunks", "to_delayed", "rechunk"))


def _native(x: Any) -> Any:
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        library = type(x).__module__.split(".")[0]
        raise MissingExtraError("narwhals", "frame", f"reading a {library} object") from None
    try:
        native = nw.from_native(x, allow_series=True)
    except TypeError:  # an index, a categorical, an array of a data-frame library
        return None
    except Exception as error:  # two columns of one name
        raise InputError(f"the data frame cannot be read: {' '.join(str(error).split())}") from None
    return native.collect() if isinstance(native, nw.LazyFrame) else native


def series_to_array(x: Any) -> np.ndarray:
    """Return a column, or a frame of one column, as a NumPy array; the index of pandas is not used."""
    column = _native(x)
    if column is None:
        return np.asarray(x)
    if hasattr(column, "columns"):
        if len(column.columns) != 1:
            raise InputError(
                f"targets must be one column, got a frame with columns {column.columns[:6]}: pass one of them, or "
                "swap the arguments, whose order is (y, predictions)"
            )
        column = column.get_column(column.columns[0])
    return column.to_numpy()


def plain_array(x: Any) -> tuple[Array, tuple[Any, ...] | None]:
    """Return numbers as an array of their library, missing ones as NaN, and the column names of a frame."""
    if is_frame(x):
        array, names = _frame(x)
    else:
        try:
            array, names = as_array(x), None
        except ValueError as error:  # rows of unequal length
            raise InputError(f"predictions do not form a rectangular array: {_uneven(x) or error}") from None
    return (_from_objects(array) if isinstance(array, np.ndarray) and array.dtype.kind == "O" else array), names


def _uneven(rows: Any) -> str:
    """Which of several rows has another length than the first; empty of other things."""
    lengths = [len(row) for row in rows if hasattr(row, "__len__")] if isinstance(rows, list | tuple) else []
    row = next((k for k, length in enumerate(lengths) if length != lengths[0]), None)
    if row is None or len(lengths) < len(rows):
        return ""
    return f"row {row} holds {lengths[row]} numbers and row 0 {lengths[0]}: give every row one number a class"


def _from_objects(array: np.ndarray) -> np.ndarray:
    """Numbers among None: None is NaN. Text stays what it is, to be refused."""
    if array.ndim == 0 or any(isinstance(value, str) for value in array.flat):
        return array
    empty = [value is None or type(value).__name__ == "NAType" for value in array.flat]
    try:
        return np.where(np.reshape(empty, array.shape), np.nan, array).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return array


def _frame(x: Any) -> tuple[np.ndarray, tuple[Any, ...] | None]:
    """Values of a frame and its column names (None for a single column)."""
    frame = _native(x)
    if frame is None:
        return np.asarray(x), None
    if not hasattr(frame, "columns"):
        return frame.to_numpy(), None
    for name in frame.columns:
        if not frame.get_column(name).dtype.is_numeric():
            raise InputError(
                f"column {name!r} holds {frame.get_column(name).dtype}, not probabilities: pass the columns of the "
                "predictions alone, frame[[...]]"
            )
    names = tuple(frame.columns)
    return frame.to_numpy(), names if len(names) > 1 else None


NO_SPREAD = "; a point prediction alone cannot be tested for calibration"
_NEGATIVE = "; no spread is below 0: are these its logarithms? Then pass numpy.exp(x)"


def finite_numbers(x: Any, what: str, *, ndim: int) -> Array:
    """Return finite floating numbers with a given number of axes, the sample on axis 0."""
    array = plain_array(x)[0]
    values = concrete(array)
    if values is None:
        return floating(array)
    checked_numbers(values)
    if values.ndim != ndim:
        shape = "(n,)" if ndim == 1 else f"(n, ...) with {ndim} axes"
        raise InputError(f"{what} must have shape {shape}, one row a prediction, got shape {values.shape}")
    refuse_rows(~np.isfinite(values), what, values, "a finite number")
    array = floating(array)
    return array.astype(np.float64) if isinstance(array, np.ndarray) and array.dtype.itemsize > 8 else array


def positive_numbers(x: Any, what: str, *, ndim: int, remedy: str = "") -> Array:
    """Return finite positive numbers."""
    array = finite_numbers(x, what, ndim=ndim)
    values = concrete(array)
    if values is not None:
        if remedy == NO_SPREAD:
            refuse_rows(values < 0, what, values, f"a positive number{_NEGATIVE}")
        refuse_rows(values <= 0, what, values, f"a positive number{remedy}")
    return array


def refuse_nested(targets: np.ndarray, expected: str) -> None:
    """Refuse the first target that is a list, a dictionary or an array, and could not be compared with others."""
    if targets.dtype.kind != "O" or targets.ndim != 1:
        return
    for row, value in enumerate(targets):
        try:
            hash(value)
        except TypeError:
            one = "value['label']" if isinstance(value, dict) else "value[0]"
            cure = "" if isinstance(value, set) else f", such as [{one} for value in y]"
            raise InputError(
                f"the targets must be {expected}; row {row} is {value!r:.60}, a {type(value).__name__}: pass one value "
                f"a row{cure}"
            ) from None


def refuse_rows(wrong: np.ndarray, what: str, values: np.ndarray, expected: str) -> None:
    """Refuse the first wrong entry, naming its place and how many rows have one."""
    if not wrong.any():
        return
    place = tuple(int(k) for k in np.argwhere(wrong)[0])
    count = int(wrong.reshape(len(wrong), -1).any(axis=1).sum())
    column = f", column {place[1] if len(place) == 2 else place[1:]}" if len(place) > 1 else ""
    value = "missing (NaN)" if np.isnan(values[place]) else f"{values[place]:g}"
    raise InputError(
        f"{what} in row {place[0]}{column} is {value}, expected {expected} ({count} such row{'s' * (count > 1)}): "
        "correct these rows, or drop them and their targets together"
    )


def rows_of(x: Any, like: Array, *, event: int = 0) -> Array:
    """Repeat a parameter that is the same for every row (without sample axis) as often as there are rows.

    `event` is the number of axes that one row of the parameter has.
    """
    if isinstance(x, int | float | np.number) or np.ndim(x) == event:
        xp = namespace(like)
        if not hasattr(x, "dtype"):
            x = xp.asarray(x, dtype=like.dtype, device=device(like))
        row = floating(xp.asarray(as_array(x)))
        return xp.broadcast_to(row[None, ...], (int(like.shape[0]), *row.shape))
    return x


def together(**given: Any) -> tuple[Array, ...]:
    """Parameters of one batch, shape (n,): arrays as they are, numbers repeated as often as there are rows.

    NumPy arrays beside arrays of another library move there.
    """
    arrays = {name: plain_array(x)[0] for name, x in given.items()}
    long = [x for x in arrays.values() if np.ndim(x) > 0]
    if not long:
        name, value = next(iter(given.items()))
        raise InputError(
            f"{_listed(list(given))} are numbers, and the rows are not known: give one of them as an array of shape "
            f"(n,), such as {name}=[{value}] for one row"
        )
    leading = next((x for x in long if not is_numpy(x)), long[0])
    rows = [like(x, leading) if is_numpy(x) and not is_numpy(leading) and np.ndim(x) else x for x in arrays.values()]
    rows = [rows_of(x, leading) for x in rows]
    lengths = [np.shape(x)[0] for x in rows]
    if len(set(lengths)) > 1:
        raise InputError(f"{_listed(list(given))} must have equal length, got {_listed([str(k) for k in lengths])}")
    return tuple(rows)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def inside(uniforms: np.ndarray) -> np.ndarray:
    """Uniform numbers in (0, 1), where every quantile is finite: 0 is moved up."""
    return np.maximum(uniforms, 2.0**-54)
