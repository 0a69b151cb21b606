"""Threshold-weighted CRPS: the score of what happens between two thresholds, such as above a warning level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.measures.forecasting.scores import Rows, ScoreMeasure, of_one_number
from kernelcal.predictions import Normal, Samples, trusted

__all__ = ["ThresholdCRPS"]


_ORDER = 16
_COUNTS = 2**24  # values of a distribution function of counts that are held


@dataclass(frozen=True, kw_only=True)
class ThresholdCRPS(ScoreMeasure):
    """Threshold-weighted CRPS: the integral of ``(F(x) - 1[y <= x])^2`` from `lower` to `upper`.

    The CRPS of predictions and outcomes that are moved to the nearer end where they lie outside.

    Parameters
    ----------
    lower, upper : float
        Thresholds, in the unit of the target; ``lower`` alone asks about large outcomes.

    Raises
    ------
    InputError
        Without a threshold, for thresholds that are no interval, and predictions that are not of one number.

    Notes
    -----
    Exact up to rounding for `Normal`, `Samples` and counts. Other families: Gauss-Legendre rules between quantiles and
    kinks of the distribution function, relative error about 1e-9. It is proper, unlike a score of those rows alone
    whose outcome is large.

    References
    ----------
    Gneiting, Ranjan (2011), Comparing density forecasts using threshold- and quantile-weighted scoring rules; Allen,
    Ginsbourger, Ziegel (2023), Evaluating forecasts for high-impact events using transformed kernel scores.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.measures.forecasting import ThresholdCRPS
    >>> round(float(ThresholdCRPS(lower=1.0)([2.0], kc.Normal([0.0], [1.0]))), 6)
    0.857586
    """

    name: ClassVar[str] = "threshold-weighted CRPS"
    serves: ClassVar[str] = "predictions of one number"

    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            end = getattr(self, name)
            if isinstance(end, bool) or not isinstance(end, int | float | np.number) or math.isnan(end):
                raise InputError(f"{name} must be a number in the unit of the target, or be left out, got {end!r}")
        if not self.lower < self.upper:
            raise InputError(f"lower must lie below upper, got {self.lower:g} and {self.upper:g}")
        object.__setattr__(self, "name", type(self).name + self._where)

    @property
    def _where(self) -> str:
        """Where outcomes count, for the name."""
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            return f" from {self.lower:g} to {self.upper:g}"
        above = f" above {self.lower:g}" if math.isfinite(self.lower) else ""
        return f" below {self.upper:g}" if math.isfinite(self.upper) else above

    def takes(self, predictions: Any) -> bool:
        """Tell whether predictions are of one number, and there is a threshold: without one it is the CRPS."""
        return of_one_number(predictions) and bool(self._where)

    def refuse(self, predictions: Any) -> None:
        """Refuse predictions that are not of one number, and to be the CRPS by another name."""
        if not self._where and of_one_number(predictions):
            raise InputError("the threshold-weighted CRPS asks for a threshold: say twcrps(lower=20), or take the CRPS")
        super().refuse(predictions)

    def score(self, predictions: Any) -> tuple[Rows, tuple[str, ...]]:
        """Score of every row as a function of the targets."""
        a, b = float(self.lower), float(self.upper)
        if isinstance(predictions, Samples):
            moved = trusted(predictions, draws=np.clip(to_numpy(predictions.draws).astype(np.float64), a, b))
            return lambda y: moved.crps(np.clip(y.astype(np.float64), a, b)), ()
        if isinstance(predictions, Normal):
            return _normal(predictions, a, b), ()
        return (_counts if predictions.counts else _continuous)(predictions, a, b), ()


def _normal(predictions: Normal, a: float, b: float) -> Rows:
    """``int Phi^2 = z Phi^2 + 2 Phi phi - Phi(sqrt(2) z) / sqrt(pi)``, and of ``1 - Phi(z) = Phi(-z)`` the same."""
    from scipy.special import ndtr

    mean, std = (to_numpy(x).astype(np.float64) for x in (predictions.mean, predictions.std))

    def upto(x: np.ndarray | float, sign: float) -> np.ndarray:
        z = sign * (np.asarray(x, dtype=np.float64) - mean) / std
        finite = np.where(np.isfinite(z), z, 0.0)
        share, density = ndtr(finite), np.exp(-(finite**2) / 2) / math.sqrt(2 * math.pi)
        found = finite * share**2 + 2 * share * density - ndtr(math.sqrt(2) * finite) / math.sqrt(math.pi)
        return np.where(np.isfinite(z), found, 0.0)  # of -inf, the only infinite end that is asked for

    def rows(y: np.ndarray) -> np.ndarray:
        at = np.clip(y, a, b)
        return np.asarray(std * (upto(at, 1) - upto(a, 1) + upto(at, -1) - upto(b, -1)))

    return rows


def _continuous(predictions: Any, a: float, b: float) -> Rows:
    """Integrals of F^2 and (1 - F)^2 between quantiles and kinks once, and up to the outcome for every target."""
    edges = np.clip(np.sort(predictions.breaks(), axis=0), a, b)
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    n = edges.shape[1]

    def between(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signed integrals of F^2 and (1 - F)^2 of every row, (n,)."""
        half = (end - start) / 2
        x = start + half * (1 + nodes[:, None])
        cdf = np.asarray(predictions.cdf(x), dtype=np.float64)
        return half * (weights @ cdf**2), half * (weights @ (1 - cdf) ** 2)

    pieces = np.array([between(start, end) for start, end in pairwise(edges)])
    below = np.concatenate([np.zeros((1, n)), np.cumsum(pieces[:, 0], axis=0)])
    above = np.concatenate([np.cumsum(pieces[::-1, 1], axis=0)[::-1], np.zeros((1, n))])
    every = np.arange(n)

    def rows(y: np.ndarray) -> np.ndarray:
        at = np.clip(y.astype(np.float64), a, b)
        k = np.clip((edges <= at).sum(axis=0) - 1, 0, len(edges) - 1)
        first, second = between(edges[k, every], at)
        return np.asarray(below[k, every] + first + above[k, every] - second)

    return rows


