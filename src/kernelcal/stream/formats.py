"""Files that are read in pieces: what every format gives, row groups of Parquet, blocks of lines of csv."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.io import MISSING, Text, arrow_arrays, is_number, missing, typed
from kernelcal.stream.lines import LineBlock, Lines, blocks_of, start_of

__all__ = [
    "BATCH_BYTES",
    "HEAD",
    "Columns",
    "CsvBlocks",
    "InPieces",
    "Parquet",
    "Piece",
    "rows_of_batch",
]


Columns = dict[str, np.ndarray]
BATCH_BYTES = 2**24  # of the numbers of one batch
HEAD = 1_000  # first rows, by which columns are recognised
_FEWEST, _MOST = 1_024, 65_536  # rows of a batch


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of one file that can be read without the others.

    Attributes
    ----------
    name : str
        What a message calls it; empty where rows say enough.
    begin, rows : int
        First row, counted in the file from 0, and number of rows.
    place : tuple of int
        Where the format finds it.
    """

    name: str
    begin: int
    rows: int
    place: tuple[int, ...]


class InPieces(ABC):
    """One file.

    Attributes
    ----------
    path : str
        As it was given.
    names : list of str
        Its columns.
    aside : str
        What is said of lines above the header.
    """

    path: str
    names: list[str]
    aside = ""

    @property
    def percent(self) -> Mapping[str, int]:
        """Columns whose numbers have a percent sign, and a line that has one."""
        return {}

    @abstractmethod
    def head(self) -> Columns:
        """First rows of all columns."""

    @abstractmethod
    def kind(self, name: str) -> str:
        """Kind of a column that all files must share, such as text or number."""

    @abstractmethod
    def pieces(self) -> list[Piece]:
        """All pieces, in order."""

    @abstractmethod
    def texts(self, names: Sequence[str]) -> Iterator[list[Any]]:
        """Different values of some columns, piece by piece."""

    @abstractmethod
    def read(self, piece: Piece, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Columns]:
        """Batches of a piece, in order: columns of numbers and columns of labels."""


