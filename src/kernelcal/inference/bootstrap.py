"""Bootstraps of the unbiased SKCE: all draws as one matrix product with the matrix h_ij."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.inference.law import NullLaw, Outcome, Problem, one_member, prepared_skce
from kernelcal.pairs import PairMatrix

__all__ = ["Bootstrap", "Wild", "multinomial_counts"]

_BYTES = 2**27  # for the columns of one batch of draws


class _Resampled(NullLaw):
    """What both bootstraps share: draw weights of the rows, and compare ``n SKCE`` with the drawn values."""

    name: ClassVar[str]

    def test(self, problem: Problem) -> Outcome:
        """Count the drawn values that are at least as large as the observed one."""
        prepared = prepared_skce(problem, self.name, ("unbiased",))
        matrix = prepared.matrix(problem.targets)
        n, value = len(matrix), float((matrix.row_sums - matrix.diagonal).sum())
        value /= n * (n - 1)
        drawn = self._drawn(problem, matrix)
        tolerance = 1e-12 * abs(value) * n
        pvalue = (1 + int((drawn >= n * value - tolerance).sum())) / (len(drawn) + 1)
        spread = float(drawn.std())
        deviation = n * value / spread if spread > 0 else np.nan
        return one_member(prepared, value, pvalue, float(deviation), len(drawn))

    def _drawn(self, problem: Problem, matrix: PairMatrix) -> np.ndarray:
        values: list[np.ndarray] = []
        step = max(1, _BYTES // (8 * len(matrix)))
        for start in range(0, problem.draws, step):
            stop = min(start + step, problem.draws)
            values.append(self.values(matrix, problem.source.uniforms(start, stop, len(matrix))))
            if problem.progress is not None:
                problem.progress(stop, problem.draws)
        return np.concatenate(values)

    @abstractmethod
    def values(self, matrix: PairMatrix, uniforms: np.ndarray) -> np.ndarray:
        """Drawn values of n SKCE from uniform numbers of shape (B, n)."""


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
    """

    label: ClassVar[str] = "Arcones-Gine bootstrap of the rows"
    name: ClassVar[str] = "bootstrap"

    def values(self, matrix: PairMatrix, uniforms: np.ndarray) -> np.ndarray:
        """Drawn values of n SKCE from uniform numbers of shape (B, n)."""
        n, counts = len(matrix), multinomial_counts(uniforms)
        centre = (n - 1) * float(matrix.row_sums.sum()) / n
        linear = counts.T @ (matrix.diagonal + 2 * (n - 1) / n * matrix.row_sums)
        return (matrix.quadratic(counts) - linear + centre) / n


@dataclass(frozen=True)
class Wild(_Resampled):
    """Wild bootstrap: ``T = sum_{i != j} w_i w_j h_ij / (n - 1)`` with random signs w.

    Notes
    -----
    Asymptotic; it has no pairs of a row with itself. The law is estimated from the observed residuals. Cost:
    O(n^2 (m + B)).

    References
    ----------
    Glaser et al. (2023), section 6.
    """

    label: ClassVar[str] = "wild bootstrap with random signs"
    name: ClassVar[str] = "wild"

    def values(self, matrix: PairMatrix, uniforms: np.ndarray) -> np.ndarray:
        """Drawn values of n SKCE from uniform numbers of shape (B, n)."""
        signs = np.where(uniforms.T < 0.5, -1.0, 1.0)
        return (matrix.quadratic(signs) - matrix.diagonal.sum()) / (len(matrix) - 1)


def multinomial_counts(uniforms: np.ndarray) -> np.ndarray:
    """How often each row is drawn, for uniform numbers of shape (B, n): shape (n, B)."""
    draws, n = uniforms.shape
    rows = (uniforms * n).astype(np.intp)
    rows += n * np.arange(draws)[:, None]
    return np.bincount(rows.ravel(), minlength=n * draws).reshape(draws, n).T.astype(np.float64)
