"""The table of closed forms, keyed by the exact types of kernel and prediction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelcal.kernels.base import Kernel

__all__ = ["CROSS", "MEAN", "cross_of", "mean_of"]

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
    """Register ``f(kernel, p, q) = E k(Z, Z')`` as the closed form of a kernel and two families."""

    def register(rule: Rule) -> Rule:
        CROSS[kernel, left, right] = rule
        return rule

    return register
