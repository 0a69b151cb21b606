"""Batches of rows as engines give them, as Arrow tables: readers, relations, frames, and lists of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.io import arrow_arrays
from kernelcal.stream.formats import Columns, rows_of_batch

__all__ = ["Batches", "columns_of", "joined_tables", "table_rows"]


_ROWS = 65_536  # that an engine is asked for at a time
_DEEPEST = 3  # structures in structures
_EXPECTED = (
    "expected an iterable of Arrow record batches, tables or data frames, a reader of them, a relation of DuckDB, a "
    "frame of polars, or a function that returns one of these"
)


@dataclass(frozen=True, eq=False)
class Batches:
    """Batches of rows that can be gone through, once or again and again.

    Attributes
    ----------
    start : callable
        Begins to go through Arrow tables.
    again : bool
        Whether it may begin more than once.
    name : str
        What was given, in words.
    """

    start: Callable[[], Iterator[Any]]
    again: bool
    name: str

    @classmethod
    def of(cls, given: Any) -> Batches:
        """Recognise what was given, by what it can do; nothing is read."""
        _arrow()
        name = type(given).__name__
        if isinstance(given, Batches):
            return given
        if name == "LazyFrame":
            return cls(lambda: _of_lazy(given), True, "a lazy frame of polars")
        if type(given).__name__ == "DuckDBPyRelation":
            return cls(lambda: map(_table, _reader(given)), True, "a relation of DuckDB")
        if _is_table(given):
            once = type(given).__name__ == "RecordBatchReader"
            return cls(lambda: _tables_in(given), not once, f"a {name}")
        if callable(given):
            return cls(lambda: cls.of(given()).start(), True, "batches")
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            raise InputError(f"{_EXPECTED}; got {name}. Files are read by evaluate_files")
        return cls(lambda: map(_table, given), not isinstance(given, Iterator), "batches")

    def held(self, rows: int) -> tuple[list[Any], Batches]:
        """First tables, with at least so many rows if there are, and what begins with them again."""
        tables, first, found = self.start(), [], 0
        for table in tables:
            first.append(table)
            found += table.num_rows
            if found >= rows:
                break
        if self.again:
            return first, self
        return first, Batches(lambda: chain(first, tables), False, self.name)


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "frame", "reading batches of rows") from None
    return pyarrow


def _is_table(given: Any) -> bool:
    return any(hasattr(given, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__"))


def _reader(relation: Any) -> Any:
    """Batches of a relation, by the name that this version of DuckDB has for them."""
    name = next(
        name for name in ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch") if hasattr(relation, name)
    )
    return getattr(relation, name)(_ROWS)


def _of_lazy(frame: Any) -> Iterator[Any]:
    """Batches of a lazy frame; versions of polars that have none give the whole, made by their streaming engine."""
    batches = getattr(frame, "collect_batches", None)
    return map(_table, [frame.collect(engine="streaming")] if batches is None else batches(chunk_size=_ROWS))


def _tables_in(given: Any) -> Iterator[Any]:
    """Tables of one thing that holds several batches, or is one."""
    arrow = _arrow()
    if type(given).__module__.split(".")[0] == "pandas" or not hasattr(given, "__arrow_c_stream__"):
        yield _table(given)
        return
    try:
        batches = arrow.RecordBatchReader.from_stream(given)
    except (TypeError, ValueError, arrow.ArrowException) as error:
        raise InputError(
            f"a {type(given).__name__} gives no stream of Arrow, or gave it once ({' '.join(str(error).split())[:99]}):"
            " pass a function that returns it anew"
        ) from None
    yield from map(_table, batches)


def _table(batch: Any) -> Any:
    """One batch as a table of Arrow, columns of structures by both names."""
    arrow = _arrow()
    try:
        if isinstance(batch, arrow.Table):
            table = batch
        elif isinstance(batch, arrow.RecordBatch):
            table = arrow.Table.from_batches([batch])
        elif type(batch).__module__.split(".")[0] == "pandas":
            table = arrow.Table.from_pandas(batch, preserve_index=False)
        elif hasattr(batch, "__arrow_c_stream__") or hasattr(batch, "__arrow_c_array__") or isinstance(batch, Mapping):
            table = arrow.table(batch)
        else:
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(batch)
    except (TypeError, ValueError) as error:
        raise InputError(f"{_EXPECTED}; a batch is of type {type(batch).__name__} ({error})") from None
    for _ in range(_DEEPEST):
        if any(str(kind).startswith("struct") for kind in table.schema.types):
            table = table.flatten()
    return table.cast(_usual(table.schema)) if any("_view" in str(kind) for kind in table.schema.types) else table


def _usual(schema: Any) -> Any:
    """A schema in which text that is held as views, which cannot be taken row by row, is held as usual."""
    arrow = _arrow()
    usual = {"string_view": arrow.large_string(), "binary_view": arrow.large_binary()}
    return arrow.schema([field.with_type(usual.get(str(field.type), field.type)) for field in schema])


def joined_tables(tables: list[Any]) -> Any:
    """Tables one after the other; numbers of some batches may be narrower than those of others."""
    arrow = _arrow()
    try:
        return arrow.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    except arrow.ArrowException as error:
        raise InputError(f"batches do not fit together: {' '.join(str(error).split())[:200]}") from None


def columns_of(table: Any, names: list[str], where: str) -> Columns:
    """Some columns of a table as NumPy has them."""
    missing = next((name for name in names if name not in table.column_names), None)
    if missing is not None:
        raise InputError(f"{where} has no column {missing!r}, which the rows that were looked at first have")
    return arrow_arrays(where, table.select(names))


def table_rows(table: Any, names: list[str], where: str) -> Iterator[Columns]:
    """Columns of a table, some rows at a time."""
    step = rows_of_batch(len(names))
    for first in range(0, table.num_rows, step):
        yield columns_of(table.slice(first, step), names, where)
