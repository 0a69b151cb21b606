"""Open files by their suffix: text as a stream, others as arrays. A new format is a reader, which `reads` registers."""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.files import what_we_wrote
from kernelcal.io.json_lines import load_json, load_json_lines
from kernelcal.io.libraries import arrow_arrays, load_arrow, load_excel, load_r
from kernelcal.io.sources import READERS, Arrays, Source, reads
from kernelcal.io.text import Text

__all__ = ["READERS", "open_source", "readers", "reads"]  # READERS with all that the files imported here register


_DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "tab", ".dat": ",", ".tab": "tab"}
_LINES = (".jsonl", ".ndjson", ".json")
_OURS = (".npz", ".json")  # what the library itself writes
_PICKLED = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".p")


def open_source(paths: Sequence[Path], delimiter: str | None = None, missing: frozenset[str] = frozenset()) -> Source:
    r"""Open one file, or a pair of npy files, by its suffix; further words for a missing value are those of text files.

    Raises
    ------
    InputError
        For a suffix that is not known, for pickles, and for files that cannot be read.
    MissingExtraError
        For parquet without the extra ``frame``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kernelcal.io import open_source
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("y,p\n0,0.2\n1,0.7\n")
    ...     source = open_source([path])
    ...     print(source.names, source.numbers(["p"]))
    ['y', 'p'] [[0.2]
     [0.7]]
    """
    if len(paths) == 1 and _is_stream(paths[0]):
        return _from_stream(paths[0], delimiter, missing)
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
        if path.is_dir():
            raise InputError(f"{path}: this is a folder: name the files in it")
    if any(_suffix(path) == ".npy" for path in paths):
        return _pair(paths)
    if len(paths) != 1:
        raise InputError(f"{', '.join(map(str, paths))}: only npy files are read together, predictions and targets")
    return _opened(paths[0], _suffix(paths[0]), delimiter, missing)


def _opened(path: Path, suffix: str, delimiter: str | None, missing: frozenset[str], name: Any = None) -> Source:
    """Open one file as what a suffix says; `name` is what messages call it."""
    if suffix in _DELIMITERS:
        said = delimiter is not None
        return Text(path, str(delimiter) if said else _DELIMITERS[suffix], missing, said=said, name=name)
    if suffix == ".zip":
        return _unpacked(path, delimiter, missing)
    if suffix in READERS:
        if suffix in _OURS and (own := what_we_wrote(path)):
            raise InputError(f"{path}: this is no table of predictions, it is {own}")
        return Arrays(name or path, READERS[suffix](path))
    raise InputError(
        f"{path}: {_PICKLES if suffix in _PICKLED else f'unknown kind of file {suffix!r}: {_known()}; {_WAY}'}"
    )


_WAY = "write the table as one of these, such as frame.to_csv(path, index=False)"
_LARGEST = 2**33  # bytes that are unpacked


def _unpacked(path: Path, delimiter: str | None, missing: frozenset[str]) -> Source:
    """Open the one file in a zip archive, as competitions hand them out."""
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: this is no zip archive: check its name, and whether it was copied as a whole")
    with zipfile.ZipFile(path) as archive:
        files = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX")]
        if len(files) != 1 or files[0].flag_bits & 1 or files[0].file_size > _LARGEST:
            what = ", ".join(one.filename for one in files[:6]) or "no file"
            raise InputError(f"{path}: the archive holds {what}: unpack it, and name the file that is meant")
        inside = Path(files[0].filename)
        folder = tempfile.mkdtemp(prefix="kernelcal-")
        copy = Path(folder) / f"input{''.join(inside.suffixes[-2:])}"
        with archive.open(files[0]) as packed, open(copy, "wb") as plain:
            shutil.copyfileobj(packed, plain)
    return _opened_copy(copy, _suffix(inside), delimiter, missing, str(path))


def _opened_copy(copy: Path, suffix: str, delimiter: str | None, missing: frozenset[str], name: str) -> Source:
    """Open a copy in a folder of its own, which is there as long as what reads it."""
    try:
        source = _opened(copy, suffix, delimiter, missing, name)
    except InputError as error:
        shutil.rmtree(copy.parent)
        raise InputError(str(error).replace(str(copy), name)) from None
    weakref.finalize(source, shutil.rmtree, copy.parent, ignore_errors=True)
    return source


_STANDARD = "-"
_FIRST_BYTES = ((b"PAR1", ".parquet"), (b"ARROW1", ".feather"), (b"PK", ".npz"), (b"{", ".jsonl"))


def _is_stream(path: Path) -> bool:
    """Tell whether something can be read once: standard input, a pipe with or without a name."""
    return str(path) == _STANDARD or (path.exists() and not path.is_file() and not path.is_dir())


def _from_stream(path: Path, delimiter: str | None, missing: frozenset[str]) -> Source:
    """Read it to its end, once, and open what was read: as what its suffix says, or its first bytes."""
    name = "standard input" if str(path) == _STANDARD else str(path)
    content = sys.stdin.buffer.read() if str(path) == _STANDARD else path.read_bytes()
    if not content:
        raise InputError(f"{name}: there is nothing to read")
    suffix = _suffix(path)
    if suffix not in (*_DELIMITERS, *READERS):
        start = content[:64].lstrip()
        suffix = next((suffix for mark, suffix in _FIRST_BYTES if start.startswith(mark)), ".csv")
    folder = tempfile.mkdtemp(prefix="kernelcal-")
    copy = Path(folder) / f"input{suffix}"
    copy.write_bytes(content)
    return _opened_copy(copy, suffix, delimiter, missing, name)


