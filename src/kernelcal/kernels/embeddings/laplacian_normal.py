"""Laplacian and Matern kernels under normal distributions, and under a normal and a Laplace distribution."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from kernelcal.arrays import Array
from kernelcal.kernels.embeddings.elementwise import numpy_only
from kernelcal.kernels.embeddings.half_normal import exponential_moments
from kernelcal.kernels.embeddings.parts import by_parts
from kernelcal.kernels.embeddings.rules import cross_of, mean_of
from kernelcal.kernels.profiles import Laplacian, Matern32, Matern52
from kernelcal.kernels.stationary import Stationary
from kernelcal.predictions import Laplace, Normal

__all__: list[str] = []

# a profile is a polynomial of c d times exp(-c d): c times lengthscale, and the coefficients
_PROFILES: dict[type, tuple[float, tuple[float, ...]]] = {
    Laplacian: (1.0, (1.0,)),
    Matern32: (math.sqrt(3), (1.0, 1.0)),
    Matern52: (math.sqrt(5), (1.0, 1.0, 1 / 3)),
}
_NEAR = 1e-3  # relative difference of two scales, below which their values are not subtracted
_NODES = 4  # of a quadrature over the interval between them


@mean_of(Laplacian, Normal)
@mean_of(Matern32, Normal)
@mean_of(Matern52, Normal)
def _mean(kernel: Stationary, p: Normal, y: Array) -> Array:
    numpy_only(f"{type(kernel).__name__} under Normal", p.mean, y)
    return by_parts(partial(_expectation, kernel), p.mean, y, p.std)


@cross_of(Laplacian, Normal, Normal)
@cross_of(Matern32, Normal, Normal)
@cross_of(Matern52, Normal, Normal)
def _cross(kernel: Stationary, p: Normal, q: Normal) -> Array:
    numpy_only(f"{type(kernel).__name__} under Normal", p.mean, q.mean)
    return by_parts(lambda m, n, s, r: _expectation(kernel, m, n, np.hypot(s, r)), p.mean, q.mean, p.std, q.std)


@cross_of(Laplacian, Normal, Laplace)
def _cross_of_two_families(kernel: Laplacian, p: Normal, q: Laplace) -> Array:
    numpy_only("Laplacian under Normal and Laplace", p.mean, q.loc)
    return by_parts(partial(_of_normal_and_laplace, kernel.scale), p.mean, p.std, q.loc, q.scale)


def _expectation(kernel: Stationary, mean: Any, y: Any, std: Any) -> np.ndarray:
    rate, coefficients = _PROFILES[type(kernel)]
    c = rate / kernel.scale
    return exponential_moments(c * std, c * np.abs(mean - y), coefficients)


def _of_normal_and_laplace(lengthscale: float, mean: Any, std: Any, loc: Any, scale: Any) -> np.ndarray:
    """2 l times the density of the sum of a normal variable and Laplace variables of scales l and b at |m - m'|.

    By the rule of Leibniz, as for three Laplace variables: with r the larger of l and b, s the smaller,
    M(x) = E exp(-|D| / x) and F = (M(r) - M(s)) / (1 / s - 1 / r), it is ``l (M(r) + F / r) / (l + b)``.
    """
    delta = np.abs(mean - loc)
    small, large = np.minimum(scale, lengthscale), np.maximum(scale, lengthscale)
    small, large, std = np.broadcast_arrays(small + 0 * delta, large + 0 * delta, std + 0 * delta)[:3]
    first = exponential_moments(std / large, delta / large, (1.0,))
    gap = (large - small) / small  # (1 / s - 1 / r) r
    near = gap < _NEAR
    slope = (first - exponential_moments(std / small, delta / small, (1.0,))) / np.where(near, 1.0, gap)
    if near.any():
        slope[near] = _slope(large[near], gap[near], delta[near], std[near])
    return lengthscale * (first + slope) / (lengthscale + scale)


def _slope(large: np.ndarray, gap: np.ndarray, delta: np.ndarray, std: np.ndarray) -> np.ndarray:
    """F / r as the mean of E |D| / r exp(-c |D|) over c from 1 / r to 1 / s, by a quadrature: nothing is subtracted."""
    total = np.zeros_like(large)
    for x, weight in zip(*np.polynomial.legendre.leggauss(_NODES), strict=True):
        c = (1 + gap * (0.5 + 0.5 * x)) / large
        total += 0.5 * weight * exponential_moments(c * std, c * delta, (0.0, 1.0)) / (c * large)
    return total
