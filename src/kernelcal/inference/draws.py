"""Counter-based draws: number b of row i depends on the seed, b and i alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.pairs.threads import threaded_map
from kernelcal.predictions import Bernoulli, Predictions
from kernelcal.randomness import generator_of

__all__ = ["Draws"]

_UNIFORM_BYTES = 2**25
_MANY = 20_000  # rows; below, threads cost more than they save
_PART = 2**15  # rows whose numbers stay in the cache


class Draws:
    """Targets redrawn from the predictions, the predictions held fixed.

    Draw b has its own Philox stream, keyed by the seed and counted from b, so that batch size, tiles and threads
    change no number, and any draw can be made again.

    Parameters
    ----------
    rng : int, numpy.random.SeedSequence, numpy.random.Generator or None
        Source of the key (SPEC 7).
    """

    def __init__(self, rng: Any) -> None:
        self._key = generator_of(rng).integers(2**64, size=2, dtype=np.uint64)

    def uniforms(self, start: int, stop: int, n: int) -> np.ndarray:
        """Uniform numbers of draws start to stop - 1, shape (stop - start, n)."""
        numbers = np.empty((stop - start, n))

        def fill(row: int) -> None:
            self._stream(start + row).random(out=numbers[row])

        threaded_map(fill, range(stop - start), None if n >= _MANY else 1)
        return numbers

    def _stream(self, b: int) -> np.random.Generator:
        """Numbers of draw b, row after row."""
        return np.random.Generator(np.random.Philox(key=self._key, counter=np.array([0, 0, b, 0], dtype=np.uint64)))

    def targets(self, predictions: Predictions, start: int, stop: int) -> np.ndarray:
        """Targets of draws start to stop - 1, shape (stop - start, n, ...), made some draws at a time."""
        if isinstance(predictions, Bernoulli) and len(predictions) >= _MANY:
            return self._labels(predictions, start, stop)
        shape = (len(predictions),) if predictions.uniforms == 1 else (len(predictions), predictions.uniforms)
        size = int(np.prod(shape))
        step = max(1, _UNIFORM_BYTES // (8 * size))
        parts = [
            predictions.draw(self.uniforms(first, min(first + step, stop), size).reshape(-1, *shape))
            for first in range(start, stop, step)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

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
