"""From columns of some rows to targets and predictions, and from there to sums; messages name file and row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.io import read_source
from kernelcal.io.columns import read_targets, rows_to_keep
from kernelcal.io.sources import Arrays
from kernelcal.sketch import Sketch
from kernelcal.stream.pieces import Columns
from kernelcal.stream.roles import Roles

__all__ = ["Batch", "Place", "SketchedRows", "batch_of", "sum_rows"]


_ROW = re.compile(r"\brow (\d+)")


@dataclass(frozen=True)
class Place:
    """Where some rows stand: the name of their part, and the number of the first one there and among all rows."""

    name: str
    begin: int
    first: int

    def after(self, rows: int) -> Place:
        """Return the place so many rows further on."""
        return replace(self, begin=self.begin + rows, first=self.first + rows)


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows that are kept, None if there are none, which these are, how many were dropped, and what was read."""

    case: Case | None
    kept: np.ndarray | None
    missing: int
    unwanted: int
    description: str = ""


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


def sum_rows(
    sums: SketchedRows, batches: Iterable[Columns], place: Place, roles: Roles, lens: Any = None
) -> Iterator[int]:
    """Add batches of consecutive rows, and yield how many rows were seen after each."""
    for columns in batches:
        rows = len(next(iter(columns.values())))
        batch = batch_of(columns, roles, place)
        sums.missing, sums.unwanted = sums.missing + batch.missing, sums.unwanted + batch.unwanted
        if batch.case is not None:
            with _named(place, batch.kept):
                sums.sketch.updated(batch.case.through(lens), **_identities(place, batch.kept))
        place = place.after(rows)
        yield rows


def _identities(place: Place, kept: np.ndarray | None) -> dict[str, Any]:
    """A row is known by its number among all rows, dropped ones counted."""
    return {"first_row": place.first} if kept is None else {"rows": place.first + kept}


def batch_of(columns: Columns, roles: Roles, place: Place) -> Batch:
    """Read and check some rows, and leave out those that are to be dropped."""
    columns = roles.as_read(columns)
    with _named(place, None):
        kept, missing, unwanted = _kept(Arrays(place.name, columns), roles)
    if kept is not None:
        columns = {name: column[kept] for name, column in columns.items()}
        if not len(kept):
            return Batch(None, kept, missing, unwanted)
    with _named(place, kept):
        data = read_source(Arrays(place.name, columns), roles.options)
        case = Case.of(data.y, data.predictions)
    return Batch(case, kept, missing, unwanted, data.description)


def _kept(source: Arrays, roles: Roles) -> tuple[np.ndarray | None, int, int]:
    """Rows to keep, None for all, and the numbers of those with missing values and with the target to drop."""
    asked = roles.asked
    if not asked.drop_missing and asked.drop_target is None:
        return None, 0, 0
    y = read_targets(source, roles.targets, asked) if roles.of_classes else _numbers(source, roles)
    others = [source.array(name) for name in roles.numbers if name not in roles.targets]
    complete, _ = rows_to_keep(y, others, None, replace(asked, drop_target=None))
    kept, _ = rows_to_keep(y, others, complete, replace(asked, drop_missing=False))
    rows = np.flatnonzero(kept)
    missing = int((~complete).sum())
    return (None if kept.all() else rows), missing, len(y) - missing - len(rows)


def _numbers(source: Arrays, roles: Roles) -> np.ndarray:
    y = source.numbers(roles.targets)
    return y[:, 0] if y.shape[1] == 1 else y


@contextmanager
def _named(place: Place, kept: np.ndarray | None) -> Iterator[None]:
    """Say what is refused with the file, and with the row as the file has it."""
    try:
        yield
    except InputError as error:

        def row(found: re.Match[str]) -> str:
            number = int(found.group(1))
            return f"row {place.begin + (number if kept is None else int(kept[number]))}"

        text = str(error).removeprefix(place.name)
        raise InputError(f"{place.name}{'' if text[:1] in (',', ':') else ': '}{_ROW.sub(row, text)}") from None
