"""What results of coverage share: observed and expected shares inside regions, with binomial intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.errors import InputError
from kernelcal.statistics.number_rows import row_mean
from kernelcal.tables import Shown, Table

__all__ = ["Coverage", "binomial_interval", "checked_confidence"]

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
    confidence : float
        Confidence level of ``low`` and ``high``.
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
    confidence: float
    notes: tuple[str, ...] = ()

    @classmethod
    def observed(
        cls,
        levels: np.ndarray,
        inside: np.ndarray,
        probability: np.ndarray,
        *,
        weights: Any,
        confidence: float,
        notes: Sequence[str],
    ) -> Self:
        """Summarise which rows lie inside, and the probabilities of their regions, both of shape (L, n)."""
        n, notes = inside.shape[1], list(notes)
        shares = np.array([row_mean(rows.astype(np.float64), weights) for rows in inside])
        expected = np.array([row_mean(rows, weights) for rows in probability])
        if weights is None:
            low, high = binomial_interval(inside.sum(axis=1), n, confidence)
        else:
            low, high = np.full((2, len(levels)), np.nan)
            notes.append(_WEIGHTED)
        return cls(levels, expected, shares, low, high, n, confidence, tuple(dict.fromkeys(notes)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; without an interval its ends are None."""
        ends = {name: [None if np.isnan(v) else float(v) for v in getattr(self, name)] for name in ("low", "high")}
        arrays = {name: getattr(self, name).tolist() for name in ("levels", "expected", "shares")}
        return {**arrays, **ends, "n": self.n, "confidence": self.confidence, "notes": list(self.notes)}

    def rows(self) -> list[tuple[str, str]]:
        """Return a name and a value for every level, as in the table."""
        return [(f"{100 * level:g} %", self._row(k)) for k, level in enumerate(self.levels)]

    def _table(self) -> Table:
        return Table(self.title, [("rows", f"{self.n:,}"), *self.rows()], self.notes)

    def _row(self, k: int) -> str:
        interval = "" if np.isnan(self.low[k]) else f" [{self.low[k]:.3f}, {self.high[k]:.3f}]"
        return f"{self.shares[k]:.3f}{interval}, expected {self.expected[k]:.3f}"


def checked_confidence(confidence: float) -> float:
    """Return a confidence level in (0, 1)."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}")
    return confidence


def binomial_interval(successes: np.ndarray, n: int, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Clopper-Pearson interval of a probability from numbers of successes among n."""
    from scipy.special import betaincinv  # imported when needed: the import of kernelcal stays light

    tail, k = (1 - confidence) / 2, np.asarray(successes, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    return low, high
