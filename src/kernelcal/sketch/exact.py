"""Sums that are whole numbers: the same to the last bit for any order of the rows, any partition and any machine.

A floating-point sum depends on its order. So what a row adds is rounded once, to a multiple of a unit, and whole
numbers are added: in 64 bits where they surely fit, else as digits that are carried.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = [
    "DIGITS",
    "MOST_ROWS",
    "carried",
    "carried_floating",
    "digits_of",
    "fixed",
    "floating",
    "in_units",
    "number_of",
    "numbers_of",
    "products",
]


MOST_ROWS = 2**33  # of one sketch: digits and 64-bit sums hold this many rows, whatever these are
_DIGIT = 32  # bits
_LOW = 2**_DIGIT - 1
_LEAST = 1126  # exponent of the last bit of the smallest floating-point number, and what a 53-bit fraction adds
_DIGITS = (_LEAST + 1024) // _DIGIT + 4
_OTHERS = 3  # counts of what is no finite number: NaN, infinity, minus infinity
DIGITS = _DIGITS + _OTHERS  # of an exact sum of floating-point numbers
_ROWS = 2**20  # whose digits add up to less than 2^53


def products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a' b`` of whole numbers in float64, whose partial sums are below 2^53: exact, in whatever order it is made."""
    return np.asarray(a.T @ b)


def digits_of(whole: np.ndarray) -> np.ndarray:
    """Digits of whole numbers of at most 63 bits, 64-bit or floating-point: shape (2, ...), high and low."""
    units = np.asarray(whole).astype(np.int64)
    return np.stack([units >> _DIGIT, units & _LOW])


def carried(digits: np.ndarray) -> np.ndarray:
    """Digits of axis 0, the highest first, all but it from 0 to 2^32 - 1: one sum is written in one way."""
    found = digits.copy()
    for k in range(len(found) - 1, 0, -1):
        found[k - 1] += found[k] >> _DIGIT
        found[k] &= _LOW
    return found


def carried_floating(digits: np.ndarray) -> np.ndarray:
    """The same of sums of `floating`, whose counts stay as they are."""
    return np.concatenate([carried(digits[:-_OTHERS]), digits[-_OTHERS:]])


def in_units(values: np.ndarray, bits: int) -> np.ndarray:
    """Nearest whole numbers of units 2^-bits, in float64; a power of 2 is an exact factor, and quicker than ldexp."""
    units = np.asarray(values, dtype=np.float64) * 2.0**bits
    return np.asarray(np.rint(units, out=units) if units.ndim else np.rint(units))


def fixed(values: np.ndarray, bits: int, most: float = math.inf) -> np.ndarray:
    """Sum over rows of multiples of 2^-bits, to which the values, below 2^(61 - bits), are rounded: (2, ...).

    Digits are added as floating-point numbers below 2^53, by a product: exact, and a third of the time of sums of
    64-bit numbers along rows. Where no value is above `most`, and sums of so few rows are as small, there is one digit.
    """
    units = in_units(values, bits)
    columns = units.reshape(len(units), math.prod(units.shape[1:]))
    if len(units) * most * 2.0**bits <= 2.0**53:
        return digits_of((np.ones(len(units)) @ columns).reshape(units.shape[1:]))
    total = np.zeros((2, *units.shape[1:]), dtype=np.int64)
    for start in range(0, len(columns), _ROWS):
        low = columns[start : start + _ROWS]
        high = np.floor(low * 2.0**-_DIGIT)
        low -= high * 2.0**_DIGIT
        ones = np.ones(len(low))
        total += np.stack([ones @ high, ones @ low]).astype(np.int64).reshape(total.shape)
    return carried(total)


def numbers_of(digits: np.ndarray, bits: int) -> np.ndarray:
    """Nearest numbers to sums of multiples of 2^-bits, up to two units in the last place."""
    return np.ldexp(np.ldexp(digits[0].astype(np.float64), _DIGIT) + digits[1], -bits)


def floating(values: Any) -> np.ndarray:
    """Exact sum over rows of floating-point numbers of any size, shape (digits, ...) for values of shape (n, ...).

    Every number is a whole multiple of the smallest one, and is written in digits. The last three entries count what is
    no finite number.
    """
    x = np.asarray(values, dtype=np.float64)
    columns = x.reshape(len(x), math.prod(x.shape[1:]))
    sums = [_digits_of_column(column) for column in columns.T]
    return np.stack(sums, axis=1).reshape(-1, *x.shape[1:])


def _digits_of_column(column: np.ndarray) -> np.ndarray:
    total = np.zeros(_DIGITS, dtype=np.int64)
    others = [np.isnan(column), column == np.inf, column == -np.inf]
    finite = column[np.isfinite(column)]
    for start in range(0, len(finite), _ROWS):
        total = carried(total[::-1] + _low_first(finite[start : start + _ROWS])[::-1])[::-1]
    return np.concatenate([total[::-1], [int(x.sum()) for x in others]]).astype(np.int64)


def _low_first(column: np.ndarray) -> np.ndarray:
    """Sums of digits, the lowest first: three of every number, whose 53 bits lie across them."""
    fraction, exponent = np.frexp(column)
    whole, place = np.abs(np.ldexp(fraction, 53)).astype(np.int64), exponent.astype(np.int64) - 53 + _LEAST
    first, shift = place // _DIGIT, place % _DIGIT
    low = ((whole & _LOW) << shift).view(np.uint64)
    high = ((whole >> _DIGIT) << shift) + (low >> np.uint64(_DIGIT)).astype(np.int64)
    sign = np.where(column < 0, -1.0, 1.0)
    total = np.zeros(_DIGITS)
    for k, digit in enumerate(((low & np.uint64(_LOW)).astype(np.int64), high & _LOW, high >> _DIGIT)):
        total += np.bincount(first + k, digit * sign, minlength=_DIGITS)
    return total.astype(np.int64)


def number_of(digits: np.ndarray) -> np.ndarray:
    """Nearest numbers to sums of `floating`, of its trailing shape."""
    columns = digits.reshape(len(digits), -1).T
    return np.array([_number_of_column(column) for column in columns]).reshape(digits.shape[1:])


def _number_of_column(column: np.ndarray) -> float:
    unknown, above, below = (int(x) for x in column[-_OTHERS:])
    if unknown or (above and below):
        return float("nan")
    if above or below:
        return float("inf") if above else -float("inf")
    whole = 0
    for digit in column[:-_OTHERS].tolist():
        whole = (whole << _DIGIT) + digit
    try:
        return float(Fraction(whole, 2**_LEAST))
    except OverflowError:
        return float("inf") if whole > 0 else -float("inf")
