"""Bins of stated probabilities: do events of one probability happen as often as it says?"""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import row_slices

__all__ = ["ClassBins", "class_bins", "edges_of"]


_ROWS = 4096
_FEW, _MANY = 2, 20
_ENTRIES = 2**17  # probabilities that edges are made from
# Partitions: bins as a multiple of n^(2/5), and how far places go by ranks, not by width
_ONE, _SEVERAL = ((0.9, 0.0), (1.1, 0.25)), ((0.8, 0.5),)
_SMALLEST = 0.25  # beside the variance of a bin: one that hardly ever holds an event must not rule the sum


def stated(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities whose events are counted: of two classes those of the second, which tell all."""
    return probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities


def class_bins(probabilities: np.ndarray, weights: np.ndarray | None = None) -> tuple[ClassBins, ...]:
    """Partitions of the stated probabilities, from the predictions alone.

    Of one probability there are two, of about ``0.9 n^(2/5)`` equally wide bins and of ``1.1 n^(2/5)`` that are finer
    where rows are: where one has an edge the other has none, and their sum sees more than either. Of several classes
    there is one, of ``0.8 n^(2/5)`` bins. The exponent is that of the best rate over Lipschitz alternatives.

    References
    ----------
    Lee, Huang, Hassani, Dobriban (2023), T-Cal: an optimal test for the calibration of predictive models.
    """
    ways = _ONE if probabilities.shape[1] == 2 else _SEVERAL
    return tuple(ClassBins(edges_of(probabilities, weights, *way), probabilities, weights) for way in ways)


def edges_of(probabilities: np.ndarray, weights: np.ndarray | None, rate: float, by_rank: float) -> np.ndarray:
    """Inner edges of ``rate n^(2/5)`` bins, at most 19 increasing numbers.

    A probability's place is partly its distance from the smallest one, as a share of their range, and to the share
    `by_rank` its rank among all, which weights count. Probabilities 0 and 1 take no part.
    """
    number = int(np.clip(round(rate * len(probabilities) ** 0.4), _FEW, _MANY))
    rows = slice(None, None, -(-stated(probabilities).size // _ENTRIES))
    p = stated(probabilities[rows]).astype(np.float64)
    mass = np.broadcast_to(1.0 if weights is None else weights[rows, None], p.shape)
    inside = (p > 0) & (p < 1) & (mass > 0)
    p, mass = p[inside], mass[inside]
    order = np.argsort(p, kind="stable")
    p, mass = p[order], mass[order]
    if len(p) == 0 or p[0] == p[-1]:
        return np.empty(0)
    ranks = (np.cumsum(mass) - mass / 2) / mass.sum()
    places = by_rank * ranks + (1 - by_rank) * (p - p[0]) / (p[-1] - p[0])
    return np.unique(np.interp(np.arange(1, number) / number, places, p))


class ClassBins:
    """Bins of fixed predictions: what each expects, and which one a label falls into.

    Attributes
    ----------
    index : numpy.ndarray of uint8, shape (n, m)
        Bin of every probability; of two classes the first has none of its own, one past the last.
    expected, variance : numpy.ndarray of shape (number,)
        Of the events in every bin, which count their weights.
    """

    def __init__(self, edges: np.ndarray, probabilities: np.ndarray, weights: np.ndarray | None) -> None:
        self.weights, self.number = weights, len(edges) + 1
        n, m = probabilities.shape
        self.index = np.empty((n, m), dtype=np.uint8)
        self.expected, self.variance = np.zeros(self.number), np.zeros(self.number)
        for part in row_slices(n, _ROWS):
            p = probabilities[part].astype(np.float64)
            self.index[part] = np.searchsorted(edges, p, side="right")
            if m == 2:
                self.index[part, 0] = self.number
            w = np.ones(len(p)) if weights is None else weights[part]
            rows = np.arange(len(p))[:, None] * (self.number + 1)
            held = np.bincount((rows + self.index[part]).ravel(), p.ravel(), minlength=len(p) * (self.number + 1))
            shares = held.reshape(len(p), -1)[:, : self.number]
            self.expected += w @ shares
            self.variance += w**2 @ np.maximum(shares * (1 - shares), 0.0)

    def counts(self, bins: np.ndarray, rows: slice) -> np.ndarray:
        """Events in every bin, of some rows whose labels fall into bins of shape (B, rows): shape (B, number)."""
        draws, columns = len(bins), self.number + 1
        offsets = columns * np.arange(draws, dtype=np.int64)[:, None]
        w = None if self.weights is None else np.tile(self.weights[rows], draws)
        counts = np.bincount((bins + offsets).ravel(), w, minlength=draws * columns)
        return counts.reshape(draws, columns)[:, : self.number].astype(np.float64)

    def chi_square(self, counts: np.ndarray) -> np.ndarray:
        """``sum_b (N_b - E_b)^2 / (V_b + 1/4)`` of counts of shape (B, number): shape (B,)."""
        return ((counts - self.expected) ** 2 / (self.variance + _SMALLEST)).sum(axis=1)
