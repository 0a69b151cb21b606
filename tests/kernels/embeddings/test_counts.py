"""Counts and classes: sums over their values, against sums over many more."""

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.kernels import Dirac, FiniteKernel, Gaussian, Laplacian, plan
from kernelcal.kernels.embeddings import point
from kernelcal.kernels.points import class_matrix
from kernelcal.predictions import Mixture, NegativeBinomial, Poisson

N = 6


def rows(p):
    return p.map_arrays(lambda x: x[:, None, ...])


def columns(p):
    return p.map_arrays(lambda x: x[None, ...])


def weights(seed, number, n=N):
    return np.random.default_rng(seed).dirichlet(np.ones(number), n)


COUNTS = {
    "Poisson": (Poisson(np.array([0.0, 0.3, 2.0, 11.0, 60.0, 5.0])), lambda r, k: stats.poisson.pmf(k, r.rate[0])),
    "NegativeBinomial": (
        NegativeBinomial(np.array([0.5, 2.0, 9.0, 30.0, 3.0, 0.1]), np.array([2.0, 0.7, 5.0, 40.0, 1e4, 1.0])),
        lambda r, k: stats.nbinom.pmf(k, r.dispersion[0], r.dispersion[0] / (r.dispersion[0] + r.mean[0])),
    ),
}


@pytest.mark.parametrize("family", COUNTS)
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(3.0), Dirac(), 0.5 * Laplacian(1.0) + Dirac()])
def test_counts_are_summed_up_to_a_tail_below_1e_12(all_layouts, family, kernel):
    p, pmf = COUNTS[family]
    y, k = np.array([0.0, 1.0, 2.0, 7.0, 55.0, 3.0]), np.arange(2000)
    means, crosses = all_layouts(plan(kernel, p), p, y)
    masses = np.array([pmf(p[i : i + 1], k) for i in range(N)])
    values = point(kernel, k[:, None].astype(float), y[None], 0)
    np.testing.assert_allclose(means, masses @ values, rtol=1e-11, atol=2e-12)
    matrix = point(kernel, k[:, None].astype(float), k[None].astype(float), 0)
    np.testing.assert_allclose(crosses, masses @ matrix @ masses.T, rtol=1e-11, atol=2e-12)
    assert np.linalg.eigvalsh(crosses)[0] > -1e-11


def test_probabilities_of_counts_keep_their_digits_in_the_tail():
    p = Poisson(np.array([1.0, 2.0]))
    y = np.array([40.0, 0.5])
    true = stats.poisson.pmf(y[None], p.rate[:, None])
    np.testing.assert_allclose(plan(Dirac(), p).mean(rows(p), y[None]), true, rtol=1e-12)
    assert plan(Dirac(), p).mean(p, y)[1] == 0


def test_a_plan_of_counts_serves_larger_counts_than_it_was_made_for():
    small, large = Poisson(np.array([0.5, 1.0])), Poisson(np.array([300.0, 400.0]))
    embedding, own = plan(Gaussian(20.0), small), plan(Gaussian(20.0), large)
    y = np.array([310.0, 390.0])
    np.testing.assert_allclose(embedding.mean(rows(large), y[None]), own.mean(rows(large), y[None]), rtol=1e-12)
    np.testing.assert_allclose(embedding.cross(large, large), own.cross(large, large), rtol=1e-12)
    np.testing.assert_allclose(embedding.cross(small, large), own.cross(large, small), rtol=1e-12, atol=1e-15)


def test_counts_do_not_confuse_batches():
    """Probabilities are kept by the contents of a batch."""
    rng = np.random.default_rng(0)
    embedding, y = plan(Laplacian(2.0), Poisson(np.full(3, 5.0))), np.array([1.0, 4.0, 9.0])
    for _ in range(30):
        p = Poisson(rng.gamma(2, 2, 3))
        fresh = plan(Laplacian(2.0), p)
        for _ in range(2):
            np.testing.assert_allclose(embedding.mean(rows(p), y[None]), fresh.mean(rows(p), y[None]), rtol=1e-11)
            np.testing.assert_allclose(
                embedding.mean(columns(p), y[:, None]), fresh.mean(columns(p), y[:, None]), rtol=1e-11
            )


def test_mixtures_of_counts(all_layouts):
    a, b, w = Poisson(np.linspace(0.5, 20, N)), NegativeBinomial(np.linspace(8, 1, N), 2.0), weights(0, 3)
    mixture = Mixture(w, [a, b, Poisson(np.full(N, 3.0))])
    y, k = np.arange(N, dtype=float), np.arange(400, dtype=float)
    masses = np.exp(mixture.log_prob(np.broadcast_to(k[:, None], (400, N)))).T
    for kernel in (Gaussian(2.0), Dirac()):
        means, crosses = all_layouts(plan(kernel, mixture), mixture, y)
        np.testing.assert_allclose(means, masses @ point(kernel, k[:, None], y[None], 0), rtol=1e-10, atol=5e-12)
        matrix = point(kernel, k[:, None], k[None], 0)
        np.testing.assert_allclose(crosses, masses @ matrix @ masses.T, rtol=1e-10, atol=5e-12)


def test_huge_counts_are_refused_with_a_way_out():
    with pytest.raises(InputError, match=r"reach from 0 to .*sums over more than 16384 counts.*Spectral\(kernel\)"):
        plan(Gaussian(1.0), Poisson(np.array([1.0, 1e6])))


@pytest.mark.parametrize("kernel", [Dirac(), FiniteKernel([[1, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 1]]), Gaussian(1.0)])
def test_classes_are_sums_over_them(kernel):
    probabilities = np.random.default_rng(0).dirichlet(np.ones(3), N)
    p, y, a = kc.Categorical(probabilities), np.arange(N) % 3, class_matrix(kernel, 3)
    embedding = plan(kernel, p)
    np.testing.assert_allclose(embedding.mean(rows(p), y[None]), (probabilities @ a)[:, y], rtol=1e-12)
    np.testing.assert_allclose(embedding.cross(rows(p), columns(p)), probabilities @ a @ probabilities.T, rtol=1e-12)
    np.testing.assert_allclose(embedding.mean(p, y), np.diag((probabilities @ a)[:, y]), rtol=1e-12)


def test_two_classes_given_by_one_probability():
    p = kc.Bernoulli([0.2, 0.9])
    embedding = plan(Dirac(), p)
    np.testing.assert_allclose(embedding.mean(rows(p), np.array([[0, 1]])), [[0.8, 0.2], [0.1, 0.9]], rtol=1e-12)
    np.testing.assert_allclose(embedding.cross(rows(p), columns(p)), [[0.68, 0.26], [0.26, 0.82]], rtol=1e-12)
