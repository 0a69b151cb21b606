"""Paired differences of two models on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.inference.intervals.flips import MOST
from kernelcal.inference.intervals.methods import hoeffding_sums
from kernelcal.inference.intervals.paired_surprises import PairedSurprises
from kernelcal.inference.intervals.surprises import deepest
from kernelcal.tables import Shown, Table

__all__ = ["Contrast", "PairedDifference", "difference_of_draws", "difference_of_pairs", "mean_difference"]


_ROUNDING = 1e-14  # of the values themselves: a smaller standard error is that of equal predictions


@dataclass(frozen=True, repr=False)
class PairedDifference(Shown):
    """First minus second of a measure whose small values are good.

    Attributes
    ----------
    measure, first, second : str
        What is compared, and the names of the models.
    difference : float
        Negative where the first model is better; infinite where one model gave an outcome probability 0.
    standard_error : float or None
        None where the difference is infinite.
    pvalue : float or None
        Two-sided, by the normal law or, of means over rows, by that of Student, before it is corrected.
    adjusted : float or None
        Corrected by Holm over all pairs of models.
    notes : tuple of str
        What the reader must know.
    alpha : float
        Level at which one of them is called better.
    """

    measure: str
    first: str
    second: str
    difference: float
    standard_error: float | None
    pvalue: float | None
    adjusted: float | None
    notes: tuple[str, ...] = ()
    alpha: float = SIGNIFICANCE

    @property
    def better(self) -> str | None:
        """Name of the better model at the level `alpha`, over all pairs; None for a tie.

        A model that gave an outcome probability 0 is worse than one that gave none so, whatever the level.
        """
        if math.isinf(self.difference):
            return self.first if self.difference < 0 else self.second
        if self.adjusted is None or self.adjusted > self.alpha:
            return None
        return self.first if self.difference < 0 else self.second

    @property
    def verdict(self) -> str:
        """``tie``, or which model is better."""
        if self.better is not None:
            return f"{self.better} is better"
        return "tie" if self.pvalue is not None else "cannot be compared"

    def _table(self) -> Table:
        rows = [("difference", f"{self.difference:+.4g}, below 0 where {self.first} is better")]
        if self.standard_error is not None:
            rows.append(("standard error", f"{self.standard_error:.2g}"))
        if self.pvalue is not None and self.adjusted is not None:
            rows.append(("p-value", f"{self.pvalue:.3g}, over all pairs (Holm) {self.adjusted:.3g}"))
        return Table(f"{self.measure}: {self.first} - {self.second}", [*rows, ("verdict", self.verdict)], self.notes)

    def reversed(self) -> PairedDifference:
        """Second minus first."""
        return replace(self, first=self.second, second=self.first, difference=0.0 - self.difference)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        difference = self.difference if math.isfinite(self.difference) else None
        return {**vars(self), "difference": difference, "verdict": self.verdict, "notes": list(self.notes)}


@dataclass(frozen=True)
class Contrast:
    """What is known of the difference of two models.

    Attributes
    ----------
    difference, error : float
        The difference and its standard error, with two pseudo-surprises; nan where the difference is not finite.
    pvalue : float or None
        Two-sided; None where there is no standard error.
    """

    difference: float
    error: float
    pvalue: float | None

    @classmethod
    def of(cls, difference: float, error: Callable[[float], float], size: float, freedom: float = math.inf) -> Contrast:
        """Two-sided p-value where as many standard errors as the level asks for are the difference.

        Parameters
        ----------
        difference : float
            Finite.
        error : callable
            Standard error with the surprises of so many standard deviations.
        size : float
            Of what is subtracted: a smaller standard error than its rounding is that of equal predictions.
        freedom : float
            Degrees of freedom of the law of Student; infinite for the normal law.
        """
        usual = error(0.0)
        if usual <= _ROUNDING * size:
            return cls(0.0, 0.0, 1.0)
        z = abs(difference) / usual
        if z > 2:  # a deeper level asks for more surprises
            z = deepest(lambda deep: deep * error(deep) >= abs(difference))
        return cls(difference, usual, min(max(2 * _student_tail(z, freedom), _SMALLEST), 1.0))


_SMALLEST = 1e-300


def _student_tail(z: float, freedom: float) -> float:
    from scipy.special import ndtr, stdtr  # imported when needed: the import of kernelcal stays light

    return float(ndtr(-z)) if math.isinf(freedom) else float(stdtr(freedom, -z))


def difference_of_pairs(
    sums: np.ndarray, products: np.ndarray, a: int, b: int, surprises: PairedSurprises | None = None
) -> Contrast:
    """Difference of two unbiased SKCE, from `joint_sums`.

    ``d_ij = h_ij - h'_ij`` is the kernel of a U-statistic; its Hoeffding variance holds both where the models are
    miscalibrated and where they are not, when it is larger than the truth. Where few outcomes were surprising it is
    next to nothing; that with pseudo-surprises is taken where it is larger.
    """
    n = sums.shape[1]
    rows, squares = sums[a] - sums[b], products[a, a] - 2 * products[a, b] + products[b, b]
    size = math.sqrt(max(products[a, a], products[b, b], 0.0)) / (n * (n - 1))
    own = math.sqrt(sum(hoeffding_sums(rows, max(float(squares), 0.0))))
    return Contrast.of(
        float(rows.sum()) / (n * (n - 1)),
        lambda z: own if surprises is None else max(own, surprises.error(a, b, z)),
        size,
    )


_DEPTHS = (2.0, 2.5, 3.0, 4.0, MOST)  # standard deviations at which draws are given the surprises of their level


def difference_of_draws(
    estimates: tuple[float, float],
    first: np.ndarray,
    second: np.ndarray,
    surprised: Callable[[float], tuple[np.ndarray, np.ndarray]] | None = None,
) -> Contrast:
    """Difference of two estimates, with the spread of the difference over the same drawn rows.

    `surprised` gives the draws of both with the same surprises; the number of these is that of the next depth of five.
    """
    own, size = float((first - second).std(ddof=1)), max(map(abs, estimates))

    def error(z: float) -> float:
        if surprised is None:
            return own
        one, two = surprised(next((depth for depth in _DEPTHS if depth >= z), MOST))
        return max(own, float((one - two).std(ddof=1)))

    return Contrast.of(estimates[0] - estimates[1], error, size)


def mean_difference(
    first: np.ndarray, second: np.ndarray, surprised: Callable[[np.ndarray, float], float] | None = None
) -> Contrast:
    """Mean of row-wise differences, by the law of Student; without an error where the mean is not finite.

    A row that is infinite on one side makes the mean infinite, such rows on both sides make it nan. A row that is
    infinite for both models tells nothing between them and counts as 0. `surprised` gives the standard error of the
    differences of rows with the surprises of so many standard deviations. Rows that all differ by the same amount have
    no spread: their p-value is that of n equal signs.
    """
    with np.errstate(invalid="ignore"):
        rows = np.where(first == second, 0.0, first - second)
        mean, n = float(rows.mean()), len(rows)
    if not math.isfinite(mean):
        return Contrast(mean, math.nan, None)
    size = float(np.abs(first, out=np.zeros(n), where=np.isfinite(first)).max()) / math.sqrt(n)
    own = float(rows.std(ddof=1)) / math.sqrt(n)

    def error(z: float) -> float:
        return own if surprised is None else max(own, surprised(rows, z))

    if abs(mean) > _ROUNDING * size and error(0.0) <= _ROUNDING * size:
        return Contrast(mean, 0.0, max(2.0 ** (1 - n), _SMALLEST))
    return Contrast.of(mean, error, size, n - 1)
