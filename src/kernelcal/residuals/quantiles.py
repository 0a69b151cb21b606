"""Residuals of quantile forecasts: whether the outcome lies below each quantile, minus the level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.arrays import Array, like
from kernelcal.errors import InputError
from kernelcal.predictions import QuantileCells, Quantiles
from kernelcal.residuals.base import FeatureResidual

__all__ = ["QuantileResidual"]


@dataclass(frozen=True, eq=False)
class QuantileResidual(FeatureResidual):
    """Residual features ``s_k / sqrt(Q)``, ``s_k = 1[y < q_k] - level_k``, over the Q levels inside (0, 1).

    Their inner product is ``(1/Q) sum_k s_k s'_k``. They have mean 0 under every claim ``P(Y < q_k) = level_k`` and
    need no expectation: the law of the cell of an outcome is the same in all rows, the spacings of the levels. The mean
    of ``k_P <r_i, r_j>`` over pairs is a squared probability.

    Outcomes must lie strictly between quantiles. Where they equal one, P(Y < q) and P(Y <= q) differ, the level lies
    anywhere between, and a residual has no value.

    Attributes
    ----------
    cells : QuantileCells
        Where outcomes lie.
    reference : array
        An array of the library of the predictions.
    weights : numpy.ndarray of shape (n,), or None
        Case weights.

    Notes
    -----
    Cost: O(n Q) a set of targets. Outcomes are numbers; whole numbers are codes of cells, as tests draw them.
    """

    cells: QuantileCells
    reference: Array
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, predictions: Quantiles, weights: np.ndarray | None = None) -> QuantileResidual:
        """Residual of quantile forecasts, or refuse rows with equal quantiles."""
        cells = predictions.cells
        if cells.tied.any():
            row, count = int(np.argmax(cells.tied)), int(cells.tied.sum())
            raise InputError(_tied(f"row {row} has equal quantiles ({count:,} of {len(cells):,} rows do)"))
        return cls(cells, predictions.values, weights)

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: Any) -> QuantileResidual:
        weights = None if self.weights is None else self.weights[index]
        return replace(self, cells=self.cells[index], weights=weights)

    @property
    def dimension(self) -> int:
        """Number of levels Q inside (0, 1)."""
        return len(self.cells.taus)

    def bound(self) -> float:
        """Bound of |<r_i, r_j>|: the largest mean over levels of ``max(level, 1 - level)^2``."""
        taus = self.cells.taus
        return float((np.maximum(taus, 1 - taus) ** 2).mean())

    def double(self) -> QuantileResidual:
        """Return the same in NumPy and float64."""
        return replace(self, reference=np.zeros(1))

    def features(self, targets: np.ndarray) -> Array:
        """Residuals of one set of targets, shape (n, Q), in the library of the predictions."""
        values = self._residuals(np.asarray(targets), self.weights)
        return values if isinstance(self.reference, np.ndarray) else like(values, self.reference)

    def batch(self, targets: np.ndarray) -> np.ndarray:
        """Residuals of many sets of targets, shape (B, n), as one array of shape (n, B, Q)."""
        weights = None if self.weights is None else self.weights[:, None]
        codes = np.ascontiguousarray(self.cells.codes(np.asarray(targets)).T)
        return self._residuals(codes, weights)

    def _residuals(self, targets: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        cells, number = self.cells, self.dimension
        lo, hi = cells.ends(cells.codes(targets))
        if not np.array_equal(lo, hi):
            at = np.argwhere(lo != hi)
            row = int(at[0, 0])
            rounded = f" up to its rounding of {cells.resolution:g}" * (cells.resolution > 0)
            raise InputError(_tied(f"the outcome of row {row} equals a quantile{rounded} ({len(at):,} outcomes do)"))
        below = np.arange(number + 1)[:, None] < np.arange(1, number + 1)
        rows = ((below - cells.taus) / np.sqrt(number))[hi]
        return rows if weights is None else rows * weights[..., None]


def _tied(found: str) -> str:
    return (
        f"{found}: levels then claim P(Y < q) <= level <= P(Y <= q) only, so that an error has bounds and no value. "
        "kernelcal.calibration_test (the default family) and kernelcal.evaluate test these claims and tell the least "
        "gap that agrees with them; of counts, more levels or the probabilities of the outcomes would show more"
    )
