"""Bins between given edges, between quantiles, and of equal mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelcal.binning.base import Binning, Bins, checked_choice, checked_count, grid, one_column
from kernelcal.errors import InputError

__all__ = ["EdgeBins", "EqualMassBins", "QuantileBins"]


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
    >>> from kernelcal.binning import EdgeBins
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
    >>> from kernelcal.binning import QuantileBins
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
        values = np.asarray(edges, dtype=np.float64)
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
        return Bins(number[place], len(kept), values[first].astype(np.float64), values[last].astype(np.float64))

    def __str__(self) -> str:
        return f"{self.bins} equal-mass bins"
