"""Binned errors of fixed predictions, ready for many sets of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.binning import Binning, Bins
from kernelcal.statistics.base import Prepared
from kernelcal.statistics.bin_table import BinTable
from kernelcal.statistics.distances import distances
from kernelcal.statistics.questions import Part

__all__ = ["BinnedPart", "PreparedECE", "Summary"]

_NUMBERS = 2**21  # frequencies of several draws that are held at a time


@dataclass(frozen=True)
class Summary:
    """How the gaps of the bins become one number."""

    distance: Any
    norm: str
    corrected: bool


class PreparedECE(Prepared):
    """One binned error, the mean over the parts of its question."""

    engine = "one pass"

    def __init__(self, name: str, parts: tuple[BinnedPart, ...], notes: tuple[str, ...]) -> None:
        self.names, self.parts, self.notes = (name,), parts, notes
        self.bytes_per_draw = max(part.bytes_per_draw for part in parts)

    def values(self, labels: np.ndarray) -> np.ndarray:
        """Values for labels of shape (B, n): shape (B, 1)."""
        return np.stack([part.values(labels) for part in self.parts], axis=1).mean(axis=1, keepdims=True)


class BinnedPart:
    """Bins of one comparison: weights and sums of predictions are made once, counts of labels for every draw."""

    def __init__(self, part: Part, binning: Binning, weights: np.ndarray | None, summary: Summary) -> None:
        self.part, self.summary = part, summary
        self.weights = weights if weights is None or part.rows is None else weights[part.rows]
        self.bins = binning.assign(part.p, self.weights)
        self.p = part.p.astype(np.float64, copy=False)
        self.weight = np.bincount(self.bins.index, self.weights, minlength=self.bins.size).astype(np.float64)
        weighted = self.p if self.weights is None else self.p * self.weights[:, None]
        self.sums = _sums(weighted, self.bins)
        self.used = slice(None) if self.weight.all() else np.flatnonzero(self.weight)
        self.bytes_per_draw = 40 * len(self.p)

    def values(self, labels: np.ndarray) -> np.ndarray:
        """Errors for labels of shape (B, n), shape (B,)."""
        step = _NUMBERS // self.sums.size
        return np.concatenate([self._values(self.part.relabel(labels[s])) for s in row_slices(len(labels), step)])

    def estimate(self, labels: np.ndarray) -> tuple[float, BinTable]:
        """Error for labels of shape (n,), and its bins."""
        events = self.part.relabel(labels[None])
        counts = self.counts(events)
        squares = None if self.weights is None else np.bincount(self.bins.index, self.weights**2, len(self.weight))
        table = BinTable(self.part.name, self.bins, self.weight, self.sums, counts[0], squares)
        return float(self._from_counts(counts, events)[0]), table

    def _values(self, events: np.ndarray) -> np.ndarray:
        return self._from_counts(self.counts(events), events)

    def _from_counts(self, counts: np.ndarray, events: np.ndarray) -> np.ndarray:
        weight, sums, counts = self.weight[self.used], self.sums[self.used], counts[:, self.used]
        if self.summary.corrected:
            whole = ((sums - counts) ** 2).sum(axis=-1) / weight
            return (whole.sum(axis=1) - self._own_squares(events)) / weight.sum()
        own = distances(self.summary.distance, sums, counts, weight)
        return own.max(axis=1) if self.summary.norm == "max" else _dot(own, weight) / weight.sum()

    def counts(self, events: np.ndarray) -> np.ndarray:
        """Sums of weights by bin and class (by bin and event), shape (B, bins, d)."""
        draws, (size, d) = len(events), self.sums.shape
        cells = self.bins.index * d + (events if d > 1 else 0) + size * d * np.arange(draws)[:, None]
        w = np.ones(1) if self.weights is None else self.weights
        each = np.broadcast_to(w if d > 1 else events * w, events.shape)
        return np.bincount(cells.ravel(), each.ravel(), draws * size * d).reshape(draws, size, d)

    def _own_squares(self, events: np.ndarray) -> np.ndarray:
        """Sum of ``w_i^2 |p_i - y_i|^2 / w_bin`` over rows: what a pair of a row with itself adds, shape (B,)."""
        w = np.ones(len(self.p)) if self.weights is None else self.weights
        if self.p.shape[1] == 1:
            squares = (self.p[:, 0] - events) ** 2
        else:  # |p - e_y|^2 = |p|^2 - 2 p_y + 1
            squares = (self.p**2).sum(axis=1) - 2 * self.p[np.arange(len(self.p)), events] + 1
        return _dot(squares, np.divide(w**2, self.weight[self.bins.index], out=np.zeros_like(w), where=w > 0))


def _dot(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums of rows; a matrix product would round the same row differently in another batch."""
    return np.asarray((rows * weights).sum(axis=1))


def _sums(values: np.ndarray, bins: Bins) -> np.ndarray:
    """Sums of rows by bin, shape (bins, d): of few columns one by one, else over rows sorted by bin."""
    index, size = bins.index, bins.size
    count = np.bincount(index, minlength=size)
    if values.shape[1] <= 16 or not count.all():
        return np.stack([np.bincount(index, column, minlength=size) for column in values.T], axis=1)
    order = np.argsort(index, kind="stable")
    starts, many = np.cumsum(count) - count, count > 1
    sums = values[order[starts]]  # in a fine grid most rows are alone: copying them is quicker than a sum
    if many.any():
        shared = order[many[index[order]]]
        sums[many] = np.add.reduceat(values[shared], np.flatnonzero(np.diff(index[shared], prepend=-1)), axis=0)
    return sums
