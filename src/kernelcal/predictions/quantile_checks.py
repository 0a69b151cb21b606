"""The border of quantile predictions: levels and values are accepted, sorted with a note, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.numbers import numbers

__all__ = ["SAME_LEVEL", "checked_quantiles"]

SAME_LEVEL = 1e-9  # 0.05 * 7 is 0.35000000000000003


def checked_quantiles(values: Any, levels: Any, tails: str, crossing: str) -> tuple[Array, np.ndarray, tuple[str, ...]]:
    """Values of shape (n, Q) that do not decrease, increasing levels, and notes."""
    for name, given, known in (
        ("tails", tails, ("exponential", "linear")),
        ("crossing", crossing, ("raise", "sort")),
    ):
        if given not in known:
            raise InputError(f"{name} must be {known[0]!r} or {known[1]!r}, got {given!r}")
    order, levels = _checked_levels(levels)
    array = numbers(values, "the quantile", ndim=2)
    if array.shape[1] != len(levels):
        raise InputError(f"there are {len(levels)} levels but {array.shape[1]} columns of values: one column a level")
    if not np.array_equal(order, np.arange(len(order))):
        array = namespace(array).stack([array[:, int(k)] for k in order], axis=1)
    array, notes = _in_order(array, levels, crossing)
    return array, levels, notes


def _checked_levels(levels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Order that sorts the levels, and the sorted levels."""
    array = to_numpy(as_array(levels))
    if array.ndim != 1 or len(array) < 2 or array.dtype.kind not in "fiub":
        raise InputError(f"levels must be two or more numbers, shape (Q,), got {array.dtype} of shape {array.shape}")
    array = array.astype(np.float64)
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        hint = ": percentages must be divided by 100" if np.nanmax(array) > 1 else ""
        raise InputError(f"levels must lie in [0, 1], got {array[np.argmax(wrong)]:g}{hint}")
    order = np.argsort(array, kind="stable")
    array = array[order]
    same = np.diff(array) < SAME_LEVEL
    if same.any():
        raise InputError(f"level {array[np.argmax(same)]:g} is given twice: every level needs one column of values")
    return order, array


def _in_order(array: Array, levels: np.ndarray, crossing: str) -> tuple[Array, tuple[str, ...]]:
    values = concrete(array)
    if values is None:
        return array, ()
    drops = -np.diff(values, axis=1)
    rows = np.flatnonzero((drops > 0).any(axis=1))
    if len(rows) == 0:
        return array, ()
    if crossing == "raise":
        raise InputError(_crossed(values, levels, drops, rows))
    note = (
        f"quantiles crossed in {len(rows)} of {len(values)} rows (first in row {rows[0]}, at most by "
        f"{drops.max():.4g}): they were sorted in each row, as asked"
    )
    return namespace(array).sort(array, axis=1), (note,)


def _crossed(values: np.ndarray, levels: np.ndarray, drops: np.ndarray, rows: np.ndarray) -> str:
    row = int(rows[0])
    k = int(drops[row].argmax())
    return (
        f"quantiles cross in row {row}: level {levels[k]:g} has {values[row, k]:.10g} but level {levels[k + 1]:g} has "
        f"{values[row, k + 1]:.10g}, less by {drops[row, k]:.4g} ({len(rows)} of {len(values)} rows cross, at most by "
        f'{drops.max():.4g}): correct them, or pass crossing="sort" to sort the values of each row'
    )
