"""How far predictions are from their isotonic calibration curve: ICI, E50, E90 and the largest distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.measures.base import Measure, PreparedMeasure, positive_probabilities

__all__ = ["E50", "E90", "ICI", "CurveFits", "Emax"]


class CurveFits:
    """Isotonic regressions of many sets of outcomes on the same predictions (CORP curves).

    Rows of equal prediction are one point. Cost: O(n) a set of outcomes, after one sort.
    """

    def __init__(self, p: np.ndarray, weights: np.ndarray | None) -> None:
        self.values, self.index = np.unique(p, return_inverse=True)
        self.w = np.ones(len(p)) if weights is None else weights
        self.weight = np.bincount(self.index, self.w)
        self.used = self.weight > 0

    def __call__(self, targets: np.ndarray) -> np.ndarray:
        """Curve at the different predictions, shape (B, different predictions)."""
        from scipy.optimize import isotonic_regression  # imported when needed: the import of kernelcal stays light

        found = np.empty((len(targets), len(self.values)))
        weight = self.weight[self.used]
        for b, one in enumerate(targets):
            sums = np.bincount(self.index, self.w * one)[self.used]
            found[b, self.used] = isotonic_regression(sums / weight, weights=weight).x
        if not self.used.all():  # rows of weight 0 have the curve of those below, or of the first
            last = np.maximum.accumulate(np.where(self.used, np.arange(len(self.used)), -1))
            found = found[:, np.where(last < 0, int(np.argmax(self.used)), last)]
        return found


class _PreparedCurve(PreparedMeasure):
    def __init__(self, measure: _OfCurve, predictions: Any, weights: np.ndarray | None) -> None:
        self.fits = CurveFits(positive_probabilities(predictions), weights)
        super().__init__(measure, bytes_per_draw=32 * len(self.fits.index))
        self.share = measure.share

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Mean, or quantile over rows, of the distance between predictions and curve."""
        away = np.abs(self.fits(np.asarray(targets, dtype=np.float64)) - self.fits.values)
        weight = self.fits.weight
        if self.share is None:
            return np.asarray(away @ weight / weight.sum())
        order = np.argsort(away, axis=1)
        below = np.cumsum(weight[order], axis=1)
        place = (below < self.share * weight.sum() * (1 - 1e-12)).sum(axis=1)
        return np.asarray(np.take_along_axis(away, order, axis=1)[np.arange(len(away)), place])


class _OfCurve(Measure):
    share: ClassVar[float | None] = None
    ideal: ClassVar[float | None] = 0.0
    no_interval: ClassVar[str] = "an isotonic curve is neither a smooth function of means nor a norm of residuals"

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Put the predictions in order."""
        return _PreparedCurve(self, predictions, weights)


@dataclass(frozen=True)
class ICI(_OfCurve):
    """Integrated calibration index: mean distance of predictions from their calibration curve.

    The curve is the isotonic one (CORP), which has no bandwidth; Austin and Steyerberg take loess, whose values are
    near and not the same. Predictions that are calibrated have a distance above 0, too: the mean under
    calibration shows it.

    References
    ----------
    Austin, Steyerberg (2019), The integrated calibration index and related metrics; Dimitriadis, Gneiting, Jordan
    (2021) for the curve.

    Examples
    --------
    >>> import kernelcal as kc
    >>> float(kc.measures.ICI()([0, 1, 0, 1], [0.2, 0.2, 0.6, 0.6])).__round__(4)
    0.2
    """

    name: ClassVar[str] = "ICI"


@dataclass(frozen=True)
class E50(_OfCurve):
    """Median distance of predictions from their isotonic calibration curve.

    Examples
    --------
    >>> from kernelcal.measures import E50
    >>> round(float(E50()([0, 1, 0, 1, 1, 1] * 5, [0.2, 0.4, 0.5, 0.6, 0.8, 0.9] * 5)), 3)
    0.1
    """

    name: ClassVar[str] = "E50"
    share: ClassVar[float | None] = 0.5


@dataclass(frozen=True)
class E90(_OfCurve):
    """Distance from their isotonic calibration curve that nine predictions of ten do not exceed.

    Examples
    --------
    >>> from kernelcal.measures import E90
    >>> round(float(E90()([0, 1, 0, 1, 1, 1] * 5, [0.2, 0.4, 0.5, 0.6, 0.8, 0.9] * 5)), 3)
    0.4
    """

    name: ClassVar[str] = "E90"
    share: ClassVar[float | None] = 0.9


@dataclass(frozen=True)
class Emax(_OfCurve):
    """Largest distance of a prediction from the isotonic calibration curve.

    Examples
    --------
    >>> from kernelcal.measures import Emax
    >>> round(float(Emax()([0, 1, 0, 1, 1, 1] * 5, [0.2, 0.4, 0.5, 0.6, 0.8, 0.9] * 5)), 3)
    0.4
    """

    name: ClassVar[str] = "Emax"
    share: ClassVar[float | None] = 1.0