def rows_of_batch(width: int) -> int:
    """Rows of a batch of so many numbers a row."""
    return max(_FEWEST, min(_MOST, BATCH_BYTES // (8 * max(width, 1))))


_BUFFER = 2**20  # bytes read at a time: else a whole column of a row group is

_TEXT = ("string", "large_string", "string_view")

_NUMBER = ("int", "uint", "float", "double", "halffloat", "decimal")

_NULLS = sorted({form for text in MISSING for form in (text, text.upper(), text.title(), "NaN", "Na")})


class Parquet(InPieces):
    """A Parquet file, of which the footer is read at once and the rest when it is asked for."""

    def __init__(self, path: str) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            raise MissingExtraError("pyarrow", "frame", "reading parquet") from None
        self.path, self._errors = path, (pyarrow.ArrowException, OSError)
        self._library, self._table = pyarrow.parquet, pyarrow.Table
        with self._reading("the end of the file"), self._open() as file:
            self._schema, self._footer = file.schema_arrow, file.metadata
        self.names = self._schema.names
        arrow_arrays(path, self._schema.empty_table())  # refuses columns of one name

    def _open(self) -> Any:
        """Open the file, for as short a time as can be: there may be more of them than a process may open."""
        return self._library.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False)

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise InputError(f"{self.path}: there is no such file") from None
        except self._errors as error:
            raise InputError(
                f"{self.path}, {what}: cannot be read as parquet, the file is damaged or not copied as a whole "
                f"({' '.join(str(error).split())[:200]}): copy or write it again"
            ) from None

    def head(self) -> Columns:
        """First rows of all columns."""
        piece = next((piece for piece in self.pieces() if piece.rows), None)
        if piece is None:
            return arrow_arrays(self.path, self._schema.empty_table())
        batch = next(self._batches(piece, None, HEAD))
        return arrow_arrays(self.path, self._table.from_batches([batch]))

    def kind(self, name: str) -> str:
        """Text, number, or the type that Arrow gives."""
        kind = self._schema.field(name).type
        said = str(getattr(kind, "value_type", kind)) if str(kind).startswith("dictionary") else str(kind)
        if said in _TEXT:
            return "text"
        return "number" if said.startswith(_NUMBER) else said

    def pieces(self) -> list[Piece]:
        """Row groups; the footer says how many rows they have."""
        rows = [self._footer.row_group(k).num_rows for k in range(self._footer.num_row_groups)]
        begins = accumulate(rows, initial=0)
        return [Piece(f"row group {k}", begin, n, (k,)) for k, (begin, n) in enumerate(zip(begins, rows, strict=False))]

    def texts(self, names: Sequence[str]) -> Iterator[list[Any]]:
        """Different values of the columns that are text; other types know what they are."""
        wanted = [name for name in names if self.kind(name) == "text"]
        for piece in self.pieces() if wanted else ():
            for batch in self._batches(piece, wanted, rows_of_batch(len(wanted))):
                yield [text for column in batch.columns for text in column.unique().to_pylist()]

    def read(self, piece: Piece, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Columns]:
        """Batches of a row group; lists of numbers count by their length in the first rows."""
        columns = [*dict.fromkeys([*numbers, *texts])]
        for batch in self._batches(piece, columns, rows_of_batch(self._width(columns))):
            yield arrow_arrays(f"{self.path}, {piece.name}", self._table.from_batches([batch]))

    def _batches(self, piece: Piece, columns: list[str] | None, rows: int) -> Iterator[Any]:
        with self._reading(piece.name), self._open() as file:
            yield from file.iter_batches(rows, row_groups=list(piece.place), columns=columns, use_threads=False)

    def _width(self, columns: list[str]) -> int:
        """Numbers of a row, from the numbers of values that the footer counts."""
        if not self._footer.num_rows or not self._footer.num_row_groups:
            return len(columns)
        group = self._footer.row_group(0)
        wanted = [group.column(k) for k in range(group.num_columns)]
        values = sum(c.num_values for c in wanted if c.path_in_schema.split(".")[0] in columns)
        return max(len(columns), values // max(group.num_rows, 1))


class CsvBlocks(InPieces):
    """A csv file; cells of a block that Arrow refuses are read as those of a small file, with the same messages."""

    def __init__(self, path: str, delimiter: str, missing: frozenset[str] = frozenset(), *, said: bool = True) -> None:
        try:
            import pyarrow
            import pyarrow.csv
        except ImportError:
            raise MissingExtraError("pyarrow", "frame", "reading csv files in parts") from None
        self._arrow = pyarrow
        self.path = path
        self._missing = missing
        whole = Text(Path(path), delimiter, missing, said=said)
        lists = next((name for name in whole.names if whole.wide(name)), None)
        if lists is not None:
            raise InputError(
                f"{path}: the cells of column {lists!r} are lists, which are not read in parts: write a column a "
                "number, or parquet; or read the file at once with a larger --memory"
            )
        self.names, self._delimiter, self.aside = whole.names, whole.delimiter, whole.aside
        self._start, self._lines = start_of(path, whole.skipped, headless=whole.headless)
        self._found: list[tuple[Piece, list[Any]]] = []
        self._asked: list[str] = []
        self._percent: dict[str, int] | None = None

    def head(self) -> Columns:
        """First rows of all columns, as what their cells are."""
        block = next(iter(blocks_of(self.path, self._start, self._lines)), None)
        if block is None:
            return {name: np.array([], dtype=object) for name in self.names}
        found = self._slowly(block.beginning(HEAD), [*self.percent])
        return {name: column if name in self.percent else typed(column.tolist()) for name, column in found.items()}

    @property
    def percent(self) -> Mapping[str, int]:
        """Columns whose first cells all have a percent sign, and a line that has one."""
        if self._percent is None:
            self._percent = self._with_signs()
        return self._percent

    def _with_signs(self) -> dict[str, int]:
        block = next(iter(blocks_of(self.path, self._start, self._lines)), None)
        if block is None or b"%" not in block.text:
            return {}
        columns = self._slowly(block.beginning(HEAD), [], signs=False)
        return {name: block.line + 1 for name, column in columns.items() if _in_percent(column)}

    def kind(self, name: str) -> str:
        """Cells have no type."""
        return "cells"

    def pieces(self) -> list[Piece]:
        """Blocks, whose rows are counted in a first pass."""
        return [piece for piece, _ in self._scanned([])]

    def texts(self, names: Sequence[str]) -> Iterator[list[Any]]:
        """Different cells of some columns."""
        for _, texts in self._scanned(list(names)):
            yield texts

    def _scanned(self, names: list[str]) -> list[tuple[Piece, list[Any]]]:
        """One pass over the file counts rows and collects cells; it is not made again for what it has found."""
        if not self._found or not set(names) <= set(self._asked):
            self._asked, self._found, begin = names, [], 0
            for block in blocks_of(self.path, self._start, self._lines):
                columns = self._columns(block, [], names or self.names[:1])
                rows = len(next(iter(columns.values())))
                texts = [text for name in names for text in set(columns[name].tolist())]
                self._found.append((Piece("", begin, rows, (block.start, len(block.text), block.line)), texts))
                begin += rows
        return self._found

    def read(self, piece: Piece, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Columns]:
        """Batches of a block."""
        start, length, line = piece.place
        with Lines(self.path) as file:
            file.seek(start)
            text = file.read(length)
        self._refuse_change(len(text) == length)
        columns = self._columns(LineBlock(start, line, text), numbers, texts)
        self._refuse_change(len(next(iter(columns.values()))) == piece.rows)
        step = rows_of_batch(len(columns))
        for first in range(0, piece.rows, step):
            yield {name: column[first : first + step] for name, column in columns.items()}

    def _refuse_change(self, same: bool) -> None:
        if not same:
            raise InputError(f"{self.path}: the file has changed since its rows were counted: begin again")

    def _columns(self, block: LineBlock, numbers: Sequence[str], texts: Sequence[str]) -> Columns:
        if any(name in self.percent for name in numbers):
            return self._slowly(block, numbers, [*dict.fromkeys([*numbers, *texts])])
        try:
            table = self._parsed(block, numbers, texts)
        except self._arrow.ArrowInvalid:
            return self._slowly(block, numbers, [*dict.fromkeys([*numbers, *texts])])
        return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}

    def _parsed(self, block: LineBlock, numbers: Sequence[str], texts: Sequence[str]) -> Any:
        """Parse a block with Arrow."""
        arrow, csv = self._arrow, self._arrow.csv
        nulls = [*_NULLS, *sorted(self._missing)]
        kinds = {**dict.fromkeys(texts, arrow.string()), **dict.fromkeys(numbers, arrow.float64())}
        return csv.read_csv(
            arrow.BufferReader(block.text),
            csv.ReadOptions(column_names=self.names, use_threads=False, block_size=len(block.text) + 1),
            csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=b'"' in block.text),
            csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds),
                null_values=nulls,
                strings_can_be_null=True,
            ),
        )

    def _slowly(
        self, block: LineBlock, numbers: Sequence[str], names: Sequence[str] | None = None, *, signs: bool = True
    ) -> Columns:
        """Read a block cell by cell; a column with percent signs in its first cells has them in all."""
        part = _Part(self, block)
        found = {}
        for name in self.names if names is None else names:
            part.signs = signs and name in self.percent
            found[name] = part.numbers([name])[:, 0] if name in numbers else _texts(part, name)
            if part.signs and name in numbers and name not in part.percent and np.isfinite(found[name]).any():
                raise InputError(
                    f"{self.path}, column {name!r}: cells with a percent sign (line {self.percent[name]}) and without "
                    f"one (after line {block.line}): write all of them alike"
                )
        return found


