"""Tails of sums of weighted chi-square variables: exact where they are one gamma variable, else by saddlepoint."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

__all__ = ["ChiSquareSum", "pearson_tail"]


_NEAR_MEAN = 1e-4  # of |w|: there the formula is 0/0, and the line through both sides is used
_STEPS = 200
_EQUAL = 1e-12  # of scales: sums of gamma variables of one scale are one such variable
_ALMOST_NORMAL = 2e-5  # skewness: below, the argument of the incomplete gamma function holds too few digits


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

    One weight, equal weights, and G beside weights of half its scale are one gamma variable, and a normal variable
    alone has its own law: their tails are those of SciPy, exact to rounding. Weights within rounding of 0 count as 0.

    References
    ----------
    Kuonen (1999), Biometrika 86.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.inference import ChiSquareSum
    >>> law = ChiSquareSum(np.array([1.0]))
    >>> round(law.tail(3.841458820694124), 6), law.mean
    (0.05, 1.0)
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

    def standardised(self, x: float) -> float:
        """Return x less the mean, over the standard deviation, where squares of the weights underflow too."""
        unit = self._unit
        if unit == 0:
            return 0.0 if x == self.shift else math.copysign(math.inf, x - self.shift)
        law = self._in_units_of(unit)
        return (x / unit - law.mean) / math.sqrt(law.variance)

    @property
    def _unit(self) -> float:
        """Size of the largest part, 0 if the sum is a constant."""
        gamma = self.scale if self.shape else 0.0
        return float(np.abs([*self.weights, gamma, math.sqrt(self.normal)]).max(initial=0.0))

    def tail(self, x: float) -> float:
        """P(sum >= x)."""
        unit = self._unit
        if unit == 0:
            return 1.0 if x <= self.shift else 0.0
        return self._in_units_of(unit)._tail(x / unit)

    def _in_units_of(self, unit: float) -> Self:
        """Return the law of the sum over a unit, in which no square is lost, without weights that are rounding."""
        weights = self.weights / unit
        weights = weights[np.abs(weights) > len(weights) * np.finfo(np.float64).eps]
        return replace(
            self, weights=weights, shift=self.shift / unit, scale=self.scale / unit, normal=self.normal / unit / unit
        )

    def _tail(self, x: float) -> float:
        found = self._exact(x)
        if found is not None:
            return found
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

    def _exact(self, x: float) -> float | None:
        """Tail where the sum is a normal variable, or one gamma variable of shape ``k / 2 + shape``; None elsewhere."""
        scales = np.append(2 * self.weights, [self.scale] * (self.shape > 0))
        if self.normal > 0:
            return None if len(scales) else _upper_tail((x - self.shift) / math.sqrt(self.normal))
        scale = float(scales[0])
        if np.any(np.abs(scales - scale) > _EQUAL * abs(scale)):
            return None
        return _gamma_tail((x - self.shift) / scale, 0.5 * len(self.weights) + self.shape, above=scale > 0)

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


def pearson_tail(standard: float, skewness: float) -> float:
    """P(Z >= z) of a Pearson type III variable of mean 0, variance 1 and a skewness of any sign.

    It is a gamma variable of shape ``4 / skewness^2``, shifted and scaled, and its negative where the skewness is.
    Below a skewness of 2e-5 the expansion of Cornish and Fisher takes its place, whose error is of the third power.

    Examples
    --------
    >>> from kernelcal.inference.laws.chi_square import pearson_tail
    >>> round(pearson_tail(1.0, 2.0), 12)  # an exponential variable less its mean: exp(-2)
    0.135335283237
    """
    if abs(skewness) < _ALMOST_NORMAL:
        z = standard
        return _upper_tail(z - skewness * (z * z - 1) / 6 + skewness**2 * z * (7 * z * z - 1) / 144)
    shape = 4 / skewness**2
    return _gamma_tail(shape + 2 / skewness * standard, shape, above=skewness > 0)


def _gamma_tail(point: float, shape: float, *, above: bool) -> float:
    """P(G >= point) of a gamma variable of scale 1, or P(G <= point)."""
    from scipy.special import gammainc, gammaincc

    return float((gammaincc if above else gammainc)(shape, max(point, 0.0)))
