"""The multivariate power exponential law against its density, quadrature and special cases."""

import numpy as np
import pytest
from scipy import integrate, stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.predictions import MultivariateNormal, MultivariatePowerExponential

MEAN = np.array([[0.3, -1.0]])
SCALE = np.array([[[2.0, 0.7], [0.7, 1.0]]])


@pytest.mark.parametrize("power", [0.5, 0.8, 1.0, 2.0])
def test_density_has_mass_one_and_the_covariance_that_is_told(power):
    p = MultivariatePowerExponential(np.zeros((1, 2)), SCALE, power)
    x = np.linspace(-30, 30, 1201)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 1, 2)
    density = np.exp(p.log_prob(grid))[:, 0]
    cell = (x[1] - x[0]) ** 2
    assert density.sum() * cell == pytest.approx(1, abs=2e-4)
    second = (density[:, None] * grid[:, 0] ** 2).sum(axis=0) * cell
    np.testing.assert_allclose(np.sqrt(second), p.std[0], rtol=3e-3)


def test_power_one_is_the_normal_law():
    one, normal = MultivariatePowerExponential(MEAN, SCALE, 1.0), MultivariateNormal(MEAN, SCALE)
    y = np.random.default_rng(0).normal(size=(5, 1, 2))
    w = np.random.default_rng(1).normal(size=(6, 2))
    np.testing.assert_allclose(one.log_prob(y), normal.log_prob(y), rtol=1e-12)
    np.testing.assert_allclose(one.score(y), normal.score(y), rtol=1e-12)
    np.testing.assert_allclose(one.std, normal.std, rtol=1e-12)
    np.testing.assert_allclose(one.characteristic(w), normal.characteristic(w), atol=1e-10)
    np.testing.assert_allclose(one.density_level(y), normal.density_level(y), rtol=1e-12)
    np.testing.assert_allclose(one.tempered(2.5).scale, normal.tempered(2.5).cov, rtol=1e-12)


@pytest.mark.parametrize("power", [0.5, 0.9, 3.0])
def test_one_dimension_is_the_generalised_normal_law(power):
    """scipy's gennorm has density ~ exp(-|x / s|^b): b = 2 power and s = 2^(1 / b)."""
    p = MultivariatePowerExponential([[0.0]], [[[1.0]]], power)
    law = stats.gennorm(2 * power, scale=2 ** (1 / (2 * power)))
    y = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(p.log_prob(y[:, None, None])[:, 0], law.logpdf(y), rtol=1e-10)
    for w in (0.0, 0.7, 2.5):
        expected = integrate.quad(lambda x, w=w: 2 * np.cos(w * x) * law.pdf(x), 0, 60, limit=400)[0]
        assert p.characteristic(np.array([[w]]))[0, 0].real == pytest.approx(expected, abs=1e-8)


def test_draws_follow_the_law():
    p = MultivariatePowerExponential(MEAN, SCALE, 0.6)
    drawn = p.sample(3, 20_000)[:, 0]
    level = p.density_level(drawn[:, None])[:, 0]
    assert stats.kstest(level, "uniform").pvalue > 1e-3
    np.testing.assert_allclose(drawn.mean(axis=0), MEAN[0], atol=4 * p.std[0].max() / np.sqrt(20_000))
    angle = np.arctan2(*np.linalg.solve(np.linalg.cholesky(SCALE[0]), (drawn - MEAN).T))
    assert stats.kstest((angle + np.pi) / (2 * np.pi), "uniform").pvalue > 1e-3


def test_score_is_the_gradient_and_tempering_a_power_of_the_density():
    p = MultivariatePowerExponential(MEAN, SCALE, 0.7)
    y, step = np.array([[1.0, 0.2]]), 1e-6
    for k in range(2):
        e = np.eye(2)[k] * step
        slope = (p.log_prob(y + e) - p.log_prob(y - e)) / (2 * step)
        assert p.score(y)[0, k] == pytest.approx(slope[0], rel=1e-6)
    hot = p.tempered(3.0)
    others = np.random.default_rng(0).normal(size=(4, 1, 2))
    gap = hot.log_prob(others) - p.log_prob(others) / 3
    assert np.ptp(gap) < 1e-12
    assert np.all(p.score(MEAN) == 0)


@pytest.mark.slow
def test_temperature_is_found_and_the_test_holds():
    rng = np.random.default_rng(5)
    mean = rng.normal(size=(300, 2))
    p = MultivariatePowerExponential(mean, SCALE[0], 0.6)
    y = p.tempered(2.0).sample(11)[0]
    found = kc.TemperatureScaling().fit(y, p).temperature_
    assert found == pytest.approx(2.0, rel=0.15)
    assert kc.calibration_test(p.sample(1)[0], p, draws=99).pvalue > 0.01
    assert kc.calibration_test(y, p, draws=99).pvalue <= 0.02


def test_parameters_that_are_none_are_refused():
    for power in (0.0, -1.0, np.inf, "one", True):
        with pytest.raises(InputError, match="the power must be a positive finite number"):
            MultivariatePowerExponential(MEAN, SCALE, power)
    with pytest.raises(InputError, match="a component of such a vector has no law of a named family"):
        MultivariatePowerExponential(MEAN, SCALE, 0.7).marginal(0)
