"""The border of the families for numbers: parameters are accepted, or refused with the row and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import device

from kernelcal.arrays import Array, as_array, concrete, is_numpy, like, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.checks import checked_numbers, floating
from kernelcal.predictions.frames import plain_array

__all__ = ["NO_SPREAD", "inside", "numbers", "positive_numbers", "refuse_rows", "rows_of", "together"]

NO_SPREAD = "; a point prediction alone cannot be tested for calibration"


def numbers(x: Any, what: str, *, ndim: int) -> Array:
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
    array = numbers(x, what, ndim=ndim)
    values = concrete(array)
    if values is not None:
        refuse_rows(values <= 0, what, values, f"a positive number{remedy}")
    return array


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
