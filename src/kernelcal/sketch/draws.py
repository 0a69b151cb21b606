"""Random numbers that a row owns, and the labels that they draw: the same with whatever rows a row comes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.inference import WORDS, keyed_words, philox_words
from kernelcal.predictions import ClassPredictions
from kernelcal.randomness import generator_of
from kernelcal.sketch.turns import CIRCLE_BITS, Turns

__all__ = ["ClassLaws", "DrawnLabels", "RowDraws", "RowWords"]


_HALF = np.uint64(32)
_MASK = np.uint64(2**32 - 1)
_LONG = 8  # rows of a run on average, from which on runs are drawn one after the other
_FEW = 24  # classes, up to which all draws are compared with the start of one class after the other


class RowWords:
    """Words of 64 random bits: those of a row are counted from its number, in one Philox stream of the seed.

    Rows of type uint64 are identities of keys, whose words are those of `keyed_words`.
    """

    def __init__(self, rng: int) -> None:
        self._key = generator_of(rng, "draws of a sketch").integers(2**64, size=2, dtype=np.uint64)

    def turns(self, draws: int) -> Turns:
        """Turns of the draws, of the same seed."""
        return Turns.of((int(self._key[0]), int(self._key[1])), draws)

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
    """Laws of labels as arcs of a circle of 2^31 cells.

    Attributes
    ----------
    starts : numpy.ndarray of int64, shape (n, m + 1)
        First cell of every class, which has the ``floor(2^31 p_k)`` cells up to the next; the last entry is the first
        of the few cells, fewer than m, that belong to no class: there the fractions decide.
    fractions : numpy.ndarray of shape (n, m)
        What the cells leave of ``2^31 p_k``.

    Notes
    -----
    So a class is drawn with its probability and not with a multiple of 2^-31: what is decided by the fractions takes 32
    bits more. A class of probability 0 has no cells and no fraction and is never drawn.
    """

    starts: np.ndarray
    fractions: np.ndarray

    @classmethod
    def of(cls, batch: ClassPredictions) -> ClassLaws:
        """Laws of predictions in float64; a sum that is 1 up to rounding counts as 1."""
        p = batch.table()
        whole = np.cumsum(p, axis=1)[:, -1:]
        fractions = p / whole
        fractions *= 2.0**CIRCLE_BITS
        cells = np.floor(fractions)
        fractions -= cells
        starts = np.zeros((len(p), p.shape[1] + 1), dtype=np.int64)
        np.cumsum(cells, axis=1, out=starts[:, 1:], dtype=np.int64)
        return cls(starts, fractions)

    def places(self, labels: np.ndarray, words: np.ndarray) -> np.ndarray:
        """A place of every observed label, uniform among the cells that it may come from: shape (n,).

        Of the four words of a row, shape (n, 4), the first and the last two are used. An outcome that was ruled out
        comes from nowhere, and has a place anywhere.
        """
        rows, circle = np.arange(len(labels)), 2**CIRCLE_BITS
        first = self.starts[rows, labels]
        cells = self.starts[rows, labels + 1] - first
        places = first + _part_of(words[:, 0], cells)
        weights = cells + self.fractions[rows, labels]
        shared = np.flatnonzero((words[:, 2] >> np.uint64(11)) * 2.0**-53 * weights >= cells)
        left = self.starts[shared, -1]
        none = (weights[shared] == 0) | (left >= circle)
        left[none] = 0
        places[shared] = left + _part_of(words[shared, 3], circle - left)
        return places


def _part_of(words: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Uniform whole numbers below `numbers`, up to 2^31, from 64 random bits each: the high half of their product."""
    factors = numbers.astype(np.uint64)
    return (((words >> _HALF) * factors + (((words & _MASK) * factors) >> _HALF)) >> _HALF).astype(np.int64)


