"""Kernel values of a block of pairs in NumPy: one matrix product, then everything in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kernelcal.arrays import InPlace, to_numpy
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import Euclidean, Metric
from kernelcal.kernels.points import Points

__all__ = ["Block", "BlockPoints"]

# Below this share of |x|^2 + |x'|^2 the matrix product has lost too many digits of d^2 to cancellation, and
# d^2 is taken from differences: relative errors of d^2 stay below 1e-10 (float64) and 1e-4 (float32).
_CLOSE = {np.dtype(np.float64): 4e-6, np.dtype(np.float32): 1e-3}


class BlockPoints:
    """Predictions made ready for blocks: coordinates of every metric, centred and augmented for L2."""

    def __init__(self, predictions: Any, kernels: Iterable[Kernel] = ()) -> None:
        self.predictions = predictions
        self._by_metric: dict[Metric, _L1 | _L2] = {}
        for metric in {Euclidean(), *_metrics(kernels)}:  # before threads start: no two compute the same
            self[metric]

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, metric: Metric) -> _L1 | _L2:
        if metric not in self._by_metric:
            x = np.ascontiguousarray(to_numpy(metric.coordinates(self.predictions)))
            if x.dtype not in _CLOSE:
                x = x.astype(np.float64)
            self._by_metric[metric] = _L1(x) if metric.order == 1 else _L2(x)
        return self._by_metric[metric]


def _metrics(kernels: Iterable[Kernel]) -> set[Metric]:
    found: set[Metric] = set()

    def leaf(kernel: Kernel) -> Kernel:
        if hasattr(kernel, "metric"):
            found.add(kernel.metric)
        return kernel

    for kernel in kernels:
        kernel.map_leaves(leaf)
    return found


class _L1:
    def __init__(self, x: np.ndarray) -> None:
        self.x = x

    def native(self, rows: Any, columns: Any) -> np.ndarray:
        """Distances d."""
        from scipy.spatial.distance import cdist

        return cdist(self.x[rows], self.x[columns], "cityblock")


class _L2:
    def __init__(self, x: np.ndarray) -> None:
        self.x = x
        self.centred = x - x.mean(axis=0)  # distances do not change, cancellation does
        self.squares = np.einsum("ij,ij->i", self.centred, self.centred)
        ones = np.ones((len(x), 1), dtype=x.dtype)
        self.left = np.hstack([-2 * self.centred, self.squares[:, None], ones])
        self.right = np.hstack([self.centred, ones, self.squares[:, None]])

    def native(self, rows: Any, columns: Any) -> np.ndarray:
        """Squared distances d^2 = |x|^2 + |x'|^2 - 2 x.x', from one product of augmented coordinates."""
        squared = self.left[rows] @ self.right[columns].T
        scale = float(self.squares[rows].max(initial=0) + self.squares[columns].max(initial=0))
        self._repair(squared, rows, columns, _CLOSE[self.x.dtype] * scale)
        return squared

    def _repair(self, squared: np.ndarray, rows: Any, columns: Any, close: float) -> None:
        mask = squared <= close
        count = np.count_nonzero(mask)
        if count > squared.size // 16:
            from scipy.spatial.distance import cdist

            squared[...] = cdist(self.x[rows], self.x[columns], "sqeuclidean")
        elif count:
            i, j = np.nonzero(mask)
            difference = self.x[rows][i] - self.x[columns][j]
            squared[i, j] = np.einsum("ij,ij->i", difference, difference)


class Block:
    """Pairs of some rows with some columns, asked by several kernels: each distance is computed once."""

    ops = InPlace()

    def __init__(self, points: BlockPoints, rows: Any, columns: Any, *, shared: bool) -> None:
        self.points, self.rows, self.columns, self.shared = points, rows, columns, shared
        self._cache: dict[Metric, np.ndarray] = {}

    def _native(self, metric: Metric) -> np.ndarray:
        if not self.shared:
            return self.points[metric].native(self.rows, self.columns)
        if metric not in self._cache:
            self._cache[metric] = self.points[metric].native(self.rows, self.columns)
        return self._cache[metric].copy()

    def distance(self, metric: Metric) -> np.ndarray:
        """Distances d."""
        d = self._native(metric)
        return d if metric.order == 1 else np.sqrt(d, out=d)

    def squared_distance(self, metric: Metric) -> np.ndarray:
        """Squared distances d^2."""
        d = self._native(metric)
        return d if metric.order == 2 else np.multiply(d, d, out=d)

    def inner(self) -> np.ndarray:
        """Inner products of the probabilities."""
        x = self.points[Euclidean()].x
        return x[self.rows] @ x[self.columns].T

    def equal(self) -> np.ndarray:
        """1 where the points are equal, else 0."""
        squared = self._native(Euclidean())
        return (squared == 0).astype(squared.dtype)

    def lookup(self, matrix: np.ndarray) -> np.ndarray:
        """Refuse: predictions are no class labels."""
        return Points(self.points.predictions).lookup(matrix)