class _Part(Text):
    """The lines of one block, whose names are those of the file."""

    signs = False  # what a block is read for is decided before

    def _first_lines(self) -> list[str]:
        return []  # what stands above the header, and what is in cells, is known of the file

    def __init__(self, whole: CsvBlocks, block: LineBlock) -> None:
        self._bytes, self._of_file = block.text, whole.names
        super().__init__(Path(whole.path), whole._delimiter, whole._missing)
        self._lines_before = block.line

    def _header(self) -> list[str]:
        self.headless = True
        return self._of_file

    def _refuse_empty(self) -> None:
        """Blank lines may fill a block."""

    def _open(self) -> AbstractContextManager[TextIO]:
        return self._decoded()

    @contextmanager
    def _decoded(self) -> Iterator[TextIO]:
        try:
            yield io.StringIO(self._bytes.decode("utf-8"), newline="")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.path}: this is not text in UTF-8 (byte {error.object[error.start]:#04x}): save it as UTF-8"
            ) from None


def _in_percent(column: np.ndarray) -> bool:
    """Tell whether all cells that are not missing are numbers with a percent sign."""
    there = [cell.strip() for cell in column.tolist() if not missing(cell)]
    return bool(there) and all(cell.endswith("%") and is_number(cell[:-1].replace(",", ".")) for cell in there)


def _texts(part: Text, name: str) -> np.ndarray:
    cells = part.cells([name])[0]
    texts = np.empty(len(cells.texts), dtype=object)
    texts[:] = cells.texts
    return texts[cells.numbers]