@dataclass(frozen=True, eq=False)
class RowDraws:
    """By what rows are drawn, in any order of the rows.

    Attributes
    ----------
    source : RowWords
        Of the words.
    turns : Turns
        Of the draws.
    numbers : numpy.ndarray of shape (n,)
        Numbers or identities of the rows.
    words : numpy.ndarray of uint64, shape (n, 4)
        Their own.
    groups : numpy.ndarray of shape (n,)
        Their groups, each with its turns.
    """

    source: RowWords
    turns: Turns
    numbers: np.ndarray
    words: np.ndarray
    groups: np.ndarray

    @classmethod
    def of(cls, source: RowWords, turns: Turns, rows: range | np.ndarray) -> RowDraws:
        """Draws of some rows."""
        words = source.of(rows, WORDS)
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows
        return cls(source, turns, numbers, words, turns.groups_of(words[:, 1]))

    def __getitem__(self, index: slice | np.ndarray) -> RowDraws:
        own = (self.numbers[index], self.words[index], self.groups[index])
        return RowDraws(self.source, self.turns, *own)


class DrawnLabels:
    """Labels of some rows, the observed ones and B drawn ones.

    Parameters
    ----------
    draws : RowDraws
        Of the rows.
    laws : ClassLaws
        Of the same rows.
    labels : numpy.ndarray of shape (n,)
        Observed.
    """

    def __init__(self, draws: RowDraws, laws: ClassLaws, labels: np.ndarray) -> None:
        self.laws, self.labels, self.turns, self.groups = laws, labels, draws.turns, draws.groups
        self._draws = draws
        unturned = laws.places(labels, draws.words) - self.turns.cells[self.groups, 0]
        self.places = unturned & (2**CIRCLE_BITS - 1)  # which draw b turns by its cells

    @property
    def classes(self) -> int:
        """Number of classes m."""
        return self.laws.fractions.shape[1]

    def every(self) -> np.ndarray:
        """All labels, shape (n, B + 1)."""
        starts, m = self.laws.starts.astype(np.uint32), self.classes
        cells = self.turns.cells[self.groups]
        cells += self.places.astype(np.uint32)[:, None]
        cells &= np.uint32(2**CIRCLE_BITS - 1)
        found = np.zeros(cells.shape, dtype=np.min_scalar_type(m))
        if m <= _FEW:
            for k in range(1, m):
                found += cells >= starts[:, k : k + 1]
        else:
            for row, own in enumerate(starts[:, 1:-1]):
                found[row] = np.searchsorted(own, cells[row], side="right")
        if int(cells.max()) >= int(starts[:, -1].min()):
            i, b = np.nonzero(cells >= starts[:, -1:])
            found[i, b] = self._decided(i, b)
        found[:, 0] = self.labels
        return found

    def changes(self) -> np.ndarray:
        """Tell after how many draws of its group, in the order of their turns, a row comes to a class: shape (n, m).

        To class 0 it comes where the circle is closed.
        """
        to = self.laws.starts[:, :-1] - self.places[:, None]
        to[:, 1:][to[:, 1:] < 0] += 2**CIRCLE_BITS
        to[:, 0] += 2**CIRCLE_BITS
        return self.turns.first_after(self.groups, to)

    def unturned(self) -> np.ndarray:
        """Labels of a draw that does not turn, shape (n,)."""
        return np.asarray((self.laws.starts[:, 1:-1] < self.places[:, None]).sum(axis=1))

    def undecided(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows and draws whose cells belong to no class, and their labels: a few of 2^31.

        Of a row at most one draw falls there, if the turns lie further apart than m cells.
        """
        left, circle = self.laws.starts[:, -1], 2**CIRCLE_BITS
        to = (left - self.places) & (circle - 1)
        prime = self.turns.before.shape[1] - 1
        turn = (to * prime + (circle - 1)) >> CIRCLE_BITS
        i = np.flatnonzero((turn << CIRCLE_BITS) // prime - to < circle - left)
        ends = (turn[i] % prime << CIRCLE_BITS) // prime
        row, draw = np.nonzero(self.turns.cells[self.groups[i], 1:] == ends[:, None])
        return i[row], draw + 1, self._decided(i[row], draw + 1)

    def _decided(self, i: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Labels of draws b of rows i that fell into a cell of no class, by their fractions."""
        found = np.empty(len(i), dtype=np.intp)
        draws = self.turns.cells.shape[1] - 1
        for k, (row, draw) in enumerate(zip(i.tolist(), b.tolist(), strict=True)):
            more = self._draws.source.halves(self._draws.numbers[row : row + 1], draws, stream=1)[0, draw - 1]
            ends = np.cumsum(self.laws.fractions[row])
            found[k] = np.searchsorted(ends / ends[-1], int(more) * 2.0**-32, side="right")
        return found
