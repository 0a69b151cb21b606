"""Rows put together that may depend on each other: clusters, or stretches of time; pairs of one unit are left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from kernelcal.dependence.structure import Dependence

__all__ = ["DependentUnits"]


_STEPS = 2  # horizons, the least length of a stretch


@dataclass(frozen=True, eq=False)
class DependentUnits:
    """Parts of the rows that count as independent of each other, and pairs of rows that are too near to be.

    A unit is a cluster, or a stretch of consecutive times of one series. Rows are put in order, those of one unit
    together, so that what is left out beside a row is a run of rows: its own unit, and of the stretches beside it the
    rows less than h steps away.

    Attributes
    ----------
    order : numpy.ndarray of shape (n,)
        Rows, by units and, inside a series, by time.
    unit : numpy.ndarray of shape (n,)
        Unit of every row in this order, 0 to G - 1, never falling.
    first, last : numpy.ndarray of shape (n,)
        Rows `first` to `last` - 1, places in this order, are left out beside each row, itself among them.
    horizon : int
        Steps within which rows of two stretches are left out, too; 1 for clusters.
    length : int
        Steps of a stretch, roughly; 0 for clusters.
    """

    order: np.ndarray
    unit: np.ndarray
    first: np.ndarray
    last: np.ndarray
    horizon: int = 1
    length: int = 0

    @classmethod
    def of(cls, rows: Dependence) -> Self | None:
        """Clusters, or stretches of two horizons; None where no two rows overlap.

        The sum over a stretch of L steps of errors that are uncorrelated from h steps on has at least the share
        ``1 - h / L`` of the variance for each step that long sums have, of means of h shocks ``1 - h / (3 L)``.
        """
        if rows.clusters is not None:
            return cls.clusters(rows)
        return None if rows.horizon == 1 else cls.stretches(rows, _STEPS * rows.horizon)

    @classmethod
    def clusters(cls, rows: Dependence) -> Self:
        """One unit a cluster."""
        assert rows.clusters is not None
        order = np.argsort(rows.clusters, kind="stable")
        of = np.unique(rows.clusters[order], return_inverse=True)[1]
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        ends = np.append(starts[1:], len(of))
        return cls(order, of, starts[of], ends[of])

    @classmethod
    def stretches(cls, rows: Dependence, length: int) -> Self:
        """Stretches of at least so many steps, as equal as can be; a series that is shorter is one unit.

        Rows less than h steps apart are left out; stretches are not shorter than 2 h, so that these lie in one stretch
        or in two that follow each other.
        """
        h, length = rows.horizon, max(length, _STEPS * rows.horizon)
        order = np.lexsort((rows.time, rows.series))
        series, time = rows.series[order], rows.time[order]
        parts = np.maximum(rows.lengths // length, 1)
        part = time * parts[series] // rows.lengths[series]
        key = np.cumsum(parts)[series] - parts[series] + part
        of = np.unique(key, return_inverse=True)[1]
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        ends = np.append(starts[1:], len(of))
        span = int(time.max(initial=0)) + 2 * h + 1  # no two series come near each other
        place = series * span + time
        near = np.searchsorted(place, place - h, side="right"), np.searchsorted(place, place + h, side="left")
        return cls(order, of, np.minimum(starts[of], near[0]), np.maximum(ends[of], near[1]), h, length)

    def __len__(self) -> int:
        """How many units."""
        return int(self.unit[-1]) + 1 if len(self.unit) else 0

    @cached_property
    def starts(self) -> np.ndarray:
        """First row of every unit, in this order."""
        return np.flatnonzero(np.diff(self.unit, prepend=-1))

    @cached_property
    def sizes(self) -> np.ndarray:
        """Rows of every unit."""
        return np.bincount(self.unit)

    @property
    def sorted(self) -> bool:
        """Whether rows are in this order as they are."""
        return bool((self.order == np.arange(len(self.order))).all())

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over units of values of rows in this order, along the first axis."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))

    @property
    def said(self) -> str:
        """What was left out, for notes."""
        if not self.length:
            return "pairs of rows of one cluster are left out of the estimate"
        return (
            f"pairs of rows less than {self.horizon} steps apart, or in one stretch of {self.length} steps, are left "
            "out of the estimate"
        )

    @property
    def name(self) -> str:
        """What a unit is, in the plural."""
        return f"stretches of {self.length} steps" if self.length else "clusters"

    def layers(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows in blocks of so many rows of as many units, and which blocks have the same units.

        Units are put in order of their rows, the largest first, and cut into groups of `size` units; a block has one
        row of every unit of a group. Blocks of different groups share no unit.

        Returns
        -------
        rows : numpy.ndarray
            Rows of the blocks, one block after the other; what makes no whole block is left out.
        group : numpy.ndarray
            Group of every block.
        """
        largest = np.argsort(-self.sizes, kind="stable")
        starts, sizes = self.starts[largest], self.sizes[largest]
        rows, group = [], []
        for k in range(int(sizes[min(size, len(sizes)) - 1]) if len(sizes) >= size else 0):
            blocks = int((sizes > k).sum()) // size
            rows.append(self.order[starts[: blocks * size] + k])
            group.append(np.arange(blocks))
        return np.concatenate(rows or [np.zeros(0, int)]), np.concatenate(group or [np.zeros(0, int)])

    def effective(self, correlation: float) -> float:
        """How many units of equal size they count like, ``(sum_g v_g)^2 / sum_g v_g^2``.

        ``v_g = m_g + rho m_g (m_g - 1)`` is the variance of a sum over m_g rows with the correlation rho.
        """
        v = self.sizes + correlation * (self.sizes * (self.sizes - 1.0))
        return float(v.sum() ** 2 / (v**2).sum())

    def next_to(self, weights: np.ndarray) -> np.ndarray:
        """Sum of ``w_i w_j`` over pairs left out of every unit and the one after it, shape (G,), the last one 0."""
        total = np.append(0.0, np.cumsum(weights))
        ends = np.append(self.starts[1:], len(self.unit))[self.unit]
        return self.sums(weights * (total[self.last] - total[np.minimum(ends, self.last)]))

    def leave_out(self, strip: np.ndarray, first: int) -> None:
        """Set to 0 what is left out beside rows from one on, in a strip of their values with all rows."""
        for i in range(len(strip)):
            strip[i, self.first[first + i] : self.last[first + i]] = 0

    def left_out(self, weights: np.ndarray) -> float:
        """Sum of ``w_i w_j`` over all pairs left out, both orders counted, those of a row with itself among them."""
        total = np.append(0.0, np.cumsum(weights))
        return float(weights @ (total[self.last] - total[self.first]))
