"""Counts against scipy.stats, the exact inverse, and draws with the predicted probabilities."""

import numpy as np
import pytest
from scipy import stats

from kernelcal.errors import InputError
from kernelcal.predictions import NegativeBinomial, Poisson

RNG = np.random.default_rng(0)
MEAN = np.concatenate([[0.0, 1e-8, 0.01], RNG.uniform(0.1, 40, 20), [1e3, 1e6]])
SIZE = np.concatenate([[1.0, 2.0, 0.1], RNG.uniform(0.05, 30, 20), [0.5, 1e4]])
P = SIZE / (SIZE + MEAN)
PAIRS = [(Poisson(MEAN), stats.poisson(MEAN)), (NegativeBinomial(MEAN, SIZE), stats.nbinom(SIZE, P))]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_everything_agrees_with_scipy(ours, theirs):
    k = np.round(MEAN + np.arange(-5, 40)[:, None] * (0.3 + MEAN / 50)).clip(0)
    np.testing.assert_allclose(ours.mean, MEAN, rtol=1e-14)
    with np.errstate(divide="ignore"):  # before 1.14 scipy also computes the skewness, which a mean of 0 has not
        std = theirs.std()
    np.testing.assert_allclose(ours.std, std, rtol=1e-8)
    np.testing.assert_allclose(ours.log_prob(k), theirs.logpmf(k), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.cdf(k), theirs.cdf(k), rtol=1e-9)
    u = RNG.random((20, len(MEAN)))
    np.testing.assert_array_equal(ours.quantile(u), theirs.ppf(u))


def test_intervals_of_the_probability_integral_transform():  # cases.json pit-counts
    batch = Poisson([3.0, 3.0, 3.0])
    expected = [[0.199148273, 0.423190081], [0.423190081, 0.647231889], [0.647231889, 0.815263245]]
    y = np.array([2.0, 3.0, 4.0])
    np.testing.assert_allclose(np.stack([batch.cdf_below(y), batch.cdf(y)], axis=1), expected, atol=5e-10)


def test_size_and_probability_are_those_of_scipy():
    batch = NegativeBinomial.from_probability(SIZE, P)
    with np.errstate(divide="ignore"):  # as above
        mean = stats.nbinom(SIZE, P).mean()
    np.testing.assert_allclose(batch.mean, mean, rtol=1e-9)
    np.testing.assert_array_equal(batch.dispersion, SIZE)
    np.testing.assert_allclose(NegativeBinomial.from_probability(2.0, [0.25, 1.0]).mean, [6.0, 0.0])


@pytest.mark.parametrize("batch", [Poisson([0.3, 4.0]), NegativeBinomial([0.3, 4.0], [0.5, 3.0])])
def test_a_count_is_drawn_exactly_between_two_steps(batch):
    k = np.arange(12.0)[:, None] * np.ones(2)
    upper, lower = batch.cdf(k), batch.cdf_below(k)
    some = lower < 1 - 1e-12
    np.testing.assert_array_equal(batch.draw(upper)[some], k[some])
    np.testing.assert_array_equal(batch.draw(np.nextafter(lower, 1))[some], k[some])
    # P(draw = k) is the length of the interval, which is the probability up to rounding
    np.testing.assert_allclose((upper - lower)[some], np.exp(batch.log_prob(k))[some], atol=1e-15)


@pytest.mark.parametrize("mean", [0.02, 3.0, 500.0])
@pytest.mark.parametrize("dispersion", [None, 0.05, 2.0, 1e5])
def test_tables_and_search_draw_the_same(mean, dispersion):
    mean = RNG.uniform(0, 2 * mean, 15)
    batch = Poisson(mean) if dispersion is None else NegativeBinomial(mean, dispersion)
    u = np.concatenate([RNG.random((500, 15)), np.zeros((1, 15)), np.full((1, 15), 1 - 2.0**-53)])
    many = batch.draw(u)
    np.testing.assert_array_equal(many, batch.quantile(np.maximum(u, 2.0**-54)))
    np.testing.assert_array_equal(many[:3], batch.draw(u[:3]))
    assert np.all(batch.cdf(many) >= u)
    assert np.all(batch.cdf_below(many) < np.maximum(u, 2.0**-54))