def _counts(predictions: Any, a: float, b: float) -> Rows:
    """F is constant from one count to the next: sums of what lies between the thresholds, looked up."""
    first = math.floor(max(a, 0.0)) if a > 0 else 0
    last = int(np.asarray(predictions.quantile(1 - 1e-15)).max()) + 1
    last = max(min(last, math.ceil(b)), first + 1) if math.isfinite(b) else max(last, first + 1)
    n = len(predictions)
    if (last - first + 1) * n > _COUNTS:
        raise InputError(
            f"the threshold-weighted CRPS of counts holds every count of every row, here {(last - first + 1) * n:,}: "
            "set upper=, or measure fewer rows"
        )
    k = np.arange(first, last + 1, dtype=np.float64)
    length = np.clip(k + 1, a, b) - np.clip(k, a, b)
    cdf = np.stack([np.asarray(predictions.cdf(np.full(n, one)), dtype=np.float64) for one in k])
    below = np.concatenate([np.zeros((1, n)), np.cumsum(length[:, None] * cdf**2, axis=0)])
    above = np.concatenate([np.cumsum((length[:, None] * (1 - cdf) ** 2)[::-1], axis=0)[::-1], np.zeros((1, n))])
    every = np.arange(n)

    def rows(y: np.ndarray) -> np.ndarray:
        place = np.clip(y - first, 0, len(k)).astype(np.int64)
        far = np.maximum(np.clip(y, a, b) - np.clip(last + 1.0, a, b), 0)  # F is 1 beyond the last count
        return np.asarray(below[place, every] + above[place, every] + far)

    return rows
