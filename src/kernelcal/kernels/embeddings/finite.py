"""Predictions of values from a list, and counts: expectations are sums over the values, computed by matrix products."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from kernelcal.arrays import Array, like, namespace, row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings.atoms import Atoms, Weights
from kernelcal.kernels.embeddings.base import BatchLayout, Cross, Embedding, add, contract, numpy_only, point
from kernelcal.kernels.points import class_matrix
from kernelcal.kernels.simple import Dirac
from kernelcal.predictions import Bernoulli

__all__ = ["OMITTED", "EqualCounts", "OverClasses", "OverCounts", "OverList", "Recent", "over_counts"]


_NUMBERS = 2**20  # kernel values held at once: 8 MiB

OMITTED = 1e-12  # at most so much of the probability of a prediction is left out of its sums

_KEPT = 2048  # counts, whose kernel matrix takes 32 MiB

_LARGEST = 2**14  # counts; more would take minutes a tile

_PLAIN = (str, int, float, bool, tuple, type(None))


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


class Recent:
    """Results of a function of a batch, kept while they are among the last few.

    A tile is visited once a draw, each time with new objects of the same contents, and probabilities of counts cost
    more than the sums over them. Batches with fields that are neither arrays nor plain values are not kept.
    """

    def __init__(self, entries: int = 8, numbers: int = 2**20) -> None:
        self._entries, self._numbers = entries, numbers
        self._known: OrderedDict[Any, Any] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[Recent], tuple[int, int]]:
        return Recent, (self._entries, self._numbers)  # a copy in another process starts empty

    def of(self, p: Any, function: Callable[[Any], tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """``function(p)``, or what it was for a batch with the same contents."""
        key = _contents(p)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = function(p)
            self._keep(key, known)
        return known

    def _keep(self, key: Any, result: tuple[np.ndarray, np.ndarray]) -> None:
        if key is None or result[1].size > self._numbers:
            return
        with self._lock:
            self._known[key] = result
            while len(self._known) > self._entries:
                self._known.popitem(last=False)


def _contents(p: Any) -> tuple[Any, ...] | None:
    """Type and fields of a batch as a key, or None if a field is neither an array nor a plain value."""
    key: list[Any] = [type(p)]
    for name, value in vars(p).items():
        if isinstance(value, np.ndarray):
            key.append((name, value.shape, value.dtype.str, value.tobytes()))
        elif isinstance(value, _PLAIN):
            key.append((name, value))
        else:
            return None
    return tuple(key)


@dataclass(frozen=True)
class OverCounts(OverList):
    """Expectations under predictions of counts: sums over first, first + 1, ..., last.

    Outside of them no prediction of the plan has more than 1e-12 of its probability: the error of an expectation is at
    most 1e-12 times the bound of the kernel, and does not depend on tiles. Other predictions that reach further are
    summed as far as they reach.
    """

    layout: BatchLayout
    first: int
    last: int
    recent: Recent = field(default_factory=Recent, repr=False)

    def masses(self, p: Any) -> tuple[np.ndarray, Array]:
        """Counts and their probabilities."""
        numpy_only(f"{type(p).__name__} predictions", p.mean)
        return self.recent.of(p, self._masses)

    def _masses(self, p: Any) -> tuple[np.ndarray, Array]:
        flat = self.layout.flat(p)
        first, last = _ends([flat])
        first, last = min(first, self.first), max(last, self.last)
        values = np.arange(first, last + 1, dtype=np.float64)
        masses = np.exp(flat.log_prob(np.broadcast_to(values[:, None], (len(values), len(flat))))).T
        return values, np.ascontiguousarray(masses).reshape(*self.layout.leading(p), len(values))

    def between(self, y: Array, values: np.ndarray) -> Array:
        """Kernel between targets and counts."""
        return point(self.kernel, y[..., None], values, 0)

    def matrix(self, left: np.ndarray, right: np.ndarray) -> Array:
        """Kernel between runs of counts; for those of the plan it is computed once."""
        inside = all(self.first <= x[0] and x[-1] <= self.last for x in (left, right))
        if not inside or self.last - self.first >= _KEPT:
            return self.between(left, right)
        rows, columns = (slice(int(x[0]) - self.first, int(x[-1]) - self.first + 1) for x in (left, right))
        return self._matrix[rows, columns]

    @cached_property
    def _matrix(self) -> Array:
        values = np.arange(self.first, self.last + 1, dtype=np.float64)
        return self.between(values, values)

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"counts: {self._sums()}",)

    def _sums(self) -> str:
        return f"sums of {self.kernel} over {self.first} to {self.last}, which leave out at most {OMITTED:g}"


@dataclass(frozen=True)
class EqualCounts(OverCounts):
    """The Dirac kernel: probabilities of the targets, exactly, and of equal counts."""

    def mean(self, p: Any, y: Array) -> Array:
        """P(Z = y), computed once for equal targets."""
        numpy_only(f"{type(p).__name__} predictions", p.mean, y)
        leading = self.layout.leading(p)
        if len(leading) == 1:
            return np.exp(p.log_prob(y))
        found, inverse = np.unique(y, return_inverse=True)
        rows = np.arange(len(self.layout.flat(p))).reshape(leading)
        table = self.layout.flat(p).log_prob(np.broadcast_to(found[:, None], (len(found), rows.size)))
        return np.exp(table)[inverse.reshape(y.shape), rows]

    def meet(self, p: Any, other: OverList, q: Any) -> Array:
        """P(Z = Z'): sums over the counts that both have."""
        (values, masses), (others, weights) = self.masses(p), other.masses(q)
        first, last = max(values[0], others[0]), min(values[-1], others[-1])
        left, right = (slice(int(first - x[0]), max(0, int(last - x[0]) + 1)) for x in (values, others))
        return contract(masses[..., left], weights[..., right])

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"counts: probabilities of targets; crosses are {self._sums()}",)


def over_counts(kernel: Kernel, batches: Sequence[Any]) -> OverCounts:
    """Plan for batches of one family, which may be components of a mixture."""
    first, last = _ends(batches)
    kind = EqualCounts if isinstance(kernel, Dirac) else OverCounts
    return kind(kernel, 0, BatchLayout(batches[0]), first, last)


def _ends(batches: Sequence[Any]) -> tuple[int, int]:
    """First and last count that is needed."""
    lows = [int(p.quantile(OMITTED / 2).min()) for p in batches]
    highs = [p.quantile(1 - OMITTED / 2).max() for p in batches]
    first, last = min(lows), max(highs)
    if last - first > _LARGEST:
        raise InputError(
            f"the predictions of counts reach from {first} to {last:g}: sums over more than {_LARGEST} counts take too "
            "long; use the target kernel kernelcal.kernels.Spectral(kernel), which needs no sums, or treat such large "
            "counts as numbers"
        )
    return first, int(last)
