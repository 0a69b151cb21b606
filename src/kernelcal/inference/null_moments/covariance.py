"""The known covariance of the residuals, V_i = L' (diag(p_i) - p_i p_i') L, and what is computed with it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.residuals import ClassResidual

__all__ = ["Covariance"]


class Covariance:
    """Covariance of the residuals of every row, given the predictions, through a factor ``V_i = F_i F_i'``.

    With ``s_i = sqrt(p_i)`` the factor is ``F_i = L' (diag(s_i) - p_i s_i')``, since ``s_i's_i = 1``; it is applied and
    never stored. For one probability it is a number. Case weights multiply it.

    Attributes
    ----------
    columns : int
        Columns q of the factor.
    """

    def __init__(self, predictions: ClassPredictions, residual: ClassResidual) -> None:
        self.weights = np.ones(len(predictions)) if residual.weights is None else residual.weights
        self.binary = isinstance(predictions, Bernoulli)
        self.features = residual.class_features
        p = to_numpy(predictions.probabilities).astype(np.float64)
        self.p = p / p.sum(axis=1, keepdims=True)  # the law of the labels, see ClassPredictions.draw
        self.root = np.sqrt(self.p)
        self.columns = 1 if self.binary else self.p.shape[1]

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

    def block_matrix(self, kernel: np.ndarray) -> np.ndarray:
        """Matrix of the blocks ``K_ij F_i' F_j``, shape (n q, n q)."""
        f = self.factors()
        n, r, q = f.shape
        flat = f.transpose(0, 2, 1).reshape(n * q, r)
        matrix = flat @ flat.T
        matrix.reshape(n, q, n, q)[...] *= kernel[:, None, :, None]
        return matrix

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

    def pair_moments(self, kernel: np.ndarray) -> tuple[float, float]:
        """``sum_{i != j} K_ij^s E <r_i, r_j>^s`` for s = 3 and 4, over all labels of both rows; K has a zero diagonal.

        The first is the sum of ``K_ij^3 <kappa_i, kappa_j>`` with the third cumulants of the residuals. For few rows
        only: a matrix over pairs (row, label).
        """
        features = np.eye(self.p.shape[1]) if self.features is None else self.features
        mean = self.p @ features
        r = ((features - mean[:, None, :]) * self.weights[:, None, None]).reshape(self.p.size, -1)
        h = r @ r.T
        h.reshape(*self.p.shape, *self.p.shape)[...] *= kernel[:, None, :, None]
        p = self.p.ravel()
        cubes = h * h * h
        return float(p @ (cubes @ p)), float(p @ ((cubes * h) @ p))
