"""Bands of calibrated models: tails, ends, and that they hold what they promise."""

import numpy as np
import pytest
from scipy import stats

from kernelcal.errors import InputError
from kernelcal.runs import Run
from kernelcal.statistics.binned.bands import CountLaw, NullBand, multinomial_band


def poisson_binomial(p):
    """Probabilities of 0, 1, ..., n events, event by event."""
    law = np.ones(1)
    for q in p:
        law = np.convolve(law, [1 - q, q])
    return law


@pytest.mark.parametrize("p", [0.0, 0.02, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("n", [1, 7, 60])
def test_depth_and_ends_are_those_of_the_binomial_law(n, p):
    law, counts = CountLaw.equal(n, np.array([p])), np.arange(n + 1)
    expected = np.minimum(stats.binom.cdf(counts, n, p), stats.binom.sf(counts - 1, n, p))
    depth = law.depth(counts[:, None])[:, 0]
    assert depth == pytest.approx(expected, abs=1e-12)
    for wanted in (0.3, 0.05, 1e-4, *depth[depth > 1e-6]):
        held = counts[depth >= wanted]
        if len(held):
            assert [int(end[0]) for end in law.ends(wanted)] == [held.min(), held.max()]
    assert [int(end[0]) for end in law.ends(0.0)] == [0, n]


def test_depths_of_many_sets_of_counts_are_those_of_each():
    law = CountLaw.equal(30, [0.1, 0.5, 1.0])
    counts = np.random.default_rng(0).binomial(30, [0.1, 0.5, 1.0], (200, 3)).astype(float)
    np.testing.assert_array_equal(law.depth(counts), np.stack([law.depth(one) for one in counts]))


def test_moments_are_those_of_the_weighted_sum():
    rng = np.random.default_rng(0)
    p, w, index = rng.random(30), rng.exponential(size=30), rng.integers(0, 3, 30)
    law = CountLaw.of_bins(p, index, 4, w)
    for k in range(3):
        rows = index == k
        assert law.unit[k] * law.size[k] * law.probability[k] == pytest.approx((w * p)[rows].sum())
        variance = law.unit[k] ** 2 * law.size[k] * law.probability[k] * (1 - law.probability[k])
        assert variance == pytest.approx((w**2 * p * (1 - p))[rows].sum())
    assert law.most[3] == law.size[3] == 0


def test_tails_of_unequal_probabilities_are_near():
    p = 0.1 + 0.1 * np.random.default_rng(1).random(40)  # as in a bin
    law = CountLaw.of_bins(p, np.zeros(40, dtype=int), 1, None)
    exact = poisson_binomial(p)
    expected = np.minimum(exact.cumsum(), exact[::-1].cumsum()[::-1])
    assert law.depth(np.arange(41.0)[:, None])[:, 0] == pytest.approx(expected, rel=0.02, abs=1e-6)


def test_certain_events_leave_one_value():
    law = CountLaw.of_bins(np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), np.array([0, 0, 0, 0, 1, 1]), 3, None)
    assert law.depth(np.array([3.0, 0.0, 0.0])).tolist() == [1, 1, 1]
    assert law.depth(np.array([2.0, 1.0, 0.0])).tolist() == [0, 0, 1]
    assert law.depth(np.array([4.0, 0.0, 0.0])).tolist() == [0, 1, 1]
    assert [end.tolist() for end in law.ends(0.2)] == [[3, 0, 0], [3, 0, 0]]


def test_the_band_is_that_of_a_second_implementation():
    rng = np.random.default_rng(2)
    n, p = 40, np.array([0.1, 0.5, 0.9])
    law, drawn = CountLaw.equal(n, p), rng.binomial(40, p, size=(199, 3))
    band = NullBand.of(law, law.depth(drawn), Run(confidence_level=0.9, draws=len(drawn)))
    tails = lambda x, q: min(stats.binom.cdf(x, n, q), stats.binom.sf(x - 1, n, q))  # noqa: E731
    smallest = sorted(min(tails(x, q) for x, q in zip(row, p, strict=True)) for row in drawn)
    critical = smallest[19] - 1e-12  # 20 = 0.1 * 200 draws may be further out
    for k, q in enumerate(p):
        held = [x for x in range(n + 1) if tails(x, q) >= critical]
        assert (band.low[k], band.high[k]) == (held[0], held[-1])
        alone = [x for x in range(n + 1) if tails(x, q) >= 0.05]
        assert (band.pointwise_low[k], band.pointwise_high[k]) == (alone[0], alone[-1])
    inside = ~np.array([band.outside(row).any() for row in drawn])
    assert inside.sum() == sum(depth >= critical for depth in smallest) >= 180


@pytest.mark.parametrize(("level", "draws", "j"), [(0.9, 99, 10), (0.95, 19, 1), (0.8, 14, 3)])
def test_the_edge_is_the_draw_of_the_right_rank(level, draws, j):
    """Depths all different: of the draws exactly the j - 1 furthest out lie outside, as the level needs."""
    rng = np.random.default_rng(7)
    p, w = rng.uniform(0.2, 0.8, 60), rng.exponential(size=60)
    index = np.arange(60) % 2
    law = CountLaw.of_bins(p, index, 2, w)
    drawn = (rng.uniform(size=(draws, 60)) < p) * w
    sums = np.stack([drawn[:, index == k].sum(axis=1) for k in (0, 1)], axis=1)
    band = NullBand.of(law, law.depth(sums), Run(confidence_level=level, draws=draws))
    assert sum(bool(band.outside(row).any()) for row in sums) == j - 1
    alone = [
        ((sums[:, k] < band.pointwise_low[k] - 1e-9) | (sums[:, k] > band.pointwise_high[k] + 1e-9)) for k in (0, 1)
    ]
    assert [int(out.sum()) for out in alone] == [j - 1, j - 1]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "bins"), [(5, 10), (40, 4), (300, 12)])
