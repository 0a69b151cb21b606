"""The exact band beside simulation, multinomial sums and a band that was published."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from kernelcal import InputError
from kernelcal.ranks import RankTable, chance_inside, ecdf_difference, simultaneous_band


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([0, 1, 2], [3, 4, 5]),
        ([2, 0, 1], [6, 5, 3]),
        ([4, 0, 0], [6, 2, 6]),
        ([4, 0, 0], [6, 3, 6]),
        ([2, 3, 0], [1, 6, 6]),
    ],
)
def test_the_chance_is_a_sum_over_all_counts(low, high):
    """Of any ends, of which some fall, and some leave no number."""
    points, low, high = np.array([0.2, 0.5, 0.6]), np.array(low), np.array(high)
    law = multinomial(6, [0.2, 0.3, 0.1, 0.4])
    total = 0.0
    for a, b, c in itertools.product(range(7), repeat=3):
        if a + b + c <= 6 and all(l <= k <= h for l, k, h in zip(low, np.cumsum([a, b, c]), high, strict=True)):
            total += law.pmf([a, b, c, 6 - a - b - c])
    assert chance_inside(6, points, low, high) == pytest.approx(total, rel=1e-12)


def test_one_point_is_a_binomial_interval():
    band = simultaneous_band(50, [0.3], 0.9)
    tails = binom.cdf(band.low[0] - 1, 50, 0.3), binom.sf(band.high[0], 50, 0.3)
    assert max(tails) < 0.05 <= min(binom.cdf(band.low[0], 50, 0.3), binom.sf(band.high[0] - 1, 50, 0.3))
    assert band.coverage == pytest.approx(1 - sum(tails), rel=1e-12)
    assert band.coverage >= 0.9


@pytest.mark.parametrize(("n", "size"), [(30, 9), (200, 19), (1000, 4)])
def test_simulated_values_lie_inside_as_often_as_it_says(n, size):
    points = np.arange(1, size + 1) / (size + 1)
    band = simultaneous_band(n, points, 0.95)
    rng, tries = np.random.default_rng(n), 20_000
    counts = np.cumsum(rng.multinomial(n, np.full(size + 1, 1 / (size + 1)), tries), axis=1)[:, :-1]
    inside = tries - int(band.outside(counts).any(axis=1).sum())
    assert binom.ppf(1e-4, tries, band.coverage) <= inside <= binom.ppf(1 - 1e-4, tries, band.coverage)
    assert 0.95 <= band.coverage < 0.965


def test_no_narrower_band_of_equal_tails_would_do():
    points = np.arange(1, 20) / 20
    band = simultaneous_band(100, points, 0.95)
    tails = [min(2 * binom.cdf(k, 100, p) for k, p in zip(band.low, points, strict=True))]
    tails.append(min(2 * binom.sf(k - 1, 100, p) for k, p in zip(band.high, points, strict=True)))
    level = min(tails) * (1 + 1e-9)  # the next narrower band leaves out what has these tails
    low = np.array([binom.ppf(level / 2, 100, p) for p in points]).astype(int)
    high = np.array([binom.isf(level / 2, 100, p) for p in points]).astype(int)
    assert chance_inside(100, points, low, high) < 0.95 <= band.coverage


@pytest.mark.slow
def test_many_values_are_no_problem():
    band = simultaneous_band(20_000, np.arange(1, 50) / 50, 0.95)
    assert band.coverage == pytest.approx(0.95, abs=0.002)
    middle = band.high[24] - band.low[24]
    assert 2 * 1.96 * math.sqrt(5000) < middle < 2 * 3.5 * math.sqrt(5000)


@pytest.mark.parametrize("points", [[], [0.5, 0.4], [0.0], [[0.5]], [1.0]])
def test_points_must_increase_inside(points):
    with pytest.raises(InputError, match="increasing numbers between 0 and 1"):
        simultaneous_band(10, points, 0.95)


def test_the_difference_counts_ranks_below_steps():
    found = ecdf_difference(RankTable.of_ranks([0, 3, 3, 1, 2, 0, 3, 3], 3), 0)
    np.testing.assert_allclose(found.points, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(found.difference, [2 / 8 - 0.25, 3 / 8 - 0.5, 4 / 8 - 0.75])
    values = np.random.default_rng(0).random(40)
    found = ecdf_difference(RankTable.of_pit(values), 0)
    np.testing.assert_allclose(found.difference, [(values <= p).mean() - p for p in found.points])
    assert not found.outside.any()
    assert found.to_dict()["coverage"] == found.coverage
    assert "all points at once" in found.summary()


def test_without_independent_rows_there_is_no_band():
    found = ecdf_difference(RankTable.of_pit(np.zeros(20)), 0, independent=False)
    assert not found.outside.any()
    assert found.to_dict()["low"] is None
