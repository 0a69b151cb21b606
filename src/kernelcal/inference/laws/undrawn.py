"""Laws without draws: blocks, bounds, the saddlepoint of the known null; gamma, Pearson and spectrum as fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference.laws.chi_square import ChiSquareSum, pearson_tail
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem, finite, one_member, prepared_pairs
from kernelcal.inference.laws.null_moments import KnownNull, known_null
from kernelcal.inference.laws.trust import few_surprises_notes, trust_notes
from kernelcal.kernels import Kernel, Linear, has_leaf
from kernelcal.pairs import PairMatrix
from kernelcal.predictions import Predictions, RealPredictions
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = ["Block", "Bound", "GammaFit", "Pearson", "Saddlepoint", "Spectrum", "bound_pvalue", "far_note", "pair_bound"]


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
        notes = trust_notes(problem, matrix, pvalue)
        return one_member(prepared, value, pvalue, len(matrix) * value / math.sqrt(variance), notes=notes)


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

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Pearson
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> kc.calibration_test(y, p, statistic="skce", null=Pearson()).pvalue < 0.01
    True
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
        pvalue = pearson_tail(standard, third / variance**1.5)
        return one_member(prepared, value, pvalue, standard, notes=trust_notes(problem, matrix, pvalue))


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

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Spectrum
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> kc.calibration_test(y, p, statistic="skce", null=Spectrum()).pvalue < 0.01
    True
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
        pvalue = law.tail(n * value)
        notes = trust_notes(problem, matrix, pvalue)
        return one_member(prepared, value, pvalue, n * value / math.sqrt(variance), notes=notes)


_NO_VARIANCE = ("the null has no variance: no row can be surprising",)


def _value(matrix: PairMatrix) -> float:
    n = len(matrix)
    return float((matrix.row_sums - matrix.diagonal).sum()) / (n * (n - 1))


def _variance(matrix: PairMatrix) -> float:
    n = len(matrix)
    return 2 * float(matrix.row_squares.sum()) / (n * (n - 1))


_SPREAD = "the spread of block values can be far too small; use null='exact'"
_FEW = 30  # blocks; below, the normal law is a rough approximation


@dataclass(frozen=True)
class Block(NullLaw):
    """Normal law of the block estimator: ``p = 1 - Phi(sqrt(J) mean / sd)`` over the values of J blocks (ddof 1).

    Parameters
    ----------
    variance : {"blocks", "pairs"}
        ``blocks``: sd of the block values. ``pairs``: that under calibration, ``sd^2 = E h^2 / (b (b - 1) / 2)`` for
        blocks of b rows, with the mean of ``h_ij^2`` over the pairs inside blocks. It holds under calibration alone,
        and is steadier where blocks are few.

    Notes
    -----
    Asymptotic in the number of blocks. Cost: O(n b m) for blocks of b rows; no draws. As b grows with n too, block
    values times b tend to a sum of weighted chi-square variables less their means, of variance ``2 sum lambda^2``: the
    mean over many blocks is normal all the same.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Corollary 1; (2021), Remark B.1, whose second formula prints the root over
    ``floor(n/b)`` alone, and Corollary B.5, which prints ``sqrt(b)`` for b and another variance: corrected here.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Block
    >>> y, p = kc.datasets.m3(3).sample(60, rng=0)
    >>> statistic = kc.SKCE(estimator="block", block_size=10)
    >>> kc.calibration_test(y, p, statistic=statistic, null=Block()).pvalue < 0.05
    True
    """

    label: ClassVar[str] = "normal law of the block values"
    name: ClassVar[str] = "block"
    estimators: ClassVar[tuple[str, ...]] = ("block",)

    variance: str = "blocks"

    def __post_init__(self) -> None:
        if self.variance not in ("blocks", "pairs"):
            raise InputError(f"variance must be 'blocks' or 'pairs', got {self.variance!r}")

    def test(self, problem: Problem) -> Outcome:
        """Compare the mean of the block values with its standard error."""
        from scipy.special import ndtr  # imported when needed: scipy.special is slow to load

        prepared = prepared_pairs(problem)
        values = prepared.block_values(problem.case.targets)
        if len(values) < 2:
            raise InputError(f"null='block' needs at least 2 blocks, got {len(values)}: use a smaller block_size")
        mean, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
        few = (f"{len(values)} blocks are few for a normal law",) if len(values) < _FEW else ()
        notes = (*few, *few_surprises_notes(problem, _SPREAD))
        if np.ptp(values) <= 1e-12 * np.abs(values).max():  # their spread is rounding, and nothing to compare with
            return one_member(
                prepared,
                mean,
                1.0,
                math.nan,
                notes=("all block values are equal: no spread to compare with; use null='exact'", *notes),
            )
        if self.variance == "pairs":
            size = prepared.statistic.block_size or prepared.n
            error = math.sqrt(prepared.mean_square(problem.case.targets) / (len(values) * size * (size - 1) / 2))
        z = mean / error
        return one_member(prepared, mean, float(ndtr(-z)), z, notes=notes)


@dataclass(frozen=True)
class Bound(NullLaw):
    """Distribution-free bound of the p-value of the SKCE.

    With a bound B of ``|h_ij|``, which is ``sup |k_P|`` times the largest squared distance between two class features
    (2 for the Dirac kernel), and a value t:

    - biased: ``exp(-1/2 max(0, sqrt(n t / B) - 1)^2)``;
    - unbiased and block: ``exp(-N t^2 / (2 B^2))`` for t > 0, and 1 for t <= 0, with ``N = floor(n/b) floor(b/2)``
      independent pairs for blocks of b rows (b = n for the unbiased estimator).

    Notes
    -----
    Holds at every n, also when predictions are random. It is a bound: the level is kept, the power is small. Cost:
    that of the estimate. The printed lemma allows t < 0 with p < 1; the inequality holds for t > 0 only.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Lemma 2, and appendix H.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Bound
    >>> kc.calibration_test([1] * 30, [0.5] * 30, statistic="skce", null=Bound()).pvalue < 1
    True
    """

    label: ClassVar[str] = "distribution-free bound"
    name: ClassVar[str] = "bound"
    estimators: ClassVar[tuple[str, ...]] = ("unbiased", "biased", "block")
    asymptotic: ClassVar[bool] = False

    def test(self, problem: Problem) -> Outcome:
        """Bound the p-value."""
        prepared = prepared_pairs(problem)
        value = float(prepared.values(problem.case.targets[None])[0, 0])
        statistic = prepared.statistic
        bound = pair_bound(prepared)
        block = statistic.block_size or prepared.n
        pvalue = bound_pvalue(value, prepared.n, bound, None if statistic.estimator == "biased" else block)
        return one_member(prepared, value, pvalue, math.nan)


def pair_bound(prepared: PreparedPairMean) -> float:
    """Bound of ``|h_ij|`` of the first kernel."""
    return _kernel_bound(prepared.compared[0], prepared.predictions) * prepared.residual.bound()


def _kernel_bound(kernel: Kernel, predictions: Predictions) -> float:
    """Bound of the prediction kernel; an inner product of means and standard deviations has none."""
    if isinstance(predictions, RealPredictions) and has_leaf(kernel, Linear):
        raise InputError("null='bound' needs a bounded prediction kernel, and Linear() has no bound for numbers")
    return kernel.bound()


def bound_pvalue(value: float, n: int, bound: float, block: int | None) -> float:
    """Bound of the p-value; `block` None means the biased estimator."""
    if value <= 0 or bound == 0:
        return 1.0
    if block is None:
        return math.exp(-0.5 * max(0.0, math.sqrt(n * value / bound) - 1) ** 2)
    pairs = n // block * (block // 2)
    return math.exp(-pairs * value**2 / (2 * bound**2))


_FAR = 1e-6
_LUMPY = 0.1  # of Var^2; the limit itself has 48 sum l^4 / Var^2, up to 12


@dataclass(frozen=True)
class Saddlepoint(NullLaw):
    """P-value of the unbiased SKCE from its known law, given the predictions.

    Under calibration the covariance of every residual is known. ``n (n - 1) SKCE`` tends to a sum of weighted
    chi-square variables whose weights are eigenvalues of a known matrix (`known_null`), and Kuonen's saddlepoint
    formula gives its tail with bounded relative error, down to 1e-12 and below.

    Notes
    -----
    Conditional on the predictions, as the exact test; asymptotic in n. Variance exact; skewness exact up to 1,500 rows
    times residual columns, and at any n for one probability with a kernel that scans or few unique predictions. The far
    tail is that of the Gaussian limit: below 1e-6 read the p-value as an order of magnitude. Cost: O(n^2 m), or
    O(n log n) with a scan, and eigenvalues of a matrix of at most 1,500 rows; no draws.

    References
    ----------
    Kuonen (1999); Chen and Lumley (2019); the covariance is exact by the definition of calibration.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Saddlepoint
    >>> kc.calibration_test([1] * 30, [0.5] * 30, statistic="skce", null=Saddlepoint()).pvalue < 1e-6
    True
    """

    label: ClassVar[str] = "known law given the predictions, saddlepoint"
    name: ClassVar[str] = "saddlepoint"
    estimators: ClassVar[tuple[str, ...]] = ("unbiased",)
    weighted: ClassVar[bool] = True

    def test(self, problem: Problem) -> Outcome:
        """Evaluate the tail of the known law at the observed value."""
        prepared = prepared_pairs(problem)
        value = float(prepared.values(problem.case.targets[None])[0, 0])
        null = known_null(prepared)
        if null.law is None:
            note = "the null has no variance: every prediction is certain"
            return one_member(prepared, value, 1.0 if value <= 0 else 0.0, math.nan, notes=(note,))
        pvalue = null.law.tail(value * prepared.total)
        return one_member(
            prepared, value, pvalue, value * prepared.total / math.sqrt(null.variance), notes=_notes(null, pvalue)
        )


def _notes(null: KnownNull, pvalue: float) -> tuple[str, ...]:
    notes = [f"null: skewness {null.skewness:.2f}" + ("" if null.exact else ", from its leading eigenvalues")]
    if null.lumps > _LUMPY:
        notes.append(
            "rare targets or a narrow kernel make the law lumpy: this p-value can be far too small; use null='exact'"
        )
    return (*notes, *far_note(pvalue))


def far_note(pvalue: float) -> tuple[str, ...]:
    """What to make of a p-value in the far tail."""
    far = "below 1e-6 the p-value is an order of magnitude: the far tail is that of the Gaussian limit"
    return (far,) if pvalue < _FAR else ()
