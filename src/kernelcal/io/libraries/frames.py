"""Tables in memory as named columns: frames of pandas and polars, lazy ones too, Arrow tables, relations of DuckDB."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.io.sources import column_of

__all__ = ["arrow_arrays", "is_table", "table_columns"]


_KINDS = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch", "RecordBatchReader"),
    "duckdb": ("DuckDBPyRelation",),
    "_duckdb": ("DuckDBPyRelation",),
    "modin": ("DataFrame",),
    "cudf": ("DataFrame",),
}
_OF_DUCKDB = ("to_arrow_table", "fetch_arrow_table", "arrow")


def _library(x: Any) -> str:
    return type(x).__module__.split(".")[0]


def is_table(x: Any) -> bool:
    """Tell whether something is a table with named columns, by the name and the module of its type."""
    return type(x).__name__ in _KINDS.get(_library(x), ())


def table_columns(x: Any) -> dict[str, np.ndarray]:
    """Columns of a table by their names, a missing value as None or NaN; the index of pandas is not used.

    Raises
    ------
    InputError
        For two columns of one name.
    MissingExtraError
        For tables of other libraries than pandas without the extra ``frame``.
    """
    library = _library(x)
    if library in ("pandas", "modin", "cudf"):
        return _of_pandas(x.to_pandas() if library == "cudf" else x)
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "frame", f"reading a table of {library.lstrip('_')}") from None
    return arrow_arrays(type(x).__name__, _in_arrow(x, pyarrow))


def _in_arrow(x: Any, pyarrow: Any) -> Any:
    if _library(x) == "polars":
        return (x.collect() if type(x).__name__ == "LazyFrame" else x).to_arrow()
    if _library(x) in ("duckdb", "_duckdb"):
        x = next(getattr(x, name) for name in _OF_DUCKDB if hasattr(x, name))()
    if hasattr(x, "read_all"):
        x = x.read_all()
    return pyarrow.Table.from_batches([x]) if type(x).__name__ == "RecordBatch" else x


def _of_pandas(frame: Any) -> dict[str, np.ndarray]:
    names = ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    double = next((name for name, number in Counter(names).items() if number > 1), None)
    if double is not None:
        raise InputError(f"DataFrame: column {double!r} occurs more than once: columns need distinct names")
    return {name: _column(frame.iloc[:, k]) for k, name in enumerate(names)}


def _column(series: Any) -> np.ndarray:
    """Values as NumPy has them, else objects with None where one is missing."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "biufM":
        return np.asarray(series.to_numpy())
    values = series.astype(object).where(series.notna(), None).to_numpy()
    if getattr(series.dtype, "kind", "O") in "iuf":  # numbers of which some are missing
        return np.array([np.nan if value is None else float(value) for value in values])
    return column_of(values)


_DEEPEST = 3  # structures in structures


def arrow_arrays(where: Any, table: Any) -> dict[str, np.ndarray]:
    """Columns of an Arrow table, those of structures by both names; `where` names the file in messages."""
    for _ in range(_DEEPEST):
        if any(str(kind).startswith("struct") for kind in table.schema.types):
            table = table.flatten()
    doubles = sorted(name for name, number in Counter(table.column_names).items() if number > 1)
    if doubles:
        raise InputError(f"{where}: column {doubles[0]!r} occurs more than once: columns need distinct names")
    return {name: _of_arrow(table.column(name)) for name in table.column_names}


def _of_arrow(column: Any) -> np.ndarray:
    if str(column.type).startswith("dictionary"):  # to_numpy would give null the last of the values
        chunks = getattr(column, "chunks", [column])
        books = [(chunk.dictionary.to_pylist(), chunk.indices.to_pylist()) for chunk in chunks]
        return column_of([None if k is None else book[k] for book, places in books for k in places])
    values = column.to_numpy()
    lists = values.dtype.kind == "O" and any(isinstance(value, np.ndarray) for value in values)
    if not lists:
        return values
    same = len({getattr(value, "shape", None) for value in values}) == 1
    return np.stack(list(values)) if same and values[0].dtype.kind in "fiub" else column_of(list(values))
