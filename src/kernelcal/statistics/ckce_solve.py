"""The operator of CKCE for fixed predictions, ``M = W K W`` with ``W = (K + c I)^-1``: by Cholesky or features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.errors import InputError
from kernelcal.residuals import FeatureResidual, Residual
from kernelcal.statistics.ckce_features import Features

__all__ = ["ByCholesky", "ByFeatures", "Operator", "cholesky"]

_KEEP_BYTES = 2**29  # features below this size are kept, above they are made anew in every pass
_CHUNK_BYTES = 2**26
_STRIP = 2**20


class Operator(ABC):
    """``sum_ij M_ij <r_i, r_j>`` for many sets of targets; c = lambda n is fixed."""

    n: int

    def values(self, residual: Residual, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B,)."""
        if isinstance(residual, FeatureResidual):
            return self.of_features(residual, targets)
        return self._of_inner_products(residual, targets)

    @abstractmethod
    def of_features(self, residual: FeatureResidual, targets: np.ndarray) -> np.ndarray:
        """Values for residuals with features."""

    @abstractmethod
    def rows(self, rows: slice) -> np.ndarray:
        """Rows of M, shape (rows, n)."""

    @abstractmethod
    def bytes_per_draw(self, dimension: int) -> int:
        """Working memory of one more set of targets whose residuals have so many features."""

    def _of_inner_products(self, residual: Residual, targets: np.ndarray) -> np.ndarray:
        """Residuals without features: R a strip of rows at a time, so that it is never stored."""
        inners, everything = [residual.inner(row) for row in targets], slice(None)
        totals = np.zeros(len(inners))
        for rows in row_slices(self.n, _STRIP // self.n):
            m, cross = self.rows(rows), residual.cross(rows, everything)
            totals += [float((m * inner.block(rows, everything, cross)).sum()) for inner in inners]
        return totals


class ByCholesky(Operator):
    """K as a matrix, which is overwritten by the Cholesky factor of K + c I: n^3 / 3 multiplications, once."""

    def __init__(self, kernel: Any, matrix: np.ndarray, c: float) -> None:
        self.n, self.c = len(matrix), c
        matrix[np.diag_indices(self.n)] += c
        self.factor = cholesky(kernel, matrix)

    def of_features(self, residual: FeatureResidual, targets: np.ndarray) -> np.ndarray:
        """``S = W r``, then ``r' W K W r = S'(r - c S)``: 2 n^2 multiplications a feature."""
        from scipy.linalg import cho_solve

        r = residual.batch(targets)
        s = cho_solve((self.factor, True), r.reshape(self.n, -1), check_finite=False).reshape(r.shape)
        return np.einsum("nbk,nbk->b", s, r - self.c * s)

    def bytes_per_draw(self, dimension: int) -> int:
        """Residuals, solutions and their difference."""
        return 40 * self.n * dimension

    def rows(self, rows: slice) -> np.ndarray:
        """Rows of M, which is made once."""
        return self._m[rows]

    @cached_property
    def _m(self) -> np.ndarray:
        """``W K W = W - c W^2``."""
        from scipy.linalg import cho_solve

        w = cho_solve((self.factor, True), np.eye(self.n), overwrite_b=True, check_finite=False)
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
        self.factor = cholesky(kernel, products)

    def _parts(self, columns: int) -> list[slice]:
        return row_slices(self.n, _CHUNK_BYTES // (8 * (self.size + columns)))

    def of_features(self, residual: FeatureResidual, targets: np.ndarray) -> np.ndarray:
        """Sum of squares of the coefficients."""
        columns = len(targets) * residual.dimension
        total = np.zeros((self.size, columns))
        for rows in self._parts(columns):
            total += self._features(rows).T @ residual[rows].batch(targets[:, rows]).reshape(-1, columns)
        coefficients = self._solve(total).reshape(self.size, len(targets), -1)
        return np.einsum("dbk,dbk->b", coefficients, coefficients)

    def bytes_per_draw(self, dimension: int) -> int:
        """Sums over the rows and their solutions."""
        return 32 * self.size * dimension

    def rows(self, rows: slice) -> np.ndarray:
        """Rows of M = Q Q', Q = Phi (Phi'Phi + c I)^-1."""
        return np.asarray(self._q[rows] @ self._q.T)

    @cached_property
    def _q(self) -> np.ndarray:
        return np.concatenate([self._solve(self._features(rows).T).T for rows in self._parts(0)])

    def _solve(self, b: np.ndarray) -> np.ndarray:
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve((self.factor, True), b, check_finite=False))


def _kept(features: Features, n: int) -> Features:
    values = np.concatenate([features(rows) for rows in row_slices(n, 8192)])
    view: Callable[[slice], np.ndarray] = values.__getitem__
    return view


def cholesky(kernel: Any, matrix: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor in the place of a symmetric matrix."""
    from scipy.linalg import LinAlgError, cho_factor  # imported when needed: the import of kernelcal stays light

    try:
        return np.asarray(cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)[0])
    except LinAlgError:
        raise InputError(
            f"K + lambda n I has no Cholesky factor, since {kernel} is not positive definite over these predictions: "
            "choose another metric or profile, such as Gaussian(), or a larger regularization"
        ) from None
