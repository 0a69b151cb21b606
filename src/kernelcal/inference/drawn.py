"""Observed values among drawn ones: ranks, p-value, and what a result says of every statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from kernelcal.inference.law import Outcome
from kernelcal.inference.ranks import minimum_rank_pvalue, ranks, standardised
from kernelcal.inference.result import Member
from kernelcal.tables import Shown, Table

__all__ = ["DrawnValues"]

_SHOWN = 30
_KEPT = 250_000  # values that a result keeps for its picture: two megabytes


@dataclass(frozen=True, eq=False, repr=False)
class DrawnValues(Shown):
    """Observed and drawn values, their ranks and the p-value.

    Attributes
    ----------
    values : numpy.ndarray of shape (draws + 1, S)
        Row 0 is observed.
    rank : numpy.ndarray of shape (draws + 1, S)
        Ranks among all rows, 1 for the largest.
    pvalue : float
        P-value of the family, at least 1 / (draws + 1).
    stopped_early : bool
        Whether an early look ended the draws.
    """

    values: np.ndarray
    rank: np.ndarray
    pvalue: float
    stopped_early: bool

    @classmethod
    def of(cls, values: np.ndarray, *, stopped_early: bool = False) -> Self:
        """Rank values of shape (draws + 1, S)."""
        rank = ranks(values)
        return cls(values, rank, minimum_rank_pvalue(values, rank), stopped_early)

    @property
    def draws(self) -> int:
        """Number of draws that were made."""
        return len(self.values) - 1

    def outcome(self, names: tuple[str, ...], notes: tuple[str, ...] = ()) -> Outcome:
        """Outcome with a member for every statistic."""
        members, fired = self._members(names), self._fired(names)
        columns = dict(zip(names, self.values[1:].T, strict=True)) if self.values.size <= _KEPT else {}
        kept = {member.name: columns[member.name] for member in members if columns}
        return Outcome(self.pvalue, members, fired, self.draws, self.stopped_early, notes, kept)

    def _table(self) -> Table:
        stopped = ", stopped early" if self.stopped_early else ""
        rows = [("p-value", f"{self.pvalue:.4g}"), ("draws", f"{self.draws:,}{stopped}")]
        observed = zip(self.values[0, :_SHOWN], self.rank[0, :_SHOWN], strict=True)
        rows += [(f"statistic {k}", f"{value:.6g}, rank {int(rank):,}") for k, (value, rank) in enumerate(observed)]
        more = self.values.shape[1] - _SHOWN
        return Table("Drawn values", rows, (f"{more:,} more statistics are not shown",) if more > 0 else ())

    def _members(self, names: tuple[str, ...]) -> tuple[Member, ...]:
        """Every statistic; beside others one that no draw changes says nothing and is left out."""
        drawn, observed = self.values[1:], self.values[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = drawn.std(axis=0)
            deviation = np.where(spread > 0, (observed - drawn.mean(axis=0)) / spread, np.nan)
            deviation = np.where((spread == 0) & (observed > drawn.max(axis=0)), np.inf, deviation)
        pvalues = self.rank[0] / (self.draws + 1)
        columns = zip(names, observed, pvalues, deviation, strict=True)
        members = [Member(name, float(v), float(p), float(d)) for name, v, p, d in columns]
        varying = [m for m, column in zip(members, self.values.T, strict=True) if np.any(column != column[0])]
        return tuple(varying or members)

    def _fired(self, names: tuple[str, ...]) -> str:
        """Name of the member with the smallest rank; of equal ones the one that deviates most, as in the p-value."""
        deviation = [standardised(column)[0] for column in self.values.T]
        return min(zip(self.rank[0], [-d for d in deviation], names, strict=True))[2]
