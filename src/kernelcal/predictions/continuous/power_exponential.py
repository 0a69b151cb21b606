"""Multivariate power exponential distributions: normal ones with lighter or heavier tails."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.border import inside
from kernelcal.predictions.continuous.independent_normal import vector_means
from kernelcal.predictions.continuous.multivariate_normal import checked_covariances, solve_lower, solve_upper
from kernelcal.predictions.real import RealPredictions

__all__ = ["MultivariatePowerExponential"]


_NODES = 256  # of the rule over the radius
_TAIL = 1e-17  # of the radius that the rule leaves out


@dataclass(frozen=True, eq=False)
class MultivariatePowerExponential(RealPredictions):
    """Predictions of vectors with density proportional to ``exp(-q^beta / 2)``, ``q = (y - m)' S^-1 (y - m)``.

    Parameters
    ----------
    mean : array of shape (n, d)
        Means m.
    scale : array of shape (n, d, d), or (d, d)
        Scale matrices S, symmetric and positive definite; covariances for a power of 1, else multiples of them.
    power : float
        beta, positive, the same in all rows. 1 is the normal law, 1/2 the vector Laplace law, large values are uniform
        inside an ellipsoid.

    Raises
    ------
    InputError
        If a value is missing, a matrix is no scale matrix, or the power is not positive, with the row.

    Notes
    -----
    The direction of ``L^-1 (y - m)``, ``S = L L'``, is uniform and its length r independent of it, with
    ``r^(2 beta) / 2`` a gamma variable of shape ``d / (2 beta)``. The covariance is ``c S`` with
    ``c = 2^(1/beta) Gamma((d + 2) / (2 beta)) / (d Gamma(d / (2 beta)))``. Components have no law of a named family.
    The characteristic function is a Gauss-Legendre rule over r, accurate to about 1e-9 for powers from 1/2 on. Cost of
    a set of targets: n d^2.

    References
    ----------
    Gomez, Gomez-Villegas, Marin (1998); Widmann, Lindsten, Zachariah (2021), Appendix F, for the temperature.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.MultivariatePowerExponential([[0.0, 0.0]], [[2.0, 1.0], [1.0, 2.0]], 0.5)
    >>> predictions.log_prob([[1.0, 1.0]]).round(4)
    array([-4.1817])
    >>> predictions.tempered(4.0).scale[0]  # S times T^(1 / beta)
    array([[32., 16.],
           [16., 32.]])
    """

    remedies: ClassVar[Mapping[str, str]] = {
        "marginal": "a component of such a vector has no law of a named family; look at whole vectors by SKCE "
        "(statistic='skce')"
    }

    mean: Array
    scale: Array
    power: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    factor: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mean, power = vector_means(self.mean), self.power
        if isinstance(power, bool) or not isinstance(power, int | float | np.number) or not 0 < power < math.inf:
            raise InputError(f"the power must be a positive finite number, the same for all rows, got {power!r}")
        scale = checked_covariances(self.scale, tuple(mean.shape))
        xp, shape = namespace(scale), (*mean.shape, mean.shape[1])
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "power", float(power))
        object.__setattr__(self, "factor", xp.broadcast_to(xp.linalg.cholesky(scale), shape))
        object.__setattr__(self, "scale", xp.broadcast_to(scale, shape))

    def __len__(self) -> int:
        return int(self.mean.shape[0])

    def __getitem__(self, index: Any) -> Self:
        index = checked_index(index)
        return self._with(lambda x: take_rows(x, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to means, scale matrices and Cholesky factors."""
        return self._with(function)

    def _with(self, function: Callable[[Array], Array]) -> Self:
        return trusted(self, mean=function(self.mean), scale=function(self.scale), factor=function(self.factor))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: (d,)."""
        return (int(self.mean.shape[-1]),)

    @property
    def uniforms(self) -> int:
        """A number a component for the direction, and one for the length."""
        return self.dimension + 1

    @cached_property
    def _shape(self) -> float:
        """Shape of the gamma variable."""
        return self.dimension / (2 * self.power)

    @property
    def std(self) -> Array:
        """Standard deviations of the components, ``sqrt(c S_kk)``."""
        d, b = self.dimension, self.power
        log = math.log(2) / b + math.lgamma((d + 2) / (2 * b)) - math.lgamma(self._shape) - math.log(d)
        xp = namespace(self.scale)
        return math.exp(0.5 * log) * xp.sqrt(xp.linalg.diagonal(self.scale))

    def _squares(self, y: Array) -> tuple[Array, Array]:
        """``L^-1 (y - m)`` and its squared length."""
        xp = namespace(self.mean)
        z = solve_lower(self.factor, xp.asarray(y) - self.mean)
        return z, xp.sum(z * z, axis=-1)

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """``m + r L u``: a uniform direction u from normal numbers, and a length from a gamma quantile."""
        from scipy.special import gammaincinv, ndtri  # imported when needed: the import of kernelcal stays light

        z = ndtri(inside(uniforms[..., :-1]))
        length = np.linalg.norm(z, axis=-1, keepdims=True)
        radius = (2 * gammaincinv(self._shape, inside(uniforms[..., -1:]))) ** (0.5 / self.power)
        u = radius * z / np.where(length > 0, length, 1)
        return to_numpy(self.mean) + np.einsum("nij,...nj->...ni", to_numpy(self.factor), u)

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the density, shape (..., n)."""
        xp, d, b = namespace(self.mean), self.dimension, self.power
        _, q = self._squares(y)
        constant = math.lgamma(1 + d / 2) - 0.5 * d * math.log(math.pi) - math.lgamma(1 + self._shape)
        constant -= self._shape * math.log(2)
        return constant - xp.sum(xp.log(xp.linalg.diagonal(self.factor)), axis=-1) - 0.5 * q**b

    def score(self, y: Array) -> Array:
        """``-beta q^(beta - 1) S^-1 (y - m)``, shape (..., n, d); 0 at the mean, where it may have no value."""
        z, q = self._squares(y)
        xp = namespace(q)
        above = q > 0
        weight = xp.where(above, xp.where(above, q, xp.ones_like(q)) ** (self.power - 1), xp.zeros_like(q))
        return -self.power * weight[..., None] * solve_upper(self.factor, z)

    def density_level(self, y: np.ndarray) -> np.ndarray:
        """Distribution function of the gamma variable at ``q^beta / 2``."""
        from scipy.special import gammainc

        wide = self.map_arrays(lambda x: to_numpy(x).astype(np.float64))
        return np.asarray(gammainc(self._shape, 0.5 * wide._squares(y)[1] ** self.power))

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``exp(i w.m)`` times the mean over r of the transform of a sphere of radius ``r sqrt(w' S w)``: (n, D)."""
        radii, weights = self._radii
        lengths = np.linalg.norm(
            np.einsum("nij,ki->nkj", to_numpy(self.factor).astype(np.float64), frequencies), axis=-1
        )
        values = np.zeros_like(lengths)
        for r, w in zip(radii, weights, strict=True):
            values += w * _sphere(r * lengths, self.dimension)
        return np.asarray(np.exp(1j * (to_numpy(self.mean) @ frequencies.T)) * values)

    @cached_property
    def _radii(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of the law of r, with density proportional to ``r^(d - 1) exp(-r^(2 beta) / 2)``."""
        from scipy.special import gammainccinv

        largest = float((2 * gammainccinv(self._shape, _TAIL)) ** (0.5 / self.power))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        r = 0.5 * largest * (nodes + 1)
        density = weights * np.exp((self.dimension - 1) * np.log(r) - 0.5 * r ** (2 * self.power))
        return r, density / density.sum()

    def tempered(self, temperature: float) -> Self:
        """Scale matrices times ``T^(1 / beta)``: the power of the density (App. F), which keeps the mean."""
        factor = temperature ** (1 / self.power)
        return trusted(self, scale=self.scale * factor, factor=self.factor * math.sqrt(factor))


def _sphere(x: np.ndarray, dimension: int) -> np.ndarray:
    """``E exp(i x u_1)`` for u uniform on the unit sphere: ``Gamma(d/2) (2 / x)^(d/2 - 1) J_(d/2 - 1)(x)``."""
    from scipy.special import jv

    order = dimension / 2 - 1
    near = x < 1e-4  # the series to the second order errs by less than 1e-17 there
    away = np.where(near, 1.0, x)
    values = math.gamma(dimension / 2) * (2 / away) ** order * jv(order, away)
    return np.where(near, 1 - x * x / (2 * dimension), values)
