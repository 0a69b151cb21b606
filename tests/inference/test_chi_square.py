"""Tails of gamma variables and sums of chi-square variables, against SciPy and in extreme units."""

import math

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.inference.laws.chi_square import ChiSquareSum, pearson_tail


@pytest.mark.parametrize("skewness", [3e-5, 1e-3, 0.1, 1.0, 2.8, 6.0, -1e-3, -0.5, -2.5])
@pytest.mark.parametrize("z", [-3.0, -1.0, 0.0, 0.5, 2.0, 5.0, 9.0])
def test_the_tail_is_that_of_scipy(skewness, z):
    expected = stats.pearson3.sf(z, skewness)
    assert pearson_tail(z, skewness) == pytest.approx(expected, rel=1e-10, abs=0)


@pytest.mark.parametrize("z", [-3.0, 0.0, 1.0, 4.0])
def test_nearly_normal_tails_join_those_of_the_gamma_variable(z):
    """SciPy takes the normal law below a skewness of 1.6e-5; just above it agrees with the expansion."""
    for skewness in (1.9e-5, -1.9e-5):
        assert pearson_tail(z, skewness) == pytest.approx(stats.pearson3.sf(z, skewness), rel=1e-9)
    assert pearson_tail(z, 0.0) == pytest.approx(stats.norm.sf(z), rel=1e-14)
    first_order = 1e-5 * (z * z - 1) / 6 * stats.norm.pdf(z)
    assert pearson_tail(z, 1e-5) - stats.norm.sf(z) == pytest.approx(first_order, rel=1e-3, abs=3e-12)


def test_far_tails_keep_their_digits():
    """An exponential variable less its mean: exp(-1 - z); 1e-300 is far from the smallest number."""
    assert pearson_tail(689.0, 2.0) == pytest.approx(math.exp(-690), rel=1e-12)
    assert 0 < pearson_tail(700.0, 2.0) < 1e-300
    assert pearson_tail(1.0, -2.0) == pytest.approx(0.0)  # beyond its end a bounded variable has no tail


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_equal_weights_are_one_chi_square_variable(count):
    law = ChiSquareSum(np.append(np.full(count, 0.3), [1e-18, -1e-19]), shift=-0.3 * count)
    for x in (0.1, 1.0, 5.0, 30.0):
        assert law.tail(x) == pytest.approx(stats.chi2.sf(x / 0.3 + count, count), rel=1e-11)
    mirrored = ChiSquareSum(np.full(count, -0.3), shift=0.3 * count)
    assert mirrored.tail(-1.0) == pytest.approx(stats.chi2.cdf(1 / 0.3 + count, count), rel=1e-11)


def test_a_gamma_variable_beside_weights_of_half_its_scale():
    law = ChiSquareSum(np.array([0.5, 0.5]), shift=-1.0, scale=1.0, shape=2.5)
    assert law.tail(4.0) == pytest.approx(stats.gamma.sf(5.0, 3.5), rel=1e-12)


def test_a_normal_variable_alone():
    assert ChiSquareSum(np.zeros(0), 1.0, normal=4.0).tail(5.0) == pytest.approx(stats.norm.sf(2.0), rel=1e-13)


@pytest.mark.parametrize("unit", [1e-301, 1e-200, 1e200, 1e300])
def test_units_change_nothing(unit):
    plain = ChiSquareSum(np.array([3.0, 1.0, -0.5]), shift=-3.5)
    other = ChiSquareSum(unit * plain.weights, shift=unit * plain.shift)
    assert other.tail(10 * unit) == pytest.approx(plain.tail(10.0), rel=1e-12)
    assert other.standardised(10 * unit) == pytest.approx(10 / math.sqrt(plain.variance), rel=1e-12)


def test_a_constant():
    law = ChiSquareSum(np.zeros(3), shift=1.0)
    assert (law.tail(1.0), law.tail(1.1), law.standardised(1.0), law.standardised(2.0)) == (1.0, 0.0, 0.0, math.inf)


def test_the_pearson_law_is_the_curve_that_it_names():
    rng = np.random.default_rng(5)
    p, n = rng.uniform(0.2, 0.8, 200), 200
    statistic = kc.SKCE(prediction_kernel=kc.Gaussian(3.0))
    for seed in range(8):
        y = (np.random.default_rng(seed).random(n) < p).astype(int)
        r = np.sqrt(2) * (y - p)
        h = np.outer(r, r) * np.exp(-((p[:, None] - p) ** 2) / 18)
        np.fill_diagonal(h, 0)
        variance = 2 * (h**2).sum() / (n * (n - 1))
        third = 8 * np.sum((h @ h) * h) / (n * (n - 1) * (n - 2))
        expected = stats.pearson3.sf(h.sum() / (n - 1) / np.sqrt(variance), third / variance**1.5)
        found = kc.calibration_test(y, p, statistic=statistic, null="pearson").pvalue
        assert found == pytest.approx(expected, rel=1e-10)
