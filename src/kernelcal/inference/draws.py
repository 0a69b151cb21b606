"""Counter-based draws: those of number b depend on the seed and b alone, whatever is drawn beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.dependence import Coupling
from kernelcal.inference.philox import WORDS
from kernelcal.pairs import one_thread, threaded_map
from kernelcal.predictions import Bernoulli, Parametric
from kernelcal.randomness import generator_of

__all__ = ["Drawable", "Draws", "KeptDraws", "Marked", "multinomial_counts"]


_UNIFORM_BYTES = 2**25

_AT_ONCE, _FEWEST = 2**17, 8  # numbers that become targets in one thread, in the cache; draws, for what a call costs

_MANY = 20_000  # rows; below, threads cost more than they save

_IN_CACHE = 2**10  # rows from which counts are made draw by draw: arrays of all draws leave the cache

_PART = 2**15  # rows whose numbers stay in the cache


_RESAMPLED = 8  # sets of drawn rows that a thread makes

_LIKELY = 72  # marks of a draw that are kept: of eighteen surprises, each made by four outcomes

_MARKS = 2**21  # marks that are kept at most

_KEPT_BYTES = 2**26  # for counts


@dataclass(frozen=True, eq=False)
class Marked:
    """Copies of drawn rows, draws and in them rows ascending.

    Attributes
    ----------
    draws, rows, counts : numpy.ndarray of shape (f,)
        The draw, from the first that was asked for on, the row, and how often the draw has it.
    marks : numpy.ndarray of shape (f,)
        A uniform number.
    last : numpy.ndarray of shape (draws,)
        Another one of every draw.
    """

    draws: np.ndarray
    rows: np.ndarray
    counts: np.ndarray
    marks: np.ndarray
    last: np.ndarray


class Drawable(Protocol):
    """What turns uniform numbers into draws: predictions, into targets."""

    def __len__(self) -> int: ...

    @property
    def uniforms(self) -> int:
        """How many uniform numbers one draw of a row takes."""

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Turn uniform numbers, shape (draws, n), or (draws, n, uniforms), into draws."""


