"""Text that is read as a stream: csv and tsv, keeping only the columns that are asked for, and json lines."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.sources import Cells, Source, is_number, missing, reads, side_by_side, typed

__all__ = ["Text", "open_text"]


_CHUNK = 4096
_NAMED = {"tab": "\t", "\\t": "\t"}


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open text, gzip or not; what goes wrong while it is read is said with the file and the remedy."""
    try:
        if path.suffix.lower() == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as stream:
                yield stream
        else:
            with open(path, encoding="utf-8-sig", newline="") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: this is not text in UTF-8 (byte {error.object[error.start]:#04x}): save it as UTF-8, or name "
            "it by what it is: npz, npy, parquet"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: cannot be read as gzip, the file is damaged or is no gzip file: {error}") from None


class Text(Source):
    """A header line, then one row a sample."""

    def __init__(self, path: Path, delimiter: str, missing_words: frozenset[str] = frozenset()) -> None:
        self.path, self.delimiter = path, _NAMED.get(delimiter, delimiter)
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise InputError(f"--delimiter must be one character, or the word tab, got {delimiter!r}")
        self._missing = missing_words
        self._cells: dict[str, Cells] = {}
        self._lines_before = 0
        self.names = [name.strip() for name in next(self._records())[1]]
        self._check_header()

    def _check_header(self) -> None:
        if len(self.names) == 1 and any(mark in self.names[0] for mark in ",;\t|"):
            mark = next(mark for mark in ",;\t|" if mark in self.names[0])
            option = "tab" if mark == "\t" else f"'{mark}'"
            raise InputError(
                f"{self.path}: the header is one column, {self.names[0][:60]!r}: say what is between the cells, "
                f"--delimiter {option}"
            )
        doubles = sorted({name for name in self.names if self.names.count(name) > 1})
        if doubles:
            raise InputError(
                f"{self.path}: the header names {doubles[0]!r} more than once: columns need distinct names"
            )
        if all(is_number(name) for name in self.names):
            raise InputError(f"{self.path}: the first line holds only numbers: add a header that names the columns")

    def _open(self) -> AbstractContextManager[TextIO]:
        return open_text(self.path)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line numbers and records, the header first."""
        with self._open() as stream:
            reader = csv.reader(stream, delimiter=self.delimiter)
            empty = True
            try:
                for record in reader:
                    if record:
                        empty = False
                        yield self._lines_before + reader.line_num, record
            except csv.Error as error:
                line = self._lines_before + reader.line_num
                raise InputError(f"{self.path}, line {line}: {error}: is a quote left open?") from None
            if empty:
                raise InputError(f"{self.path}: the file is empty")

    def _columns(self, names: Sequence[str]) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Yield chunks of line numbers and of the named cells."""
        positions, width = [self.names.index(name) for name in names], len(self.names)
        lines: list[int] = []
        cells: list[list[str]] = []
        records = self._records()
        next(records)
        for line, record in records:
            if len(record) != width:
                raise InputError(f"{self.path}, line {line}: {_cells(len(record))}, the header has {width}")
            lines.append(line)
            cells.append(
                [self._read(record[k]) for k in positions] if self._missing else [record[k] for k in positions]
            )
            if len(cells) == _CHUNK:
                yield lines, cells
                lines, cells = [], []
        if cells:
            yield lines, cells

    def _read(self, cell: str) -> str:
        return "" if cell.strip() in self._missing else cell

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Cells of the named columns as numbers."""
        chunks = [self._parse(lines, cells, names) for lines, cells in self._columns(names)]
        return np.concatenate(chunks) if chunks else np.empty((0, len(names)))

    def _parse(self, lines: list[int], cells: list[list[str]], names: Sequence[str]) -> np.ndarray:
        try:
            return np.array(cells, dtype=np.float64)
        except ValueError:
            rows = zip(lines, cells, strict=True)
            return np.array(
                [[self._number(c, line, name) for c, name in zip(row, names, strict=True)] for line, row in rows]
            )

    def _number(self, cell: str, line: int, name: str) -> float:
        if missing(cell):
            return float("nan")
        try:
            return float(cell)
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
        """Cells of one column, as what they are."""
        return typed([row[0].strip() for _, cells in self._columns([name]) for row in cells])

    def first(self, name: str, rows: int) -> np.ndarray:
        """First cells of one column."""
        chunks = islice(self._columns([name]), max(rows // _CHUNK, 1))
        return typed([row[0].strip() for _, cells in chunks for row in cells])


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


@reads(".jsonl", ".ndjson")
def _load_json_lines(path: Path) -> dict[str, np.ndarray]:
    """Columns by name; a name that a line lacks is missing there."""
    columns: dict[str, list[Any]] = {}
    count = 0
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            for name, value in _object(f"{path}, line {number}", line).items():
                columns.setdefault(name, [None] * count).append(value)
            count += 1
            for values in columns.values():
                values.extend([None] * (count - len(values)))
    if count == 0:
        raise InputError(f"{path}: the file is empty")
    return {name: _column(f"{path}, column {name!r}", values) for name, values in columns.items()}


def _object(where: str, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in thousands of brackets
        raise InputError(f"{where}: cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f'{where}: expected an object such as {{"p": 0.3, "y": 1}}, got {line.strip()[:40]!r}')
    return value


def _column(where: str, values: list[Any]) -> np.ndarray:
    if any(isinstance(value, list) for value in values):
        return side_by_side(where, values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
