"""Paired differences of two models on rows that depend on each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from kernelcal.dependence import Dependence, MeanLaw, mean_law
from kernelcal.inference.intervals.paired import Contrast, PairedSurprises
from kernelcal.inference.intervals.surprises import FEWEST, Error, hoeffding_sums, larger
from kernelcal.pairs import PairMatrix, map_strips

__all__ = ["Along"]


_EQUAL = 1e-14  # of the values themselves: rows that differ by less are equal
_LEAST = 1e-300


class Along:
    """Differences of means, errors and drawn values where rows depend on each other, by the law of means of rows.

    Every measure of two models moves, to the first order, with a mean over rows: scores are one, and a kernel error has
    the influence of every row. The standard error is that of this mean by stretches or clusters, and the p-value is by
    the law of its t (`dependence.MeanLaw`). What surprises that did not happen would add to the variance is
    added as for independent rows: ``e(s)^2 - e(0)^2``.

    Parameters
    ----------
    rows : Dependence
        Which rows depend on each other.
    """

    def __init__(self, rows: Dependence) -> None:
        self.rows = rows

    @cached_property
    def law(self) -> MeanLaw:
        """Law of means of the rows."""
        return mean_law(self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done, and how far it can be trusted, for results."""
        if not self.rows.overlap:
            return self.law.notes
        left = "of one cluster" if self.rows.clusters is not None else f"less than {self.rows.horizon} steps apart"
        return (*self.law.notes, f"differences of the SKCE leave out pairs of rows {left}")

    def of_rows(
        self, first: np.ndarray, second: np.ndarray, surprised: Callable[[np.ndarray], Error] | None = None
    ) -> Contrast:
        """Mean of row-wise differences, as `mean_difference` has it; rows of one size count like so many parts."""
        with np.errstate(invalid="ignore"):
            rows = np.where(first == second, 0.0, first - second)
            mean = float(rows.mean())
        if not math.isfinite(mean):
            return Contrast(mean, math.nan, None)
        size = float(np.abs(first, out=np.zeros(len(rows)), where=np.isfinite(first)).max())
        own = float(rows.std(ddof=1)) / math.sqrt(len(rows))
        return self.contrast(mean, rows, size, own, None if surprised is None else surprised(rows))

    def of_draws(
        self,
        estimates: tuple[float, float],
        influence: np.ndarray,
        first: np.ndarray,
        second: np.ndarray,
        surprised: Callable[[float], tuple[np.ndarray, np.ndarray]] | None = None,
    ) -> Contrast:
        """Difference of two estimates whose influences of rows differ by these; draws are of independent rows."""
        more: Error | None = None
        if surprised is not None:
            at_two = surprised(FEWEST)
            added = max(float(np.var(at_two[0] - at_two[1], ddof=1) - np.var(first - second, ddof=1)), 0.0)

            def more(surprises: float) -> float:
                return math.sqrt(added * surprises / FEWEST)  # which grows with their number

        return self.contrast(estimates[0] - estimates[1], influence, max(map(abs, estimates)), 0.0, more)

    def of_pairs(
        self,
        sums: np.ndarray,
        products: np.ndarray,
        far: tuple[np.ndarray, np.ndarray],
        two: tuple[int, int],
        surprises: PairedSurprises | None = None,
    ) -> Contrast:
        """Difference of two SKCE over the pairs of rows that are independent (`far_sums`).

        Every row adds ``2 n (S_i - c_i d) / sum c`` with its sum S_i over c_i rows.
        """
        a, b = two
        n, (over, counts) = len(self.rows), far
        pairs, rows = float(counts.sum()), over[a] - over[b]
        difference = float(rows.sum()) / pairs
        squares = products[a, a] - 2 * products[a, b] + products[b, b]
        own = math.sqrt(sum(hoeffding_sums(sums[a] - sums[b], max(float(squares), 0.0))))
        size = math.sqrt(max(products[a, a], products[b, b], 0.0)) / (n * (n - 1))
        influence = 2 * n / pairs * (rows - counts * difference)
        more = None if surprises is None else surprises.between(a, b).error
        return self.contrast(difference, influence, size, own, more)

    def contrast(
        self, difference: float, influence: np.ndarray, size: float, own: float, surprised: Error | None
    ) -> Contrast:
        """What is known of a difference from what every row adds; `own` as `surprised` is that of independent rows.

        Where all stretches or clusters differ by the same amount, the p-value is that of as many equal signs.
        """
        error = self.law.error(influence)

        def wider(surprises: float) -> float:
            assert surprised is not None
            return math.sqrt(error**2 + max(surprised(surprises) ** 2 - own**2, 0.0))

        more = None if surprised is None else wider
        if abs(difference) > _EQUAL * size and larger(error, more, FEWEST) <= _EQUAL * size:
            return Contrast(difference, 0.0, max(2.0 ** (1 - self.law.parts), _LEAST))
        return Contrast.of(difference, error, size, more, law=self.law)

    def far_sums(self, matrices: Sequence[PairMatrix]) -> tuple[np.ndarray, np.ndarray]:
        """Sums of every matrix over the rows that are independent of each, shape (M, n), and how many these are."""

        def work(part: slice) -> np.ndarray:
            far = ~self.rows.near(part)
            return np.stack(
                [far.sum(axis=1), *(np.where(far, matrix.rows(part), 0.0).sum(axis=1) for matrix in matrices)]
            )

        for matrix in matrices:
            matrix.ready  # noqa: B018  made before threads ask for it
        counts, *sums = np.concatenate(map_strips(len(self.rows), work), axis=1)
        return np.array(sums), counts