def readers() -> tuple[str, ...]:
    """Suffixes of the files that are read.

    Examples
    --------
    >>> from kernelcal.io import readers
    >>> readers()[:4]
    ('.csv', '.txt', '.tsv', '.dat')
    """
    return (*_DELIMITERS, ".npy", *sorted(READERS))


def _known() -> str:
    """Kinds of files in words; a second suffix of a reader is not named."""
    first = {reader: suffix for suffix, reader in sorted(READERS.items(), reverse=True)}
    kinds = sorted(suffix.lstrip(".") for suffix in first.values())
    return f"csv, tsv, txt, dat, npy (a pair), {', '.join(kinds[:-1])} and {kinds[-1]} are read"


def _suffix(path: Path) -> str:
    """Last suffix in lower case; of text in gzip, the one before .gz."""
    suffix, before = path.suffix.lower(), Path(path.stem).suffix.lower()
    return before if suffix in (".gz", ".bz2", ".xz") and before in (*_DELIMITERS, *_LINES) else suffix


def _pair(paths: Sequence[Path]) -> Source:
    if len(paths) != 2 or any(_suffix(path) != ".npy" for path in paths):
        raise InputError(
            f"{', '.join(map(str, paths))}: npy files are read in pairs, one with the predictions and one with the "
            "targets: give two of them"
        )
    names = _names(paths)
    return Arrays(
        " and ".join(map(str, paths)), {name: _load_npy(path) for name, path in zip(names, paths, strict=True)}
    )


def _names(paths: Sequence[Path]) -> list[str]:
    """Names of the arrays: the last part of the file names (model.scores.npy: scores), if these differ."""
    stems = [path.stem for path in paths]
    for names in ([stem.split(".")[-1] for stem in stems], stems, [str(path) for path in paths]):
        if len(set(names)) == len(names):
            return names
    raise InputError(f"{paths[0]}: the same file was given twice: one must hold the predictions, one the targets")


_PICKLES = (
    "pickles are not opened, since loading one can run any code. Save the arrays instead: "
    "numpy.savez('predictions.npz', probabilities=p, labels=y)"
)
_BEGINNING = {"npz": b"PK", "npy": b"\x93NUMPY"}


def _load_npy(path: Path) -> np.ndarray:
    """One array."""
    with _reading(path, "npy") as array:
        return np.asarray(array)


reads(".jsonl", ".ndjson")(load_json_lines)
reads(".json")(load_json)
reads(".feather", ".arrow", ".ipc")(load_arrow)
reads(".xlsx", ".xlsm")(load_excel)
reads(".rda", ".rds", ".rdata")(load_r)


@reads(".npz")
def _load_npz(path: Path) -> Mapping[str, np.ndarray]:
    """Arrays by name."""
    with _reading(path, "npz") as archive:
        return _Archive(path, archive.files)


@contextmanager
def _reading(path: Path, kind: str, name: str = "") -> Iterator[Any]:
    """Open with NumPy, close whatever happens, and say what is wrong with the file where it cannot be read."""
    with open(path, "rb") as stream:
        _refuse_other_format(path, kind, stream.read(8))
        stream.seek(0)
        try:
            yield np.load(stream, allow_pickle=False)
        except Exception as error:  # a damaged header or member makes NumPy fail in any way
            where = f"{path}, array {name!r}" if name else f"{path}"
            raise InputError(f"{where}: {_cause(kind, str(error))}") from None


def _cause(kind: str, error: str) -> str:
    if "Object arrays" in error:
        return (
            "it holds Python objects, which are pickled, and pickles are not opened, since loading one can run any "
            "code: save text as text, y.astype(str), and numbers as numbers"
        )
    return _PICKLES if "pickle" in error else f"cannot be read as {kind}: {error[:200]}"


def _refuse_other_format(path: Path, kind: str, start: bytes) -> None:
    if start[:1] == b"\x80":
        raise InputError(f"{path}: {_PICKLES}")
    if not start.startswith(_BEGINNING[kind]) or (kind == "npz" and not zipfile.is_zipfile(path)):
        raise InputError(
            f"{path}: this is not a file in {kind} format: check its name, and whether it was copied as a whole"
        )


class _Archive(Mapping[str, np.ndarray]):
    """Arrays of an npz file, each read when it is first asked for: a pickled one beside them does no harm."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path, self._names = path, names
        self._read: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._read:
            with _reading(self._path, "npz", name) as archive:
                self._read[name] = np.asarray(archive[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@reads(".parquet", ".pq")
def _load_parquet(path: Path) -> dict[str, np.ndarray]:
    """Columns of numbers, text, or lists of numbers."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "frame", "reading parquet") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:  # closed at once, not when it is collected
            table = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read as parquet: {error}") from None
    return arrow_arrays(path, table)
