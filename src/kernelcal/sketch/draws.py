"""Random numbers that a row owns, and the labels that they draw: the same with whatever rows a row comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.inference import WORDS, keyed_words, philox_words
from kernelcal.predictions import ClassPredictions
from kernelcal.randomness import generator_of

__all__ = ["ClassLaws", "DrawnLabels", "RowWords"]


_BITS = 31  # of the number by which a label is drawn
_HALF = np.uint64(32)
_MASK = np.uint64(2**32 - 1)
_LONG = 8  # rows of a run on average, from which on runs are drawn one after the other


class RowWords:
    """Words of 64 random bits: those of a row are counted from its number, in one Philox stream of the seed.

    Rows of type uint64 are identities of keys, whose words are those of `keyed_words`.
    """

    def __init__(self, rng: int) -> None:
        self._key = generator_of(rng, "draws of a sketch").integers(2**64, size=2, dtype=np.uint64)

    def of(self, rows: range | np.ndarray, number: int, stream: int = 0) -> np.ndarray:
        """So many words of every row, shape (n, number), of a stream; a row has up to 2^34 of them."""
        counts = -(-number // WORDS)
        if isinstance(rows, range):
            return self._of_run(rows.start, len(rows), counts, stream)[:, :number]
        if rows.dtype == np.uint64:
            return keyed_words(self._key, rows, 0, 2 * number, stream).astype("<u4", copy=False).view("<u8")
        begins = np.flatnonzero(np.append(True, rows[1:] != rows[:-1] + 1))
        if len(begins) * _LONG > len(rows):
            return self._of_any(rows.astype(np.uint64), counts, stream)[:, :number]
        ends = np.append(begins[1:], len(rows))
        runs = zip(begins.tolist(), ends.tolist(), strict=True)
        parts = [self._of_run(int(rows[begin]), end - begin, counts, stream) for begin, end in runs]
        return np.concatenate(parts)[:, :number]

    def _of_run(self, first: int, rows: int, counts: int, stream: int) -> np.ndarray:
        """Words of rows that follow each other."""
        start = first * counts
        counter = np.array([start % 2**64, start >> 64, stream, 0], dtype=np.uint64)
        words = np.random.Philox(key=self._key, counter=counter).random_raw(rows * counts * WORDS)
        return np.asarray(words).reshape(rows, counts * WORDS)

    def _of_any(self, rows: np.ndarray, counts: int, stream: int) -> np.ndarray:
        """The same of any rows: 128 bits of a counter, from the products of halves."""
        times = np.uint64(counts)
        low = (rows & _MASK) * times
        high = (rows >> _HALF) * times + (low >> _HALF)
        begin, above = (high << _HALF) | (low & _MASK), high >> _HALF
        first = begin[:, None] + np.arange(1, counts + 1, dtype=np.uint64)  # NumPy counts before it computes
        second = above[:, None] + (first < begin[:, None])
        words = philox_words(self._key, first.ravel(), second.ravel(), np.full(first.size, stream, dtype=np.uint64))
        return np.ascontiguousarray(words.T).reshape(len(rows), counts * WORDS)

    def halves(self, rows: range | np.ndarray, number: int, stream: int = 0) -> np.ndarray:
        """So many numbers of 32 bits of every row, shape (n, number)."""
        words = np.ascontiguousarray(self.of(rows, -(-number // 2), stream))
        return words.astype("<u8", copy=False).view("<u4")[:, :number]

    def uniforms(self, rows: range | np.ndarray, draws: int, each: int) -> np.ndarray:
        """Uniform numbers in [0, 1), shape (draws, n), or (draws, n, each) where a draw takes several."""
        words = self.of(rows, draws * each) >> np.uint64(11)
        numbers = np.ascontiguousarray(words.reshape(len(rows), draws, each).swapaxes(0, 1)) * 2.0**-53
        return numbers[..., 0] if each == 1 else numbers


@dataclass(frozen=True, eq=False)
class ClassLaws:
    """Laws of labels, each cut into 2^31 cells.

    Attributes
    ----------
    starts : numpy.ndarray of uint32, shape (n, m - 1)
        First cell of classes 1 to m - 1: class k has the ``floor(2^31 p_k)`` cells that lie wholly in it.
    left : numpy.ndarray of uint32, shape (n,)
        First of the few cells, fewer than m, that belong to no class: there the fractions decide.
    fractions : numpy.ndarray of shape (n, m)
        What the cells leave of ``2^31 p_k``.

    Notes
    -----
    So a class is drawn with its probability and not with a multiple of 2^-31: what is decided by the fractions takes 32
    bits more. A class of probability 0 has no cells and no fraction and is never drawn.
    """

    starts: np.ndarray
    left: np.ndarray
    fractions: np.ndarray

    @classmethod
    def of(cls, batch: ClassPredictions) -> ClassLaws:
        """Laws of predictions in float64; a sum that is 1 up to rounding counts as 1."""
        p = batch.table()
        whole = np.cumsum(p, axis=1)[:, -1:]
        fractions = p / whole
        fractions *= 2.0**_BITS
        cells = np.floor(fractions)
        fractions -= cells
        ends = np.cumsum(cells, axis=1)
        return cls(ends[:, :-1].astype(np.uint32), ends[:, -1].astype(np.uint32), fractions)

    @property
    def classes(self) -> int:
        """Number of classes m."""
        return self.fractions.shape[1]


class DrawnLabels:
    """Labels of some rows, the observed ones and B drawn ones, a class at a time.

    Parameters
    ----------
    words : RowWords
        Source of the draws.
    laws : ClassLaws
        Of the same rows.
    labels : numpy.ndarray of shape (n,)
        Observed.
    rows : range or numpy.ndarray
        Numbers of the rows.
    draws : int
        Number B.
    """

    def __init__(self, words: RowWords, laws: ClassLaws, labels: np.ndarray, rows: Any, draws: int) -> None:
        self.laws = laws
        self.cells = np.empty((len(labels), draws + 1), dtype=np.uint32)
        np.right_shift(words.halves(rows, draws), 32 - _BITS, out=self.cells[:, 1:])
        self.cells[:, 0] = 0
        self._labels, self._decided = labels, self._decide(words, rows)

    def _decide(self, words: RowWords, rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of the draws that fell into a cell of no class, and their labels: a few of 2^31."""
        none = np.zeros(0, dtype=np.intp)
        if int(self.cells.max()) < 2**_BITS - self.laws.classes:
            return none, none, none
        i, b = np.nonzero(self.cells >= self.laws.left[:, None])
        found = np.empty(len(i), dtype=np.intp)
        for k, (row, draw) in enumerate(zip(i.tolist(), b.tolist(), strict=True)):
            number = rows[row : row + 1]
            more = words.halves(number, self.cells.shape[1] - 1, stream=1)[0, draw - 1]
            ends = np.cumsum(self.laws.fractions[row])
            found[k] = np.searchsorted(ends / ends[-1], int(more) * 2.0**-32, side="right")
        return i, b, found

    def at_least(self, k: int, out: np.ndarray) -> None:
        """Write 1 where the label is class k or a later one, else 0, shape (n, B + 1); the observed ones come first."""
        np.greater_equal(self.cells, self.laws.starts[:, k - 1 : k], out=out, casting="unsafe")
        out[:, 0] = self._labels >= k
        i, b, found = self._decided
        if len(i):
            out[i, b] = found >= k

    def every(self) -> np.ndarray:
        """All labels, shape (n, B + 1)."""
        found = np.empty(self.cells.shape, dtype=np.min_scalar_type(self.laws.classes - 1))
        for row, starts in enumerate(self.laws.starts):
            found[row] = np.searchsorted(starts, self.cells[row], side="right")
        found[:, 0] = self._labels
        i, b, decided = self._decided
        found[i, b] = decided
        return found
