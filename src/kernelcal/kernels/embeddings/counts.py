"""Counts: sums over the values outside of which a prediction has less than 1e-12 of its probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings.batches import Layout
from kernelcal.kernels.embeddings.elementwise import contract, numpy_only
from kernelcal.kernels.embeddings.finite import OverList
from kernelcal.kernels.embeddings.recent import Recent
from kernelcal.kernels.embeddings.targets import point
from kernelcal.kernels.simple import Dirac

__all__ = ["OMITTED", "EqualCounts", "OverCounts", "over_counts"]

OMITTED = 1e-12  # at most so much of the probability of a prediction is left out of its sums
_KEPT = 2048  # counts, whose kernel matrix takes 32 MiB
_LARGEST = 2**14  # counts; more would take minutes a tile


@dataclass(frozen=True)
class OverCounts(OverList):
    """Expectations under predictions of counts: sums over first, first + 1, ..., last.

    Outside of them no prediction of the plan has more than 1e-12 of its probability: the error of an expectation is at
    most 1e-12 times the bound of the kernel, and does not depend on tiles. Other predictions that reach further are
    summed as far as they reach.
    """

    layout: Layout
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
    return kind(kernel, 0, Layout(batches[0]), first, last)


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
