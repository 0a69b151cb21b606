"""Gaussian kernel under normal vectors with independent components: products over the components."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, row_slices
from kernelcal.kernels.embeddings.elementwise import add, all_pairs, operations
from kernelcal.kernels.embeddings.rules import cross_of, mean_of
from kernelcal.kernels.profiles import Gaussian
from kernelcal.predictions import DiagonalNormal, IsotropicNormal

__all__: list[str] = []

Independent = DiagonalNormal | IsotropicNormal
_PAIRS = 2**14  # at once: four arrays of them, 512 KiB, stay in the cache
_MATRIX_PRODUCT_FROM = 3  # components


@mean_of(Gaussian, DiagonalNormal)
@mean_of(Gaussian, IsotropicNormal)
def _mean(kernel: Gaussian, p: Independent, y: Array) -> Array:
    spread = p.std * p.std + kernel.scale**2
    height = namespace(spread).prod(kernel.scale / namespace(spread).sqrt(spread), axis=-1)
    distance = _distance(1 / spread, p.mean, y)
    ops = operations(distance)
    return ops.multiply(ops.exp(ops.scale(distance, -0.5)), height)


@cross_of(Gaussian, DiagonalNormal, DiagonalNormal)
@cross_of(Gaussian, DiagonalNormal, IsotropicNormal)
def _cross(kernel: Gaussian, p: Independent, q: Independent) -> Array:
    # variances in units of the kernel's, so that their product starts from 1
    spreads = 1 + (p.std / kernel.scale) ** 2, (q.std / kernel.scale) ** 2
    ends = p.mean, q.mean
    if all(is_numpy(x) for x in (*spreads, *ends)) and p.mean.ndim == q.mean.ndim:
        return _products_in_place(kernel.scale, ends, spreads)
    return _products(kernel.scale, ends, spreads)


def _products(lengthscale: float, ends: tuple[Array, Array], spreads: tuple[Array, Array]) -> Array:
    """prod_k t_k^(-1/2) exp(-d_k^2 / (2 l^2 t_k)) with t_k the sum of the spreads: 2021, App. D.1."""
    (m, n), (s, r), distance, logarithm = ends, spreads, 0.0, 0.0
    xp = namespace(m, n)
    for k in range(m.shape[-1]):
        total = s[..., k] + r[..., k]
        distance = distance + (m[..., k] - n[..., k]) ** 2 / total
        logarithm = logarithm + xp.log(total)
    return xp.exp(-0.5 * (distance / lengthscale**2 + logarithm))


def _products_in_place(lengthscale: float, ends: tuple[Any, Any], spreads: tuple[Any, Any]) -> np.ndarray:
    """The same by parts of the pairs, without a logarithm of every number."""
    values = np.empty(np.broadcast_shapes(ends[0].shape, ends[1].shape)[:-1], np.result_type(*ends, *spreads))
    columns = [np.ascontiguousarray(np.moveaxis(x, -1, 0)) for x in (*ends, *spreads)]
    for part in row_slices(len(values), _PAIRS * len(values) // values.size):
        _fill(values[part], lengthscale, *(x[:, part] if x.shape[1] > 1 else x for x in columns))
    return values


def _fill(values: np.ndarray, lengthscale: float, m: Any, n: Any, s: Any, r: Any) -> None:
    """Six passes a component over arrays that stay in the cache."""
    values[...] = 0
    volume, total, square = (np.ones_like(values) for _ in range(3))
    with np.errstate(over="ignore"):  # an infinite volume gives 0, as a number below 1e-154 should
        for k in range(len(m)):
            np.add(s[k], r[k], out=total)
            np.subtract(m[k], n[k], out=square)
            np.multiply(square, square, out=square)
            np.divide(square, total, out=square)
            np.add(values, square, out=values)
            np.multiply(volume, total, out=volume)
    np.exp(np.multiply(values, -0.5 / lengthscale**2, out=values), out=values)
    np.divide(values, np.sqrt(volume, out=volume), out=values)


def _distance(weights: Array, m: Array, y: Array) -> Array:
    """sum_k a_k (m_k - y_k)^2, weights belonging to m."""
    if is_numpy(m) and is_numpy(y) and m.shape[-1] >= _MATRIX_PRODUCT_FROM:
        if all_pairs(m, y):
            found = _expanded(weights[:, 0], m[:, 0], y[0], transposed=False)
        elif all_pairs(y, m):
            found = _expanded(weights[0], m[0], y[:, 0], transposed=True)
        else:
            found = None
        if found is not None:
            return found
    return _summed(weights, m, y)


def _summed(weights: Array, m: Array, y: Array) -> Array:
    total = None
    for k in range(y.shape[-1]):
        difference = m[..., k] - y[..., k]
        ops = operations(difference)
        total = add(total, ops.multiply(ops.multiply(difference, difference), weights[..., k]))
    return total


def _expanded(weights: np.ndarray, m: np.ndarray, y: np.ndarray, *, transposed: bool) -> np.ndarray | None:
    """The same as ``a m^2 - 2 a m y + a y^2`` by one matrix product, or None where that would cost digits."""
    centre = y.mean(axis=0)
    m, y = m - centre, y - centre
    squares, constant = y * y, (weights * m * m).sum(axis=1)
    largest = constant.max() + (squares @ weights.max(axis=0)).max()
    if not largest < np.finfo(y.dtype).eps ** -0.25:
        return None
    left, right = np.hstack([weights, -2 * weights * m]), np.hstack([squares, y])
    if transposed:
        return np.add(values := right @ left.T, constant, out=values)
    return np.add(values := left @ right.T, constant[:, None], out=values)
