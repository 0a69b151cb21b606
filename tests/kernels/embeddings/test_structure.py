"""Draws, linear kernels, sums and products of kernels: against naive sums."""

import numpy as np
import pytest

from kernelcal.kernels import Coordinatewise, Dirac, Gaussian, Laplacian, Linear, Matern32, RationalQuadratic, plan
from kernelcal.kernels.embeddings import point
from kernelcal.predictions import (
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    Samples,
)

N = 6


def rows(p):
    return p.map_arrays(lambda x: x[:, None, ...])


def columns(p):
    return p.map_arrays(lambda x: x[None, ...])


def normals(seed, n=N):
    rng = np.random.default_rng(seed)
    return Normal(rng.normal(size=n), rng.uniform(0.3, 2, n))


def weights(seed, number, n=N):
    return np.random.default_rng(seed).dirichlet(np.ones(number), n)


@pytest.mark.parametrize("kernel", [Gaussian(0.6), Dirac(), RationalQuadratic(1.0) * Matern32(2.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_draws_give_weighted_means_over_them(all_layouts, kernel, weighted):
    rng = np.random.default_rng(0)
    draws = rng.integers(0, 4, (N, 5)).astype(float)
    w = rng.random((N, 5)) if weighted else np.ones((N, 5))
    w[1, 2:] = 0 if weighted else 1
    p = Samples(draws, weights=w if weighted else None)
    y = np.arange(N, dtype=float) % 4
    w = w / w.sum(axis=1, keepdims=True)
    means, crosses = all_layouts(plan(kernel, p), p, y)
    for i in range(N):
        for j in range(N):
            k = point(kernel, draws[i][:, None], np.full((1, 1), y[j]), 0)[:, 0]
            np.testing.assert_allclose(means[i, j], w[i] @ k, rtol=1e-12, atol=1e-15)
            k = point(kernel, draws[i][:, None], draws[j][None], 0)
            np.testing.assert_allclose(crosses[i, j], w[i] @ k @ w[j], rtol=1e-12, atol=1e-15)


def test_draws_of_vectors_take_any_kernel(all_layouts):
    rng = np.random.default_rng(0)
    draws, y = rng.normal(size=(N, 4, 3)), rng.normal(size=(N, 3))
    p, kernel = Samples(draws), Laplacian(1.3)
    means, crosses = all_layouts(plan(kernel, p), p, y)
    distance = np.sqrt(((draws[:, None] - y[None, :, None]) ** 2).sum(-1))
    np.testing.assert_allclose(means, np.exp(-distance / 1.3).mean(-1), rtol=1e-12)
    distance = np.sqrt(((draws[:, None, :, None] - draws[None, :, None]) ** 2).sum(-1))
    np.testing.assert_allclose(crosses, np.exp(-distance / 1.3).mean((-1, -2)), rtol=1e-12)


def test_many_draws_are_taken_in_parts(all_layouts, monkeypatch):
    rng = np.random.default_rng(0)
    p, y = Samples(rng.normal(size=(N, 50)), weights=rng.random((N, 50))), rng.normal(size=N)
    whole = all_layouts(plan(Gaussian(1.0), p), p, y)
    monkeypatch.setattr("kernelcal.kernels.embeddings.atoms._NUMBERS", 3 * N * N)
    for one, other in zip(all_layouts(plan(Gaussian(1.0), p), p, y), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(
    "p",
    [
        normals(0),
        Laplace([0.0, 1.0], 2.0),
        Poisson([2.0, 3.0]),
        Samples([[0.0, 1.0, 4.0], [1.0, 1.0, 1.0]]),
        Mixture([0.2, 0.8], [normals(0), normals(1)]),
    ],
    ids=lambda p: type(p).__name__,
)
def test_the_residual_of_the_linear_kernel_is_target_minus_mean(all_layouts, p):
    embedding, y = plan(Linear(), p), np.linspace(-1, 3, len(p))
    means, crosses = all_layouts(embedding, p, y)
    inner = point(Linear(), y[:, None], y[None], 0) - means - means.T + crosses
    residual = y - p.mean
    np.testing.assert_allclose(inner, residual[:, None] * residual, atol=1e-12)


def test_the_linear_kernel_of_vectors_is_the_inner_product(all_layouts):
    rng = np.random.default_rng(0)
    p, y = DiagonalNormal(rng.normal(size=(N, 3)), np.ones((N, 3))), rng.normal(size=(N, 3))
    means, crosses = all_layouts(plan(Linear(), p), p, y)
    np.testing.assert_allclose(means, p.mean @ y.T, rtol=1e-12)
    np.testing.assert_allclose(crosses, p.mean @ p.mean.T, rtol=1e-12)


def test_sums_and_factors_are_sums_and_factors_of_expectations(all_layouts):
    p, y = normals(0), np.linspace(-2, 2, N)
    parts = Gaussian(0.5), Laplacian(2.0), Linear()
    means, crosses = all_layouts(plan(2.0 * (parts[0] + 0.25 * parts[1]) + parts[2], p), p, y)
    single = [all_layouts(plan(k, p), p, y) for k in parts]
    for found, k in ((means, 0), (crosses, 1)):
        np.testing.assert_allclose(found, 2 * single[0][k] + 0.5 * single[1][k] + single[2][k], rtol=1e-12)


def test_a_product_of_gaussians_is_a_gaussian(all_layouts):
    p, y = normals(0), np.linspace(-2, 2, N)
    product = Gaussian(1.0) * Gaussian(2.0) * Gaussian(3.0)
    lengthscale = (1 + 1 / 4 + 1 / 9) ** -0.5
    np.testing.assert_allclose(
        point(product, y[:, None], y[None], 0), point(Gaussian(lengthscale), y[:, None], y[None], 0), rtol=1e-13
    )
    for found, expected in zip(
        all_layouts(plan(product, p), p, y), all_layouts(plan(Gaussian(lengthscale), p), p, y), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_kernels_over_coordinates_of_gaussians_are_gaussians(all_layouts):
    rng = np.random.default_rng(0)
    y, a = rng.normal(size=(N, 2)), rng.normal(size=(N, 2, 2))
    p = MultivariateNormal(rng.normal(size=(N, 2)), a @ a.transpose(0, 2, 1) + np.eye(2))
    expected = all_layouts(plan(Gaussian(0.7), p), p, y)
    np.testing.assert_array_equal(all_layouts(plan(Coordinatewise(Gaussian(0.7)), p), p, y), expected)


def test_kernels_over_coordinates_take_mixtures_draws_and_sums(all_layouts):
    rng = np.random.default_rng(0)
    y = rng.normal(size=(N, 2))
    diagonal = DiagonalNormal(rng.normal(size=(N, 2)), rng.uniform(0.5, 1, (N, 2)))
    isotropic = IsotropicNormal(rng.normal(size=(N, 2)), rng.uniform(0.5, 1, N))
    draws = Samples(rng.normal(size=(N, 3, 2)))
    kernel = Coordinatewise(0.5 * (Laplacian(0.8) + Matern32(1.0)))
    mixture = Mixture(weights(0, 3), [diagonal, isotropic, draws])
    means, crosses = all_layouts(plan(kernel, mixture), mixture, y)
    size = 100_000
    z = mixture[:2].sample(rng=1, size=size)
    naive = point(kernel, z[:, 0], np.broadcast_to(y[3], (size, 2)), 1).mean()
    assert abs(naive - means[0, 3]) < 5 / np.sqrt(size)
    assert abs(point(kernel, z[:, 0], z[:, 1], 1).mean() - crosses[0, 1]) < 5 / np.sqrt(size)
