"""Counter-based draws: number b of row i depends on the seed, b and i alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.predictions import Predictions
from kernelcal.randomness import generator_of

__all__ = ["Draws"]

_UNIFORM_BYTES = 2**25


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
        for row, b in zip(numbers, range(start, stop), strict=True):
            stream = np.random.Philox(key=self._key, counter=np.array([0, 0, b, 0], dtype=np.uint64))
            np.random.Generator(stream).random(out=row)
        return numbers

    def targets(self, predictions: Predictions, start: int, stop: int) -> np.ndarray:
        """Targets of draws start to stop - 1, shape (stop - start, n, ...), made some draws at a time."""
        shape = (len(predictions),) if predictions.uniforms == 1 else (len(predictions), predictions.uniforms)
        size = int(np.prod(shape))
        step = max(1, _UNIFORM_BYTES // (8 * size))
        parts = [
            predictions.draw(self.uniforms(first, min(first + step, stop), size).reshape(-1, *shape))
            for first in range(start, stop, step)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
