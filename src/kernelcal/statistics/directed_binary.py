"""Directed scores of one probability: with labels 0 and 1 all of them are linear in the labels."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.pairs.threads import threaded_map
from kernelcal.statistics.directed import PreparedScores

__all__ = ["PreparedBinaryScores"]

_AT_ONCE = 2**18  # numbers: 2 MiB


class PreparedBinaryScores(PreparedScores):
    """The same scores as of two classes; many draws are one matrix product in place of look-ups."""

    def counts(self, labels: np.ndarray) -> np.ndarray:
        """How often each class occurs (the sum of its weights), for labels of shape (B, n): shape (B, 2)."""
        positive = labels @ self.weights if self.weights is not None else labels.sum(axis=1, dtype=np.int64)
        total = labels.shape[1] if self.weights is None else self.weights.sum()
        return np.stack([total - positive, positive], axis=1).astype(np.float64)

    def slope(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log score minus its expectation (positive: under-confident) and number of impossible labels: (B,) each."""
        parts = row_slices(labels.shape[1], max(1, _AT_ONCE // max(len(labels), 1)))
        sums = threaded_map(lambda part: labels[:, part].astype(np.float64) @ self._gains[part], parts, None)
        logs, impossible = (np.sum(sums, axis=0) + self._at_zero).T
        return logs - self.expected_score, impossible.astype(np.int64)

    @cached_property
    def _terms(self) -> tuple[np.ndarray, np.ndarray]:
        """Log score and whether the label is impossible, of every row: for label 0 and for label 1, shape (n, 2)."""
        p = to_numpy(self.predictions.probabilities).astype(np.float64)
        logs = np.log(np.where(p > 0, p, 1))
        logs *= 1 if self.weights is None else self.weights[:, None]
        zero, one = (np.stack([logs[:, k], p[:, k] == 0], axis=1) for k in (0, 1))
        return zero, one

    @cached_property
    def _at_zero(self) -> np.ndarray:
        return self._terms[0].sum(axis=0)

    @cached_property
    def _gains(self) -> np.ndarray:
        """What label 1 adds to label 0."""
        return self._terms[1] - self._terms[0]
