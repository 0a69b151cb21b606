"""Counter-based draws: number b of row i depends on the seed, b and i alone."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.dependence import Coupling
from kernelcal.pairs import threaded_map
from kernelcal.predictions import Bernoulli
from kernelcal.randomness import generator_of

__all__ = ["WORDS", "Drawable", "Draws", "multinomial_counts", "philox_words"]


WORDS = 4  # 64-bit numbers that one count of the counter gives

_ROUNDS = 10

_MULTIPLIERS = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)

_WEYL = np.array([0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B], dtype=np.uint64)

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)

_UNIFORM_BYTES = 2**25

_MANY = 20_000  # rows; below, threads cost more than they save

_IN_CACHE = 2**10  # rows from which counts are made draw by draw: arrays of all draws leave the cache

_PART = 2**15  # rows whose numbers stay in the cache

Rows = range | np.ndarray | None


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
    change no number, and any draw can be made again, as a whole or for some rows.

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

    def uniforms(self, start: int, stop: int, n: int, first: int = 0) -> np.ndarray:
        """Uniform numbers `first` to `first + n - 1` of draws start to stop - 1, shape (stop - start, n)."""
        numbers = np.empty((stop - start, n))
        if n >= _MANY:
            threaded_map(
                lambda row: self._stream(start + row, first).random(out=numbers[row]), range(stop - start), None
            )
        else:
            stream = self._stream(start, first)
            state = stream.bit_generator.state
            for row in range(stop - start):
                _moved(stream, state, start + row, first).random(out=numbers[row])
        return numbers

    def resampled(self, start: int, stop: int, n: int, more: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """How often each of n rows is drawn with replacement, shape (n, draws), and the uniform numbers themselves.

        `more` numbers come after the n of every draw, for what is done with drawn rows.
        """
        numbers = self.uniforms(start, stop, n + more)
        return multinomial_counts(numbers[:, :n]), numbers

    def uniforms_at(self, start: int, stop: int, positions: np.ndarray) -> np.ndarray:
        """Return the same numbers at any positions, shape (stop - start, ...)."""
        return np.stack([_philox_doubles(self._key, b, positions) for b in range(start, stop)])

    def _stream(self, b: int, first: int) -> np.random.Generator:
        """Numbers of draw b from one on."""
        stream = np.random.Generator(np.random.Philox(key=self._key))
        return _moved(stream, stream.bit_generator.state, b, first)

    def targets(self, predictions: Drawable, start: int, stop: int, rows: Rows = None) -> np.ndarray:
        """Targets of draws start to stop - 1, shape (stop - start, n, ...), made some draws at a time.

        `rows` says which rows of a larger whole these are: consecutive ones, or any whole numbers from 0. A row gets
        the same target in every draw, whatever batch it comes with. Default: the rows 0 to n - 1.
        """
        consecutive = rows is None or isinstance(rows, range)
        if self.coupling is not None:
            return self._coupled(predictions, start, stop, self.coupling)
        if isinstance(predictions, Bernoulli) and len(predictions) >= _MANY and consecutive:
            return self._labels(predictions, start, stop, rows.start if isinstance(rows, range) else 0)
        shape = (len(predictions),) if predictions.uniforms == 1 else (len(predictions), predictions.uniforms)
        size = int(np.prod(shape))
        step = max(1, _UNIFORM_BYTES // (8 * size))
        parts = [
            predictions.draw(self._of_rows(first, min(first + step, stop), rows, size).reshape(-1, *shape))
            for first in range(start, stop, step)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _coupled(self, predictions: Drawable, start: int, stop: int, coupling: Coupling) -> np.ndarray:
        """Targets that depend on each other, of all rows, each of which takes one number."""
        step = max(1, _UNIFORM_BYTES // (8 * max(coupling.size, len(predictions))))
        parts = [
            predictions.draw(coupling(self.uniforms(first, min(first + step, stop), coupling.size)))
            for first in range(start, stop, step)
        ]
        return np.concatenate(parts)

    def _labels(self, predictions: Bernoulli, start: int, stop: int, first: int) -> np.ndarray:
        """The same labels, draw by draw and part by part: numbers that stay in the cache cost half as much."""
        labels = np.empty((stop - start, len(predictions)), dtype=np.uint8)
        parts = [(part, predictions[part]) for part in row_slices(len(predictions), _PART)]

        def draw(row: int) -> None:
            stream, numbers = self._stream(start + row, first), np.empty((1, _PART))
            for part, batch in parts:
                uniforms = numbers[:, : len(batch)]
                stream.random(out=uniforms)
                labels[row, part] = batch.draw(uniforms)[0]

        threaded_map(draw, range(stop - start), None)
        return labels

    def _of_rows(self, start: int, stop: int, rows: Rows, size: int) -> np.ndarray:
        """Numbers of some rows, each of which takes equally many, shape (stop - start, size)."""
        if rows is None:
            return self.uniforms(start, stop, size)
        each = size // len(rows)
        if isinstance(rows, range):
            return self.uniforms(start, stop, size, rows.start * each)
        return self.uniforms_at(start, stop, (rows[:, None] * each + np.arange(each)).ravel())


def _moved(stream: np.random.Generator, state: Any, b: int, first: int) -> np.random.Generator:
    """Set a generator, of which a state is given, to a number of draw b: eight times as fast as to make another."""
    state["state"]["counter"] = np.array([first // WORDS, 0, b, 0], dtype=np.uint64)
    state["buffer_pos"] = WORDS  # nothing is left of what was counted before
    stream.bit_generator.state = state
    if first % WORDS:
        stream.random(first % WORDS)
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


def _philox_doubles(key: np.ndarray, stream: int, positions: np.ndarray) -> np.ndarray:
    """Uniform numbers in [0, 1) at some positions of the stream whose counter begins with (0, 0, stream, 0).

    Parameters
    ----------
    key : numpy.ndarray of 2 uint64
        Key of the generator.
    stream : int
        Third word of the counter.
    positions : numpy.ndarray of int64, any shape
        Places in the stream, from 0.

    Returns
    -------
    numpy.ndarray
        What ``numpy.random.Generator(numpy.random.Philox(key=key, counter=[0, 0, stream, 0])).random()`` gives when it
        is called for the position-th time.

    Notes
    -----
    Philox4x64 with 10 rounds. Some 50 times as long a number as numbers in a row: for rows in any order.

    References
    ----------
    Salmon, Moraes, Dror, Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
    """
    counts, place = np.unique(positions // WORDS, return_inverse=True)
    first = counts.astype(np.uint64) + np.uint64(1)  # NumPy counts before it computes
    words = philox_words(key, first, np.zeros_like(first), np.full_like(first, stream))
    chosen = words[positions % WORDS, place.reshape(positions.shape)]
    return (chosen >> np.uint64(11)) * 2.0**-53


def philox_words(key: np.ndarray, first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
    """The four words of every counter (first, second, third, 0), shape (4, n)."""
    keys = key + np.arange(_ROUNDS, dtype=np.uint64)[:, None] * _WEYL  # wraps round, as it should
    a, b, c, d = first, second, third, np.zeros_like(first)
    for k in keys:
        high_a, low_a = _product(a, _MULTIPLIERS[0])
        high_c, low_c = _product(c, _MULTIPLIERS[1])
        a, b, c, d = high_c ^ b ^ k[0], low_c, high_a ^ d ^ k[1], low_a
    return np.stack([a, b, c, d])


def _product(x: np.ndarray, factor: np.uint64) -> tuple[np.ndarray, np.ndarray]:
    """High and low 64 bits of a product, from the products of halves."""
    x_low, x_high = x & _LOW, x >> _HALF
    f_low, f_high = factor & _LOW, factor >> _HALF
    middle = x_high * f_low + ((x_low * f_low) >> _HALF)
    other = x_low * f_high + (middle & _LOW)
    return x_high * f_high + (middle >> _HALF) + (other >> _HALF), x * factor
