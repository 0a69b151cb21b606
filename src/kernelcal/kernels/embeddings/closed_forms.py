"""The table of closed forms by types of kernel and prediction, and expectations of spectral kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kernelcal.arrays import Array, to_numpy
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings.base import Cross, Embedding, contract, numpy_only
from kernelcal.kernels.spectral import Spectral

__all__ = [
    "CROSS",
    "MEAN",
    "ClosedForm",
    "OfMeans",
    "OfSpectrum",
    "Rule",
    "cross_of",
    "families_with",
    "kernels_with",
    "mean_of",
]


Rule = Callable[..., Any]
MEAN: dict[tuple[type, type], Rule] = {}
CROSS: dict[tuple[type, type, type], Rule] = {}


def mean_of(kernel: type[Kernel], family: type) -> Callable[[Rule], Rule]:
    """Register ``f(kernel, p, y) = E k(Z, y)`` as the closed form of a kernel and a family.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import mean_of
    >>> @mean_of(MyKernel, kc.Normal)  # doctest: +SKIP
    ... def expected(kernel, p, y):
    ...     return 0.5 + 0.0 * y
    >>> callable(mean_of(kc.Linear, kc.Normal))  # nothing is registered before it decorates
    True
    """

    def register(rule: Rule) -> Rule:
        MEAN[kernel, family] = rule
        return rule

    return register


def cross_of(kernel: type[Kernel], left: type, right: type) -> Callable[[Rule], Rule]:
    """Register ``f(kernel, p, q) = E k(Z, Z')`` as the closed form of a kernel and two families.

    For two different families it also serves the opposite order.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import cross_of
    >>> @cross_of(MyKernel, kc.Normal, kc.Laplace)  # doctest: +SKIP
    ... def expected(kernel, p, q):
    ...     return 0.5 + 0.0 * p.mean
    >>> callable(cross_of(kc.Linear, kc.Normal, kc.Laplace))  # nothing is registered before it decorates
    True
    """

    def register(rule: Rule) -> Rule:
        CROSS[kernel, left, right] = rule
        return rule

    return register


def _cross_rule(kernel: type[Kernel], left: type, right: type) -> Rule | None:
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


@dataclass(frozen=True)
class ClosedForm(Embedding):
    """An entry of the table of closed forms."""

    kernel: Kernel
    family: type

    def mean(self, p: Any, y: Array) -> Array:
        """E k(Z, y)."""
        return MEAN[type(self.kernel), self.family](self.kernel, p, y)

    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z')."""
        return CROSS[type(self.kernel), self.family, self.family](self.kernel, p, q)

    def crossing(self, other: Embedding) -> Cross | None:
        """The table has some pairs of different families."""
        if not isinstance(other, ClosedForm):
            return None
        rule = _cross_rule(type(self.kernel), self.family, other.family)
        return None if rule is None else partial(rule, self.kernel)

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"closed form: {self.kernel} under {self.family.__name__}",)


@dataclass(frozen=True)
class OfMeans(Embedding):
    """Linear kernel: expectations are values at the means, whatever the family.

    The residual of the linear kernel is target minus mean.
    """

    vector: bool

    def mean(self, p: Any, y: Array) -> Array:
        """m.y."""
        return contract(p.mean, y) if self.vector else p.mean * y

    def cross(self, p: Any, q: Any) -> Array:
        """m.m'."""
        return self.mean(p, q.mean)

    def crossing(self, other: Embedding) -> Cross | None:
        """Means are all that counts."""
        return self.cross if isinstance(other, OfMeans) else None

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return ("linear kernel: inner products of means and targets, for every family",)


@dataclass(frozen=True)
class OfSpectrum(Embedding):
    """``sum_k a_k^2 Re[phi(w_k) exp(-i w_k.y)]`` with the characteristic function phi of the prediction.

    Attributes
    ----------
    kernel : Spectral
        Target kernel, its lengthscale a number.
    event_ndim : int
        Number of axes of a target.
    """

    kernel: Spectral
    event_ndim: int

    def mean(self, p: Any, y: Array) -> Array:
        """E k(Z, y)."""
        numpy_only("Spectral()", p.mean, y)
        frequencies, _ = self._nodes(p)
        phases = y @ frequencies.T if self.event_ndim else y[..., None] * frequencies
        return contract(self._features(p), self._weighed(p, np.exp(1j * phases))) + self._constant()

    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z')."""
        numpy_only("Spectral()", p.mean, q.mean)
        return contract(self._features(p), self._features(q)) + self._constant()

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"characteristic function at {self.kernel.frequencies} frequencies: {self.kernel}",)

    def _nodes(self, p: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.kernel.nodes(p.mean.shape[-1] if self.event_ndim else None)

    def _constant(self) -> float:
        return self.kernel.constant(vector=bool(self.event_ndim))

    def _features(self, p: Any) -> np.ndarray:
        """Weighed characteristic function, its real and imaginary parts side by side on a last axis."""
        leading = p.mean.shape[: p.mean.ndim - self.event_ndim]
        flat = p.map_arrays(lambda x: to_numpy(x).reshape(-1, *x.shape[len(leading) :]))
        waves = flat.characteristic(self._nodes(p)[0])
        return self._weighed(p, waves.reshape(*leading, -1))

    def _weighed(self, p: Any, waves: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(waves).view(np.float64) * np.repeat(self._nodes(p)[1], 2)
