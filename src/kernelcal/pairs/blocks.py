"""Kernel values of a block of pairs in NumPy: one matrix product, then everything in place."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from kernelcal.arrays import InPlace
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import Euclidean, Metric
from kernelcal.kernels.points import Points, smaller
from kernelcal.pairs.coordinates import Coordinates, ready, single_or_double

__all__ = ["Block", "BlockPoints", "Workspace"]


class BlockPoints:
    """Predictions made ready for blocks in every metric: for L2 coordinates are centred and augmented."""

    def __init__(self, predictions: Any, kernels: Iterable[Kernel] = ()) -> None:
        self.predictions, self.positions = predictions, np.arange(len(predictions))
        self._by_metric: dict[Metric, Coordinates] = {}
        self._lock = Lock()  # threads ask at once for what no kernel named, such as inner products
        for metric in _metrics(kernels):
            self[metric]

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, metric: Metric) -> Coordinates:
        with self._lock:
            if metric not in self._by_metric:
                self._by_metric[metric] = ready(metric, self.predictions)
            return self._by_metric[metric]

    @cached_property
    def x(self) -> np.ndarray:
        """Euclidean coordinates, shape (n, d)."""
        return single_or_double(Euclidean().coordinates(self.predictions))


def _metrics(kernels: Iterable[Kernel]) -> set[Metric]:
    found: set[Metric] = set()

    def leaf(kernel: Kernel) -> Kernel:
        if hasattr(kernel, "metric"):
            found.add(kernel.metric)
        return kernel

    for kernel in kernels:
        kernel.map_leaves(leaf)
    return found


class Workspace:
    """Buffers that are used again for every tile of a block of rows: fresh memory costs more than a product."""

    def __init__(self) -> None:
        self._buffers: list[np.ndarray] = []
        self._taken = 0

    def take(self, shape: tuple[int, int], dtype: Any) -> np.ndarray:
        """Return a contiguous buffer that nobody else holds until `free`."""
        size = shape[0] * shape[1]
        if self._taken == len(self._buffers):
            self._buffers.append(np.empty(size, dtype=dtype))
        elif self._buffers[self._taken].size < size or self._buffers[self._taken].dtype != dtype:
            self._buffers[self._taken] = np.empty(size, dtype=dtype)
        self._taken += 1
        return self._buffers[self._taken - 1][:size].reshape(shape)

    def free(self) -> None:
        """Let all buffers be taken again."""
        self._taken = 0


class Block:
    """Pairs of some rows with some columns, asked by several kernels: each distance is computed once.

    What a kernel returns lives in the workspace: it must be used before the workspace is freed.
    """

    ops = InPlace()

    def __init__(
        self, points: BlockPoints, rows: Any, columns: Any, *, shared: bool, workspace: Workspace | None = None
    ) -> None:
        self.points, self.rows, self.columns, self.shared = points, rows, columns, shared
        self.workspace = workspace or Workspace()
        self.workspace.free()
        self._cache: dict[Metric, np.ndarray] = {}

    def evaluate(self, kernel: Kernel) -> np.ndarray:
        """Values of one kernel of several, valid until the next one is asked for."""
        self.workspace.free()
        return kernel.evaluate(self)

    def _native(self, metric: Metric) -> np.ndarray:
        source = self.points[metric]
        shape = (len(self.points.positions[self.rows]), len(self.points.positions[self.columns]))
        out = self.workspace.take(shape, source.dtype)
        if not self.shared:
            source.native(self.rows, self.columns, out)
            return out
        if metric not in self._cache:
            self._cache[metric] = np.empty_like(out)
            source.native(self.rows, self.columns, self._cache[metric])
        np.copyto(out, self._cache[metric])
        return out

    def distance(self, metric: Metric) -> np.ndarray:
        """Distances d."""
        d = self._native(metric)
        return np.sqrt(d, out=d) if self.points[metric].squared else d

    def squared_distance(self, metric: Metric) -> np.ndarray:
        """Squared distances d^2."""
        d = self._native(metric)
        return d if self.points[metric].squared else np.multiply(d, d, out=d)

    def inner(self) -> np.ndarray:
        """Inner products of the Euclidean coordinates (for classes: of the probabilities)."""
        x = self.points.x
        return x[self.rows] @ x[self.columns].T

    def smaller(self) -> np.ndarray:
        """Smaller one of two numbers, for points that are one number each."""
        x = self.points.x
        return np.asarray(smaller(x[self.rows], x[self.columns].T))

    def equal(self) -> np.ndarray:
        """1 where the Euclidean coordinates are equal, else 0."""
        distance = self._native(Euclidean())
        return (distance == 0).astype(distance.dtype)

    def lookup(self, matrix: np.ndarray) -> np.ndarray:
        """Refuse: predictions are no class labels."""
        return Points(self.points.predictions).lookup(matrix)
