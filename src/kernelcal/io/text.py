"""Tables of text, read as a stream: csv, tsv and their kin, keeping only the columns that are asked for."""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.sources import Cells, Source, above, is_number, missing, typed

__all__ = ["Text", "open_text"]


_CHUNK = 4096
_KEPT = (2**19, 2**24)  # cells and characters, some 60 MB; smaller tables are split into cells once
_LOOKED_AT = 20  # lines by which it is told what is between cells
_COMMA = re.compile(r"[+-]?\d*,\d+(?:e[+-]?\d+)?%?", re.IGNORECASE)
_NAMED = {"tab": "\t", "\\t": "\t"}


_PACKED = {".gz": ("gzip", "gzip"), ".bz2": ("bz2", "bzip2"), ".xz": ("lzma", "xz")}  # modules, and what they open


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open text, packed or not; what goes wrong while it is read is said with the file and the remedy."""
    module, kind = _PACKED.get(path.suffix.lower(), ("", ""))
    library = import_module(module) if module else None
    damaged: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
    damaged += (OSError,) if module == "bz2" else (getattr(library, "LZMAError", EOFError),)
    try:
        if library is not None:
            with library.open(path, "rt", encoding="utf-8-sig", newline="") as stream:
                yield stream
        else:
            with open(path, encoding="utf-8-sig", newline="") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: this is not text in UTF-8 (byte {error.object[error.start]:#04x}): save it as UTF-8, or name "
            "it by what it is: npz, npy, parquet"
        ) from None
    except damaged as error:
        raise InputError(
            f"{path}: cannot be read as {kind}, the file is damaged or is no {kind} file: {error}"
        ) from None


class Text(Source):
    """A header line, then one row a sample.

    Attributes
    ----------
    signs : bool
        Whether numbers may have a percent sign.
    """

    signs = True

    def __init__(
        self,
        path: Path,
        delimiter: str,
        missing_words: frozenset[str] = frozenset(),
        *,
        said: bool = True,
        name: Any = None,
    ) -> None:
        self.path, self.delimiter = name or path, _NAMED.get(delimiter, delimiter)
        self._file = path
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise InputError(f"--delimiter must be one character, or the word tab, got {delimiter!r}")
        self._missing = missing_words
        self._cells: dict[str, Cells] = {}
        self._values: dict[str, np.ndarray] = {}
        self._plain: dict[str, int] = {}
        self._split: list[tuple[int, list[str]]] | None = None  # the records of a small table, once all were read
        self._small = True  # until more was seen
        self.percent = {}
        self._lines_before, self.skipped = 0, 0
        beginning = self._first_lines()
        lines = [line.strip("\r\n").strip(" ") for line in beginning]
        if lines:
            self.skipped = _lines_above(lines, self.delimiter)
            self.aside = above(sum(bool(line) for line in lines[: self.skipped]))
            self._lines_before = self.skipped
            if not said:
                self.delimiter = self._told_delimiter(lines[self.skipped :])
        self.headless = False
        self.names = self._header()
        self._check_header()
        self._lists = self._columns_of_lists(beginning[self.skipped :])

    def _first_lines(self) -> list[str]:
        with self._open() as stream:
            return list(islice(stream, _LOOKED_AT))

    def _header(self) -> list[str]:
        """Names in the first line, without the mark of a comment; numbers in their place where it holds only these."""
        names = [name.strip() for name in next(self._records())[1]]
        if names[0].startswith("#"):  # the mark of a comment, which may be a cell of its own
            names[0] = names[0].removeprefix("#").strip()
            names = names[1:] if not names[0] and len(names) > 1 else names
        cells = [name.replace(",", ".") for name in names] if self.delimiter == ";" else names
        self.headless = len(names) > 1 and all(map(is_number, cells))
        return [str(k) for k in range(1, len(names) + 1)] if self.headless else names

    def _told_delimiter(self, lines: Sequence[str]) -> str:
        """What is between the cells of the first lines, as many in each: what the suffix says, else another sign."""
        lines = [line for line in (line.removeprefix("#").strip(" ") for line in lines) if line]
        if lines and all(_of_decimal_commas(line) for line in lines):
            return ";"
        if lines and self.delimiter in lines[0]:
            return self.delimiter
        for mark in dict.fromkeys((self.delimiter, ",", "\t", ";", "|", " ")):
            widths = {len(next(csv.reader([line], delimiter=mark, skipinitialspace=mark == " "), [])) for line in lines}
            if len(widths) == 1 and max(widths) > 1:
                return mark
        return self.delimiter

    def _check_header(self) -> None:
        if len(self.names) == 1 and any(mark in self.names[0] for mark in ",;\t|"):
            mark = next(mark for mark in ",;\t|" if mark in self.names[0])
            option = "tab" if mark == "\t" else f"'{mark}'"
            raise InputError(
                f"{self.path}: the header is one column, {self.names[0][:60]!r}: say what is between the cells, "
                f"--delimiter {option}"
            )
        doubles = sorted(name for name, number in Counter(self.names).items() if number > 1)
        if doubles:
            raise InputError(
                f"{self.path}: the header names {doubles[0]!r} more than once: columns need distinct names (of a frame "
                "whose names have levels write frame.columns = ['_'.join(map(str, name)) for name in frame.columns])"
            )

    def _open(self) -> AbstractContextManager[TextIO]:
        return open_text(self._file)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line numbers and records, the header first."""
        if self._split is not None:
            yield from self._split
            return
        kept, cells, characters = [], 0, 0
        for line, record in self._read_records():
            yield line, record
            if self._small:
                kept.append((line, record))
                cells, characters = cells + len(record), characters + sum(map(len, record))
                if cells > _KEPT[0] or characters > _KEPT[1]:
                    self._small, kept = False, []
        if self._small:
            self._split = kept

    def _read_records(self) -> Iterator[tuple[int, list[str]]]:
        with self._open() as stream:
            for _ in range(self.skipped):
                next(stream)
            reader = csv.reader(stream, delimiter=self.delimiter, strict=True, skipinitialspace=self.delimiter == " ")
            empty, before = True, 0
            try:
                for record in reader:
                    if record:
                        empty = False
                        yield self._lines_before + reader.line_num, record
                    before = reader.line_num
            except csv.Error as error:
                line = self._lines_before + before + 1
                raise InputError(
                    f"{self.path}, line {line}: {error}: is a quote left open? Close it where its cell ends, or leave "
                    "it out"
                ) from None
            if empty:
                self._refuse_empty()

    def _refuse_empty(self) -> None:
        raise InputError(f"{self.path}: the file is empty")

    def _columns(self, names: Sequence[str]) -> Iterator[tuple[list[int], list[Sequence[str]]]]:
        """Yield chunks of line numbers and of the named cells."""
        place = {name: k for k, name in enumerate(self.names)}
        positions, width = [place[name] for name in names], len(self.names)
        choose = itemgetter(*positions) if len(positions) > 1 else None  # in half of the time
        lines: list[int] = []
        cells: list[Sequence[str]] = []
        records = self._records()
        if not self.headless:
            next(records)
        as_is = not self._missing and self.delimiter != ";"
        for line, record in records:
            if len(record) != width:
                raise InputError(f"{self.path}, line {line}: {_cells(len(record))}, the header has {width}")
            lines.append(line)
            chosen = [record[k] for k in positions] if choose is None else choose(record)
            cells.append(chosen if as_is else list(map(self._read, chosen)))
            if len(cells) == _CHUNK:
                yield lines, cells
                lines, cells = [], []
        if cells:
            yield lines, cells

    def _read(self, cell: str) -> str:
        """Cell without a word for a missing value; between semicolons a decimal comma is a point."""
        if cell.strip() in self._missing:
            return ""
        return cell.replace(",", ".") if self.delimiter == ";" and _COMMA.fullmatch(cell.strip()) else cell

    def _columns_of_lists(self, beginning: Sequence[str]) -> dict[str, int]:
        """Columns whose cells are lists, as frames write them, with the numbers in one: ``[0.2, 0.8]``."""
        found: dict[str, int] = {}
        if not any(mark in line for line in beginning for mark in "[("):
            return found
        records = _records_of(beginning, self.delimiter)[0 if self.headless else 1 :]
        rows = [record for record in records if len(record) == len(self.names)]
        for name, cells in zip(self.names, zip(*rows, strict=True), strict=False):
            widths = {len(_listed(cell)) for cell in cells}
            if len(widths) == 1 and max(widths) > 1:
                found[name] = widths.pop()
        return found

    def axes(self, name: str) -> int:
        """Number of axes of a column: 2 where its cells are lists."""
        return 2 if name in self._lists else 1

    def wide(self, name: str) -> bool:
        """Tell whether the cells of a column are lists."""
        return name in self._lists

    def array(self, name: str) -> np.ndarray:
        """One column of numbers, or of lists of numbers."""
        found = self.numbers([name])
        return found if name in self._lists else found[:, 0]

    def _rows_of_lists(self, name: str) -> np.ndarray:
        rows, width = [], self._lists[name]
        for lines, cells in self._columns([name]):
            for line, (cell,) in zip(lines, cells, strict=True):
                numbers = [math.nan] * width if missing(cell) else _listed(cell)
                if len(numbers) != width:
                    raise InputError(
                        f"{self.path}, line {line}, column {name!r}: expected a list of {width} numbers as in the "
                        f"lines before, got {cell[:60]!r}"
                    )
                rows.append(numbers)
        return np.array(rows, dtype=np.float64)

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Cells of the named columns as numbers."""
        if len(names) == 1 and names[0] in self._lists:
            return self._rows_of_lists(names[0])
        chunks = [self._parse(lines, cells, names) for lines, cells in self._columns(names)]
        mixed = next((name for name in names if name in self._plain and name in self.percent), None)
        if mixed is not None:
            raise InputError(
                f"{self.path}, column {mixed!r}: cells with and without a percent sign: write all of them alike (line "
                f"{self.percent[mixed]} has one, line {self._plain[mixed]} has none)"
            )
        return np.concatenate(chunks) if chunks else np.empty((0, len(names)))

    def _parse(self, lines: list[int], cells: list[Sequence[str]], names: Sequence[str]) -> np.ndarray:
        try:
            if "_" in "".join(map("".join, cells)):  # Python's 0.2_5 is text, as in every other tool
                raise ValueError
            found = np.array(cells, dtype=np.float64)
            self._plain |= dict.fromkeys(names, lines[0])
            return found
        except ValueError:
            rows = zip(lines, cells, strict=True)
            return np.array(
                [[self._number(c, line, name) for c, name in zip(row, names, strict=True)] for line, row in rows]
            )

    def _number(self, cell: str, line: int, name: str) -> float:
        if missing(cell):
            return float("nan")
        signed = self.signs and cell.rstrip().endswith("%")
        try:
            if "_" in cell:
                raise ValueError
            number = float(cell.rstrip()[:-1] if signed else cell)
            (self.percent if signed else self._plain).setdefault(name, line)
            return number
        except ValueError:
            raise InputError(
                f"{self.path}, line {line}, column {name!r}: {cell[:60]!r} is not a number{_hint(cell.strip())}"
            ) from None

    def cells(self, names: Sequence[str]) -> list[Cells]:
        """Cells of some columns as they are written; what was asked for before is not read again."""
        new = [name for name in dict.fromkeys(names) if name not in self._cells]
        columns = [Cells() for _ in new]
        for _, rows in self._columns(new) if new else ():
            for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
                column.add(cell.strip() for cell in cells)
        self._cells.update(zip(new, columns, strict=True))
        return [self._cells[name] for name in names]

    def values(self, name: str) -> np.ndarray:
        """Cells of one column, as what they are; numbers are asked for several times, and read once."""
        if name not in self._values:
            found = typed([row[0].strip() for _, cells in self._columns([name]) for row in cells])
            if found.dtype.kind == "O":
                return found
            self._values[name] = found
        return self._values[name].copy()

    def first(self, name: str, rows: int) -> np.ndarray:
        """First cells of one column."""
        chunks = islice(self._columns([name]), max(rows // _CHUNK, 1))
        return typed([row[0].strip() for _, cells in chunks for row in cells])


_MARKS = (",", "\t", ";", "|")
_FEWEST = 3  # lines of one width below lines that have none


def _lines_above(lines: Sequence[str], delimiter: str) -> int:
    """How many lines above the header are notes, which begin with #, or titles, which fill one cell."""
    first = next((k for k, line in enumerate(lines) if line and not line.startswith("#")), 0)
    notes = [k for k in range(first) if lines[k]]
    if notes:
        last = lines[notes[-1]].removeprefix("#").strip()
        below = lines[first]
        names = any(_width(last, mark) == _width(below, mark) > 1 for mark in (delimiter, *_MARKS, " "))
        return notes[-1] if names else first
    there = [line for line in lines if line]
    if any(_is_whole(there, mark) for mark in (delimiter, *_MARKS)):
        return 0
    return next((k for mark in (delimiter, *_MARKS) for k in [_titles(lines, mark)] if k), 0)


