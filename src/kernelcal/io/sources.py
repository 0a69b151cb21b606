"""A file as named columns: numbers for predictions, any values for targets. A new format is one reader here."""

from __future__ import annotations

import csv
import gzip
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from kernelcal.errors import InputError, MissingExtraError

__all__ = ["Source", "open_source"]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>"})
_CHUNK = 4096


class Source(ABC):
    """Columns of one file (or of a pair of npy files)."""

    names: list[str]

    @abstractmethod
    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Numeric columns side by side, shape (n, k), a missing value as NaN; one wide column keeps its shape."""

    @abstractmethod
    def values(self, name: str) -> np.ndarray:
        """One column as it is: numbers, booleans or text, shape (n,), with None or NaN for missing values."""

    def wide(self, name: str) -> bool:
        """Tell whether a column holds several numbers a row."""
        return False


class _Text(Source):
    """csv and tsv: read as a stream, keeping only the columns that are asked for."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path, self.delimiter = path, delimiter
        self.names = next(self._records())[1]
        self._check_header()

    def _check_header(self) -> None:
        if len(self.names) == 1 and any(mark in self.names[0] for mark in ";\t|"):
            raise InputError(f"{self.path}: the header is one column, {self.names[0][:60]!r}: give --delimiter")
        doubles = sorted({name for name in self.names if self.names.count(name) > 1})
        if doubles:
            raise InputError(
                f"{self.path}: the header names {doubles[0]!r} more than once: columns need distinct names"
            )
        if all(_is_number(name) for name in self.names):
            raise InputError(f"{self.path}: the first line holds only numbers: add a header that names the columns")

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line numbers and records, the header first."""
        with _open_text(self.path) as stream:
            reader = csv.reader(stream, delimiter=self.delimiter)
            empty = True
            for record in reader:
                if record:
                    empty = False
                    yield reader.line_num, record
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
                raise InputError(f"{self.path}, line {line}: {len(record)} cells, the header has {width}")
            lines.append(line)
            cells.append([record[k] for k in positions])
            if len(cells) == _CHUNK:
                yield lines, cells
                lines, cells = [], []
        if cells:
            yield lines, cells

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        chunks = [self._parse(lines, cells, names) for lines, cells in self._columns(names)]
        return np.concatenate(chunks) if chunks else np.empty((0, len(names)))

    def _parse(self, lines: list[int], cells: list[list[str]], names: Sequence[str]) -> np.ndarray:
        try:
            return np.array(cells, dtype=np.float64)
        except ValueError:
            return np.array(
                [
                    [self._number(cell, line, name) for cell, name in zip(row, names, strict=True)]
                    for line, row in zip(lines, cells, strict=True)
                ]
            )

    def _number(self, cell: str, line: int, name: str) -> float:
        text = cell.strip()
        if text.lower() in MISSING:
            return float("nan")
        try:
            return float(text)
        except ValueError:
            hint = "; percentages need plain numbers and --kind percent" if text.endswith("%") else ""
            raise InputError(f"{self.path}, line {line}, column {name!r}: {cell!r} is not a number{hint}") from None

    def values(self, name: str) -> np.ndarray:
        return _typed([row[0].strip() for _, cells in self._columns([name]) for row in cells])


class _Arrays(Source):
    """npz, a pair of npy files, parquet and json lines: columns that are arrays already."""

    def __init__(self, path: Any, columns: dict[str, Any]) -> None:
        self.path, self.columns, self.names = path, columns, list(columns)

    def _array(self, name: str) -> np.ndarray:
        try:
            return np.asarray(self.columns[name])
        except ValueError as error:
            raise InputError(f"{self.path}, column {name!r}: {error}") from None

    def wide(self, name: str) -> bool:
        return self._array(name).ndim == 2

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        arrays = [self._numeric(name) for name in names]
        if len(arrays) == 1:
            return arrays[0] if arrays[0].ndim == 2 else arrays[0][:, None]
        if any(array.ndim != 1 for array in arrays):
            raise InputError(f"{self.path}: {', '.join(names)} are not single columns: name one wide array")
        return np.stack(arrays, axis=1)

    def _numeric(self, name: str) -> np.ndarray:
        array = self._array(name)
        if array.dtype.kind == "O":
            array = np.array([np.nan if value is None else value for value in array])
        if array.dtype.kind not in "fiub" or array.ndim not in (1, 2):
            raise InputError(
                f"{self.path}, column {name!r}: expected numbers with one row a sample, got {array.dtype} of shape "
                f"{array.shape}"
            )
        return array

    def values(self, name: str) -> np.ndarray:
        array = self._array(name)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise InputError(f"{self.path}, column {name!r}: targets need one value a row, got shape {array.shape}")
        return _typed(array.tolist()) if array.dtype.kind == "O" else array


def _typed(values: list[Any]) -> np.ndarray:
    """Numbers where all are numbers, booleans where all are true or false, else text; missing is NaN or None."""
    present = [v for v in values if not _missing(v)]
    lowered = {str(v).lower() for v in present}
    if present and lowered <= {"true", "false"}:
        mapped: list[Any] = [None if _missing(v) else str(v).lower() == "true" for v in values]
        return np.array(mapped, dtype=bool if len(present) == len(values) else object)
    if all(_is_number(v) for v in present):
        numbers = np.array([np.nan if _missing(v) else float(v) for v in values])
        whole = len(present) == len(values) and bool(np.all(numbers == np.round(numbers)))
        return numbers.astype(np.int64) if whole and len(values) else numbers
    return np.array([None if _missing(v) else str(v) for v in values], dtype=object)


def _missing(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and value.strip().lower() in MISSING)


def _is_number(value: Any) -> bool:
    try:
        return np.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _open_text(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def open_source(paths: Sequence[Path], delimiter: str | None = None) -> Source:
    """Open one file, or a pair of npy files, by its suffix.

    Raises
    ------
    InputError
        For a suffix that is not known, for pickles, and for files that cannot be read.
    MissingExtraError
        For parquet without the extra ``frame``.
    """
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
    suffixes = {_suffix(path) for path in paths}
    if suffixes == {".npy"}:
        return _Arrays(" and ".join(map(str, paths)), {_stem(path): _load(path) for path in paths})
    if len(paths) != 1:
        raise InputError(f"{', '.join(map(str, paths))}: only npy files are read together, predictions and targets")
    path, suffix = paths[0], suffixes.pop()
    if suffix in (".csv", ".tsv", ".txt"):
        return _Text(path, delimiter or ("\t" if suffix == ".tsv" else ","))
    if suffix == ".npz":
        archive = _load(path)
        return _Arrays(path, {name: _member(path, archive, name) for name in archive.files})
    if suffix in (".parquet", ".pq"):
        return _Arrays(path, _parquet(path))
    if suffix in (".jsonl", ".ndjson"):
        return _Arrays(path, _json_lines(path))
    raise InputError(f"{path}: {_refusal(suffix)}")


def _suffix(path: Path) -> str:
    return Path(path.stem).suffix.lower() if path.suffix == ".gz" else path.suffix.lower()


def _stem(path: Path) -> str:
    return path.stem.split(".")[-1]


def _refusal(suffix: str) -> str:
    known = "csv, tsv, npz, npy (a pair), parquet, jsonl"
    if suffix in (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".p"):
        return (
            "pickles are not opened, since loading one can run any code. Save the arrays instead: "
            "numpy.savez('predictions.npz', probabilities=p, labels=y)"
        )
    return f"unknown kind of file {suffix!r}: {known} are read"


def _load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except ValueError as error:
        raise InputError(f"{path}: {_refusal('.pkl') if 'pickle' in str(error).lower() else error}") from None
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read as {path.suffix}: {error}") from None


def _member(path: Path, archive: Any, name: str) -> np.ndarray:
    try:
        return archive[name]
    except ValueError as error:
        raise InputError(
            f"{path}, array {name!r}: {_refusal('.pkl') if 'pickle' in str(error).lower() else error}"
        ) from None


def _parquet(path: Path) -> dict[str, Any]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "frame", "reading parquet") from None
    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read as parquet: {error}") from None
    return {name: _arrow_column(table.column(name)) for name in table.column_names}


def _arrow_column(column: Any) -> np.ndarray:
    values = column.to_numpy()
    if values.dtype.kind == "O" and len(values) and isinstance(values[0], np.ndarray):
        return np.stack(list(values))
    return values


def _json_lines(path: Path) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {}
    count = 0
    with _open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            for name, value in _json_object(path, number, line).items():
                columns.setdefault(name, [None] * count).append(value)
            count += 1
            for values in columns.values():
                values.extend([None] * (count - len(values)))
    if count == 0:
        raise InputError(f"{path}: the file is empty")
    return {name: _json_column(path, name, values) for name, values in columns.items()}


def _json_object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {number}: not JSON: {error.msg}") from None
    if not isinstance(value, dict):
        raise InputError(f'{path}, line {number}: expected an object such as {{"p": 0.3, "y": 1}}, got {line[:40]!r}')
    return value


def _json_column(path: Path, name: str, values: list[Any]) -> np.ndarray:
    if not any(isinstance(value, list) for value in values):
        return np.array(values, dtype=object)
    width = len(next(value for value in values if isinstance(value, list)))
    for row, value in enumerate(values):
        if not isinstance(value, list) or len(value) != width:
            raise InputError(f"{path}, row {row}, {name!r}: expected a list of {width} numbers, got {str(value)[:60]}")
    return np.array([[np.nan if cell is None else cell for cell in value] for value in values])
