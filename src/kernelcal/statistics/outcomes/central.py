"""Coverage of central intervals, and what results of coverage share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL
from kernelcal.dependence import share_interval
from kernelcal.runs import Run
from kernelcal.statistics.scores import checked_levels
from kernelcal.tables import Shown, Table

__all__ = ["CentralCoverage", "Coverage", "central_coverage", "central_coverage_of"]


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
            low, high = share_interval(inside, case.rows, confidence_level)
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


@dataclass(frozen=True, eq=False, repr=False)  # repr: the table of the base class
class CentralCoverage(Coverage):
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
    confidence_level : float
        Of the interval from ``low`` to ``high``.
    notes : tuple of str
        What the reader must know.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.central_coverage([0.3, 2.0, -0.5], kc.Normal([0.0] * 3, 1.0)).shares.round(3)
    array([0.667, 0.667, 0.667])
    """

    title: ClassVar[str] = "Coverage of central intervals"


def central_coverage(
    y: Any,
    predictions: Any,
    *,
    levels: Any = (0.5, 0.9, 0.95),
    confidence_level: float = CONFIDENCE_LEVEL,
    weights: Any = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
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
    confidence_level : float
        Of the binomial interval around each share.
    weights : array of shape (n,), optional
        Case weights, not negative.
    clusters, time, horizon, series
        Which rows depend on each other, as for `kernelcal.calibration_test`: intervals then allow for it.

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

    Unless it is said how they depend, rows are assumed independent for the binomial interval, which is exact where
    every row has the same probability to be covered and else slightly too wide.

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
    cs, run = checked_levels(levels), Run(confidence_level=confidence_level)
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    return central_coverage_of(Case.of(y, predictions, weights=weights, **rows), cs, run)


def central_coverage_of(case: Case, levels: np.ndarray, run: Run) -> CentralCoverage:
    """Coverage of what was checked already."""
    batch, y = case.of_one_number("the coverage of intervals").in_numpy.predictions, case.targets
    intervals = [batch.central_interval(float(c)) for c in levels]
    inside = np.array([(part.low <= y) & (y <= part.high) for part in intervals])
    probability = np.array([part.probability for part in intervals])
    notes = [note for part in intervals for note in part.notes]
    return CentralCoverage.observed(case, run, levels, inside, probability, notes)
