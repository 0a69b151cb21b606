"""Gaussian kernel under normal vectors with any covariance: determinants and distances by elimination."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, row_slices
from kernelcal.kernels.embeddings.rules import cross_of, mean_of
from kernelcal.kernels.profiles import Gaussian
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, MultivariateNormal

__all__: list[str] = []

_NUMBERS = 2**19  # matrix entries held at once: 4 MiB


@mean_of(Gaussian, MultivariateNormal)
def _mean(kernel: Gaussian, p: MultivariateNormal, y: Array) -> Array:
    return _density(kernel.scale, p.mean, y, p.cov, None)


@cross_of(Gaussian, MultivariateNormal, MultivariateNormal)
@cross_of(Gaussian, MultivariateNormal, DiagonalNormal)
@cross_of(Gaussian, MultivariateNormal, IsotropicNormal)
def _cross(kernel: Gaussian, p: MultivariateNormal, q: Any) -> Array:
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
