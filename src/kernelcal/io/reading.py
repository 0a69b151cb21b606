"""From a file and what was said about it to targets and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelcal.io.classes import read_classes
from kernelcal.io.data import Data
from kernelcal.io.forms import form_of
from kernelcal.io.long import read_long
from kernelcal.io.opening import open_source
from kernelcal.io.options import ReadOptions, missing_words
from kernelcal.io.sources import Source
from kernelcal.io.table import as_data
from kernelcal.io.wide import read_wide

__all__ = ["Data", "read", "read_source"]


def read(paths: Sequence[Path], options: ReadOptions) -> Data:
    """Read targets and predictions.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        One file, or two npy files.
    options : ReadOptions
        What is known about it.

    Raises
    ------
    InputError
        With file, line, column and remedy.
    """
    return read_source(open_source(paths, options.delimiter, missing_words(options)), options)


def read_source(source: Source, options: ReadOptions) -> Data:
    """Read targets and predictions of an opened file."""
    form = form_of(source, options)
    if form == "classes":
        return read_classes(source, options)
    table = read_long(source, options) if form == "long" else read_wide(source, form, options)
    return as_data(table, options)
