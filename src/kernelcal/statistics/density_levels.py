"""Highest-density levels of counts without random numbers: exact sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.predictions import RealPredictions

__all__ = ["DensityRegions", "count_regions", "count_windows"]

_TAIL = 1e-12  # probability of the counts beyond either end that the sums leave out
_SAME = 1e-9  # logarithms of probabilities that are equal but for rounding
_CELLS = 2**20  # counts that are sorted at once


@dataclass(frozen=True, eq=False)
class DensityRegions:
    """Rows inside the regions of L levels and the probabilities of the regions, both of shape (L, n)."""

    inside: np.ndarray
    probability: np.ndarray
    notes: tuple[str, ...] = ()


def count_windows(predictions: RealPredictions) -> tuple[np.ndarray, np.ndarray]:
    """Least count of every row that the sums need and how many counts from there, both of shape (n,)."""
    low, high = (predictions.quantile(level) for level in (_TAIL, 1 - _TAIL))
    return low, high - low + 1


def count_regions(
    predictions: RealPredictions, y: np.ndarray, cs: np.ndarray, low: np.ndarray, widths: np.ndarray
) -> DensityRegions:
    """Sum probabilities in the order of their size: W log W a row with a window of W counts."""
    inside, probability = np.zeros((len(cs), len(y)), dtype=bool), np.zeros((len(cs), len(y)))
    order = np.argsort(widths, kind="stable")  # rows of like widths together: no row pays for a wider one
    for part in row_slices(len(y), int(_CELLS // widths.max())):
        rows = order[part]
        levels, masses = _count_levels(predictions[rows], low[rows], int(widths[rows].max()))
        own = _at(levels, (y - low)[rows])
        for k, c in enumerate(cs):  # a sum that is c but for rounding reaches c
            inside[k, rows] = own < c - _SAME
            probability[k, rows] = (masses * (levels < c - _SAME)).sum(axis=0)
    return DensityRegions(inside, probability)


def _count_levels(predictions: RealPredictions, low: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Levels and probabilities of the counts in the window, both of shape (W, n); equal probabilities share a level."""
    logs = to_numpy(predictions.log_prob(low + np.arange(width)[:, None])).astype(np.float64)
    order = np.argsort(-logs, axis=0, kind="stable")
    ordered = np.take_along_axis(logs, order, axis=0)
    before = np.cumsum(np.exp(ordered), axis=0) - np.exp(ordered)
    with np.errstate(invalid="ignore"):  # counts that cannot occur: -inf minus -inf
        smaller = np.pad(ordered[:-1] - ordered[1:] > _SAME, ((1, 0), (0, 0)))
    first = np.maximum.accumulate(np.where(smaller, np.arange(width)[:, None], 0), axis=0)
    levels = np.empty_like(before)
    np.put_along_axis(levels, order, np.take_along_axis(before, first, axis=0), axis=0)
    return levels, np.exp(logs)


def _at(levels: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Levels of the outcomes; those beyond the window have nearly all of the distribution above them."""
    within = (place >= 0) & (place < len(levels))
    index = np.where(within, place, 0).astype(np.intp)
    return np.where(within, levels[index, np.arange(levels.shape[1])], 1.0)
