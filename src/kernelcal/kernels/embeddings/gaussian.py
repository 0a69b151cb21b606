"""Gaussian kernel under normal distributions: products over components, determinants for any covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, row_slices
from kernelcal.kernels.embeddings.base import add, all_pairs, filled, operations
from kernelcal.kernels.embeddings.closed_forms import cross_of, mean_of
from kernelcal.kernels.profiles import Gaussian
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, MultivariateNormal, Normal

_NUMBERS = 2**19  # matrix entries held at once: 4 MiB

Independent = DiagonalNormal | IsotropicNormal


@mean_of(Gaussian, Normal)
def _mean(kernel: Gaussian, p: Normal, y: Array) -> Array:
    difference, spread = p.mean - y, _spread(kernel, p.std)
    ops = operations(difference)
    squares = ops.multiply(ops.multiply(difference, difference), (-0.5 / kernel.scale**2) / spread)
    return ops.multiply(ops.exp(squares), 1 / namespace(spread).sqrt(spread))


@cross_of(Gaussian, Normal, Normal)
def _cross(kernel: Gaussian, p: Normal, q: Normal) -> Array:
    return _products(kernel, *(x[..., None] for x in (p.mean, p.std, q.mean, q.std)))


@mean_of(Gaussian, DiagonalNormal)
@mean_of(Gaussian, IsotropicNormal)
def _mean_of_vectors(kernel: Gaussian, p: Independent, y: Array) -> Array:
    spread = _spread(kernel, p.std)
    xp = namespace(spread)
    distance = _weighted_distance((-0.5 / kernel.scale**2) / spread, p.mean, y)
    ops = operations(distance)
    return ops.multiply(ops.exp(distance), xp.prod(1 / xp.sqrt(spread), axis=-1))


@cross_of(Gaussian, DiagonalNormal, DiagonalNormal)
@cross_of(Gaussian, DiagonalNormal, IsotropicNormal)
@cross_of(Gaussian, IsotropicNormal, IsotropicNormal)
def _cross_of_vectors(kernel: Gaussian, p: Independent, q: Independent) -> Array:
    return _products(kernel, p.mean, p.std, q.mean, q.std)


def _spread(kernel: Gaussian, std: Array) -> Array:
    """Variance of the kernel plus that of the prediction, in units of the former: it starts from 1."""
    return 1 + (std / kernel.scale) ** 2


def _products(kernel: Gaussian, m: Array, s: Array, n: Array, r: Array) -> Array:
    """prod_k t_k^(-1/2) exp(-d_k^2 / (2 l^2 t_k)) with t_k = 1 + (s_k^2 + r_k^2) / l^2: 2021, App. D.1."""
    left, right = _spread(kernel, s), (r / kernel.scale) ** 2
    factor = -0.5 / kernel.scale**2
    if all(is_numpy(x) for x in (m, n, left, right)):
        return filled(lambda values, *columns: _fill_products(values, factor, *columns), m, n, left, right)
    xp, distance, logarithm = namespace(m, n), 0.0, 0.0
    for k in range(m.shape[-1]):
        total = left[..., k] + right[..., k]
        distance = distance + (m[..., k] - n[..., k]) ** 2 / total
        logarithm = logarithm + xp.log(total)
    return xp.exp(factor * distance - 0.5 * logarithm)


def _fill_products(values: np.ndarray, factor: float, m: Any, n: Any, left: Any, right: Any) -> None:
    """The same without a logarithm, in place, two components at a time: a / t + b / u = (a u + b t) / (t u).

    A division costs as much as four products, and t u is needed for the volume anyway.
    """
    values[...] = 0
    volume, t, u, a, b = (np.ones_like(values) for _ in range(5))
    with np.errstate(over="ignore"):  # an infinite volume gives 0 in place of a number below 1e-154
        for k in range(0, len(m), 2):
            _squared_difference(m, n, left, right, k, a, t)
            if k + 1 < len(m):
                _squared_difference(m, n, left, right, k + 1, b, u)
                np.add(np.multiply(a, u, out=a), np.multiply(b, t, out=b), out=a)
                np.multiply(t, u, out=t)
            np.add(values, np.divide(a, t, out=a), out=values)
            np.multiply(volume, t, out=volume)
    np.exp(np.multiply(values, factor, out=values), out=values)
    np.divide(values, np.sqrt(volume, out=volume), out=values)


def _squared_difference(m: Any, n: Any, left: Any, right: Any, k: int, square: np.ndarray, total: np.ndarray) -> None:
    """Squared difference of means and total variance of one component, into arrays that are there."""
    np.add(left[k], right[k], out=total)
    np.subtract(m[k], n[k], out=square)
    np.multiply(square, square, out=square)


def _weighted_distance(weights: Array, m: Array, y: Array) -> Array:
    """sum_k a_k (m_k - y_k)^2 with weights that belong to m."""
    found = None
    if is_numpy(m) and is_numpy(y):
        if all_pairs(m, y):
            found = _expanded(weights[:, 0], m[:, 0], y[0])
        elif all_pairs(y, m):
            found = _expanded(weights[0], m[0], y[:, 0], transposed=True)
    if found is not None:
        return found
    for k in range(m.shape[-1]):
        difference = m[..., k] - y[..., k]
        ops = operations(difference)
        found = add(found, ops.multiply(ops.multiply(difference, difference), weights[..., k]))
    return found


def _expanded(weights: np.ndarray, m: np.ndarray, y: np.ndarray, *, transposed: bool = False) -> np.ndarray | None:
    """The same as ``a m^2 - 2 a m y + a y^2`` by one matrix product, or None where that would cost digits."""
    centre = y.mean(axis=0)
    m, y = m - centre, y - centre
    squares, constant = y * y, (weights * m * m).sum(axis=1)
    largest = np.abs(constant).max() + (squares @ np.abs(weights).max(axis=0)).max()
    if not largest < np.finfo(y.dtype).eps ** -0.25:
        return None
    left, right = np.hstack([weights, -2 * weights * m]), np.hstack([squares, y])
    values = right @ left.T if transposed else left @ right.T
    return np.add(values, constant if transposed else constant[:, None], out=values)


@mean_of(Gaussian, MultivariateNormal)
def _mean_of_any(kernel: Gaussian, p: MultivariateNormal, y: Array) -> Array:
    return _density(kernel.scale, p.mean, y, p.cov, None)


@cross_of(Gaussian, MultivariateNormal, MultivariateNormal)
@cross_of(Gaussian, MultivariateNormal, DiagonalNormal)
@cross_of(Gaussian, MultivariateNormal, IsotropicNormal)
def _cross_of_any(kernel: Gaussian, p: MultivariateNormal, q: Any) -> Array:
    return _density(kernel.scale, p.mean, q.mean, p.cov, _covariance(q))


def _covariance(q: Any) -> Array:
    if isinstance(q, MultivariateNormal):
        return q.cov
    xp = namespace(q.mean)
    return (q.std * q.std)[..., None] * xp.eye(q.mean.shape[-1], dtype=q.mean.dtype)


def _density(lengthscale: float, mean: Array, other: Array, left: Array, right: Array | None) -> Array:
    """|C|^(-1/2) exp(-d' C^-1 d / (2 l^2)) with C = I + (covariances) / l^2: 2021, App. D.1."""
    parts = [x for x in (mean, other, left, right) if x is not None]
    if all(is_numpy(x) for x in parts):
        return _by_parts(lengthscale, mean, other, [c for c in (left, right) if c is not None])
    xp = namespace(*parts)
    covariance = left if right is None else left + right
    matrix = xp.eye(mean.shape[-1], dtype=mean.dtype) + covariance / lengthscale**2
    factor = xp.linalg.cholesky(matrix)
    difference = mean - other
    shape = (*difference.shape[:-1], *matrix.shape[-2:])
    z = xp.linalg.solve(xp.broadcast_to(factor, shape), difference[..., None])[..., 0]
    logarithm = xp.sum(xp.log(xp.linalg.diagonal(factor)), axis=-1)
    return xp.exp(-0.5 * xp.sum(z * z, axis=-1) / lengthscale**2 - logarithm)


def _by_parts(lengthscale: float, mean: Any, other: Any, covariances: list[Any]) -> np.ndarray:
    """NumPy: elimination for many pairs at once, a component at a time, in bounded memory."""
    ndim, dimension = max(mean.ndim, other.ndim), mean.shape[-1]
    ends = [_components_first(x, 1, ndim - 1) for x in (mean, other)]
    covariances = [_components_first(c / lengthscale**2, 2, ndim - 1) for c in covariances]
    values = np.empty(np.broadcast_shapes(ends[0].shape, ends[1].shape)[1:], np.result_type(*ends, *covariances))
    matrix_entries = dimension**2 if len(covariances) == 2 else 0
    step = _NUMBERS * len(values) // (values.size * (matrix_entries + dimension))
    for part in row_slices(len(values), step):
        m, n = (_rows(x, part, 1) for x in ends)
        matrix = sum(_rows(c, part, 2) for c in covariances) + _identity(dimension, ndim - 1)
        values[part] = _eliminated(matrix, m - n, lengthscale)
    return values


def _eliminated(matrix: np.ndarray, difference: np.ndarray, lengthscale: float) -> np.ndarray:
    """Both arrays have the components first and are overwritten; no pivoting: every pivot is at least 1."""
    distance, volume = 0.0, 1.0
    with np.errstate(over="ignore"):  # an infinite volume gives 0, as a number below 1e-154 should
        for k in range(len(matrix)):
            pivot, below = matrix[k, k], slice(k + 1, None)
            distance = distance + difference[k] ** 2 / pivot
            volume = volume * pivot
            factor = matrix[below, k] / pivot
            difference[below] -= factor * difference[k]
            for j in range(k + 1, len(matrix)):
                matrix[j:, j] -= factor[j - k - 1 :] * matrix[j, k]
        return np.exp(distance * (-0.5 / lengthscale**2)) / np.sqrt(volume)


def _components_first(x: np.ndarray, count: int, ndim: int) -> np.ndarray:
    """Move the last axes to the front, and give the others a common number."""
    leading = x.shape[: x.ndim - count]
    x = x.reshape(*(1,) * (ndim - len(leading)), *x.shape)
    return np.ascontiguousarray(np.moveaxis(x, range(ndim, ndim + count), range(count)))


def _rows(x: np.ndarray, part: slice, axis: int) -> np.ndarray:
    """Part of the first axis of the pairs, which may be one for all."""
    return x if x.shape[axis] == 1 else x[(slice(None),) * axis + (part,)]


def _identity(dimension: int, ndim: int) -> np.ndarray:
    return np.eye(dimension).reshape(dimension, dimension, *(1,) * ndim)
