"""Normal distributions of vectors with any covariance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, concrete, like, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.border import finite_numbers
from kernelcal.predictions.continuous.independent_normal import (
    DiagonalNormal,
    IsotropicNormal,
    VectorNormal,
    vector_means,
)
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading

__all__ = ["MultivariateNormal", "checked_covariances", "solve_lower", "solve_upper"]


_ASYMMETRY = 1e-5  # of the largest entry: the product of two float32 matrices is off by less

_CAUSES = (
    "if these are Cholesky factors L, pass cov = L @ L.T of every row (L @ np.swapaxes(L, -1, -2)); if they are "
    "standard deviations, use MultivariateNormal.diagonal(mean, std)"
)


@dataclass(frozen=True, eq=False)
class MultivariateNormal(VectorNormal):
    """Normal predictions of vectors of d numbers.

    Parameters
    ----------
    mean : array of shape (n, d)
        Means.
    cov : array of shape (n, d, d), or (d, d)
        Covariances (no Cholesky factors, no standard deviations), symmetric and positive definite. One matrix serves
        all rows.

    Attributes
    ----------
    factor : array of shape (n, d, d)
        Lower Cholesky factors L with ``L L' = cov``.

    Raises
    ------
    InputError
        If a value is missing or a matrix is no covariance, with the row and the likely cause.

    Notes
    -----
    The Cholesky factors cost n d^3 once (d^3 where one matrix serves all rows) and are kept. A set of targets costs
    n d^2. Where covariances are diagonal, `MultivariateNormal.diagonal` and `MultivariateNormal.isotropic` need n d.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.MultivariateNormal([[0.0, 0.0]], [[2.0, 1.0], [1.0, 2.0]])
    >>> predictions.log_prob([[1.0, 1.0]]).round(4)
    array([-2.7205])
    """

    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("multivariate_normal",), ("mean", "cov"), axes=(1, 2)),
        Reading(BOTH, ("MultivariateNormal",), ("loc", "covariance_matrix"), axes=(1, 2)),
    )

    mean: Array
    cov: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    factor: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mean = vector_means(self.mean)
        cov = checked_covariances(self.cov, tuple(mean.shape))
        factor, xp = namespace(cov).linalg.cholesky(cov), namespace(cov)
        shape = (*mean.shape, mean.shape[1])
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "cov", xp.broadcast_to(cov, shape))
        object.__setattr__(self, "factor", xp.broadcast_to(factor, shape))

    @classmethod
    def diagonal(cls, mean: Array, std: Array) -> DiagonalNormal:
        """Predictions with independent components: means and standard deviations of shape (n, d)."""
        return DiagonalNormal(mean, std)

    @classmethod
    def isotropic(cls, mean: Array, std: Array) -> IsotropicNormal:
        """Predictions with one standard deviation for all components of a row, shape (n,)."""
        return IsotropicNormal(mean, std)

    def __getitem__(self, index: Any) -> Self:
        index = checked_index(index)
        return self._with(lambda x: take_rows(x, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to means, covariances and Cholesky factors."""
        return self._with(function)

    def _with(self, function: Callable[[Array], Array]) -> Self:
        return trusted(self, mean=function(self.mean), cov=function(self.cov), factor=function(self.factor))

    @property
    def std(self) -> Array:
        """Standard deviations of the components, shape (n, d)."""
        xp = namespace(self.cov)
        return xp.sqrt(xp.linalg.diagonal(self.cov))

    def spread(self, z: Array) -> Array:
        """Multiply with the Cholesky factors."""
        return namespace(z).matmul(self.factor, z[..., None])[..., 0]

    def whiten(self, x: Array) -> Array:
        """Forward substitution with the Cholesky factors."""
        return solve_lower(self.factor, x)

    def whiten_transposed(self, x: Array) -> Array:
        """Back substitution with the transposed Cholesky factors."""
        return solve_upper(self.factor, x)

    def log_determinant(self) -> Array:
        """Sum of the logarithms of the diagonal of the Cholesky factor, shape (n,)."""
        xp = namespace(self.factor)
        return xp.sum(xp.log(xp.linalg.diagonal(self.factor)), axis=-1)

    def variance_along(self, directions: np.ndarray) -> np.ndarray:
        """``|L' w|^2``, shape (n, D)."""
        return ((directions @ to_numpy(self.factor)) ** 2).sum(axis=-1)

    def tempered(self, temperature: float) -> Self:
        """Covariances times T."""
        return trusted(self, cov=self.cov * temperature, factor=self.factor * math.sqrt(temperature))

    def affine_score(self, seen: Any) -> Array:
        """Precision times root and times centre minus mean, by one solve a row."""
        xp, away = namespace(self.mean), like(seen.centre, self.mean) - self.mean
        columns = xp.concat([xp.broadcast_to(like(seen.root, self.mean), self.cov.shape), away[..., None]], axis=-1)
        return xp.reshape(xp.linalg.solve(self.cov, columns), (len(self), -1))


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
    array = finite_numbers(cov, "the covariance", ndim=ndim)
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
