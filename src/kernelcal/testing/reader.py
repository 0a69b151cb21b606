"""The check of a reader of files."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, open_source, read, readers
from kernelcal.testing.contract import claim, close, contract, refused, tells_what_to_do

__all__ = ["check_reader"]


_PROBABILITIES = [0.2, 0.7, 0.5, 0.9, 0.25, 0.125]
_LABELS = [0, 1, 1, 1, 0, 0]
_WORDS = ["no", "yes, indeed", "yes, indeed", "Ja \N{LATIN SMALL LETTER SHARP S}", "no", "'quoted'"]


def check_reader(
    suffix: str,
    write: Callable[[Path, Mapping[str, list[Any]]], None],
    *,
    wide: bool = False,
    empty: bool = True,
    binary: bool = True,
) -> None:
    r"""Check that the reader of a suffix keeps the contract of `kernelcal.io.reads`.

    What was written is read: names in their order, numbers to the last digit, text letter by letter, missing values as
    missing, all rows. `kernelcal.io.read` makes predictions and targets of it. A file that is empty, cut off or none of
    this format is refused with its name; the file is left as it was, and closed.

    Parameters
    ----------
    suffix : str
        Of the format, such as ``".csv"``; a reader for it is registered.
    write : callable
        ``write(path, columns)`` writes columns of equal length: lists of numbers, text or None by name, and with `wide`
        lists of lists of numbers.
    wide : bool
        Whether a column may hold several numbers a row.
    empty : bool
        Whether a file with names and without rows can be written.
    binary : bool
        Whether half of a file is no file, which must be noticed; half of a text is one.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and what was read.

    Notes
    -----
    Files are written to a temporary folder.

    Examples
    --------
    >>> import json
    >>> from kernelcal.testing import check_reader
    >>> def write(path, columns):
    ...     rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    ...     path.write_text("\n".join(map(json.dumps, rows)))
    >>> check_reader(".jsonl", write, wide=True, binary=False)
    """
    subject = f"the reader of {suffix}"
    with contract(_Named(subject), "it is registered: kernelcal.io.readers() names its suffix"):
        claim(suffix in readers(), f"these are {', '.join(readers())}")
    with tempfile.TemporaryDirectory() as folder:
        case = _Case(_Named(subject), Path(folder), suffix, write)
        _check_columns(case)
        _check_missing(case)
        if wide:
            _check_wide(case)
        _check_refusals(case, empty, binary)


class _Named:
    """A subject that is called by some words."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return self.words


class _Case:
    """Files of one format in a folder."""

    def __init__(self, subject: Any, folder: Path, suffix: str, write: Callable[..., None]) -> None:
        self.subject, self.folder, self.suffix, self.write = subject, folder, suffix, write

    def file(self, name: str, columns: Mapping[str, list[Any]] | None = None) -> Path:
        path = self.folder / f"{name}{self.suffix}"
        if columns is not None:
            self.write(path, columns)
        return path


def _check_columns(case: _Case) -> None:
    columns: dict[str, list[Any]] = {"p": _PROBABILITIES, "y": _LABELS, "word": _WORDS}
    path = case.file("good file", columns)
    before, open_files = path.read_bytes(), _open_files()
    with contract(case.subject, "columns have the names of the file, in its order"):
        source = open_source([path])
        claim(list(source.names) == list(columns), f"it reads {list(source.names)}, written were {list(columns)}")
    with contract(case.subject, "numbers are read to the last digit, one a row, shape (n,)"):
        close(source.numbers(["p"]), np.array(_PROBABILITIES)[:, None], rtol=1e-15, what="a number")
        close(np.asarray(source.values("y")).astype(np.float64), np.array(_LABELS, float), what="a whole number")
    with contract(case.subject, "text is read letter by letter"):
        found = [str(word) for word in source.values("word")]
        claim(found == _WORDS, f"it reads {found}, written were {_WORDS}")
    with contract(case.subject, "kernelcal.io.read makes predictions and targets of the columns"):
        data: Any = read([path], ReadOptions(predictions="p", target="y"))
        close(
            to_numpy(data.predictions.probabilities)[:, 1], np.array(_PROBABILITIES), rtol=1e-15, what="a probability"
        )
        close(np.asarray(data.y), np.array(_LABELS), what="a target")
    with contract(case.subject, "the file is left as it was, and closed"):
        del source, data
        gc.collect()  # what holds itself holds its file until then
        claim(path.read_bytes() == before, "its bytes changed")
        claim(_open_files() <= open_files, "it is still open")


def _check_missing(case: _Case) -> None:
    path = case.file("missing", {"p": [0.2, None, 0.7], "y": [0, 1, 1]})
    with contract(case.subject, "a missing value is None or NaN, and its row is refused or dropped by name"):
        close(open_source([path]).numbers(["p"])[:, 0], np.array([0.2, np.nan, 0.7]), what="a number")
        data: Any = read([path], ReadOptions(predictions="p", target="y", drop_missing=True))
        close(to_numpy(data.predictions.probabilities)[:, 1], np.array([0.2, 0.7]), what="a probability")


def _check_wide(case: _Case) -> None:
    rows = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
    path = case.file("wide", {"p": rows, "y": [2, 0]})
    with contract(case.subject, "a column of several numbers a row has shape (n, m)"):
        source = open_source([path])
        claim(source.wide("p"), "the source says that the column holds one number a row")
        close(source.numbers(["p"]), np.array(rows), rtol=1e-15, what="a number")


def _check_refusals(case: _Case, empty: bool, binary: bool) -> None:
    good = case.file("whole", {"p": _PROBABILITIES * 50, "y": _LABELS * 50}).read_bytes()
    files = {"no bytes": b"", "noise": bytes(range(1, 256)) * 9}
    if binary:
        files["half the bytes"] = good[: len(good) // 2]
    for name, content in files.items():
        path = case.file(name)
        path.write_bytes(content)
        _refused(case, path, f"a file of {name}")
    if empty:
        path = case.file("no rows", {"p": [], "y": []})
        with contract(case.subject, "a file without rows is refused in words"):
            refused(lambda: read([path], ReadOptions(predictions="p", target="y")), "it")


def _refused(case: _Case, path: Path, what: str) -> None:
    with contract(case.subject, f"{what} is refused with an InputError that begins with its name"):
        try:
            read([path], ReadOptions(predictions="p", target="y"))
        except InputError as error:
            claim(str(error).startswith(str(path)), f"the message begins otherwise: {str(error)[:200]!r}")
            tells_what_to_do(str(error))
        else:
            raise AssertionError("Here it was read")


def _open_files() -> int:
    """How many files this process has open, where the system tells."""
    folder = "/proc/self/fd"
    return len(os.listdir(folder)) if os.path.isdir(folder) else 0
