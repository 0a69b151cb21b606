"""Integrators, where they are asked for: against closed forms, and what they refuse."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.kernels import (
    Coordinatewise,
    GaussHermite,
    Gaussian,
    GaussLegendre,
    Laplacian,
    Linear,
    MonteCarlo,
    RationalQuadratic,
    plan,
)
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, Laplace, Mixture, MultivariateNormal, Normal, Samples

N = 5


class Bell(Gaussian):
    """A Gaussian kernel that the table of closed forms does not know."""


class Tent(Laplacian):
    """A Laplacian kernel that the table of closed forms does not know."""


def batch(family, dimension=2):
    rng = np.random.default_rng(0)
    if family in (Normal, Laplace):
        return family(rng.normal(size=N), rng.uniform(0.4, 1.5, N)), rng.normal(size=N)
    mean, y = rng.normal(size=(N, dimension)), rng.normal(size=(N, dimension))
    if family is MultivariateNormal:
        a = rng.normal(size=(N, dimension, dimension))
        return family(mean, a @ a.transpose(0, 2, 1) + 0.1 * np.eye(dimension)), y
    return family(mean, rng.uniform(0.4, 1.5, (N, dimension) if family is DiagonalNormal else N)), y


@pytest.mark.parametrize("family", [Normal, DiagonalNormal, IsotropicNormal, MultivariateNormal])
def test_gauss_hermite_agrees_with_closed_forms_of_smooth_kernels(family, all_layouts):
    p, y = batch(family)
    found = all_layouts(plan(Bell(1.5), p, GaussHermite(32)), p, y)
    np.testing.assert_allclose(found, all_layouts(plan(Gaussian(1.5), p), p, y), rtol=1e-4)


def test_gauss_hermite_of_kernels_that_are_no_function_of_the_difference_is_over_all_pairs(all_layouts):
    """The product of a linear and a Gaussian kernel: naive double sums."""
    p, y = batch(Normal)
    kernel = Linear() * Gaussian(2.0)
    means, crosses = all_layouts(plan(kernel, p, GaussHermite(24)), p, y)
    x, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    for i in range(N):
        z = p.mean[i] + p.std[i] * x
        for j in range(N):
            k = z * y[j] * np.exp(-((z - y[j]) ** 2) / 8)
            np.testing.assert_allclose(means[i, j], w @ k, rtol=1e-6, atol=1e-8)
            other = p.mean[j] + p.std[j] * x
            k = np.outer(z, other) * np.exp(-((z[:, None] - other) ** 2) / 8)
            np.testing.assert_allclose(crosses[i, j], w @ k @ w, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("family", "unknown", "known"), [(Normal, Bell, Gaussian), (Laplace, Tent, Laplacian)])
def test_gauss_legendre_agrees_with_closed_forms(family, unknown, known, all_layouts):
    p, y = batch(family)
    found = all_layouts(plan(unknown(1.0), p, GaussLegendre(96)), p, y)
    np.testing.assert_allclose(found, all_layouts(plan(known(1.0), p), p, y), atol=1e-3)
    assert np.linalg.eigvalsh(found[1])[0] > -1e-12


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    "family", [Normal, Laplace, pytest.param(DiagonalNormal, marks=pytest.mark.slow), MultivariateNormal]
)
def test_monte_carlo_agrees_with_closed_forms_also_on_the_diagonal(family, all_layouts):
    p, y = batch(family)
    unknown, known = (Tent, Laplacian) if family is Laplace else (Bell, Gaussian)
    size = 40_000
    found = all_layouts(plan(unknown(0.5), p, MonteCarlo(size, rng=3)), p, y)
    np.testing.assert_allclose(found, all_layouts(plan(known(0.5), p), p, y), atol=5 * 0.5 / size**0.5)


def test_monte_carlo_draws_the_same_for_every_row_and_call():
    p = MultivariateNormal(np.zeros((4, 3)), np.eye(3))
    y = np.ones((4, 3))
    embedding = plan(Laplacian(1.0), p, MonteCarlo(50, rng=1))
    means = embedding.mean(p, y)
    assert len(set(means)) == 1
    np.testing.assert_array_equal(embedding.mean(p[2:], y[2:]), means[2:])
    np.testing.assert_array_equal(plan(Laplacian(1.0), p, MonteCarlo(50, rng=1)).mean(p, y), means)
    assert plan(Laplacian(1.0), p, MonteCarlo(50, rng=2)).mean(p, y)[0] != means[0]


def test_many_draws_are_taken_in_parts(monkeypatch, all_layouts):
    p, y = batch(MultivariateNormal, 3)
    embedding = plan(Laplacian(1.0), p, MonteCarlo(200))
    whole = all_layouts(embedding, p, y)
    monkeypatch.setattr("kernelcal.kernels.embeddings.atoms._NUMBERS", 7 * N * N)
    np.testing.assert_allclose(all_layouts(embedding, p, y), whole, rtol=1e-12)


@pytest.mark.parametrize("integrator", [GaussHermite(40), pytest.param(MonteCarlo(50_000), marks=pytest.mark.slow)])
def test_components_of_different_families_meet_in_their_nodes(integrator, all_layouts):
    (full, y), (diagonal, _) = batch(MultivariateNormal), batch(DiagonalNormal)
    mixture = Mixture([0.3, 0.7], [full, diagonal])
    found = all_layouts(plan(Bell(1.5), mixture, integrator), mixture, y)
    tolerance = 1e-4 if isinstance(integrator, GaussHermite) else 0.02
    np.testing.assert_allclose(found, all_layouts(plan(Gaussian(1.5), mixture), mixture, y), atol=tolerance)


@pytest.mark.slow
def test_nodes_meet_closed_forms_in_a_mixture(all_layouts):
    (normal, y), (laplace, _) = batch(Normal), batch(Laplace)
    mixture = Mixture([0.3, 0.7], [normal, laplace])
    found = all_layouts(plan(Gaussian(1.0), mixture, GaussLegendre(200)), mixture, y)
    draws = Samples(mixture.sample(rng=0, size=3000).T)
    means, crosses = all_layouts(plan(Gaussian(1.0), draws[:2]), draws[:2], y[:2])
    np.testing.assert_allclose(found[0][:2, :2], means, atol=0.03)
    off_diagonal = np.array([1, 0])
    np.testing.assert_allclose(found[1][[0, 1], off_diagonal], crosses[[0, 1], off_diagonal], atol=0.03)


def test_an_integrator_serves_a_kernel_over_coordinates(all_layouts):
    p, y = batch(DiagonalNormal)
    found = all_layouts(plan(Coordinatewise(RationalQuadratic(1.0)), p, GaussHermite(64)), p, y)
    expected = all_layouts(plan(Coordinatewise(RationalQuadratic(1.0)), p, GaussLegendre(400)), p, y)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GaussHermite(0), "order must be a positive whole number, got 0"),
        (lambda: GaussLegendre(2.5), "order must be a positive whole number, got 2.5"),
        (lambda: MonteCarlo(-1), "size must be a positive whole number"),
        (lambda: MonteCarlo(rng=None), "rng must be a whole number, so that every call draws the same, got None"),
        (
            lambda: plan(Gaussian(1.0), Laplace([0.0], 1.0), GaussHermite()),
            r"GaussHermite is for normal predictions, got Laplace: use GaussLegendre\(\) where there are quantiles",
        ),
        (
            lambda: plan(Laplacian(1.0), MultivariateNormal(np.zeros((1, 4)), np.eye(4)), GaussHermite(16)),
            r"GaussHermite would need 16\^4 nodes for vectors of 4 numbers, and more than 3 are too many: use Mon",
        ),
        (
            lambda: plan(Laplacian(1.0), MultivariateNormal(np.zeros((1, 2)), np.eye(2)), GaussLegendre()),
            r"GaussLegendre needs quantiles of numbers, which MultivariateNormal does not have: use MonteCarlo\(\)",
        ),
    ],
)
def test_what_does_not_suit_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_classes_need_no_integrator():
    assert "classes" in str(plan(kc.Dirac(), kc.Categorical([[0.5, 0.5]]), MonteCarlo()))
