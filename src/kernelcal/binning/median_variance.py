"""Bins by repeated splits at the median of the component that varies most."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from kernelcal.binning.base import Binning, Bins, checked_count
from kernelcal.errors import InputError

__all__ = ["MedianVarianceBins"]


_EQUAL = 1 - 1e-12  # the two columns p and 1 - p vary alike: rounding, and so the order of rows, must not choose


@dataclass(frozen=True)
class MedianVarianceBins(Binning):
    """Bins that follow the predictions: the set whose largest variance is largest is split at the median.

    A set of rows waits with the largest of the variances of its components. The set with the largest one is split at
    the median of that component: with m sorted values ``x_1, ..., x_m`` and ``c = floor(m / 2) + 1``, the lower part
    holds the first ``c - 1`` rows if ``x_{c-1} < x_c``, else all rows strictly below ``x_c``, so that equal values
    stay together. Of components that vary alike the first is taken.

    Parameters
    ----------
    min_size : int
        Rows that a bin must have. A split with a smaller part is not made, and a set of fewer than twice as many rows
        is final.
    max_bins : int, optional
        Splitting stops at so many bins.

    Raises
    ------
    InputError
        If there are fewer rows than `min_size`, or an argument is not a whole number above 0.

    Notes
    -----
    Case weights do not change the bins: they are made of rows. Cost: O(n d log(n / min_size)).

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), section J.1.1.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> p = np.array([[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9], [0.8, 0.1, 0.1]])
    >>> kc.binning.MedianVarianceBins(min_size=2).assign(p).index
    array([1, 1, 0, 1, 0])
    """

    min_size: int = 10
    max_bins: int | None = None

    def __post_init__(self) -> None:
        checked_count(self.min_size, "min_size", "MedianVarianceBins(min_size=10)")
        if self.max_bins is not None:
            checked_count(self.max_bins, "max_bins", "MedianVarianceBins(max_bins=100), or None for no limit")

    def assign(self, p: np.ndarray, weights: np.ndarray | None = None) -> Bins:
        """Bins of predictions of shape (n, d)."""
        if len(p) < self.min_size:
            raise InputError(
                f"MedianVarianceBins(min_size={self.min_size}) needs at least {self.min_size} rows, got {len(p)}: "
                "lower min_size"
            )
        sets = self._split(p)
        index = np.empty(len(p), dtype=np.int64)
        for number, rows in enumerate(sets):
            index[rows] = number
        if p.shape[1] > 1:
            return Bins(index, len(sets))
        return _ordered(index, [p[rows, 0] for rows in sets])

    def _split(self, p: np.ndarray) -> list[np.ndarray]:
        """Sets of rows in the order in which they become final."""
        final: list[np.ndarray] = []
        queue = _Queue(p)
        (queue.push if len(p) >= 2 * self.min_size else final.append)(np.arange(len(p)))
        while queue and len(queue) + len(final) < (self.max_bins or np.inf):
            rows, column = queue.pop()
            parts = _halves(rows, column)
            if min(map(len, parts)) < self.min_size:
                final.append(rows)
                continue
            for part in parts:
                (queue.push if len(part) >= 2 * self.min_size else final.append)(part)
        return final + [queue.pop()[0] for _ in range(len(queue))]

    def __str__(self) -> str:
        limit = "" if self.max_bins is None else f", at most {self.max_bins}"
        return f"median-variance bins of at least {self.min_size} rows{limit}"


class _Queue:
    """Sets of rows, the one with the largest variance of a component first; of equal ones the older."""

    def __init__(self, p: np.ndarray) -> None:
        self.p, self.heap, self.pushed = p, list[tuple[float, int, np.ndarray, int]](), 0

    def __len__(self) -> int:
        return len(self.heap)

    def push(self, rows: np.ndarray) -> None:
        """Add a set."""
        variance = _variance(self.p[rows])
        column = int(np.argmax(variance >= _EQUAL * variance.max()))
        heapq.heappush(self.heap, (-float(variance[column]), self.pushed, rows, column))
        self.pushed += 1

    def pop(self) -> tuple[np.ndarray, np.ndarray]:
        """Take the first set: its rows, and their values of the component that varies most."""
        _, _, rows, column = heapq.heappop(self.heap)
        return rows, self.p[rows, column]


def _variance(values: np.ndarray) -> np.ndarray:
    """Variance of each column with ddof 1; `values` is overwritten."""
    values = values.astype(np.float64, copy=False)
    values -= values.mean(axis=0)
    return np.einsum("ij,ij->j", values, values) / max(len(values) - 1, 1)


def _halves(rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows below and from the median; rows of equal value stay together, and the order of rows is kept."""
    median = np.partition(values, len(values) // 2)[len(values) // 2]  # x_c, counted from 1
    below = values < median
    return rows[below], rows[~below]


def _ordered(index: np.ndarray, groups: list[np.ndarray]) -> Bins:
    """Bins of one probability in rising order; their edges are the smallest and the largest value."""
    lower = np.array([values.min() for values in groups], dtype=np.float64)
    upper = np.array([values.max() for values in groups], dtype=np.float64)
    order = np.argsort(lower)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Bins(place[index], len(order), lower[order], upper[order])
