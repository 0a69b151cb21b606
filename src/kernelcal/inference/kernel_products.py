"""Expectations of products ``E k(t, Z) k'(t', Z)`` of target kernels at two test targets, in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.kernels import Dirac, Gaussian, Kernel, Scaled, Sum
from kernelcal.kernels.embeddings import plan, point
from kernelcal.kernels.embeddings.structure import merged

__all__ = ["expected_products"]

Products = Callable[[Any], np.ndarray]  # predictions -> shape (n, pairs)


def expected_products(kernel: Kernel, predictions: Any, t: np.ndarray, u: np.ndarray) -> Products | None:
    """Function from predictions to ``E k(t_s, Z_i) k(u_s, Z_i)``, shape (n, S), or None where there is no closed form.

    The targets t and u have shape (S, *event_shape). Sums and multiples of Gaussian and Dirac kernels have one under
    every family that has their expectations.
    """
    kernel = merged(kernel, len(predictions.event_shape))
    return _mixed(kernel, kernel, predictions, t, u)


def _mixed(k: Kernel, other: Kernel, predictions: Any, t: np.ndarray, u: np.ndarray) -> Products | None:
    if isinstance(k, Scaled | Sum):
        return _of_parts(k, lambda part: _mixed(part, other, predictions, t, u))
    if isinstance(other, Scaled | Sum):
        return _of_parts(other, lambda part: _mixed(k, part, predictions, t, u))
    if type(k) is Gaussian and type(other) is Gaussian:
        return _gaussians(k, other, predictions, t, u)
    if isinstance(k, Dirac) and isinstance(other, Dirac):
        return _expectations(k, predictions, t, point(k, t, u, len(predictions.event_shape)))
    return None


def _of_parts(kernel: Scaled | Sum, products: Callable[[Kernel], Products | None]) -> Products | None:
    """Bilinear: a multiple of what the part gives, a sum of what both parts give."""
    if isinstance(kernel, Scaled):
        inside = products(kernel.kernel)
        return None if inside is None else lambda p: kernel.factor * inside(p)
    left, right = products(kernel.left), products(kernel.right)
    return None if left is None or right is None else lambda p: left(p) + right(p)


def _gaussians(k: Gaussian, other: Gaussian, predictions: Any, t: np.ndarray, u: np.ndarray) -> Products:
    """Product of two Gaussians in Z: a Gaussian between both targets, times one of their distance.

    For equal lengthscales l: ``exp(-|t - u|^2 / (4 l^2))`` times the Gaussian of lengthscale ``l / sqrt 2`` at the
    midpoint.
    """
    a, b = k.scale**2, other.scale**2
    between = (b * t + a * u) / (a + b)
    apart = k.with_lengthscale(float(np.sqrt(a + b)))
    narrow = k.with_lengthscale(float(np.sqrt(a * b / (a + b))))
    return _expectations(narrow, predictions, between, point(apart, t, u, len(predictions.event_shape)))


def _expectations(kernel: Kernel, predictions: Any, z: np.ndarray, factors: np.ndarray) -> Products:
    embedding = plan(kernel, predictions)
    return lambda p: factors * embedding.mean(p.map_arrays(lambda x: x[:, None, ...]), z[None, ...])
