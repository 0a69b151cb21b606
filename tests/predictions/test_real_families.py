"""Laplace and Normal against scipy.stats, gradients, and messages."""

import numpy as np
import pytest
from scipy import integrate, stats

from kernelcal.errors import InputError
from kernelcal.predictions import Laplace, Normal

RNG = np.random.default_rng(0)
LOC, SCALE = RNG.normal(size=30) * 5, RNG.uniform(0.01, 9, 30)
Y = RNG.normal(size=(8, 30)) * 10
U = RNG.random((8, 30))
PAIRS = [(Laplace(LOC, SCALE), stats.laplace(LOC, SCALE)), (Normal(LOC, SCALE), stats.norm(LOC, SCALE))]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_everything_agrees_with_scipy(ours, theirs):
    np.testing.assert_allclose(ours.mean, theirs.mean(), rtol=1e-14)
    np.testing.assert_allclose(ours.std, theirs.std(), rtol=1e-14)
    np.testing.assert_allclose(ours.log_prob(Y), theirs.logpdf(Y), rtol=1e-12)
    np.testing.assert_allclose(ours.cdf(Y), theirs.cdf(Y), rtol=1e-12)
    np.testing.assert_allclose(ours.quantile(U), theirs.ppf(U), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(ours.cdf_below(Y), ours.cdf(Y))


def test_laplace_by_hand():
    batch = Laplace([0.0, 1.0], [1.0, 2.0])
    np.testing.assert_allclose(batch.log_prob([0.0, 3.0]), [np.log(0.5), np.log(0.25) - 1])
    np.testing.assert_allclose(batch.cdf([-np.log(2), 1.0]), [0.25, 0.5])
    np.testing.assert_allclose(batch.quantile(np.array([[0.25, 0.5], [0.75, 0.5]])), [[-np.log(2), 1], [np.log(2), 1]])
    np.testing.assert_allclose(batch.std**2, [2.0, 8.0])
    np.testing.assert_allclose(batch.standardised(np.array([1.0, 1.0])), [1 / np.sqrt(2), 0.0])


def test_laplace_keeps_the_digits_of_both_tails():
    batch = Laplace([0.0], [1.0])
    np.testing.assert_allclose(batch.cdf([-700.0]), 0.5 * np.exp(-700.0), rtol=1e-13)
    np.testing.assert_allclose(batch.quantile([1e-300]), np.log(2e-300), rtol=1e-14)
    np.testing.assert_allclose(batch.quantile([1 - 2.0**-53]), -np.log(2.0**-52), rtol=1e-14)
    np.testing.assert_array_equal(batch.quantile(np.array([[0.0], [1.0]])), [[-np.inf], [np.inf]])


def _fourier(w):
    real = integrate.quad(lambda z: np.cos(w * z) * np.exp(-abs(z - 1) / 2) / 4, -80, 80, points=[1])[0]
    return real + 1j * integrate.quad(lambda z: np.sin(w * z) * np.exp(-abs(z - 1) / 2) / 4, -80, 80, points=[1])[0]


@pytest.mark.parametrize("w", [0.0, 0.3, 2.0])
def test_the_characteristic_function_of_laplace_is_its_fourier_integral(w):
    np.testing.assert_allclose(Laplace([1.0], 2.0).characteristic(np.array([w]))[0, 0], _fourier(w), atol=1e-10)


def test_gradients_of_torch_reach_the_parameters():
    torch = pytest.importorskip("torch")
    loc, scale = (torch.tensor(x, requires_grad=True) for x in (LOC, SCALE))
    Laplace(loc, scale).log_prob(torch.tensor(Y[0])).sum().backward()
    z = (Y[0] - LOC) / SCALE
    np.testing.assert_allclose(loc.grad, np.sign(z) / SCALE)
    np.testing.assert_allclose(scale.grad, (np.abs(z) - 1) / SCALE)


def test_gradients_of_jax_pass_through_the_constructor():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    slope = jax.jit(jax.grad(lambda s: Laplace(jax.numpy.asarray(LOC), s).log_prob(jax.numpy.asarray(Y[0])).sum()))
    np.testing.assert_allclose(slope(jax.numpy.asarray(SCALE)), (np.abs((Y[0] - LOC) / SCALE) - 1) / SCALE, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, np.nan], 1.0), r"the centre in row 1 is missing \(NaN\), expected a finite number \(1 such row\)"),
        (([0.0, 1.0], [1.0, 0.0]), "the scale in row 1 is 0, expected a positive number; a point prediction alone"),
        (([0.0, 1.0], [1.0, 1.0, 1.0]), "loc and scale must have equal length, got 2 and 3"),
        (([[0.0]], 1.0), r"the centre must have shape \(n,\)"),
    ],
)
def test_laplace_refuses(arguments, message):
    with pytest.raises(InputError, match=message):
        Laplace(*arguments)
