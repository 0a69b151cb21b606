"""Rows that were sorted by what happened: their order tells outcomes, and experts learn it."""

from __future__ import annotations

import numpy as np

from kernelcal.monitor.cells import CellBets, Kind
from kernelcal.monitor.wealth import log_sums

__all__ = ["sorted_by_outcome"]


_EITHER = 10  # rows on both sides of a border between labels
_PAIRS = 20  # of neighbours whose predictions say the opposite
_CHANCE = 1e-6


def sorted_by_outcome(bets: CellBets, targets: np.ndarray, kind: Kind) -> str:
    """Return what was seen of an order by outcomes that predictions do not explain, in words; empty without it.

    Labels in one block each: of the border nearest to the middle, the chance under independent predictions that no
    label of one side comes after one of the other, ``sum_k prod_(i<=k) a_i prod_(i>k) (1 - a_i)``, for either side
    first, is at most 1e-6. Numbers in ascending or descending order: of 20 pairs of neighbours without common rows or
    more, the prediction lies the other way, or in the same place; each has a chance of about one half at most.
    """
    if kind.ordered:
        return _numbers(bets, targets.astype(np.float64))
    return _labels(bets)


def _labels(bets: CellBets) -> str:
    borders = np.flatnonzero(np.diff(bets.low)) + 1
    if len(bets) < 2 * _EITHER or not len(borders) or len(borders) + 1 != len(np.unique(bets.low)):
        return ""
    border = int(borders[np.abs(borders - len(bets) / 2).argmin()])
    if min(border, len(bets) - border) < _EITHER:
        return ""
    first = np.clip(bets.p[:, np.unique(bets.low[:border])].sum(axis=1), 1e-300, 1.0)
    inside, outside = np.log(first), np.log(np.clip(1 - first, 1e-300, 1.0))
    chance = np.logaddexp(_one_then_other(inside, outside), _one_then_other(outside, inside))
    if chance > np.log(_CHANCE):
        return ""
    return "every label stands in one block of rows"


def _one_then_other(one: np.ndarray, other: np.ndarray) -> float:
    """Logarithm of the chance that rows are of one side up to some row, and of the other from there on."""
    upto = np.concatenate([[0.0], one.cumsum()])
    rest = np.concatenate([other[::-1].cumsum()[::-1], [0.0]])
    return float(log_sums(upto + rest))


def _numbers(bets: CellBets, y: np.ndarray) -> str:
    steps = np.diff(y)
    rising, falling = bool((steps >= 0).all()), bool((steps <= 0).all())
    if len(y) < 2 * _PAIRS or rising == falling:
        return ""
    place = bets.features[:, 0] if rising else -bets.features[:, 0]
    against, pairs = np.diff(place) <= 0, 0
    row = 0
    while row < len(against):
        pairs, row = pairs + against[row], row + 1 + against[row]
    return f"outcomes {'rise' if rising else 'fall'} from row to row" if pairs >= _PAIRS else ""
