"""Intervals of shares and of means of bounded numbers, of dependent rows too: they hold where little happened."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernelcal.dependence.means import errors_aside, mean_law
from kernelcal.dependence.structure import Dependence

__all__ = ["binomial_interval", "bounded_ends", "bounded_interval", "share_interval"]


def binomial_interval(successes: np.ndarray, n: Any, confidence_level: float) -> tuple[np.ndarray, np.ndarray]:
    """Clopper-Pearson interval of a probability from numbers of successes among n; NaN where n is 0.

    Numbers of successes need not be whole: the quantiles of the beta distribution interpolate.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.dependence import binomial_interval
    >>> low, high = binomial_interval(np.array([1.0, 0.0, 0.0]), np.array([1, 20, 0]), 0.95)
    >>> low.round(4), high.round(4)
    (array([0.025, 0.   ,   nan]), array([1.    , 0.1684,    nan]))
    """
    from scipy.special import betaincinv  # imported when needed: the import of kernelcal stays light

    tail, k, n = (1 - confidence_level) / 2, np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, betaincinv(k, n - k + 1, tail), 0.0)
        high = np.where(k < n, betaincinv(k + 1, n - k, 1 - tail), 1.0)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def share_interval(hits: np.ndarray, rows: Dependence | None, confidence_level: float) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of shares: Clopper and Pearson's for as many independent rows as have the standard error.

    Parameters
    ----------
    hits : numpy.ndarray of shape (L, n)
        Whether each of L things happened in a row.
    rows : Dependence or None
        Which rows depend on each other; None: none do.
    confidence_level : float
        Nominal coverage.

    Returns
    -------
    low, high : numpy.ndarray of shape (L,)
        Of a share of 0 or 1, whose error is not known, that of as many rows as clusters of equal size, or stretches.
        NaN of one cluster alone.

    Notes
    -----
    With the error s of the mean (`dependence.MeanLaw`) the number is ``share (1 - share) / s^2``, at most n, times
    ``(z_n / z)^2``, where z is how many errors an interval of the mean goes to both sides and z_n what it would be of n
    independent rows.

    References
    ----------
    Korn, Graubard (1998), Confidence intervals for proportions with small expected number of positive counts.
    """
    if rows is None or not rows.overlap:
        return binomial_interval(hits.sum(axis=1), hits.shape[1], confidence_level)
    from scipy.special import stdtrit  # imported when needed: the import of kernelcal stays light

    law, n, tail = mean_law(rows), hits.shape[1], (1 - confidence_level) / 2
    low, high = np.full((2, len(hits)), math.nan)
    wider = None
    for k, row in enumerate(hits.astype(np.float64)):
        share, error = float(row.mean()), law.error(row)
        if math.isnan(error):
            continue
        wider = wider or (float(stdtrit(max(n - 1, 1), 1 - tail)) / law.quantile(confidence_level)) ** 2
        count = _alike(rows) if not 0 < share < 1 or error == 0 else share * (1 - share) / error**2
        count = min(count, n) * wider
        low[k], high[k] = binomial_interval(np.asarray(share * count), count, confidence_level)
    return low, high


def bounded_interval(
    values: np.ndarray, ends: tuple[float, float], rows: Dependence | None, confidence_level: float
) -> tuple[float, float]:
    """Interval of a mean of numbers between two ends, as Agresti and Coull's of a share, with the spread of the rows.

    ``z^2 / 2`` rows at each end are added, where z is how many standard errors an interval of the mean goes to both
    sides. Values that are all alike, as where no outcome surprises, would have no noise at all without.

    Parameters
    ----------
    values : numpy.ndarray of shape (n,)
        One number a row.
    ends : tuple of float
        Least and largest value.
    rows : Dependence or None
        Which rows depend on each other; None: none do.
    confidence_level : float
        Nominal coverage.

    Returns
    -------
    low, high : float
        Inside the ends; NaN of one cluster alone.

    Notes
    -----
    With m values that count (clusters of equal size, stretches, or all n), the mean a and its error s: the mean becomes
    ``a' = (m a + z^2 (e_0 + e_1) / 2) / (m + z^2)`` and its error the root of ``m^2 s^2 + m (a - a')^2 + z^2 / 2
    ((e_0 - a')^2 + (e_1 - a')^2)``, over ``m + z^2``. Of independent 0 and 1 this is Agresti's and Coull's (1998).
    """
    mean = float(values.mean())
    if rows is None or not rows.overlap:
        error, count = float(values.std()) / math.sqrt(len(values)), float(len(values))
        z = errors_aside(confidence_level)
    else:
        law = mean_law(rows)
        error = law.error(values)
        if math.isnan(error):
            return math.nan, math.nan
        z, count = law.quantile(confidence_level), min(_alike(rows), float(len(values)))
    return bounded_ends(mean, error, count, z, ends)


def bounded_ends(mean: float, error: float, count: float, z: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Such an interval of a mean with this error, of so many values, to z standard errors."""
    least, most = ends
    n = count + z * z
    middle = (count * mean + z * z * (least + most) / 2) / n
    added = count * (mean - middle) ** 2 + z * z / 2 * ((least - middle) ** 2 + (most - middle) ** 2)
    half = z * math.sqrt((count * error) ** 2 + added) / n
    return max(middle - half, least), min(middle + half, most)


def _alike(rows: Dependence) -> float:
    """How many independent rows these are at least."""
    if rows.clusters is None:
        return max(len(rows) / rows.horizon, 1.0)
    sizes = np.bincount(rows.clusters).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())
