"""Which rows a sketch has seen: numbers, held as intervals, or keys, of which the smallest identities are held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.errors import InputError
from kernelcal.io.columns import identities

__all__ = ["KeySet", "RowSet", "checked_keys", "checked_rows"]


_LIMIT = 100_000  # intervals: 1.6 MB
_MANY = "there are so many separate ranges of rows that not all were kept: rows given twice may go unseen"
_LARGEST = 2**52  # a row may take some hundred numbers of a stream of 2^63


_HELD = 16_384  # identities that are kept: 128 kB. A repetition of 1 key in 3,500 goes unseen once in a hundred
_REMEDY = (
    "a row has one identity, by which its targets are drawn. Name further columns that tell rows apart (key='id,day'), "
    "or leave out rows that came twice"
)


@dataclass(frozen=True, eq=False)
class RowSet:
    """Rows as disjoint intervals in ascending order, none of which touch.

    Attributes
    ----------
    starts, stops : numpy.ndarray of int64
        Intervals ``start <= row < stop``.
    next : int
        Largest row + 1.
    whole : bool
        False once there were too many intervals to hold: then rows given twice may not be found.
    """

    starts: np.ndarray
    stops: np.ndarray
    next: int = 0
    whole: bool = True

    @classmethod
    def of(cls, rows: range | np.ndarray | None = None) -> Self:
        """Intervals of some rows; none by default."""
        if rows is None:
            return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        if isinstance(rows, range):
            return cls(np.array([rows.start]), np.array([rows.stop]), rows.stop)
        ordered = np.sort(rows)
        _refuse_twice(ordered[1:][np.diff(ordered) == 0])
        return cls._joined(ordered, ordered + 1, whole=True)

    @classmethod
    def of_parts(cls, _: int, starts: np.ndarray, stops: np.ndarray) -> RowSet:
        """Intervals of several sets, one after the other."""
        starts, stops = starts.astype(np.int64), stops.astype(np.int64)
        return cls.of().union(cls(starts, stops, int(stops.max())))

    @classmethod
    def of_file(cls, path: Any, starts: np.ndarray, stops: np.ndarray, following: Any, whole: Any, n: Any) -> Self:
        """Intervals that were written, or refuse what no sketch of n rows holds."""
        plain = type(following) is int and type(whole) is bool
        right = (
            plain and all(x.dtype.kind == "i" and x.ndim == 1 for x in (starts, stops)) and len(starts) == len(stops)
        )
        if right:
            bounds = np.stack([starts, stops], axis=1).ravel()
            held, last = int((stops - starts).sum()), int(stops[-1]) if len(stops) else 0
            ascending = bool(np.all(np.diff(bounds, prepend=-1) > 0)) and last <= following <= _LARGEST
            right = ascending and (held == n if whole else held <= n)
        if not right:
            raise InputError(
                f"{path} is not a whole sketch: the rows that it says it has seen are not those of its sums"
            )
        return cls(starts.astype(np.int64), stops.astype(np.int64), following, whole)

    def arrays(self) -> dict[str, np.ndarray]:
        """What is written of the rows."""
        return {"starts": self.starts, "stops": self.stops}

    @property
    def said(self) -> tuple[str, ...]:
        """What is said where not all intervals were kept."""
        return () if self.whole else (_MANY,)

    def union(self, other: RowSet) -> RowSet:
        """Rows of both; a row that is in both is refused."""
        starts, stops = np.append(self.starts, other.starts), np.append(self.stops, other.stops)
        order = np.argsort(starts, kind="stable")
        starts, stops = starts[order], stops[order]
        _refuse_twice(starts[1:][starts[1:] < stops[:-1]])
        found = self._joined(starts, stops, whole=self.whole and other.whole)
        return RowSet(found.starts, found.stops, max(self.next, other.next), found.whole)

    @classmethod
    def _joined(cls, starts: np.ndarray, stops: np.ndarray, *, whole: bool) -> Self:
        """Join intervals that touch, and keep the longest where they are too many."""
        apart = starts[1:] > stops[:-1]
        starts, stops = starts[np.append(True, apart)], stops[np.append(apart, True)]
        largest = int(stops[-1])
        if len(starts) > _LIMIT:
            kept = np.sort(np.argsort(starts - stops, kind="stable")[:_LIMIT])
            starts, stops, whole = starts[kept], stops[kept], False
        return cls(starts, stops, largest, whole)


_SOME = (
    f"rows are known by their keys, of which {_HELD:,}, chosen by their hash, were compared: rows that came twice "
    "would have been seen if they were more than about 1 in 3,500"
)


@dataclass(frozen=True, eq=False)
class KeySet:
    """Keys that were seen: the smallest identities, which are the same for any order of rows and parts.

    Attributes
    ----------
    smallest : numpy.ndarray of uint64
        At most 16,384 different identities in ascending order.
    whole : bool
        Whether these are all.
    """

    smallest: np.ndarray
    whole: bool = True
    next: int = 0  # keys are not counted on

    @classmethod
    def of(cls, keys: np.ndarray | None = None) -> Self:
        """Keys of some rows; none by default."""
        if keys is None:
            return cls(np.zeros(0, dtype=np.uint64))
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        twice = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(twice):
            k = twice[order[twice + 1].argmin()]
            raise InputError(f"row {order[k + 1]} has the same key as row {order[k]}: {_REMEDY}")
        return cls(ordered[:_HELD], len(keys) <= _HELD)

    @classmethod
    def of_file(cls, path: Any, smallest: np.ndarray, following: Any, whole: Any, n: Any) -> Self:
        """Keys that were written, or refuse what no sketch of n rows holds."""
        right = smallest.ndim == 1 and smallest.dtype == np.uint64 and following == 0 and type(whole) is bool
        right = right and bool(np.all(smallest[1:] > smallest[:-1]))
        if not right or len(smallest) != min(n, _HELD) or whole != (n <= _HELD):
            raise InputError(
                f"{path} is not a whole sketch: the keys that it says it has seen are not those of its sums"
            )
        return cls(smallest, whole)

    @classmethod
    def of_parts(cls, n: int, keys: np.ndarray) -> Self:
        """Keys of several sets of n rows in all, one set after the other."""
        if keys.dtype != np.uint64:
            raise InputError(f"keys of a sketch are of type uint64, got {keys.dtype}")
        return replace(cls.of(keys), whole=n <= _HELD)

    def arrays(self) -> dict[str, np.ndarray]:
        """What is written of the keys."""
        return {"keys": self.smallest}

    def union(self, other: KeySet, rows: np.ndarray | None = None) -> KeySet:
        """Keys of both; one that is in both is refused, with the row if `rows` are the keys of the other."""
        keys = np.concatenate([self.smallest, other.smallest])
        keys.sort(kind="stable")
        twice = keys[1:][keys[1:] == keys[:-1]]
        if len(twice):
            where = "a row of one part" if rows is None else f"row {int(np.flatnonzero(np.isin(rows, twice))[0])}"
            before = "a row of the other" if rows is None else "a row that was given before"
            raise InputError(f"{where} has the same key as {before}: {_REMEDY}")
        return KeySet(keys[:_HELD], self.whole and other.whole and len(keys) <= _HELD)

    @property
    def said(self) -> tuple[str, ...]:
        """What is said of keys that were not all compared."""
        return () if self.whole else (_SOME,)


def checked_rows(n: int, first_row: Any, rows: Any, following: int) -> range | np.ndarray:
    """Identities of n rows: counted on, from a first one, or any whole numbers from 0."""
    if rows is None:
        first = following if first_row is None else first_row
        if isinstance(first, bool) or not isinstance(first, int | np.integer) or not 0 <= first <= _LARGEST - n:
            raise InputError(f"first_row must be a whole number from 0 to {_LARGEST - n}, got {first!r}")
        return range(int(first), int(first) + n)
    if first_row is not None:
        raise InputError("pass first_row, for rows that follow each other, or rows, one number a row, not both")
    numbers = to_numpy(as_array(rows))
    if numbers.shape != (n,) or numbers.dtype.kind not in "iu":
        raise InputError(f"rows must be {n} whole numbers, one a row, got {numbers.dtype} of shape {numbers.shape}")
    if numbers.min() < 0 or numbers.max() >= _LARGEST:
        raise InputError(
            f"rows must be whole numbers from 0 to 2^52 - 1, got {numbers.min()} to {numbers.max()}: take the "
            "remainder of larger ones, or count the rows"
        )
    numbers = numbers.astype(np.int64)
    one_run = bool(np.all(np.diff(numbers) == 1))
    return range(int(numbers[0]), int(numbers[-1]) + 1) if one_run else numbers


def checked_keys(n: int, first_row: Any, rows: Any, keys: Any) -> np.ndarray:
    """Identities of n rows by their keys."""
    if first_row is not None or rows is not None:
        raise InputError("pass keys, or numbers of the rows (first_row or rows), not both")
    found = identities(keys if isinstance(keys, Mapping) else {"keys": keys})
    if len(found) != n:
        raise InputError(f"{len(found):,} keys were given with {n:,} rows: give one key a row")
    return found


def _refuse_twice(rows: np.ndarray) -> None:
    if len(rows):
        raise InputError(
            f"row {int(rows[0])} was given twice: a row has one identity, by which its targets are drawn. Pass "
            "first_row= (where this part begins in the whole) or rows= with every batch, if parts are read apart"
        )
