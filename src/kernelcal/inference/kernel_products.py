"""Expectations of products ``E k(t, Z) k'(t', Z)`` of target kernels at two test targets, in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.kernels import Dirac, Gaussian, Integrator, Kernel, Scaled, Sum
from kernelcal.kernels.embeddings import plan, point
from kernelcal.kernels.embeddings.structure import merged

__all__ = ["expected_products"]

Products = Callable[[Any], np.ndarray]  # predictions -> shape (n, pairs)


def expected_products(
    kernel: Kernel, predictions: Any, t: np.ndarray, u: np.ndarray, integrator: Integrator | None = None
) -> Products | None:
    """Function from predictions to ``E k(t_s, Z_i) k(u_s, Z_i)``, shape (n, S), or None where there is no closed form.

    The targets t and u have shape (S, *event_shape). Sums and multiples of Gaussian and Dirac kernels have one under
    every family that has their expectations, and with an `integrator` under the others.
    """
    kernel = merged(kernel, len(predictions.event_shape))
    return _mixed(kernel, kernel, _Pairs(predictions, t, u, integrator))


@dataclass(frozen=True)
class _Pairs:
    """Where the products are asked for: predictions and pairs of test targets."""

    predictions: Any
    t: np.ndarray
    u: np.ndarray
    integrator: Integrator | None

    def apart(self, kernel: Kernel) -> np.ndarray:
        """Kernel values between both targets of every pair."""
        return point(kernel, self.t, self.u, len(self.predictions.event_shape))

    def expectations(self, kernel: Kernel, z: np.ndarray, factors: np.ndarray) -> Products:
        """Function that gives ``factors * E kernel(z, Z_i)``."""
        embedding = plan(kernel, self.predictions, self.integrator)
        return lambda p: factors * embedding.mean(p.map_arrays(lambda x: x[:, None, ...]), z[None, ...])


def _mixed(k: Kernel, other: Kernel, pairs: _Pairs) -> Products | None:
    if isinstance(k, Scaled | Sum):
        return _of_parts(k, lambda part: _mixed(part, other, pairs))
    if isinstance(other, Scaled | Sum):
        return _of_parts(other, lambda part: _mixed(k, part, pairs))
    if type(k) is Gaussian and type(other) is Gaussian:
        return _gaussians(k, other, pairs)
    if isinstance(k, Dirac) and isinstance(other, Dirac):
        return pairs.expectations(k, pairs.t, pairs.apart(k))
    return None


def _of_parts(kernel: Scaled | Sum, products: Callable[[Kernel], Products | None]) -> Products | None:
    """Bilinear: a multiple of what the part gives, a sum of what both parts give."""
    if isinstance(kernel, Scaled):
        inside = products(kernel.kernel)
        return None if inside is None else lambda p: kernel.factor * inside(p)
    left, right = products(kernel.left), products(kernel.right)
    return None if left is None or right is None else lambda p: left(p) + right(p)


def _gaussians(k: Gaussian, other: Gaussian, pairs: _Pairs) -> Products:
    """Product of two Gaussians in Z: a Gaussian between both targets, times one of their distance.

    For equal lengthscales l: ``exp(-|t - u|^2 / (4 l^2))`` times the Gaussian of lengthscale ``l / sqrt 2`` at the
    midpoint.
    """
    a, b = k.scale**2, other.scale**2
    between = (b * pairs.t + a * pairs.u) / (a + b)
    apart = k.with_lengthscale(float(np.sqrt(a + b)))
    narrow = k.with_lengthscale(float(np.sqrt(a * b / (a + b))))
    return pairs.expectations(narrow, between, pairs.apart(apart))
