"""The operator of CKCE for fixed predictions, ``M = W K W`` with ``W = (K + c I)^-1``: by Cholesky or features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.errors import InputError
from kernelcal.kernels import Kernel
from kernelcal.residuals import ClassResidual, FeatureResidual, FourierResidual, PITResidual, Residual
from kernelcal.statistics.conditional.engines import Features

__all__ = ["MATRIX_UP_TO", "ByCholesky", "ByFeatures", "CrossValidation", "Operator"]


MATRIX_UP_TO = 6_000  # rows up to which M is held for many draws: 288 MB

_KEEP_BYTES = 2**29  # features below this size are kept, above they are made anew in every pass
_CHUNK_BYTES = 2**26
_STRIP = 2**20
_SINGLE_FROM, _SINGLE_ROWS = 50_000, 4_096  # rows times features of residuals, and rows of a product
_ALL = slice(None)


class Operator(ABC):
    """``sum_ij M_ij <r_i, r_j>`` for many sets of targets; c = lambda n is fixed."""

    n: int
    factor: np.ndarray  # lower, of the system that is solved

    def values(self, residual: Residual, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B,)."""
        if isinstance(residual, FeatureResidual):
            return self.of_features(residual, targets)
        return self._of_inner_products(residual, targets)

    @abstractmethod
    def of_features(self, residual: FeatureResidual, targets: np.ndarray) -> np.ndarray:
        """Values for residuals with features."""

    @abstractmethod
    def quadratic(self, r: np.ndarray) -> np.ndarray:
        """``sum_ij M_ij <r_i, r_j>`` for features of shape (n, B, k): shape (B,)."""

    @abstractmethod
    def regression(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What ridge regression leaves of r, ``c W r``, and ``M r``, both of shape (n, k)."""

    @property
    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """M_ii, shape (n,)."""

    @abstractmethod
    def drawn(self, e: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """``sum_ij M_ij <x_i, x_j>`` for ``x_i = f_ib e_i``, e of shape (n, k), f of shape (n, B): shape (B,)."""

    def pairs(self, e: np.ndarray) -> np.ndarray | None:
        """``M_ij <e_i, e_j>`` as a matrix, where that serves many draws best; None where the operator itself does."""
        return None

    @abstractmethod
    def rows(self, rows: slice) -> np.ndarray:
        """Rows of M, shape (rows, n)."""

    @abstractmethod
    def bytes_per_draw(self, dimension: int) -> int:
        """Working memory of one more set of targets whose residuals have so many features."""

    def noise(self, residual: Residual, targets: np.ndarray) -> np.ndarray:
        """Pairs of a row with itself, ``sum_i M_ii |r_i|^2``, for targets of shape (B, n, ...): shape (B,)."""
        if isinstance(residual, FeatureResidual):
            return residual.squared_norms(targets) @ self.diagonal
        return np.array([residual.inner(row).aligned(_ALL, _ALL) @ self.diagonal for row in targets])

    def _solve(self, b: np.ndarray) -> np.ndarray:
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve((self.factor, True), b, check_finite=False))

    def _of_inner_products(self, residual: Residual, targets: np.ndarray) -> np.ndarray:
        """Residuals without features: R a strip of rows at a time, so that it is never stored."""
        inners = [residual.inner(row) for row in targets]
        totals = np.zeros(len(inners))
        for rows in row_slices(self.n, _STRIP // self.n):
            m, cross = self.rows(rows), residual.cross(rows, _ALL)
            totals += [float((m * inner.block(rows, _ALL, cross)).sum()) for inner in inners]
        return totals


class ByCholesky(Operator):
    """K as a matrix, which is overwritten by the Cholesky factor of K + c I: n^3 / 3 multiplications, once."""

    def __init__(self, kernel: Any, matrix: np.ndarray, c: float) -> None:
        self.n, self.c = len(matrix), c
        matrix[np.diag_indices(self.n)] += c
        self.factor = _cholesky(kernel, matrix)

    def of_features(self, residual: FeatureResidual, targets: np.ndarray) -> np.ndarray:
        """Values of all residuals at once."""
        return self.quadratic(residual.batch(targets))

    def quadratic(self, r: np.ndarray) -> np.ndarray:
        """``S = W r``, then ``r' W K W r = S'(r - c S)``: 2 n^2 multiplications a feature."""
        s = self._solve(r.reshape(self.n, -1)).reshape(r.shape)
        return np.einsum("nbk,nbk->b", s, r - self.c * s)

    def drawn(self, e: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """All rows of all draws, written out."""
        return self.quadratic(factors[:, :, None] * e[:, None, :])

    def regression(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``c S`` and ``M r = S - c W S``: two solutions."""
        s = self._solve(r)
        return self.c * s, s - self.c * self._solve(s)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """``W_ii - c sum_j W_ij^2`` from the lower half of W: 2 n^3 / 3 multiplications and 8 n^2 bytes, once."""
        if "_m" in vars(self):
            return np.diag(self._m).copy()
        from scipy.linalg.lapack import dpotri

        w = np.tril(dpotri(self.factor, lower=1)[0])
        own = np.diag(w).copy()
        np.square(w, out=w)
        return own - self.c * (w.sum(axis=0) + w.sum(axis=1) - own**2)

    def bytes_per_draw(self, dimension: int) -> int:
        """Residuals, solutions and their difference."""
        return 40 * self.n * dimension

    def pairs(self, e: np.ndarray) -> np.ndarray | None:
        """Return the matrix up to 6,000 rows: 2 n^3 multiplications once, and no system to solve for a draw."""
        return self._m * (e @ e.T) if self.n <= MATRIX_UP_TO else None

    def rows(self, rows: slice) -> np.ndarray:
        """Rows of M, which is made once."""
        return self._m[rows]

    @cached_property
    def _m(self) -> np.ndarray:
        """``W K W = W - c W^2``."""
        w = self._solve(np.eye(self.n))
        return np.asarray(w - self.c * (w @ w))


class ByFeatures(Operator):
    """K = Phi Phi': the primal form ``|(Phi'Phi + c I)^-1 Phi' r|^2``, D x D matrices, eq. (9) of Moskvichev 2025."""

    def __init__(self, kernel: Any, features: Features, n: int, c: float) -> None:
        self.n = n
        self.size = features(slice(0, 1)).shape[1]
        self._features = _kept(features, n) if 8 * n * self.size <= _KEEP_BYTES else features
        products = c * np.eye(self.size)
        for rows in self._parts(0):
            phi = self._features(rows)
            products += phi.T @ phi
        self.factor = _cholesky(kernel, products)

    def of_features(self, residual: FeatureResidual, targets: np.ndarray) -> np.ndarray:
        """Values of residuals that are made a part of the rows at a time."""
        columns = len(targets) * residual.dimension
        return self._squares(lambda rows: residual[rows].batch(targets[:, rows]), columns, len(targets))

    def quadratic(self, r: np.ndarray) -> np.ndarray:
        """N D multiplications a feature of the residuals."""
        return self._squares(lambda rows: r[rows], r.shape[1] * r.shape[2], r.shape[1])

    def drawn(self, e: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Squared lengths of coefficients."""
        b = self.coefficients(e, factors)
        return np.einsum("kbd,kbd->b", b, b)

    def coefficients(self, e: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """``Q' x`` for the rows ``x_i = f_ib e_i``, shape (k, B, D): n D B k multiplications, no array of all x.

        Column by column of e, so that what is written out is as large as the features, not as the draws times k. Of
        many rows products of some thousand are made in single precision and added in double precision.
        """
        total = np.zeros((e.shape[1], factors.shape[1], self.size))
        single = self.n * e.shape[1] > _SINGLE_FROM
        kind, q = np.float32 if single else np.float64, self._held
        found = np.empty(total.shape[1:], dtype=kind)
        for rows in row_slices(self.n, _SINGLE_ROWS) if single else self._parts(factors.shape[1]):
            phi = self._features(rows) if q is None else q[rows]
            phi, part, own = (x.astype(kind, copy=False) for x in (phi, factors[rows], e[rows]))
            for k, column in enumerate(own.T):
                np.matmul(part.T, phi * column[:, None], out=found)
                total[k] += found
        return total if q is not None else self._solve(total.reshape(-1, self.size).T).T.reshape(total.shape)

    def coefficients_of(self, rows: np.ndarray, x: np.ndarray, draws: np.ndarray, number: int) -> np.ndarray:
        """Return the same for few rows of each draw, ``x`` of shape (f, k) and the draws, ascending: (k, number, D)."""
        total = np.zeros((x.shape[1], number, self.size))
        for part in self._parts(0):
            here = np.flatnonzero((rows >= part.start) & (rows < part.stop))
            if not len(here):
                continue
            q = self._solve(self._features(part).T).T if self._held is None else self._held[part]
            bounds = np.searchsorted(draws[here], np.arange(number + 1))
            for b in np.flatnonzero(np.diff(bounds)):
                those = here[bounds[b] : bounds[b + 1]]
                total[:, b] += x[those].T @ q[rows[those] - part.start]
        return total

    def regression(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``r - Phi B`` with the coefficients B, and ``Phi (Phi'Phi + c I)^-1 B``."""
        b = self._coefficients(lambda rows: r[rows], r.shape[1])
        again = self._solve(b)
        parts = [(self._features(rows) @ b, self._features(rows) @ again) for rows in self._parts(2 * r.shape[1])]
        fitted, m = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return r - fitted, m

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Squared rows of Q: n D^2 multiplications, once."""
        if self._held is not None:
            return np.einsum("nd,nd->n", self._held, self._held)
        parts = [self._solve(self._features(rows).T) for rows in self._parts(0)]
        return np.concatenate([np.einsum("dn,dn->n", q, q) for q in parts])

    def bytes_per_draw(self, dimension: int) -> int:
        """Sums over the rows and their solutions."""
        return 32 * self.size * dimension

    def rows(self, rows: slice) -> np.ndarray:
        """Rows of M = Q Q', Q = Phi (Phi'Phi + c I)^-1."""
        return np.asarray(self._q[rows] @ self._q.T)

    @property
    def _held(self) -> np.ndarray | None:
        """Q, where it is small."""
        return self._q if 8 * self.n * self.size <= _CHUNK_BYTES else None

    @cached_property
    def _q(self) -> np.ndarray:
        return np.concatenate([self._solve(self._features(rows).T).T for rows in self._parts(0)])

    def _squares(self, r: Callable[[slice], np.ndarray], columns: int, draws: int) -> np.ndarray:
        """Sums of squares of the coefficients, shape (draws,)."""
        b = self._coefficients(r, columns).reshape(self.size, draws, -1)
        return np.einsum("dbk,dbk->b", b, b)

    def _coefficients(self, r: Callable[[slice], np.ndarray], columns: int) -> np.ndarray:
        total = np.zeros((self.size, columns))
        for rows in self._parts(columns):
            total += self._features(rows).T @ r(rows).reshape(-1, columns)
        return self._solve(total)

    def _parts(self, columns: int) -> list[slice]:
        return row_slices(self.n, _CHUNK_BYTES // (8 * (self.size + columns)))


def _kept(features: Features, n: int) -> Features:
    values = np.concatenate([features(rows) for rows in row_slices(n, 8192)])
    view: Callable[[slice], np.ndarray] = values.__getitem__
    return view


def _cholesky(kernel: Any, matrix: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor in the place of a symmetric matrix."""
    from scipy.linalg import LinAlgError, cho_factor  # imported when needed: the import of kernelcal stays light

    try:
        return np.asarray(cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)[0])
    except LinAlgError:
        raise InputError(
            f"K + lambda n I has no Cholesky factor, since {kernel} is not positive definite over these predictions: "
            "choose another metric or profile, such as Gaussian(), or a larger regularization"
        ) from None


