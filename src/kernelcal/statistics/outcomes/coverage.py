"""What results of coverage share: observed and expected shares inside regions, with binomial intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.runs import Run
from kernelcal.tables import Shown, Table

__all__ = ["Coverage", "binomial_interval"]


_WEIGHTED = "with case weights the number of rows inside is not binomial, so the shares have no interval"


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(Shown):
    """Observed share of outcomes inside predicted regions; a subclass says which regions and names the table.

    Attributes
    ----------
    levels, expected, shares, low, high : numpy.ndarray of shape (L,)
        What was asked for, what the regions hold under the predictions, what they held, and the interval of that.
    n : int
        Rows.
    confidence_level : float
        Of the interval from ``low`` to ``high``.
    notes : tuple of str
        What the reader must know.
    """

    title: ClassVar[str] = "Coverage"

    levels: np.ndarray
    expected: np.ndarray
    shares: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    confidence_level: float
    notes: tuple[str, ...] = ()

    @classmethod
    def observed(
        cls,
        case: Case,
        run: Run,
        levels: np.ndarray,
        inside: np.ndarray,
        probability: np.ndarray,
        notes: Sequence[str],
    ) -> Self:
        """Summarise which rows lie inside, and the probabilities of their regions, both of shape (L, n)."""
        n, notes, confidence_level = len(case), list(notes), run.confidence_level
        shares = np.array([case.mean(rows.astype(np.float64)) for rows in inside])
        expected = np.array([case.mean(rows) for rows in probability])
        if case.weights is None:
            low, high = binomial_interval(inside.sum(axis=1), n, confidence_level)
        else:
            low, high = np.full((2, len(levels)), np.nan)
            notes.append(_WEIGHTED)
        return cls(levels, expected, shares, low, high, n, confidence_level, tuple(dict.fromkeys(notes)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; without an interval its ends are None."""
        ends = {name: [None if np.isnan(v) else float(v) for v in getattr(self, name)] for name in ("low", "high")}
        arrays = {name: getattr(self, name).tolist() for name in ("levels", "expected", "shares")}
        return {**arrays, **ends, "n": self.n, "confidence_level": self.confidence_level, "notes": list(self.notes)}

    def rows(self) -> list[tuple[str, str]]:
        """Return a name and a value for every level, as in the table."""
        return [(f"{100 * level:g} %", self._row(k)) for k, level in enumerate(self.levels)]

    def _table(self) -> Table:
        return Table(self.title, [("rows", f"{self.n:,}"), *self.rows()], self.notes)

    def _row(self, k: int) -> str:
        interval = "" if np.isnan(self.low[k]) else f" [{self.low[k]:.3f}, {self.high[k]:.3f}]"
        return f"{self.shares[k]:.3f}{interval}, expected {self.expected[k]:.3f}"


def binomial_interval(successes: np.ndarray, n: int, confidence_level: float) -> tuple[np.ndarray, np.ndarray]:
    """Clopper-Pearson interval of a probability from numbers of successes among n."""
    from scipy.special import betaincinv  # imported when needed: the import of kernelcal stays light

    tail, k = (1 - confidence_level) / 2, np.asarray(successes, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    return low, high
