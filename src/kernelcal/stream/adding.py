"""From batches of rows to one sketch, and from sketches of parts to that of all: every row is counted once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError
from kernelcal.sketch import Sketch
from kernelcal.stream.batches import Place, Roles, batch_of
from kernelcal.stream.formats import Columns
from kernelcal.surroundings import InMemory, archive_bytes, checksum, read_archive

__all__ = ["SketchedRows", "sum_rows"]


_PART = ("kernelcal part", 1)  # what the bytes of some rows are called, and their version


@dataclass(eq=False)
class SketchedRows:
    """A sketch, and how many rows were left out of it.

    Attributes
    ----------
    sketch : Sketch
        Sums over the rows that were kept.
    missing, unwanted : int
        Rows with missing values, and rows with the target to drop.
    """

    sketch: Sketch
    missing: int = 0
    unwanted: int = 0

    def merge(self, other: SketchedRows) -> Self:
        """Add the rows of another part."""
        self.sketch.merge(other.sketch)
        self.missing, self.unwanted = self.missing + other.missing, self.unwanted + other.unwanted
        return self

    def to_bytes(self) -> bytes:
        """Return the rows of a part as bytes with a version and a checksum; no pickles."""
        told = {"missing": self.missing, "unwanted": self.unwanted}
        return archive_bytes(_PART, told, {"sketch": np.frombuffer(self.sketch.to_bytes(), dtype=np.uint8)})

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote; damaged and foreign bytes are refused."""
        told, arrays = read_archive(InMemory(content, "these bytes"), _PART, "the sums of a part")
        if told.pop("checksum", None) != checksum(told, arrays):
            raise InputError("these bytes were altered after they were written: their checksum is another")
        return cls(Sketch.from_bytes(arrays["sketch"].tobytes()), int(told["missing"]), int(told["unwanted"]))


def sum_rows(
    sums: SketchedRows, batches: Iterable[Columns], place: Place, roles: Roles, lens: Any = None
) -> Iterator[int]:
    """Add batches of consecutive rows, and yield how many rows were seen after each."""
    for columns in batches:
        rows = len(next(iter(columns.values())))
        batch = batch_of(columns, roles, place)
        sums.missing, sums.unwanted = sums.missing + batch.missing, sums.unwanted + batch.unwanted
        if batch.case is not None:
            with place.naming(batch.kept):
                known = _keys(roles, columns, batch.kept) if roles.keys else _numbers_of(place, batch.kept)
                sums.sketch.updated(batch.case.through(lens), **known)
        place = place.after(rows)
        yield rows


def _keys(roles: Roles, columns: Columns, kept: np.ndarray | None) -> dict[str, Any]:
    """A row is known by its keys."""
    return {"keys": {name: columns[name] if kept is None else columns[name][kept] for name in roles.keys}}


def _numbers_of(place: Place, kept: np.ndarray | None) -> dict[str, Any]:
    """A row is known by its number among all rows, dropped ones counted."""
    return {"first_row": place.first} if kept is None else {"rows": place.first + kept}
