"""Intervals of measures: by what every row adds, or by the noise of residuals; and differences of groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kernelcal.cases import Case
from kernelcal.dependence import DependentUnits
from kernelcal.errors import InputError
from kernelcal.inference.intervals import UnitMean, mean_of_units
from kernelcal.measures.base import Measure, PreparedMeasure
from kernelcal.randomness import generator_of
from kernelcal.runs import Run

__all__ = ["SCALES", "MeasureInterval", "difference", "interval_of_measure"]

_NUMBERS = 2**24  # of factors held at once
_STRETCH = 4  # horizons in a stretch whose residuals have one sign
_MOST_SKEWED = 3.0
_FEWEST = 19  # draws whose spread is looked at
_APART = 3.29  # standard errors between the quantiles of 5 and of 95 % of a normal law
_SURPRISES = 20.0  # rows of equal influence that tell as much of the noise as the predictions do


@dataclass(frozen=True)
class _Scale:
    """A function, its derivative and the way back."""

    there: Callable[[float], float]
    slope: Callable[[float], float]
    back: Callable[[float], float]


SCALES = {
    "plain": _Scale(lambda v: v, lambda v: 1.0, lambda g: g),
    "log": _Scale(math.log, lambda v: 1 / v, math.exp),
    "logit": _Scale(lambda v: math.log(v / (1 - v)), lambda v: 1 / (v * (1 - v)), lambda g: 1 / (1 + math.exp(-g))),
}


@dataclass(frozen=True)
class MeasureInterval:
    """Two ends, and how they were found; or NaN, and why there is none."""

    low: float
    high: float
    how: str

    @classmethod
    def none(cls, why: str) -> MeasureInterval:
        """No interval."""
        return cls(math.nan, math.nan, f"no interval: {why}")


def interval_of_measure(prepared: PreparedMeasure, case: Case, drawn: np.ndarray, run: Run) -> MeasureInterval:
    """Interval of a measure.

    Parameters
    ----------
    prepared : PreparedMeasure
        Of the predictions of the case.
    case : Case
        Rows, in NumPy.
    drawn : numpy.ndarray of shape (B,)
        Values under calibration.
    run : Run
        Its level, draws and seed.

    Notes
    -----
    *By what rows add*: ``g(value) + mean of w_i psi_i g'(value)`` has the law of a mean over rows, clusters or
    stretches of time (`inference.intervals.mean_of_units`): Student's on the scale g, corrected for skewness where the
    value is itself a mean over rows. Few surprises tell little of their noise: where the spread under calibration is
    larger than the standard error, the difference is added, times ``min(1, 20 / m)``, m the number of rows of equal
    influence that rows count like, ``(sum psi^2)^2 / sum psi^4``.

    *One-sided*: where all independent rows are alike (no events, only right answers) their chance gives the other end.

    *By residuals*: ``|D(y - p) - D(truth)| <= D(noise)``, so that ``[max(D - q, 0), D + q]`` holds the truth wherever
    D of the noise is at most q; q is the quantile of D of residuals whose signs are flipped, by rows, clusters or
    stretches, or of D under calibration where that is larger: residuals of few surprises tell little. A debiased value
    has the interval of the D that it corrects.
    """
    if prepared.measure.no_interval:
        return MeasureInterval.none(prepared.measure.no_interval)
    shown = case.in_cells if prepared.by_cells else case
    value = float(prepared.measured(shown.targets[None])[0])
    ends = prepared.one_sided(shown.targets, run.confidence_level) if case.rows is None else None
    if ends is not None:
        return MeasureInterval(*ends, "by the chance that all independent rows are alike")
    if not math.isfinite(value):
        return MeasureInterval.none(f"the value is {'not defined' if math.isnan(value) else 'infinite'}")
    try:
        influences = prepared.influences(shown.targets)
        if influences is not None:
            found = _by_influences(prepared.measure, value, influences, case, drawn, run.confidence_level)
        else:
            found = _by_noise(prepared, value, shown, drawn, run)
    except InputError as few:  # clusters or stretches
        return MeasureInterval.none(str(few))
    low, high = prepared.measure.limits
    return replace(found, low=max(found.low, min(low, value)), high=min(found.high, max(high, value)))


def _by_influences(
    measure: Measure, value: float, influences: np.ndarray, case: Case, drawn: np.ndarray, level: float
) -> MeasureInterval:
    scale = SCALES[measure.scale]
    try:
        centre, slope = scale.there(value), scale.slope(value)
    except (ValueError, ZeroDivisionError):
        return MeasureInterval.none(f"{value:g} is an end of its range")
    if not np.isfinite(influences).all():
        return MeasureInterval.none("what rows add is not finite")
    mean = _mean(centre + slope * influences, case)
    own = slope * influences if case.weights is None else slope * influences * case.weights
    spread = _spread(scale, drawn)
    if not mean.error > 0 and not spread > 0:
        return MeasureInterval.none("all rows add the same")
    more = _more(own, mean.error, spread, mean.freedom)
    mean = replace(mean, error=mean.error + more, skewness=mean.skewness if measure.mean_of_rows else 0.0)
    low, high = sorted(mean.ends(level))
    how = f"by what rows add, on the {measure.scale} scale" if measure.scale != "plain" else "by what rows add"
    return MeasureInterval(_back(scale, low), _back(scale, high), how)


def _more(own: np.ndarray, error: float, spread: float, freedom: float) -> float:
    """What is added to a standard error where few rows make it and calibrated predictions have a larger one."""
    many = min(float((own**2).sum() ** 2 / max((own**4).sum(), 1e-300)), freedom + 1)
    return max(spread - error, 0.0) * min(1.0, _SURPRISES / max(many, 1.0))


def _spread(scale: _Scale, drawn: np.ndarray) -> float:
    """Standard error under calibration, on a scale: by quantiles, since some draws are far out or have no value."""
    if len(drawn) < _FEWEST:
        return 0.0
    low, high = np.sort(drawn)[[int(0.05 * len(drawn)), int(0.95 * len(drawn))]]
    try:
        found = (scale.there(float(high)) - scale.there(float(low))) / _APART
    except (ValueError, ZeroDivisionError):
        return 0.0
    return found if math.isfinite(found) else 0.0


def _back(scale: _Scale, g: float) -> float:
    try:
        return scale.back(g)
    except OverflowError:
        return math.inf if g > 0 else 0.0


def _mean(values: np.ndarray, case: Case) -> UnitMean:
    """Mean over rows with its error: independent ones, or by clusters and stretches."""
    if case.rows is not None:
        return mean_of_units(values, case)
    w = np.ones(len(values)) if case.weights is None else case.weights
    number = float(w.sum() ** 2 / (w @ w))  # rows of equal weight that they count like
    if number < 2:
        raise InputError("fewer than two rows count")
    mean = float(w @ values / w.sum())
    away = w * (values - mean)
    square = float(np.mean(away**2))
    skewness = float(np.mean(away**3)) / square**1.5 if square > 0 else 0.0
    error = math.sqrt(len(away) * square * number / (number - 1)) / float(w.sum())
    units = max(round(number), 2)
    return UnitMean(mean, error, number - 1, units, min(max(skewness, -_MOST_SKEWED), _MOST_SKEWED))


def _by_noise(prepared: PreparedMeasure, value: float, case: Case, drawn: np.ndarray, run: Run) -> MeasureInterval:
    rng = generator_of(run.rng, "signs of residuals")
    unit, number, name = _units(case)
    found: list[np.ndarray] = []
    done, step = 0, max(1, _NUMBERS // len(case))
    while done < run.draws:
        signs = rng.integers(0, 2, size=(min(step, run.draws - done), number)) * 2.0 - 1.0
        noise = prepared.noise(case.targets, signs[:, unit])
        if noise is None:
            return MeasureInterval.none("it is neither a smooth function of means nor a norm of residuals")
        found.append(np.asarray(noise, dtype=np.float64))
        done += len(signs)
    under = drawn[~np.isnan(drawn)]
    q = max(_upper(one, run.confidence_level) for one in (np.concatenate(found), under) if len(one))
    norm = value + prepared.apart(case.targets)
    return MeasureInterval(min(max(norm - q, 0.0), value), max(norm + q, value), f"by the noise of residuals of {name}")


def _upper(values: np.ndarray, level: float) -> float:
    """Upper end that one more value stays below with this probability."""
    rank = min(math.ceil(level * (len(values) + 1) - 1e-9), len(values))
    return float(np.sort(values)[rank - 1])


def _units(case: Case) -> tuple[np.ndarray, int, str]:
    """Which rows have one sign: unit of every row, their number and what they are."""
    rows = case.rows
    if rows is None or not rows.overlap:
        return np.arange(len(case)), len(case), "rows"
    if rows.clusters is not None:
        return rows.clusters, int(rows.clusters.max()) + 1, "clusters"
    units = DependentUnits.stretches(rows, _STRETCH * rows.horizon)
    unit = np.empty(len(case), dtype=np.intp)
    unit[units.order] = units.unit
    return unit, len(units), units.name


def difference(
    measure: Measure, case: Case, inside: np.ndarray, drawn: tuple[np.ndarray, np.ndarray], run: Run
) -> tuple[float, float, float, float] | None:
    """How much a group differs from all other rows, on the measure's scale: difference, its ends, p-value of none.

    The noise is that of a mean over all rows. Its degrees of freedom are those that a sum of squares of such rows has,
    ``2 n / (kurtosis - 1)``, and those of group and rest are not smaller than under calibration where few rows make it.
    `drawn` are values of both under calibration, as far as they are known. None where rows tell no error.
    """
    scale = SCALES[measure.scale]
    which = np.zeros(len(case), dtype=bool)
    which[inside] = True
    w = np.ones(len(case)) if case.weights is None else case.weights
    parts, added = [], np.zeros(len(case))
    for rows, sign in ((which, 1.0), (~which, -1.0)):
        if rows.sum() < 2:
            return None
        some = replace(case, rows=None)[rows]
        prepared = measure.checked(some.predictions, some.weights)
        shown = some.in_cells if prepared.by_cells else some
        value = float(prepared.measured(shown.targets[None])[0])
        influences = None if not math.isfinite(value) else prepared.influences(shown.targets)
        if influences is None or not np.isfinite(influences).all():
            return None
        try:
            parts.append(scale.there(value))
            added[rows] = sign * scale.slope(value) * influences * w.sum() / w[rows].sum()
        except (ValueError, ZeroDivisionError):
            return None
    apart = parts[0] - parts[1]
    try:
        mean = _mean(apart + added, case)
    except InputError:
        return None
    if not mean.error > 0:
        return None
    own, whole = w * added, float(w.sum())
    variance, square = mean.error**2, float((own**2).sum())
    for rows, values in zip((which, ~which), drawn, strict=True):
        alone = math.sqrt(float((own[rows] ** 2).sum())) / whole
        variance += (alone + _more(own[rows], alone, _spread(scale, values), mean.freedom)) ** 2 - alone**2
    tail = max(len(own) * float((own**4).sum()) / square**2 - 1, 2.0 / mean.freedom)
    error = math.sqrt(variance)
    mean = replace(mean, error=error, skewness=0.0, freedom=max(min(mean.freedom, 2 * len(own) / tail), 1.0))
    from scipy.special import stdtr  # imported when needed: the import of kernelcal stays light

    p = 2 * float(stdtr(mean.freedom, -abs(apart) / mean.error))
    return apart, *mean.ends(run.confidence_level), min(max(p, 1e-300), 1.0)
