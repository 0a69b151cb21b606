"""csv and tsv: a piece is a block of whole lines, whose place in the file does not depend on who reads it."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.io.cells import MISSING
from kernelcal.io.text import Text
from kernelcal.stream.lines import Block, blocks_of, header_of
from kernelcal.stream.pieces import HEAD, Columns, InPieces, Piece, rows_of_batch

__all__ = ["CsvBlocks"]

_NULLS = sorted({form for text in MISSING for form in (text, text.upper(), text.title(), "NaN", "Na")})


class CsvBlocks(InPieces):
    """A csv file; cells of a block that Arrow refuses are read as those of a small file, with the same messages."""

    def __init__(self, path: str, delimiter: str, missing: frozenset[str] = frozenset()) -> None:
        try:
            import pyarrow
            import pyarrow.csv
        except ImportError:
            raise MissingExtraError("pyarrow", "frame", "reading csv files in parts") from None
        self._arrow = pyarrow
        self.path = path
        self._missing = missing
        whole = Text(Path(path), delimiter, missing)
        self.names, self._delimiter = whole.names, whole.delimiter
        self._header, self._start, self._lines = header_of(path)
        self._found: list[tuple[Piece, list[Any]]] = []
        self._asked: list[str] = []

    def head(self) -> Columns:
        """First rows of all columns, as text."""
        block = next(iter(blocks_of(self.path, self._start, self._lines)), None)
        if block is None:
            return {name: np.array([], dtype=object) for name in self.names}
        return self._slowly(block.beginning(HEAD), [])

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
        with open(self.path, "rb") as file:
            file.seek(start)
            text = file.read(length)
        self._refuse_change(len(text) == length)
        columns = self._columns(Block(start, line, text), numbers, texts)
        self._refuse_change(len(next(iter(columns.values()))) == piece.rows)
        step = rows_of_batch(len(columns))
        for first in range(0, piece.rows, step):
            yield {name: column[first : first + step] for name, column in columns.items()}

    def _refuse_change(self, same: bool) -> None:
        if not same:
            raise InputError(f"{self.path}: the file has changed since its rows were counted: begin again")

    def _columns(self, block: Block, numbers: Sequence[str], texts: Sequence[str]) -> Columns:
        try:
            table = self._parsed(block, numbers, texts)
        except self._arrow.ArrowInvalid:
            return self._slowly(block, numbers, [*dict.fromkeys([*numbers, *texts])])
        return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}

    def _parsed(self, block: Block, numbers: Sequence[str], texts: Sequence[str]) -> Any:
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

    def _slowly(self, block: Block, numbers: Sequence[str], names: Sequence[str] | None = None) -> Columns:
        """Read a block cell by cell."""
        part = _Part(self, block)
        wanted = self.names if names is None else names
        return {name: part.numbers([name])[:, 0] if name in numbers else _texts(part, name) for name in wanted}


class _Part(Text):
    """The lines of one block below the header of the file."""

    def __init__(self, whole: CsvBlocks, block: Block) -> None:
        self._bytes = whole._header + block.text
        super().__init__(Path(whole.path), whole._delimiter, whole._missing)
        self._lines_before = block.line - whole._header.count(b"\n")

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


def _texts(part: Text, name: str) -> np.ndarray:
    cells = part.cells([name])[0]
    texts = np.empty(len(cells.texts), dtype=object)
    texts[:] = cells.texts
    return texts[cells.numbers]
