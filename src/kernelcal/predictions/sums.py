"""Rows of probabilities sum to 1: up to the rounding of their type or of their decimals, or they are refused."""

from __future__ import annotations

import math

import numpy as np

from kernelcal.arrays import Array, is_half, namespace, precision, row_sums
from kernelcal.errors import InputError

__all__ = ["SUM_TOLERANCE", "with_sums_of_one"]


SUM_TOLERANCE = 1e-5  # a float32 softmax over 1,000 classes is off by 1e-6; 0.33 + 0.33 + 0.33 is off by 1e-2
_DECIMALS = range(7)
_FEWEST = 3  # decimals whose rounding is no news; with two a row may lack a class of one per cent
_MOST = 0.01  # what decimals may move a sum by
_ERRORS = 4.0  # standard errors by which the mean of rounded sums may differ from 1
_OF_A_ZERO = 1 / 8  # mean probability, in units of the last decimal, of what was rounded to 0: 0.02 to 0.1 in softmaxes


def with_sums_of_one(probs: Array, values: np.ndarray, given: Array) -> tuple[Array, tuple[str, ...]]:
    """Probabilities of shape (n, m) whose rows sum to 1, and what was done to them; or refuse them.

    `values` are the probabilities in NumPy, `given` the array whose type tells how they were rounded. Rows of half
    precision, and those off by the rounding of their decimals, are divided by their sums, which is said.
    """
    sums = row_sums(values)
    wrong = np.abs(sums - 1) > _tolerance(given, values.shape[1])
    if not wrong.any():
        return _of_half(probs, sums, given) if is_half(given) else (probs, ())
    decimals = None if is_half(given) else _decimals(values, precision(given))
    if decimals is None or not _explained(values, sums, decimals):
        raise InputError(_refusal(sums, wrong, _tolerance(given, values.shape[1]), decimals))
    xp = namespace(probs)
    total = xp.sum(probs, axis=1, keepdims=True)
    note = (
        f"the probabilities have {decimals} decimals, whose rounding moves sums of rows from 1 (by at most "
        f"{values.shape[1] / 2 * 10.0**-decimals:g}): such rows were divided by their sums"
    )
    return xp.where(xp.abs(total - 1) > SUM_TOLERANCE, probs / total, probs), (note,)  # each row by itself alone


def _tolerance(given: Array, classes: int) -> float:
    """How far the sum of a row may be from 1: a unit of the type for each level of a sum by halves, at least 1e-5."""
    return max(SUM_TOLERANCE, (1 + math.log2(classes)) * precision(given)) if is_half(given) else SUM_TOLERANCE


def _of_half(probs: Array, sums: np.ndarray, given: Array) -> tuple[Array, tuple[str, ...]]:
    """Rows of half precision over their sums, and a note where that changes anything."""
    off = float(np.abs(sums - 1).max(initial=0.0))
    if off <= 1e-7:
        return probs, ()
    note = (
        f"the probabilities came in half precision ({str(given.dtype).rpartition('.')[2]}), whose rounding moved sums "
        f"of rows from 1 by at most {off:.1g}: every row was divided by its sum"
    )
    return probs / namespace(probs).sum(probs, axis=1, keepdims=True), (note,)


def _decimals(values: np.ndarray, unit: float) -> int | None:
    """Decimals that all numbers have at most, None for more than six."""
    for decimals in _DECIMALS:
        scaled = values.astype(np.float64) * 10.0**decimals
        if np.all(np.abs(scaled - np.round(scaled)) <= 10.0**decimals * unit):
            return decimals
    return None


def _explained(values: np.ndarray, sums: np.ndarray, decimals: int) -> bool:
    """Tell whether rounding of independent numbers explains how far sums are from 1.

    An error of rounding is uniform within half a unit of the last decimal, so that a row is off by at most m / 2 units,
    and the mean of n rows has the standard deviation sqrt(m / 12 n). What is below half a unit becomes 0, which lacks
    to the sum: a little for every zero that is there. A class that was left out lacks to all rows, in the mean.
    """
    (n, m), unit = values.shape, 10.0**-decimals
    largest = m / 2 * unit
    if decimals < _FEWEST or largest > _MOST or np.any(np.abs(sums - 1) > largest + SUM_TOLERANCE):
        return False
    noise = _ERRORS * math.sqrt(m / (12 * n)) * unit
    lost = _OF_A_ZERO * unit * float(np.mean(np.sum(values == 0, axis=1)))
    return -noise - lost <= float(np.mean(sums)) - 1 <= noise


def _refusal(sums: np.ndarray, wrong: np.ndarray, tolerance: float, decimals: int | None) -> str:
    row = int(np.argmax(wrong))
    rounded = (
        ""
        if decimals is None or decimals < _FEWEST
        else f". Rounding to {decimals} decimals need not explain it (the mean of the sums is {sums.mean():.6g})"
    )
    return (
        f"row {row} sums to {sums[row]:.6g}, expected 1 (in all, {np.count_nonzero(wrong)} of {len(sums)} rows are off "
        f"by more than {tolerance:g}){rounded}. If the values were rounded or a class was left out, and dividing each "
        "row by its sum is what you want, ask for it: normalize=True (command line: --normalize). If each column "
        "answers its own yes/no question, evaluate one column at a time"
    )
