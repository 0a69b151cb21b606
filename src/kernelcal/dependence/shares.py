"""Means and shares of rows that depend on each other: standard errors, degrees of freedom, and intervals."""

from __future__ import annotations

import math

import numpy as np

from kernelcal.dependence.structure import Dependence

__all__ = ["mean_error", "mean_interval", "share_interval"]


_WAVES, _SPAN = 0.41, 1.5  # of the numbers of cosines: at most 0.41 n^(2/3), and n / (1.5 h)


def mean_error(values: np.ndarray, rows: Dependence) -> tuple[float, float]:
    """Standard error of a mean, and its degrees of freedom.

    - Clusters: ``G / (G - 1) sum_g S_g^2 / n^2`` with the sums S_g of deviations over clusters, and
      ``n^2 / sum_g n_g^2 - 1`` degrees of freedom.
    - Series of forecasts whose horizons overlap: the mean of squares of the first nu cosine sums of each series,
      ``nu = min(0.41 n^(2/3), n / (1.5 h))``, which are about uncorrelated with the variance of the sum of the series.

    Parameters
    ----------
    values : numpy.ndarray of shape (n,)
        One number a row.
    rows : Dependence
        Which rows depend on each other.

    Returns
    -------
    error, freedom : float
        NaN and 0 where there is one cluster alone.

    References
    ----------
    Lazarus, Lewis, Stock, Watson (2018), HAR inference: equal-weighted cosines; Cameron, Gelbach, Miller (2008).
    """
    n, away = len(values), values - values.mean()
    if rows.clusters is not None:
        sizes = np.bincount(rows.clusters)
        groups = len(sizes)
        if groups < 2:
            return math.nan, 0.0
        sums = np.bincount(rows.clusters, away)
        error = math.sqrt(groups / (groups - 1) * float(sums @ sums)) / n
        return error, max(n**2 / float((sizes.astype(np.float64) ** 2).sum()) - 1, 1.0)
    parts = [_of_series(values[own], rows.horizon) for own in _in_order(rows)]
    variance = sum(v for v, _ in parts)
    freedom = variance**2 / sum(v * v / nu for v, nu in parts) if variance > 0 else sum(nu for _, nu in parts)
    return math.sqrt(variance) / n, float(freedom)


def _in_order(rows: Dependence) -> list[np.ndarray]:
    """Rows of every series, in the order of time."""
    order = np.lexsort((rows.time, rows.series))
    return np.split(order, np.flatnonzero(np.diff(rows.series[order])) + 1)


def _of_series(values: np.ndarray, horizon: int) -> tuple[float, int]:
    """Variance of the sum of one series, and how many cosines it rests on."""
    n = len(values)
    number = max(1, int(min(_WAVES * n ** (2 / 3), n / (_SPAN * horizon), n - 1)))
    places = math.pi * np.outer(np.arange(1, number + 1), (np.arange(n) + 0.5) / n)
    sums = math.sqrt(2.0) * np.cos(places) @ (values - values.mean())
    return float(sums @ sums) / number, number


def mean_interval(values: np.ndarray, rows: Dependence, confidence_level: float) -> tuple[float, float]:
    """Interval of a mean by the law of Student; NaN where no error is known."""
    error, freedom = mean_error(values, rows)
    if math.isnan(error):
        return math.nan, math.nan
    half, mean = _student(confidence_level, freedom) * error, float(values.mean())
    return mean - half, mean + half


def share_interval(hits: np.ndarray, rows: Dependence, confidence_level: float) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of shares: Clopper and Pearson's for as many independent rows as have the standard error.

    Parameters
    ----------
    hits : numpy.ndarray of shape (L, n)
        Whether each of L things happened in a row.
    rows : Dependence
        Which rows depend on each other.
    confidence_level : float
        Nominal coverage.

    Returns
    -------
    low, high : numpy.ndarray of shape (L,)
        Of a share of 0 or 1, whose error is not known, that of as many rows as clusters of equal size, or stretches.

    References
    ----------
    Korn, Graubard (1998), Confidence intervals for proportions with small expected number of positive counts.
    """
    from scipy.special import betaincinv  # imported when needed: the import of kernelcal stays light

    n, tail = hits.shape[1], (1 - confidence_level) / 2
    low, high = np.empty((2, len(hits)))
    for k, row in enumerate(hits.astype(np.float64)):
        share, (error, freedom) = float(row.mean()), mean_error(row, rows)
        if math.isnan(error):
            low[k] = high[k] = math.nan
            continue
        count = _alike(rows) if not 0 < share < 1 or error == 0 else share * (1 - share) / error**2
        count = min(count, n) * (_student(confidence_level, n - 1) / _student(confidence_level, freedom)) ** 2
        x = share * count
        low[k] = betaincinv(x, count - x + 1, tail) if share > 0 else 0.0
        high[k] = betaincinv(x + 1, count - x, 1 - tail) if share < 1 else 1.0
    return low, high


def _alike(rows: Dependence) -> float:
    """How many independent rows these are at least."""
    if rows.clusters is None:
        return max(len(rows) / rows.horizon, 1.0)
    sizes = np.bincount(rows.clusters).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def _student(level: float, freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(max(freedom, 1.0), 0.5 + level / 2))
