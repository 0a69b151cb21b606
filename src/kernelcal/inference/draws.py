"""Counter-based draws: number b of row i depends on the seed, b and i alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.inference.philox import WORDS, philox_doubles
from kernelcal.pairs.threads import threaded_map
from kernelcal.predictions import Bernoulli, Predictions
from kernelcal.randomness import generator_of

__all__ = ["Draws", "multinomial_counts"]

_UNIFORM_BYTES = 2**25
_MANY = 20_000  # rows; below, threads cost more than they save
_PART = 2**15  # rows whose numbers stay in the cache

Rows = range | np.ndarray | None


class Draws:
    """Targets redrawn from the predictions, the predictions held fixed.

    Draw b has its own Philox stream, keyed by the seed and counted from b, so that batch size, tiles and threads
    change no number, and any draw can be made again, as a whole or for some rows.

    Parameters
    ----------
    rng : int, numpy.random.SeedSequence, numpy.random.Generator or None
        Source of the key (SPEC 7).
    """

    def __init__(self, rng: Any) -> None:
        self._key = generator_of(rng).integers(2**64, size=2, dtype=np.uint64)

    def uniforms(self, start: int, stop: int, n: int, first: int = 0) -> np.ndarray:
        """Uniform numbers `first` to `first + n - 1` of draws start to stop - 1, shape (stop - start, n)."""
        numbers = np.empty((stop - start, n))

        def fill(row: int) -> None:
            self._stream(start + row, first).random(out=numbers[row])

        threaded_map(fill, range(stop - start), None if n >= _MANY else 1)
        return numbers

    def uniforms_at(self, start: int, stop: int, positions: np.ndarray) -> np.ndarray:
        """Return the same numbers at any positions, shape (stop - start, ...)."""
        return np.stack([philox_doubles(self._key, b, positions) for b in range(start, stop)])

    def _stream(self, b: int, first: int) -> np.random.Generator:
        """Numbers of draw b from one on."""
        counter = np.array([first // WORDS, 0, b, 0], dtype=np.uint64)
        stream = np.random.Generator(np.random.Philox(key=self._key, counter=counter))
        stream.random(first % WORDS)
        return stream

    def targets(self, predictions: Predictions, start: int, stop: int, rows: Rows = None) -> np.ndarray:
        """Targets of draws start to stop - 1, shape (stop - start, n, ...), made some draws at a time.

        `rows` says which rows of a larger whole these are: consecutive ones, or any whole numbers from 0. A row gets
        the same target in every draw, whatever batch it comes with. Default: the rows 0 to n - 1.
        """
        consecutive = rows is None or isinstance(rows, range)
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


def multinomial_counts(uniforms: np.ndarray) -> np.ndarray:
    """How often each row is drawn, for uniform numbers of shape (B, n): shape (n, B)."""
    draws, n = uniforms.shape
    rows = (uniforms * n).astype(np.intp)
    rows += n * np.arange(draws)[:, None]
    return np.bincount(rows.ravel(), minlength=n * draws).reshape(draws, n).T.astype(np.float64)
