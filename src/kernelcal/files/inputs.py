"""Files that are given: what a name, a folder or a glob stands for, what is read in parts, and how large that is."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from kernelcal.errors import InputError

__all__ = [
    "DELIMITERS",
    "PARQUET",
    "READ_IN_PARTS",
    "find_files",
    "in_pieces",
    "is_many",
    "size_in_words",
    "size_of",
    "suffix_of",
    "why_too_large",
]


_AT_ONCE = 2**28  # bytes of files that are read at once, where no limit is said
_READING = 4  # bytes that are taken, at most, for a byte of a file that is read at once
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "tab"}
PARQUET = (".parquet", ".pq")
_SUFFIXES = (*PARQUET, *DELIMITERS)
_GLOB = re.compile(r"[*?\[]")
READ_IN_PARTS = "parquet, csv, tsv and txt files are read in parts"


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
        raise InputError(
            f"no files were given: name files, a folder, or a glob such as 'data/*.parquet'; {READ_IN_PARTS}"
        )
    kinds = sorted({suffix_of(path) for path in found})
    if len({kind in PARQUET for kind in kinds}) > 1:
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
        raise InputError(f"{name}: {what} that can be read in parts: {READ_IN_PARTS}")
    return found


def _shown(path: Path) -> bool:
    """Tell whether no part of the name begins as names of hidden files and of notes of other programs do."""
    return not any(part.startswith((".", "_")) for part in path.parts)


def suffix_of(path: str) -> str:
    """End of a name, in small letters."""
    return Path(path).suffix.lower()


def is_many(name: str | os.PathLike[str]) -> bool:
    """Tell whether a name stands for several files: a folder or a glob."""
    path = Path(name)
    if path.suffix.lower() == ".zarr":
        return False  # a store is one thing
    return path.is_dir() or (not path.exists() and bool(_GLOB.search(os.fspath(name))))


def in_pieces(path: str) -> bool:
    """Tell whether a file has a format that can be read in pieces."""
    return suffix_of(path) in _SUFFIXES


def size_of(paths: Iterable[str]) -> int:
    """Bytes of files."""
    return sum(os.path.getsize(path) for path in paths)


def why_too_large(files: Sequence[str], memory: int | None) -> str | None:
    """Why files are not read at once under a limit of memory, or without one; None if they are."""
    size = size_of(files)
    if size <= (_AT_ONCE if memory is None else memory / _READING):
        return None
    limit = "256 MiB, without --memory" if memory is None else f"--memory {size_in_words(memory)}"
    return f"{size_in_words(size)}, more than {limit}"


def size_in_words(size: float) -> str:
    """Return a number of bytes as 4.2 GB."""
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit < 3 else f"{size:.1f} {_UNITS[unit]}"
