"""Groups of rows, each tested and measured by itself: hospitals, machines, arms of a study."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.explanation import checked_groups
from kernelcal.inference.test import holm_adjusted
from kernelcal.runs import Run
from kernelcal.survival.data import Survival
from kernelcal.survival.tested import asked_survival

__all__ = ["SurvivalGroup", "groups_of", "poisson_interval"]

_LEAST = 2  # rows of a group that is tested


@dataclass(frozen=True)
class SurvivalGroup:
    """One group.

    Attributes
    ----------
    column, name : str
        Column, and its value.
    n, events : int
        Rows, and rows with an event.
    expected : float
        Events that the predictions expect.
    ratio, low, high : float
        Events seen over expected, and its interval.
    pvalue : float
        Of the test of the group's rows alone, corrected for the groups of its column (Holm); nan where nothing was
        expected.

    Examples
    --------
    >>> import kernelcal as kc
    >>> law = kc.predictions.Weibull([10.0] * 20, [1.0] * 20)
    >>> seen = ([1.0, 5.0, 9.0, 14.0] * 5, [True, True, False, True] * 5)
    >>> found = kc.survival.evaluate(seen, law, groups={"site": ["north", "south"] * 10}, draws=99)
    >>> [(one.name, one.events) for one in found.groups]
    [('north', 5), ('south', 10)]
    """

    column: str
    name: str
    n: int
    events: int
    expected: float
    ratio: float
    low: float
    high: float
    pvalue: float

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in vars(self).items()}


def groups_of(
    seen: Survival, groups: Any, run: Run, null: str | None
) -> tuple[tuple[SurvivalGroup, ...], tuple[str, ...]]:
    """Every group by itself, and what was done to the columns."""
    grouping = checked_groups(groups, len(seen))
    quiet = replace(run, progress=None)
    found = []
    for group in grouping.groups:
        some = seen[group.rows]
        own = np.ones(len(some)) if some.weights is None else some.weights
        expected = float(own @ some.hazard)
        known = len(some) >= _LEAST and expected > 0
        p = asked_survival(some, quiet, null).test.pvalue if known else float("nan")
        count = float(own @ some.event)
        ends = (count, *poisson_interval(some.event, own, run.confidence_level))
        ratio, low, high = (x / expected if known else float("nan") for x in ends)
        sizes = (len(some), int(some.event.sum()), expected)
        found.append(SurvivalGroup(group.column, group.name, *sizes, ratio, low, high, p))
    for column in dict.fromkeys(one.column for one in found):
        places = [k for k, one in enumerate(found) if one.column == column and not np.isnan(one.pvalue)]
        for k, p in zip(places, holm_adjusted(np.array([found[k].pvalue for k in places])), strict=True):
            found[k] = replace(found[k], pvalue=float(p))
    return tuple(found), grouping.notes


def poisson_interval(event: np.ndarray, weights: np.ndarray, confidence_level: float) -> tuple[float, float]:
    """Interval of the mean of a Poisson number of events (Garwood), or of their weighted number (Fay, Feuer 1997).

    A weighted number y has the variance v, the sum of squared weights of events; the upper end takes one more event of
    the largest weight.
    """
    from scipy.special import gammaincinv  # imported when needed: the import of kernelcal stays light

    tail, most = (1 - confidence_level) / 2, float(weights.max())
    y, v = float(weights @ event), float(weights**2 @ event)
    low = v / y * float(gammaincinv(y**2 / v, tail)) if y > 0 else 0.0
    more, wide = y + most, v + most**2
    return low, wide / more * float(gammaincinv(more**2 / wide, 1 - tail))
