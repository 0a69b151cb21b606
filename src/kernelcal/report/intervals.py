"""Intervals of shares and means over rows, in words; without case weights, which would widen them by no known rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelcal.statistics.coverage_result import binomial_interval

__all__ = ["NONE", "Intervals", "level_in_words", "percent"]

NONE = "none"
_ENOUGH = 20  # rows, for the normal law


def level_in_words(level: float) -> str:
    """Return ``95 %``."""
    return f"{100 * level:g} %"


def percent(share: float) -> str:
    """Return ``72.9 %``."""
    return f"{100 * share:.1f} %"


@dataclass(frozen=True)
class Intervals:
    """Intervals of one confidence level; none with case weights."""

    confidence_level: float
    weighted: bool

    def half(self, values: np.ndarray) -> float:
        """Half of the normal interval of a mean; NaN where there is none."""
        from scipy.special import ndtri  # imported when needed, as everywhere

        if self.weighted or len(values) < _ENOUGH or not np.isfinite(values).all():
            return math.nan
        return float(ndtri((1 + self.confidence_level) / 2) * values.std(ddof=1) / math.sqrt(len(values)))

    def mean(self, values: np.ndarray, shown: Callable[[float], str]) -> str:
        """Normal interval of a mean."""
        half = self.half(values)
        return NONE if math.isnan(half) else f"{shown(values.mean() - half)} to {shown(values.mean() + half)}"

    def share(self, hits: float, n: int) -> str:
        """Clopper-Pearson interval of a share."""
        if self.weighted:
            return NONE
        low, high = binomial_interval(np.array([hits]), n, self.confidence_level)
        return f"{percent(low[0])} to {percent(high[0])}"
