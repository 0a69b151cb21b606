"""Mixtures: sums over all components and all pairs, of every family, and E h = 0 under calibration."""

import numpy as np
import pytest

from kernelcal.kernels import Gaussian, Laplacian, Linear, plan
from kernelcal.kernels.embeddings import point
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, Laplace, Mixture, MultivariateNormal, Normal, Samples

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


def test_mixtures_sum_over_all_components_and_all_pairs_of_them(all_layouts):
    """With weights that differ, every skipped or doubled pair changes the result."""
    parts, w, y = [normals(k) for k in range(3)], weights(0, 3), np.linspace(-2, 2, N)
    kernel = Gaussian(0.8)
    means, crosses = all_layouts(plan(kernel, Mixture(w, parts)), Mixture(w, parts), y)
    for i in range(N):
        for j in range(N):
            naive_mean, naive_cross = 0.0, 0.0
            for k in range(3):
                m, v = parts[k].mean[i], 0.8**2 + parts[k].std[i] ** 2
                naive_mean += w[i, k] * 0.8 / np.sqrt(v) * np.exp(-((m - y[j]) ** 2) / (2 * v))
                for q in range(3):
                    v2 = v + parts[q].std[j] ** 2
                    difference = m - parts[q].mean[j]
                    naive_cross += w[i, k] * w[j, q] * 0.8 / np.sqrt(v2) * np.exp(-(difference**2) / (2 * v2))
            np.testing.assert_allclose(means[i, j], naive_mean, rtol=1e-12)
            np.testing.assert_allclose(crosses[i, j], naive_cross, rtol=1e-12)
    assert np.linalg.eigvalsh(crosses)[0] > -1e-12


def test_a_mixture_of_equal_components_is_the_component(all_layouts):
    p, y = normals(0), np.linspace(-2, 2, N)
    mixture = Mixture(weights(1, 4), [p] * 4)
    for kernel in (Gaussian(0.8), Laplacian(1.2), Linear()):
        plain, mixed = all_layouts(plan(kernel, p), p, y), all_layouts(plan(kernel, mixture), mixture, y)
        np.testing.assert_allclose(mixed, plain, rtol=1e-12)


def test_mixtures_of_different_families_and_inside_mixtures(all_layouts):
    rng = np.random.default_rng(0)
    normal, laplace = normals(0), Laplace(rng.normal(size=N), rng.uniform(0.5, 2, N))
    draws = Samples(rng.normal(size=(N, 7)))
    inner = Mixture(weights(2, 2), [normals(1), draws])
    mixture = Mixture(weights(1, 3), [normal, laplace, inner])
    embedding, y = plan(Laplacian(0.7), mixture), np.linspace(-2, 2, N)
    means, crosses = all_layouts(embedding, mixture, y)
    w, v = mixture.weights, inner.weights
    inside = [(w[:, 2] * v[:, k], inner.components[k]) for k in range(2)]
    leaves = [(w[:, 0], normal), (w[:, 1], laplace), *inside]
    naive = sum(a[:, None] * plan(Laplacian(0.7), p).mean(rows(p), y[None]) for a, p in leaves)
    np.testing.assert_allclose(means, naive, rtol=1e-12)
    size = 200_000
    z = [mixture[i : i + 1].sample(rng=i, size=size)[:, 0] for i in range(2)]
    errors = 5 / np.sqrt(size)
    assert abs(np.exp(-np.abs(z[0] - z[1]) / 0.7).mean() - crosses[0, 1]) < errors
    again = np.exp(-np.abs(z[0] - np.random.default_rng(9).permutation(z[0])) / 0.7).mean()
    assert abs(again - crosses[0, 0]) < errors
    assert np.linalg.eigvalsh(crosses)[0] > -1e-12


def test_mixtures_of_vectors_of_every_kind(all_layouts):
    rng = np.random.default_rng(3)
    a = rng.normal(size=(N, 2, 2))
    full = MultivariateNormal(rng.normal(size=(N, 2)), a @ a.transpose(0, 2, 1) + 0.2 * np.eye(2))
    diagonal = DiagonalNormal(rng.normal(size=(N, 2)), rng.uniform(0.3, 1, (N, 2)))
    isotropic = IsotropicNormal(rng.normal(size=(N, 2)), rng.uniform(0.3, 1, N))
    draws = Samples(rng.normal(size=(N, 5, 2)), weights=rng.random((N, 5)))
    mixture = Mixture(weights(4, 4), [full, diagonal, isotropic, draws])
    as_full = [MultivariateNormal(p.mean, np.asarray(p.std)[..., None] ** 2 * np.eye(2)) for p in (diagonal, isotropic)]
    same = Mixture(mixture.weights, [full, *as_full, draws])
    y = rng.normal(size=(N, 2))
    expected = all_layouts(plan(Gaussian(1.1), same), same, y)
    np.testing.assert_allclose(all_layouts(plan(Gaussian(1.1), mixture), mixture, y), expected, rtol=1e-11)


def skce_terms(embedding, kernel, prediction_kernel, p, targets):
    """h_ij = K_ij (k(y_i, y_j) - E k(Z_i, y_j) - E k(Z_j, y_i) + E k(Z_i, Z_j)), a line a set of targets."""
    i, j = np.triu_indices(len(p), 1)
    own, other = targets[:, i], targets[:, j]
    left, right = columns(p[i]), columns(p[j])
    means = embedding.mean(left, other) + embedding.mean(right, own)
    return prediction_kernel[i, j] * (point(kernel, own, other, 0) - means + embedding.cross(p[i], p[j]))


@pytest.mark.parametrize("number", [2, 10])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(1.0)])
def test_the_terms_of_skce_have_expectation_zero_for_calibrated_mixtures(number, kernel):
    """If component pairs were skipped, as in the published code, the mean would be many standard errors off."""
    rng = np.random.default_rng(number)
    n, draws = 12, 1500
    mixture = Mixture(
        rng.dirichlet(np.ones(number), n),
        [Normal(rng.normal(size=n), rng.uniform(0.2, 1, n)) for _ in range(number)],
    )
    k = np.exp(-np.abs(mixture.mean[:, None] - mixture.mean))
    terms = skce_terms(plan(kernel, mixture), kernel, k, mixture, mixture.sample(rng=1, size=draws))
    values = terms.mean(axis=1)
    z = values.mean() / (values.std(ddof=1) / np.sqrt(draws))
    assert abs(z) < 4
    assert values.std(ddof=1) / np.sqrt(draws) < 2e-3
    scores = terms.mean(axis=0) / (terms.std(axis=0, ddof=1) / np.sqrt(draws))
    assert np.abs(scores).max() < 4.5


def test_components_of_weight_zero_do_not_count():
    p, q, y = normals(0), normals(1), np.linspace(-2, 2, N)
    w = np.where(np.arange(N)[:, None] % 2 == 0, [1.0, 0.0], [0.4, 0.6])
    mixture = Mixture(w, [p, q])
    means = plan(Laplacian(1.0), mixture).mean(rows(mixture), y[None])
    np.testing.assert_allclose(means[::2], plan(Laplacian(1.0), p).mean(rows(p), y[None])[::2], rtol=1e-12)