def test_calibrated_counts_lie_inside_as_often_as_promised(n, bins):
    rng = np.random.default_rng([n, bins])
    probability = rng.dirichlet(np.full(bins, 2.0))  # unequal, some nearly empty
    out = 0
    for _ in range(200):
        band = multinomial_band(n, probability, Run(confidence_level=0.9, draws=99), rng)
        out += bool(band.outside(rng.multinomial(n, probability)).any())
    assert out <= stats.binom(200, 0.1).ppf(0.999)


@pytest.mark.slow
def test_the_band_is_not_needlessly_wide():
    rng = np.random.default_rng(5)
    probability = np.full(10, 0.1)
    bands = [multinomial_band(1000, probability, Run(confidence_level=0.9, draws=199), rng) for _ in range(150)]
    out = sum(bool(band.outside(rng.multinomial(1000, probability)).any()) for band in bands)
    assert out >= stats.binom(150, 0.07).ppf(0.001)  # 0.1 less what whole numbers take


def test_a_rare_event_does_not_widen_the_other_bins():
    """On the scale of standard deviations one event in an empty bin would be the largest of all."""
    probability = np.array([*[1e-4] * 10, *[0.1] * 9, 0.099])
    band = multinomial_band(200, probability, Run(), np.random.default_rng(0))
    even = multinomial_band(200, np.full(10, 0.1), Run(), np.random.default_rng(0))
    assert band.high[12] - band.low[12] <= 1.3 * (even.high[2] - even.low[2])


@pytest.mark.parametrize(
    ("level", "draws", "message"),
    [
        (0.95, 18, "a band of confidence_level 0.95 needs at least 19 draws, got 18"),
        (0.99, 50, "needs at least 99 draws"),
        (1.0, 99, "confidence_level must lie between 0 and 1"),
        (95, 99, "confidence_level must lie between 0 and 1, such as 0.95, got 95"),
        ("0.9", 99, "confidence_level must lie between 0 and 1, such as 0.95, got '0.9'"),
        (None, 99, "confidence_level must lie between 0 and 1"),
        (0.9, 0, "draws must be a positive whole number, got 0"),
        (0.9, 9.5, "draws must be a positive whole number"),
    ],
)
def test_what_is_refused(level, draws, message):
    with pytest.raises(InputError, match=message):
        multinomial_band(10, np.full(2, 0.5), Run(confidence_level=level, draws=draws), np.random.default_rng(0))


def test_the_smallest_number_of_draws_is_enough():
    assert multinomial_band(10, np.full(2, 0.5), Run(draws=19), np.random.default_rng(0)).draws == 19
