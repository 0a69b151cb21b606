"""Stein residuals: features of targets, from the score of the prediction alone, with mean zero under it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from kernelcal.arrays import Array, is_numpy, like, namespace, numbers, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels import (
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Matern52,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    leaves,
)
from kernelcal.kernels.embeddings import merged, operations, refuse_metric
from kernelcal.predictions import RealPredictions
from kernelcal.predictions.densities import refuse_unusable_scores
from kernelcal.residuals.base import Inner, PairResidual, weighted_block, weighted_pairs

__all__ = ["Radial", "SteinInner", "SteinResidual", "radial"]


class Radial(NamedTuple):
    """A kernel ``l(y, y') = f(u)`` of the squared distance ``u = |y - y'|^2``, with what derivatives need.

    Attributes
    ----------
    value : array
        ``f``.
    slope : array
        ``-2 f'``: the gradient by y is ``-slope (y - y')``.
    curvature : array
        ``-4 f''``: mixed second derivatives are ``slope I + curvature (y - y')(y - y')'``.
    """

    value: Array
    slope: Array
    curvature: Array


@singledispatch
def radial(kernel: Any, u: Array) -> Radial:
    """Kernel values and derivatives at squared distances, an array that may be overwritten. A kernel registers here."""
    raise InputError(
        f"Stein residuals need a target kernel that is twice differentiable and depends on the distance, got {kernel}: "
        "use Gaussian, InverseMultiquadric, RationalQuadratic or Matern52, or sums, products and multiples of them"
    )


def _checked_radial(kernel: Kernel) -> None:
    """Refuse a kernel without derivatives, before anything is computed."""
    for leaf in leaves(kernel):
        if type(leaf) not in radial.registry:
            radial(leaf, None)
        refuse_metric(leaf.metric)  # type: ignore[attr-defined]
        leaf.scale  # type: ignore[attr-defined]  # noqa: B018  raises for a lengthscale that is not resolved


@radial.register
def _gaussian(kernel: Gaussian, u: Array) -> Radial:
    ops, square = operations(u), kernel.scale**2
    value = ops.exp(ops.scale(u, -0.5 / square))
    return Radial(value, ops.scale(ops.copy(value), 1 / square), ops.scale(ops.copy(value), -1 / square**2))


@radial.register
def _multiquadric(kernel: InverseMultiquadric, u: Array) -> Radial:
    return _power(u, kernel.scale**2, kernel.offset**2, kernel.beta)


@radial.register
def _rational(kernel: RationalQuadratic, u: Array) -> Radial:
    return _power(u, 2 * kernel.alpha * kernel.scale**2, 1.0, -kernel.alpha)


def _power(u: Array, square: float, offset: float, exponent: float) -> Radial:
    """``f = b^e`` with ``b = offset + u / square``: ``f' = e f / (square b)``, ``f'' = (e - 1) f' / (square b)``."""
    ops = operations(u)
    b = ops.shift(ops.scale(u, 1 / square), offset)
    value = ops.power(ops.copy(b), exponent)
    inverse = ops.power(b, -1.0)
    slope = ops.scale(ops.multiply(ops.copy(inverse), value), -2 * exponent / square)
    curvature = ops.scale(ops.multiply(inverse, slope), 2 * (exponent - 1) / square)
    return Radial(value, slope, curvature)


@radial.register
def _matern(kernel: Matern52, u: Array) -> Radial:
    """``f = (1 + t + t^2/3) e^-t``, ``f' = -5/6 (1 + t) e^-t / l^2``, ``f'' = 25/12 e^-t / l^4``, t = sqrt(5 u) / l."""
    ops, square = operations(u), kernel.scale**2
    t = ops.scale(ops.power(u, 0.5), math.sqrt(5 / square))
    decay = ops.exp(ops.scale(ops.copy(t), -1.0))
    linear = ops.multiply(ops.shift(ops.copy(t), 1.0), decay)
    value = ops.add(ops.scale(ops.multiply(ops.multiply(ops.copy(t), t), decay), 1 / 3), linear)
    return Radial(value, ops.scale(linear, 5 / (3 * square)), ops.scale(decay, -25 / (3 * square**2)))


@radial.register
def _scaled(kernel: Scaled, u: Array) -> Radial:
    ops, inside = operations(u), radial(kernel.kernel, u)
    return Radial(*(ops.scale(part, kernel.factor) for part in inside))


@radial.register
def _sum(kernel: Sum, u: Array) -> Radial:
    ops = operations(u)
    parts = zip(radial(kernel.left, ops.copy(u)), radial(kernel.right, u), strict=True)
    return Radial(*(ops.add(left, right) for left, right in parts))


@radial.register
def _product(kernel: Product, u: Array) -> Radial:
    """Product rule: ``(f g)'' = f'' g + 2 f' g' + f g''``."""
    f, g = radial(kernel.left, operations(u).copy(u)), radial(kernel.right, u)
    slope = f.slope * g.value + f.value * g.slope
    curvature = f.curvature * g.value - 2 * f.slope * g.slope + f.value * g.curvature
    return Radial(f.value * g.value, slope, curvature)


@dataclass(frozen=True, eq=False)
class SteinResidual(PairResidual):
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
        _checked_radial(kernel)
        root = None if matrix is None else _root(matrix, predictions.dimension)
        return cls(predictions, kernel, root, weights)

    @property
    def dimension(self) -> int:
        """Numbers that are held a row: targets and scores, as factors of products."""
        return 4 * self.predictions.dimension + 6

    def bound(self) -> float:
        """Refuse: scores are not bounded."""
        raise InputError("Stein residuals have no bound, since scores have none: use null='wild' or null='exact'")

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
    b = numbers(matrix)
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
