"""Normal distributions of vectors with any covariance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, like, namespace, take_rows, to_numpy
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.covariances import checked_covariances, solve_lower, solve_upper
from kernelcal.predictions.diagonal_normal import DiagonalNormal
from kernelcal.predictions.isotropic_normal import IsotropicNormal
from kernelcal.predictions.parameters import BOTH, SCIPY, Reading
from kernelcal.predictions.vector_normal import VectorNormal, vector_means

__all__ = ["MultivariateNormal"]


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
