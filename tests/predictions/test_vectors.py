"""Normal distributions of vectors against scipy.stats and each other, and what is no covariance."""

import numpy as np
import pytest
from scipy import stats

from kernelcal.errors import InputError
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, MultivariateNormal, Normal, VectorNormal
from kernelcal.predictions.continuous.multivariate_normal import solve_lower

RNG = np.random.default_rng(0)
N, D = 6, 4
MEAN = RNG.normal(size=(N, D))
ROOT = RNG.normal(size=(N, D, D))
COV = ROOT @ np.swapaxes(ROOT, 1, 2) + 0.1 * np.eye(D)
STD, SCALE = RNG.uniform(0.3, 2, (N, D)), RNG.uniform(0.3, 2, N)
Y = RNG.normal(size=(5, N, D))
FULL = MultivariateNormal(MEAN, COV)
DIAGONAL = MultivariateNormal.diagonal(MEAN, STD)
ISOTROPIC = MultivariateNormal.isotropic(MEAN, SCALE)
CASES = [(FULL, COV), (DIAGONAL, STD[..., None] ** 2 * np.eye(D)), (ISOTROPIC, SCALE[:, None, None] ** 2 * np.eye(D))]


@pytest.mark.parametrize(("batch", "cov"), CASES)
def test_densities_and_moments_agree_with_scipy(batch, cov):
    expected = np.stack([stats.multivariate_normal(MEAN[i], cov[i]).logpdf(Y[:, i]) for i in range(N)], axis=1)
    np.testing.assert_allclose(batch.log_prob(Y), expected, rtol=1e-11)
    np.testing.assert_array_equal(batch.mean, MEAN)
    np.testing.assert_allclose(batch.std, np.sqrt(np.diagonal(cov, axis1=1, axis2=2)), rtol=1e-14)
    np.testing.assert_allclose(batch.standardised(Y), (Y - MEAN) / batch.std, rtol=1e-12)


@pytest.mark.parametrize(("batch", "cov"), CASES)
def test_characteristic_functions_are_those_of_one_direction(batch, cov):
    w = RNG.normal(size=(3, D))
    for k in range(3):
        along = Normal(MEAN @ w[k], np.sqrt(np.einsum("i,nij,j->n", w[k], cov, w[k])))
        np.testing.assert_allclose(batch.characteristic(w)[:, k], along.characteristic(np.ones(1))[:, 0], rtol=1e-12)


@pytest.mark.parametrize(("batch", "cov"), CASES)
def test_draws_are_mean_plus_factor_times_normal_quantiles(batch, cov):
    u = RNG.random((7, N, D))
    expected = MEAN + np.einsum("nij,snj->sni", np.linalg.cholesky(cov), stats.norm.ppf(u))
    np.testing.assert_allclose(batch.draw(u), expected, rtol=1e-12)
    assert batch.uniforms == D
    assert np.isfinite(batch.draw(np.zeros((1, N, D)))).all()


def test_covariances_of_draws():
    draws = FULL.sample(0, 20_000)
    centred = draws - MEAN
    found = np.einsum("sni,snj->nij", centred, centred) / len(draws)
    variance = np.diagonal(COV, axis1=1, axis2=2)
    error = np.sqrt((variance[:, :, None] * variance[:, None, :] + COV**2) / len(draws))
    assert np.all(np.abs(found - COV) < 5 * error)


def test_classmethods_choose_the_family():
    assert isinstance(DIAGONAL, DiagonalNormal)
    assert isinstance(ISOTROPIC, IsotropicNormal)
    assert all(isinstance(batch, VectorNormal) for batch in (FULL, DIAGONAL, ISOTROPIC))
    assert IsotropicNormal(MEAN, 2.0).scale.shape == (N,)


def test_one_covariance_serves_all_rows():
    one = MultivariateNormal(MEAN, COV[0])
    many = MultivariateNormal(MEAN, np.stack([COV[0]] * N))
    np.testing.assert_array_equal(one.log_prob(Y), many.log_prob(Y))
    assert one.cov.shape == one.factor.shape == (N, D, D)
    np.testing.assert_allclose(one[[2, 1]].cov, COV[[0, 0]])


