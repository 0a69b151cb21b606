"""Pairs of rows that are few places apart: the first diagonals of the pair matrix above the main one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.kernels.base import Kernel
from kernelcal.pairs.aligned import AlignedForms
from kernelcal.pairs.base import Engine, QuadraticForms
from kernelcal.predictions import Predictions
from kernelcal.residuals import Residual

__all__ = ["BandMatrix", "SuperDiagonals"]


@dataclass(frozen=True)
class SuperDiagonals(Engine):
    """Pairs (i, i + r) with r = 1, ..., R: an incomplete U-statistic, linear in the rows.

    Parameters
    ----------
    number : int
        R.
    """

    number: int

    def prepare(self, kernels: Sequence[Kernel], predictions: Predictions, residual: Residual) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        n, several = len(predictions), "s" * (self.number > 1)
        pairs = [(slice(0, n - r), slice(r, n)) for r in range(1, self.number + 1)]
        label = f"{self.number:,} superdiagonal{several}, exact pairs"
        return _Diagonals(pairs, kernels, predictions, residual, label)


class _Diagonals(AlignedForms):
    def by_pair(self, targets: np.ndarray) -> list[np.ndarray]:
        return [to_numpy(values) for values in self.lists(targets)]


class BandMatrix:
    """Symmetric matrix h_ij of one set of targets that is zero on its diagonal and beyond R places from it.

    Parameters
    ----------
    diagonals : sequence of R arrays
        Values h_{i, i + r}, of shape (n - r,).
    n : int
        Number of rows.
    """

    def __init__(self, diagonals: Sequence[np.ndarray], n: int) -> None:
        self.diagonals, self.n = diagonals, n

    def __len__(self) -> int:
        return self.n

    @property
    def pairs(self) -> int:
        """Pairs that are not zero, both orders counted."""
        return 2 * sum(len(values) for values in self.diagonals)

    def quadratic(self, columns: np.ndarray, *, diagonal: bool = True) -> np.ndarray:
        """Return c'Hc for every column c, shape (n, B) -> (B,): O(n R B)."""
        total = np.zeros(columns.shape[1])
        for r, values in enumerate(self.diagonals, start=1):
            total += 2 * (values @ (columns[:-r] * columns[r:]))
        return total
