"""The table of closed forms, keyed by the exact types of kernel and prediction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelcal.kernels.base import Kernel

__all__ = ["CROSS", "MEAN", "Rule", "cross_of", "cross_rule", "families_with", "kernels_with", "mean_of"]

Rule = Callable[..., Any]
MEAN: dict[tuple[type, type], Rule] = {}
CROSS: dict[tuple[type, type, type], Rule] = {}


def mean_of(kernel: type[Kernel], family: type) -> Callable[[Rule], Rule]:
    """Register ``f(kernel, p, y) = E k(Z, y)`` as the closed form of a kernel and a family."""

    def register(rule: Rule) -> Rule:
        MEAN[kernel, family] = rule
        return rule

    return register


def cross_of(kernel: type[Kernel], left: type, right: type) -> Callable[[Rule], Rule]:
    """Register ``f(kernel, p, q) = E k(Z, Z')`` as the closed form of a kernel and two families.

    For two different families it also serves the opposite order.
    """

    def register(rule: Rule) -> Rule:
        CROSS[kernel, left, right] = rule
        return rule

    return register


def cross_rule(kernel: type[Kernel], left: type, right: type) -> Rule | None:
    """Closed form of two families in either order, or None."""
    if (kernel, left, right) in CROSS:
        return CROSS[kernel, left, right]
    if (kernel, right, left) in CROSS:
        rule = CROSS[kernel, right, left]
        return lambda k, p, q: rule(k, q, p)
    return None


def kernels_with(family: type) -> list[str]:
    """Names of the kernels that have a closed form under a family."""
    return sorted(kernel.__name__ for kernel, known in MEAN if known is family)


def families_with(kernel: type[Kernel]) -> list[str]:
    """Names of the families under which a kernel has a closed form."""
    return sorted(family.__name__ for known, family in MEAN if known is kernel)
