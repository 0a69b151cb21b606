"""Kernels without a profile: linear, equality, matrices over classes, products over coordinates, places of outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import Array, numbers
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel, Pairs

__all__ = ["PIT", "Brownian", "Coordinatewise", "Dirac", "FiniteKernel", "Linear", "QuantileLevels"]


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear kernel: the inner product of the probabilities (of the one probability for `Bernoulli`).

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.skce([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], prediction_kernel=kc.Linear())), 4)
    -0.0111
    """

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
    """Equality: 1 if the points are equal, else 0 (Kronecker delta). The default between class labels.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import class_matrix
    >>> class_matrix(kc.Dirac(), 2)
    array([[1., 0.],
           [0., 1.]])
    """

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

    joint = True

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


_WAVES = 32  # cosines: they hold 98 % of the kernel between a place and itself, and all of what is not finer than 1/32

_ORDERS = (1.0, 1.0, 0.5, 0.5)  # weights of the polynomials of order 1, 2, ...


@dataclass(frozen=True)
class PIT(Kernel):
    r"""Target kernel between the places ``u = F_P(y)`` of outcomes in their predicted distributions.

    Under calibration u is uniform on (0, 1) whatever the prediction, so that rows with standard deviations of 0.01 and
    of 100 speak alike, the features have mean zero and no expectation is computed. The default between numbers.

    Parameters
    ----------
    features : {"levels", "polynomials"}
        ``levels``: the kernel of Cramer and von Mises,
        ``k(u, v) = int_0^1 (1[u <= t] - t) (1[v <= t] - t) dt = 1/3 - max(u, v) + (u^2 + v^2) / 2``, as the sum of its
        first 32 waves, ``2 cos(j pi u) cos(j pi v) / (j pi)^2``. The root of the SKCE is then the root mean square gap
        between claimed and observed probability, over all levels t, of predictions that are alike: a probability.
        ``polynomials``: orthonormal Legendre polynomials of 2 u - 1, orders 1 to 4 with weights 1, 1, 1/2, 1/2: shift,
        width, skewness and tails of the places. The default test uses them.

    Notes
    -----
    Where an outcome has a probability of its own (counts, draws, ties) a feature is averaged over the jump
    [F(y-), F(y)] of the distribution function: its mean stays exactly zero, and nothing is random. The place among S
    draws is that among the S + 1 exchangeable values, so that draws of the true law have features of mean 0 at any S;
    given the draws they have not, and the SKCE of a calibrated model with few draws is a little above 0.

    Normal vectors are whitened: the places are those of every component given those before, and of the distance from
    the mean; the kernel is the average over them. For vectors of other families with known marginals it sees the
    components one by one, and nothing of what they share.

    References
    ----------
    Dawid (1984) for the transform; Anderson and Darling (1952) for the spectrum; Neyman (1937) for polynomials.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, predictions = [0.3, 1.9], kc.Normal([0.0, 1.0], [1.0, 0.5])
    >>> near = kc.skce(y, predictions, target_kernel=kc.kernels.PIT())
    >>> float(near) == float(kc.skce([30.0, 190.0], kc.Normal([0.0, 100.0], [100.0, 50.0])))
    True
    """

    features: str = "levels"

    known: ClassVar[tuple[str, ...]] = ("levels", "polynomials")

    def __post_init__(self) -> None:
        if self.features not in self.known:
            raise InputError(
                f"features of PIT must be one of {', '.join(map(repr, self.known))}, got {self.features!r}"
            )

    @property
    def unit(self) -> str:
        """What the root of the SKCE is, in words."""
        if self.features == "levels":
            return "root mean square gap between claimed and observed probability"
        return "root mean square of moments of the PIT"

    @property
    def size(self) -> int:
        """Number of features of one place."""
        return _WAVES if self.features == "levels" else len(_ORDERS)

    @property
    def amplitudes(self) -> np.ndarray:
        """What multiplies every feature of mean square 1 under calibration, shape (size,)."""
        if self.features == "levels":
            return 1 / (math.pi * np.arange(1, _WAVES + 1))
        return np.sqrt(np.array(_ORDERS))

    def evaluate(self, pairs: Any) -> Array:
        """Refused: an outcome has a place only in its own prediction."""
        raise InputError(
            "PIT compares the places of outcomes in their predicted distributions, and has no value for two outcomes "
            "alone: use it as target_kernel, by itself"
        )

    def bound(self) -> float:
        """Bound of the absolute value, reached at the ends: 1/3 for levels, 16 for polynomials."""
        return 1 / 3 if self.features == "levels" else sum(w * (2 * k + 1) for k, w in enumerate(_ORDERS, start=1))

    def positive_definite(self, points: Any) -> bool:
        """Always: an inner product of features."""
        return True