CANDIDATES = np.logspace(-4, 0, 13)  # times the mean of k(p, p)
_RANK = 1e-13  # of the largest eigenvalue


class CrossValidation:
    """Choose lambda for every set of targets anew: the CKCE at the lambda that predicts the targets best.

    Left out is one row at a time: ``e_i = (psi_i - H psi_i) / (1 - H_ii)``, ``H = K (K + lambda n I)^-1``, psi the
    features of the targets. The loss is the sum of ``|e_i|^2``. With ``K = U S U'`` one spectrum serves all candidates.
    """

    def __init__(self, vectors: np.ndarray, values: np.ndarray, residual: Residual, roots: np.ndarray | None) -> None:
        if not isinstance(residual, ClassResidual | FourierResidual | PITResidual):
            raise InputError(
                "regularization='cross-validation' needs features of the targets: pass "
                "target_kernel=kernelcal.kernels.Spectral(kernelcal.Gaussian()), or a number as regularization"
            )
        kept = values > _RANK * max(float(values.max()), 0.0)
        self.vectors, self.spectrum, self.residual = vectors[:, kept], values[kept], residual
        self.n = len(vectors)
        mean = np.zeros((self.n, 1)) if isinstance(residual, PITResidual) else residual.mean
        self.mean = mean if roots is None else mean * roots[:, None]
        self.candidates = CANDIDATES * float(self.spectrum.sum() / self.n)

    @classmethod
    def of_matrix(
        cls, matrix: np.ndarray, kernel: Kernel, residual: Residual, roots: np.ndarray | None
    ) -> CrossValidation:
        """Spectrum of K: about 9 n^3 multiplications, once."""
        values, vectors = np.linalg.eigh(matrix)
        if values[0] < -1e-8 * values[-1]:
            raise InputError(
                f"{kernel} is not positive definite over these predictions: choose another metric or profile, such as "
                "Gaussian()"
            )
        return cls(vectors, values, residual, roots)

    @classmethod
    def of_features(cls, phi: np.ndarray, residual: Residual, roots: np.ndarray | None) -> CrossValidation:
        """Spectrum of Phi Phi' from that of Phi'Phi: n D^2 multiplications, once."""
        values, vectors = np.linalg.eigh(phi.T @ phi)
        kept = values > _RANK * values[-1]
        return cls(phi @ (vectors[:, kept] / np.sqrt(values[kept])), values[kept], residual, roots)

    def values(self, targets: np.ndarray, *, corrected: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """CKCE and lambda for targets of shape (B, n, ...), each of shape (B,)."""
        residual: FeatureResidual = self.residual
        r = residual.batch(targets)
        chosen = self.candidates[np.argmin(self.losses(r), axis=0)]
        squares = ((self.vectors.T @ r.reshape(self.n, -1)).reshape(-1, *r.shape[1:]) ** 2).sum(axis=2)
        s = self.spectrum[:, None]
        shares = s / (s + chosen * self.n) ** 2
        values = (squares * shares).sum(axis=0)
        if corrected:  # the pairs of a row with itself, sum_i M_ii |r_i|^2
            values -= np.einsum("nb,nbk,nbk->b", self.vectors**2 @ shares, r, r)
        return values, chosen

    def losses(self, r: np.ndarray) -> np.ndarray:
        """Leave-one-out losses of residuals of shape (n, B, r) at every candidate, shape (candidates, B)."""
        psi = r + self.mean[:, None, :]
        inside = self.vectors.T @ psi.reshape(self.n, -1)
        return np.stack([self._loss(psi, inside, c * self.n) for c in self.candidates])

    def _loss(self, psi: np.ndarray, inside: np.ndarray, c: float) -> np.ndarray:
        shrunk = self.spectrum / (self.spectrum + c)
        fitted = (self.vectors @ (shrunk[:, None] * inside)).reshape(psi.shape)
        left_out = 1 - (self.vectors**2) @ shrunk
        return np.einsum("nbk,n->b", (psi - fitted) ** 2, left_out**-2.0)
