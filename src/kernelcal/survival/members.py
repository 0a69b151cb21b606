"""Statistics of the test: how often events come, when, for whom, and whether risks are too extreme."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernelcal.survival.curves import SurvivalCurves
from kernelcal.survival.data import Survival
from kernelcal.survival.residuals import WEIGHTS

__all__ = ["NAMES", "Members", "log_hazards"]


NAMES = ("how often", "when", "for whom and when", "for whom", "risk too extreme")
_LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
_LANDMARKS = 50
_KEPT = 0.999  # share of the kernel's trace that the features keep
_FARTHEST = 7.0  # of the logarithm of a cumulative hazard: exp(-7) is one event in a thousand


@dataclass(frozen=True, eq=False)
class Members:
    """What is known of the predictions, and the statistics of the residual features beside them.

    Everything here is a function of the predictions alone, so that redrawn outcomes are exchangeable with those seen.

    Attributes
    ----------
    features : numpy.ndarray of shape (n, r)
        Features of a Gaussian kernel between predictions (Nystroem, at most 50 landmarks).
    ranks : numpy.ndarray of shape (n,)
        Ranks of the predicted risk, from -1 to 1.
    slope : numpy.ndarray of shape (n,)
        The same less their mean over expected events, so that a common factor of all hazards hardly moves their sum.
    late : float
        What is taken from the second residual feature, in units of the first, for the same reason.
    """

    features: np.ndarray
    ranks: np.ndarray
    slope: np.ndarray
    late: float

    @classmethod
    def of(cls, seen: Survival, censoring: np.ndarray) -> Members:
        """Compare predictions by the logarithms of their cumulative hazards at five times that all share.

        `censoring` holds the cumulative hazards at the censoring times.
        """
        places = log_hazards(seen)
        risk = places[:, places.shape[1] // 2]
        places_of = np.argsort(np.argsort(risk, kind="stable"), kind="stable")
        equal = np.unique(risk, return_inverse=True)[1].reshape(len(risk))
        of_equal = (np.bincount(equal, places_of) / np.bincount(equal))[equal]  # the mean place of equal risks
        ranks = 2 * of_equal / max(len(risk) - 1, 1) - 1
        chance = -np.expm1(-censoring)  # of an event before censoring, which is its expected number too
        total = max(float(chance.sum()), 1e-300)
        late = math.sqrt(3) * float((chance**2 - chance).sum()) / total
        return cls(_features(places, risk), ranks, ranks - float(ranks @ chance) / total, late)

    def values(self, residuals: np.ndarray) -> np.ndarray:
        r"""Statistics of residual features, shape (b, n, k); returns shape (members, b).

        Notes
        -----
        Sums over pairs of different rows, ``sum_{i != j} k(P_i, P_j) sum_k w_k M_ik M_jk / V_k``, with the kernel 1
        ("when") and a Gaussian one ("for whom and when"); V_k is the mean of the squares of the same outcomes, so that
        times that vary less than predicted are seen, too. With the constant function alone and no division it is "for
        whom". The others are ``|sum M_i0|`` and ``|sum s_i M_i0|`` with the slope s.
        """
        counts, whole = residuals[..., 0], residuals[..., 0].sum(axis=1)
        squares = residuals**2
        size = squares.sum(axis=1)
        weights = WEIGHTS / np.maximum(size, 1e-300)
        when = ((residuals.sum(axis=1) ** 2 - size) * weights).sum(axis=1)
        pairs = (np.matmul(self.features.T, residuals) ** 2).sum(axis=1) - (self.features**2).sum(axis=1) @ squares
        both = (pairs * weights).sum(axis=1)
        return np.array([np.abs(whole), when, both, pairs[:, 0], np.abs(counts @ self.slope)])

    def signed(self, residuals: np.ndarray) -> np.ndarray:
        """How often, how late, and where risk is high: sums with a sign, shape (3, b)."""
        whole = residuals.sum(axis=1)
        return np.array([whole[:, 0], whole[:, 1] - self.late * whole[:, 0], residuals[..., 0] @ self.slope])


def log_hazards(seen: Survival) -> np.ndarray:
    """Logarithms of predicted cumulative hazards at times of the predictions, shape (n, at most 5)."""
    law = seen.law
    quantiles = (law.quantile(level) for level in _LEVELS)
    times = np.unique([min(float(np.median(q)), seen.end) for q in quantiles])
    if isinstance(law, SurvivalCurves) and len(times) == 1:
        times = law.times[np.unique(np.linspace(0, len(law.times) - 1, len(_LEVELS)).round().astype(int))]
    with np.errstate(divide="ignore"):
        logs = np.stack([np.log(seen.hazard_at(t)) for t in times], axis=1)
    return np.clip(logs, -_FARTHEST, _FARTHEST)


def _features(places: np.ndarray, risk: np.ndarray) -> np.ndarray:
    """Nystroem features at landmarks spread over the order of the risk, whatever the outcomes."""
    n = len(places)
    order = np.argsort(risk, kind="stable")
    marks = np.unique(places[order[np.linspace(0, n - 1, min(n, _LANDMARKS)).round().astype(int)]], axis=0)
    distances = _squares(places, marks)
    apart = distances[distances > 0]
    if len(apart) == 0:
        return np.ones((n, 1))
    wide = 2 * float(np.median(apart))
    values, vectors = np.linalg.eigh(np.exp(-_squares(marks, marks) / wide))
    large = values > 1e-8 * values[-1]
    features = np.exp(-distances / wide) @ (vectors[:, large] / np.sqrt(values[large]))
    spread, turned = np.linalg.eigh(features.T @ features)
    spread, turned = spread[::-1], turned[:, ::-1]
    kept = int(np.searchsorted(np.cumsum(spread), _KEPT * spread.sum())) + 1
    return np.asarray(features @ turned[:, :kept])


def _squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(((a[:, None] - b[None]) ** 2).sum(axis=-1))
