"""Means over rows that depend on each other, of scores and of shares, and their intervals by clusters or stretches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernelcal.cases import Case
from kernelcal.dependence import DependentUnits
from kernelcal.errors import InputError
from kernelcal.inference.intervals.units import Sharing, student
from kernelcal.statistics.pairwise import steps_alike

__all__ = ["UnitMean", "ends_of_mean", "mean_of_units"]


_MOST_SKEWED = 3.0


@dataclass(frozen=True)
class UnitMean:
    """Mean over rows that depend on each other: of a score, of a share.

    Attributes
    ----------
    mean : float
        Weighted mean.
    error : float
        Its standard error, by clusters or stretches.
    freedom : float
        Degrees of freedom of the law of Student, one less than the units that they count like.
    units : int
        Clusters or stretches, G; rows, where these count as independent.
    skewness : float
        Of sums over units, at most 3 to both sides.
    """

    mean: float
    error: float
    freedom: float
    units: int
    skewness: float

    def ends(self, confidence_level: float) -> tuple[float, float]:
        """Interval of the mean, further on the side of rare large values.

        ``mean - s g(t)`` and ``mean - s g(-t)`` with s the error times sqrt(G), t the quantile of the law of Student
        over sqrt(G), and ``g(x) = 3 / k ((1 + k (x - k / (6 G)))^(1/3) - 1)`` for the skewness k, which takes the
        skewness from the law of the mean (Hall 1992, On the removal of skewness by transformation).
        """
        root = math.sqrt(self.units)
        t = student(self.freedom, (1 + confidence_level) / 2) / root
        return self.mean - self.error * root * self._unskewed(t), self.mean - self.error * root * self._unskewed(-t)

    def _unskewed(self, x: float) -> float:
        k = self.skewness
        if abs(k) < 1e-6:
            return x
        return float(3 / k * (np.cbrt(1 + k * (x - k / (6 * self.units))) - 1))


def mean_of_units(values: np.ndarray, case: Case) -> UnitMean:
    """Mean of values of rows, and its noise by clusters or stretches: for scores, shares and other means over rows.

    With ``S_g`` the sum over unit g of ``w_i (v_i - mean)`` the variance is ``G / (G - 1) sum_g S_g^2 / (sum w)^2``.
    Stretches of L steps that follow each other share something: the part of the variance that comes from rows that are
    alike (`Sharing`) is divided by ``1 - h / (3 L)``, as for means of h shocks.

    Parameters
    ----------
    values : numpy.ndarray of shape (n,)
        One a row of the case.
    case : Case
        With `rows`; where these count as independent, as of one-step forecasts, every row is a unit.
    """
    rows, w = case.rows, np.ones(len(case)) if case.weights is None else case.weights
    assert rows is not None  # callers have asked
    mean = float(w @ values / w.sum())
    units = DependentUnits.clusters(rows) if rows.clusters is not None else DependentUnits.stretches(rows, 1)
    away, more = (w * (values - mean))[units.order], 1.0
    sums, freedom, length = away, len(away) - 1.0, 0
    if rows.clusters is None:
        there = rows[units.order]
        length = steps_alike(away, there)
        units = DependentUnits.stretches(there, length)
    if rows.clusters is not None or rows.horizon > 1 or length > 2:
        sums, own = units.sums(away), away**2
        sharing = Sharing.of(units, float(sums @ sums - own.sum()), own, 0.0)
        sharing.notes(units)  # too few are refused
        freedom = max(sharing.effective - 1, 1.0)
        if units.length:
            more += (1 - 1 / sharing.seen) * (1 / (1 - units.horizon / (3 * units.length)) - 1)
    number, square = len(sums), float(np.mean(sums**2))
    error = math.sqrt(more * number / (number - 1) * float(sums @ sums)) / float(w.sum())
    skewness = float(np.mean(sums**3)) / square**1.5 if square > 0 else 0.0
    return UnitMean(mean, error, freedom, number, min(max(skewness, -_MOST_SKEWED), _MOST_SKEWED))


def ends_of_mean(values: np.ndarray, case: Case, confidence_level: float) -> tuple[float, float] | None:
    """Interval of a mean over rows that depend on each other; None where their clusters or stretches are few."""
    try:
        return mean_of_units(values, case).ends(confidence_level)
    except InputError:  # they count like too few
        return None
