"""Bins between edges: given ones, quantiles, those of equal mass, and medians of the component that varies most."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelcal.arrays import numbers
from kernelcal.binning.base import Binning, Bins, checked_choice, checked_count, grid, one_column
from kernelcal.errors import InputError

__all__ = ["EdgeBins", "EqualMassBins", "MedianVarianceBins", "QuantileBins"]


@dataclass(frozen=True)
class EdgeBins(Binning):
    """Bins between given edges, for every component.

    Parameters
    ----------
    edges : sequence of float
        Rising from 0 to 1, both included.
    closed : {"right", "left"}
        Which end belongs to a bin. The point that is left over, 0 for ``right`` and 1 for ``left``, joins its
        neighbours unless `lone_end` is true.
    lone_end : bool
        Give the point that is left over a bin of its own, as MAPIE does with 0 and torchmetrics with 1.

    Raises
    ------
    InputError
        If the edges do not rise from 0 to 1.

    Notes
    -----
    Edges are compared in the precision of the predictions.

    Examples
    --------
    >>> import numpy as np

    from kernelcal.arrays import numbers    >>> from kernelcal.binning import EdgeBins
    >>> p = np.array([[0.0], [0.5], [0.95], [1.0]])
    >>> EdgeBins([0, 0.5, 0.9, 1]).assign(p).index
    array([0, 0, 2, 2])
    >>> EdgeBins([0, 0.5, 0.9, 1], closed="left", lone_end=True).assign(p).index
    array([0, 1, 2, 3])
    """

    edges: Sequence[float]
    closed: str = "right"
    lone_end: bool = False

    def __post_init__(self) -> None:
        values = _numbers(self.edges)
        object.__setattr__(self, "edges", tuple(values.tolist()))
        checked_choice(self.closed, "closed", ("right", "left"))

    def assign(self, p: np.ndarray, weights: np.ndarray | None = None) -> Bins:
        """Bins of predictions of shape (n, d)."""
        return _between(p, np.asarray(self.edges, dtype=p.dtype), self.closed, self.lone_end)

    def __str__(self) -> str:
        return f"{len(self.edges) - 1} bins with given edges" + _ends(self.closed, self.lone_end)


@dataclass(frozen=True)
class QuantileBins(Binning):
    """Bins between linearly interpolated quantiles of one probability, as in scikit-learn, MAPIE and netcal.

    Ties make edges coincide, and bins become empty or of unequal mass; `EqualMassBins` counts ties evenly.

    Parameters
    ----------
    bins : int
        Number of bins between quantiles at 0, 1 / bins, ..., 1.
    closed, lone_end
        As for `EdgeBins`; the point that is left over is the smallest or the largest value.

    Raises
    ------
    InputError
        For questions with several probabilities a row, and for case weights.

    Examples
    --------
    >>> import numpy as np

    from kernelcal.arrays import numbers    >>> from kernelcal.binning import QuantileBins
    >>> QuantileBins(2).assign(np.array([[0.1], [0.2], [0.7], [0.9]])).index
    array([0, 0, 1, 1])
    """

    bins: int = 15
    closed: str = "right"
    lone_end: bool = False

    def __post_init__(self) -> None:
        checked_count(self.bins, "bins", "QuantileBins(15)")
        checked_choice(self.closed, "closed", ("right", "left"))

    def assign(self, p: np.ndarray, weights: np.ndarray | None = None) -> Bins:
        """Bins of predictions of shape (n, 1)."""
        if weights is not None:
            raise InputError("QuantileBins knows no case weights: use EqualMassBins, whose bins have equal weight")
        edges = np.percentile(one_column(p, self), np.linspace(0, 1, self.bins + 1) * 100)
        return _between(p, edges.astype(p.dtype), self.closed, self.lone_end)

    def __str__(self) -> str:
        return f"{self.bins} bins between quantiles" + _ends(self.closed, self.lone_end)


def _between(p: np.ndarray, edges: np.ndarray, closed: str, lone_end: bool) -> Bins:
    """Binary search; without a lone end the outer edges are left out, so that every value has a bin."""
    side = "left" if closed == "right" else "right"
    inner = edges[1:-1] if not lone_end else edges[:-1] if closed == "right" else edges[1:]
    lower, upper = edges[:-1], edges[1:]
    if lone_end and closed == "right":
        lower, upper = np.concatenate([edges[:1], lower]), np.concatenate([edges[:1], upper])
    elif lone_end:
        lower, upper = np.concatenate([lower, edges[-1:]]), np.concatenate([upper, edges[-1:]])
    places = np.searchsorted(inner, p, side=side)  # type: ignore[call-overload]
    return grid(places, lower.astype(np.float64), upper.astype(np.float64))


def _numbers(edges: Sequence[float]) -> np.ndarray:
    try:
        values = numbers(edges)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or len(values) < 2 or values[0] != 0 or values[-1] != 1 or not np.all(np.diff(values) > 0):
        raise InputError(f"edges must rise from 0 to 1, for example [0, 0.5, 0.9, 1], got {edges!r:.80}")
    return values


def _ends(closed: str, lone_end: bool) -> str:
    text = ", closed on the left" if closed == "left" else ""
    if not lone_end:
        return text
    return f"{text}, and one for {'the smallest' if closed == 'right' else 'the largest'} value alone"


_ROUNDING = 1e-9  # sums of weights carry rounding errors, which must not move a value over an edge


@dataclass(frozen=True)
class EqualMassBins(Binning):
    """Bins of equal mass, for questions about one probability; equal values are never split.

    The value v lies in bin ``floor(B r(v))`` (from 0), where ``r(v)`` is its mid-rank: the share of rows (of the total
    weight) below v plus half the share equal to v.

    Parameters
    ----------
    bins : int
        Number B of bins. With fewer distinct values, or many ties, there are fewer: only bins that hold a row are
        kept, and their edges are the smallest and the largest value inside.

    Raises
    ------
    InputError
        If `bins` is not a whole number above 0, or for questions with several probabilities a row.

    Notes
    -----
    Cost: one sort.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> kc.EqualMassBins(2).assign(np.array([[0.1], [0.2], [0.2], [0.9]])).index
    array([0, 1, 1, 1])
    """

    bins: int = 15

    def __post_init__(self) -> None:
        checked_count(self.bins, "bins", "EqualMassBins(15)")

    def assign(self, p: np.ndarray, weights: np.ndarray | None = None) -> Bins:
        """Bins of predictions of shape (n, 1)."""
        values, place = np.unique(one_column(p, self), return_inverse=True)
        mass = np.bincount(place, weights, minlength=len(values)).astype(np.float64)
        middle = np.cumsum(mass) - mass / 2
        bins = np.minimum(np.floor(self.bins * middle / mass.sum() + _ROUNDING), self.bins - 1)  # largest, of weight 0
        kept, number = np.unique(bins, return_inverse=True)
        first = np.searchsorted(number, np.arange(len(kept)))
        last = np.append(first[1:], len(values)) - 1
        for k in np.unique(number[mass == 0]):  # rows of weight 0 move no edge of a bin that has others
            counted = np.flatnonzero((number == k) & (mass > 0))
            first[k], last[k] = (counted[0], counted[-1]) if len(counted) else (first[k], last[k])
        return Bins(number[place], len(kept), values[first].astype(np.float64), values[last].astype(np.float64))

    def __str__(self) -> str:
        return f"{self.bins} equal-mass bins"


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
    Case weights do not change the bins: they are made of rows with a weight above 0. Cost: O(n d log(n / min_size)).

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
        if weights is not None and not np.all(weights > 0):
            return self._without(p, weights > 0)
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

    def _without(self, p: np.ndarray, counted: np.ndarray) -> Bins:
        """Bins of the rows that weigh anything; each of the others joins the bin of the nearest one."""
        from scipy.spatial import KDTree  # imported when needed: the import of kernelcal stays light

        bins = self.assign(p[counted])
        index = np.empty(len(p), dtype=np.int64)
        index[counted] = bins.index
        index[~counted] = bins.index[KDTree(p[counted]).query(p[~counted])[1]]
        return Bins(index, bins.size, bins.lower, bins.upper)

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
