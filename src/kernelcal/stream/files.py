"""Which files are read together: names, globs and folders, in the order of their names."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from kernelcal.errors import InputError
from kernelcal.io import ReadOptions
from kernelcal.io.columns import missing_words
from kernelcal.stream.formats import CsvBlocks, InPieces, Parquet

__all__ = ["find_files", "in_pieces", "is_many", "open_in_pieces", "size_of"]


_DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "tab"}
_PARQUET = (".parquet", ".pq")
_SUFFIXES = (*_PARQUET, *_DELIMITERS)
_GLOB = re.compile(r"[*?\[]")
_READ = "parquet, csv, tsv and txt files are read in parts"
_OTHERS: dict[str, str] = {
    ".gz": f"a compressed text cannot be cut into parts: unpack it, or write parquet; {_READ}",
}


def find_files(given: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Files of names, globs and folders, sorted by name: so they number the rows, in whatever order they are given.

    Raises
    ------
    InputError
        For a name without a file, a folder or glob without one that can be read, a file that is there twice, and a
        mixture of formats.
    """
    found = [path for name in given for path in _of_one(os.fspath(name))]
    _refuse_twice(found)
    if not found:
        raise InputError(f"no files were given: name files, a folder, or a glob such as 'data/*.parquet'; {_READ}")
    kinds = sorted({_suffix(path) for path in found})
    if len({kind in _PARQUET for kind in kinds}) > 1:
        raise InputError(
            f"the files are of several formats ({', '.join(kinds)}), perhaps the same rows twice: give a glob, such as "
            "'data/*.parquet'"
        )
    return sorted(found)


def _refuse_twice(paths: Sequence[str]) -> None:
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise InputError(f"{path}: the file was given twice, and its rows would count twice: give it once")
        seen.add(real)


def _of_one(name: str) -> list[str]:
    path = Path(name)
    if path.is_dir():
        found = [str(p) for p in path.rglob("*") if p.is_file() and _shown(p.relative_to(path)) and in_pieces(str(p))]
    elif path.exists():
        found = [name]
    elif _GLOB.search(name):
        found = [p for p in glob.glob(name, recursive=True) if Path(p).is_file()]
    else:
        raise InputError(f"{name}: there is no such file")
    if not found:
        what = "this is a folder without a file" if path.is_dir() else "no file has such a name"
        raise InputError(f"{name}: {what} that can be read in parts: {_READ}")
    return found


def _shown(path: Path) -> bool:
    """Tell whether no part of the name begins as names of hidden files and of notes of other programs do."""
    return not any(part.startswith((".", "_")) for part in path.parts)


def _suffix(path: str) -> str:
    return Path(path).suffix.lower()


def is_many(name: str | os.PathLike[str]) -> bool:
    """Tell whether a name stands for several files: a folder or a glob."""
    path = Path(name)
    return path.is_dir() or (not path.exists() and bool(_GLOB.search(os.fspath(name))))


def in_pieces(path: str) -> bool:
    """Tell whether a file has a format that can be read in pieces."""
    return _suffix(path) in _SUFFIXES


def size_of(paths: Iterable[str]) -> int:
    """Bytes of files."""
    return sum(os.path.getsize(path) for path in paths)


def open_in_pieces(path: str, options: ReadOptions) -> InPieces:
    """Open one file; a new format is one class, and one line here."""
    suffix = _suffix(path)
    if suffix in _PARQUET:
        return Parquet(path)
    if suffix in _DELIMITERS:
        return CsvBlocks(path, options.delimiter or _DELIMITERS[suffix], missing_words(options))
    why = _OTHERS.get(suffix, f"{suffix or 'this'} is not read in parts: {_READ}")
    raise InputError(f"{path}: {why}")
