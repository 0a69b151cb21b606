"""Expectations as weighted means over nodes of a quadrature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import Array
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings.atoms import Atoms, Weights
from kernelcal.kernels.embeddings.base import Cross, Embedding
from kernelcal.kernels.embeddings.batches import Layout, bare
from kernelcal.kernels.embeddings.elementwise import numpy_only
from kernelcal.kernels.stationary import Stationary
from kernelcal.predictions import MultivariateNormal, Normal

__all__ = ["OverNormalNodes", "OverQuantiles"]


@dataclass(frozen=True)
class OverNormalNodes(Atoms):
    """Gauss-Hermite quadrature under normal distributions of numbers or short vectors.

    For a kernel of the difference alone the cross is a mean under the normal distribution of the difference.
    """

    order: int
    dimension: int

    @cached_property
    def _grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of a standard normal distribution, shape (order^d, d), and their weights."""
        x, w = np.polynomial.hermite_e.hermegauss(self.order)
        axes = np.meshgrid(*[x] * self.dimension, indexing="ij")
        weights = np.meshgrid(*[w / math.sqrt(2 * math.pi)] * self.dimension, indexing="ij")
        return np.stack(axes, axis=-1).reshape(-1, self.dimension), np.prod(weights, axis=0).ravel()

    def size(self, p: Any) -> int:
        """Number of nodes."""
        return self.order**self.dimension

    def nodes(self, p: Any, part: slice) -> tuple[Weights, Array]:
        """``m + L x``."""
        numpy_only("Gauss-Hermite quadrature", p.mean)
        x, weights = (v[part] for v in self._grid)
        leading = (1,) * (p.mean.ndim - self.event_ndim)
        weights = weights.reshape(-1, *leading)
        if self.event_ndim:
            return weights, p.mean + p.spread(x.reshape(len(x), *leading, -1))
        return weights, p.mean + p.std * x.reshape(-1, *leading)

    def cross(self, p: Any, q: Any) -> Array:
        """One mean under the distribution of Z - Z', or a mean over all pairs of nodes."""
        if not _of_difference(self.kernel):
            return super().cross(p, q)
        difference = _difference(p, q)
        return self.mean(difference, np.zeros_like(difference.mean))

    def crossing(self, other: Embedding) -> Cross | None:
        """Normal vectors of every kind differ by normal vectors."""
        return self.cross if isinstance(other, OverNormalNodes) else super().crossing(other)

    def describe(self) -> tuple[str, ...]:
        """One line."""
        cross = "crosses over those of the difference" if _of_difference(self.kernel) else "crosses over all pairs"
        return (f"quadrature: {self.kernel} over {self.size(None)} nodes of Gauss-Hermite, {cross}",)


@dataclass(frozen=True)
class OverQuantiles(Atoms):
    """Gauss-Legendre quadrature in the probability: weighted means over quantiles."""

    order: int
    layout: Layout

    @cached_property
    def _levels(self) -> tuple[np.ndarray, np.ndarray]:
        x, w = np.polynomial.legendre.leggauss(self.order)
        return (x + 1) / 2, w / 2

    def size(self, p: Any) -> int:
        """Number of nodes."""
        return self.order

    def nodes(self, p: Any, part: slice) -> tuple[Weights, Array]:
        """Quantiles."""
        levels, weights = (v[part] for v in self._levels)
        flat, leading = self.layout.flat(p), self.layout.leading(p)
        values = flat.quantile(np.broadcast_to(levels[:, None], (len(levels), len(flat))))
        return weights.reshape(-1, *(1,) * len(leading)), values.reshape(-1, *leading)

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"quadrature: {self.kernel} over {self.order} quantiles (Gauss-Legendre), crosses over all pairs",)


def _of_difference(kernel: Kernel) -> bool:
    """Tell whether a kernel depends on the difference of the targets alone."""
    leaves: list[Kernel] = []

    def look(leaf: Kernel) -> Kernel:
        leaves.append(leaf)
        return leaf

    kernel.map_leaves(look)
    return all(isinstance(leaf, Stationary) for leaf in leaves)


def _difference(p: Any, q: Any) -> Any:
    """Distribution of Z - Z'."""
    mean = p.mean - q.mean
    if isinstance(p, Normal):
        return bare(Normal, mean=mean, std=np.sqrt(p.std**2 + q.std**2))
    cov = _covariance(p) + _covariance(q)
    return bare(MultivariateNormal, mean=mean, cov=cov, factor=np.linalg.cholesky(cov))


def _covariance(p: Any) -> Array:
    return p.cov if isinstance(p, MultivariateNormal) else p.std[..., None] ** 2 * np.eye(p.std.shape[-1])
