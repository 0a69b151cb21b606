"""What is to be read: the parts of files, with rows and places, and what their columns hold."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.files import DELIMITERS, PARQUET, READ_IN_PARTS, find_files, size_of, suffix_of
from kernelcal.io import Arrays, ReadOptions
from kernelcal.io.columns import count, missing_words
from kernelcal.pairs import threaded_stream
from kernelcal.sketch import Sketch
from kernelcal.stream.batches import Labels, Place, Roles, batch_of, label_columns, roles_of
from kernelcal.stream.formats import Columns, CsvBlocks, InPieces, Parquet, Piece

__all__ = [
    "LOOKED",
    "Compute",
    "FilePart",
    "Survey",
    "pilot_of",
    "places",
    "seconds_and_bytes",
    "smallest",
    "survey_files",
]


LOOKED = 2_048  # rows
_MANY, _OF_A_BATCH = 300_000, 2**14  # rows of a file whose time is worth looking at more of them, and how many
_OTHERS: dict[str, str] = {
    ".gz": f"a compressed text cannot be cut into parts: unpack it, or write parquet; {READ_IN_PARTS}",
}


def open_in_pieces(path: str, options: ReadOptions) -> InPieces:
    """Open one file; a new format is one class, and one line here."""
    suffix = suffix_of(path)
    if suffix in PARQUET:
        return Parquet(path)
    if suffix in DELIMITERS:
        said = options.delimiter is not None
        given = str(options.delimiter) if said else DELIMITERS[suffix]
        return CsvBlocks(path, given, missing_words(options), said=said)
    why = _OTHERS.get(suffix, f"{suffix or 'this'} is not read in parts: {READ_IN_PARTS}")
    raise InputError(f"{path}: {why}")


Compute = Callable[[list[tuple[Callable[..., Any], tuple[Any, ...]]]], list[Any]]  # functions and their arguments


def _compute_here(calls: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    """Call functions in threads: most of what they do is to read."""
    return list(threaded_stream(lambda call: call[0](*call[1]), calls, None))


_SHOWN = 3


@dataclass(frozen=True, eq=False)
class FilePart:
    """One piece of one file; it travels to other processes, and the file is opened there."""

    path: str
    options: ReadOptions
    piece: Piece
    first: int

    @property
    def place(self) -> Place:
        """Where its rows stand."""
        name = f"{self.path}, {self.piece.name}" if self.piece.name else self.path
        return Place(name, self.piece.begin, self.first)

    def batches(self, roles: Roles) -> Iterator[Columns]:
        """Columns of its rows, some at a time."""
        return open_in_pieces(self.path, self.options).read(self.piece, roles.numbers, roles.others)


@dataclass(frozen=True, eq=False)
class Survey:
    """Everything that is known before the pass.

    Attributes
    ----------
    name : str
        What is read, in words.
    parts : sequence
        Parts with a `place` and `batches`, or what Dask makes such parts of.
    counts : sequence of int
        Rows of every part.
    roles : Roles
        What the columns hold.
    files, bytes : int
        Files and their size; 0 for a data frame.
    aside : str
        What is said of lines above the header.
    compute : callable
        Calls a list of functions of a part, where the parts are.
    """

    name: str
    parts: Sequence[Any]
    counts: Sequence[int]
    roles: Roles
    files: int = 0
    bytes: int = 0
    aside: str = ""
    compute: Compute = _compute_here

    @property
    def rows(self) -> int:
        """Rows of all parts."""
        return sum(self.counts)

    @property
    def firsts(self) -> list[int]:
        """Place of the first row of every part among all rows."""
        return list(accumulate(self.counts, initial=0))[:-1]

    def counted_from(self, row: int) -> Survey:
        """Return the same files with rows that are numbered from another one than 0."""
        return self if row == 0 else replace(self, parts=[replace(part, first=part.first + row) for part in self.parts])


def survey_files(paths: Sequence[Any], options: ReadOptions, *, together: bool = False) -> Survey:
    """Find files, recognise columns, learn labels and count rows.

    Parquet is counted from the ends of its files, and labels that are text are read; csv is read once. What is known of
    rows, such as groups and clusters, is for rows that are read `together`.
    """
    found = find_files(paths)
    opened = [open_in_pieces(path, options) for path in found]
    head = Arrays(found[0], _first_head(opened))
    head.percent = dict(opened[0].percent)
    texts = label_columns(head, options, together=together)
    _refuse_other_columns(opened, head.names, texts)
    roles = roles_of(head, _learned(opened, texts), options)
    parts = list(_parts(opened, options))
    if not parts:
        raise InputError(f"{found[0]}: there are no rows, only names: give files with rows")
    counts = [part.piece.rows for part in parts]
    return Survey(_name(found), parts, counts, roles, len(found), size_of(found), aside=opened[0].aside)


def _learned(opened: Sequence[InPieces], texts: Sequence[str]) -> Labels | None:
    """Labels of all files, where they are text or cells of unknown type."""
    if not texts or opened[0].kind(texts[0]) not in ("text", "cells"):
        return None
    return Labels.of((values for file in opened for values in file.texts(texts)), texts[0])


def _parts(opened: Sequence[InPieces], options: ReadOptions) -> Iterator[FilePart]:
    """Pieces of all files in order, each with the number of its first row among all."""
    first = 0
    for file in opened:
        for piece in file.pieces():
            if piece.rows:
                yield FilePart(file.path, options, piece, first)
                first += piece.rows


def _first_head(opened: Sequence[InPieces]) -> Columns:
    """First rows of the first file that has any."""
    heads = [opened[0].head()]
    while not len(next(iter(heads[-1].values()), ())) and len(heads) < len(opened):
        heads.append(opened[len(heads)].head())
    return heads[-1]


def _refuse_other_columns(opened: Sequence[InPieces], names: Sequence[str], texts: Sequence[str]) -> None:
    for file in opened[1:]:
        other = sorted({*names} ^ {*file.names})
        if other:
            where = file.path if other[0] not in file.names else opened[0].path
            raise InputError(
                f"{where} has no column {other[0]!r}, which {(opened[0] if where == file.path else file).path} has: "
                "files that are read together have the same columns"
            )
        name = next(iter(sorted({*file.percent} ^ {*opened[0].percent})), None)
        if name is not None:
            signed, plain = (file, opened[0]) if name in file.percent else (opened[0], file)
            raise InputError(
                f"column {name!r} has percent signs in {signed.path} and none in {plain.path}: write all of its "
                "numbers alike"
            )
        for name in texts:
            if file.kind(name) != opened[0].kind(name):
                raise InputError(
                    f"column {name!r} is {opened[0].kind(name)} in {opened[0].path} and {file.kind(name)} in "
                    f"{file.path}: write labels as the same type in all files"
                )


def _name(paths: Sequence[str]) -> str:
    if len(paths) <= _SHOWN:
        return ", ".join(paths)
    return f"{len(paths):,} files, {paths[0]} to {paths[-1]}"


_PLACES, _EACH = 16, 128
_WAVE = 64  # parts that are looked at before what they gave is put together


def pilot_of(survey: Survey) -> tuple[Case, str]:
    """Read rows at places that depend on the number of rows alone, not on the parts they lie in; say what was read.

    Where rows have keys, those of the smallest identities are read: they depend on nothing but all keys.
    """
    if survey.roles.keys:
        whole = _by_keys(survey)
    else:
        calls = [
            (_take, (part, slices, survey.roles))
            for part, slices in zip(survey.parts, _slices(survey), strict=True)
            if slices
        ]
        whole = _join_columns([columns for some in survey.compute(calls) for columns in some])
    batch = batch_of(whole, survey.roles, Place(survey.name, 0, 0))
    if batch.case is None or len(batch.case) < 2:
        looked = len(next(iter(whole.values())))
        raise InputError(
            f"{survey.name}: fewer than 2 of the {count(looked)} looked at first are left: are target and missing "
            "values as expected?"
        )
    return batch.case, batch.description


def _by_keys(survey: Survey) -> Columns:
    found: list[tuple[np.ndarray, Columns]] = []
    for first in range(0, len(survey.parts), _WAVE):
        calls = [(_smallest_of, (part, survey.roles)) for part in survey.parts[first : first + _WAVE]]
        ids, columns = smallest(iter([*found, *survey.compute(calls)]), _take_rows, _join_columns)
        found = [] if columns is None else [(ids, columns)]
    return found[0][1]


def _smallest_of(part: Any, roles: Roles) -> tuple[np.ndarray, Columns]:
    """Rows of a part with the smallest identities; what is wrong with any of its rows names the row."""

    def parts() -> Iterator[tuple[np.ndarray, Columns]]:
        place = part.place
        for columns in part.batches(roles):
            batch_of(columns, roles, place)  # refuses what is wrong with them
            with place.naming():
                yield roles.identities(columns), columns
            place = place.after(len(next(iter(columns.values()))))

    ids, columns = smallest(parts(), _take_rows, _join_columns)
    return ids, {} if columns is None else columns


def places(rows: int) -> list[range]:
    """Runs of rows, spread evenly; all rows if there are few."""
    if rows <= _PLACES * _EACH:
        return [range(rows)]
    starts = [k * (rows - _EACH) // (_PLACES - 1) for k in range(_PLACES)]
    return [range(start, start + _EACH) for start in starts]


def _slices(survey: Survey) -> Iterator[list[tuple[int, int]]]:
    """Rows of every part that are looked at, counted in the part."""
    runs = places(survey.rows)
    for first, rows in zip(survey.firsts, survey.counts, strict=True):
        ends = [(max(run.start - first, 0), min(run.stop - first, rows)) for run in runs]
        yield [(start, stop) for start, stop in ends if start < stop]


def _take(part: Any, slices: list[tuple[int, int]], roles: Roles) -> list[Columns]:
    """Some rows of a part, which are read as far as the last of them; what is wrong with them names the row."""
    found, begin = [], 0
    for columns in part.batches(roles):
        rows = len(next(iter(columns.values())))
        for start, stop in slices:
            low, high = max(start - begin, 0), min(stop - begin, rows)
            if low < high:
                piece = {name: column[low:high] for name, column in columns.items()}
                batch_of(piece, roles, part.place.after(begin + low))  # refuses what is wrong with them
                found.append(piece)
        begin += rows
        if begin >= slices[-1][1]:
            break
    return found


def seconds_and_bytes(case: Case, empty: Sketch, rows: int = 0) -> tuple[float, int]:
    """Return the seconds that a row takes, and the size of a sketch, from adding up some rows twice.

    Of so many rows that they come in large batches, whose rows take less, as many are looked at as such a batch has.
    """
    sketch = empty.empty().updated(case)  # the first time pays for what is made once
    timed = case[np.arange(_OF_A_BATCH) % len(case)] if rows > _MANY and len(case) < _OF_A_BATCH else case
    started = time.perf_counter()
    sketch.updated(timed)
    return (time.perf_counter() - started) / len(timed), len(pickle.dumps(sketch))


def smallest(
    parts: Iterable[tuple[np.ndarray, Any]],
    take: Callable[[Any, np.ndarray], Any],
    join: Callable[[list[Any]], Any],
) -> tuple[np.ndarray, Any]:
    """Rows of the smallest identities among all parts, in their order: the same for any order and any parts.

    Parameters
    ----------
    parts : iterable of (identities, rows)
        Rows in any form.
    take, join : callable
        Some rows by their places, and rows one after the other.

    Returns
    -------
    tuple
        Identities in ascending order, at most 2,048, and their rows; None of no rows. What this gives of some parts may
        be a part again.
    """
    found = np.zeros(0, dtype=np.uint64)
    held: Any = None
    for identities, rows in parts:
        full = len(found) == LOOKED
        places = np.flatnonzero(identities < found[-1]) if full else np.arange(len(identities))
        if len(places):
            some, known = take(rows, places), np.append(found, identities[places])
            order = np.argsort(known, kind="stable")[:LOOKED]
            found, held = known[order], take(some if held is None else join([held, some]), order)
    return found, held


def _take_rows(columns: Columns, places: np.ndarray) -> Columns:
    """Some rows of columns."""
    return {name: column[places] for name, column in columns.items()}


def _join_columns(parts: list[Columns]) -> Columns:
    """Columns one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
