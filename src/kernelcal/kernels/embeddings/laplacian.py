"""Laplacian kernel under Laplace distributions: sums of positive terms, whatever the scales."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from kernelcal.arrays import Array, is_numpy, namespace
from kernelcal.kernels.embeddings.parts import by_parts
from kernelcal.kernels.embeddings.rules import cross_of, mean_of
from kernelcal.kernels.profiles import Laplacian
from kernelcal.predictions import Laplace

__all__: list[str] = []

_TERMS = 18  # of a power series for arguments up to 1: the next term is below 1e-17


@mean_of(Laplacian, Laplace)
def _mean(kernel: Laplacian, p: Laplace, y: Array) -> Array:
    """E exp(-|Z - y| / l) = 2 l times the density of the sum of two Laplace variables at |m - y|.

    The formula of 2021, App. D.2, is the divided difference of ``s exp(-z / s)`` at the scales l and b. With the
    smaller scale s, the larger one r and ``u = z / s - z / r`` it is ``l exp(-z / r) (1 + z / r phi(u)) / (l + b)``,
    where nothing cancels.
    """
    xp = namespace(p.loc)
    z, lengthscale = xp.abs(p.loc - y), p.scale * 0 + kernel.scale
    small, large = xp.minimum(p.scale, lengthscale), xp.maximum(p.scale, lengthscale)
    u = z / small * ((large - small) / large)
    w = z / large
    return kernel.scale / (kernel.scale + p.scale) * xp.exp(-w) * (1 + w * _phi(xp, u))


@cross_of(Laplacian, Laplace, Laplace)
def _cross(kernel: Laplacian, p: Laplace, q: Laplace) -> Array:
    """2 l times the density of the sum of three Laplace variables at z = |m - m'|.

    Written in the rates, the second divided difference of App. D.2 is, by the rule of Leibniz, a sum of products of
    divided differences that all have one sign. With scales s <= t <= r, ``w = z / r``, ``u = z / t - z / r`` and
    ``v = z / s - z / r``, ``P = 1 + w phi(u)`` and ``Q = P + w z / t psi(u, v)``, it is
    ``l exp(-w) (t r P / (t + r) + s Q) / ((s + t) (s + r))``.
    """
    arrays = p.loc, p.scale, q.loc, q.scale
    if all(is_numpy(x) for x in arrays):
        return by_parts(partial(_of_three, kernel.scale), *arrays)
    return _of_three(kernel.scale, *arrays)


def _of_three(lengthscale: float, m: Array, b: Array, n: Array, c: Array) -> Array:
    xp = namespace(m, n)
    z = xp.abs(m - n)
    s, t, r = _sorted(xp, b + 0 * z, c + 0 * z, lengthscale + 0 * z)
    w = z / r
    u, v = z / t * ((r - t) / r), z / s * ((r - s) / r)
    between = z / s * ((t - s) / t)  # v - u
    first = 1 + w * _phi(xp, u)
    second = first + w * _psi(xp, u, v, between) * (z / t)
    return lengthscale * xp.exp(-w) * (t * r / (t + r) * first + s * second) / ((s + t) * (s + r))


def _sorted(xp: Any, a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    low, high = xp.minimum(a, b), xp.maximum(a, b)
    return xp.minimum(low, c), xp.maximum(low, xp.minimum(high, c)), xp.maximum(high, c)


def _phi(xp: Any, u: Array) -> Array:
    """(1 - exp(-u)) / u for u >= 0, which is the divided difference of exp at 0 and -u; 1 at 0."""
    small = u < 1e-8  # below, the next term of the series is less than rounding
    safe = xp.where(small, xp.ones_like(u), u)
    return xp.where(small, 1 - 0.5 * u, -xp.expm1(-safe) / safe)


def _psi(xp: Any, u: Array, v: Array, between: Array) -> Array:
    """Second divided difference of exp at 0, -u and -v for 0 <= u <= v: 1/2 at 0."""
    near = v < 1
    far = xp.where(near, xp.ones_like(v), v)
    direct = (_phi(xp, u) - xp.exp(-u) * _phi(xp, between)) / far
    return xp.where(near, _psi_series(xp.minimum(u, 0 * u + 1), xp.minimum(v, 0 * v + 1)), direct)


def _psi_series(u: Array, v: Array) -> Array:
    """sum_n (-1)^n h_n / (n + 2)! with h_n the sum of all products of n factors u and v."""
    power, symmetric, total = 0 * u + 1, 0 * u + 1, 0 * u + 0.5
    for n in range(1, _TERMS):
        power = power * u
        symmetric = symmetric * v + power
        total = total + symmetric * ((-1) ** n / math.factorial(n + 2))
    return total
