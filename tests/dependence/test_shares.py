"""Means and shares of rows that depend on each other: loops, and coverage by simulation."""

import numpy as np
import pytest
from scipy.stats import binom, t

from kernelcal.dependence import Dependence, mean_error, mean_interval, share_interval


def moving(rng, n, h):
    e = rng.normal(size=n + h)
    return np.convolve(e, np.ones(h), "valid")[:n] / np.sqrt(h)


def test_the_error_of_a_mean_over_clusters_by_loops():
    rng = np.random.default_rng(0)
    of = rng.integers(0, 9, 50)
    values = rng.normal(size=50) + of
    error, freedom = mean_error(values, Dependence.of(50, clusters=of))
    square = 0.0
    for c in range(9):
        square += sum(v - values.mean() for v, k in zip(values, of, strict=True) if k == c) ** 2
    assert error == pytest.approx(np.sqrt(9 / 8 * square) / 50)
    assert freedom == pytest.approx(2500 / sum((of == c).sum() ** 2 for c in range(9)) - 1)
    half = t.ppf(0.975, freedom) * error
    ends = mean_interval(values, Dependence.of(50, clusters=of), 0.95)
    assert ends == pytest.approx((values.mean() - half, values.mean() + half))


def test_the_error_of_a_mean_along_time_by_loops():
    """Two series in any order of rows: cosine sums of each, by their definition."""
    rng = np.random.default_rng(1)
    n, h = 60, 3
    series = rng.permutation(np.repeat([0, 1], [36, 24]))
    values = rng.normal(size=n)
    error, freedom = mean_error(values, Dependence.of(n, series=series, horizon=h))
    variance, below = 0.0, 0.0
    for s, m in ((0, 36), (1, 24)):
        own = values[series == s]
        number = int(min(0.41 * m ** (2 / 3), m / (1.5 * h)))
        squares = []
        for j in range(1, number + 1):
            squares.append(sum(np.sqrt(2) * np.cos(np.pi * j * (i + 0.5) / m) * own[i] for i in range(m)) ** 2)
        variance += np.mean(squares)
        below += np.mean(squares) ** 2 / number
    assert error == pytest.approx(np.sqrt(variance) / n)
    assert freedom == pytest.approx(variance**2 / below)


def test_what_is_alike_has_intervals_where_they_are_known():
    rows = Dependence.of(40, clusters=np.arange(40) // 4)
    assert mean_interval(np.ones(40), rows, 0.95) == (1.0, 1.0)
    low, high = share_interval(np.array([np.ones(40), np.zeros(40)]), rows, 0.95)
    assert high[0] == 1
    assert low[1] == 0
    assert low[0] == pytest.approx(1 - high[1])
    assert 0.5 < low[0] < 0.8  # as of ten rows, not of forty
    one = Dependence(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64), np.arange(4))
    assert np.isnan(share_interval(np.eye(4)[:1], one, 0.95)[0]).all()


@pytest.mark.parametrize("how", ["clusters", "unequal clusters", "four steps", "twelve steps"])
def test_coverage_of_means_and_shares(how):
    sets, inside, shares = 400, 0, 0
    for seed in range(sets):
        rng = np.random.default_rng([3, seed])
        if how.endswith("clusters"):
            of = np.repeat(np.arange(40), 6 if how == "clusters" else rng.integers(1, 12, 40))
            values = np.sqrt(0.5) * rng.normal(size=40)[of] + np.sqrt(0.5) * rng.normal(size=len(of))
            rows = Dependence.of(len(of), clusters=of)
        else:
            h = 4 if how == "four steps" else 12
            values, rows = moving(rng, 360, h), Dependence.of(360, horizon=h)
        low, high = mean_interval(values, rows, 0.95)
        inside += low <= 0 <= high
        low, high = share_interval((values > 0.8)[None], rows, 0.95)
        shares += bool(low[0] <= 0.21185539858339666 <= high[0])
    least = binom.ppf(0.0005, sets, 0.93)
    assert inside >= least
    assert shares >= least
