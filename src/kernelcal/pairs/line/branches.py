"""Kernels on a line as sums of branches: a power of the smaller point times a polynomial times a decay."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from kernelcal.kernels import Brownian, Kernel, Laplacian, Matern32, Matern52, Product, Scaled, Stationary, Sum

__all__ = ["Branch", "branches_of", "decays", "power_of", "triple_weights"]


_ZERO_FROM = 800.0  # exp(-800) is 0 in float64; a larger exponent would make 0 times infinity


@dataclass(frozen=True)
class Branch:
    """A kernel ``x^m sum_k c_k s^k / k! exp(-s)``, x the smaller of two points and ``s = rate * distance``.

    Attributes
    ----------
    power : int
        m.
    rate : float
        Decay per unit of distance, 0 for none.
    coefficients : tuple of float
        c_k, k = 0, 1, ...; without decay there is one.
    """

    power: int
    rate: float
    coefficients: tuple[float, ...]

    @property
    def order(self) -> int:
        """Number of coefficients, and of the sums that stand for all points on one side."""
        return len(self.coefficients)

    def values(self, distance: np.ndarray) -> np.ndarray:
        """Values without the power of x."""
        parts = decays(self.rate * distance, self.order)
        return np.sum([c * part for c, part in zip(self.coefficients, parts, strict=True)], axis=0)

    def polynomial(self, unit: float) -> np.ndarray:
        """Coefficients of the powers of ``unit * distance``."""
        return np.array([c * (self.rate / unit) ** k / math.factorial(k) for k, c in enumerate(self.coefficients)])

    def __mul__(self, other: Branch) -> Branch:
        """Product of two branches: powers, rates and polynomials are joined."""
        rate = self.rate + other.rate
        unit = rate or 1.0
        joined = np.convolve(self.polynomial(unit), other.polynomial(unit))
        coefficients = tuple(float(c) * math.factorial(k) for k, c in enumerate(joined))
        return Branch(self.power + other.power, rate, coefficients)


def decays(s: np.ndarray, order: int) -> list[np.ndarray]:
    """Return ``s^k exp(-s) / k!`` for every k below the order, of distances s."""
    s = np.clip(s, 0, _ZERO_FROM)  # below 0 only beside empty nodes, whose sums are 0
    parts = [np.exp(-s)]
    for k in range(1, order):
        parts.append(parts[-1] * (s / k))
    return parts


_LEAVES: dict[type[Kernel], Callable[..., Branch]] = {
    Laplacian: lambda kernel: Branch(0, 1 / kernel.scale, (1.0,)),
    Matern32: lambda kernel: Branch(0, math.sqrt(3) / kernel.scale, (1.0, 1.0)),
    Matern52: lambda kernel: Branch(0, math.sqrt(5) / kernel.scale, (1.0, 1.0, 2 / 3)),
    Brownian: lambda kernel: Branch(1, 0.0, (1.0,)),
}


def branches_of(kernel: Kernel) -> tuple[Branch, ...] | None:
    """Branches whose sum is the kernel of points on a line, or None where there are none.

    `Laplacian`, `Matern32`, `Matern52` and `Brownian` are one branch each; multiples, sums and products have branches
    if their parts have.
    """
    if isinstance(kernel, Scaled):
        inside = branches_of(kernel.kernel)
        return inside and tuple(_scaled(branch, kernel.factor) for branch in inside)
    if isinstance(kernel, Sum | Product):
        left, right = branches_of(kernel.left), branches_of(kernel.right)
        if left is None or right is None:
            return None
        return left + right if isinstance(kernel, Sum) else _products(left, right)
    rule = _LEAVES.get(type(kernel))
    return None if rule is None or _unresolved(kernel) else (rule(kernel),)


def _unresolved(kernel: Kernel) -> bool:
    return isinstance(kernel, Stationary) and isinstance(kernel.lengthscale, str)


def _scaled(branch: Branch, factor: float) -> Branch:
    return Branch(branch.power, branch.rate, tuple(factor * c for c in branch.coefficients))


def _products(left: Sequence[Branch], right: Sequence[Branch]) -> tuple[Branch, ...]:
    return tuple(a * b for a, b in product(left, right))


def power_of(branches: Sequence[Branch], exponent: int) -> tuple[Branch, ...]:
    """Branches of a power of the kernel."""
    return reduce(_products, [tuple(branches)] * exponent)


def triple_weights(first: Branch, second: Branch, outer: Branch) -> np.ndarray:
    """Coefficients w of ``first(a) second(b) outer(a + b) = sum_pq w_pq d_p(a) e_q(b)``, powers of x left out.

    d are the `decays` of the joined rate of first and outer, e those of second and outer.
    """
    near, far = first.rate + outer.rate, second.rate + outer.rate
    unit = max(near, far) or 1.0
    weights = np.zeros((first.order + outer.order - 1, second.order + outer.order - 1))
    left, right = first.polynomial(unit), second.polynomial(unit)
    for k, c in enumerate(outer.polynomial(unit)):
        for i in range(k + 1):
            both = np.outer(left, right) * (c * math.comb(k, i))
            weights[i : i + first.order, k - i : k - i + second.order] += both
    for axis, rate in ((0, near), (1, far)):
        scale = [math.factorial(k) * (unit / rate) ** k if k else 1.0 for k in range(weights.shape[axis])]
        weights *= np.array(scale)[:, None] if axis == 0 else np.array(scale)
    return weights
