"""Bins between given edges, or between quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelcal.binning.base import Binning, Bins, checked_choice, checked_count, one_column
from kernelcal.binning.cells import grid
from kernelcal.errors import InputError

__all__ = ["EdgeBins", "QuantileBins"]


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
