"""P-values of sums over all places of columns together, from the largest sums of draws, and of flipped signs."""

from __future__ import annotations

import numpy as np

from kernelcal.inference.laws import STOP_ABOVE

__all__ = ["FamilyOfPlaces", "FlippedPlaces"]


class FamilyOfPlaces:
    """P-values of sums over all places together (Westfall-Young, single step, min-p over kinds of places).

    Places of one column are one kind, intersections another. With the largest sums M_bk of B draws a sum w of kind k
    has the rank ``r_k(w) = 1 + #{b: M_bk >= w}``, a draw ``q_b = min_k #{b': M_b'k >= M_bk}``, and the p-value of the
    sum over all places is ``(1 + #{b: q_b <= r_k(w)}) / (B + 1)``.

    Notes
    -----
    Let some places be calibrated, whatever the others are, with largest observed sums V_0k and V_bk in the draws. Put
    draws in the place of the outcomes of all other rows: row 0 is then one more draw, with sums M_0k, and V_0k is what
    it was. The ranks ``min_k #{b' = 0, ..., B: M_b'k >= V_bk}`` of rows 0 to B are exchangeable. That of row 0 is the
    smallest r_k of the calibrated places, and that of a draw is at least q_b, since V_bk is at most M_bk. So the chance
    that any calibrated place has a p-value of at most a is at most a.

    Where a test stopped early, since its p-value was above 0.2, those of places are at least so much: for a <= 0.2 a
    place is then only named after all draws.

    References
    ----------
    Westfall and Young (1993), section 2.3.
    """

    def __init__(self, largest: np.ndarray, *, stopped_early: bool = False) -> None:
        self.ordered = np.sort(largest, axis=0)
        self.draws, self.least = len(largest), STOP_ABOVE if stopped_early else 0.0
        own = np.stack([self._reached(largest[:, k], k) for k in range(largest.shape[1])], axis=1)
        self.smallest = np.sort(own.min(axis=1))

    def _reached(self, values: np.ndarray, kind: int) -> np.ndarray:
        """How many draws are as large, up to rounding."""
        slack = 1e-9 * np.maximum(1.0, np.abs(values))
        return np.asarray(self.draws - np.searchsorted(self.ordered[:, kind], values - slack, side="left"))

    def pvalues(self, values: np.ndarray, kind: int) -> np.ndarray:
        """P-values over all places, of sums of one kind without their signs."""
        rank = 1 + self._reached(values, kind)
        found = (1 + np.searchsorted(self.smallest, rank, side="right")) / (self.draws + 1)
        return np.maximum(found, self.least)

    def critical(self, alpha: float, kind: int = 0) -> float:
        """Largest sum whose p-value is above alpha: the end of the band."""
        values = self.ordered[:, kind]
        inside = values[self.pvalues(values, kind) > alpha]
        return float(inside[-1]) if len(inside) else float(values[0]) if len(values) else 0.0


class FlippedPlaces:
    """P-values of sums over all places by flipped signs of clusters, each sum over the root of its clusters' squares.

    Parameters
    ----------
    largest : numpy.ndarray of shape (draws, kinds)
        Largest sums under flipped signs, without their own signs.
    sums : numpy.ndarray of shape (scores, G, places)
        Sums over clusters, over the root of their squares.
    roots : numpy.ndarray of shape (scores, places)
        These roots, in standard deviations of calibrated, independent rows.
    single : int
        Places of one column; the others are intersections.
    """

    def __init__(self, largest: np.ndarray, sums: np.ndarray, roots: np.ndarray, single: int) -> None:
        self.family, self.roots, self.single = FamilyOfPlaces(largest), roots, single
        self.observed = np.asarray(sums.sum(axis=1))

    def pvalues(self, *, one_sided: bool) -> np.ndarray:
        """P-values of all sums, shape (scores, places)."""
        sizes = np.maximum(self.observed, 0.0) if one_sided else np.abs(self.observed)
        found = np.ones_like(sizes)
        for kind, part in enumerate((slice(0, self.single), slice(self.single, None))):
            if sizes[:, part].size:
                found[:, part] = self.family.pvalues(sizes[:, part].ravel(), kind).reshape(sizes[:, part].shape)
        return found

    def critical(self, alpha: float) -> np.ndarray:
        """Ends of bands, in standard deviations of calibrated, independent rows, shape (scores, places)."""
        return np.asarray(self.family.critical(alpha) * self.roots)
