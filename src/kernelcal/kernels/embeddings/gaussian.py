"""Gaussian kernel under normal distributions: a normal density whose variances are added."""

from __future__ import annotations

from typing import Any

from kernelcal.arrays import Array, namespace
from kernelcal.kernels.embeddings.elementwise import operations
from kernelcal.kernels.embeddings.rules import cross_of, mean_of
from kernelcal.kernels.embeddings.targets import squared_distance
from kernelcal.kernels.profiles import Gaussian
from kernelcal.predictions import IsotropicNormal, Normal

__all__: list[str] = []


@mean_of(Gaussian, Normal)
def _mean(kernel: Gaussian, p: Normal, y: Array) -> Array:
    difference = p.mean - y
    return _density(kernel.scale, operations(difference).multiply(difference, difference), p.std * p.std)


@cross_of(Gaussian, Normal, Normal)
def _cross(kernel: Gaussian, p: Normal, q: Normal) -> Array:
    difference = p.mean - q.mean
    variance = p.std * p.std + q.std * q.std
    return _density(kernel.scale, operations(difference).multiply(difference, difference), variance)


@cross_of(Gaussian, IsotropicNormal, IsotropicNormal)
def _cross_isotropic(kernel: Gaussian, p: IsotropicNormal, q: IsotropicNormal) -> Array:
    variance = p.scale * p.scale + q.scale * q.scale
    return _density(kernel.scale, squared_distance(p.mean, q.mean), variance, p.mean.shape[-1])


def _density(lengthscale: float, squares: Array, variance: Array, dimension: int = 1) -> Array:
    """E exp(-|Z + d|^2 / (2 l^2)) for Z ~ N(0, v I), from |d|^2, which may be overwritten: 2021, App. D.1."""
    ops, xp = operations(squares), namespace(squares)
    spread: Any = variance + lengthscale**2
    values = ops.exp(ops.multiply(squares, -0.5 / spread))
    height = lengthscale / xp.sqrt(spread)
    return ops.multiply(values, height if dimension == 1 else height**dimension)
