"""Pairs of targets: numbers or vectors whose leading axes broadcast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.arrays import Array, Functional, namespace
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import Euclidean, Metric

__all__ = ["TargetPairs", "point", "squared_norm"]


@dataclass(frozen=True)
class TargetPairs:
    """What a kernel may ask about pairs of targets.

    Attributes
    ----------
    y, z : array
        Targets with leading axes that broadcast: (rows, 1, ...) and (1, columns, ...) are all pairs.
    vector : bool
        Whether the last axis holds the components of a vector.
    """

    y: Array
    z: Array
    vector: bool

    @property
    def ops(self) -> Functional:
        """Operations of the library of the targets."""
        return Functional(namespace(self.y, self.z))

    def difference(self) -> Array:
        """Differences y - z."""
        return self.y - self.z

    def squared_distance(self, metric: Metric) -> Array:
        """Squared Euclidean distances."""
        self._refuse(metric)
        return squared_norm(self.difference()) if self.vector else self.difference() ** 2

    def distance(self, metric: Metric) -> Array:
        """Euclidean distances."""
        self._refuse(metric)
        if not self.vector:
            return abs(self.difference())
        return self.ops.power(squared_norm(self.difference()), 0.5)

    def inner(self) -> Array:
        """Inner products."""
        product = self.y * self.z
        return namespace(product).sum(product, axis=-1) if self.vector else product

    def equal(self) -> Array:
        """1 where the targets are equal, else 0."""
        difference = self.difference()
        xp = namespace(difference)
        same = xp.all(difference == 0, axis=-1) if self.vector else difference == 0
        return xp.astype(same, difference.dtype)

    def lookup(self, matrix: np.ndarray) -> Array:
        """Refuse: numbers are no class labels."""
        raise InputError("FiniteKernel is a kernel between class labels; for numbers use Gaussian() or Laplacian()")

    def _refuse(self, metric: Metric) -> None:
        if not isinstance(metric, Euclidean):
            raise InputError(
                f"{type(metric).__name__} compares predictions, not targets: a target kernel for numbers uses the "
                "Euclidean metric; for a product over coordinates use kernelcal.kernels.Coordinatewise(kernel)"
            )


def point(kernel: Kernel, y: Array, z: Array, event_ndim: int) -> Array:
    """Kernel between targets whose leading axes broadcast."""
    return kernel.evaluate(TargetPairs(y, z, vector=event_ndim == 1))


def squared_norm(difference: Array) -> Array:
    """Sum of squares over the last axis, a coordinate at a time: no temporary array has that axis."""
    total = difference[..., 0] ** 2
    for k in range(1, difference.shape[-1]):
        total = total + difference[..., k] ** 2
    return total