def _is_whole(lines: Sequence[str], mark: str) -> bool:
    """Tell whether all lines have as many cells, and the first more than one that is not empty."""
    rows = [next(iter(_records_of([line], mark)), []) for line in lines]
    return bool(rows) and len({len(row) for row in rows}) == 1 and sum(map(bool, rows[0])) > 1


def _titles(lines: Sequence[str], mark: str) -> int:
    """How many lines fill one cell at most, above a line of names and others with as many cells."""
    rows = [next(iter(_records_of([line], mark)), []) for line in lines]
    widths = [len(row) for row in rows if row]
    if len(widths) < _FEWEST + 1 or widths[-1] < _FEWEST - 1:
        return 0
    titles = next((k for k, row in enumerate(rows) if sum(map(bool, row)) > 1), 0)
    if any(any(row[1:]) for row in rows[:titles]):
        return 0
    below = [row for row in rows[titles:] if row]
    alike = len(below) >= _FEWEST and {len(row) for row in below} == {widths[-1]}
    names = alike and all(below[0][1:]) and not any(is_number(cell) for cell in below[0])
    return titles if names else 0


def _of_decimal_commas(line: str) -> bool:
    """Tell whether a line holds numbers alone, with semicolons between them and a comma in one: ``0,3;1``."""
    cells = line.split(";")
    return len(cells) > 1 and "," in line and all(is_number(cell.strip().replace(",", ".", 1)) for cell in cells)


def _width(line: str, mark: str) -> int:
    return len(next(iter(_records_of([line], mark)), []))


def _records_of(lines: Sequence[str], mark: str) -> list[list[str]]:
    """Records of some lines; none where they are not in csv, which is said where all are read."""
    try:
        return list(csv.reader(lines, delimiter=mark, skipinitialspace=mark == " "))
    except csv.Error:
        return []


def _listed(cell: str) -> list[float]:
    """Numbers of a list in a cell; empty of other cells."""
    inner = cell.strip()
    if inner[:1] + inner[-1:] not in ("[]", "()"):
        return []
    parts = [part for part in re.split(r"[,\s]+", inner[1:-1].strip()) if part]
    return [float(part) for part in parts] if all(is_number(part) for part in parts) else []


def _cells(number: int) -> str:
    return "1 cell" if number == 1 else f"{number} cells"


def _hint(text: str) -> str:
    if text.replace("_", "").replace(" ", "").isalpha():
        return "; a word for a missing value? Say --missing WORD with --drop-missing to leave such rows out"
    if text.endswith("%"):
        return "; write percentages as plain numbers and say --kind percent"
    if "," in text and is_number(text.replace(",", ".")):
        return "; write the decimal comma as a point"
    return ""
