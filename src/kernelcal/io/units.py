"""The predictions of a long table: lines that agree in the columns that tell predictions apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelcal.io.sources import Source

__all__ = ["Units", "units_of"]


@dataclass(frozen=True)
class Units:
    """Predictions in order of their first line.

    Attributes
    ----------
    names : tuple of str
        Columns that tell predictions apart.
    texts : tuple of list of str
        Distinct texts of every column.
    numbers : numpy.ndarray of shape (n, columns)
        Which of them every prediction has.
    of_line : numpy.ndarray
        Prediction that a line belongs to.
    first : numpy.ndarray of shape (n,)
        First line of every prediction, as a position in `of_line`.
    """

    names: tuple[str, ...]
    texts: tuple[list[str], ...]
    numbers: np.ndarray
    of_line: np.ndarray
    first: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    def in_words(self, unit: int) -> str:
        """Name one prediction by the columns that are not the same for all."""
        vary = [k for k in range(len(self.names)) if np.any(self.numbers[:, k] != self.numbers[0, k])]
        return ", ".join(f"{self.names[k]}={self.text(unit, k)}" for k in vary or range(len(self.names)))

    def text(self, unit: int, column: int) -> str:
        """What a prediction has in a column."""
        return self.texts[column][self.numbers[unit, column]]

    def kinds(self, name: str, units: np.ndarray) -> int:
        """Return how many distinct texts some predictions have in a column."""
        return len(np.unique(self.numbers[units, self.names.index(name)]))


def units_of(source: Source, names: Sequence[str], lines: np.ndarray) -> Units:
    """Predictions of some lines of a table."""
    cells = source.cells(names)
    numbers = np.stack([column.numbers[lines] for column in cells], axis=1)
    key = np.zeros(len(lines), dtype=np.int64)
    for column in numbers.T:  # one number a prediction so far, times the texts of the next column, made small again
        key = np.unique(key * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    _, first, of_line = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = first[order]
    return Units(tuple(names), tuple(column.texts for column in cells), numbers[first], rank[of_line], first)
