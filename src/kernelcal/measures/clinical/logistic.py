"""Calibration intercept and slope, the ratio of observed to expected outcomes: logistic recalibration, and its mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.measures.base import Measure, PreparedMeasure, positive_probabilities

__all__ = ["CalibrationIntercept", "CalibrationSlope", "ObservedExpected", "fitted_intercepts", "fitted_lines"]

_CLIP = 1e-10  # of probabilities: certain ones have infinite log-odds
_STEPS, _CLOSE = 200, 1e-10
_LEAP = 20.0  # in standard deviations of log-odds, at most a step
CERTAIN = "probabilities of 0 and 1 count as 1e-10 and 1 - 1e-10: their log-odds are infinite"


def log_odds(p: np.ndarray) -> np.ndarray:
    """Logarithm of p / (1 - p), of certain predictions that of 1e-10."""
    held = np.clip(p, _CLIP, 1 - _CLIP)
    return np.asarray(np.log(held) - np.log1p(-held))


def expit(x: np.ndarray) -> np.ndarray:
    """Probability of log-odds."""
    from scipy.special import expit as of  # imported when needed: the import of kernelcal stays light

    return np.asarray(of(x))


def fitted_intercepts(x: np.ndarray, weights: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Numbers a with ``sum w expit(x + a) = total``, one a total; infinite where the total is none or all.

    Newton's steps, held between ends that enclose the solution, for all totals at once. Cost: O(n) a total and step.
    """
    different, back = np.unique(totals, return_inverse=True)
    whole = float(weights.sum())
    # Beyond these every probability is on one side of the share that is asked for
    with np.errstate(divide="ignore"):
        share = np.log(np.maximum(different, 0.0)) - np.log(np.maximum(whole - different, 0.0))
    low, high = share - x.max(), share - x.min()
    a = np.clip(np.zeros(len(different)), low, high)
    inside = (different > 1e-12 * whole) & (different < (1 - 1e-12) * whole)
    result = np.where(different <= 0.5 * whole, -np.inf, np.inf)
    for _ in range(_STEPS):
        todo = np.flatnonzero(inside)
        if not len(todo):
            break
        worst = 0.0
        for part in np.array_split(todo, max(1, len(todo) * len(x) // 2**22)):
            q = expit(x + a[part, None])
            gap, slope = q @ weights - different[part], (q * (1 - q)) @ weights
            low[part], high[part] = np.where(gap < 0, a[part], low[part]), np.where(gap >= 0, a[part], high[part])
            with np.errstate(divide="ignore", invalid="ignore"):
                step = a[part] - gap / slope
            held = np.isfinite(step) & (step > low[part]) & (step < high[part])
            new = np.where(held, step, (low[part] + high[part]) / 2)
            worst = max(worst, float(np.abs(new - a[part]).max()))
            a[part] = new
        if worst < _CLOSE:
            break
    result[inside] = a[inside]
    return np.asarray(result[back])


def fitted_lines(x: np.ndarray, weights: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Intercepts and slopes of logistic regressions of targets (B, n) on x: shape (B, 2).

    The slope is infinite where outcomes are separated, and NaN where all are alike.
    """
    y = np.asarray(targets, dtype=np.float64)
    total, whole = y @ weights, float(weights.sum())
    alike = (total <= 0) | (total >= whole)
    seen = x[weights > 0]
    spread = bool(np.ptp(seen) > 0)
    centre, scale = (float(weights @ x / whole), float(seen.std())) if spread else (0.0, 1.0)
    z = (x - centre) / scale if spread else x
    sign = _separated(x, y, weights)
    beta = np.tile([centre, scale], (len(y), 1))
    going = np.flatnonzero(~alike & (sign == 0)) if spread else np.zeros(0, dtype=int)
    beta[going] = _climbed(z, weights, y[going], beta[going])
    slope = np.where(sign == 0, beta[:, 1] / scale, np.inf * np.where(sign == 0, 1.0, sign))
    finite = np.isfinite(slope)  # of separated outcomes the intercept has no value
    intercept = np.where(finite, beta[:, 0] - np.where(finite, slope, 0.0) * centre, np.nan)
    found = np.stack([intercept, slope], axis=1)
    found[alike | ~np.array(spread)] = np.nan
    return found


def _climbed(z: np.ndarray, weights: np.ndarray, y: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Most likely lines (B, 2) of outcomes that are neither alike nor separated: the likelihood has one summit.

    Newton's steps from the start, or from the flat line where that is more likely: predictions that are far too sure
    have next to no curvature. A step after which the likelihood is lower is halved.
    """
    share = y @ weights / weights.sum()
    flat = np.stack([np.log(share) - np.log1p(-share), np.zeros(len(y))], axis=1)
    best = np.where((_likelihood(z, weights, y, flat) > _likelihood(z, weights, y, start))[:, None], flat, start)
    height, step = np.full(len(y), -np.inf), np.zeros_like(best)
    going = np.arange(len(y))
    for _ in range(_STEPS):
        if not len(going):
            break
        tried = best[going] + step[going]
        found = _likelihood(z, weights, y[going], tried)
        lower = found < height[going] - 1e-12 * np.abs(height[going])
        best[going] = np.where(lower[:, None], best[going], tried)
        height[going] = np.where(lower, height[going], found)
        q = expit(tried[:, :1] + tried[:, 1:] * z)
        v, r = weights * q * (1 - q), weights * (y[going] - q)
        a, b, c, g, h = v.sum(axis=1), v @ z, v @ z**2, r.sum(axis=1), r @ z
        det = np.maximum(a * c - b * b, 1e-14 * a * c + 1e-300)  # rounded: the direction still goes up
        newton = np.stack([c * g - b * h, a * h - b * g], axis=1) / det[:, None]
        newton *= np.minimum(1.0, _LEAP / np.maximum(np.abs(newton).max(axis=1), 1e-300))[:, None]
        step[going] = np.where(lower[:, None], step[going] / 2, newton)
        going = going[np.abs(step[going]).max(axis=1) >= _CLOSE]
    return np.asarray(best)


def _likelihood(z: np.ndarray, weights: np.ndarray, y: np.ndarray, beta: np.ndarray) -> np.ndarray:
    eta = beta[:, :1] + beta[:, 1:] * z
    return np.asarray((y * eta - np.logaddexp(0, eta)) @ weights)


def _separated(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sign of the infinite slope of outcomes that x separates, touching at most; 0 of others, shape (B,)."""
    seen = weights > 0
    x, event = x[seen], y[:, seen] > 0.5
    highest, lowest = (np.where(event, np.inf * s, x) for s in (-1, 1))
    up, down = highest.max(axis=1), lowest.min(axis=1)  # of rows without the outcome
    highest, lowest = (np.where(event, x, np.inf * s) for s in (-1, 1))
    above, below = highest.max(axis=1), lowest.min(axis=1)
    return np.where(up <= below, 1.0, 0.0) - np.where(above <= down, 1.0, 0.0)


class _Recalibrated(PreparedMeasure):
    """What measures of log-odds share."""

    def __init__(self, measure: Measure, predictions: Any, weights: np.ndarray | None) -> None:
        self.p = positive_probabilities(predictions)
        certain = bool(((self.p < _CLIP) | (self.p > 1 - _CLIP)).any())
        super().__init__(measure, notes=(CERTAIN,) if certain else (), bytes_per_draw=64 * len(self.p))
        self.x = log_odds(self.p)
        self.w = np.ones(len(self.p)) if weights is None else weights

    def _mean(self, values: np.ndarray) -> np.ndarray:
        """Weighted mean over rows, along the first axis."""
        return np.asarray(self.w @ values / self.w.sum())

    def _most(self, confidence_level: float) -> float:
        """Weighted number of events that may be expected where none was seen."""
        return -math.log((1 - confidence_level) / 2) * float(self.w.max())


class _PreparedIntercept(_Recalibrated):
    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Intercepts: they depend on the number of outcomes alone."""
        return fitted_intercepts(self.x, self.w, np.asarray(targets, dtype=np.float64) @ self.w)

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """``(y - q) / mean(q (1 - q))``, q the probabilities with the intercept."""
        q = expit(self.x + self.measured(targets[None])[0])
        return np.asarray((targets - q) / self._mean(q * (1 - q)))

    def one_sided(self, targets: np.ndarray, confidence_level: float) -> tuple[float, float] | None:
        """Without an event, or with events alone: the intercept of so many as may be expected then."""
        whole, total, most = float(self.w.sum()), float(self.w @ targets), self._most(confidence_level)
        if 0 < total < whole:
            return None
        end = float(fitted_intercepts(self.x, self.w, np.array([most if total == 0 else whole - most]))[0])
        return (-math.inf, end) if total == 0 else (end, math.inf)


class _PreparedSlope(_Recalibrated):
    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Slopes."""
        return fitted_lines(self.x, self.w, targets)[:, 1]

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """The second one of ``I^{-1} (1, x) (y - q)``, I the information of a row."""
        a, b = fitted_lines(self.x, self.w, targets[None])[0]
        if not np.isfinite(b):
            return np.full(len(self.x), np.nan)
        q = expit(a + b * self.x)
        v = q * (1 - q)
        centred = self.x - self._mean(v * self.x) / self._mean(v)
        return np.asarray(centred * (targets - q) / self._mean(v * centred**2))


class _PreparedRatio(_Recalibrated):
    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Ratios of weighted numbers."""
        expected = float(self.w @ self.p)
        observed = np.asarray(targets, dtype=np.float64) @ self.w
        return observed / expected if expected > 0 else np.full(len(targets), np.nan)

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """``(y - ratio p) / mean(p)``."""
        return np.asarray((targets - self.measured(targets[None])[0] * self.p) / self._mean(self.p))

    def one_sided(self, targets: np.ndarray, confidence_level: float) -> tuple[float, float] | None:
        """Without an event: so many as may be expected then, over those that were."""
        expected = float(self.w @ self.p)
        return (0.0, self._most(confidence_level) / expected) if expected > 0 and self.w @ targets == 0 else None


@dataclass(frozen=True)
class CalibrationIntercept(Measure):
    """Calibration in the large: the intercept a of ``logit P(Y = 1) = a + logit p``, the slope held at 1.

    0 where as many outcomes happen as predicted, above 0 where more do.

    Notes
    -----
    Infinite where no outcome happened, or every one. Cost: O(n) for every number of outcomes that occurs.

    References
    ----------
    Cox (1958); Steyerberg (2009), Clinical prediction models, section 15.3.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.measures.CalibrationIntercept()([0, 1, 1, 0], [0.2, 0.6, 0.7, 0.1])), 4)
    0.5673
    """

    name: ClassVar[str] = "calibration intercept"
    ideal: ClassVar[float | None] = 0.0
    signed: ClassVar[bool] = True

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Take the log-odds of the predictions."""
        return _PreparedIntercept(self, predictions, weights)


@dataclass(frozen=True)
class CalibrationSlope(Measure):
    """The slope b of ``logit P(Y = 1) = a + b logit p``: below 1 where predictions are too extreme.

    Notes
    -----
    Infinite where the outcomes are separated by the predictions, not defined where all outcomes, or all predictions,
    are alike. Cost: O(n) a step of Newton's method, of which some ten are made.

    References
    ----------
    Cox (1958); Miller, Langefeld, Tierney, Hui, McDonald (1993).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> x = np.linspace(-2, 2, 1000)
    >>> y = np.random.default_rng(0).random(1000) < 1 / (1 + np.exp(-x))
    >>> kc.measures.CalibrationSlope()(y, 1 / (1 + np.exp(-2 * x))) < 0.6
    True
    """

    name: ClassVar[str] = "calibration slope"
    ideal: ClassVar[float | None] = 1.0
    signed: ClassVar[bool] = True

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Take the log-odds of the predictions."""
        return _PreparedSlope(self, predictions, weights)


@dataclass(frozen=True)
class ObservedExpected(Measure):
    """Outcomes that happened over those that were expected, ``sum y / sum p``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.measures.ObservedExpected()([0, 1, 1, 0], [0.2, 0.6, 0.7, 0.1])), 4)
    1.25
    """

    name: ClassVar[str] = "observed to expected"
    ideal: ClassVar[float | None] = 1.0
    signed: ClassVar[bool] = True
    scale: ClassVar[str] = "log"

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Add the predictions up."""
        return _PreparedRatio(self, predictions, weights)