def test_frequencies_lie_within_binomial_bounds():
    batch = NegativeBinomial([2.0], [0.7])
    drawn = batch.sample(0, 20_000)[:, 0]
    for k in range(8):
        low, high = stats.binom.ppf([1e-7, 1 - 1e-7], 20_000, np.exp(batch.log_prob([float(k)]))[0])
        assert low <= (drawn == k).sum() <= high


@pytest.mark.parametrize("mean", [0.1, 5.0, 1e4])
def test_most_draws_take_two_values_of_the_distribution_function(monkeypatch, mean):
    taken = []
    cumulative = Poisson.cumulative
    monkeypatch.setattr(Poisson, "cumulative", lambda p, k: taken.append(k.size) or cumulative(p, k))
    n = 100_000
    Poisson(RNG.uniform(0, 2 * mean, n)).draw(RNG.random((1, n)))
    assert sum(taken) < 3 * n
    assert len(taken) < 20  # array operations, not a loop over elements


def test_nearly_poisson_is_poisson():
    y = np.array([0.0, 2.0, 5.0])
    wide = NegativeBinomial([2.5, 2.5, 2.5], 1e12)
    np.testing.assert_allclose(wide.cdf(y), Poisson([2.5] * 3).cdf(y), rtol=1e-11)
    np.testing.assert_allclose(wide.log_prob(y), Poisson([2.5] * 3).log_prob(y), rtol=1e-10)


def test_characteristic_functions_are_sums():
    k, w = np.arange(400.0), np.array([0.0, 1e-9, 0.3, 3.0])
    for batch in (Poisson([4.0]), NegativeBinomial([4.0], [1.5])):
        p = np.exp(batch.log_prob(k[:, None]))[:, 0]
        np.testing.assert_allclose(batch.characteristic(w)[0], np.exp(1j * np.outer(w, k)) @ p, rtol=1e-12)


def test_a_rate_of_zero_leaves_only_zero():
    batch = Poisson([0.0, 1.0])
    np.testing.assert_array_equal(batch.impossible(np.array([[0.0, 0.0], [1.0, 1.0]])), [[False, False], [True, False]])
    np.testing.assert_array_equal(batch.log_prob([0.0, 0.0]), [0.0, -1.0])
    np.testing.assert_array_equal(batch.quantile(np.array([[0.3], [1.0]])), [[0.0, 0.0], [0.0, np.inf]])
    np.testing.assert_array_equal(batch.standardised(np.array([0.0, 3.0])), [0.0, 2.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Poisson([1.0, -0.5]),
            r"the rate in row 1 is -0.5, expected a number that is not negative \(is",
        ),
        (lambda: Poisson([1.0, np.nan]), r"the rate in row 1 is missing \(NaN\)"),
        (lambda: Poisson([1e20]), "the rate in row 0 is 1e\\+20, expected at most 1e\\+15: larger whole numbers"),
        (lambda: NegativeBinomial([-1.0], 1.0), "the mean in row 0 is -1"),
        (
            lambda: NegativeBinomial([1.0], 0.0),
            "the dispersion in row 0 is 0, expected a positive number .a row",
        ),
        (lambda: NegativeBinomial([1.0], [1.0, 2.0]), "mean and dispersion must have equal length, got 1 and 2"),
        (lambda: NegativeBinomial.from_probability(1.0, [0.5, 0.0]), r"a success in row 1 is 0, expected .* \(0, 1\]"),
        (lambda: NegativeBinomial.from_probability(1.0, [1.5]), "the probability of a success in row 0 is 1.5"),
        (lambda: NegativeBinomial.from_probability(-1.0, [0.5]), "the size in row 0 is -1"),
    ],
)
def test_counts_refuse(make, message):
    with pytest.raises(InputError, match=message):
        make()
