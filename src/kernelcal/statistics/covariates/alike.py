"""Sums over pairs of rows that are alike in the columns, with and without their predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernelcal.covariates import Covariate, Covariates
from kernelcal.randomness import generator_of
from kernelcal.statistics.base import Prepared
from kernelcal.statistics.covariates.scores import RowScores

__all__ = ["Between", "PreparedAlike", "kernel_in"]


Between = Callable[[np.ndarray, np.ndarray], np.ndarray]

_FINER, _POWER = 4, 3  # at the median distance itself errors that change sign nearby cancel
_PAIRS = 1_500_000  # pairs times scores up to which all are taken: 1,200 rows of events, 400 of ten classes
_LANDMARKS, _MOST_LANDMARKS, _FEWEST = 256, 1_024, 32
_NUMBERS = 2**26  # that features of one kernel are at most, half a gigabyte, above two million rows more
_MEDIAN_ROWS = 500
_TREES_FROM = 10  # columns
_TREES, _DEPTH, _LEAF = 200, 5, 8  # grown at random: splits on a way, and fewest rows that are split once more
_JITTER = 1e-8


def kernel_in(given: Covariates, weights: np.ndarray | None = None) -> Between:
    """Kernel between rows by their columns; called with row numbers it returns values of shape (rows, others).

    Up to nine columns: ``exp(-4 D / median D)``, D the sum over columns of the distances of standardised numbers, and
    of 1 where categories differ, or where one value is missing: the product of a Laplacian or a kernel of equality a
    column. From ten columns on: the third power of the share of randomly grown trees in which both rows share a leaf. A
    tree splits five times in a row, each time a random column at a random number or group of categories; no target is
    looked at.
    """
    own = np.ones(len(given)) if weights is None else weights
    if len(given.columns) >= _TREES_FROM:
        leaves = leaves_of(given)
        return lambda rows, others: _shared(leaves[rows], leaves[others]) ** _POWER
    parts = [_part(column, own) for column in given.columns]
    counting = np.flatnonzero(own > 0)
    rows = generator_of(0, "rows of a median distance in x").permutation(counting)[:_MEDIAN_ROWS]
    distances = _distance(parts, rows, rows)[np.triu_indices(len(rows), 1)]
    apart = distances[distances > 0]
    scale = float(np.median(apart)) if len(apart) else 1.0
    return lambda rows, others: np.exp(-_FINER * _distance(parts, rows, others) / scale)


Part = tuple[np.ndarray, np.ndarray, bool]


def _part(column: Covariate, weights: np.ndarray) -> Part:
    if column.is_number:
        return column.standardised(weights), column.missing, True
    return column.values, column.missing, False


def _distance(parts: Sequence[Part], rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    total = np.zeros((len(rows), len(others)))
    for values, missing, is_number in parts:
        left, right = values[rows][:, None], values[others][None]
        if is_number:
            apart = np.abs(left - right)
            total += np.where(missing[rows][:, None] | missing[others][None], 0.0, apart)
            total += missing[rows][:, None] != missing[others][None]
        else:
            total += left != right
    return total


def leaves_of(given: Covariates) -> np.ndarray:
    """Leaf of every row in every tree, shape (n, trees), whole numbers."""
    rng = generator_of(0, "trees grown at random on x")
    columns = [np.where(c.missing, -np.inf, c.values) if c.is_number else c.values for c in given.columns]
    numbers = [c.is_number for c in given.columns]
    found = np.zeros((len(given), _TREES), dtype=np.uint16)
    for tree in range(_TREES):
        leaf, waiting, last = found[:, tree], [(np.arange(len(given)), 0)], 0
        while waiting:
            rows, depth = waiting.pop()
            right = _split(rows, columns, numbers, rng) if depth < _DEPTH and len(rows) >= 2 * _LEAF else rows[:0]
            if not len(right):
                continue
            last += 1
            leaf[right] = last
            waiting += [(np.setdiff1d(rows, right, assume_unique=True), depth + 1), (right, depth + 1)]
    return found


def _split(
    rows: np.ndarray, columns: Sequence[np.ndarray], numbers: Sequence[bool], rng: np.random.Generator
) -> np.ndarray:
    """Rows that go to the right; none where the column does not vary."""
    k = int(rng.integers(len(columns)))
    values = columns[k][rows]
    if numbers[k]:
        return np.asarray(rows[values > values[rng.integers(len(rows))]])
    levels = np.unique(values)
    return np.asarray(rows[np.isin(values, levels[rng.random(len(levels)) < 0.5])])


def _shared(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    total = np.zeros((len(left), len(right)), dtype=np.uint16)
    for tree in range(left.shape[1]):
        total += left[:, tree, None] == right[None, :, tree]
    return total / left.shape[1]


class PreparedAlike(Prepared):
    """Sum over kernels of ``sum_{i != j} K_ij <r_i, r_j>``, each divided by its scale under calibration.

    Kernels: between rows by their columns, and the same times one between predictions. The residuals r are the scores
    of a row, each divided by its mean standard deviation. Up to 1,200 rows of one score all pairs are taken, above
    them features of 256 to 1,024 landmark rows, of more than 262,144 rows fewer, chosen by a fixed seed. The scale
    ``(sum_{i != j} (K_ij w_i w_j)^2 v_i v_j)^(1/2)``, with the variance v of the first score, balances the kernels.

    Notes
    -----
    Cost of a draw: ``n^2 S`` or ``J n S`` multiplications a kernel, for S scores.
    """

    names = ("kernels in x",)

    def __init__(
        self, in_x: Between, in_predictions: Between | None, scores: RowScores, weights: np.ndarray | None = None
    ) -> None:
        self.scores, n = scores, scores.variance.shape[1]
        self.weights = np.ones(n) if weights is None else weights
        self.alike = np.array(scores.alike, dtype=np.intp)
        own = np.sqrt(np.maximum(scores.variance[self.alike].mean(axis=1), 1e-300))
        self.unit = np.where(scores.variance[self.alike].max(axis=1, initial=0.0) > 0, own, 1.0)
        every = np.arange(n)
        self.all_pairs = n * n * len(self.alike) <= _PAIRS or n <= _LANDMARKS
        rows = every
        if not self.all_pairs:
            number = int(np.clip(_PAIRS // (n * len(self.alike)), _LANDMARKS, min(n, _MOST_LANDMARKS)))
            number = max(min(number, _NUMBERS // n), _FEWEST)
            rows = np.sort(generator_of(0, "landmark rows in x").choice(n, number, replace=False))
        values = [in_x(every, rows)]
        values += [] if in_predictions is None else [values[0] * in_predictions(every, rows)]
        variance = self.weights**2 * scores.variance[self.alike[0]]
        if self.all_pairs:
            self.parts = [self._pairs(k, variance) for k in values]
        else:
            self.parts = [self._features(k, rows, variance) for k in values]
        self.engine = "all pairs in x" if self.all_pairs else f"{len(rows)} landmark rows in x"
        self.bytes_per_draw = 8 * len(self.alike) * (3 * n + len(rows))

    @staticmethod
    def _pairs(k: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Kernel matrix without its diagonal, over its scale."""
        found = k.copy()
        np.fill_diagonal(found, 0.0)
        scale = float(np.sqrt(variance @ (found**2) @ variance))
        return found / scale if scale > 0 else found

    @staticmethod
    def _features(k: np.ndarray, rows: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Features of all rows by those of landmarks, over the root of the scale."""
        among = k[rows]
        values, vectors = np.linalg.eigh(among + _JITTER * np.trace(among) / len(rows) * np.eye(len(rows)))
        root = vectors / np.sqrt(np.maximum(values, _JITTER * values[-1]))
        found = k @ root
        moment = (found * variance[:, None]).T @ found
        own = (found**2).sum(axis=1)
        scale = float(np.sqrt(max((moment**2).sum() - (own**2) @ variance**2, 0.0)))
        return found / np.sqrt(scale) if scale > 0 else found

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B, 1)."""
        r = self.scores.of(targets)[self.alike] * (self.weights / self.unit[:, None])[:, None, :]
        total = np.zeros(r.shape[1])
        for part in self.parts:
            for own in r:
                if self.all_pairs:
                    total += ((own @ part) * own).sum(axis=1)
                else:
                    total += ((own @ part) ** 2).sum(axis=1) - (own**2) @ (part**2).sum(axis=1)
        return total[:, None]
