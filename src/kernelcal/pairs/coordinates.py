"""Distances of a block in NumPy: a difference, one pass over the columns, one matrix product, or pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, to_numpy
from kernelcal.kernels.expansion import CLOSE, left_factor, repair, right_factor, squares
from kernelcal.kernels.metrics import Metric, MetricView, in_double, view

__all__ = ["Coordinates", "ready", "single_or_double"]

_FEW_COORDINATES = 4  # up to here differences are quicker than a product


class _Line:
    """One coordinate: distances are differences."""

    squared = False

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.dtype = x, x.dtype

    def native(self, rows: Any, columns: Any, out: np.ndarray) -> None:
        """Distances d."""
        np.subtract(self.x[rows], self.x[columns].T, out=out)
        np.abs(out, out=out)


class _L1:
    """Total variation and its like: one pass over the coordinates."""

    squared = False

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.dtype = x, x.dtype

    def native(self, rows: Any, columns: Any, out: np.ndarray) -> None:
        """Distances d."""
        _cdist(self.x[rows], self.x[columns], "cityblock", out)


class _L2:
    """Euclidean distances from one product of augmented coordinates; from differences where that is quicker."""

    squared = True

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.dtype, self.few = x, x.dtype, x.shape[1] <= _FEW_COORDINATES
        if self.few:
            return
        centred = x - x.mean(axis=0)  # distances do not change, cancellation does
        self.squares = squares(centred)
        self.left, self.right = left_factor(centred, self.squares), right_factor(centred, self.squares)

    def native(self, rows: Any, columns: Any, out: np.ndarray) -> None:
        """Squared distances d^2 = |x|^2 + |x'|^2 - 2 x.x'."""
        if self.few:
            _cdist(self.x[rows], self.x[columns], "sqeuclidean", out)
            return
        np.matmul(self.left[rows], self.right[:, columns], out=out)
        scale = float(self.squares[rows].max(initial=0) + self.squares[columns].max(initial=0))
        repair(out, self.x[rows], self.x[columns], scale)


def _cdist(left: np.ndarray, right: np.ndarray, norm: str, out: np.ndarray) -> None:
    from scipy.spatial.distance import cdist

    if out.dtype == np.float64:
        cdist(left, right, norm, out=out)
    else:
        out[...] = cdist(left, right, norm)


class _Pairs:
    """A metric without coordinates. A pair is dear, so it is computed in float64 whatever was given."""

    def __init__(self, seen: MetricView) -> None:
        self.seen, self.squared, self.dtype = seen, seen.squared, np.dtype(np.float64)

    def native(self, rows: Any, columns: Any, out: np.ndarray) -> None:
        """Squared distances d^2."""
        out[...] = self.seen.cross(rows, columns)


Coordinates = _Line | _L1 | _L2 | _Pairs


def ready(metric: Metric, predictions: Any) -> Coordinates:
    """Predictions ready to give the distances of any block in a metric."""
    if metric.by_pairs(predictions) is not None:
        return _Pairs(view(metric, in_double(predictions)))
    x = single_or_double(metric.coordinates(predictions))
    if x.shape[1] == 1:
        return _Line(x)
    return _L1(x) if metric.order == 1 else _L2(x)


def single_or_double(x: Array) -> np.ndarray:
    """Contiguous NumPy array in float32 or float64."""
    x = to_numpy(x)
    return np.ascontiguousarray(x if x.dtype in CLOSE else x.astype(np.float64))
