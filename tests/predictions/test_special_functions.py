"""Characteristic functions without a closed form in scipy, against special cases, quadrature and one another."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from kernelcal.predictions.special_functions import dirichlet_wave, log_gamma_quantile, log_normal_wave, student_wave

T = np.array([0.0, 1e-300, 1e-9, 1e-3, 0.3, 1.0, 4.0, 30.0])


@pytest.mark.filterwarnings("error")
def test_odd_degrees_of_freedom_have_elementary_waves():
    for df, wave in (
        (1, lambda x: np.exp(-x)),
        (3, lambda x: np.exp(-x) * (1 + x)),
        (5, lambda x: np.exp(-x) * (1 + x + x * x / 3)),
        (7, lambda x: np.exp(-x) * (1 + x + 0.4 * x * x + x**3 / 15)),
    ):
        np.testing.assert_allclose(student_wave(np.full(8, df), T), wave(np.sqrt(df) * T), rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(student_wave(np.full(8, 5.0), -T), student_wave(np.full(8, 5.0), T))


def test_many_degrees_of_freedom_are_expanded():
    t = np.linspace(0, 6, 40)
    # log K_p by its recurrence from the elementary orders 1/2 and 3/2; orders above 60 are expanded
    for p in (59.5, 60.5, 89.5):
        x = np.sqrt(2 * p) * np.maximum(t, 1e-3)
        before, now, order = np.log(np.pi / 2 / x) / 2 - x, np.log(np.pi / 2 / x) / 2 - x + np.log1p(1 / x), 1.5
        while order < p:
            before, now, order = now, np.logaddexp(before, now + np.log(2 * order / x)), order + 1
        logs = now + p * np.log(x / 2) + np.log(2) - special.gammaln(p)
        np.testing.assert_allclose(student_wave(np.full(40, 2 * p), np.maximum(t, 1e-3)), np.exp(logs), atol=1e-11)
    gap = student_wave(np.full(40, 1e8), t) - np.exp(-t * t / 2)
    np.testing.assert_allclose(gap, t**4 / 4e8 * np.exp(-t * t / 2), atol=1e-8)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_uniform_arcsine_and_peaked_beta_waves():
    w = np.array([-300.0, -7.0, -1e-6, 0.0, 0.01, 2.0, 60.0, 900.0])
    pairs = np.stack([w, np.zeros(8)], axis=1)
    with np.errstate(invalid="ignore"):
        uniform = np.exp(0.5j * w) * np.sinc(w / 2 / np.pi)
    np.testing.assert_allclose(dirichlet_wave(np.array([[1.0, 1.0]]), pairs)[0], uniform, atol=1e-11)
    arcsine = np.exp(0.5j * w) * special.j0(w / 2)
    np.testing.assert_allclose(dirichlet_wave(np.array([[0.5, 0.5]]), pairs)[0], arcsine, atol=1e-11)
    nodes, weights = np.polynomial.legendre.leggauss(2000)
    x, rows = (nodes + 1) / 2, np.array([[3.0, 2.0], [80.0, 40.0], [2.0, 700.0], [2000.0, 3000.0]])
    for (a, b), found in zip(rows, dirichlet_wave(rows, pairs), strict=True):
        expected = (weights / 2 * stats.beta(a, b).pdf(x)) @ np.exp(1j * np.outer(x, w))
        np.testing.assert_allclose(found, expected, atol=2e-9)


def test_waves_of_shares_agree_when_shares_are_joined():
    rng = np.random.default_rng(0)
    c, u = rng.uniform(0.2, 30, (20, 4)), 10 * rng.normal(size=(9, 2))
    joined = np.stack([c[:, 0] + c[:, 2], c[:, 1] + c[:, 3]], axis=1)
    np.testing.assert_allclose(dirichlet_wave(c, u[:, [0, 1, 0, 1]]), dirichlet_wave(joined, u), atol=1e-10)
    moved = dirichlet_wave(c, u[:, [0, 1, 0, 1]] + 3.0) * np.exp(-3j)  # shares sum to 1
    np.testing.assert_allclose(moved, dirichlet_wave(joined, u), atol=1e-10)


@pytest.mark.parametrize("sigma", [0.02, 0.3, 0.9])
def test_log_normal_waves_by_a_fine_grid(sigma):
    z = np.linspace(-9, 9, 200_001)
    weights = stats.norm.pdf(z) * (z[1] - z[0])
    for t in (0.0, 1e-3, 0.7, -3.0, 12.0):
        expected = weights @ np.exp(1j * t * np.exp(sigma * z))
        assert abs(log_normal_wave(np.array(sigma), np.array(t)) - expected) < 1e-9


def test_wide_log_normal_waves_where_the_integrand_decays():
    sigma, t = 4.0, 0.8
    turn = 0.5 * np.pi / sigma  # z + i turn: exp(i t e^(sigma z)) becomes exp(-t e^(sigma z)), whatever t

    def part(z, which):
        value = np.exp(-t * np.exp(min(sigma * z, 700.0)) - 0.5 * (z + 1j * turn) ** 2) / np.sqrt(2 * np.pi)
        return getattr(value, which)

    expected = complex(*(integrate.quad(part, -12, 4, args=(w,), limit=400, epsabs=1e-13)[0] for w in ("real", "imag")))
    assert abs(log_normal_wave(np.array(sigma), np.array(t)) - expected) < 1e-11


@pytest.mark.filterwarnings("error")
def test_logarithms_of_gamma_quantiles_where_quantiles_are_no_numbers():
    shapes = np.array([1e-3, 0.02, 0.5, 40.0])
    levels = np.array([[1e-16], [0.3], [0.999]])
    logs = log_gamma_quantile(shapes, levels)
    assert np.isfinite(logs).all()
    assert logs[0, 0] == pytest.approx((np.log(1e-16) + special.gammaln(1.001)) / 1e-3)
    np.testing.assert_allclose(special.gammainc(shapes[2:], np.exp(logs[:, 2:])), levels * np.ones(2), rtol=1e-12)
