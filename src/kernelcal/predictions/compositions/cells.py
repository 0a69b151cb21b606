"""Cells between quantiles: all that a quantile forecast says, and all that its tests look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import take_rows
from kernelcal.predictions.base import checked_index

__all__ = ["QuantileCells"]


_ROUNDINGS = 8  # last digits of the larger number by which an outcome and a quantile may differ and still be equal


@dataclass(frozen=True, eq=False)
class QuantileCells:
    """Where outcomes lie among the quantiles of their row: below how many, and at or below how many.

    A code is one whole number for the pair (lo, hi), ``lo = #{k: q_k < y}`` and ``hi = #{k: q_k <= y}``, over the Q
    levels inside (0, 1): ``lo (Q + 1) + hi``, and a negative number for an outcome outside the quantiles of the levels
    0 and 1. Outcomes strictly between quantiles have lo = hi. Two indicators a level say all of it,

    ``below_k = 1[y < q_k] = 1[hi < k]`` and ``above_k = 1[y > q_k] = 1[lo >= k]``, k = 1, ..., Q.

    What is drawn are codes too. With a = a(k) and b = b(k) the first and the last level whose quantile equals q_k, a
    uniform number U that lies above C of the levels has ``below_k = 1[C < a(k)]`` and ``above_k = 1[C >= b(k)]``.

    Why this is exact: let U be the randomised transform of the outcome by its true law, of which only the claims
    ``P(Y < q_k) <= level_k <= P(Y <= q_k)`` are known; it is uniform. Where y < q_k, also y < q_a, so that U is
    at most P(Y < q_a) <= level_a: the indicator of the outcome is at most that of U, and so it is for ``above``, with
    b. A statistic that does not decrease in the 2 Q indicators of any row is therefore at most what it is of U, for all
    rows at once. Ranked among draws of U its p-value is at least that of U, which is uniform: the test is exact where
    no outcome equals a quantile, and conservative where outcomes do.

    Parameters
    ----------
    values : numpy.ndarray of shape (n, P)
        Quantiles of all levels that were given.
    levels : numpy.ndarray of shape (P,)
        Their levels, increasing, in [0, 1].
    resolution : float
        Width h to which outcomes are rounded: an outcome stands for all of [y - h / 2, y + h / 2].

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.predictions import QuantileCells
    >>> cells = QuantileCells(np.array([[-1.0, 0.0, 1.0]] * 2), np.array([0.1, 0.5, 0.9]))
    >>> cells.codes(np.array([0.3, 5.0]))
    array([10, 15], dtype=int32)
    """

    uniforms: ClassVar[int] = 1

    values: np.ndarray
    levels: np.ndarray
    resolution: float = 0.0

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Self:
        return type(self)(take_rows(self.values, checked_index(index)), self.levels, self.resolution)

    @cached_property
    def inside(self) -> np.ndarray:
        """Which of the given levels lie inside (0, 1), shape (P,): the others claim nothing that a count could test."""
        return np.asarray((self.levels > 0) & (self.levels < 1))

    @cached_property
    def taus(self) -> np.ndarray:
        """Levels inside (0, 1), shape (Q,)."""
        return np.asarray(self.levels[self.inside])

    @cached_property
    def quantiles(self) -> np.ndarray:
        """Quantiles of these levels in float64, shape (n, Q)."""
        return np.asarray(self.values[:, self.inside], dtype=np.float64)

    @cached_property
    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last level with the same quantile, a(k) and b(k), counted from 1, each of shape (n, Q).

        A quantile that equals that of level 0 has a = 0, one that equals that of level 1 has b = Q + 1: nothing may lie
        below the first, and nothing above the second.
        """
        q, (n, number) = self.quantiles, self.quantiles.shape
        first, last = np.tile(np.arange(1, number + 1), (2, n, 1))
        for k in range(1, number):
            same = q[:, k] == q[:, k - 1]
            first[same, k] = first[same, k - 1]
        for k in range(number - 2, -1, -1):
            same = q[:, k] == q[:, k + 1]
            last[same, k] = last[same, k + 1]
        if self.levels[0] == 0:
            first[q == self.values[:, :1]] = 0
        if self.levels[-1] == 1:
            last[q == self.values[:, -1:]] = number + 1
        return first, last

    @cached_property
    def claims(self) -> tuple[np.ndarray, np.ndarray]:
        """The most that may lie below each quantile, and the least at or below it: levels of a(k) and b(k), (n, Q)."""
        padded = np.concatenate([[0.0], self.taus, [1.0]])
        first, last = self.groups
        return padded[first], padded[last]

    @property
    def spacings(self) -> np.ndarray:
        """Probability of every cell under U, shape (Q + 1,)."""
        return np.diff(self.taus, prepend=0.0, append=1.0)

    @cached_property
    def tied(self) -> np.ndarray:
        """Rows with equal quantiles, shape (n,)."""
        first, last = self.groups
        return np.asarray((first != last).any(axis=1))

    def codes(self, targets: np.ndarray) -> np.ndarray:
        """Codes of outcomes, shape (..., n); what is drawn, whole numbers already, stays as it is.

        Numbers that differ by a few roundings of the coarser of their types are equal: a float32 quantile and a float64
        outcome of one value are.
        """
        if targets.dtype.kind == "i":
            return targets
        y, h = np.asarray(targets, dtype=np.float64), 0.5 * self.resolution
        below = np.zeros(y.shape, dtype=np.int32)
        upto = np.zeros(y.shape, dtype=np.int32)
        eps = self._eps(y)
        for q in self.quantiles.T:
            tolerance = eps * np.maximum(np.abs(y), np.abs(q))
            below += q < y - h - tolerance
            upto += q <= y + h + tolerance
        codes = below * (len(self.taus) + 1) + upto
        return np.where(self._outside(y, h, eps), -1 - codes, codes)

    def _eps(self, y: np.ndarray) -> np.ndarray:
        """Relative rounding of each outcome: of float32 where the quantiles, or the outcome, are such numbers."""
        single, double = (_ROUNDINGS * float(np.finfo(t).eps) for t in (np.float32, np.float64))
        if self.values.dtype.itemsize < 8:
            return np.full(y.shape, max(single, _ROUNDINGS * float(np.finfo(self.values.dtype).eps)))
        with np.errstate(over="ignore"):
            short = y.astype(np.float32).astype(np.float64) == y
        return np.where(short & (y != np.round(y)), single, double)

    def _outside(self, y: np.ndarray, h: float, eps: np.ndarray) -> np.ndarray:
        """Whether outcomes lie outside the quantiles of the levels 0 and 1, by more than roundings.

        Such an outcome is proof, and an end of 0 has no last digit: the largest quantile of the row stands for its
        size.
        """
        found = np.zeros(y.shape, dtype=bool)
        size = np.abs(self.values.astype(np.float64)).max(axis=1)
        for end, level, sign in ((0, 0.0, -1), (-1, 1.0, 1)):
            if self.levels[end] == level:
                edge = self.values[:, end].astype(np.float64)
                found |= sign * (y - edge) > h + eps * np.maximum(np.abs(y), size)
        return found

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Codes of uniform numbers of shape (..., n)."""
        number = len(self.taus)
        above = np.searchsorted(self.taus, uniforms, side="right").astype(np.int32)
        if len(self.drawn) == 1 and len(self) > 1:
            return above * np.int32(number + 2)  # lo = hi: cells between different quantiles
        return np.asarray(self.drawn[np.arange(len(self)), above], dtype=np.int32)

    @cached_property
    def drawn(self) -> np.ndarray:
        """Code of every number of levels at or below U, shape (n, Q + 1); (1, Q + 1) where no quantiles are equal."""
        (first, last), number = self.groups, len(self.taus)
        above = np.arange(number + 1)[:, None]
        if not self.tied.any():
            return np.asarray(above.T * (number + 2), dtype=np.int32)
        lo = (last[:, None, :] <= above).sum(axis=2)
        hi = (first[:, None, :] <= above).sum(axis=2)
        return (lo * (number + 1) + hi).astype(np.int32)

    def ends(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(lo, hi) of codes."""
        plain = np.where(codes < 0, -1 - codes, codes)
        return np.divmod(plain, len(self.taus) + 1)

    def impossible(self, targets: np.ndarray) -> np.ndarray:
        """Tell which outcomes, or codes, lie outside the quantiles of the levels 0 and 1."""
        return np.asarray(self.codes(targets) < 0)

    def has_ties(self, targets: np.ndarray) -> bool:
        """Tell whether an outcome equals a quantile, or quantiles each other: levels then claim bounds, no shares."""
        return bool(self.tied.any()) or not self.between(targets).all()

    def between(self, targets: np.ndarray) -> np.ndarray:
        """Which outcomes, or codes, lie strictly between quantiles, so that the level of every quantile is a claim."""
        lo, hi = self.ends(self.codes(targets))
        return np.asarray(lo == hi)
