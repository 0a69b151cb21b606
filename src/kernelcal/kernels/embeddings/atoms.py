"""Predictions that are, or are replaced by, finitely many weighted values: expectations are weighted means."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace, row_slices
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings.base import BatchLayout, Cross, Embedding, add, bare, numpy_only, operations, point
from kernelcal.kernels.profiles import Stationary
from kernelcal.predictions import MultivariateNormal, Normal

__all__ = ["Atoms", "OverDraws", "OverNormalNodes", "OverQuantiles", "Weights"]


_NUMBERS = 2**16  # kernel values held at once, unless one value a pair takes more: half a MiB stays in the cache
Weights = float | Array  # one weight for all values, or an array of shape (part, *leading) that broadcasts


@dataclass(frozen=True)
class Atoms(Embedding):
    """Expectations ``sum_s w_s k(z_s, y)`` and ``sum_st w_s w'_t k(z_s, z'_t)`` over the values of a prediction.

    A subclass says which values a batch has. Memory: one array of kernel values of the pairs, whatever the number S of
    values; time: S kernel values a pair, and S^2 for `cross`.

    Attributes
    ----------
    kernel : Kernel
        Target kernel, of any kind.
    event_ndim : int
        1 for vectors, else 0.
    """

    kernel: Kernel
    event_ndim: int

    @abstractmethod
    def size(self, p: Any) -> int:
        """Number S of values."""

    @abstractmethod
    def nodes(self, p: Any, part: slice) -> tuple[Weights, Array]:
        """Weights and values of a part of the S: values of shape (part, *leading, *event)."""

    def mean(self, p: Any, y: Array) -> Array:
        """Weighted mean of kernel values."""

        def values_of(nodes: Array) -> Array:
            return point(self.kernel, self._aside(nodes, y), y, self.event_ndim)

        return self._average(p, y, values_of)

    def cross(self, p: Any, q: Any) -> Array:
        """Weighted mean of kernel values over all pairs of values."""
        return self.through(p, self, q)

    def through(self, p: Any, other: Embedding, q: Any) -> Array:
        """Weighted mean of what another embedding says of the values: E k(Z, Z') with Z' from q."""
        return self._average(p, q.mean, lambda nodes: other.mean(q, nodes))

    def crossing(self, other: Embedding) -> Cross | None:
        """Whatever the other embedding is, it has a mean."""
        return lambda p, q: self.through(p, other, q)

    def _average(self, p: Any, like: Array, values_of: Callable[[Array], Array]) -> Array:
        """Weighted sum over parts of the values, whose axis comes first."""
        total, weights = None, 1.0
        for part in row_slices(self.size(p), self._step(p.mean, like)):
            weights, nodes = self.nodes(p, part)
            total = add(total, _sum(values_of(nodes), weights))
        return operations(total).scale(total, weights) if isinstance(weights, float) else total

    def _step(self, left: Array, right: Array) -> int:
        """How many values are taken at once, beside two arrays of targets that broadcast."""
        shapes = (x.shape[: x.ndim - self.event_ndim] for x in (left, right))
        return _NUMBERS // max(1, math.prod(np.broadcast_shapes(*shapes)))

    def _aside(self, nodes: Array, y: Array) -> Array:
        """Keep the axis of the values before all axes of targets that have more leading axes than predictions."""
        more = y.ndim + 1 - nodes.ndim
        return nodes if more <= 0 else namespace(nodes).reshape(nodes, (nodes.shape[0], *(1,) * more, *nodes.shape[1:]))


def _sum(values: Array, weights: Weights) -> Array:
    """Sum over the first axis; one weight for all is left to the end."""
    if not isinstance(weights, float):
        more = values.ndim - weights.ndim
        shape = (weights.shape[0], *(1,) * more, *weights.shape[1:])
        values = operations(values).multiply(values, namespace(weights).reshape(weights, shape))
    return values[0, ...] if values.shape[0] == 1 else namespace(values).sum(values, axis=0)


@dataclass(frozen=True)
class OverDraws(Atoms):
    """Samples: means over their draws, weighted where the draws are."""

    def size(self, p: Any) -> int:
        """Number of draws."""
        return p.size

    def nodes(self, p: Any, part: slice) -> tuple[Weights, Array]:
        """Draws, with their axis first."""
        weights = 1 / p.size if p.weights is None else _first(p.weights[..., part], -1)
        return weights, _first(p.draws[..., part, :], -2) if self.event_ndim else _first(p.draws[..., part], -1)

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"draws: means of {self.kernel} over them, crosses over all pairs",)


def _first(x: Array, axis: int) -> Array:
    return namespace(x).moveaxis(x, axis, 0)


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
    layout: BatchLayout

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
