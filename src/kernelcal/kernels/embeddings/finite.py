"""Predictions of values from a list: expectations are sums over it, computed by matrix products."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, like, namespace, row_slices, to_numpy
from kernelcal.kernels.embeddings.atoms import Atoms, Weights
from kernelcal.kernels.embeddings.base import Cross, Embedding
from kernelcal.kernels.embeddings.elementwise import add, contract
from kernelcal.kernels.points import class_matrix
from kernelcal.predictions import Bernoulli

__all__ = ["OverClasses", "OverList"]

_NUMBERS = 2**20  # kernel values held at once: 8 MiB


@dataclass(frozen=True)
class OverList(Atoms):
    """Expectations ``sum_s p_s k(s, y)`` and ``sum_st p_s p'_t k(s, t)`` where all rows of a batch share the values s.

    Probabilities of shape (rows, values) times kernel values of shape (values, columns) is a matrix product; no array
    has an axis of rows, one of columns and one of values.
    """

    @abstractmethod
    def masses(self, p: Any) -> tuple[np.ndarray, Array]:
        """Values of shape (S,) and their probabilities of shape (*leading, S)."""

    @abstractmethod
    def between(self, y: Array, values: np.ndarray) -> Array:
        """Kernel between targets of any shape and values of shape (S,): shape (*y.shape, S)."""

    def matrix(self, left: np.ndarray, right: np.ndarray) -> Array:
        """Kernel between runs of values."""
        return self.between(left, right)

    def mean(self, p: Any, y: Array) -> Array:
        """Probabilities times kernel values."""
        values, masses = self.masses(p)
        total = None
        for part in row_slices(len(values), _NUMBERS // max(1, math.prod(y.shape))):
            total = add(total, contract(masses[..., part], like(self.between(y, values[part]), masses)))
        return total

    def cross(self, p: Any, q: Any) -> Array:
        """Probabilities times kernel values times probabilities."""
        return self.meet(p, self, q)

    def meet(self, p: Any, other: OverList, q: Any) -> Array:
        """The same where the other predictions have another list."""
        (values, masses), (others, weights) = self.masses(p), other.masses(q)
        if math.prod(weights.shape[:-1]) > math.prod(masses.shape[:-1]):  # the fewer rows meet the kernel matrix
            values, masses, others, weights = others, weights, values, masses
        total = None
        for part in row_slices(len(values), _NUMBERS // len(others)):
            smooth = weights @ like(self.matrix(others, values[part]), weights)
            total = add(total, contract(masses[..., part], smooth))
        return total

    def crossing(self, other: Embedding) -> Cross | None:
        """Two lists meet in a matrix product, everything else through its mean."""
        if isinstance(other, OverList):
            return lambda p, q: self.meet(p, other, q)
        return super().crossing(other)

    def size(self, p: Any) -> int:
        """Number of values."""
        return len(self.masses(p)[0])

    def nodes(self, p: Any, part: slice) -> tuple[Weights, Array]:
        """Probabilities and values with their axis first."""
        values, masses = self.masses(p)
        weights = namespace(masses).moveaxis(masses[..., part], -1, 0)
        return weights, values[part].reshape(-1, *(1,) * (weights.ndim - 1))


@dataclass(frozen=True)
class OverClasses(OverList):
    """Class predictions: the list holds the classes."""

    number: int

    def masses(self, p: Any) -> tuple[np.ndarray, Array]:
        """Class probabilities; two classes may be given by one."""
        if isinstance(p, Bernoulli):  # whose arrays may have more leading axes than its method expects
            return np.arange(2), namespace(p.p).stack([1 - p.p, p.p], axis=-1)
        return np.arange(self.number), p.probabilities

    def between(self, y: Array, values: np.ndarray) -> Array:
        """Entries of the kernel matrix over the classes."""
        return class_matrix(self.kernel, self.number)[to_numpy(y).astype(np.int64)][..., values]

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"classes: sums of {self.kernel} over {self.number} classes",)
