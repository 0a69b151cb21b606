"""Laws of resampled rows or predictions: bootstraps of means over pairs, and consistency resampling."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.inference.draws import multinomial_counts
from kernelcal.inference.laws.exact import DrawnValues, with_ranks
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem, finite, one_member, prepared_pairs
from kernelcal.inference.laws.trust import trust_notes
from kernelcal.pairs import BandMatrix, PairMatrix
from kernelcal.statistics import Statistic

__all__ = ["Bootstrap", "Consistency", "Wild"]


_BYTES = 2**27  # for the columns of one batch of draws
Matrix = PairMatrix | BandMatrix


class _Resampled(NullLaw):
    """What both bootstraps share: draw weights of the rows, and compare ``n`` times the statistic with drawn values."""

    def test(self, problem: Problem) -> Outcome:
        """Count the drawn values that are at least as large as the observed one."""
        prepared = prepared_pairs(problem)
        matrix = prepared.taken(problem.case.targets)
        value, drawn = self.observed_and_drawn(problem, matrix)
        finite(prepared, value + float(drawn.sum()))
        tolerance = 1e-12 * abs(value)
        pvalue = (1 + int((drawn >= value - tolerance).sum())) / (len(drawn) + 1)
        spread = float(drawn.std())
        deviation = value / spread if spread > 0 else math.nan
        notes = trust_notes(problem, matrix, pvalue)
        return one_member(prepared, value / prepared.n, pvalue, deviation, len(drawn), notes)

    @abstractmethod
    def observed_and_drawn(self, problem: Problem, matrix: Matrix) -> tuple[float, np.ndarray]:
        """N times the observed value, and drawn values of the same."""

    def drawn(self, problem: Problem, matrix: Matrix) -> np.ndarray:
        """Drawn values, as many columns at once as memory allows."""
        values: list[np.ndarray] = []
        for part in row_slices(problem.run.draws, _BYTES // (8 * len(matrix))):
            values.append(self.values(matrix, problem.source.uniforms(part.start, part.stop, len(matrix))))
            problem.run.tell(part.stop)
        return np.concatenate(values)

    @abstractmethod
    def values(self, matrix: Matrix, uniforms: np.ndarray) -> np.ndarray:
        """Drawn values of n times the statistic from uniform numbers of shape (B, n)."""


@dataclass(frozen=True)
class Bootstrap(_Resampled):
    """Bootstrap of Arcones and Gine for ``n SKCE`` (unbiased), the degenerate U-statistic under calibration.

    Rows are drawn with replacement, and pairs i < j of the drawn rows give
    ``T = 2/n sum_{i<j} [h(*i, *j) - mean_k h(*i, k) - mean_k h(k, *j) + mean h]``. With the numbers c of times that
    rows were drawn, ``T = (c'Hc - c.diag H - 2 (n - 1) c.m + (n - 1) n mean h) / n``, m being the row means: one matrix
    product serves all draws.

    Notes
    -----
    Asymptotic. A row drawn twice forms a pair with itself, which no data set has: with many classes or a small
    lengthscale the bootstrapped law is far too wide and **the test loses its power**. The law is estimated from the
    observed residuals, so it is also wider for miscalibrated models. Cost: O(n^2 (m + B)).

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Theorem G.2; Arcones and Gine (1992).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Bootstrap
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> kc.calibration_test(y, p, statistic="skce", null=Bootstrap(), draws=99).pvalue
    0.01
    """

    label: ClassVar[str] = "Arcones-Gine bootstrap of the rows"
    name: ClassVar[str] = "bootstrap"
    estimators: ClassVar[tuple[str, ...]] = ("unbiased",)

    def observed_and_drawn(self, problem: Problem, matrix: Matrix) -> tuple[float, np.ndarray]:
        """N times the observed value, from row sums, and drawn values of the same."""
        assert isinstance(matrix, PairMatrix)  # for the type checker: the unbiased estimator takes all pairs
        return float((matrix.row_sums - matrix.diagonal).sum()) / (len(matrix) - 1), self.drawn(problem, matrix)

    def values(self, matrix: Matrix, uniforms: np.ndarray) -> np.ndarray:
        """Drawn values of n SKCE from uniform numbers of shape (B, n)."""
        assert isinstance(matrix, PairMatrix)
        n, counts = len(matrix), multinomial_counts(uniforms)
        centre = (n - 1) * float(matrix.row_sums.sum()) / n
        linear = counts.T @ (matrix.diagonal + 2 * (n - 1) / n * matrix.row_sums)
        return (matrix.quadratic(counts) - linear + centre) / n


@dataclass(frozen=True)
class Wild(_Resampled):
    """Wild bootstrap: the statistic with every h_ij multiplied by random signs, ``w_i w_j h_ij``.

    Notes
    -----
    Asymptotic; it has no pairs of a row with itself, and needs no draws from the predictions: it is the law for
    densities known through their score function. The law is estimated from the observed residuals. Cost:
    O(n^2 (m + B)), as one matrix product a tile, and O(n R B) for R superdiagonals.

    References
    ----------
    Glaser et al. (2023), section 6.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Wild
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> kc.calibration_test(y, p, statistic="skce", null=Wild(), draws=99).pvalue
    0.01
    """

    label: ClassVar[str] = "wild bootstrap with random signs"
    name: ClassVar[str] = "wild"
    estimators: ClassVar[tuple[str, ...]] = ("unbiased", "incomplete")

    def observed_and_drawn(self, problem: Problem, matrix: Matrix) -> tuple[float, np.ndarray]:
        """N times the observed value, which has all signs equal, and drawn values, from the same sums."""
        if problem.run.draws * len(matrix) * 8 <= _BYTES:  # one pass over all pairs
            uniforms = problem.source.uniforms(0, problem.run.draws, len(matrix))
            values = self.values(matrix, np.concatenate([np.ones((1, len(matrix))), uniforms]))
            problem.run.tell(problem.run.draws)
            return float(values[0]), values[1:]
        return float(self.values(matrix, np.ones((1, len(matrix))))[0]), self.drawn(problem, matrix)

    def values(self, matrix: Matrix, uniforms: np.ndarray) -> np.ndarray:
        """Drawn values of n times the statistic from uniform numbers of shape (B, n): -1 below one half."""
        return self.with_signs(matrix, np.where(uniforms.T < 0.5, -1.0, 1.0))

    def with_signs(self, matrix: Matrix, signs: np.ndarray) -> np.ndarray:
        """Values of n times the statistic with given signs of the rows, shape (n, B)."""
        return len(matrix) / matrix.pairs * matrix.quadratic(signs, diagonal=False)


@dataclass(frozen=True)
class Consistency(NullLaw):
    """Consistency resampling of Broecker and Smith, for any statistic.

    Every draw takes n predictions with replacement, draws their targets, and computes the statistic anew.
    ``p = (1 + #{T_b >= T}) / (B + 1)``.

    Notes
    -----
    **Not exact.** Resampled predictions contain duplicates, which the data do not: binned errors of calibrated models
    are then underestimated and rejected too often, while an unbiased SKCE with a narrow kernel is overestimated and
    never rejected. Offered to reproduce published figures; ``null="exact"`` keeps the predictions. A lengthscale
    ``"median"`` is that of the data, in every draw. Cost: B times that of the statistic.

    References
    ----------
    Broecker and Smith (2007); Vaicenavicius et al. (2019).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Consistency
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> kc.calibration_test(y, p, statistic="ece", null=Consistency(), draws=99).pvalue
    0.01
    """

    label: ClassVar[str] = "consistency resampling, predictions and targets resampled"
    name: ClassVar[str] = "consistency"

    def test(self, problem: Problem) -> Outcome:
        """Compute the statistic on every resampled data set."""
        statistic = problem.statistic.resolved(problem.case.predictions)
        observed = statistic.prepare(problem.case.predictions).values(problem.case.targets[None])
        values = [observed]
        for b in range(problem.run.draws):
            values.append(self._draw(problem, statistic, b))
            if (b + 1) % 10 == 0:
                problem.run.tell(b + 1)
        note = "consistency resampling does not keep its level: compare null='exact'"
        ranked = with_ranks(np.concatenate(values), problem.prepared.names)
        return DrawnValues.of(ranked).outcome(problem.prepared.names, (note,))

    @staticmethod
    def _draw(problem: Problem, statistic: Statistic, b: int) -> np.ndarray:
        uniforms = problem.source.uniforms(2 * b, 2 * b + 1, len(problem.case.targets))[0]
        chosen = problem.case.predictions[(uniforms * len(uniforms)).astype(np.intp)]
        return np.asarray(statistic.prepare(chosen).values(problem.source.targets(chosen, 2 * b + 1, 2 * b + 2)))
