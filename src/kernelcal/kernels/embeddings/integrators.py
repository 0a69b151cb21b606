"""Step four of a plan: integrators, which are used only where they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcal.arrays import Array, row_slices
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings.atoms import Atoms, OverNormalNodes, OverQuantiles, Weights
from kernelcal.kernels.embeddings.base import BatchLayout, Cross, Embedding, add, numpy_only, operations, point
from kernelcal.predictions import Normal, RealPredictions, VectorNormal
from kernelcal.randomness import generator_of

__all__ = ["GaussHermite", "GaussLegendre", "Integrator", "MonteCarlo", "OverSeededDraws"]


_LARGEST_DIMENSION = 3  # of a tensor grid


class Integrator(ABC):
    """How expectations without a closed form are approximated: passed as ``integrator`` to `plan`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import Integrator
    >>> isinstance(kc.MonteCarlo(100), Integrator)
    True
    """

    @abstractmethod
    def embedding(self, kernel: Kernel, predictions: Any) -> Embedding:
        """Node of a plan for a kernel and predictions, or `InputError` if the integrator does not suit them."""


@dataclass(frozen=True)
class GaussHermite(Integrator):
    """Gauss-Hermite quadrature for normal predictions: exact for polynomials, quick for smooth kernels.

    Expectations are weighted means over ``order`` nodes ``m + s x`` for `Normal`, and over a grid of ``order^d`` nodes
    for vectors of at most three numbers. For a kernel of the difference alone, ``E k(Z, Z')`` is one such mean under
    the distribution of ``Z - Z'``; for other kernels it is a mean over all pairs of nodes.

    Parameters
    ----------
    order : int
        Number of nodes of one coordinate.

    Raises
    ------
    InputError
        For other families, and for vectors of more than three numbers.

    Notes
    -----
    Cost: ``order^d`` kernel values a pair. A kernel with a kink, such as the Laplacian, or one whose lengthscale is
    small beside the standard deviation, needs a high order.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import GaussHermite, RationalQuadratic, plan
    >>> predictions = kc.Normal([0.0, 1.0], 1.0)
    >>> print(plan(RationalQuadratic(1.0), predictions, integrator=GaussHermite()))
    quadrature: RationalQuadratic(lengthscale=1.0, ...) over 32 nodes of Gauss-Hermite...
    """

    order: int = 32

    def __post_init__(self) -> None:
        _positive("order", self.order)

    def embedding(self, kernel: Kernel, predictions: Any) -> Embedding:
        """Means over nodes."""
        if not isinstance(predictions, Normal | VectorNormal):
            raise InputError(
                f"GaussHermite is for normal predictions, got {type(predictions).__name__}: use GaussLegendre() where "
                "there are quantiles, or MonteCarlo()"
            )
        vector = isinstance(predictions, VectorNormal)
        dimension = predictions.dimension
        if dimension > _LARGEST_DIMENSION:
            raise InputError(
                f"GaussHermite would need {self.order}^{dimension} nodes for vectors of {dimension} numbers, and "
                f"more than {_LARGEST_DIMENSION} are too many: use MonteCarlo(), or a kernel with a closed form, such "
                "as Gaussian() or, for independent coordinates, Coordinatewise(Laplacian())"
            )
        return OverNormalNodes(kernel, int(vector), self.order, dimension)


@dataclass(frozen=True)
class GaussLegendre(Integrator):
    """Gauss-Legendre quadrature in the probability u for every family of numbers with quantiles.

    ``E k(Z, y) = int_0^1 k(F^-1(u), y) du`` as a weighted mean over ``order`` quantiles, ``E k(Z, Z')`` over all
    pairs of them.

    Parameters
    ----------
    order : int
        Number of nodes.

    Raises
    ------
    InputError
        For vectors, which have no quantiles.

    Notes
    -----
    Cost: ``order`` kernel values a pair, and ``order^2`` for the cross. The outermost of 64 nodes has u = 3e-4, so that
    only kernels which are bounded are safe.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import GaussLegendre, RationalQuadratic, plan
    >>> predictions = kc.predictions.Laplace([0.0, 1.0], 1.0)
    >>> embedding = plan(RationalQuadratic(1.0), predictions, integrator=GaussLegendre())
    >>> embedding.mean(predictions, predictions.mean).round(3)
    array([0.715, 0.715])
    """

    order: int = 64

    def __post_init__(self) -> None:
        _positive("order", self.order)

    def embedding(self, kernel: Kernel, predictions: Any) -> Embedding:
        """Means over quantiles."""
        if not isinstance(predictions, RealPredictions) or predictions.event_shape != ():
            raise InputError(
                f"GaussLegendre needs quantiles of numbers, which {type(predictions).__name__} does not have: use "
                "MonteCarlo()"
            )
        return OverQuantiles(kernel, 0, self.order, BatchLayout(predictions))


@dataclass(frozen=True)
class MonteCarlo(Integrator):
    """Means over seeded draws, for every family that can be drawn from.

    The same uniform numbers serve every row and every call, so equal predictions have equal expectations and a result
    does not depend on tiles. There are two independent sets, U and V: ``mean`` uses U; ``cross`` is the mean of
    ``(k(Z_U, Z'_V) + k(Z_V, Z'_U)) / 2`` over the draws, which is symmetric, and unbiased for equal predictions too:
    with one set, ``cross(p, p)`` would compare every draw with itself.

    Parameters
    ----------
    size : int
        Number of draws of one set.
    rng : int
        Seed.

    Notes
    -----
    Cost: ``size`` kernel values a pair, and twice as many for the cross. The error falls as ``1 / sqrt(size)``, and a
    Gram matrix of crosses is positive semi-definite up to that error only.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import MonteCarlo, plan
    >>> predictions = kc.predictions.MultivariateNormal([[0.0, 0.0]], [[2.0, 1.0], [1.0, 2.0]])
    >>> embedding = plan(kc.Laplacian(1.0), predictions, integrator=MonteCarlo())
    >>> embedding.mean(predictions, predictions.mean).round(1)
    array([0.3])
    """

    size: int = 1000
    rng: int = 0

    def __post_init__(self) -> None:
        _positive("size", self.size)
        if not isinstance(self.rng, int | np.integer):
            raise InputError(f"rng must be a whole number, so that every call draws the same, got {self.rng!r}")

    def embedding(self, kernel: Kernel, predictions: Any) -> Embedding:
        """Means over draws."""
        shape = (2, self.size, predictions.uniforms)
        uniforms = generator_of(self.rng, "Monte Carlo integration").random(shape)
        return OverSeededDraws(kernel, len(predictions.event_shape), BatchLayout(predictions), uniforms)


def _positive(what: str, value: Any) -> None:
    if not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{what} must be a positive whole number, got {value!r}")


@dataclass(frozen=True)
class OverSeededDraws(Atoms):
    """Means over draws that come from the same two sets of uniform numbers for every row and every call."""

    layout: BatchLayout
    uniforms: np.ndarray = field(repr=False)  # (2, draws, uniform numbers a target)

    def size(self, p: Any) -> int:
        """Number of draws of one set."""
        return self.uniforms.shape[1]

    def nodes(self, p: Any, part: slice) -> tuple[Weights, Array]:
        """Draws of the first set."""
        return 1 / self.size(p), self._drawn(0, p, part)

    def cross(self, p: Any, q: Any) -> Array:
        """Means over pairs of draws from different sets, in both ways."""
        return self.meet(p, self, q)

    def meet(self, p: Any, other: OverSeededDraws, q: Any) -> Array:
        """The same where the other predictions have another family."""
        total = None
        for part in row_slices(self.size(p), self._step(p.mean, q.mean)):
            for first, second in ((0, 1), (1, 0)):
                values = point(self.kernel, self._drawn(first, p, part), other._drawn(second, q, part), self.event_ndim)
                total = add(total, values.sum(axis=0))
        return operations(total).scale(total, 0.5 / self.size(p))

    def crossing(self, other: Embedding) -> Cross | None:
        """Draws meet draws one by one."""
        if isinstance(other, OverSeededDraws):
            return lambda p, q: self.meet(p, other, q)
        return super().crossing(other)

    def _drawn(self, which: int, p: Any, part: slice) -> Array:
        """Draws of shape (part, *leading, *event): of every row from the same uniform numbers."""
        numpy_only("Monte Carlo integration", p.mean)
        flat, leading = self.layout.flat(p), self.layout.leading(p)
        uniforms = self.uniforms[which, part]
        rows = np.broadcast_to(uniforms[:, None, :], (len(uniforms), len(flat), uniforms.shape[1]))
        drawn = flat.draw(rows[..., 0] if uniforms.shape[1] == 1 else rows)
        return drawn.reshape(len(uniforms), *leading, *drawn.shape[2:])

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"Monte Carlo: {self.kernel} over {self.size(None)} seeded draws, crosses over pairs of two sets",)
