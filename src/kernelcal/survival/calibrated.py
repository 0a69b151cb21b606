"""What calibrated predictions have of the figures that the field reports: concordance, and Brier scores by horizon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.runs import Run
from kernelcal.survival.data import Survival
from kernelcal.survival.figures import brier_scores, concordance, concordances, kaplan_meier
from kernelcal.survival.members import log_hazards
from kernelcal.survival.tested import SurvivalTest

__all__ = [
    "Calibrated",
    "Horizon",
    "at_horizons",
    "calibrated_concordance",
    "finite_or_none",
    "kept_redraws",
    "redrawn_times",
]


_REDRAWS, _FEWEST, _NUMBERS = 200, 39, 2**20  # of fewer than 39 no p is as small as 0.05


@dataclass(frozen=True)
class Calibrated:
    """A figure of outcomes that were redrawn from the predictions.

    Attributes
    ----------
    mean : float
        Its mean; nan where no redraw has it, or not the outcomes that were seen.
    low, high : float
        Ends between which so many redraws lie as an interval covers; nan where rows depend on each other.
    pvalue : float
        Of the value that was seen among the redraws, on both sides; nan likewise.
    draws : int
        Redraws that it rests on, the first ones of the test.

    Examples
    --------
    >>> import kernelcal as kc
    >>> law = kc.predictions.Weibull([10.0] * 20, [1.0] * 20)
    >>> seen = ([1.0, 5.0, 9.0, 14.0] * 5, [True, True, False, True] * 5)
    >>> brier = kc.survival.evaluate(seen, law, horizons=[6.0], draws=99).horizons[0].brier_calibrated
    >>> brier.low <= brier.mean <= brier.high
    True
    """

    mean: float
    low: float
    high: float
    pvalue: float
    draws: int

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        return {name: value if np.isfinite(value) else None for name, value in vars(self).items()}

    @classmethod
    def of(cls, value: float, drawn: np.ndarray, confidence_level: float, *, dependent: bool) -> Calibrated:
        """Place a value among those of redraws; of dependent rows the mean alone is that of independent ones."""
        known = drawn[np.isfinite(drawn)]
        if len(known) == 0 or not np.isfinite(
            value
        ):  # redraws that have it where the outcomes do not are no usual ones
            return cls(np.nan, np.nan, np.nan, np.nan, 0)
        if dependent:
            return cls(float(known.mean()), np.nan, np.nan, np.nan, len(known))
        tail = (1 - confidence_level) / 2
        low, high = np.quantile(known, [tail, 1 - tail])
        rounding = 1e-12 * abs(value)
        sides = min(np.sum(known >= value - rounding), np.sum(known <= value + rounding))
        p = min(1.0, 2 * (1 + int(sides)) / (1 + len(known)))
        return cls(float(known.mean()), float(low), float(high), p, len(known))


@dataclass(frozen=True)
class Horizon:
    """What was predicted and seen up to one time.

    The Kaplan-Meier estimate and the Brier scores hold where censoring does not depend on the risk; the p-value
    holds where it does, too.

    Attributes
    ----------
    time : float
        The horizon.
    predicted : float
        Mean predicted probability of the event up to it.
    observed, low, high : float
        Kaplan-Meier estimate of the share with the event, and its pointwise interval; nan where no row was watched so
        long.
    pvalue : float
        Of observed less expected events up to the horizon, from the draws of the test.
    brier, reference : float
        Brier score of the prediction, weighted for censoring, and that of the Kaplan-Meier curve for all rows alike.
    brier_calibrated, reference_calibrated : Calibrated
        What redrawn outcomes have of both; of the observed share they have `predicted`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> law = kc.predictions.Weibull([10.0] * 20, [1.0] * 20)
    >>> seen = ([1.0, 5.0, 9.0, 14.0] * 5, [True, True, False, True] * 5)
    >>> at = kc.survival.evaluate(seen, law, horizons=[6.0], draws=99).horizons[0]
    >>> at.time, round(at.predicted, 3), round(at.observed, 3)
    (6.0, 0.451, 0.5)
    """

    time: float
    predicted: float
    observed: float
    low: float
    high: float
    pvalue: float
    brier: float
    reference: float
    brier_calibrated: Calibrated
    reference_calibrated: Calibrated

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        return {k: v.plain() if isinstance(v, Calibrated) else finite_or_none(v) for k, v in vars(self).items()}


def redrawn_times(seen: Survival, hazard: np.ndarray, event: np.ndarray, censoring: np.ndarray) -> np.ndarray:
    """Times of redrawn outcomes, shape (b, n): where the predicted hazard is reached, or of the censoring."""
    return np.where(event, np.minimum(seen.time_of(hazard), censoring), np.minimum(censoring, seen.end))


def kept_redraws(n: int) -> int:
    """Redraws for means: many of few rows, fewer of very many, whose means vary little."""
    return max(_FEWEST, min(_REDRAWS, _NUMBERS // n))


def calibrated_concordance(
    seen: Survival, times: np.ndarray, redrawn: np.ndarray, run: Run
) -> tuple[float | None, Calibrated | None]:
    """Concordance of what was seen, and of redrawn outcomes; none of weighted rows, whose pairs have no one weight."""
    if seen.weights is not None:
        return None, None
    places = log_hazards(seen)
    risk = places[:, places.shape[1] // 2]
    value = concordance(seen.time, seen.event, risk)
    if value is None:
        return None, None
    dependent = seen.clusters is not None
    drawn = concordances(times, redrawn, risk)
    return value, Calibrated.of(value, drawn, run.confidence_level, dependent=dependent)


def at_horizons(seen: Survival, tested: SurvivalTest, times: np.ndarray, run: Run) -> tuple[Horizon, ...]:
    """The model at every horizon of the test, beside redrawn outcomes of such times."""
    curve = kaplan_meier(seen.time, seen.event, seen.weights)
    own = np.ones(len(seen)) if seen.weights is None else seen.weights
    survivals = np.exp(-seen.hazard_at(np.array(tested.horizons)[:, None] + np.zeros(len(seen))))
    values = _briers(seen, tested.horizons, survivals, seen.time, seen.event)
    beside = _calibrated_briers(seen, tested.horizons, values, times, tested.redraws[1], run.confidence_level)
    found = []
    rows = zip(tested.horizons, tested.by_time, survivals, values.tolist(), beside, strict=True)
    for t, p, survival, (brier, reference), redrawn in rows:
        known = curve.known(t)
        low, high = curve.interval(t, run.confidence_level) if known else (np.nan, np.nan)
        share = 1 - curve.at(t) if known else np.nan
        mean = 1 - float(survival @ own / own.sum())
        found.append(Horizon(t, mean, share, 1 - high, 1 - low, p, brier, reference, *redrawn))
    return tuple(found)


def _calibrated_briers(
    seen: Survival,
    horizons: tuple[float, ...],
    values: np.ndarray,
    time: np.ndarray,
    event: np.ndarray,
    confidence_level: float,
) -> tuple[tuple[Calibrated, Calibrated], ...]:
    """Brier scores of redrawn outcomes at every horizon, of the prediction and of the Kaplan-Meier curve."""
    survival = np.exp(-seen.hazard_at(np.array(horizons)[:, None] + np.zeros(len(seen))))
    drawn = np.array([_briers(seen, horizons, survival, t, e) for t, e in zip(time, event, strict=True)])
    dependent = seen.clusters is not None
    return tuple(
        (
            Calibrated.of(values[k, 0], drawn[:, k, 0], confidence_level, dependent=dependent),
            Calibrated.of(values[k, 1], drawn[:, k, 1], confidence_level, dependent=dependent),
        )
        for k in range(len(horizons))
    )


def _briers(
    seen: Survival, horizons: tuple[float, ...], survival: np.ndarray, time: np.ndarray, event: np.ndarray
) -> np.ndarray:
    """Brier scores of predictions, shape (horizons, n), and of the Kaplan-Meier curve, shape (horizons, 2)."""
    curve = kaplan_meier(time, event, seen.weights)
    same = np.array([curve.at(t) for t in horizons])[:, None] + np.zeros(len(seen))
    both = brier_scores((*horizons, *horizons), np.concatenate([survival, same]), time, event, seen.weights)
    return both.reshape(2, len(horizons)).T


def finite_or_none(value: Any) -> Any:
    """A value for JSON, which knows finite numbers alone."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
