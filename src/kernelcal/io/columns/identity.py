"""What a row is known by wherever it is read: an identity of 64 bits from its keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any
from uuid import UUID

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.errors import InputError

__all__ = ["identities", "mixed"]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,19}")
_LEAST, _MOST = -(2**63), 2**64 - 1
_EXACT = 2**53  # whole floats below are what they say


def identities(columns: Mapping[str, Any]) -> np.ndarray:
    """Identities of rows by their keys, the same for any order, partition, engine, platform and process.

    Parameters
    ----------
    columns : mapping of str to array of n values
        One column of keys or several, in this order: integers, text, dates and times, booleans. The text of an integer
        counts as the integer, "7" as 7, and a time at midnight as its day, since engines read such columns differently.

    Returns
    -------
    numpy.ndarray of uint64, shape (n,)

    Raises
    ------
    InputError
        For a missing key and for numbers that are not whole, with the row.

    Notes
    -----
    An integer x becomes ``mix(x mod 2^64)`` with the finaliser of SplitMix64, which gives no two integers one identity;
    text the 64-bit BLAKE2b of its UTF-8, read with the lowest byte first. Several columns are joined by
    ``h = mix(mix(h + 0x9E3779B97F4A7C15) xor h_k)``. Some two different texts of n share an identity with probability
    n^2 / 2^65, 3 % for 10^9 rows; these two rows then share their random numbers.

    References
    ----------
    Steele, Lea, Flood (2014), Fast splittable pseudorandom number generators. RFC 7693, BLAKE2.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.io import identities
    >>> [hex(x) for x in identities({"id": np.array([1, 2])})]
    ['0x5692161d100b05e5', '0xdbd238973a2b148a']
    >>> identities({"id": np.array(["2"])}) == identities({"id": np.array([2])})
    array([ True])
    """
    if not hasattr(columns, "items"):
        raise InputError(
            f"keys are given by the names of their columns, {{'id': values}}, got {type(columns).__name__}"
        )
    total: np.ndarray | None = None
    for name, column in columns.items():
        own = _of_column(name, to_numpy(as_array(column)))
        if total is not None and len(total) != len(own):
            raise InputError(f"keys of {len(total):,} and of {len(own):,} rows ({name!r}): give one key a row")
        total = own if total is None else mixed(mixed(total + _GOLDEN) ^ own)
    if total is None:
        raise InputError("no key was named: name a column that tells rows apart")
    return total


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Finaliser of SplitMix64, a permutation of the 64-bit numbers."""
    z = numbers.copy()
    for shift, factor in _STEPS:
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    z ^= z >> np.uint64(31)
    return z


def _of_column(name: str, column: np.ndarray) -> np.ndarray:
    if column.ndim != 1:
        raise InputError(f"key {name!r} has shape {column.shape}: give one value a row")
    make = _KINDS.get(column.dtype.kind)
    if make is None:
        raise InputError(f"key {name!r} is of type {column.dtype}: keys are integers, text, dates or times")
    return make(name, column)


def _of_integers(_: str, column: np.ndarray) -> np.ndarray:
    return mixed(column.astype(np.int64 if column.dtype.kind == "i" else np.uint64).view(np.uint64))


def _of_floats(name: str, column: np.ndarray) -> np.ndarray:
    column = column.astype(np.float64)  # of half precision the comparison would overflow
    _refuse_missing(name, np.isnan(column))
    wrong = np.flatnonzero((column != np.round(column)) | (np.abs(column) >= _EXACT))
    if len(wrong):
        raise InputError(
            f"row {wrong[0]}: key {name!r} is {column[wrong[0]]!s}, and keys are whole numbers, text, dates or times: "
            "numbers with a fraction are rounded otherwise by every engine"
        )
    return _of_integers(name, column.astype(np.int64))


def _of_times(name: str, column: np.ndarray) -> np.ndarray:
    _refuse_missing(name, np.isnat(column))
    distinct, place = np.unique(column, return_inverse=True)
    return _of_texts(list(map(_time, distinct)))[place]


def _time(moment: np.datetime64) -> str:
    """A moment as text, in the coarsest unit of days, seconds, and thousandths on that says it."""
    units = ("D", "s", "ms", "us", "ns")
    return str(next((coarse for unit in units if (coarse := moment.astype(f"M8[{unit}]")) == moment), moment))


def _of_objects(name: str, column: np.ndarray) -> np.ndarray:
    cells = column.tolist()
    _refuse_missing(name, np.array([_is_missing(cell) for cell in cells], dtype=bool))
    wrong = next((cell for cell in cells if type(cell).__hash__ is None), None)
    if wrong is not None:
        raise InputError(f"key {name!r} holds {type(wrong).__name__}s: keys are integers, text, dates or times")
    book = {cell: k for k, cell in enumerate(dict.fromkeys(cells))}
    own = _of_texts([_text(name, cell, cells) for cell in book])
    return own[[book[cell] for cell in cells]]


def _is_missing(cell: Any) -> bool:
    """Tell whether a cell is None, or differs from itself as numbers and times that are none do."""
    try:
        return cell is None or bool(cell != cell)
    except TypeError:  # what is missing in pandas is neither true nor false
        return True


def _text(name: str, cell: Any, cells: list[Any]) -> str:
    """A cell as the text that stands for it."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool | np.bool_):
        return str(cell).lower()
    if isinstance(cell, bytes):
        return cell.hex()
    if hasattr(cell, "year") and getattr(cell, "tzinfo", None) is None:
        return _time(np.datetime64(cell.isoformat()))
    try:
        whole = int(cell)
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or whole != cell or (isinstance(cell, float) and abs(cell) >= _EXACT):
        if isinstance(cell, UUID):
            return str(cell)
        zoned = getattr(cell, "tzinfo", None) is not None
        raise InputError(
            f"row {cells.index(cell)}: key {name!r} is {str(cell)[:40]!r} ({type(cell).__name__}), and keys are whole "
            f"numbers, text, dates or times{' in UTC, without a zone: convert the column first' if zoned else ''}"
        )
    return str(whole)


def _of_texts(texts: Iterable[str]) -> np.ndarray:
    """Identities of texts; those that are integers have that of the integer."""
    given = list(texts)
    digests = b"".join([blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in given])
    found = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    whole = [k for k, text in enumerate(given) if _INTEGER.fullmatch(text) and _LEAST <= int(text) <= _MOST]
    if whole:
        found[whole] = mixed(np.array([int(given[k]) % 2**64 for k in whole], dtype=np.uint64))
    return found


_KINDS: dict[str, Callable[[str, np.ndarray], np.ndarray]] = {
    "i": _of_integers,
    "u": _of_integers,
    "f": _of_floats,
    "M": _of_times,
    "U": _of_objects,
    "O": _of_objects,
    "b": _of_objects,
}


def _refuse_missing(name: str, missing: np.ndarray) -> None:
    rows = np.flatnonzero(missing)
    if len(rows):
        raise InputError(
            f"row {rows[0]}: key {name!r} is missing ({len(rows):,} of {len(missing):,} there): a row without a key "
            "has no identity. Name columns that every row has, or leave these rows out"
        )
