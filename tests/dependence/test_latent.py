"""Latent numbers: coefficients against orthant probabilities, estimates and draws against the truth."""

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal, norm, poisson

import kernelcal as kc
from kernelcal.dependence import Dependence, Scores, SharedPart, Stretches, lagged_correlations, shared_correlation


def both_above(a, b, rho):
    return multivariate_normal.cdf([-a, -b], cov=[[1, rho], [rho, 1]])


@pytest.mark.parametrize("rho", [-0.6, 0.3, 0.7])
def test_products_of_events_have_this_mean(rho):
    p = np.array([0.1, 0.45])
    scores = Scores.of(kc.Bernoulli(p))
    a = norm.isf(p)
    spread = np.sqrt(p * (1 - p))
    wanted = (both_above(*a, rho) - p.prod()) / spread.prod()
    found = (scores.coefficients[0] * scores.coefficients[1]) @ rho ** np.arange(1, scores.coefficients.shape[1] + 1)
    assert found == pytest.approx(wanted, abs=0.004)
    np.testing.assert_allclose(scores(np.array([1, 0])), (np.array([1, 0]) - p) / spread)


@pytest.mark.parametrize("rho", [0.3, 0.7])
def test_products_of_counts_have_this_mean(rho):
    """E y y' = sum over j, k of P(y > j, y' > k)."""
    means = np.array([0.4, 2.0])
    scores = Scores.of(kc.Poisson(means))
    cuts = [norm.ppf(poisson.cdf(np.arange(12), mean)) for mean in means]
    product = sum(both_above(a, b, rho) for a in cuts[0] for b in cuts[1])
    wanted = (product - means.prod()) / np.sqrt(means.prod())
    found = (scores.coefficients[0] * scores.coefficients[1]) @ rho ** np.arange(1, scores.coefficients.shape[1] + 1)
    assert found == pytest.approx(wanted, abs=0.02)


def test_continuous_laws_have_normal_scores():
    mean = np.array([0.0, 2.0])
    scores = Scores.of(kc.Laplace(mean, 1.0))
    assert scores.coefficients.tolist() == [[1.0], [1.0]]
    assert scores(np.array([0.0, 2.0])).tolist() == [0.0, 0.0]


def test_rows_without_spread_say_nothing():
    scores = Scores.of(kc.Bernoulli([0.0, 1.0, 0.5]))
    assert scores(np.array([0, 1, 1])).tolist() == [0.0, 0.0, 1.0]
    assert not scores.coefficients[:2].any()


@pytest.mark.parametrize("family", ["events", "counts", "numbers"])
def test_correlations_of_a_path_are_found(family):
    """Means of three shocks: 2/3 and 1/3, and shrunk by the pairs that are missing."""
    rng, n = np.random.default_rng(0), 20_000
    g = np.convolve(rng.normal(size=n + 2), np.full(3, 3**-0.5), "valid")
    x = rng.normal(size=n)
    if family == "events":
        p = norm.cdf(x)
        batch, y = kc.Bernoulli(p), (g > norm.isf(p)).astype(int)
    elif family == "counts":
        batch, y = kc.Poisson(np.exp(x)), poisson.ppf(norm.cdf(g), np.exp(x))
    else:
        batch, y = kc.Normal(x, 1.0), x + g
    scores, rows = Scores.of(batch), Dependence.of(n, horizon=3)
    np.testing.assert_allclose(lagged_correlations(scores, scores(y), rows), [2 / 3, 1 / 3], atol=0.04)


def test_correlations_along_time_are_those_of_loops():
    z = np.random.default_rng(2).normal(size=12)
    rows = Dependence.of(12, horizon=4, series=np.repeat([0, 1], [7, 5]))
    wanted = []
    for k in (1, 2, 3):
        products = [z[i] * z[i + k] for i in range(12 - k) if (i < 7) == (i + k < 7)]
        wanted.append((12 - 2 * k) / 12 * np.mean(products) / np.mean(z**2))
    np.testing.assert_allclose(lagged_correlations(Scores.of(kc.Normal(np.zeros(12), 1.0)), z, rows), wanted)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8])
def test_correlation_in_clusters_is_found(rho):
    rng, of = np.random.default_rng(1), np.repeat(np.arange(3000), 4)
    g = np.sqrt(rho) * rng.normal(size=3000)[of] + np.sqrt(1 - rho) * rng.normal(size=len(of))
    p = norm.cdf(rng.normal(size=len(of)))
    scores = Scores.of(kc.Bernoulli(p))
    found = shared_correlation(scores, scores((g > norm.isf(p)).astype(int)), Dependence.of(len(of), clusters=of))
    assert found == pytest.approx(rho, abs=0.04)


def test_clusters_share_a_part():
    rows = Dependence.of(5, clusters=[0, 0, 1, 1, 2])
    coupling = SharedPart(rows, 0.6)
    u = coupling(np.random.default_rng(0).random((40_000, coupling.size)))
    assert u.shape == (40_000, 5)
    wanted = np.eye(5)
    wanted[0, 1] = wanted[1, 0] = wanted[2, 3] = wanted[3, 2] = 0.6
    np.testing.assert_allclose(np.corrcoef(norm.ppf(u).T), wanted, atol=0.02)
    assert all(kstest(column, "uniform").pvalue > 1e-3 for column in u.T)


def test_overlapping_forecasts_are_a_path():
    """Two series, one with a gap: correlations by steps, none across series and none from the horizon on."""
    time, series = np.array([0, 1, 2, 4, 0, 1, 2]), np.array([0, 0, 0, 0, 1, 1, 1])
    rows = Dependence.of(7, time=time, horizon=3, series=series)
    coupling = Stretches(rows, np.array([2 / 3, 1 / 3]))
    u = coupling(np.random.default_rng(0).random((40_000, coupling.size)))
    by_lag = np.array([1, 2 / 3, 1 / 3, 0, 0])
    wanted = np.where(series[:, None] == series, by_lag[np.abs(time[:, None] - time)], 0.0)
    np.testing.assert_allclose(np.corrcoef(norm.ppf(u).T), wanted, atol=0.02)
    assert all(kstest(column, "uniform").pvalue > 1e-3 for column in u.T)


def test_correlations_of_no_path_are_brought_near_one():
    rows = Dependence.of(50, horizon=3)
    coupling = Stretches(rows, np.array([0.9, -0.9]))
    u = coupling(np.random.default_rng(0).random((5_000, coupling.size)))
    np.testing.assert_allclose(norm.ppf(u).std(axis=0), 1.0, atol=0.06)
