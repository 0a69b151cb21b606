"""Laplacian and Matern kernels under Laplace and normal distributions, without overflow or cancellation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace
from kernelcal.kernels.embeddings.base import by_parts, numpy_only
from kernelcal.kernels.embeddings.closed_forms import cross_of, mean_of
from kernelcal.kernels.profiles import Laplacian, Matern32, Matern52, Stationary
from kernelcal.predictions import Laplace, Normal

_FAR = 5.0  # from here the recurrence would cancel, and its continued fraction converges

_FRACTIONS = 24

_NO_WEIGHT = -1e100  # exp of half of it is 0, but its square is finite

_DENSITY = 1 / math.sqrt(2 * math.pi)

_TERMS = 18  # of a power series for arguments up to 1: the next term is below 1e-17

_NEAR = 1e-3  # relative difference of two scales, below which their values are not subtracted

_NODES = 4  # of a quadrature over the interval between them

# a profile is a polynomial of c d times exp(-c d): c times lengthscale, and the coefficients
_PROFILES: dict[type, tuple[float, tuple[float, ...]]] = {
    Laplacian: (1.0, (1.0,)),
    Matern32: (math.sqrt(3), (1.0, 1.0)),
    Matern52: (math.sqrt(5), (1.0, 1.0, 1 / 3)),
}


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


@mean_of(Laplacian, Normal)
@mean_of(Matern32, Normal)
@mean_of(Matern52, Normal)
def _mean_under_normal(kernel: Stationary, p: Normal, y: Array) -> Array:
    numpy_only(f"{type(kernel).__name__} under Normal", p.mean, y)
    return by_parts(partial(_expectation, kernel), p.mean, y, p.std)


@cross_of(Laplacian, Normal, Normal)
@cross_of(Matern32, Normal, Normal)
@cross_of(Matern52, Normal, Normal)
def _cross_under_normal(kernel: Stationary, p: Normal, q: Normal) -> Array:
    numpy_only(f"{type(kernel).__name__} under Normal", p.mean, q.mean)
    return by_parts(lambda m, n, s, r: _expectation(kernel, m, n, np.hypot(s, r)), p.mean, q.mean, p.std, q.std)


@cross_of(Laplacian, Normal, Laplace)
def _cross_of_two_families(kernel: Laplacian, p: Normal, q: Laplace) -> Array:
    numpy_only("Laplacian under Normal and Laplace", p.mean, q.loc)
    return by_parts(partial(_of_normal_and_laplace, kernel.scale), p.mean, p.std, q.loc, q.scale)


def _expectation(kernel: Stationary, mean: Any, y: Any, std: Any) -> np.ndarray:
    rate, coefficients = _PROFILES[type(kernel)]
    c = rate / kernel.scale
    return _exponential_moments(c * std, c * np.abs(mean - y), coefficients)


def _of_normal_and_laplace(lengthscale: float, mean: Any, std: Any, loc: Any, scale: Any) -> np.ndarray:
    """2 l times the density of the sum of a normal variable and Laplace variables of scales l and b at |m - m'|.

    By the rule of Leibniz, as for three Laplace variables: with r the larger of l and b, s the smaller,
    M(x) = E exp(-|D| / x) and F = (M(r) - M(s)) / (1 / s - 1 / r), it is ``l (M(r) + F / r) / (l + b)``.
    """
    delta = np.abs(mean - loc)
    small, large = np.minimum(scale, lengthscale), np.maximum(scale, lengthscale)
    small, large, std = np.broadcast_arrays(small + 0 * delta, large + 0 * delta, std + 0 * delta)[:3]
    first = _exponential_moments(std / large, delta / large, (1.0,))
    gap = (large - small) / small  # (1 / s - 1 / r) r
    near = gap < _NEAR
    slope = (first - _exponential_moments(std / small, delta / small, (1.0,))) / np.where(near, 1.0, gap)
    if near.any():
        slope[near] = _slope(large[near], gap[near], delta[near], std[near])
    return lengthscale * (first + slope) / (lengthscale + scale)


def _slope(large: np.ndarray, gap: np.ndarray, delta: np.ndarray, std: np.ndarray) -> np.ndarray:
    """F / r as the mean of E |D| / r exp(-c |D|) over c from 1 / r to 1 / s, by a quadrature: nothing is subtracted."""
    total = np.zeros_like(large)
    for x, weight in zip(*np.polynomial.legendre.leggauss(_NODES), strict=True):
        c = (1 + gap * (0.5 + 0.5 * x)) / large
        total += 0.5 * weight * _exponential_moments(c * std, c * delta, (0.0, 1.0)) / (c * large)
    return total


def _exponential_moments(s: Any, d: Any, coefficients: Sequence[float]) -> np.ndarray:
    """``sum_n a_n E (c |D|)^n exp(-c |D|)`` for n up to 2, from s = c sigma > 0 and d = c |delta| >= 0."""
    number = len(coefficients)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite in a range that is not taken, or without weight
        t, sx = d / s, s * s - d
        far = _right(s, s + t, s * s + d, number)
        near = _right(s, np.maximum(s - t, 0.0), np.maximum(sx, 0.0), number)
        left = _left(s, np.minimum(s - t, 0.0), np.clip(sx, _NO_WEIGHT, 0.0), number)
        height, tilted = np.exp(-0.5 * t * t), np.exp(np.minimum(0.5 * s * s - d, 0.0))
        total = np.zeros(np.shape(t))
        for a, near_n, left_n, far_n in zip(coefficients, near, left, far, strict=True):
            total += a * (np.where(s < t, tilted * left_n, height * near_n) + height * far_n)
    return total


def _left(s: Any, x: np.ndarray, sx: np.ndarray, number: int) -> list[np.ndarray]:
    """s^n T_n(x) exp(-x^2 / 2) for x <= 0: every term is positive. The product s x is given, since it is exact."""
    from scipy.special import erfc  # imported when needed: the import of kernelcal stays light

    values = [0.5 * erfc(x / math.sqrt(2))]
    if number > 1:
        values.append(s * (_DENSITY * np.exp(-0.5 * x * x)) - sx * values[0])
    if number > 2:
        values.append(s * s * values[0] - sx * values[1])
    return values


def _right(s: Any, x: np.ndarray, sx: np.ndarray, number: int) -> list[np.ndarray]:
    """s^n T_n(x) for x >= 0: by recurrence, and far out by the continued fraction of the ratios T_n / T_{n-1}."""
    from scipy.special import erfcx

    values = [0.5 * erfcx(x / math.sqrt(2))]
    if number == 1:
        return values
    ratios = _ratios(np.maximum(x, _FAR))
    is_far = x > _FAR
    values.append(np.where(is_far, s * ratios[0] * values[0], s * _DENSITY - sx * values[0]))
    if number > 2:
        values.append(np.where(is_far, s * ratios[1] * values[1], s * s * values[0] - sx * values[1]))
    return values


def _ratios(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T_1 / T_0 and T_2 / T_1: r_n = n / (x + r_{n+1}), from a start by its fixed point."""
    ratio = 0.5 * (np.sqrt(x * x + 4 * _FRACTIONS) - x)
    previous = ratio
    for n in range(_FRACTIONS - 1, 0, -1):
        previous, ratio = ratio, n / (x + ratio)
    return ratio, previous
