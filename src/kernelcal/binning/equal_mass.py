"""Bins of equal mass that keep equal values together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.binning.base import Binning, Bins, checked_count, one_column

__all__ = ["EqualMassBins"]

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
