"""Central intervals of forecasts: their score with its parts, and how often they hold the outcome."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.errors import InputError
from kernelcal.measures.forecasting.scores import PreparedScore, Rows, ScoreMeasure, of_one_number
from kernelcal.predictions import SAME_LEVEL, Quantiles

__all__ = ["IntervalCoverage", "IntervalOver", "IntervalScore", "IntervalUnder", "IntervalWidth"]


@dataclass(frozen=True, kw_only=True)
class _OfInterval(ScoreMeasure):
    """What is measured of the interval between the quantiles ``(1 - level) / 2`` and ``(1 + level) / 2``."""

    serves: ClassVar[str] = "predictions of one number"

    level: float = 0.9

    def __post_init__(self) -> None:
        level = self.level
        if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, such as 0.9 for 90 %, got {level!r}")
        object.__setattr__(self, "name", f"{type(self).name} of {100 * level:g} %")

    def takes(self, predictions: Any) -> bool:
        """Tell whether predictions are of one number."""
        return of_one_number(predictions)

    @property
    def ends(self) -> tuple[float, float]:
        """Levels of both ends, without the rounding of 1 - level."""
        return float(np.round((1 - self.level) / 2, 12)), float(np.round((1 + self.level) / 2, 12))

    @abstractmethod
    def of_interval(self, y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """What every row has, from targets and both ends."""

    def score(self, predictions: Any) -> tuple[Rows, tuple[str, ...]]:
        """What every row has as a function of the targets."""
        absent = [tau for tau in self.ends if not _given(predictions, tau)]
        low, high = (_quantile(predictions, tau) for tau in self.ends)
        names = " and ".join(f"{tau:g}" for tau in absent)
        notes = (f"{self.name}: the quantiles {names} were not given: they are interpolated",)
        return lambda y: self.of_interval(y, low, high), notes if absent else ()


def _given(predictions: Any, tau: float) -> bool:
    return not isinstance(predictions, Quantiles) or bool(np.abs(predictions.levels - tau).min() <= SAME_LEVEL)


def _quantile(predictions: Any, tau: float) -> np.ndarray:
    exact = isinstance(predictions, Quantiles) and _given(predictions, tau)
    return np.asarray(predictions.at(tau) if exact else predictions.quantile(tau), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class IntervalScore(_OfInterval):
    """Interval score: width, and what the outcome lies outside, times ``2 / alpha`` with alpha = 1 - level.

    ``(u - l) + 2 / alpha (l - y)+ + 2 / alpha (y - u)+``: the sum of `IntervalWidth`, `IntervalOver` and
    `IntervalUnder`; smaller is better.

    Parameters
    ----------
    level : float
        Of the central interval, 0.9 for 90 %.

    Raises
    ------
    InputError
        For a level outside (0, 1), and predictions that are not of one number.

    Notes
    -----
    The score of Winkler. Ends are quantiles of the prediction, of an ensemble those of its members; where quantile
    forecasts were not given them they are interpolated, and that is said.

    References
    ----------
    Winkler (1972); Gneiting, Raftery (2007), section 6.2.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.measures.forecasting import IntervalScore
    >>> forecasts = kc.Quantiles([[1.0, 2.0, 4.0]], [0.1, 0.5, 0.9])
    >>> float(IntervalScore(level=0.8)([5.0], forecasts))  # 3 + 10 (5 - 4)
    13.0
    """

    name: ClassVar[str] = "interval score"

    def of_interval(self, y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Width and misses."""
        return np.asarray(high - low + 1 / self.ends[0] * (np.maximum(low - y, 0) + np.maximum(y - high, 0)))


@dataclass(frozen=True, kw_only=True)
class IntervalWidth(_OfInterval):
    """Mean width of central intervals, sharpness: a part of `IntervalScore` that no outcome changes.

    Parameters
    ----------
    level : float
        Of the central interval, 0.9 for 90 %.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.measures.forecasting import IntervalWidth
    >>> round(float(IntervalWidth(level=0.5)([0.0], kc.Normal([0.0], [1.0]))), 4)
    1.349
    """

    name: ClassVar[str] = "interval width"
    proper: ClassVar[bool] = False

    def of_interval(self, y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Width."""
        return np.broadcast_to(high - low, y.shape)


@dataclass(frozen=True, kw_only=True)
class IntervalOver(_OfInterval):
    """Overprediction: the part ``2 / alpha (l - y)+`` of `IntervalScore`, of outcomes below their intervals.

    Parameters
    ----------
    level : float
        Of the central interval, 0.9 for 90 %.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.measures.forecasting import IntervalOver
    >>> float(IntervalOver(level=0.8)([0.5], kc.Quantiles([[1.0, 2.0, 4.0]], [0.1, 0.5, 0.9])))
    5.0
    """

    name: ClassVar[str] = "overprediction"
    scale: ClassVar[str] = "log"
    proper: ClassVar[bool] = False

    def of_interval(self, y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Misses below."""
        return np.asarray(1 / self.ends[0] * np.maximum(low - y, 0))


@dataclass(frozen=True, kw_only=True)
class IntervalUnder(_OfInterval):
    """Underprediction: the part ``2 / alpha (y - u)+`` of `IntervalScore`, of outcomes above their intervals.

    Parameters
    ----------
    level : float
        Of the central interval, 0.9 for 90 %.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.measures.forecasting import IntervalUnder
    >>> float(IntervalUnder(level=0.8)([5.0], kc.Quantiles([[1.0, 2.0, 4.0]], [0.1, 0.5, 0.9])))
    10.0
    """

    name: ClassVar[str] = "underprediction"
    scale: ClassVar[str] = "log"
    proper: ClassVar[bool] = False

    def of_interval(self, y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Misses above."""
        return np.asarray(1 / self.ends[0] * np.maximum(y - high, 0))


class _PreparedCells(PreparedScore):
    """Of quantile forecasts whether the outcome lies inside is known from its cell, which is what is redrawn."""

    by_cells = True


@dataclass(frozen=True, kw_only=True)
class IntervalCoverage(_OfInterval):
    """Share of outcomes inside central intervals or at their ends.

    Parameters
    ----------
    level : float
        Of the central interval, 0.9 for 90 %: what is expected is the level, for ensembles of few members and for
        counts another share, which redrawn outcomes have.

    Notes
    -----
    Of quantile forecasts that were given both ends outcomes are redrawn as cells between the quantiles, without any
    law between them.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.measures.forecasting import IntervalCoverage
    >>> float(IntervalCoverage(level=0.5)([0.0, 0.6, -0.7, 0.1], kc.Normal([0.0] * 4, [1.0] * 4)))
    0.75
    """

    name: ClassVar[str] = "coverage"
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    proper: ClassVar[bool] = False

    def of_interval(self, y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """1 inside, 0 outside."""
        return ((y >= low) & (y <= high)).astype(np.float64)

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedScore:
        """Of quantile forecasts by cells, where both ends were given."""
        self.refuse(predictions)
        if not isinstance(predictions, Quantiles) or not all(_given(predictions, tau) for tau in self.ends):
            return super().prepare(predictions, weights)
        cells = predictions.cells
        first, last = (1 + int(np.abs(cells.taus - tau).argmin()) for tau in self.ends)

        def inside(codes: np.ndarray) -> np.ndarray:
            low, high = cells.ends(codes)
            return ((high >= first) & (low < last)).astype(np.float64)

        return _PreparedCells(self, inside, weights, ())
