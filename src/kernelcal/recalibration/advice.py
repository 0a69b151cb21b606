"""What to do with a map, in one word for readers who know no statistics: use it, leave predictions alone, more rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.dependence import Dependence, errors_aside, mean_law
from kernelcal.inference import TestResult
from kernelcal.inference.intervals import ScoreSurprises, expected
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.recalibration.pool import error_of

__all__ = ["LEAVE", "MORE", "USE", "ScoreChange", "advised", "ends_of", "error_of_gain", "left_in_words"]


USE, LEAVE, MORE = "use", "leave", "more rows"
_WORTH = 1.0  # standard errors by which a map must be better
_ROUNDING = 1e-12
_HAVING = 0.01  # of a score, or nats of a log score of densities: a smaller gain is not worth more rows


@dataclass(frozen=True)
class ScoreChange:
    """One mean score before and after a map, smaller is better.

    Attributes
    ----------
    name : str
        Of the score.
    before, after : float
        Means over rows; infinite where something happened that had been ruled out.
    gain : float
        What it falls by.
    low, high : float
        Interval of the gain, over clusters or along time where rows depend; both the gain where it is infinite.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(80, rng=0)
    >>> change = kc.recalibration.recalibrate(y[:40], p[:40], "temperature").check(y[40:], p[40:]).changes[0]
    >>> change.name, round(change.before - change.after - change.gain, 12)
    ('log score', -0.0)
    """

    name: str
    before: float
    after: float
    gain: float
    low: float
    high: float


def error_of_gain(gains: np.ndarray, rows: Dependence | None, before: Any, after: Any, *, brier: bool = False) -> float:
    """Standard error of a mean gain, of classes with two outcomes that did not happen, where that is larger.

    Where little happened the rows alone tell no error: where all events of probability 0.9 happened every row gains the
    same by 0.96, and the first one that does not happen takes all of it back.

    Parameters
    ----------
    gains : numpy.ndarray of shape (n,)
        What the score of every row falls by.
    rows : Dependence or None
        How rows depend on each other.
    before, after : Predictions
        Of the same rows.
    brier : bool
        Whether the scores of classes are Brier scores, in the place of log scores.
    """
    own = error_of(gains, rows)
    if rows is None or not rows.overlap:
        own *= float(np.sqrt(len(gains) / max(len(gains) - 1, 1)))
    if not isinstance(before, ClassPredictions) or len(gains) < 2:
        return own
    batches = (before, after)
    surprises = ScoreSurprises(batches, _brier_scores(before)) if brier else ScoreSurprises(batches)
    return max(own, surprises.errors(gains, 0, 1)(expected(_WORTH)))


def _brier_scores(batch: ClassPredictions) -> Callable[[np.ndarray], np.ndarray]:
    """Brier scores of all classes; of one probability there is one square, and not two."""
    part = 0.5 if isinstance(batch, Bernoulli) else 1.0
    return lambda tables: part * (1 - 2 * tables + (tables**2).sum(axis=-1, keepdims=True))


def ends_of(gain: float, error: float, level: float, rows: Dependence | None, n: int) -> tuple[float, float]:
    """Interval of a mean gain of n rows by Student's law; of rows that depend that of clusters or stretches."""
    if not np.isfinite(gain):
        return gain, gain
    if rows is not None and rows.overlap:
        aside = errors_aside(level, mean_law(rows))
    else:
        from scipy.special import stdtrit  # imported when needed: the import of kernelcal stays light

        aside = float(stdtrit(max(n - 1, 1), 0.5 + level / 2))
    return gain - aside * error, gain + aside * error


def advised(change: ScoreChange, error: float, before: TestResult | None, *, few: bool, of_density: bool) -> str:
    """Return what to do: `USE` where a score falls by more than a standard error; of others `MORE` or `LEAVE`.

    More rows are asked for where predictions are known to be wrong, or rows are too few for the test, and a gain that
    would be worth having is still possible.

    Parameters
    ----------
    change : ScoreChange
        Of the score that maps are chosen by.
    error : float
        Standard error of its gain.
    before : TestResult or None
        Test of the predictions as they were given.
    few : bool
        Whether rows are too few for that test.
    of_density : bool
        Whether the score is a log score of densities, whose size means nothing.
    """
    size = abs(change.before) if np.isfinite(change.before) else 0.0
    least = max(_WORTH * error, _ROUNDING * size)
    if change.gain > least:
        return USE
    wrong = few if before is None else before.pvalue <= SIGNIFICANCE
    possible = change.high > _HAVING * (1.0 if of_density else size)
    return MORE if wrong and possible and not change.gain < -least else LEAVE


def left_in_words(after: TestResult) -> str:
    """Say whether the test sees an error that is left."""
    left = "an error is left" if after.pvalue <= SIGNIFICANCE else "no error is left"
    return f"{left} that the test sees (p = {after.pvalue:.3g})"
