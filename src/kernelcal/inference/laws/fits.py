"""Laws of n SKCE (unbiased) fitted to the data: gamma, Pearson type III, and the spectrum of the centred matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.inference.laws.law import NullLaw, Outcome, Problem, finite, one_member, prepared_pairs
from kernelcal.inference.null_moments import ChiSquareSum, pearson_tail
from kernelcal.pairs import PairMatrix

__all__ = ["GammaFit", "Pearson", "Spectrum"]


@dataclass(frozen=True)
class GammaFit(NullLaw):
    """Two-moment gamma fit.

    Under calibration ``n SKCE`` tends to ``sum_k l_k (Z_k^2 - 1)``. ``sum_k l_k Z_k^2`` is taken as a gamma variable of
    mean ``mean h_ii`` and variance ``2 mean_{i != j} h_ij^2``.

    Notes
    -----
    Asymptotic, moments estimated from the observed residuals; inaccurate in far tails. Cost: that of the estimate.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Remark B.2; Johnson, Kotz, Balakrishnan (1994).
    """

    label: ClassVar[str] = "gamma law, two moments from the data"
    name: ClassVar[str] = "gamma"
    estimators: ClassVar[tuple[str, ...]] = ("unbiased",)

    def test(self, problem: Problem) -> Outcome:
        """Evaluate the tail of the fitted law."""
        from scipy.special import gammaincc

        prepared = prepared_pairs(problem)
        matrix = prepared.matrix(problem.case.targets)
        value, mean, variance = finite(prepared, _value(matrix)), float(matrix.diagonal.mean()), _variance(matrix)
        if variance == 0 or mean == 0:
            return one_member(prepared, value, 1.0, math.nan, notes=_NO_VARIANCE)
        point = max(len(matrix) * value + mean, 0.0)
        pvalue = float(gammaincc(mean**2 / variance, point * mean / variance))
        return one_member(prepared, value, pvalue, len(matrix) * value / math.sqrt(variance))


@dataclass(frozen=True)
class Pearson(NullLaw):
    """Three-moment fit of ``n SKCE`` by a Pearson type III law.

    Its mean is 0, its variance ``2 mean h_ij^2`` over i != j, its third moment ``8 mean h_ij h_jk h_ki`` over distinct
    i, j, k.

    Notes
    -----
    Asymptotic, moments estimated from the observed residuals. Cost: O(n^3) and the whole matrix, so up to 8,000 rows.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Remark B.2; Gretton et al. (2007).
    """

    label: ClassVar[str] = "Pearson type III law, three moments from the data"
    name: ClassVar[str] = "pearson"
    estimators: ClassVar[tuple[str, ...]] = ("unbiased",)

    def test(self, problem: Problem) -> Outcome:
        """Evaluate the tail of the fitted law."""
        prepared = prepared_pairs(problem)
        matrix = prepared.matrix(problem.case.targets)
        n, value, variance = len(matrix), finite(prepared, _value(matrix)), _variance(matrix)
        if variance == 0 or n < 3:
            return one_member(prepared, value, 1.0, math.nan, notes=_NO_VARIANCE)
        h = matrix.dense()
        np.fill_diagonal(h, 0)
        third = 8 * float(np.einsum("ij,ij->", h @ h, h)) / (n * (n - 1) * (n - 2))
        standard = n * value / math.sqrt(variance)
        return one_member(prepared, value, pearson_tail(standard, third / variance**1.5), standard)


@dataclass(frozen=True)
class Spectrum(NullLaw):
    """Law ``sum_k l_k (Z_k^2 - 1)`` with the eigenvalues ``l_k`` of the centred matrix ``h / n``, by saddlepoint.

    Notes
    -----
    Asymptotic, eigenvalues estimated from the observed residuals and, through the diagonal, too large where the kernel
    is narrow. Cost: O(n^3) and the whole matrix, so up to 8,000 rows.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Remark B.2; Gretton et al. (2009).
    """

    label: ClassVar[str] = "spectrum of the centred matrix, from the data"
    name: ClassVar[str] = "spectrum"
    estimators: ClassVar[tuple[str, ...]] = ("unbiased",)

    def test(self, problem: Problem) -> Outcome:
        """Evaluate the tail of the weighted sum of chi-square variables."""
        prepared = prepared_pairs(problem)
        matrix = prepared.matrix(problem.case.targets)
        n, value = len(matrix), finite(prepared, _value(matrix))
        h = matrix.dense()
        h -= h.mean(axis=0)
        h -= h.mean(axis=1, keepdims=True)
        eigenvalues = np.linalg.eigvalsh(h) / n
        variance = 2 * float((eigenvalues**2).sum())
        if variance == 0:
            return one_member(prepared, value, 1.0, math.nan, notes=_NO_VARIANCE)
        law = ChiSquareSum(eigenvalues, shift=-float(eigenvalues.sum()))
        return one_member(prepared, value, law.tail(n * value), n * value / math.sqrt(variance))


_NO_VARIANCE = ("the null has no variance: no row can be surprising",)


def _value(matrix: PairMatrix) -> float:
    n = len(matrix)
    return float((matrix.row_sums - matrix.diagonal).sum()) / (n * (n - 1))


def _variance(matrix: PairMatrix) -> float:
    n = len(matrix)
    return 2 * float(matrix.row_squares.sum()) / (n * (n - 1))
