"""What the families for counts share: the exact inverse of a distribution function with steps."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, to_numpy
from kernelcal.predictions.border import finite_numbers, inside, refuse_rows
from kernelcal.predictions.real import Parametric, RealPredictions
from kernelcal.predictions.special_functions import count_below

__all__ = ["CountPredictions", "count_quantile", "mean_difference", "not_negative_numbers"]


_LARGEST = 1e15  # above 2**53 not every whole number exists in double precision
_STEP = 0.125  # of the trapezoidal rule: its error is about exp(-pi^2 / (2 step))
_REACH = 40.0  # in log s: beyond it less than 1e-17 of the integral is left
_FEW_DRAWS = 4  # a table of the distribution function takes two quantiles a row before it saves any


class CountPredictions(Parametric):
    """Predictions of whole numbers from 0.

    A subclass says its distribution function at whole numbers and its probabilities; the rest follows.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.Poisson([1.0, 2.0]).cdf([0, 1]).round(3)
    array([0.368, 0.406])
    """

    counts: ClassVar[bool] = True

    @abstractmethod
    def cumulative(self, k: np.ndarray) -> np.ndarray:
        """P(Y <= k) for whole numbers k from 0, shape (..., n)."""

    @abstractmethod
    def log_probability(self, k: np.ndarray) -> np.ndarray:
        """Logarithm of P(Y = k) for whole numbers k from 0, shape (..., n)."""

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y): constant between whole numbers, 0 below 0."""
        k = np.floor(to_numpy(as_array(y)))
        return np.where(k < 0, 0.0, self.cumulative(np.maximum(k, 0.0)))

    def cdf_below(self, y: Array) -> np.ndarray:
        """P(Y < y)."""
        return self.cdf(np.ceil(to_numpy(as_array(y))) - 1)

    def log_prob(self, y: Array) -> np.ndarray:
        """Logarithm of the probability, shape (..., n), in NumPy; -inf where a target is no whole number from 0."""
        values = to_numpy(as_array(y))
        k = np.maximum(np.floor(values), 0.0)
        return np.where(values == k, self.log_probability(k), -np.inf)

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Smallest count whose distribution function reaches the levels; level 1 is infinity."""
        return count_quantile(self, levels)

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the distribution function: whole numbers in float64, as targets are."""
        return _count_draw(self, uniforms)

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """A mean of 0 leaves only the count 0."""
        return (to_numpy(self.mean) <= 0) & (np.asarray(y) > 0)


def count_quantile(predictions: RealPredictions, levels: Any) -> np.ndarray:
    """Smallest counts k with cdf(k) >= level, for levels that broadcast with (..., n).

    From a normal approximation, corrected for skewness, the search steps outwards in steps that double and then
    halves the bracket: the result is exact for the given distribution function. Most entries cost two values of it.
    """
    shape = np.broadcast_shapes(levels.shape, (len(predictions),))
    flat = np.broadcast_to(levels, shape).ravel()
    rows = np.broadcast_to(np.arange(len(predictions)), shape).ravel()
    spread = to_numpy(predictions.std)[rows] > 0
    found = np.where(spread, 0.0, np.round(to_numpy(predictions.mean).astype(np.float64)[rows]))
    found[(flat >= 1) & spread] = np.inf
    inner = np.flatnonzero((flat > 0) & (flat < 1) & spread)
    found[inner] = _search(predictions, flat[inner], rows[inner])
    return found.reshape(shape)


def _count_draw(predictions: RealPredictions, uniforms: np.ndarray) -> np.ndarray:
    """Counts of shape (..., n) by inversion: the count is k exactly when cdf(k - 1) < u <= cdf(k).

    With many draws a row, the distribution function is computed once for all counts that any draw of a row can be.
    """
    flat = inside(uniforms).reshape(-1, uniforms.shape[-1])
    if len(flat) < _FEW_DRAWS:
        return count_quantile(predictions, flat).reshape(uniforms.shape)
    lowest, highest = (count_quantile(predictions, ends) for ends in (flat.min(axis=0), flat.max(axis=0)))
    width = int((highest - lowest).max())
    if width * len(predictions) > flat.size:
        return count_quantile(predictions, flat).reshape(uniforms.shape)
    steps = predictions.cdf(lowest + np.arange(width)[:, None])
    return (lowest + count_below(steps.T, flat)).reshape(uniforms.shape)


def _search(predictions: RealPredictions, levels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    low, high = np.full(levels.shape, -1.0), np.full(levels.shape, np.inf)  # cdf(low) < level <= cdf(high)
    tried, step, active = _guess(predictions, levels, rows), 1.0, np.arange(len(levels))
    while len(active):
        reached = predictions[rows[active]].cdf(tried) >= levels[active]
        high[active[reached]], low[active[~reached]] = tried[reached], tried[~reached]
        below, above = low[active], high[active]
        wide = above - below > np.maximum(1.0, 2 * np.spacing(np.abs(below)))  # counts beyond 2**53 have gaps
        active, below, above = active[wide], below[wide], above[wide]
        middle = np.floor((below + above) / 2)
        tried = np.where(np.isinf(above), below + step, np.maximum(above - step, middle))
        step *= 2
    return high


def _guess(predictions: RealPredictions, levels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Cornish-Fisher expansion; third over second central moment are as in the negative binomial family."""
    from scipy.special import ndtri

    mean, std = (to_numpy(x).astype(np.float64)[rows] for x in (predictions.mean, predictions.std))
    z = ndtri(levels)
    skew = 2 * std**2 / mean - 1
    return np.maximum(np.ceil(mean + std * z + skew * (z * z - 1) / 6 - 0.5), 0.0)


def not_negative_numbers(x: Any, what: str) -> Array:
    """Numbers of shape (n,) from 0 to 1e15."""
    array = finite_numbers(x, what, ndim=1)
    values = concrete(array)
    if values is not None:
        refuse_rows(values < 0, what, values, "a number that is not negative (is it a logarithm?)")
        refuse_rows(values > _LARGEST, what, values, f"at most {_LARGEST:g}: larger whole numbers are not exact")
    return array


def mean_difference(log_square: Callable[[float], np.ndarray], variance: np.ndarray) -> np.ndarray:
    """``E|X - X'|`` for two independent counts, from the logarithm of ``|E exp(i t X)|^2`` at ``(1 - cos t) / 2``.

    For whole d, ``|d| = (1/pi) int_0^pi (1 - cos(d t)) / (1 - cos t) dt`` (Fejer's kernel), so the expectation takes
    the squared modulus of the characteristic function. With s = tan(t/2) = e^x the integrand decays on both sides, and
    the trapezoidal rule converges exponentially.
    """
    total = np.zeros_like(variance)
    for x in np.arange(-_REACH - 0.5 * math.log1p(float(variance.max())), _REACH, _STEP):
        s = math.exp(x)
        total -= np.expm1(log_square(s * s / (1 + s * s))) / s
    return total * _STEP / math.pi