class Draws:
    """Targets redrawn from the predictions, the predictions held fixed.

    Draw b has its own Philox stream, keyed by the seed and counted from b, so that batch size, tiles and threads
    change no number, and any draw can be made again.

    Parameters
    ----------
    rng : int, numpy.random.SeedSequence, numpy.random.Generator or None
        Source of the key (SPEC 7).
    purpose : str
        What the draws are for: of one seed, those of two purposes are independent.
    coupling : Coupling, optional
        How uniform numbers of rows depend on each other; default not at all.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Draws
    >>> Draws(0, "example").targets(kc.Bernoulli([0.2, 0.7, 0.6]), 0, 2).shape
    (2, 3)
    """

    def __init__(self, rng: Any, purpose: str, coupling: Coupling | None = None) -> None:
        self._key = generator_of(rng, purpose).integers(2**64, size=2, dtype=np.uint64)
        self.coupling = coupling

    def uniforms(self, start: int, stop: int, n: int) -> np.ndarray:
        """Uniform numbers 0 to n - 1 of draws start to stop - 1, shape (stop - start, n)."""
        numbers = np.empty((stop - start, n))
        if n >= _MANY:
            threaded_map(lambda row: self._stream(start + row).random(out=numbers[row]), range(stop - start), None)
        else:
            stream = self._stream(start)
            state = stream.bit_generator.state
            for row in range(stop - start):
                _moved(stream, state, start + row).random(out=numbers[row])
        return numbers

    def resampled(self, start: int, stop: int, n: int, more: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """How often each of n rows is drawn with replacement, shape (n, draws), and the uniform numbers themselves.

        `more` numbers come after the n of every draw, for what is done with drawn rows.
        """
        numbers = self.uniforms(start, stop, n + more)
        return multinomial_counts(numbers[:, :n]), numbers

    def counts(self, start: int, stop: int, n: int) -> np.ndarray:
        """How often each of n rows is drawn with replacement, shape (n, draws)."""
        return self.resampled(start, stop, n)[0]

    def marked(self, start: int, stop: int, n: int, share: np.ndarray) -> Marked:
        """Copies of drawn rows whose mark, a uniform number, is below the share of their row.

        Of the numbers of a draw 0 to n - 1 are its rows, n to 2 n - 1 the marks of these, and 2 n is its label's.
        """
        return self._marked(start, stop, n, lambda rows, marks: marks < share[rows], float(share.max()))[0]

    def _marked(
        self,
        start: int,
        stop: int,
        n: int,
        chosen: Callable[[np.ndarray, np.ndarray], np.ndarray],
        largest: float,
        kept: np.ndarray | None = None,
    ) -> tuple[Marked, np.ndarray | None]:
        """Copies that are chosen by their rows and marks, some draws at a time; counts of all rows, where they fit."""

        def work(part: slice) -> tuple[np.ndarray, ...]:
            with one_thread():
                numbers = self.uniforms(start + part.start, start + part.stop, 2 * n + 1)
            found = []
            for draw, own in enumerate(numbers, part.start):
                place = (own[:n] * n).astype(np.intp)
                counts = np.bincount(place, minlength=n)
                if kept is not None:
                    kept[draw] = counts
                likely = np.flatnonzero(own[n : 2 * n] < largest)
                rows, marks = place[likely], own[n + likely]
                some = np.flatnonzero(chosen(rows, marks))
                some = some[np.argsort(rows[some], kind="stable")]  # copies of a row beside each other
                rows, marks = rows[some], marks[some]
                found.append((np.full(len(rows), draw), rows, counts[rows], marks))
            return (*map(np.concatenate, zip(*found, strict=True)), numbers[:, -1])

        step = max(1, min(_RESAMPLED, _UNIFORM_BYTES // (32 * n)))
        parts = [slice(first, min(first + step, stop - start)) for first in range(0, stop - start, step)]
        found = threaded_map(work, parts, None)
        return Marked(*map(np.concatenate, zip(*found, strict=True))), kept

    def _stream(self, b: int) -> np.random.Generator:
        """Numbers of draw b."""
        stream = np.random.Generator(np.random.Philox(key=self._key))
        return _moved(stream, stream.bit_generator.state, b)

    def targets(self, predictions: Drawable, start: int, stop: int) -> np.ndarray:
        """Targets of draws start to stop - 1, shape (stop - start, n, ...), made some draws at a time."""
        if self.coupling is not None:
            return self._coupled(predictions, start, stop, self.coupling)
        if isinstance(predictions, Bernoulli) and len(predictions) >= _MANY:
            return self._labels(predictions, start, stop)
        shape = (len(predictions),) if predictions.uniforms == 1 else (len(predictions), predictions.uniforms)
        size = int(np.prod(shape))
        if not (isinstance(predictions, Parametric) and predictions.continuous):  # others make tables in every call
            step = max(1, _UNIFORM_BYTES // (8 * size))
            parts = [self._drawn(predictions, k, min(k + step, stop), shape) for k in range(start, stop, step)]
            return parts[0] if len(parts) == 1 else np.concatenate(parts)
        step = max(_FEWEST, _AT_ONCE // size)
        first = self._drawn(predictions, start, min(start + step, stop), shape)
        if start + step >= stop:
            return first
        targets = np.empty((stop - start, *first.shape[1:]), dtype=first.dtype)
        targets[: len(first)] = first

        def fill(begin: int) -> None:
            end = min(begin + step, stop)
            with one_thread():
                targets[begin - start : end - start] = self._drawn(predictions, begin, end, shape)

        threaded_map(fill, range(start + step, stop, step), None)
        return targets

    def _drawn(self, predictions: Drawable, start: int, stop: int, shape: tuple[int, ...]) -> np.ndarray:
        """Targets of some draws, by one call."""
        return predictions.draw(self.uniforms(start, stop, int(np.prod(shape))).reshape(-1, *shape))

    def _coupled(self, predictions: Drawable, start: int, stop: int, coupling: Coupling) -> np.ndarray:
        """Targets that depend on each other, of all rows, each of which takes one number."""
        step = max(1, _UNIFORM_BYTES // (8 * max(coupling.size, len(predictions))))
        parts = [
            predictions.draw(coupling(self.uniforms(first, min(first + step, stop), coupling.size)))
            for first in range(start, stop, step)
        ]
        return np.concatenate(parts)

    def _labels(self, predictions: Bernoulli, start: int, stop: int) -> np.ndarray:
        """The same labels, draw by draw and part by part: numbers that stay in the cache cost half as much."""
        labels = np.empty((stop - start, len(predictions)), dtype=np.uint8)
        parts = [(part, predictions[part]) for part in row_slices(len(predictions), _PART)]

        def draw(row: int) -> None:
            stream, numbers = self._stream(start + row), np.empty((1, _PART))
            for part, batch in parts:
                uniforms = numbers[:, : len(batch)]
                stream.random(out=uniforms)
                labels[row, part] = batch.draw(uniforms)[0]

        threaded_map(draw, range(stop - start), None)
        return labels


class KeptDraws(Draws):
    """Draws whose counts and marks are made once, for several models or several numbers of surprises.

    Parameters
    ----------
    rng, purpose
        As of `Draws`.
    n, draws : int
        Rows, and how many draws there are; of others nothing is kept.
    """

    def __init__(self, rng: Any, purpose: str, n: int, draws: int) -> None:
        super().__init__(rng, purpose)
        self.n, self.draws = n, draws
        self._bound = min(1.0, _LIKELY / n)
        self._found: tuple[Marked, np.ndarray | None] | None = None

    def counts(self, start: int, stop: int, n: int) -> np.ndarray:
        """The same, as they are kept."""
        if n != self.n or stop > self.draws or 2 * n * self.draws > _KEPT_BYTES:
            return super().counts(start, stop, n)
        kept = self._kept()[1]
        assert kept is not None  # for the type checker: they fit
        return kept[start:stop].T.astype(np.float64)

    def marked(self, start: int, stop: int, n: int, share: np.ndarray) -> Marked:
        """The same; others may be among them, whose marks are larger."""
        largest = min(1.0, float(share.max()))
        if n != self.n or stop > self.draws or self.draws * n * largest > _MARKS:
            return super().marked(start, stop, n, share)
        if largest > self._bound:
            self._bound, self._found = min(1.0, 1.5 * largest), None
        found = self._kept()[0]
        inside = slice(*np.searchsorted(found.draws, [start, stop]))
        rows, counts, marks = (column[inside] for column in (found.rows, found.counts, found.marks))
        return Marked(found.draws[inside] - start, rows, counts, marks, found.last[start:stop])

    def _kept(self) -> tuple[Marked, np.ndarray | None]:
        if self._found is None:
            fits = 2 * self.n * self.draws <= _KEPT_BYTES
            kept = np.empty((self.draws, self.n), dtype=np.uint16 if self.n < 2**16 else np.uint32) if fits else None
            self._found = self._marked(0, self.draws, self.n, _all, self._bound, kept)
        return self._found


def _all(rows: np.ndarray, marks: np.ndarray) -> np.ndarray:
    return np.ones(len(rows), dtype=bool)


def _moved(stream: np.random.Generator, state: Any, b: int) -> np.random.Generator:
    """Set a generator, whose state is given, to the first number of draw b: eight times as fast as to make another."""
    state["state"]["counter"] = np.array([0, 0, b, 0], dtype=np.uint64)
    state["buffer_pos"] = WORDS  # nothing is left of what was counted before
    stream.bit_generator.state = state
    return stream


def multinomial_counts(uniforms: np.ndarray) -> np.ndarray:
    """How often each row is drawn, for uniform numbers of shape (B, n): shape (n, B)."""
    draws, n = uniforms.shape
    if n >= _IN_CACHE:
        counts = np.empty((draws, n))
        for own, numbers in zip(counts, uniforms, strict=True):
            own[:] = np.bincount((numbers * n).astype(np.intp), minlength=n)
        return counts.T
    rows = (uniforms * n).astype(np.intp)
    rows += n * np.arange(draws)[:, None]
    return np.bincount(rows.ravel(), minlength=n * draws).reshape(draws, n).T.astype(np.float64)
