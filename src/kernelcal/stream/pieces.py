"""Files that are read in pieces: what every format gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BATCH_BYTES", "HEAD", "Columns", "InPieces", "Piece", "rows_of_batch"]


Columns = dict[str, np.ndarray]
BATCH_BYTES = 2**24  # of the numbers of one batch
HEAD = 1_000  # first rows, by which columns are recognised
_FEWEST, _MOST = 1_024, 65_536  # rows of a batch


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of one file that can be read without the others.

    Attributes
    ----------
    name : str
        What a message calls it; empty where rows say enough.
    begin, rows : int
        First row, counted in the file from 0, and number of rows.
    place : tuple of int
        Where the format finds it.
    """

    name: str
    begin: int
    rows: int
    place: tuple[int, ...]


class InPieces(ABC):
    """One file.

    Attributes
    ----------
    path : str
        As it was given.
    names : list of str
        Its columns.
    """

    path: str
    names: list[str]

    @abstractmethod
    def head(self) -> Columns:
        """First rows of all columns."""

    @abstractmethod
    def kind(self, name: str) -> str:
        """Kind of a column that all files must share, such as text or number."""

    @abstractmethod
    def pieces(self) -> list[Piece]:
        """All pieces, in order."""

    @abstractmethod
    def texts(self, names: Sequence[str]) -> Iterator[list[Any]]:
        """Different values of some columns, piece by piece."""

    @abstractmethod
    def read(self, piece: Piece, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Columns]:
        """Batches of a piece, in order: columns of numbers and columns of labels."""


def rows_of_batch(width: int) -> int:
    """Rows of a batch of so many numbers a row."""
    return max(_FEWEST, min(_MOST, BATCH_BYTES // (8 * max(width, 1))))
