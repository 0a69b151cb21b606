"""Coverage of central intervals: how many outcomes lie inside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.predictions import checked_weights
from kernelcal.statistics.central_intervals import central_intervals
from kernelcal.statistics.number_rows import row_mean, scalar_pair
from kernelcal.statistics.pinball import checked_levels
from kernelcal.tables import Table

__all__ = ["CentralCoverage", "binomial_interval", "central_coverage"]

_WEIGHTED = "with case weights the number of rows inside is not binomial, so the shares have no interval"


@dataclass(frozen=True, eq=False)
class CentralCoverage:
    """Observed share of outcomes inside central prediction intervals.

    Attributes
    ----------
    levels : numpy.ndarray
        Levels that were asked for.
    expected : numpy.ndarray
        Mean probability that the intervals have under the predictions, the value to compare the share with. It is the
        level for continuous distributions, at least the level for counts and point masses, and what S draws can
        reach for `Samples`.
    shares : numpy.ndarray
        Share of the outcomes that lie inside.
    low, high : numpy.ndarray
        Binomial confidence interval of the share (Clopper-Pearson); nan with case weights.
    n : int
        Rows.
    confidence : float
        Confidence level of ``low`` and ``high``.
    notes : tuple of str
        What the reader must know.
    """

    levels: np.ndarray
    expected: np.ndarray
    shares: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    confidence: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; without an interval its ends are None."""
        ends = {name: [None if np.isnan(v) else float(v) for v in getattr(self, name)] for name in ("low", "high")}
        arrays = {name: getattr(self, name).tolist() for name in ("levels", "expected", "shares")}
        return {**arrays, **ends, "n": self.n, "confidence": self.confidence, "notes": list(self.notes)}

    def _table(self) -> Table:
        rows = [(f"{100 * level:g} %", self._row(k)) for k, level in enumerate(self.levels)]
        return Table("Coverage of central intervals", [("rows", f"{self.n:,}"), *rows], self.notes)

    def _row(self, k: int) -> str:
        interval = "" if np.isnan(self.low[k]) else f" [{self.low[k]:.3f}, {self.high[k]:.3f}]"
        return f"{self.shares[k]:.3f}{interval}, expected {self.expected[k]:.3f}"

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


def central_coverage(
    y: Any, predictions: Any, *, levels: Any = (0.5, 0.9, 0.95), confidence: float = 0.95, weights: Any = None
) -> CentralCoverage:
    """Share of outcomes inside the closed central interval from the quantile (1 - c)/2 to the quantile (1 + c)/2.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of one number.
    levels : sequence of float
        Levels c in (0, 1).
    confidence : float
        Level of the binomial interval around each share.
    weights : array of shape (n,), optional
        Case weights, not negative.

    Returns
    -------
    CentralCoverage
        Compare ``shares`` with ``expected``, not with ``levels``, where the two differ.

    Raises
    ------
    InputError
        For vector targets, families without quantiles and levels outside (0, 1).

    Notes
    -----
    Counts and point masses: a closed interval between quantiles holds at least its level, often more, so the level is a
    lower bound and ``expected`` is the mean probability of the intervals.

    `Samples`: of S draws and an outcome exchangeable with them, the outcome lies between the i-th smallest and the
    i-th largest draw with probability ``(S + 1 - 2 i) / (S + 1)`` (or more, with ties). Only these levels exist; the
    interval taken is the shortest of them that reaches c. Where even the whole range of the draws does not (fewer
    than ``(1 + c) / (1 - c)`` draws), the range is taken and a note says what it can reach. Draws with unequal weights
    are taken as the distribution itself.

    Rows are assumed independent for the binomial interval, which is exact where every row has the same probability to
    be covered and else slightly too wide.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.statistics import central_coverage
    >>> central_coverage(np.linspace(-1, 1, 20), kc.Normal(np.zeros(20), 1.0), levels=[0.5])
    Coverage of central intervals
    -----------------------------
    rows  20
    50 %  0.600 [0.361, 0.809], expected 0.500
    """
    targets, batch = scalar_pair(y, predictions, "the coverage of intervals")
    cs, own = checked_levels(levels), checked_weights(weights, len(batch))
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}")
    intervals = [central_intervals(batch, float(c)) for c in cs]
    inside = [((part.low <= targets) & (targets <= part.high)).astype(np.float64) for part in intervals]
    shares = np.array([row_mean(rows, own) for rows in inside])
    expected = np.array([row_mean(part.probability, own) for part in intervals])
    notes = [note for part in intervals for note in part.notes]
    if own is None:
        low, high = binomial_interval(np.array([rows.sum() for rows in inside]), len(batch), confidence)
    else:
        low, high = np.full((2, len(cs)), np.nan)
        notes.append(_WEIGHTED)
    return CentralCoverage(cs, expected, shares, low, high, len(batch), confidence, tuple(dict.fromkeys(notes)))


def binomial_interval(successes: np.ndarray, n: int, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Clopper-Pearson interval of a probability from numbers of successes among n."""
    from scipy.special import betaincinv  # imported when needed: the import of kernelcal stays light

    tail, k = (1 - confidence) / 2, np.asarray(successes, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    return low, high
