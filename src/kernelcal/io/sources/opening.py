"""Open a file by its suffix. A new format is one reader, which `reads` registers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelcal.errors import InputError
from kernelcal.io.sources.binary import PICKLES, load_npy
from kernelcal.io.sources.columns import READERS, Arrays, Source
from kernelcal.io.sources.text import Text

__all__ = ["open_source", "readers"]


_DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "tab"}
_LINES = (".jsonl", ".ndjson")
_PICKLED = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".p")


def open_source(paths: Sequence[Path], delimiter: str | None = None, missing: frozenset[str] = frozenset()) -> Source:
    """Open one file, or a pair of npy files, by its suffix; further words for a missing value are those of text files.

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
        if path.is_dir():
            raise InputError(f"{path}: this is a folder: name the files in it")
    if any(_suffix(path) == ".npy" for path in paths):
        return _pair(paths)
    if len(paths) != 1:
        raise InputError(f"{', '.join(map(str, paths))}: only npy files are read together, predictions and targets")
    path, suffix = paths[0], _suffix(paths[0])
    if suffix in _DELIMITERS:
        return Text(path, delimiter or _DELIMITERS[suffix], missing)
    if suffix in READERS:
        return Arrays(path, READERS[suffix](path))
    raise InputError(f"{path}: {PICKLES if suffix in _PICKLED else f'unknown kind of file {suffix!r}: {_known()}'}")


def readers() -> tuple[str, ...]:
    """Suffixes of the files that are read.

    Examples
    --------
    >>> from kernelcal.io import readers
    >>> readers()[:4]
    ('.csv', '.txt', '.tsv', '.npy')
    """
    return (*_DELIMITERS, ".npy", *sorted(READERS))


def _known() -> str:
    """Kinds of files in words; a second suffix of a reader is not named."""
    first = {reader: suffix for suffix, reader in sorted(READERS.items(), reverse=True)}
    kinds = sorted(suffix.lstrip(".") for suffix in first.values())
    return f"csv, tsv, npy (a pair), {', '.join(kinds[:-1])} and {kinds[-1]} are read"


def _suffix(path: Path) -> str:
    """Last suffix in lower case; of text in gzip, the one before .gz."""
    suffix, before = path.suffix.lower(), Path(path.stem).suffix.lower()
    return before if suffix == ".gz" and before in (*_DELIMITERS, *_LINES) else suffix


def _pair(paths: Sequence[Path]) -> Source:
    if len(paths) != 2 or any(_suffix(path) != ".npy" for path in paths):
        raise InputError(
            f"{', '.join(map(str, paths))}: npy files are read in pairs, one with the predictions and one with the "
            "targets: give two of them"
        )
    names = _names(paths)
    return Arrays(
        " and ".join(map(str, paths)), {name: load_npy(path) for name, path in zip(names, paths, strict=True)}
    )


def _names(paths: Sequence[Path]) -> list[str]:
    """Names of the arrays: the last part of the file names (model.scores.npy: scores), if these differ."""
    stems = [path.stem for path in paths]
    for names in ([stem.split(".")[-1] for stem in stems], stems, [str(path) for path in paths]):
        if len(set(names)) == len(names):
            return names
    raise InputError(f"{paths[0]}: the same file was given twice: one must hold the predictions, one the targets")
