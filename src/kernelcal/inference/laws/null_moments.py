"""Moments and spectrum of the SKCE under calibration, given the predictions: nothing is estimated from labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.inference.laws.chi_square import ChiSquareSum
from kernelcal.pairs import KernelProducts, QuadraticForms, map_strips
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.randomness import generator_of
from kernelcal.residuals import ClassResidual, JointResidual
from kernelcal.statistics.pairwise import PreparedPairMean
from kernelcal.tables import Shown, Table

__all__ = ["Covariance", "KnownNull", "ScalarMoments", "known_null", "scalar_moments"]


Kernels = Sequence[np.ndarray]  # values K_ij of every term of the kernel, of the same rows and columns


class Covariance:
    """Covariance of the residuals of every row, given the predictions, through a factor ``V_i = F_i F_i'``.

    It is ``V_i = L' (diag(p_i) - p_i p_i') L``. With ``s_i = sqrt(p_i)`` the factor is
    ``F_i = L' (diag(s_i) - p_i s_i')``, since ``s_i's_i = 1``; it is applied and never stored. For one probability
    it is a number. Case weights multiply it.

    Of a kernel that is a sum of products, L holds the features L_t of all terms side by side, and a pair of rows has
    the block ``sum_t K^t_ij F^t_i' F^t_j``: kernels come as one matrix a term.

    Attributes
    ----------
    columns : int
        Columns q of the factor.
    parts : list of slice
        Features of every term.
    """

    def __init__(self, predictions: ClassPredictions, residuals: Sequence[ClassResidual]) -> None:
        weights = residuals[0].weights
        self.weights = np.ones(len(predictions)) if weights is None else weights
        self.binary = isinstance(predictions, Bernoulli)
        tables = [residual.label_features.table() for residual in residuals] if len(residuals) > 1 else []
        self.features = np.hstack(tables) if tables else residuals[0].class_features
        p = to_numpy(predictions.probabilities).astype(np.float64)
        self.p = p / p.sum(axis=1, keepdims=True)  # the law of the labels, see ClassPredictions.draw
        self.root = np.sqrt(self.p)
        self.columns = 1 if self.binary else self.p.shape[1]
        ends = np.cumsum([0, *(residual.dimension for residual in residuals)]).tolist()
        self.parts = [slice(first, last) for first, last in pairwise(ends)]

    @property
    def size(self) -> int:
        """Rows and columns of the block matrix."""
        return len(self.p) * self.columns

    @cached_property
    def _deviation(self) -> np.ndarray:
        """Standard deviation of a scalar residual, shape (n,)."""
        assert self.features is not None
        return np.sqrt(self.p[:, 0] * self.p[:, 1]) * abs(float(self.features[1, 0])) * self.weights

    def scalar_moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Second, third and fourth moment of scalar residuals ``c (y - p)``, shape (n,) each."""
        assert self.features is not None
        scale = (float(self.features[1, 0]) - float(self.features[0, 0])) * self.weights
        variance = self.p[:, 0] * self.p[:, 1]
        third, fourth = variance * (self.p[:, 0] - self.p[:, 1]), variance * (1 - 3 * variance)
        return scale**2 * variance, scale**3 * third, scale**4 * fourth

    def scaled(self, columns: np.ndarray) -> np.ndarray:
        """Columns (n, J) times the standard deviations of scalar residuals."""
        return columns * self._deviation[:, None]

    def apply(self, x: np.ndarray) -> np.ndarray:
        """F_i x_i for x of shape (n, q, J): shape (n, r, J)."""
        if self.binary:
            return self._deviation[:, None, None] * x
        z = self.root[..., None] * x - self.p[..., None] * np.einsum("nk,nkj->nj", self.root, x)[:, None, :]
        z *= self.weights[:, None, None]
        return z if self.features is None else np.einsum("kr,nkj->nrj", self.features, z)

    def apply_transposed(self, z: np.ndarray) -> np.ndarray:
        """F_i' z_i for z of shape (n, r, J): shape (n, q, J)."""
        if self.binary:
            return self._deviation[:, None, None] * z
        x = z if self.features is None else np.einsum("kr,nrj->nkj", self.features, z)
        x = self.root[..., None] * (x - np.einsum("nk,nkj->nj", self.p, x)[:, None, :])
        return x * self.weights[:, None, None]

    def factors(self) -> np.ndarray:
        """F_i as an array (n, r, q): for few rows only."""
        return self.apply(np.broadcast_to(np.eye(self.columns), (len(self.p), self.columns, self.columns)))

    def multiply(self, kernels: Kernels, z: np.ndarray) -> np.ndarray:
        """``sum_j K^t_ij z_j`` for some rows i and z of shape (n, r, J), each feature by its term: (rows, r, J)."""
        return np.concatenate(
            [np.tensordot(k, z[:, part], 1) for k, part in zip(kernels, self.parts, strict=True)], axis=1
        )

    def block_matrix(self, kernels: Kernels) -> np.ndarray:
        """Matrix of the blocks ``sum_t K^t_ij F^t_i' F^t_j``, shape (n q, n q)."""
        f = self.factors()
        n, _, q = f.shape
        return self._summed(kernels, [f[:, part].transpose(0, 2, 1).reshape(n * q, -1) for part in self.parts], n, q)

    @staticmethod
    def _summed(kernels: Kernels, features: Sequence[np.ndarray], n: int, q: int) -> np.ndarray:
        """``sum_t K^t_ij <f^t_ia, f^t_jb>`` over features of (row, label), shape (n q, n q)."""
        total: np.ndarray | None = None
        for kernel, flat in zip(kernels, features, strict=True):
            matrix = flat @ flat.T
            matrix.reshape(n, q, n, q)[...] *= kernel[:, None, :, None]
            total = matrix if total is None else np.add(total, matrix, out=total)
        assert total is not None  # for the type checker: there is a term
        return total

    def squares(self, kernels: Kernels, rows: slice) -> np.ndarray:
        """Squared size of the blocks of some rows i and all j, overwriting the kernels: shape (rows, n).

        ``sum_st K^s_ij K^t_ij tr(A_s C_i A_t C_j)`` with ``A_t = L_t L_t'`` and ``C_i = diag(p_i) - p_i p_i'``.
        """
        if len(kernels) == 1:
            strip = kernels[0]
            strip *= strip
            strip *= self.traces(rows)
            return strip
        total = np.zeros_like(kernels[0])
        for s, left in enumerate(kernels):
            for t, right in enumerate(kernels[: s + 1]):
                total += (1 if s == t else 2) * left * right * self._traces(rows, self.parts[s], self.parts[t])
        return total

    def traces(self, rows: slice) -> np.ndarray:
        """tr(V_i V_j) for some rows i and all j, shape (rows, n).

        With ``A = L L'``, its entrywise square B and ``a_i = A p_i``:
        ``tr(V_i V_j) = p_i'B p_j - p_i.a_j^2 - a_i^2.p_j + (p_i.a_j)^2``: two matrix products.
        """
        if self.binary:
            v = self._deviation**2
            return v[rows, None] * v
        left, right, a = self._trace_features
        inner = self.p[rows] @ a.T
        inner *= inner
        inner += left[rows] @ right.T
        w = self.weights**2
        inner *= w
        inner *= w[rows, None]
        return inner

    @cached_property
    def _trace_features(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p = self.p
        if self.features is None:
            return np.hstack([p - p * p, p * p]), np.hstack([p - p * p, -p * p]), p
        matrix = self.features @ self.features.T
        a = p @ matrix
        return np.hstack([p @ matrix**2, -p, -a * a]), np.hstack([p, a * a, p]), a

    def _traces(self, rows: slice, first: slice, second: slice) -> np.ndarray:
        """tr(A C_i B C_j) of the matrices A and B of two terms: as `traces`, with ``(A p) (B p)`` for squares."""
        assert self.features is not None  # several terms have theirs side by side
        one, two = (self.features[:, part] @ self.features[:, part].T for part in (first, second))
        p, a, b = self.p, self.p @ one, self.p @ two
        inner = (p[rows] @ a.T) * (p[rows] @ b.T)
        inner += p[rows] @ ((one * two) @ p.T - (a * b).T) - (a * b)[rows] @ p.T
        w = self.weights**2
        return inner * w * w[rows, None]

    def pair_moments(self, kernels: Kernels) -> tuple[float, float]:
        """``sum_{i != j} E h_ij^s`` for s = 3 and 4, over all labels of both rows; kernels have zero diagonals.

        The first is, of one term, the sum of ``K_ij^3 <kappa_i, kappa_j>`` with the third cumulants of the residuals.
        For few rows only: a matrix over pairs (row, label).
        """
        features = np.eye(self.p.shape[1]) if self.features is None else self.features
        mean = self.p @ features
        r = ((features - mean[:, None, :]) * self.weights[:, None, None]).reshape(self.p.size, -1)
        h = self._summed(kernels, [r[:, part] for part in self.parts], *self.p.shape)
        p = self.p.ravel()
        cubes = h * h * h
        return float(p @ (cubes @ p)), float(p @ ((cubes * h) @ p))


_DENSE_UP_TO = 1_500  # rows times residual columns up to which all eigenvalues are computed

_FEW = 1_000  # the same for the subsample where moments do not come from it

_LEADING = 12  # eigenvalues that are followed one by one

_LONG, _LEAST = 2**24, 4  # numbers of their eigenvectors, and how many are followed however long they are

_PRODUCTS = 240  # columns of the product with K: fewer eigenvectors of many classes

_ROUNDING = 1e-12  # directions shorter than this, squared and relative, are left out

_ALL = slice(None)

_ROWS, _COLUMNS = 30, 100  # least rows of the subsample, and most columns


@dataclass(frozen=True, eq=False, repr=False)
class KnownNull(Shown):
    """Law of ``Q = sum_{i != j} K_ij <r_i, r_j>`` for calibrated predictions, given them.

    Attributes
    ----------
    variance : float
        ``Var Q = 2 sum_{i != j} K_ij^2 tr(V_i V_j)``, exact.
    third : float
        ``E Q^3 = 8 sum K_ij K_jk K_ki tr(V_i V_j V_k) + 4 sum_{i != j} K_ij^3 <kappa_i, kappa_j>`` over distinct
        indices; exact if `exact`, else from the eigenvalues of a subsample.
    lumps : float
        ``8 sum_{i != j} K_ij^4 E <r_i, r_j>^4 / Var^2``: what single pairs add to the fourth cumulant. Where it is not
        small, rare labels or a narrow kernel make the law lumpy, and its tail heavier than that of the limit.
    law : ChiSquareSum or None
        Weighted chi-square variables with these moments.
    exact : bool
        Whether the third moment and the lumps are exact.
    """

    variance: float
    third: float
    lumps: float
    law: ChiSquareSum | None
    exact: bool

    @property
    def skewness(self) -> float:
        """Third moment in units of the standard deviation."""
        return self.third / self.variance**1.5 if self.variance > 0 else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {"variance": self.variance, "third": self.third, "skewness": self.skewness, "lumps": self.lumps}
        return {**own, "exact": self.exact}

    def _table(self) -> Table:
        exact = "exact" if self.exact else "from a subsample"
        rows = [("variance", f"{self.variance:.6g}"), ("skewness", f"{self.skewness:.4g}, {exact}")]
        return Table("Law of the sum over pairs", [*rows, ("lumps", f"{self.lumps:.3g}")])


def known_null(prepared: PreparedPairMean) -> KnownNull:
    """Compute the law of an unbiased SKCE's sum over pairs, of the first kernel.

    The limit is ``sum_k l_k Z_k^2`` with the eigenvalues l_k of the matrix of blocks ``K_ij V_i^(1/2) V_j^(1/2)`` whose
    diagonal is zero. Up to 1,500 rows times classes all are computed. Above, the leading ones are (guessed from a
    subsample of rows, then made exact to second order by one pass over all pairs), and a gamma variable takes the place
    of the rest: mean and variance are exact, the skewness of the rest comes from the subsample. For one probability and
    a kernel that scans, or few unique predictions, no pass over pairs is made and the skewness is exact too.
    """
    covariance = _covariance(prepared)
    if covariance.size <= _DENSE_UP_TO:
        return _whole(_own_kernels(prepared), covariance)
    if covariance.binary and prepared.forms.products is not None:
        return _scalar(prepared, prepared.forms.products, covariance)
    return _leading(prepared, covariance)


def _covariance(prepared: PreparedPairMean) -> Covariance:
    predictions, residual = prepared.predictions, prepared.residual
    several = residual.terms if isinstance(residual, JointResidual) else ()
    residuals = [term.residual for term in several] or [residual]
    classes = [own for own in residuals if isinstance(own, ClassResidual)]
    if not isinstance(predictions, ClassPredictions) or len(classes) < len(residuals):
        raise InputError(
            f"null='saddlepoint' serves class predictions, got {type(predictions).__name__}: use null='exact' or "
            "null='bootstrap'"
        )
    return Covariance(predictions, classes)


def _kernels(forms: QuadraticForms, rows: slice) -> Kernels:
    """Values K_ij of every term for some rows, arrays that may be overwritten."""
    return [term.kernel_rows(rows) for term in forms.terms]


def _own_kernels(prepared: PreparedPairMean) -> Kernels:
    """Values of all pairs of every term, with zero diagonals."""
    kernels = _kernels(prepared.forms, _ALL)
    for kernel in kernels:
        np.fill_diagonal(kernel, 0)
    return kernels


def _whole(kernels: Kernels, covariance: Covariance) -> KnownNull:
    eigenvalues = np.linalg.eigvalsh(covariance.block_matrix(kernels))
    variance, third = 2 * float((eigenvalues**2).sum()), 8 * float((eigenvalues**3).sum())
    if variance == 0:
        return KnownNull(0.0, 0.0, 0.0, None, exact=True)
    cubes, fourths = covariance.pair_moments(kernels)
    leading = eigenvalues[np.argsort(-np.abs(eigenvalues))][: len(eigenvalues) // 2]
    law = ChiSquareSum.matched(leading, 0.0, variance, third + 4 * cubes)
    return KnownNull(variance, third + 4 * cubes, 8 * fourths / variance**2, law, exact=True)


def _scalar(prepared: PreparedPairMean, products: KernelProducts, covariance: Covariance) -> KnownNull:
    """Exact moments; eigenvectors of a subsample, extended by one product with K0 and made exact by another."""
    moments = scalar_moments(products, covariance)
    if moments.variance == 0:
        return KnownNull(0.0, 0.0, 0.0, None, exact=True)
    rows, part = _subsample(prepared, covariance, _FEW)
    n = len(prepared.predictions)
    number = int(np.clip(_LONG // n, _LEAST, _LEADING))
    vectors = _eigenvectors(_own_kernels(part), _covariance(part), number)
    columns = np.zeros((n, number))
    columns[rows] = vectors[:, 0]
    guess = covariance.scaled(products.apply(columns))
    own, applied = guess.T @ guess, covariance.scaled(products.apply(covariance.scaled(guess)))
    leading = _ritz_values(guess.T @ applied, own)
    law = ChiSquareSum.matched(leading, 0.0, moments.variance, moments.third)
    return KnownNull(moments.variance, moments.third, moments.lumps, law, exact=True)


def _leading(prepared: PreparedPairMean, covariance: Covariance) -> KnownNull:
    sample = _sample(prepared, covariance)
    guess = _extended(prepared, covariance, sample)
    variance, products = _pass(prepared.forms, covariance, guess)
    if variance == 0:
        return KnownNull(0.0, 0.0, 0.0, None, exact=False)
    leading = np.linalg.eigvalsh(_ritz(covariance, guess, products))
    n, s = len(prepared.predictions), len(sample.rows)
    triples = n * (n - 1) * (n - 2) / (s * (s - 1) * (s - 2))
    third = max(sample.third * triples, 8 * float((leading**3).sum()))
    lumps = 8 * sample.fourths * (n * (n - 1) / (s * (s - 1))) / variance**2
    return KnownNull(variance, third, lumps, ChiSquareSum.matched(leading, 0.0, variance, third), exact=False)


@dataclass(frozen=True)
class ScalarMoments:
    """Second, third and what single pairs add to the fourth moment of ``Q = sum_{i != j} K_ij r_i r_j``."""

    variance: float
    third: float
    lumps: float


def scalar_moments(products: KernelProducts, covariance: Covariance) -> ScalarMoments:
    """Compute the moments from those of the residuals: variance v, third moment k and fourth moment f of every row.

    ``Var Q = 2 sum K_ij^2 v_i v_j``, ``E Q^3 = 8 sum K_ij K_jk K_ki v_i v_j v_k + 4 sum K_ij^3 k_i k_j`` and, relative
    to the squared variance, ``8 sum K_ij^4 f_i f_j``, all over different rows.
    """
    v, k, f = covariance.scalar_moments()
    variance = 2 * _form(products, v, 2)
    if variance == 0:
        return ScalarMoments(0.0, 0.0, 0.0)
    third = 8 * products.triples(v) + 4 * _form(products, k, 3)
    return ScalarMoments(variance, third, 8 * _form(products, f, 4) / variance**2)


def _form(products: KernelProducts, values: np.ndarray, exponent: int) -> float:
    return float(values @ products.apply(values[:, None], exponent)[:, 0])


@dataclass(frozen=True, eq=False)
class _Sample:
    """A seeded subsample of rows: leading eigenvectors (s, columns, J) of its block matrix, and moments."""

    rows: np.ndarray
    vectors: np.ndarray
    third: float
    fourths: float


def _sample(prepared: PreparedPairMean, covariance: Covariance) -> _Sample:
    rows, part = _subsample(prepared, covariance, _DENSE_UP_TO)
    own, kernels = _covariance(part), _own_kernels(part)
    matrix = own.block_matrix(kernels)
    third = 8 * float(np.einsum("ij,ij->", matrix @ matrix, matrix))
    cubes, fourths = own.pair_moments(kernels)
    number = min(_LEADING, max(1, _PRODUCTS // covariance.columns))
    return _Sample(rows, _eigenvectors(kernels, own, number), third + 4 * cubes, fourths)


def _subsample(prepared: PreparedPairMean, covariance: Covariance, size: int) -> tuple[np.ndarray, PreparedPairMean]:
    """Seeded rows, as many as make a block matrix of this size, and the same kernels over them."""
    n, q = len(prepared.predictions), covariance.columns
    if q > _COLUMNS:
        raise InputError(
            f"null='saddlepoint' serves up to {_COLUMNS} classes for so many rows, got {q}: use null='exact'"
        )
    size = max(size // q, _ROWS)
    rows = np.sort(generator_of(0, "rows of an eigenvector").choice(n, min(size, n), replace=False))
    return rows, prepared.part(rows)


def _eigenvectors(kernels: Kernels, covariance: Covariance, number: int) -> np.ndarray:
    """Leading eigenvectors of few rows' block matrix times the factors of the covariance: (rows, columns, J)."""
    from scipy.linalg import eigh  # imported when needed: the import of kernelcal stays light

    matrix, q = covariance.block_matrix(kernels), covariance.columns
    _, vectors = eigh(matrix, subset_by_index=[len(matrix) - number, len(matrix) - 1])
    return covariance.apply(vectors.reshape(-1, q, number))


def _extended(prepared: PreparedPairMean, covariance: Covariance, sample: _Sample) -> np.ndarray:
    """Eigenvectors of the sample extended to all rows by one product, as an orthonormal array (n, columns, J)."""
    kernels = []
    for form in prepared.forms.terms:
        kernel = np.concatenate([form.kernel_rows(slice(int(i), int(i) + 1)) for i in sample.rows])
        kernel[np.arange(len(kernel)), sample.rows] = 0
        kernels.append(kernel.T)
    lifted = covariance.apply_transposed(covariance.multiply(kernels, sample.vectors))
    flat, _ = np.linalg.qr(lifted.reshape(covariance.size, -1))
    return flat.reshape(lifted.shape[0], covariance.columns, -1)


def _pass(forms: QuadraticForms, covariance: Covariance, guess: np.ndarray) -> tuple[float, np.ndarray]:
    """One pass over all pairs: the exact variance, and K0 times the columns of the guess."""
    columns = covariance.apply(guess)

    def work(rows: slice) -> np.ndarray:
        strips = _kernels(forms, rows)
        for strip in strips:
            strip[np.arange(len(strip)), np.arange(rows.start, rows.stop)] = 0
        products = covariance.multiply(strips, columns).reshape(len(strips[0]), -1)
        return np.hstack([products, covariance.squares(strips, rows).sum(axis=1, keepdims=True)])

    found = np.concatenate(map_strips(len(guess), work))
    return 2 * float(found[:, -1].sum()), found[:, :-1].reshape(len(guess), -1, guess.shape[2])


def _ritz(covariance: Covariance, guess: np.ndarray, products: np.ndarray) -> np.ndarray:
    """U' M U for orthonormal columns U: its eigenvalues err by the square of the error of U."""
    applied = covariance.apply_transposed(products).reshape(-1, guess.shape[2])
    matrix = guess.reshape(-1, guess.shape[2]).T @ applied
    return 0.5 * (matrix + matrix.T)


def _ritz_values(matrix: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Eigenvalues of U' M U for U with the span of some columns X, from X' M X and X'X: X itself is long."""
    sizes, directions = np.linalg.eigh(own)
    kept = directions[:, sizes > _ROUNDING * sizes[-1]] / np.sqrt(sizes[sizes > _ROUNDING * sizes[-1]])
    found = kept.T @ matrix @ kept
    return np.linalg.eigvalsh(0.5 * (found + found.T))
