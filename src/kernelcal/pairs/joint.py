"""Sums over pairs of several models on the same rows, in one pass: what their paired differences are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.pairs.matrix import PairMatrix, strip_rows
from kernelcal.pairs.threads import threaded_map

__all__ = ["joint_sums"]

_STRIPS_AT_ONCE = 16  # their results are held, and added in a fixed order


def joint_sums(matrices: Sequence[PairMatrix]) -> tuple[np.ndarray, np.ndarray]:
    """Row sums ``s_i = sum_{j != i} h_ij`` of every matrix, shape (M, n), and ``Q = sum_{i != j} h_ij h'_ij``, (M, M).

    The same sums of a difference ``d = h - h'`` follow without another pass: its row sums are differences, and its sum
    of squares is ``Q_hh - 2 Q_hh' + Q_h'h'``. Cost: every entry above the diagonal once, and n^2 M^2 / 2 products.
    """
    n, models = len(matrices[0]), len(matrices)
    sums, products = np.zeros((models, n)), np.zeros((models, models))

    def work(rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        strips = np.stack([matrix.above(rows) for matrix in matrices])
        width = strips.shape[1]
        strips[:, :, :width] = np.triu(strips[:, :, :width], 1)
        flat = strips.reshape(models, -1)
        return strips.sum(axis=2), strips.sum(axis=1), flat @ flat.T

    for matrix in matrices:
        matrix.above(slice(0, 1))  # what all rows need is made before threads ask for it
    strips = strip_rows(n)
    for first in range(0, len(strips), _STRIPS_AT_ONCE):
        some = strips[first : first + _STRIPS_AT_ONCE]
        for rows, (right, below, part) in zip(some, threaded_map(work, some, None), strict=True):
            sums[:, rows] += right
            sums[:, rows.start :] += below
            products += 2 * part
    return sums, products
