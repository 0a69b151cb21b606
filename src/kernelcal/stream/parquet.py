"""Parquet: a piece is a row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.io.binary import arrow_arrays
from kernelcal.stream.pieces import HEAD, Columns, InPieces, Piece, rows_of_batch

__all__ = ["Parquet"]

_BUFFER = 2**20  # bytes read at a time: else a whole column of a row group is
_TEXT = ("string", "large_string", "string_view")
_NUMBER = ("int", "uint", "float", "double", "halffloat", "decimal")


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