def test_forward_substitution_solves():
    factor, x = np.linalg.cholesky(COV), RNG.normal(size=(3, N, D))
    solution = solve_lower(factor, x)
    np.testing.assert_allclose(np.einsum("nij,snj->sni", factor, solution), x, rtol=1e-10)


def test_gradients_of_torch_reach_the_covariance():
    torch = pytest.importorskip("torch")
    mean, cov = (torch.tensor(x, requires_grad=True) for x in (MEAN, COV))
    MultivariateNormal(mean, cov).log_prob(torch.tensor(Y[0])).sum().backward()
    inverse = np.linalg.inv(COV)
    z = np.einsum("nij,nj->ni", inverse, Y[0] - MEAN)
    np.testing.assert_allclose(mean.grad, z, rtol=1e-8)
    slope = 0.5 * (z[:, :, None] * z[:, None, :] - inverse)
    np.testing.assert_allclose(cov.grad + cov.grad.mT, 2 * slope, rtol=1e-7)


def test_gradients_of_jax_pass_through_the_constructor():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    y = jax.numpy.asarray(Y[0])
    slope = jax.jit(jax.grad(lambda m: MultivariateNormal(m, jax.numpy.asarray(COV)).log_prob(y).sum()))
    z = np.linalg.solve(COV, (Y[0] - MEAN)[..., None])[..., 0]
    np.testing.assert_allclose(slope(jax.numpy.asarray(MEAN)), z, rtol=1e-8)


def test_rounding_of_single_precision_is_no_asymmetry():
    half = ROOT.astype(np.float32)
    cov = half @ np.swapaxes(half, 1, 2) + np.float32(0.1) * np.eye(D, dtype=np.float32)
    cov[:, 0, 1] *= 1 + 1e-6
    assert MultivariateNormal(MEAN.astype(np.float32), cov).log_prob(Y[0].astype(np.float32)).dtype == np.float32


def test_a_cholesky_factor_is_no_covariance():
    factors = np.linalg.cholesky(COV)
    message = (
        r"the covariance of row 0 is not symmetric: entry \(0, 1\) is 0 and \(1, 0\) is .*; if these are Cholesky "
        r"factors L, pass cov = L @ L.T of every row .*; if they are standard deviations, use MultivariateNormal"
    )
    with pytest.raises(InputError, match=message):
        MultivariateNormal(MEAN, factors)


def test_an_indefinite_matrix_is_no_covariance():
    cov = COV.copy()
    cov[3] = np.diag([1.0, 1.0, 1.0, -0.25])
    with pytest.raises(InputError, match=r"row 3 is not positive definite, its least eigenvalue is -0.25: .*L @ L.T"):
        MultivariateNormal(MEAN, cov)
    with pytest.raises(InputError, match="of row 0 is not positive definite, its least eigenvalue is"):
        MultivariateNormal(MEAN, np.ones((D, D)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: MultivariateNormal(MEAN, STD),
            r"shape \(6, 4, 4\), or \(4, 4\) for all rows, got \(6, 4\)",
        ),
        (lambda: MultivariateNormal(MEAN, SCALE), r"of shape \(6,\) to MultivariateNormal.isotropic\(mean, std\)"),
        (lambda: MultivariateNormal(MEAN[0], COV[0]), r"for one vector alone pass mean\[None, :\]"),
        (lambda: MultivariateNormal(MEAN, np.where(np.eye(D), np.nan, COV)), r"row 0, column \(0, 0\) is missing"),
        (lambda: DiagonalNormal(MEAN, STD[:, :2]), r"mean and std must have equal shape, got \(6, 4\) and \(6, 2\)"),
        (lambda: DiagonalNormal(MEAN, -STD), "the standard deviation in row 0, column 0 is -"),
        (lambda: DiagonalNormal(MEAN[:, :0], STD[:, :0]), "the mean must have at least one column"),
        (lambda: IsotropicNormal(MEAN, SCALE[:2]), "mean and scale must have equal length, got 6 and 2"),
        (lambda: IsotropicNormal(MEAN, 0.0), "the standard deviation in row 0 is 0"),
    ],
)
def test_vectors_refuse(make, message):
    with pytest.raises(InputError, match=message):
        make()
