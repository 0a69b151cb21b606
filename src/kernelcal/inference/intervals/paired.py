"""Paired differences of two models on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.dependence import MeanLaw
from kernelcal.inference.intervals.flips import MOST
from kernelcal.inference.intervals.surprises import (
    FEWEST,
    DifferenceSums,
    Error,
    LabelLaw,
    depth,
    hoeffding_sums,
    larger,
    pseudo_rows,
    strips,
)
from kernelcal.pairs import PairMatrix, threaded_map
from kernelcal.residuals import ClassResidual, FeatureResidual, LabelFeatures
from kernelcal.tables import Shown, Table

__all__ = [
    "Contrast",
    "PairedDifference",
    "PairedSurprises",
    "difference_of_draws",
    "difference_of_pairs",
    "mean_difference",
]


@dataclass(frozen=True, eq=False)
class _Model:
    """Residuals of a model, and the features of what could have happened."""

    matrix: PairMatrix
    r: np.ndarray
    mean: np.ndarray
    features: LabelFeatures


class PairedSurprises:
    """Hoeffding's variance of the difference of two unbiased SKCE with pseudo-rows, for any two of several models.

    With ``d = h_a - h_b`` and pseudo-rows (i, l) of weight ``eps v_l``, the same for all models: the row sums
    ``S_i = sum_{j != i} d_ij + eps sum_{j, l} v_l d(i; j, l)`` of real rows, ``S_il`` of pseudo-rows likewise, and
    ``Q = q + 2 eps q_rs + eps^2 q_ss``, in which the expectations over labels are taken exactly. Of numbers, whose
    pseudo-outcomes lie far from all that was predicted, Q alone is larger.

    Parameters
    ----------
    matrices : sequence of PairMatrix
        One a model, of equal targets.
    law : LabelLaw or None
        Of the labels of all models; None for numbers.
    sums, products : numpy.ndarray
        Of `joint_sums`.

    Notes
    -----
    Cost: for each pair of models about thirty operations a pair of rows, of which at most 1,024 times n are looked at.
    """

    def __init__(
        self, matrices: Sequence[PairMatrix], law: LabelLaw | None, sums: np.ndarray, products: np.ndarray
    ) -> None:
        self.n, self.sums, self.products = matrices[0].n, sums, products
        self.moves, self.law = law is not None, law or LabelLaw(np.ones(1), 1.0)
        self.models = [_model(matrix) for matrix in matrices]
        self.some = pseudo_rows(self.n)
        self.rows, parts = len(range(*self.some.indices(self.n))), strips(self.some, self.n)
        v = self.law.labels
        self.centred = [model.features.mean(v) - model.mean for model in self.models]
        seen = [model.features.products(model.r) for model in self.models]  # <e_l, r_j>, shape (n, m)
        self.expected = [x @ v for x in seen]
        self.shared = np.array([[(x * y) @ v for y in seen] for x in seen])
        self.shared -= np.einsum("an,bn->abn", self.expected, self.expected)
        self.mixed, self.both = np.zeros((2, len(matrices), len(matrices)))
        self._add_up(parts)

    @classmethod
    def of(
        cls, matrices: Sequence[PairMatrix], law: LabelLaw | None, sums: np.ndarray, products: np.ndarray
    ) -> PairedSurprises | None:
        """Sums of these models; None where residuals have no features or no bound."""
        residuals = [matrix.residual for matrix in matrices]
        if law is None and not all(isinstance(r, FeatureResidual) and r.far_lengths() is not None for r in residuals):
            return None
        return cls(matrices, law, sums, products)

    def _add_up(self, strips: Sequence[slice]) -> None:
        for model in self.models:
            model.matrix.ready  # noqa: B018  made before threads ask for it
        parts = threaded_map(self._strip, strips, None)
        toward, first, second, mixed, both = zip(*parts, strict=True)
        self.toward = [np.einsum("nk,nk->n", m.r, t) for m, t in zip(self.models, np.sum(toward, axis=0), strict=True)]
        self.first, self.second = np.concatenate(first, axis=1), np.concatenate(second, axis=1)
        self.mixed, self.both = np.sum(mixed, axis=0), np.sum(both, axis=0)

    def _strip(self, rows: slice) -> tuple[np.ndarray, ...]:
        """Sums of some pseudo-rows with all rows."""
        n, some, count = self.n, self.some, len(self.models)
        index = np.arange(*rows.indices(n))
        kernels = [model.matrix.forms.kernel_rows(rows) for model in self.models]
        toward, first, second = [], [], []
        for model, strip, d in zip(self.models, kernels, self.centred, strict=True):
            alone = strip[np.arange(len(index)), index, None] * _distances(model, index)
            toward.append(strip.T @ d[rows])
            first.append(_of_labels(model, index, strip @ model.r) - alone)
            second.append(_of_labels(model, index, strip[:, some] @ d[some]))
        mixed, both = self._real_and_pseudo(kernels, index), np.zeros((count, count))
        for a in range(count):
            for b in range(a + 1, count):
                two = self.models[a], self.models[b]
                near = kernels[a][:, some], kernels[b][:, some]
                both[a, b] = both[b, a] = _pseudo_and_pseudo(two, near, index, some, self.law.labels)
        return np.array(toward), np.array(first), np.array(second), mixed, both

    def _real_and_pseudo(self, kernels: Sequence[np.ndarray], index: np.ndarray) -> np.ndarray:
        """Sums over pseudo-rows i and rows j of ``E_l (K <e_l - p_i, r_j> - K' <e_l - p'_i, r'_j>)^2``, shape (M, M).

        Mean and variance over labels apart: ``(z - z')^2`` with ``z = K <p_i - E e_l, r_j>``, and
        ``K^2 Var <e_l, r_j> - 2 K K' Cov + K'^2 Var'``.
        """
        count, n = len(self.models), self.n
        means, products = np.zeros((2, count, count))
        for first in range(0, n, _COLUMNS):
            part = slice(first, min(first + _COLUMNS, n))
            tiles = [kernel[:, part] for kernel in kernels]
            moved = []
            for model, tile, expected in zip(self.models, tiles, self.expected, strict=True):
                z = model.mean[index] @ model.r[part].T
                z -= expected[part]
                z *= tile
                moved.append(z)
            for a in range(count):
                for b in range(a, count):
                    products[a, b] += np.einsum("ij,ij->j", tiles[a], tiles[b]) @ self.shared[a, b, part]
                    if a < b:
                        gap = (moved[a] - moved[b]).ravel()
                        means[a, b] += gap @ gap
        own = np.diag(products)
        found = np.triu(means + own[:, None] + own - 2 * products, 1)
        return np.asarray(found + found.T)

    def between(self, a: int, b: int) -> DifferenceSums:
        """Sums of the difference of two models."""
        products, v = self.products, self.law.labels
        squares = products[a, a] - 2 * products[a, b] + products[b, b], 2 * self.mixed[a, b], self.both[a, b]
        real = self.sums[a] - self.sums[b]
        if not self.moves:
            return DifferenceSums(self.n, self.rows, self.law.each, (real.sum(),), (real @ real,), squares)
        toward, first, second = (own[a] - own[b] for own in (self.toward, self.first, self.second))
        return DifferenceSums(
            self.n,
            self.rows,
            self.law.each,
            (real.sum(), toward.sum() + (first @ v).sum(), (second @ v).sum()),
            (
                real @ real,
                2 * real @ toward + (first**2 @ v).sum(),
                toward @ toward + 2 * ((first * second) @ v).sum(),
                (second**2 @ v).sum(),
            ),
            squares,
        )


def _model(matrix: PairMatrix) -> _Model:
    residual, r = matrix.residual, np.asarray(matrix.features)
    if isinstance(residual, ClassResidual):
        return _Model(matrix, r, np.asarray(residual.mean), residual.label_features)
    mean, far = np.asarray(getattr(residual, "mean", np.zeros_like(r))), residual.far_lengths()
    assert far is not None  # for the type checker: others were refused
    size = float(np.max(far - np.einsum("nk,nk->n", mean, mean)))
    features = np.zeros((1, r.shape[1] + 1))
    features[0, -1] = math.sqrt(max(size, 0.0))  # orthogonal to all that was predicted
    return _Model(matrix, _wider(r), _wider(mean), LabelFeatures(features, 1))


def _wider(x: np.ndarray) -> np.ndarray:
    return np.hstack([x, np.zeros((len(x), 1))])


def _distances(model: _Model, index: np.ndarray) -> np.ndarray:
    """``|e_l - p_i|^2``, shape (rows, m)."""
    mean = model.mean[index]
    return model.features.sizes - 2 * model.features.products(mean) + np.einsum("nk,nk->n", mean, mean)[:, None]


def _of_labels(model: _Model, index: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """``<e_l - p_i, sums_i>``, shape (rows, m)."""
    return model.features.products(sums) - np.einsum("nk,nk->n", model.mean[index], sums)[:, None]


_COLUMNS = 1024  # of strips, whose products stay in the cache
Two = tuple[_Model, _Model]
Strips = tuple[np.ndarray, np.ndarray]


def _pseudo_and_pseudo(models: Two, kernels: Strips, index: np.ndarray, some: slice, v: np.ndarray) -> float:
    """Sum over pseudo-rows of ``E_ll' (K <e_l - p_i, e_l' - p_j> - K' <e_l - p'_i, e_l' - p'_j>)^2``.

    The bracket is ``g G_ll' - u_j(l) - u_i(l') + t`` with ``g = K - K'``, G the inner products of label features,
    ``u_j(l) = K <e_l, p_j> - K' <e_l, p'_j>`` and ``t = K <p_i, p_j> - K' <p'_i, p'_j>``.
    """
    (a, b), (k, q) = models, kernels
    g = k - q
    t = k * (a.mean[index] @ a.mean[some].T) - q * (b.mean[index] @ b.mean[some].T)
    centre = a.features.weighed(v)
    total = g**2 * float(a.features.weighed(v, 2) @ v) + t**2 + 2 * g * t * float(v @ centre)
    means = []
    for side in (index, some):
        x, y = a.features.products(a.mean[side]), b.features.products(b.mean[side])
        one, two = (x @ v, y @ v), (x @ (v * centre), y @ (v * centre))
        squares = (x**2 @ v, (x * y) @ v, y**2 @ v)
        if side is index:
            one, two, squares = ([part[:, None] for part in parts] for parts in (one, two, squares))  # type: ignore
        mean = k * one[0] - q * one[1]
        means.append(mean)
        total += k**2 * squares[0] - 2 * k * q * squares[1] + q**2 * squares[2]
        total -= 2 * g * (k * two[0] - q * two[1]) + 2 * t * mean
    return float((total + 2 * means[0] * means[1]).sum())


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
    def of(
        cls,
        difference: float,
        own: float,
        size: float,
        surprised: Error | None = None,
        freedom: float = math.inf,
        law: MeanLaw | None = None,
    ) -> Contrast:
        """Two-sided p-value where as many standard errors as the level asks for are the difference.

        Parameters
        ----------
        difference, own : float
            Finite, and its standard error from what was seen.
        size : float
            Of what is subtracted: a smaller standard error than its rounding is that of equal predictions.
        surprised : callable, optional
            Standard error with so many surprises, which counts where it is larger.
        freedom : float
            Degrees of freedom of the law of Student; infinite for the normal law.
        law : MeanLaw, optional
            That of rows that depend on each other, in the place of Student's.
        """
        usual = larger(own, surprised, FEWEST)
        if usual <= _ROUNDING * size:
            return cls(0.0, 0.0, 1.0)
        z = depth(abs(difference), own, surprised)
        pvalue = 2 * _student_tail(z, freedom) if law is None else law.pvalue(z)
        return cls(difference, usual, min(max(pvalue, _SMALLEST), 1.0))


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
    more = None if surprises is None else surprises.between(a, b).error
    return Contrast.of(float(rows.sum()) / (n * (n - 1)), own, size, more)


_LEVELS = tuple(z**2 / 2 for z in (2.0, 2.5, 3.0, 4.0, MOST))  # surprises of some depths, which draws are given


def difference_of_draws(
    estimates: tuple[float, float],
    first: np.ndarray,
    second: np.ndarray,
    surprised: Callable[[float], tuple[np.ndarray, np.ndarray]] | None = None,
) -> Contrast:
    """Difference of two estimates, with the spread of the difference over the same drawn rows.

    `surprised` gives the draws of both with so many surprises, the next of five numbers of them.
    """
    own, size = float((first - second).std(ddof=1)), max(map(abs, estimates))
    if surprised is None:
        return Contrast.of(estimates[0] - estimates[1], own, size)

    @cache
    def spread(surprises: float) -> float:
        one, two = surprised(surprises)
        return float((one - two).std(ddof=1))

    return Contrast.of(
        estimates[0] - estimates[1],
        own,
        size,
        lambda surprises: spread(next((level for level in _LEVELS if level >= surprises), _LEVELS[-1])),
    )


def mean_difference(
    first: np.ndarray, second: np.ndarray, surprised: Callable[[np.ndarray], Error] | None = None
) -> Contrast:
    """Mean of row-wise differences, by the law of Student; without an error where the mean is not finite.

    A row that is infinite on one side makes the mean infinite, such rows on both sides make it nan. A row that is
    infinite for both models tells nothing between them and counts as 0. `surprised` gives the standard error of the
    differences of rows for a number of surprises. Rows that all differ by the same amount have
    no spread: their p-value is that of n equal signs.
    """
    with np.errstate(invalid="ignore"):
        rows = np.where(first == second, 0.0, first - second)
        mean, n = float(rows.mean()), len(rows)
    if not math.isfinite(mean):
        return Contrast(mean, math.nan, None)
    size = float(np.abs(first, out=np.zeros(n), where=np.isfinite(first)).max()) / math.sqrt(n)
    own, more = float(rows.std(ddof=1)) / math.sqrt(n), None if surprised is None else surprised(rows)

    if abs(mean) > _ROUNDING * size and larger(own, more, FEWEST) <= _ROUNDING * size:
        return Contrast(mean, 0.0, max(2.0 ** (1 - n), _SMALLEST))
    return Contrast.of(mean, own, size, more, n - 1)
