"""Tails of sums of weighted chi-square variables, by the saddlepoint formula of Kuonen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

__all__ = ["ChiSquareSum"]


_NEAR_MEAN = 1e-4  # of |w|: there the formula is 0/0, and the line through both sides is used
_STEPS = 200


@dataclass(frozen=True, eq=False)
class ChiSquareSum:
    """Law of ``shift + sum_k l_k Z_k^2 + G``, Z standard normal, G a gamma variable (or its negative).

    Attributes
    ----------
    weights : numpy.ndarray of shape (k,)
        The l_k, of any sign.
    shift : float
        Constant.
    scale, shape : float
        Of G: ``scale`` may be negative, then G is minus a gamma variable; ``shape`` 0 means no G.
    normal : float
        Variance of a normal variable in the place of G, where G has no skewness.

    Notes
    -----
    Cumulant generating function ``K(t) = shift t - 1/2 sum log(1 - 2 t l_k) - shape log(1 - scale t) + normal t^2/2``.
    With ``K'(t) = x``, ``w = sign(t) sqrt(2 (t x - K))`` and ``v = t sqrt(K'')`` the tail is
    ``1 - Phi(w + log(v / w) / w)``. The relative error is bounded however small the tail is.

    References
    ----------
    Kuonen (1999), Biometrika 86.
    """

    weights: np.ndarray
    shift: float = 0.0
    scale: float = 0.0
    shape: float = 0.0
    normal: float = 0.0

    @classmethod
    def matched(cls, weights: np.ndarray, mean: float, variance: float, third: float) -> Self:
        """Take leading weights as they are, and a gamma variable for the rest, so that three moments are right.

        `mean`, `variance` and `third` (central moment) are those of the whole sum.
        """
        weights = np.asarray(weights, dtype=np.float64)
        variance -= 2 * float((weights**2).sum())
        third -= 8 * float((weights**3).sum())
        mean -= float(weights.sum())
        if variance <= 0:
            return cls(weights, mean)
        scale = third / (2 * variance)
        if len(weights):  # the rest must not have a heavier tail than what leads
            limit = 2 * float(np.abs(weights).min())
            scale = min(max(scale, -limit), limit)
        if abs(scale) < 1e-6 * math.sqrt(variance):
            return cls(weights, mean, normal=variance)
        shape = variance / scale**2
        return cls(weights, mean - shape * scale, scale, shape)

    @property
    def mean(self) -> float:
        """Mean of the sum."""
        return self.shift + float(self.weights.sum()) + self.shape * self.scale

    @property
    def variance(self) -> float:
        """Variance of the sum."""
        return 2 * float((self.weights**2).sum()) + self.shape * self.scale**2 + self.normal

    def tail(self, x: float) -> float:
        """P(sum >= x)."""
        standard = (x - self.mean) / math.sqrt(self.variance)
        if not self._reaches(x):
            return 0.0 if standard > 0 else 1.0
        t = self._solve(x)
        w, z = self._kuonen(t, x)
        if abs(w) < _NEAR_MEAN:  # a line through points on both sides
            step = 1e-2 * math.sqrt(self.variance)
            low, high = (self._kuonen(self._solve(self.mean + s), self.mean + s)[1] for s in (-step, step))
            z = low + (x - self.mean + step) / (2 * step) * (high - low)
        return float(_upper_tail(z))

    def _reaches(self, x: float) -> bool:
        """Tell whether x lies inside the support."""
        ends = np.append(self.weights, self.scale * self.shape)
        if self.normal > 0 or (ends.min() < 0 < ends.max()):
            return True
        return x > self.shift if ends.max() > 0 else x < self.shift

    def _poles(self) -> np.ndarray:
        """Weights whose inverses bound t: 2 l_k and the scale."""
        return np.concatenate([2 * self.weights, [self.scale] if self.shape else [], [0.0]])

    def _first(self, t: float) -> float:
        value = self.shift + float((self.weights / (1 - 2 * t * self.weights)).sum()) + self.normal * t
        return value + (self.shape * self.scale / (1 - self.scale * t) if self.shape else 0.0)

    def _second(self, t: float) -> float:
        value = float((2 * self.weights**2 / (1 - 2 * t * self.weights) ** 2).sum()) + self.normal
        return value + (self.shape * self.scale**2 / (1 - self.scale * t) ** 2 if self.shape else 0.0)

    def _cumulant(self, t: float) -> float:
        value = self.shift * t - 0.5 * float(np.log1p(-2 * t * self.weights).sum()) + 0.5 * self.normal * t * t
        return value - (self.shape * math.log1p(-self.scale * t) if self.shape else 0.0)

    def _solve(self, x: float) -> float:
        """Find t with K'(t) = x by bisection between the poles; K' increases."""
        poles, unit = self._poles(), 1 / math.sqrt(self.variance)
        low = 1 / poles.min() if poles.min() < 0 else -math.inf
        high = 1 / poles.max() if poles.max() > 0 else math.inf
        left, right = (low, 0.0) if x < self.mean else (0.0, high)
        while math.isinf(right):
            right, unit = (unit, 2 * unit) if self._first(unit) > x else (right, 2 * unit)
        while math.isinf(left):
            left, unit = (-unit, 2 * unit) if self._first(-unit) < x else (left, 2 * unit)
        for _ in range(_STEPS):
            middle = 0.5 * (left + right)
            if middle in (left, right):
                break
            left, right = (middle, right) if self._first(middle) < x else (left, middle)
        return left if right == high else right if left == low else 0.5 * (left + right)

    def _kuonen(self, t: float, x: float) -> tuple[float, float]:
        """Return w and the standard normal point whose tail is the answer."""
        w = math.copysign(math.sqrt(max(2 * (t * x - self._cumulant(t)), 0.0)), t)
        v = t * math.sqrt(self._second(t))
        return w, w + math.log(v / w) / w if w != 0 and v != 0 else 0.0


def _upper_tail(z: float) -> float:
    from scipy.special import ndtr  # imported when needed: the import of kernelcal stays light

    return float(ndtr(-z))
