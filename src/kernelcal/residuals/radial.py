"""Derivatives of target kernels that depend on the squared distance alone."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, NamedTuple

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels import Gaussian, InverseMultiquadric, Kernel, Matern52, RationalQuadratic
from kernelcal.kernels.base import Product, Scaled, Sum
from kernelcal.kernels.embeddings.elementwise import operations
from kernelcal.kernels.embeddings.targets import refuse_metric

__all__ = ["Radial", "checked_radial", "radial"]


class Radial(NamedTuple):
    """A kernel ``l(y, y') = f(u)`` of the squared distance ``u = |y - y'|^2``, with what derivatives need.

    Attributes
    ----------
    value : array
        ``f``.
    slope : array
        ``-2 f'``: the gradient by y is ``-slope (y - y')``.
    curvature : array
        ``-4 f''``: mixed second derivatives are ``slope I + curvature (y - y')(y - y')'``.
    """

    value: Array
    slope: Array
    curvature: Array


@singledispatch
def radial(kernel: Any, u: Array) -> Radial:
    """Kernel values and derivatives at squared distances, an array that may be overwritten. A kernel registers here."""
    raise InputError(
        f"Stein residuals need a target kernel that is twice differentiable and depends on the distance, got {kernel}: "
        "use Gaussian, InverseMultiquadric, RationalQuadratic or Matern52, or sums, products and multiples of them"
    )


def checked_radial(kernel: Kernel) -> None:
    """Refuse a kernel without derivatives, before anything is computed."""

    def leaf(k: Kernel) -> Kernel:
        if type(k) not in radial.registry:
            radial(k, None)
        refuse_metric(k.metric)  # type: ignore[attr-defined]
        k.scale  # type: ignore[attr-defined]  # noqa: B018  raises for a lengthscale that is not resolved
        return k

    kernel.map_leaves(leaf)


@radial.register
def _gaussian(kernel: Gaussian, u: Array) -> Radial:
    ops, square = operations(u), kernel.scale**2
    value = ops.exp(ops.scale(u, -0.5 / square))
    return Radial(value, ops.scale(ops.copy(value), 1 / square), ops.scale(ops.copy(value), -1 / square**2))


@radial.register
def _multiquadric(kernel: InverseMultiquadric, u: Array) -> Radial:
    return _power(u, kernel.scale**2, kernel.offset**2, kernel.beta)


@radial.register
def _rational(kernel: RationalQuadratic, u: Array) -> Radial:
    return _power(u, 2 * kernel.alpha * kernel.scale**2, 1.0, -kernel.alpha)


def _power(u: Array, square: float, offset: float, exponent: float) -> Radial:
    """``f = b^e`` with ``b = offset + u / square``: ``f' = e f / (square b)``, ``f'' = (e - 1) f' / (square b)``."""
    ops = operations(u)
    b = ops.shift(ops.scale(u, 1 / square), offset)
    value = ops.power(ops.copy(b), exponent)
    inverse = ops.power(b, -1.0)
    slope = ops.scale(ops.multiply(ops.copy(inverse), value), -2 * exponent / square)
    curvature = ops.scale(ops.multiply(inverse, slope), 2 * (exponent - 1) / square)
    return Radial(value, slope, curvature)


@radial.register
def _matern(kernel: Matern52, u: Array) -> Radial:
    """``f = (1 + t + t^2/3) e^-t``, ``f' = -5/6 (1 + t) e^-t / l^2``, ``f'' = 25/12 e^-t / l^4``, t = sqrt(5 u) / l."""
    ops, square = operations(u), kernel.scale**2
    t = ops.scale(ops.power(u, 0.5), math.sqrt(5 / square))
    decay = ops.exp(ops.scale(ops.copy(t), -1.0))
    linear = ops.multiply(ops.shift(ops.copy(t), 1.0), decay)
    value = ops.add(ops.scale(ops.multiply(ops.multiply(ops.copy(t), t), decay), 1 / 3), linear)
    return Radial(value, ops.scale(linear, 5 / (3 * square)), ops.scale(decay, -25 / (3 * square**2)))


@radial.register
def _scaled(kernel: Scaled, u: Array) -> Radial:
    ops, inside = operations(u), radial(kernel.kernel, u)
    return Radial(*(ops.scale(part, kernel.factor) for part in inside))


@radial.register
def _sum(kernel: Sum, u: Array) -> Radial:
    ops = operations(u)
    parts = zip(radial(kernel.left, ops.copy(u)), radial(kernel.right, u), strict=True)
    return Radial(*(ops.add(left, right) for left, right in parts))


@radial.register
def _product(kernel: Product, u: Array) -> Radial:
    """Product rule: ``(f g)'' = f'' g + 2 f' g' + f g''``."""
    f, g = radial(kernel.left, operations(u).copy(u)), radial(kernel.right, u)
    slope = f.slope * g.value + f.value * g.slope
    curvature = f.curvature * g.value - 2 * f.slope * g.slope + f.value * g.curvature
    return Radial(f.value * g.value, slope, curvature)
