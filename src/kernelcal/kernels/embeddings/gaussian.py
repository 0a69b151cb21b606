"""Gaussian kernel under normal distributions: a normal density whose variances are added."""

from __future__ import annotations

from kernelcal.arrays import Array, namespace
from kernelcal.kernels.embeddings.rules import cross_of, mean_of
from kernelcal.kernels.profiles import Gaussian
from kernelcal.predictions import Normal

__all__: list[str] = []


@mean_of(Gaussian, Normal)
def _mean(kernel: Gaussian, p: Normal, y: Array) -> Array:
    return _one(kernel.scale, p.mean - y, p.std * p.std)


@cross_of(Gaussian, Normal, Normal)
def _cross(kernel: Gaussian, p: Normal, q: Normal) -> Array:
    return _one(kernel.scale, p.mean - q.mean, p.std * p.std + q.std * q.std)


def _one(lengthscale: float, difference: Array, variance: Array) -> Array:
    """E exp(-(Z + d)^2 / (2 l^2)) for Z ~ N(0, v): 2021, App. D.1."""
    xp = namespace(difference)
    total = 1 / (lengthscale**2 + variance)
    root = lengthscale * xp.sqrt(total)
    return root * xp.exp(difference * difference * (-0.5 * total))
