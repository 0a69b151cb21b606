"""Stein residuals: features of targets, from the score of the prediction alone, with mean zero under it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, like, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import Gaussian, Kernel
from kernelcal.kernels.embeddings.elementwise import operations
from kernelcal.kernels.embeddings.structure import merged
from kernelcal.predictions import RealPredictions
from kernelcal.predictions.score_checks import refuse_unusable_scores
from kernelcal.residuals.base import Inner, Residual, weighted_block, weighted_pairs
from kernelcal.residuals.radial import checked_radial, radial

__all__ = ["SteinInner", "SteinResidual"]


@dataclass(frozen=True, eq=False)
class SteinResidual(Residual):
    """Stein features ``s_i l(y_i, .) + grad_y l(y_i, .)`` with the scores ``s_i = grad_y log p_i(y_i)``.

    Their inner products are, with a matrix B on the coordinates of the targets (the identity unless given),
    ``l s_i'B s_j + tr(B d^2 l / dy dy') + s_i'B grad_y' l + s_j'B grad_y l``, all l at ``(y_i, y_j)``. For kernels of
    the distance these are closed forms, and all pairs are a few products of matrices with some 2 d columns.

    Attributes
    ----------
    predictions : RealPredictions
        Predictions with a score.
    kernel : Kernel
        Target kernel l, twice differentiable.
    root : numpy.ndarray of shape (d, d), or None
        L with ``B = L L'``; None is the identity.
    weights : numpy.ndarray of shape (n,), or None
        Case weights.

    Notes
    -----
    Cost of a set of targets: n scores, and 4 d + some multiplications and one exponential or power a pair. Squared
    distances are those of targets in units of the lengthscale, minus their medians: relative errors grow with
    ``(range / lengthscale)^2 1e-16``.

    References
    ----------
    Glaser, Widmann, Lindsten, Gretton (2023), eqs. 9, 10 and A.1.
    """

    predictions: RealPredictions
    kernel: Kernel
    root: np.ndarray | None = None
    weights: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        predictions: RealPredictions,
        kernel: Kernel,
        weights: np.ndarray | None = None,
        matrix: Any = None,
    ) -> SteinResidual:
        """Residual of predictions with a score, under a kernel with derivatives."""
        kernel = merged(kernel, len(predictions.event_shape))
        checked_radial(kernel)
        root = None if matrix is None else _root(matrix, predictions.dimension)
        return cls(predictions, kernel, root, weights)

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, index: Any) -> SteinResidual:
        weights = None if self.weights is None else self.weights[index]
        return replace(self, predictions=self.predictions[index], weights=weights)

    @property
    def dimension(self) -> int:
        """Numbers that are held a row: targets and scores, as factors of products."""
        return 4 * self.predictions.dimension + 6

    def bound(self) -> float:
        """Refuse: scores are not bounded."""
        raise InputError("Stein residuals have no bound, since scores have none: use null='wild' or null='exact'")

    def double(self) -> SteinResidual:
        """Return the same in NumPy and float64."""
        return replace(self, predictions=self.predictions.map_arrays(_double))

    def inner(self, targets: np.ndarray) -> SteinInner:
        """Inner products for one set of targets."""
        host = self.predictions.reference
        scores = self.predictions.score(like(targets, host))
        refuse_unusable_scores(scores, targets, type(self.predictions).__name__)
        centred = like(targets - np.median(targets, axis=0), host)  # distances do not change, cancellation does
        if not self.predictions.event_shape:
            centred, scores = centred[:, None], scores[:, None]
        return SteinInner(self, centred, scores)


class SteinInner(Inner):
    """Inner products for one set of targets.

    With ``z = L'y`` and ``t = L's`` they are ``f a + slope c + curvature q``, where ``a = t_i.t_j``,
    ``c = tr B + (t_i - t_j).(z_i - z_j)`` and ``q = |z_i - z_j|^2``: each a product of matrices. For a Gaussian the
    three are one product, since slope and curvature are multiples of f.
    """

    def __init__(self, residual: SteinResidual, y: Array, scores: Array) -> None:
        self.kernel, self.weights, self.y, self.z, self.t = residual.kernel, residual.weights, y, y, scores
        self.trace = float(y.shape[1])
        if residual.root is not None:
            root = like(residual.root, scores)
            self.z, self.t, self.trace = y @ root, scores @ root, float((residual.root**2).sum())
        self.distances = _squared_distances(y)
        if isinstance(self.kernel, Gaussian):
            square = self.kernel.scale**2
            self.combined = _combined(self.z, self.t, self.trace, 1 / square, -1 / square**2)
        else:
            self.scores, self.crossed = _Products([self.t], [self.t]), _crossed(self.z, self.t, self.trace)
            self.turned = None if residual.root is None else _squared_distances(self.z)

    def block(self, rows: Any, columns: Any, cross: Array | None = None) -> Array:
        """R_ij of some rows and columns."""
        u = _not_negative(self.distances.block(rows, columns))
        ops = operations(u)
        if isinstance(self.kernel, Gaussian):
            value = ops.exp(ops.scale(u, -0.5 / self.kernel.scale**2))
            return weighted_block(ops.multiply(value, self.combined.block(rows, columns)), self.weights, rows, columns)
        q = ops.copy(u) if self.turned is None else self.turned.block(rows, columns)
        f = radial(self.kernel, u)
        values = ops.multiply(self.scores.block(rows, columns), f.value)
        values = ops.add(values, ops.multiply(self.crossed.block(rows, columns), f.slope))
        return weighted_block(ops.add(values, ops.multiply(q, f.curvature)), self.weights, rows, columns)

    def aligned(self, rows: Any, columns: Any) -> Array:
        """R_ij pair by pair, from differences."""
        y, z, t = ((take_rows(x, rows), take_rows(x, columns)) for x in (self.y, self.z, self.t))
        difference = z[0] - z[1]
        a, c, q = _dot(*t), self.trace + _dot(t[0] - t[1], difference), _dot(difference, difference)
        f = radial(self.kernel, _dot(y[0] - y[1], y[0] - y[1]))
        return weighted_pairs(f.value * a + f.slope * c + f.curvature * q, self.weights, rows, columns)


class _Products:
    """A number of two rows that is an inner product, ``left_i . right_j``."""

    def __init__(self, left: list[Array], right: list[Array]) -> None:
        xp = namespace(left[0])
        self.left, self.right = xp.concat(left, axis=1), xp.concat(right, axis=1)

    def block(self, rows: Any, columns: Any) -> Array:
        return take_rows(self.left, rows) @ take_rows(self.right, columns).T


def _squared_distances(y: Array) -> _Products:
    """``|y_i|^2 + |y_j|^2 - 2 y_i.y_j``."""
    squares = _dot(y, y)[:, None]
    ones = namespace(y).ones_like(squares)
    return _Products([-2 * y, squares, ones], [y, ones, squares])


def _crossed(z: Array, t: Array, trace: float) -> _Products:
    """``trace + (t_i - t_j).(z_i - z_j)``."""
    own = _dot(z, t)[:, None]
    ones = namespace(z).ones_like(own)
    return _Products([t, z, own + trace, ones], [-z, -t, ones, own])


def _combined(z: Array, t: Array, trace: float, slope: float, curvature: float) -> _Products:
    """``t_i.t_j + slope [trace + (t_i - t_j).(z_i - z_j)] + curvature |z_i - z_j|^2``."""
    own = (slope * _dot(z, t) + curvature * _dot(z, z))[:, None]
    ones = namespace(z).ones_like(own)
    left = [t, z, own + slope * trace, ones]
    return _Products(left, [t - slope * z, -slope * t - 2 * curvature * z, ones, own])


def _dot(left: Array, right: Array) -> Array:
    if is_numpy(left):
        return np.einsum("ik,ik->i", left, right)
    return namespace(left).sum(left * right, axis=1)


def _not_negative(u: Array) -> Array:
    if is_numpy(u):
        return np.maximum(u, 0, out=u)
    xp = namespace(u)
    return xp.where(u > 0, u, xp.zeros_like(u))


def _root(matrix: Any, dimension: int) -> np.ndarray:
    """L with B = L L', for a positive semi-definite matrix B on the coordinates, or its diagonal."""
    b = np.asarray(matrix, dtype=np.float64)
    b = np.diag(b) if b.shape == (dimension,) else b
    if b.shape != (dimension, dimension) or not np.isfinite(b).all() or not np.allclose(b, b.T):
        raise InputError(
            f"matrix must be a symmetric matrix on the coordinates of the targets, shape ({dimension}, {dimension}), "
            f"or its diagonal, shape ({dimension},), got shape {np.shape(matrix)}"
        )
    values, vectors = np.linalg.eigh(b)
    if values[0] < -1e-10 * max(abs(values[-1]), 1e-300) or not b.any():
        raise InputError(
            "matrix must be positive semi-definite and not zero, so that the operator-valued kernel is a kernel; its "
            f"least eigenvalue is {values[0]:.3g}"
        )
    return vectors * np.sqrt(np.maximum(values, 0))


def _double(x: Array) -> np.ndarray:
    return to_numpy(x).astype(np.float64, copy=False)
