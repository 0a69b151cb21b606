"""The border: arrays of probabilities are accepted as they are, or refused with the likely cause."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import Array, concrete, namespace
from kernelcal.errors import InputError

__all__ = ["SUM_TOLERANCE", "checked_matrix", "checked_numbers", "checked_vector", "floating"]

SUM_TOLERANCE = 1e-5  # a float32 softmax over 1,000 classes is off by 1e-6; 0.33 + 0.33 + 0.33 is off by 1e-2
_ROUNDING = 1e-6


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
        raise InputError(
            f"row {row} is {values[row]:g}, outside [0, 1]: are these logits or log-probabilities? "
            "Wrap them: kernelcal.Logits(x) or kernelcal.LogProbs(x) (command line: --kind)"
        )
    if high > 1 + _ROUNDING:
        row = int(values.argmax())
        raise InputError(f"row {row} is {values[row]:g}, outside [0, 1]: {_cause_of_large(values)}")
    return _snap(p, values, low, high)


def checked_matrix(probs: Array) -> tuple[Array, tuple[str, ...]]:
    """Check class probabilities, shape (n, m) with rows that sum to 1."""
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
    _refuse_sums(values)
    return _snap(probs, values, low, high)


def floating(x: Array) -> Array:
    """Integers and booleans become floats; floats stay as given."""
    xp = namespace(x)
    if isinstance(x, np.ndarray):
        return x.astype(np.float64) if x.dtype.kind in "iub" else x
    return x if xp.isdtype(x.dtype, "real floating") else xp.astype(x, xp.asarray(0.5).dtype)


def checked_numbers(values: np.ndarray) -> np.ndarray:
    """Return the values if they are real numbers."""
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
    what = "missing (NaN)" if np.isnan(value) else str(value)
    count = len(np.unique(bad[:, 0]))
    raise InputError(
        f"the prediction at {where} is {what} ({count} such {_rows(count)}): drop these rows from predictions "
        "and targets together (command line: --drop-missing)"
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
    if np.all(np.abs(sums - 1) <= SUM_TOLERANCE):
        raise InputError(
            f"{found}, though every row sums to 1: such values come from linear models or extrapolation and are no "
            "probabilities; say how they become some before you pass them"
        )
    raise InputError(
        f"{found}, and the rows do not sum to 1: are these logits (scores before the softmax)? Wrap them in "
        "kernelcal.Logits(x) (command line: --kind logits)"
    )


def _refuse_sums(values: np.ndarray) -> None:
    sums = values.sum(axis=1, dtype=np.float64)
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(wrong) == 0:
        return
    row = int(wrong[0])
    raise InputError(
        f"row {row} sums to {sums[row]:.6g}, expected 1 (in all, {len(wrong)} of {len(sums)} rows are off by more "
        f"than {SUM_TOLERANCE:g}). If the values were rounded or a class was left out, and dividing each row by "
        "its sum is what you want, ask for it: normalize=True (command line: --normalize). If each column answers "
        "its own yes/no question, evaluate one column at a time"
    )


def _cause_of_large(values: np.ndarray) -> str:
    if np.all(values == np.round(values)) and len(np.unique(values)) < len(values):
        return (
            "these look like class labels or percentages. Point predictions alone cannot be tested for "
            "calibration: pass the predicted probabilities, or kernelcal.Percent(x) for percentages"
        )
    outside = int(np.count_nonzero((values < 0) | (values > 1)))
    if outside <= 0.1 * len(values):
        return f"only {outside} of {len(values)} values are: correct these rows, or drop them and their targets"
    if values.min() >= 0 and values.max() <= 100:
        return "are these percentages? Wrap them: kernelcal.Percent(x) (command line: --kind percent)"
    return "are these logits? Wrap them: kernelcal.Logits(x) (command line: --kind logits)"


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
