"""Every closed form: against quadrature, at the limit of zero scale, symmetric, positive semi-definite."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from kernelcal.kernels import Coordinatewise, Gaussian, Laplacian, Matern32, Matern52, plan
from kernelcal.kernels.embeddings import point
from kernelcal.kernels.embeddings.closed_forms import CROSS, MEAN
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, Laplace, Mixture, MultivariateNormal, Normal

CENTRES = np.array([0.0, 0.4, -1.3, 5.0])
SCALES = np.array([1.0, 0.3, 2.5, 0.7])
VECTORS = np.array([[0.0, 0.4], [1.0, -0.2], [-2.0, 0.1], [0.1, 0.2]])
SPREADS = np.array([[1.0, 0.3], [0.6, 2.0], [0.2, 0.2], [1.5, 1.0]])
ROOTS = np.array([[[1.0, 0.0], [0.5, 0.8]], [[0.4, 0], [-0.3, 1.1]], [[2.0, 0], [1.9, 0.1]], [[0.7, 0], [0, 0.7]]])

BATCHES = {
    Normal: Normal(CENTRES, SCALES),
    Laplace: Laplace(CENTRES, SCALES),
    DiagonalNormal: DiagonalNormal(VECTORS, SPREADS),
    IsotropicNormal: IsotropicNormal(VECTORS, SPREADS[:, 0]),
    MultivariateNormal: MultivariateNormal(VECTORS, ROOTS @ ROOTS.transpose(0, 2, 1)),
}
RULES = [(kernel(lengthscale), BATCHES[family]) for kernel, family in MEAN for lengthscale in (0.2, 1.0, 4.0)]
SCALAR = [(k, p) for k, p in RULES if p.event_shape == ()]
VECTOR = [(k, p) for k, p in RULES if p.event_shape != ()]
TARGETS = np.array([0.0, 0.3, -4.0, 1.1])


def rows(p):
    return p.map_arrays(lambda x: x[:, None, ...])


def columns(p):
    return p.map_arrays(lambda x: x[None, ...])


def label(value):
    return type(value).__name__ + (f"-{value.lengthscale}" if hasattr(value, "lengthscale") else "")


PROFILES = {
    Gaussian: lambda d: math.exp(-0.5 * d * d),
    Laplacian: lambda d: math.exp(-d),
    Matern32: lambda d: (1 + 3**0.5 * d) * math.exp(-(3**0.5) * d),
    Matern52: lambda d: (1 + 5**0.5 * d + 5 * d * d / 3) * math.exp(-(5**0.5) * d),
}


def density(p, row):
    m, s = float(p.mean[row]), float(SCALES[row])
    if isinstance(p, Normal):
        return lambda x: math.exp(-0.5 * ((x - m) / s) ** 2) / (s * math.sqrt(2 * math.pi))
    return lambda x: math.exp(-abs(x - m) / s) / (2 * s)


def edges(p, row, kinks):
    """Ends of pieces in which a density times a function with kinks is smooth."""
    centre, std = float(p.mean[row]), float(p.std[row])
    ends = centre + std * np.array([-40, -6, -2, 0, 2, 6, 40])
    return np.unique([*ends, *np.clip(kinks, ends[0], ends[-1])])


def expectation(p, row, function, kinks):
    """E f(Z) of one row by adaptive quadrature of the density."""
    f, ends = density(p, row), edges(p, row, kinks)
    options = {"epsabs": 0, "epsrel": 1e-12, "limit": 200}
    return sum(integrate.quad(lambda x: function(x) * f(x), a, b, **options)[0] for a, b in itertools.pairwise(ends))


def of_mean(embedding, p, i, q, j):
    """E m(Z') by quadrature, with m the mean of row i of p and Z' from row j of q."""
    x, w = np.polynomial.legendre.leggauss(120)
    ends = edges(q, j, [float(p.mean[i])])
    half = np.diff(ends)[:, None] / 2
    nodes, weights = (ends[:-1, None] + half * (x + 1)).ravel(), (half * w).ravel()
    values = embedding.mean(p[i : i + 1], nodes[:, None])[:, 0]
    return weights @ (values * np.exp(q[j : j + 1].log_prob(nodes[:, None])[:, 0]))


@pytest.mark.parametrize(("kernel", "p"), SCALAR, ids=label)
def test_means_of_numbers_equal_adaptive_quadrature_of_the_density(kernel, p):
    means, profile = plan(kernel, p).mean(rows(p), TARGETS[None]), PROFILES[type(kernel)]
    for i in range(len(p)):
        for j, y in enumerate(TARGETS):
            naive = expectation(
                p, i, lambda x, y=y: profile(abs(x - y) / kernel.scale), [y, y - kernel.scale, y + kernel.scale]
            )
            np.testing.assert_allclose(means[i, j], naive, rtol=1e-9)


@pytest.mark.parametrize(("kernel", "p"), SCALAR, ids=label)
def test_crosses_of_numbers_equal_quadrature_of_the_mean(kernel, p):
    embedding = plan(kernel, p)
    crosses = embedding.cross(rows(p), columns(p))
    for i, j in ((0, 0), (0, 1), (1, 2), (2, 3), (1, 1)):
        np.testing.assert_allclose(crosses[i, j], of_mean(embedding, p, i, p, j), rtol=1e-9)


def grid(p, row, order=80):
    """Nodes and weights of a product Gauss-Hermite quadrature of one normal vector."""
    x, w = np.polynomial.hermite_e.hermegauss(order)
    nodes = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2)
    weights = np.outer(w, w).ravel() / (2 * np.pi)
    cov = p.cov[row] if isinstance(p, MultivariateNormal) else np.diag(np.asarray(p.std)[row] ** 2)
    return p.mean[row] + nodes @ np.linalg.cholesky(cov).T, weights


@pytest.mark.parametrize("family", [DiagonalNormal, IsotropicNormal, MultivariateNormal])
def test_vectors_equal_product_quadrature(family):
    p, kernel = BATCHES[family], Gaussian(1.5)
    embedding = plan(kernel, p)
    means, crosses = embedding.mean(rows(p), VECTORS[None]), embedding.cross(rows(p), columns(p))
    for i in range(len(p)):
        nodes, weights = grid(p, i)
        for j in range(len(p)):
            np.testing.assert_allclose(means[i, j], weights @ point(kernel, nodes, VECTORS[j : j + 1], 1), rtol=1e-9)
            np.testing.assert_allclose(crosses[i, j], weights @ embedding.mean(p[j : j + 1], nodes), rtol=1e-9)


def test_kernels_over_coordinates_equal_products_of_quadratures():
    p, kernel = BATCHES[DiagonalNormal], Coordinatewise(Laplacian(0.7))
    means = plan(kernel, p).mean(rows(p), VECTORS[None])
    for i in range(len(p)):
        for j, y in enumerate(VECTORS):
            naive = 1.0
            for k in range(2):
                q = Normal(p.mean[:, k], p.std[:, k])
                naive *= integrate.quad(
                    lambda x, q=q, c=y[k], i=i: math.exp(-abs(x - c) / 0.7 + q[i : i + 1].log_prob(np.array([x]))[0]),
                    q.mean[i] - 10 * q.std[i],
                    q.mean[i] + 10 * q.std[i],
                    points=[y[k], q.mean[i]],
                )[0]
            np.testing.assert_allclose(means[i, j], naive, rtol=1e-9)


@pytest.mark.parametrize(("kernel", "p"), RULES, ids=label)
def test_predictions_without_spread_give_the_kernel_itself(kernel, p):
    def narrow(q):
        changes = {name: 1e-12 * getattr(q, name) for name in ("std", "scale") if name in vars(q)}
        if isinstance(q, MultivariateNormal):
            return MultivariateNormal(q.mean, 1e-24 * q.cov)
        return type(q)(*[changes.get(name, getattr(q, name)) for name in list(vars(q))[:2]])

    q, event = narrow(p), len(p.event_shape)
    embedding = plan(kernel, q)
    targets = VECTORS if event else TARGETS
    at_targets = point(kernel, q.mean[:, None], targets[None], event)
    np.testing.assert_allclose(embedding.mean(rows(q), targets[None]), at_targets, rtol=1e-9, atol=1e-300)
    at_means = point(kernel, q.mean[:, None], q.mean[None], event)
    np.testing.assert_allclose(embedding.cross(rows(q), columns(q)), at_means, rtol=1e-9, atol=1e-300)


PAIRS = [(k, a, b) for k, a, b in CROSS if a is not b]


@pytest.mark.parametrize(("kernel", "left", "right"), PAIRS, ids=lambda t: t.__name__)
def test_crosses_of_two_families_equal_quadrature_of_the_mean(kernel, left, right):
    kernel, p, q = kernel(0.8), BATCHES[left], BATCHES[right]
    embedding = plan(kernel, p)
    crosses = plan(kernel, Mixture(None, [p, q])).crosses
    found = crosses[left, right](rows(p), columns(q))
    np.testing.assert_array_equal(crosses[right, left](rows(q), columns(p)), crosses[left, right](columns(p), rows(q)))
    for i, j in ((0, 0), (1, 2), (2, 1), (3, 0)):
        if p.event_shape:
            nodes, weights = grid(q, j)
            naive = weights @ embedding.mean(p[i : i + 1], nodes)
        else:
            naive = of_mean(embedding, p, i, q, j)
        np.testing.assert_allclose(found[i, j], naive, rtol=1e-8)


def test_a_family_that_differs_only_in_how_it_is_written_gives_the_same():
    iso = BATCHES[IsotropicNormal]
    diagonal = DiagonalNormal(VECTORS, np.asarray(iso.std))
    full = MultivariateNormal(VECTORS, np.asarray(iso.std)[:, :, None] ** 2 * np.eye(2))
    kernel = Gaussian(0.9)
    for other in (diagonal, full):
        np.testing.assert_allclose(
            plan(kernel, other).mean(rows(other), VECTORS[None]),
            plan(kernel, iso).mean(rows(iso), VECTORS[None]),
            rtol=1e-12,
        )
        np.testing.assert_allclose(
            plan(kernel, other).cross(rows(other), columns(other)),
            plan(kernel, iso).cross(rows(iso), columns(iso)),
            rtol=1e-12,
        )


def test_full_covariances_of_many_components_equal_the_formula():
    rng = np.random.default_rng(0)
    d, n = 12, 40
    a = rng.normal(size=(n, d, d))
    p = MultivariateNormal(rng.normal(size=(n, d)), a @ a.transpose(0, 2, 1) / d + 0.1 * np.eye(d))
    y, lengthscale = rng.normal(size=(n, d)), 2.0
    embedding = plan(Gaussian(lengthscale), p)
    means, crosses = embedding.mean(rows(p), y[None]), embedding.cross(rows(p), columns(p))
    for i, j in ((0, 1), (7, 30), (39, 0)):
        for found, end, cov in ((means, y[j], p.cov[i]), (crosses, p.mean[j], p.cov[i] + p.cov[j])):
            total = lengthscale**2 * np.eye(d) + cov
            difference = p.mean[i] - end
            height = np.sqrt(lengthscale ** (2 * d) / np.linalg.det(total))
            np.testing.assert_allclose(
                found[i, j], height * np.exp(-0.5 * difference @ np.linalg.solve(total, difference)), rtol=1e-11
            )


def test_matrix_product_and_differences_agree_also_far_from_the_origin():
    rng = np.random.default_rng(1)
    for shift, spread in ((0.0, 1.0), (1e6, 1.0), (0.0, 1e4), (1e8, 1e3)):
        mean, std = shift + spread * rng.normal(size=(30, 5)), rng.uniform(0.5, 2, (30, 5))
        p, y = DiagonalNormal(mean, std), mean + std * rng.normal(size=(30, 5))
        found = plan(Gaussian(2.0), p).mean(rows(p), y[None])
        by_pairs = np.stack([plan(Gaussian(2.0), p).mean(p, np.broadcast_to(row, y.shape)) for row in y], axis=1)
        np.testing.assert_allclose(found, by_pairs, rtol=1e-11, atol=1e-300)


def test_a_volume_beyond_the_largest_number_gives_zero():
    p = DiagonalNormal(np.zeros((2, 400)), np.full((2, 400), 100.0))
    assert (plan(Gaussian(1.0), p).cross(rows(p), columns(p)) == 0).all()
    full = MultivariateNormal(np.zeros((2, 80)), 1e10 * np.eye(80))
    assert (plan(Gaussian(1.0), full).cross(rows(full), columns(full)) == 0).all()


def test_the_table_holds_what_the_documents_promise():
    """Rules register themselves when they are imported: no other test would miss one that is not."""
    vectors = ("DiagonalNormal", "IsotropicNormal", "MultivariateNormal")
    promised = {("Gaussian", family) for family in ("Normal", *vectors)}
    promised |= {(kernel, "Normal") for kernel in ("Laplacian", "Matern32", "Matern52")} | {("Laplacian", "Laplace")}
    assert {(kernel.__name__, family.__name__) for kernel, family in MEAN} >= promised
