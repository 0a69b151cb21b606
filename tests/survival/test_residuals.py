"""Martingale residuals and bets: naive integrals, and means of 0 and 1 whatever the censoring."""

import numpy as np
import pytest
from scipy import integrate, special

from kernelcal.survival import bets, residual_features
from kernelcal.survival.residuals import FUNCTIONS


@pytest.mark.parametrize(("hazard", "event"), [(0.4, 1), (1.7, 0), (3.2, 1), (0.0, 0)])
def test_features_are_integrals_against_the_residual_process(hazard, event):
    """An event counts the function at its place; the compensator is integrated by quadrature, in u."""
    end = 1 - np.exp(-hazard)
    for k in range(FUNCTIONS):

        def function(u, k=k):
            return np.sqrt(2 * k + 1) * special.eval_legendre(k, 2 * u - 1)

        drift = integrate.quad(lambda u, f=function: f(u) / (1 - u), 0, end)[0]
        expected = event * function(end) - drift
        found = residual_features(np.array([hazard]), np.array([event]))[0, k]
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rate", [0.0, 0.5, 2.0])
def test_means_are_zero_and_covariances_those_of_rows_at_risk(rate):
    rng = np.random.default_rng(5)
    times = rng.exponential(size=200_000)
    ends = rng.exponential(size=200_000) / rate if rate else np.full(200_000, np.inf)
    features = residual_features(np.minimum(times, ends), times <= ends)
    error = 5 * features.std(axis=0) / np.sqrt(len(features))
    assert np.all(np.abs(features.mean(axis=0)) < error)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    g = np.array([np.sqrt(2 * k + 1) * special.eval_legendre(k, nodes) for k in range(FUNCTIONS)])
    at_risk = ((1 - nodes) / 2) ** rate  # P(C > u): exponential times with this rate, u = 1 - exp(-t)
    expected = (g * at_risk * weights / 2) @ g.T
    np.testing.assert_allclose(features.T @ features / len(features), expected, atol=0.05)


def naive_bets(hazard, event, slope):
    total, count = 0.0, 0
    for function in (
        lambda v, s: 1.0 + 0 * v,
        lambda v, s: 2 * v - 1,
        lambda v, s: s + 0 * v,
    ):
        for stake in (0.07, 0.15, 0.25, 0.4, 0.6):
            for a in (stake, -stake):
                product = 1.0
                for h, e, s in zip(hazard, event, slope, strict=True):
                    drift = integrate.quad(lambda t, f=function, s=s: f(np.exp(-t), s), 0, h)[0]
                    product *= (1 + a * function(np.exp(-h), s)) ** e * np.exp(-a * drift)
                total, count = total + product, count + 1
    return total / count


def test_bets_are_products_of_likelihood_ratios():
    rng = np.random.default_rng(2)
    hazard, event, slope = rng.exponential(size=6), rng.integers(0, 2, 6), rng.uniform(-1, 1, 6)
    assert bets(hazard, event, slope).e_value == pytest.approx(naive_bets(hazard, event, slope), rel=1e-6)


@pytest.mark.slow
def test_bets_have_mean_one_under_censoring_that_depends_on_the_prediction():
    rng = np.random.default_rng(3)
    slope = np.linspace(-1, 1, 8)
    values = []
    for _ in range(4000):
        times, ends = rng.exponential(size=8), rng.exponential(size=8) * np.exp(2 * slope)
        values.append(bets(np.minimum(times, ends), times <= ends, slope).e_value)
    assert np.mean(values) == pytest.approx(1, abs=4 * np.std(values) / np.sqrt(len(values)))
