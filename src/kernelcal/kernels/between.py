"""Kernel values between two batches of predictions of one family: few test locations beside many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import Array, Functional, namespace, row_slices
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel, smaller
from kernelcal.kernels.metrics import Euclidean, Metric, PairwiseMetric

__all__ = ["kernel_between", "kernels_between"]


_NUMBERS_AT_ONCE = 2**20  # 8 MiB of float64 while differences of coordinates are held


def kernel_between(kernel: Kernel, left: Any, right: Any) -> Array:
    """Kernel values of every prediction of one batch with every prediction of another, shape (left, right).

    The batches are not joined: a metric takes coordinates of each, or computes pair by pair. Cost: one distance a pair.
    """
    return kernels_between([kernel], left, right)[0]


def kernels_between(kernels: Sequence[Kernel], left: Any, right: Any) -> list[Array]:
    """Values of several kernels: lengthscales of one metric share its distances, which are computed once."""
    pairs = _Between(left, right)
    return [kernel.evaluate(pairs) for kernel in kernels]


@dataclass(frozen=True)
class _Between:
    """What a kernel may ask about all pairs of one batch with another."""

    left: Any
    right: Any
    known: list[tuple[Metric, Array]] = field(default_factory=list)

    @cached_property
    def ops(self) -> Functional:
        """Operations of the library of both."""
        return Functional(namespace(self.left.reference, self.right.reference))

    def squared_distance(self, metric: Metric) -> Array:
        """Squared distances."""
        pairwise = metric.by_pairs(self.right)
        if pairwise is not None:
            return self._by_pairs(pairwise)
        distance = self._norms(metric)
        return distance if metric.order == 2 else distance**2

    def distance(self, metric: Metric) -> Array:
        """Distances; where two points are equal the gradient is set to 0, a subgradient of the norm."""
        for given, distance in self.known:
            if given is metric:
                return distance
        distance = self._norms(metric) if metric.order == 1 else self.ops.power(self.squared_distance(metric), 0.5)
        self.known.append((metric, distance))
        return distance

    def inner(self) -> Array:
        """Inner products of the Euclidean coordinates."""
        left, right = self._coordinates(Euclidean())
        return left @ right.T

    def smaller(self) -> Array:
        """Smaller one of two numbers, for points that are one number each."""
        left, right = self._coordinates(Euclidean())
        return smaller(left, right.T)

    def equal(self) -> Array:
        """1 where the Euclidean coordinates are equal, else 0."""
        distance = self.squared_distance(Euclidean())
        return namespace(distance).astype(distance == 0, distance.dtype)

    def lookup(self, matrix: np.ndarray) -> Array:
        """Refuse: predictions are no class labels."""
        raise InputError("FiniteKernel is a kernel between class labels: use it as target_kernel")

    def _coordinates(self, metric: Metric) -> tuple[Array, Array]:
        left, right = metric.coordinates(self.left), metric.coordinates(self.right)
        if left.shape[1] != right.shape[1]:
            raise InputError(
                f"{metric} sees {left.shape[1]} numbers in each test prediction and {right.shape[1]} in each "
                f"prediction, both {type(self.right).__name__}: give test predictions with as many draws, or let "
                "locations be a number, so that they are drawn from the predictions"
            )
        return left, right

    def _norms(self, metric: Metric) -> Array:
        """Sums of squares, or of absolute values, of the differences: some columns at a time."""
        left, right = self._coordinates(metric)
        xp, parts = namespace(left, right), []
        for part in row_slices(len(self.right), _NUMBERS_AT_ONCE // max(1, left.shape[0] * left.shape[1])):
            difference = left[:, None, :] - right[None, part, :]
            parts.append(xp.sum(difference * difference if metric.order == 2 else xp.abs(difference), axis=-1))
        return xp.concat(parts, axis=1)

    def _by_pairs(self, metric: PairwiseMetric) -> Array:
        left, right = metric.prepare(self.left), metric.prepare(self.right)
        rows = left.map_arrays(lambda x: x[:, None, ...])
        step = _NUMBERS_AT_ONCE // max(1, len(self.left) * metric.numbers(self.right))
        parts = [
            metric.squared_distances(rows, right[part].map_arrays(lambda x: x[None, ...]))
            for part in row_slices(len(self.right), step)
        ]
        return namespace(*parts).concat(parts, axis=1)
