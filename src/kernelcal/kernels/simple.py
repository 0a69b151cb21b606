"""Kernels without a profile: linear, equality, matrices over classes, products over the coordinates of vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from kernelcal.arrays import Array, numbers
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel, Pairs

__all__ = ["Brownian", "Coordinatewise", "Dirac", "FiniteKernel", "Linear", "QuantileLevels"]


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear kernel: the inner product of the probabilities (of the one probability for `Bernoulli`)."""

    def evaluate(self, pairs: Pairs) -> Array:
        """Kernel values of the pairs."""
        return pairs.inner()

    def bound(self) -> float:
        """Return 1: probabilities sum to 1."""
        return 1.0

    def positive_definite(self, points: Any) -> bool:
        """Always."""
        return True


@dataclass(frozen=True)
class Brownian(Kernel):
    """Brownian kernel ``min(p, p')`` between predictions of one probability: no lengthscale to choose.

    The biased SKCE is then the integral of the squared cumulative differences between labels and probabilities,
    ``2 int_0^1 (sum_{p_i > t} (y_i - p_i) / n)^2 dt`` with the Dirac kernel between labels.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu (2022), JMLR 23: cumulative differences.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.skce([1, 0], [0.5, 0.5], prediction_kernel=kc.kernels.Brownian())), 12)
    -0.25
    """

    def evaluate(self, pairs: Pairs) -> Array:
        """Kernel values of the pairs."""
        return pairs.smaller()

    def bound(self) -> float:
        """Return 1: probabilities are at most 1."""
        return 1.0

    def positive_definite(self, points: Any) -> bool:
        """Always: the covariance of Brownian motion."""
        return True


@dataclass(frozen=True)
class Dirac(Kernel):
    """Equality: 1 if the points are equal, else 0 (Kronecker delta). The default between class labels."""

    def evaluate(self, pairs: Pairs) -> Array:
        """Kernel values of the pairs."""
        return pairs.equal()

    def bound(self) -> float:
        """Return 1."""
        return 1.0

    def positive_definite(self, points: Any) -> bool:
        """Always."""
        return True


@dataclass(frozen=True, eq=False)
class FiniteKernel(Kernel):
    """Any kernel between m class labels, as its matrix: some confusions count more than others.

    Parameters
    ----------
    matrix : array of shape (m, m)
        Symmetric positive semi-definite.

    Raises
    ------
    InputError
        If the matrix is not square, symmetric and positive semi-definite.

    Examples
    --------
    >>> import kernelcal as kc
    >>> near = kc.FiniteKernel([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])  # classes 0 and 1 are alike
    >>> round(float(kc.skce([0, 1], [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2]], target_kernel=near)), 4)
    0.0199
    """

    matrix: np.ndarray

    def __post_init__(self) -> None:
        try:
            matrix = numbers(self.matrix)
        except (TypeError, ValueError):
            raise InputError(
                f"FiniteKernel needs a symmetric (m, m) matrix of numbers, got {self.matrix!r:.80}"
            ) from None
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T):
            raise InputError(f"FiniteKernel needs a symmetric (m, m) matrix, got shape {matrix.shape}")
        least = float(np.linalg.eigvalsh(matrix)[0])
        if least < -1e-10 * max(1.0, float(np.abs(matrix).max())):
            raise InputError(f"FiniteKernel needs a positive semi-definite matrix; its least eigenvalue is {least:.3g}")
        object.__setattr__(self, "matrix", matrix)

    def evaluate(self, pairs: Pairs) -> Array:
        """Kernel values of the pairs."""
        return pairs.lookup(self.matrix)

    def bound(self) -> float:
        """Return the largest entry in absolute value."""
        return float(np.abs(self.matrix).max())

    def positive_definite(self, points: Any) -> bool:
        """Checked when the kernel was made."""
        return True


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


@dataclass(frozen=True)
class QuantileLevels(Kernel):
    """Target kernel of quantile forecasts ``(1/Q) sum_k s_k s'_k`` with ``s_k = 1[y < q_k] - level_k``, their default.

    It compares where two outcomes lie among the quantiles of their own rows: two indicators of one level, not two
    numbers. So nothing but the claimed levels enters, and the root of the SKCE is a probability: the root mean square
    gap between claimed and observed levels, over levels and over rows of similar forecasts.

    Notes
    -----
    The kernel itself is known as inner product of residuals alone (`residuals.QuantileResidual`). It is defined where
    outcomes lie strictly between quantiles.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.Quantiles([[0.0, 1.0], [0.0, 1.0], [5.0, 6.0]], [0.25, 0.75])
    >>> kc.skce([0.5, 2.0, 5.5], predictions).options["target_kernel"]
    QuantileLevels()
    """

    def evaluate(self, pairs: Any) -> Array:
        """Refused: it is no function of two numbers."""
        raise InputError(
            "QuantileLevels compares outcomes with the quantiles of their own rows, and is no function of two numbers: "
            "it is the target kernel of kernelcal.Quantiles, and has no values elsewhere"
        )

    def bound(self) -> float:
        """Return 1: no indicator is further than 1 from its level."""
        return 1.0

    def positive_definite(self, points: Any) -> bool:
        """Always: an inner product of Q numbers."""
        return True
