"""Kernels between vectors that are products over the coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel

__all__ = ["Coordinatewise"]


@dataclass(frozen=True)
class Coordinatewise(Kernel):
    """Target kernel between vectors ``k(y, z) = prod_i k(y_i, z_i)``: a kernel between numbers, once a coordinate.

    Where the coordinates of a prediction are independent, the expectation of the product is the product of the
    expectations: a closed form for numbers is one for vectors. ``Coordinatewise(Laplacian(l))`` is
    ``exp(-|y - z|_1 / l)``; ``Coordinatewise(Gaussian(l))`` is ``Gaussian(l)``. For numbers it is the kernel itself.

    Parameters
    ----------
    kernel : Kernel
        Kernel between numbers.

    Raises
    ------
    InputError
        If `kernel` is no kernel, or where it meets predictions instead of targets.

    Notes
    -----
    Cost: d values of the kernel a pair.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import Coordinatewise
    >>> predictions = kc.predictions.DiagonalNormal([[0.0, 1.0], [1.0, 0.0]], [[1.0, 2.0], [1.0, 1.0]])
    >>> embedding = kc.kernels.plan(Coordinatewise(kc.Laplacian(1.0)), predictions)
    >>> embedding.mean(predictions, predictions.mean).round(4)
    array([0.1759, 0.2737])
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"Coordinatewise needs a kernel between numbers such as Laplacian(), got {self.kernel!r}")

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of pairs of targets."""
        if not hasattr(pairs, "coordinates") or not hasattr(pairs, "vector"):
            raise InputError("Coordinatewise is a kernel between targets: use it as target_kernel")
        return reduce(pairs.ops.multiply, (self.kernel.evaluate(part) for part in pairs.coordinates()))

    def bound(self) -> float:
        """Return the bound of the kernel inside, where a product of such values cannot be larger."""
        bound = self.kernel.bound()
        if bound > 1:
            raise InputError(
                f"the bound of a product over coordinates grows with their number if that of a factor is above 1, "
                f"here {bound:g}: scale the product instead of the kernel inside, c * Coordinatewise(kernel)"
            )
        return bound

    def positive_definite(self, points: Any) -> bool:
        """As the kernel inside: products of positive definite kernels are positive definite."""
        return self.kernel.positive_definite(points)

    def map_leaves(self, function: Callable[[Kernel], Kernel]) -> Kernel:
        """Rebuild with `function` applied to the leaves of the kernel inside."""
        return Coordinatewise(self.kernel.map_leaves(function))
