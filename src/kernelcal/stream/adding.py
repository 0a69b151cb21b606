"""From batches of rows to one sketch, and from sketches of parts to that of all: every row is counted once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError
from kernelcal.files import InMemory, archive_bytes, checksum, read_archive
from kernelcal.sketch import Sketch, load_sketch
from kernelcal.stream.batches import Place, Roles, batch_of
from kernelcal.stream.formats import Columns

__all__ = ["SketchedRows", "added_parts", "placed_batches", "sum_rows"]


_PART = ("kernelcal part", 1)  # what the bytes of some rows are called, and their version
_HELD = 100_000  # marks of parts: 800 kB


@dataclass(eq=False)
class SketchedRows:
    """A sketch, and how many rows were left out of it.

    Attributes
    ----------
    sketch : Sketch
        Sums over the rows that were kept.
    missing, unwanted : int
        Rows with missing values, and rows with the target to drop.
    marks : numpy.ndarray of uint64
        Marks of the parts that were added up, in ascending order; the smallest 100,000 of more.
    """

    sketch: Sketch
    missing: int = 0
    unwanted: int = 0
    marks: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))

    def marked(self) -> Self:
        """Mark the rows as one part, by which rows they are: whoever computes the part again gives the same mark."""
        if self.sketch.n:
            told = [f"{self.sketch.n}".encode(), *(x.tobytes() for _, x in sorted(self.sketch.seen().items()))]
            mark = blake2b(b" ".join(told), digest_size=8).digest()
            self.marks = np.frombuffer(mark, dtype="<u8").astype(np.uint64)
        return self

    def merge(self, other: SketchedRows) -> Self:
        """Add the rows of another part."""
        marks = np.sort(np.append(self.marks, other.marks))
        if np.any(marks[1:] == marks[:-1]):
            raise InputError(
                "a part of these rows was given before: the sums of a part that was computed twice are handed on once"
            )
        self.sketch.merge(other.sketch)
        self.marks = marks[:_HELD]
        self.missing, self.unwanted = self.missing + other.missing, self.unwanted + other.unwanted
        return self

    def to_bytes(self) -> bytes:
        """Return the rows of a part as bytes with a version and a checksum; no pickles."""
        told = {"missing": self.missing, "unwanted": self.unwanted}
        sketch = np.frombuffer(self.sketch.to_bytes(), dtype=np.uint8)
        return archive_bytes(_PART, told, {"sketch": sketch, "marks": self.marks})

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote; damaged and foreign bytes are refused."""
        told, arrays = read_archive(InMemory(content, "these bytes"), _PART, "the sums of a part")
        if told.pop("checksum", None) != checksum(told, arrays):
            raise InputError("these bytes were altered after they were written: their checksum is another")
        sketch = load_sketch(InMemory(arrays["sketch"].tobytes(), "these bytes of a sketch"))
        return cls(sketch, int(told["missing"]), int(told["unwanted"]), arrays["marks"])


def added_parts(empty: Sketch, parts: Any, keys: tuple[str, ...]) -> SketchedRows:
    """Sums of all parts, whose rows are known by these keys, or by their places if there are none."""
    if isinstance(parts, bytes | bytearray | memoryview) or not isinstance(parts, Iterable):
        raise InputError(
            f"parts are a list of what sums(batches) or merged(parts) returned, got {type(parts).__name__}: put one "
            "part into a list, [part]"
        )
    sums = SketchedRows(empty)
    for number, content in enumerate(parts):
        try:
            part = SketchedRows.from_bytes(content)
            _refuse_other_keys(part.sketch, keys)
            sums.merge(part)
        except InputError as error:
            raise InputError(f"part {number} of those that were given: {error}") from None
    return sums


def _refuse_other_keys(sketch: Sketch, keys: tuple[str, ...]) -> None:
    """Refuse rows that are known otherwise than the result would say."""
    if sketch.n and ("keys" in sketch.seen()) != bool(keys):
        own, other = (f"their keys ({', '.join(keys)})", "place") if keys else ("their place", "keys")
        raise InputError(
            f"its rows are known by {other}, and those of this pass by {own}: make the sums of all parts with one and "
            "the same OnePass"
        )


def placed_batches(batches: Iterable[Columns], place: Place) -> Iterator[tuple[Columns, Place]]:
    """Batches of consecutive rows, each with the place of its first."""
    for columns in batches:
        yield columns, place
        place = place.after(len(next(iter(columns.values()))))


def sum_rows(
    sums: SketchedRows, batches: Iterable[Columns], first: Place, roles: Roles, lens: Any = None
) -> Iterator[int]:
    """Add batches of consecutive rows, and yield how many rows were seen after each."""
    for columns, place in placed_batches(batches, first):
        batch = batch_of(columns, roles, place)
        sums.missing, sums.unwanted = sums.missing + batch.missing, sums.unwanted + batch.unwanted
        if batch.case is not None:
            with place.naming(batch.kept):
                known = _keys(roles, columns, batch.kept) if roles.keys else _numbers_of(place, batch.kept)
                sums.sketch.updated(batch.case.through(lens), **known)
        yield len(next(iter(columns.values())))


def _keys(roles: Roles, columns: Columns, kept: np.ndarray | None) -> dict[str, Any]:
    """A row is known by its keys."""
    return {"keys": {name: columns[name] if kept is None else columns[name][kept] for name in roles.keys}}


def _numbers_of(place: Place, kept: np.ndarray | None) -> dict[str, Any]:
    """A row is known by its number among all rows, dropped ones counted."""
    return {"first_row": place.first} if kept is None else {"rows": place.first + kept}
