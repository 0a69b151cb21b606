"""Files of other programs: Feather and Arrow, spreadsheets, data of R."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.io.libraries.frames import arrow_arrays, is_table, table_columns
from kernelcal.io.sources import Noted, above, column_of

__all__ = ["load_arrow", "load_excel", "load_r"]


def load_arrow(path: Path) -> dict[str, np.ndarray]:
    """Columns of a Feather or Arrow file."""
    try:
        import pyarrow
        import pyarrow.feather
        import pyarrow.ipc
    except ImportError:
        raise MissingExtraError("pyarrow", "frame", "reading feather and arrow files") from None
    try:
        with pyarrow.memory_map(str(path)) as file:
            start = file.read(6)
        if start == b"ARROW1" or path.suffix.lower() == ".feather":
            return arrow_arrays(path, pyarrow.feather.read_table(path, memory_map=False))
        with pyarrow.ipc.open_stream(str(path)) as stream:
            return arrow_arrays(path, stream.read_all())
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read as feather or arrow: {error}") from None


def load_excel(path: Path) -> dict[str, np.ndarray]:
    """Columns of the one sheet of a workbook that has any; its first row holds their names."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("openpyxl", "excel", "reading xlsx files") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheets = {sheet.title: [row for row in sheet.values if any(v is not None for v in row)] for sheet in book}
        book.close()
    except Exception as error:  # a damaged archive makes it fail in any way
        raise InputError(f"{path}: cannot be read as xlsx: {str(error)[:200]}") from None
    sheets = {title: rows for title, rows in sheets.items() if len(rows) > 1}
    if len(sheets) != 1:
        what = "sheets " + ", ".join(sheets) if sheets else "no sheet with a row of names and rows below it"
        raise InputError(
            f"{path}: the workbook has {what}: save the sheet that is meant as a file of its own, such as csv"
        )
    (table,) = sheets.values()
    titles = next((k for k, row in enumerate(table[:_MOST]) if _is_header(row)), 0)
    if any(_filled(row) > 1 for row in table[:titles]):
        titles = 0
    header, *rows = table[titles:]
    kept = [k for k, name in enumerate(header) if name is not None]
    names = [str(header[k]).strip() for k in kept]
    _refuse_doubles(path, names)
    found = Noted(
        (name, _cells([row[k] if k < len(row) else None for row in rows])) for name, k in zip(names, kept, strict=True)
    )
    found.aside = above(titles)
    return found


_MOST = 20  # rows above the names of the columns


def _filled(row: Any) -> int:
    return sum(value is not None for value in row)


def _is_header(row: Any) -> bool:
    """Tell whether a row holds two names or more and nothing else."""
    return _filled(row) > 1 and all(value is None or isinstance(value, str) for value in row)


def _cells(values: list[Any]) -> np.ndarray:
    """Cells as they are: whole numbers, fractions, text, dates as text."""
    return column_of([value.isoformat() if hasattr(value, "isoformat") else value for value in values])


def _refuse_doubles(path: Path, names: list[str]) -> None:
    double = next((name for name, number in Counter(names).items() if number > 1), None)
    if double is not None:
        raise InputError(f"{path}: column {double!r} occurs more than once: columns need distinct names")


def load_r(path: Path) -> dict[str, np.ndarray]:
    """Columns of the one data frame in an rda or rds file, or its vectors of one length."""
    try:
        import rdata
    except ImportError:
        raise MissingExtraError("rdata", "r", "reading rda and rds files") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of attributes that have no meaning here
            found = rdata.read_rds(path) if path.suffix.lower() == ".rds" else rdata.read_rda(path)
    except Exception as error:  # a damaged file makes it fail in any way
        raise InputError(f"{path}: cannot be read as data of R: {str(error)[:200]}") from None
    objects: dict[str, Any] = dict(found) if isinstance(found, Mapping) and not is_table(found) else {"": found}
    frames = {name: table for name, table in objects.items() if is_table(table)}
    if len(frames) > 1:
        raise InputError(
            f"{path}: it holds the data frames {', '.join(map(str, frames))}: save the one that is meant alone"
        )
    if frames:
        return table_columns(next(iter(frames.values())))
    vectors = {str(name): np.asarray(x) for name, x in objects.items() if np.ndim(x) > 0}
    if not vectors:
        raise InputError(f"{path}: it holds no data frame and no vectors")
    return {name: column_of(x.tolist()) if x.dtype.kind == "O" else x for name, x in vectors.items()}
