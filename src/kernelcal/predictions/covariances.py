"""Covariance matrices: accepted, or refused with the row and the likely cause; and their triangular factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, concrete, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.numbers import numbers

__all__ = ["checked_covariances", "solve_lower", "solve_upper"]

_ASYMMETRY = 1e-5  # of the largest entry: the product of two float32 matrices is off by less
_CAUSES = (
    "if these are Cholesky factors L, pass cov = L @ L.T of every row (L @ np.swapaxes(L, -1, -2)); if they are "
    "standard deviations, use MultivariateNormal.diagonal(mean, std)"
)


def checked_covariances(cov: Any, shape: tuple[int, ...]) -> Array:
    """Covariances of shape (n, d, d), or (d, d) for all rows, as they are, for means of shape (n, d)."""
    n, d = shape
    ndim = 2 if np.shape(cov) == (d, d) else 3
    if np.shape(cov) not in ((d, d), (n, d, d)):
        raise InputError(
            f"cov must have shape {(n, d, d)}, or {(d, d)} for all rows, got {np.shape(cov)}: standard deviations of "
            f"shape {(n, d)} go to MultivariateNormal.diagonal(mean, std), of shape {(n,)} to "
            "MultivariateNormal.isotropic(mean, std)"
        )
    array = numbers(cov, "the covariance", ndim=ndim)
    values = concrete(array)
    if values is not None:
        _refuse_no_covariance(values[None] if ndim == 2 else values)
    return array


def _refuse_no_covariance(values: np.ndarray) -> None:
    _refuse_asymmetric(values)
    try:
        np.linalg.cholesky(values)
    except np.linalg.LinAlgError:
        least = np.linalg.eigvalsh(values)[:, 0]
        row = int(least.argmin())
        raise InputError(
            f"the covariance of row {row} is not positive definite, its least eigenvalue is {least[row]:.3g}: a "
            f"direction without variance makes the density infinite; {_CAUSES}"
        ) from None


def _refuse_asymmetric(values: np.ndarray) -> None:
    difference = np.abs(values - np.swapaxes(values, 1, 2))
    wrong = difference > _ASYMMETRY * np.abs(values).max(axis=(1, 2), keepdims=True)
    if not wrong.any():
        return
    row, i, j = (int(k) for k in np.argwhere(wrong)[0])
    raise InputError(
        f"the covariance of row {row} is not symmetric: entry ({i}, {j}) is {values[row, i, j]:g} and ({j}, {i}) is "
        f"{values[row, j, i]:g}; {_CAUSES}"
    )


def solve_lower(factor: Array, x: Array) -> Array:
    """Solve ``L z = x`` by forward substitution: L of shape (..., d, d), x of shape (..., d).

    A loop over d in operations of the array library: leading axes broadcast, and gradients flow.
    """
    xp = namespace(factor)
    solved: list[Array] = []
    for k in range(factor.shape[-1]):
        rest = x[..., k]
        for j, z in enumerate(solved):
            rest = rest - factor[..., k, j] * z
        solved.append(rest / factor[..., k, k])
    return xp.stack(solved, axis=-1)


def solve_upper(factor: Array, x: Array) -> Array:
    """Solve ``L' z = x`` by back substitution: L of shape (..., d, d), lower triangular, x of shape (..., d)."""
    xp = namespace(factor)
    last = factor.shape[-1] - 1
    solved: list[Array] = []  # components d - 1, d - 2, ...
    for k in range(last, -1, -1):
        rest = x[..., k]
        for j, z in enumerate(solved):
            rest = rest - factor[..., last - j, k] * z
        solved.append(rest / factor[..., k, k])
    return xp.stack(solved[::-1], axis=-1)
