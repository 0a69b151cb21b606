"""What to do with a map, in one word for readers who know no statistics: use it, leave predictions alone, more rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.dependence import Dependence, errors_aside, mean_law
from kernelcal.inference import TestResult

__all__ = ["LEAVE", "MORE", "USE", "ScoreChange", "advised", "ends_of", "left_in_words"]


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


def ends_of(gain: float, error: float, level: float, rows: Dependence | None) -> tuple[float, float]:
    """Interval of a mean gain: by the normal law, or Student's of clusters or stretches where rows depend."""
    if not np.isfinite(gain):
        return gain, gain
    aside = errors_aside(level, mean_law(rows) if rows is not None and rows.overlap else None)
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
