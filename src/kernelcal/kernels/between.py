"""Kernel values between two batches of predictions of one family: few test locations beside many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, Functional, namespace, row_slices
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import Euclidean, Metric
from kernelcal.kernels.points import CrossPairs

__all__ = ["kernel_between"]

_NUMBERS_AT_ONCE = 2**20  # 8 MiB of float64 while differences of coordinates are held


def kernel_between(kernel: Kernel, left: Any, right: Any) -> Array:
    """Kernel values of every prediction of one batch with every prediction of another, shape (left, right).

    The batches need not be joined: a metric takes coordinates of each, or computes pair by pair. Cost: one distance a
    pair.
    """
    return kernel.evaluate(_Between(left, right, None, None))


@dataclass(frozen=True)
class _Between(CrossPairs):
    """All pairs of one batch with another; `points` is the first batch and `rows` the second."""

    @property
    def ops(self) -> Functional:
        return Functional(namespace(self.points.mean, self.rows.mean))

    def squared_distance(self, metric: Metric) -> Array:
        pairwise = metric.by_pairs(self.points)
        if pairwise is not None:
            return self._by_pairs(pairwise)
        distance = self._norms(metric)
        return distance if metric.order == 2 else distance**2

    def distance(self, metric: Metric) -> Array:
        if metric.by_pairs(self.points) is None and metric.order == 1:
            return self._norms(metric)
        return self.ops.power(self.squared_distance(metric), 0.5)

    def _sides(self, metric: Metric | None = None) -> tuple[Array, Array]:
        metric = Euclidean() if metric is None else metric
        left, right = metric.coordinates(self.points), metric.coordinates(self.rows)
        if left.shape[1] != right.shape[1]:
            raise InputError(
                f"{metric} sees {left.shape[1]} numbers in one batch of {type(self.points).__name__} and "
                f"{right.shape[1]} in the other: they must have equally many classes, components or draws"
            )
        return left, right

    def _norms(self, metric: Metric) -> Array:
        """Sums of squares, or of absolute values, of the differences: some columns at a time."""
        left, right = self._sides(metric)
        xp, parts = namespace(left, right), []
        for part in row_slices(len(self.rows), _NUMBERS_AT_ONCE // max(1, int(np.prod(left.shape)))):
            difference = left[:, None, :] - right[None, part, :]
            parts.append(xp.sum(difference * difference if metric.order == 2 else xp.abs(difference), axis=-1))
        return xp.concat(parts, axis=1)

    def _by_pairs(self, metric: Any) -> Array:
        left, right = metric.prepare(self.points), metric.prepare(self.rows)
        left = left.map_arrays(lambda x: x[:, None, ...])
        step = _NUMBERS_AT_ONCE // max(1, len(self.points) * metric.numbers(self.rows))
        parts = [
            metric.squared_distances(left, right[part].map_arrays(lambda x: x[None, ...]))
            for part in row_slices(len(self.rows), step)
        ]
        return namespace(*parts).concat(parts, axis=1)
