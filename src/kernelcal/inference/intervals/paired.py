"""Paired differences of two models on the same rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.inference.intervals.methods import hoeffding_sums
from kernelcal.tables import Shown, Table

__all__ = ["PairedDifference", "difference_of_draws", "difference_of_pairs", "mean_difference"]


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
        Two-sided, by the normal law, before it is corrected.
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


def difference_of_pairs(sums: np.ndarray, products: np.ndarray, a: int, b: int) -> tuple[float, float]:
    """Difference of two unbiased SKCE and its standard error, from `joint_sums`.

    ``d_ij = h_ij - h'_ij`` is the kernel of a U-statistic; its Hoeffding variance holds both where the models are
    miscalibrated and where they are not, when it is larger than the truth.
    """
    n = sums.shape[1]
    rows, squares = sums[a] - sums[b], products[a, a] - 2 * products[a, b] + products[b, b]
    size = math.sqrt(max(products[a, a], products[b, b], 0.0)) / (n * (n - 1))
    linear, degenerate = hoeffding_sums(rows, max(float(squares), 0.0))
    return _pair(float(rows.sum()) / (n * (n - 1)), math.sqrt(linear + degenerate), size)


def difference_of_draws(estimates: tuple[float, float], first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Difference of two estimates, and the spread of the difference over the same drawn rows."""
    return _pair(estimates[0] - estimates[1], float((first - second).std(ddof=1)), max(map(abs, estimates)))


def mean_difference(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Mean of row-wise differences and its standard error, which is nan where the mean is not finite.

    A row that is infinite on one side makes the mean infinite, such rows on both sides make it nan. A row that is
    infinite for both models tells nothing between them and counts as 0.
    """
    with np.errstate(invalid="ignore"):
        rows = np.where(first == second, 0.0, first - second)
        mean = float(rows.mean())
    if not math.isfinite(mean):
        return mean, math.nan
    size = float(np.abs(first, out=np.zeros(len(first)), where=np.isfinite(first)).max())
    return _pair(mean, float(rows.std(ddof=1)) / math.sqrt(len(rows)), size / math.sqrt(len(rows)))


def _pair(difference: float, error: float, size: float) -> tuple[float, float]:
    """Difference and standard error; what is nothing but rounding is 0."""
    return (0.0, 0.0) if error <= _ROUNDING * size else (difference, error)
