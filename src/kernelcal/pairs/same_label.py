"""Many draws, many classes: only pairs of equal labels change from draw to draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kernelcal.arrays import Array, to_numpy
from kernelcal.kernels.base import Kernel
from kernelcal.pairs.base import QuadraticForms, Sums
from kernelcal.pairs.blocks import Block, BlockPoints
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import ClassResidual

__all__ = ["PRODUCT", "SameLabel", "lookup_cost"]

PRODUCT = 1.6e-11  # seconds of a pair of rows and a residual feature in a product with many columns, for half the pairs

_BUDGET = 2**28  # bytes for the kernel matrices, which are one tile here
_LOOKUP = 5.6e-9  # seconds (measured with four kernels)
_PAIRS_AT_ONCE = 2**21


class SameLabel(QuadraticForms):
    """Sums for the Dirac kernel by the same-label trick.

    ``sum_{i != j} K_ij <r_i, r_j> = sum_{i != j} K_ij 1[y_i = y_j] - 2 sum_i G_{i, y_i} + c`` with ``G = K0 P``
    and ``c = tr(P' K0 P)``, K0 being K without its diagonal and, with case weights, times w_i w_j. G and c are
    computed once; a draw costs about n^2 / m look-ups in place of n^2 m multiplications.
    """

    label = "exact pairs of equal labels"

    def __init__(
        self, kernels: Sequence[Kernel], points: BlockPoints, diagonals: Sequence[Array], residual: ClassResidual
    ) -> None:
        self.residual, self.diagonals = residual, diagonals
        p, everything = to_numpy(residual.mean), slice(None)
        block = Block(points, everything, everything, shared=len(kernels) > 1)
        matrices = [_weighted(_without_diagonal(kernel.evaluate(block)), residual.weights) for kernel in kernels]
        self.smoothed = [matrix @ p for matrix in matrices]
        self.constants = [float((p * g).sum()) for g in self.smoothed]
        self.values = np.stack(matrices, axis=-1).reshape(-1, len(kernels))  # a look-up finds all kernels together
        self.bytes_per_draw = 64 * len(p)

    @staticmethod
    def worthwhile(kernels: Sequence[Kernel], predictions: ClassPredictions, residual: ClassResidual) -> bool:
        """Tell whether the kernel matrices fit the budget and looking up is cheaper than multiplying."""
        if residual.class_features is not None:
            return False
        product = PRODUCT * float(len(predictions)) ** 2 * residual.dimension
        return lookup_cost(len(kernels), predictions) < product

    def of(self, labels: np.ndarray) -> Sums:
        """Sums of one set of labels."""
        sums = self.batch(labels[None])
        return Sums(sums.off_diagonal[0, 0], sums.diagonal[0, 0])

    def batch(self, labels: np.ndarray) -> Sums:
        """Sums of many sets of labels."""
        rows = np.arange(labels.shape[1])
        norms = self.residual.squared_norms(labels)
        equal = np.stack([self._equal(row) for row in labels])
        linear = np.stack([g[rows, labels].sum(axis=1) for g in self.smoothed], axis=1)
        diagonal = np.stack([norms @ np.asarray(d, dtype=np.float64) for d in self.diagonals], axis=1)
        return Sums(2 * equal - 2 * linear + np.array(self.constants), diagonal)

    def _equal(self, labels: np.ndarray) -> np.ndarray:
        """Sum of K_ij over the pairs i < j of equal labels, for every kernel."""
        order = np.argsort(labels, kind="stable")
        grouped = labels[order]
        starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
        before = np.arange(len(labels)) - np.repeat(starts, np.diff(np.r_[starts, len(labels)]))
        total = np.zeros(self.values.shape[1])
        for part in _parts(before):
            count = before[part]
            second = np.repeat(order[part], count)
            steps = np.arange(len(second)) - np.repeat(np.cumsum(count) - count, count)
            first = order[np.repeat(np.arange(len(labels))[part] - count, count) + steps]
            found = self.values.take(first * len(labels) + second, axis=0)
            total += np.ones(len(found), dtype=found.dtype) @ found  # quicker than a sum over few columns
        return total


def lookup_cost(kernels: int, predictions: ClassPredictions) -> float:
    """Seconds of a draw and kernel, roughly; infinite if the matrices exceed the budget.

    The expected number of pairs i < j with equal labels is, up to n, half of |sum_i p_i|^2.
    """
    if 8 * len(predictions) ** 2 * (2 * kernels + 1) > _BUDGET:  # while they are made, they are there twice
        return math.inf
    expected = to_numpy(predictions.probabilities).sum(axis=0, dtype=np.float64)
    return _LOOKUP * 0.5 * float((expected**2).sum())


def _parts(count: np.ndarray) -> list[slice]:
    """Slices of consecutive positions with a bounded number of pairs in all (or one position)."""
    ends = np.cumsum(count)
    cuts = np.searchsorted(ends, np.arange(_PAIRS_AT_ONCE, max(int(ends[-1]), 1), _PAIRS_AT_ONCE))
    bounds = np.unique(np.r_[0, cuts, len(count)])
    return [slice(int(a), int(b)) for a, b in pairwise(bounds)]


def _weighted(matrix: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    if weights is not None:
        matrix *= weights
        matrix *= weights[:, None]
    return matrix


def _without_diagonal(matrix: np.ndarray) -> np.ndarray:
    np.fill_diagonal(matrix, 0)
    return matrix
