"""Distances between predictions against second implementations, their flags, and how engines use them."""

import sys
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import sqrtm
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial.distance import cdist
from scipy.stats import norm

import kernelcal as kc
from kernelcal.kernels import GaussLegendre, Spectral
from kernelcal.kernels.divergences.mmd import MMD
from kernelcal.kernels.metrics import (
    Euclidean,
    Hellinger,
    MixtureWasserstein,
    TotalVariation,
    Wasserstein,
    base as metric_base,
    view,
)
from kernelcal.kernels.metrics.wasserstein import least_costs
from kernelcal.kernels.points import AlignedPairs, CrossPairs, Points
from kernelcal.pairs.tiles import BlockPoints, Tile
from kernelcal.predictions import (
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
)
from kernelcal.residuals import residual_of

ALL = slice(None)
LEVELS = np.array([0.05, 0.1, 0.4, 0.5, 0.9])


def distances(metric, predictions):
    return CrossPairs(Points(predictions), ALL, ALL).distance(metric)


def covariances(rng, n, d):
    x = rng.standard_normal((n, d, d + 1))
    return x @ np.swapaxes(x, 1, 2)


def quantile_values(rng, n):
    values = np.cumsum(rng.exponential(size=(n, len(LEVELS))), axis=1) - 3
    values[0, 1] = values[0, 0]  # a point mass beside the tail
    values[1, 3] = values[1, 2]
    return values


def families(n=6):
    """One batch of every family, with a duplicated row."""
    rng = np.random.default_rng(3)
    m, s = rng.standard_normal(n), rng.uniform(0.5, 2, n)
    v, t = rng.standard_normal((n, 3)), rng.uniform(0.5, 2, (n, 3))
    w = rng.dirichlet([1, 1, 1], n)
    batches = {
        "normal": Normal(m, s),
        "laplace": Laplace(m, s),
        "diagonal": DiagonalNormal(v, t),
        "isotropic": IsotropicNormal(v, s),
        "full": MultivariateNormal(v, covariances(rng, n, 3)),
        "mixture": Mixture(w, [Normal(m, s), Normal(m + 1, s / 2), Normal(m * m, s + 1)]),
        "vector mixture": Mixture(None, [MultivariateNormal(v + k, covariances(rng, n, 3)) for k in range(2)]),
        "poisson": Poisson(s),
        "negative binomial": NegativeBinomial(s, 2.0),
        "samples": Samples(rng.standard_normal((n, 7)) + m[:, None]),
        "vector samples": Samples(rng.standard_normal((n, 7, 3)) + v[:, None]),
        "quantiles": Quantiles(quantile_values(rng, n), LEVELS),
    }
    rows = np.array([*range(n), 2])
    return {name: batch[rows] for name, batch in batches.items()}


WASSERSTEIN = ("normal", "laplace", "diagonal", "isotropic", "full", "samples", "quantiles")
PAIRS = [
    *[(name, Euclidean()) for name in families()],
    *[(name, Wasserstein()) for name in WASSERSTEIN],
    *[(name, MixtureWasserstein(s)) for name in ("mixture", "vector mixture") for s in (1, 2)],
    *[
        (name, MMD(kc.Gaussian(1.3)))
        for name in ("normal", "diagonal", "full", "samples", "vector samples", "mixture", "poisson")
    ],
    ("laplace", MMD(kc.Laplacian(0.7))),
    ("quantiles", MMD(kc.Gaussian(1.0), GaussLegendre(20))),
]
EVERY = pytest.mark.parametrize(("name", "metric"), PAIRS, ids=lambda x: x if isinstance(x, str) else repr(x))


@pytest.fixture(autouse=True)
def _transport(request):
    """Linear programs need POT, an extra."""
    metric = getattr(request.node, "callspec", None) and request.node.callspec.params.get("metric")
    if isinstance(metric, MixtureWasserstein) and request.node.callspec.params.get("name") == "mixture":
        pytest.importorskip("ot")


# published values and second implementations


def test_published_wasserstein_distances(julia):
    for case in julia["wasserstein"]["numeric"]:
        loc, scale = (np.array(x, dtype=float) for x in zip(case["a"], case["b"], strict=True))
        vectors, stds = np.tile(loc[:, None], 10), np.tile(scale[:, None], 10)
        batches = {
            "Normal": [Normal(loc, scale)],
            "Laplace": [Laplace(loc, scale)],
            "MvNormal 10-dim isotropic copy": [
                IsotropicNormal(vectors, scale),
                DiagonalNormal(vectors, stds),
                MultivariateNormal(vectors, scale[:, None, None] ** 2 * np.eye(10)),
            ],
        }[case["kind"]]
        for batch in batches:
            assert distances(Wasserstein(), batch)[0, 1] == pytest.approx(case["w2"], rel=1e-14)


def by_quantile_functions(q, breaks):
    """Root of the integral of the squared difference of two quantile functions."""
    total = sum(
        quad(lambda u: (q(u)[0] - q(u)[1]) ** 2, a, b, epsabs=1e-9, epsrel=1e-9, limit=400)[0]
        for a, b in pairwise(np.unique([0.0, *breaks, 1.0]))
    )
    return np.sqrt(total)


@pytest.mark.parametrize("family", [Normal, Laplace])
def test_wasserstein_of_numbers_is_the_distance_of_quantile_functions(family):
    batch = family([0.3, -1.0], [0.5, 2.0])
    expected = by_quantile_functions(lambda u: batch.quantile(np.full(2, u)), [1e-6, 0.5, 1 - 1e-6])
    assert distances(Wasserstein(), batch)[0, 1] == pytest.approx(expected, rel=1e-6)


def quantile_function(values, levels, tails):
    """Piecewise linear between the levels; the tails go on with the density of the segment beside them."""

    def q(u):
        if levels[0] <= u <= levels[-1]:
            return np.interp(u, levels, values)
        left = u < levels[0]
        if left:
            edge, mass, rest = values[0], levels[0], u
            slope = (values[1] - values[0]) / (levels[1] - levels[0])
        else:
            edge, mass, rest = values[-1], 1 - levels[-1], 1 - u
            slope = (values[-1] - values[-2]) / (levels[-1] - levels[-2])
        way = slope * (mass * np.log(mass / rest) if tails == "exponential" else mass - rest)
        return edge - way if left else edge + way

    return q


@pytest.mark.parametrize("tails", ["exponential", "linear"])
def test_wasserstein_of_quantiles_is_exact_with_its_tails(tails):
    values = quantile_values(np.random.default_rng(0), 3)
    d = distances(Wasserstein(), Quantiles(values, LEVELS, tails=tails))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        one, two = (quantile_function(values[k], LEVELS, tails) for k in (i, j))
        expected = by_quantile_functions(lambda u, one=one, two=two: (one(u), two(u)), [1e-6, *LEVELS, 1 - 1e-6])
        assert d[i, j] == pytest.approx(expected, rel=1e-6)


def test_wasserstein_of_samples_is_the_best_assignment_of_draws():
    draws = np.random.default_rng(0).standard_normal((4, 9)) * [[1], [2], [3], [1]]
    expected = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            cost = (draws[i][:, None] - draws[j]) ** 2
            expected[i, j] = np.sqrt(cost[linear_sum_assignment(cost)].mean())
    np.testing.assert_allclose(distances(Wasserstein(), Samples(draws)), expected, atol=1e-14)
    np.testing.assert_allclose(distances(Wasserstein(), Samples(draws[..., None])), expected, atol=1e-14)
    np.testing.assert_array_equal(
        distances(Wasserstein(), Samples(draws, np.full((4, 9), 2.0))), distances(Wasserstein(), Samples(draws))
    )


def bures_by_roots(mean, cov):
    n = len(mean)
    d = np.zeros((n, n))
    for i in range(n):
        root = sqrtm(cov[i]).real
        for j in range(n):
            middle = sqrtm(root @ cov[j] @ root).real
            squared = ((mean[i] - mean[j]) ** 2).sum() + np.trace(cov[i] + cov[j] - 2 * middle)
            d[i, j] = np.sqrt(max(squared, 0))
    return d


@pytest.mark.parametrize("d", [1, 2, 5])
def test_wasserstein_of_full_covariances_is_the_formula_with_matrix_roots(d):
    rng = np.random.default_rng(d)
    mean, cov = rng.standard_normal((6, d)), covariances(rng, 6, d)
    found = distances(Wasserstein(), MultivariateNormal(mean, cov))
    np.testing.assert_allclose(found, bures_by_roots(mean, cov), atol=1e-6)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(found[off], bures_by_roots(mean, cov)[off], rtol=1e-11)
    np.testing.assert_array_equal(np.diag(found), 0)


def test_full_covariances_that_commute_agree_with_diagonal_ones():
    rng = np.random.default_rng(0)
    mean, std = rng.standard_normal((8, 4)), rng.uniform(0.1, 3, (8, 4))
    full = distances(Wasserstein(), MultivariateNormal(mean, std[:, :, None] ** 2 * np.eye(4)))
    np.testing.assert_allclose(full, distances(Wasserstein(), MultivariateNormal.diagonal(mean, std)), rtol=1e-12)
    np.testing.assert_allclose(full, distances(Euclidean(), DiagonalNormal(mean, std)), rtol=1e-12)


def test_small_eigenvalues_lose_no_digits_to_a_root():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    cov = np.stack([np.diag([1.0, 1e-14]), np.diag([4.0, 9e-14])])
    turned = turn @ cov @ turn.T
    turned = 0.5 * (turned + np.swapaxes(turned, 1, 2))
    d = distances(Wasserstein(), MultivariateNormal(np.zeros((2, 2)), turned))[0, 1]
    assert d == pytest.approx(np.sqrt(1 + 4e-14), rel=1e-12)


def naive_transport(a, b, cost):
    k, m = cost.shape
    constraints = np.zeros((k + m, k * m))
    for i in range(k):
        constraints[i, i * m : (i + 1) * m] = 1
    for j in range(m):
        constraints[k + j, j::m] = 1
    return linprog(cost.ravel(), A_eq=constraints, b_eq=[*a, *b], bounds=(0, None), method="highs").fun


@pytest.mark.parametrize("number", [1, 2, 3, 5])
@pytest.mark.parametrize("weights", ["equal", "equal and unequal", "unequal", "some zero"])
def test_least_costs_are_those_of_a_linear_program(number, weights):
    if weights != "equal" and number > 2:
        pytest.importorskip("ot")
    rng = np.random.default_rng(number)
    p, q = rng.dirichlet(np.ones(number), (2, 20))
    if weights == "equal":
        p = q = np.full((20, number), 1 / number)
    elif weights == "equal and unequal":
        p = np.full((20, number), 1 / number)
    elif number > 1 and weights == "some zero":
        p, q = np.eye(number)[rng.integers(0, number, 20)], np.where(np.arange(number) > 0, 1 / (number - 1), 0)
        q = np.tile(q, (20, 1))
    cost = rng.random((20, number, number))
    expected = [naive_transport(a, b, c) for a, b, c in zip(p, q, cost, strict=True)]
    np.testing.assert_allclose(least_costs(p, q, cost), expected, atol=1e-12)


@pytest.mark.parametrize("s", [1, 2, 3.5])
def test_mixture_wasserstein_is_its_definition(s):
    pytest.importorskip("ot")
    rng = np.random.default_rng(0)
    n, w = 5, np.random.default_rng(1).dirichlet([1, 1, 1], 5)
    parts = [MultivariateNormal(rng.standard_normal((n, 2)) * 2, covariances(rng, n, 2)) for _ in range(3)]
    found = distances(MixtureWasserstein(s), Mixture(w, parts))
    mean, cov = (np.stack([getattr(p, name) for p in parts], 1) for name in ("mean", "cov"))
    ground = bures_by_roots(mean.reshape(15, 2), cov.reshape(15, 2, 2)).reshape(n, 3, n, 3)
    for i in range(n):
        for j in range(n):
            if i != j:
                expected = naive_transport(w[i], w[j], ground[i, :, j] ** s) ** (1 / s)
                assert found[i, j] == pytest.approx(expected, rel=1e-9)
    np.testing.assert_array_equal(np.diag(found), 0)


@pytest.mark.parametrize("name", ["normal", "laplace", "diagonal", "isotropic", "full"])
@pytest.mark.parametrize("s", [1, 2])
def test_mixtures_reduce_to_their_components(name, s):
    batch, metric = families()[name], MixtureWasserstein(s)
    expected = distances(Wasserstein(), batch)
    np.testing.assert_allclose(distances(metric, Mixture(None, [batch])), expected, rtol=1e-14)
    np.testing.assert_allclose(distances(metric, Mixture(None, [batch] * 10)), expected, rtol=1e-12)
    n = len(batch)
    first = np.arange(n) % 2 == 0
    turned = Mixture(np.stack([first, ~first], 1).astype(float), [batch, batch[np.roll(np.arange(n), 1)]])
    source = np.where(first, np.arange(n), np.roll(np.arange(n), 1))
    np.testing.assert_allclose(distances(metric, turned), expected[np.ix_(source, source)], rtol=1e-14)


def test_the_order_of_components_does_not_matter():
    pytest.importorskip("ot")
    rng = np.random.default_rng(0)
    w, m, s = rng.dirichlet([1, 1, 1], 4), rng.standard_normal((4, 3)), rng.uniform(1, 2, (4, 3))
    w, m, s = (np.vstack([x, x[:, [2, 0, 1]]]) for x in (w, m, s))
    batch = Mixture(w, [Normal(m[:, k], s[:, k]) for k in range(3)])
    d = distances(MixtureWasserstein(), batch)
    np.testing.assert_allclose(d[:4, 4:], d[:4, :4], atol=1e-8)


def test_mmd_is_the_distance_of_mean_embeddings():
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((5, 6)) * [[1], [2], [1], [0.5], [3]]
    kernel = kc.Laplacian(0.8)
    gram = np.exp(-np.abs(draws.reshape(-1, 1) - draws.reshape(1, -1)) / 0.8).reshape(5, 6, 5, 6).mean((1, 3))
    expected = np.sqrt(np.diag(gram)[:, None] + np.diag(gram) - 2 * gram)
    np.testing.assert_allclose(distances(MMD(kernel), Samples(draws)), expected, atol=2e-8)


def test_mmd_of_normals_by_quadrature():
    batch, scale = Normal([0.0, 1.0, 1.5], [1.0, 0.5, 3.0]), 0.7
    z = np.arange(-30, 30, 0.05)  # the trapezoidal rule is exact here to the last digits
    density = 0.05 * norm.pdf(z, batch.mean[:, None], batch.std[:, None])
    cross = density @ np.exp(-((z[:, None] - z) ** 2) / (2 * scale**2)) @ density.T
    expected = np.sqrt(np.diag(cross)[:, None] + np.diag(cross) - 2 * cross)
    found = distances(MMD(kc.Gaussian(scale)), batch)
    np.testing.assert_allclose(found[~np.eye(3, dtype=bool)], expected[~np.eye(3, dtype=bool)], rtol=1e-8)
    np.testing.assert_array_equal(np.diag(found), 0)


def test_mmd_of_classes_under_equality_is_euclidean(make_data):
    batch = kc.Categorical(make_data(12, 4)[0])
    np.testing.assert_allclose(distances(MMD(kc.Dirac()), batch), distances(Euclidean(), batch), atol=2e-7)
    pair = kc.Bernoulli([0.1, 0.3, 0.8])  # two classes: both probabilities differ
    found = distances(MMD(kc.Dirac()), pair)
    np.testing.assert_allclose(found, np.sqrt(2) * distances(Euclidean(), pair), atol=2e-7)


# what every metric keeps for every family


def test_euclidean_serves_every_family():
    for batch in families().values():
        n = len(batch)
        both = np.hstack([batch.mean.reshape(n, -1), batch.std.reshape(n, -1)])
        if isinstance(batch, Quantiles):
            both = batch.values / np.sqrt(len(batch.levels))  # by what was forecast, not by an interpolation
        np.testing.assert_allclose(distances(Euclidean(), batch), cdist(both, both), atol=1e-14)
        assert Euclidean().hilbertian(batch)


@EVERY
def test_blocks_and_aligned_pairs_agree_with_all_pairs(name, metric, monkeypatch):
    batch = families()[name]
    expected = distances(metric, batch)
    rows, columns = slice(1, 5), np.array([0, 3, 6, 2])
    aligned = AlignedPairs(Points(batch), rows, columns)
    np.testing.assert_allclose(aligned.distance(metric), expected[np.arange(1, 5), columns], atol=1e-14)
    np.testing.assert_allclose(aligned.squared_distance(metric), expected[np.arange(1, 5), columns] ** 2, atol=1e-14)
    for shared in (True, False):
        block = Tile(BlockPoints(batch), rows, columns, shared=shared)
        np.testing.assert_allclose(block.distance(metric), expected[1:5, columns], atol=1e-12)
        np.testing.assert_allclose(block.squared_distance(metric), expected[1:5, columns] ** 2, atol=1e-12)
    for numbers in (1, 40, 10**9):
        monkeypatch.setattr(metric_base, "_NUMBERS_AT_ONCE", numbers)
        np.testing.assert_allclose(distances(metric, batch), expected, atol=1e-14)
        aligned = AlignedPairs(Points(batch), rows, columns)
        np.testing.assert_allclose(aligned.distance(metric), expected[np.arange(1, 5), columns], atol=1e-14)


WITH_FEATURES = [pair for pair in PAIRS if pair[0] in ("normal", "laplace", "diagonal", "full", "mixture", "samples")]


@pytest.mark.filterwarnings("ignore::kernelcal.errors.KernelcalWarning")
@pytest.mark.parametrize(("name", "metric"), WITH_FEATURES, ids=lambda x: x if isinstance(x, str) else repr(x))
def test_the_engines_sum_the_same_kernel(name, metric):
    batch = families()[name]
    y = np.zeros((7, *batch.event_shape)) + np.arange(7).reshape(7, *(1,) * len(batch.event_shape))
    target = Spectral(kc.Gaussian(1.0))
    options = {"prediction_kernel": kc.Laplacian(0.9, metric=metric), "target_kernel": target}
    inner = residual_of(batch, target, None).inner(y).block(ALL, ALL)
    h = np.exp(-distances(metric, batch) / 0.9) * inner
    expected = (h.sum() - np.trace(h)) / 42
    assert float(kc.skce(y, batch, **options)) == pytest.approx(expected, rel=1e-10)
    small = kc.ExactPairs(rows=2, columns=3, threads=2)
    assert float(kc.skce(y, batch, engine=small, **options)) == pytest.approx(expected, rel=1e-10)
    blocks = np.mean([h[i, i + 1] for i in (0, 2, 4)])
    assert float(kc.skce(y, batch, estimator="block", block_size=2, **options)) == pytest.approx(blocks, rel=1e-10)
    if metric.hilbertian(batch):
        nystrom = kc.skce(y, batch, engine=kc.Nystrom(landmarks=7), **options)
        assert float(nystrom) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_random_fourier_features_take_the_coordinates_of_any_family():
    batch = families()["quantiles"]
    for metric in (Euclidean(), Wasserstein()):
        features, _ = kc.RandomFourier(20_000).maps([kc.Gaussian(1.0, metric=metric)], batch)
        phi = features(ALL)
        np.testing.assert_allclose(phi @ phi.T, np.exp(-(distances(metric, batch) ** 2) / 2), atol=0.03)
    with pytest.raises(kc.errors.InputError, match=r"Bures computes distances pair by pair .* use kernelcal.Nystrom"):
        kc.RandomFourier().maps([kc.Gaussian(1.0, metric=Wasserstein())], families()["full"])
    with pytest.raises(kc.errors.InputError, match="MMD computes distances pair by pair and has no coordinates"):
        MMD(kc.Gaussian(1.0)).coordinates(families()["normal"])


def test_only_what_is_asked_is_prepared():
    class Counting(Euclidean):
        asked = 0

        def coordinates(self, predictions):
            Counting.asked += 1
            return super().coordinates(predictions)

    batch = families()["full"]
    points = BlockPoints(batch)
    Tile(points, ALL, ALL, shared=True).evaluate(kc.Laplacian(1.0, metric=Wasserstein()) + kc.Linear())
    assert list(points._by_metric) == [Wasserstein()]
    kernel = kc.Laplacian(1.0, metric=Counting()) + kc.Gaussian(1.0, metric=Counting())
    Tile(BlockPoints(batch), ALL, ALL, shared=True).evaluate(kernel)
    assert Counting.asked == 1


# other libraries


def test_coordinates_of_other_libraries_are_those_of_numpy(backend):
    for name in ("normal", "laplace", "diagonal", "isotropic", "samples"):
        for metric in (Euclidean(), Wasserstein()):
            batch = families()[name]
            found = metric.coordinates(batch.map_arrays(backend))
            np.testing.assert_allclose(np.asarray(found), metric.coordinates(batch), rtol=1e-14)


@pytest.mark.parametrize("metric", [Euclidean(), Wasserstein(), MMD(kc.Gaussian(1.5))], ids=repr)
@pytest.mark.parametrize("name", ["normal", "full"])
def test_gradients_are_those_of_finite_differences(name, metric):
    torch = pytest.importorskip("torch")
    batch = families()[name][:4]

    def total(mean):
        return distances(metric, replace(batch, mean=mean))[0, 1:].sum()

    mean = torch.tensor(batch.mean, requires_grad=True)
    moved = batch.map_arrays(torch.tensor)
    object.__setattr__(moved, "mean", mean)
    distances(metric, moved)[0, 1:].sum().backward()
    expected = np.zeros_like(batch.mean)
    for place in np.ndindex(*batch.mean.shape):
        step = np.zeros_like(batch.mean)
        step[place] = 1e-6
        expected[place] = (total(batch.mean + step) - total(batch.mean - step)) / 2e-6
    np.testing.assert_allclose(mean.grad.numpy(), expected, atol=1e-7)


def test_draws_of_torch_predictions_use_the_same_distances():
    torch = pytest.importorskip("torch")
    batch = families()["full"]
    moved = BlockPoints(batch.map_arrays(torch.tensor))
    found = Tile(moved, ALL, ALL, shared=False).distance(Wasserstein())
    np.testing.assert_allclose(found, distances(Wasserstein(), batch), rtol=1e-12)
    mixtures = families()["vector mixture"].map_arrays(torch.tensor)
    found = Tile(BlockPoints(mixtures), ALL, ALL, shared=False).distance(MixtureWasserstein())
    np.testing.assert_allclose(found, distances(MixtureWasserstein(), families()["vector mixture"]), rtol=1e-12)
    with pytest.raises(kc.errors.InputError, match="in NumPy and keeps no gradient: pass NumPy arrays"):
        distances(MixtureWasserstein(), mixtures)


# Hilbertian or not


def test_flags_by_family():
    batches = families()
    for name in WASSERSTEIN:
        assert Wasserstein().largest_exponent(batches[name]) == (0.0 if name == "full" else 2.0)
    assert MixtureWasserstein().largest_exponent(batches["mixture"]) == 0.0
    assert MMD(kc.Gaussian(1.0)).largest_exponent(batches["mixture"]) == 2.0
    rng = np.random.default_rng(0)
    mean, cov = rng.standard_normal((4, 3)), covariances(rng, 1, 3)[0]
    assert Wasserstein().hilbertian(MultivariateNormal(mean, cov))  # one matrix for all rows
    assert Wasserstein().hilbertian(MultivariateNormal(mean[:, :1], rng.uniform(1, 2, (4, 1, 1))))


def least_eigenvalue(predictions, metric, nu=2.0):
    return np.linalg.eigvalsh(np.exp(-(distances(metric, predictions) ** nu)))[0]


def test_covariances_in_the_plane_where_wasserstein_is_not_hilbertian():
    # 2021, App. D.1 says it is. Near-rank-one covariances z z': the distance of z from z_2 or from -z_2
    z = np.array(
        [
            [-0.61, -0.04], [0.47, -0.41], [-0.39, -0.46], [0.4, 0.45], [0.61, 0.04], [0.4, 0.45],
            [0.04, -0.62], [-0.61, -0.04], [-0.05, 0.62], [0.04, -0.63], [0.61, 0.04], [0.47, -0.42],
        ]
    )  # fmt: skip
    batch = MultivariateNormal(np.zeros((12, 2)), z[:, :, None] * z[:, None, :] + 1e-6 * np.eye(2))
    assert least_eigenvalue(batch, Wasserstein()) < -0.24
    kernel = kc.Gaussian(1 / np.sqrt(2), metric=Wasserstein())
    assert not kernel.positive_definite(batch)
    assert not kc.Laplacian(1.0, metric=Wasserstein()).positive_definite(batch)  # not known
    assert Wasserstein().why_not(batch) == (
        "2-Wasserstein between normal distributions whose covariances do not commute is not the distance of a "
        "Hilbert space: use the metric Euclidean(), or MMD(Gaussian(lengthscale))"
    )
    for alternative in (Euclidean(), MMD(kc.Gaussian(0.5))):
        assert alternative.hilbertian(batch)
        assert least_eigenvalue(batch, alternative) > -1e-9


# fourteen mixtures of two points in the plane, found by descent on the least eigenvalue
ATOMS = {
    (1, 2): [
        [0.24, -0.87, -0.29, 0.48], [-0.29, 0.48, 0.24, -0.89], [0.95, 0.42, 0.24, -0.88], [1.06, -0.19, -0.29, 0.48],
        [-0.35, -0.62, 0.38, 0.66], [0.73, -0.79, 0.38, 0.66], [-0.48, 0.01, 0.73, -0.79], [-0.35, -0.62, 0.37, 0.67],
        [1.05, -0.18, -0.35, -0.61], [1.05, -0.19, -0.35, -0.62], [-0.47, 0.01, 0.74, -0.8], [0.94, 0.42, -0.48, 0.01],
        [1.06, -0.19, -0.29, 0.48], [0.74, -0.79, 0.37, 0.67],
    ],
    (2, 2): [
        [0.27, -0.61, 0.06, 0.6], [-0.33, 0.33, 0.66, -0.35], [0.53, 0.51, -0.19, -0.53], [0.65, -0.35, -0.32, 0.34],
        [0.28, -0.61, 0.05, 0.59], [0.28, -0.61, 0.06, 0.59], [-0.32, 0.34, 0.66, -0.36], [-0.33, 0.33, 0.66, -0.34],
        [0.53, 0.51, -0.19, -0.53], [0.52, 0.51, -0.19, -0.53], [-0.33, 0.33, 0.66, -0.35], [0.77, 0.1, -0.44, -0.12],
        [0.77, 0.1, -0.44, -0.11], [0.78, 0.1, -0.44, -0.12],
    ],
    (1, 1): [
        [0.209, -0.227, -0.253, 0.044], [-0.3, -0.272, 0.046, 0.412], [0.374, 0.001, -0.3, -0.273],
        [0.208, -0.228, 0.046, 0.282], [-0.203, 0.24, 0.374, 0.012], [0.319, 0.198, -0.252, 0.044],
        [0.041, 0.41, 0.274, -0.322], [0.319, 0.197, -0.055, -0.356], [-0.405, 0.068, 0.157, 0.16],
        [-0.053, -0.356, -0.203, 0.241], [0.276, -0.319, -0.406, 0.068], [-0.369, -0.063, 0.36, 0.148],
        [0.374, 0.012, -0.191, -0.194], [-0.187, -0.196, 0.048, 0.281],
    ],
}  # fmt: skip


@pytest.mark.parametrize(("s", "nu", "below"), [(1, 2, -0.68), (2, 2, -0.18), (1, 1, -0.025)])
def test_mixtures_where_mixture_wasserstein_is_not_hilbertian(s, nu, below):
    # 2021, Theorem D.1 says it is
    atoms = np.array(ATOMS[s, nu])
    batch = Mixture(None, [DiagonalNormal(atoms[:, k : k + 2], np.full((14, 2), 1e-3)) for k in (0, 2)])
    metric = MixtureWasserstein(s)
    assert least_eigenvalue(batch, metric, nu) < below
    assert not metric.hilbertian(batch)
    assert not kc.Laplacian(1.0, metric=metric).positive_definite(batch)
    assert metric.why_not(batch).endswith("use the metric Euclidean(), or MMD(Gaussian(lengthscale))")
    assert least_eigenvalue(batch, MMD(kc.Gaussian(0.5))) > -1e-9


def test_reasons_of_the_other_metrics():
    classes = kc.Categorical(np.eye(3))
    assert TotalVariation().why_not(classes) == (
        "for more than two classes only the root of total variation is the distance of a Hilbert space: use Laplacian "
        "with this metric, or the metric Euclidean() or Hellinger()"
    )
    assert TotalVariation().why_not(kc.Bernoulli([0.5])) == Hellinger().why_not(classes) == ""
    assert MMD(kc.Gaussian(1.0)).why_not(classes) == ""
    odd = MMD(kc.Gaussian(1.0, metric=TotalVariation()))
    assert "is not known to be positive definite: use Gaussian(lengthscale)" in odd.why_not(classes)

    @dataclass(frozen=True)
    class Own(TotalVariation):
        why_not = kc.kernels.Metric.why_not

    assert Own().why_not(classes) == (
        "Own() allows powers of the distance up to 1 only: use Laplacian with this metric, or the metric Euclidean()"
    )


# refusals


@pytest.mark.parametrize(
    ("metric", "name", "message"),
    [
        (
            Wasserstein(),
            "poisson",
            r"Poisson has no coordinates for .* Wasserstein: use the metric Euclidean.*Laplace, .*Normal",
        ),
        (Wasserstein(), "mixture", r"Mixture has no coordinates .*: mixtures have the metric MixtureWasserstein\(\)"),
        (Wasserstein(), "vector samples", "defined for numbers, not for vectors of 3: use the metric Euclidean"),
        (MixtureWasserstein(), "normal", r"compares mixtures, not Normal: use Wasserstein\(\)"),
        (TotalVariation(), "normal", r"compares class probabilities; it is not defined for Normal: use Euclidean\(\)"),
        (Hellinger(), "full", "Hellinger compares class probabilities; it is not defined for MultivariateNormal"),
    ],
)
def test_families_without_the_metric_are_refused_with_the_remedy(metric, name, message):
    with pytest.raises(kc.errors.InputError, match=message):
        view(metric, families()[name])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Wasserstein().coordinates(kc.Categorical(np.eye(3))),
            "Categorical has no coordinates for",
        ),
        (lambda: Wasserstein().coordinates(Samples([[0.0, 1.0]], [[1.0, 2.0]])), "needs equal weights, so that sorted"),
        (
            lambda: MixtureWasserstein().prepare(Mixture(None, [Normal([0.0], 1.0), Laplace([0.0], 1.0)])),
            r"components of one family out of Normal, Laplace, .*, got Normal, Laplace: use the metric Euclidean",
        ),
        (lambda: MixtureWasserstein().prepare(Mixture(None, [Poisson([1.0])])), "got Poisson: use the metric"),
        (lambda: MixtureWasserstein(0.5), "exponent must be a number of at least 1, got 0.5"),
        (lambda: MixtureWasserstein("2"), "exponent must be a number of at least 1, got '2'"),
        (lambda: MMD(1.0), r"kernel must be a target kernel such as kernelcal.Gaussian\(1.0\), got 1.0"),
        (lambda: MMD(kc.Gaussian()), r"number as lengthscale .*\.resolve_target\(kernel, predictions\)"),
        (lambda: MMD(2 * kc.Gaussian(1.0) + kc.Laplacian()), r"got Laplacian\(lengthscale='median'"),
        (lambda: Euclidean().coordinates(object()), "means and standard deviations; object has neither"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(make, message):
    with pytest.raises(kc.errors.InputError, match=message):
        make()


def test_without_the_extra_only_unequal_weights_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    parts = [Normal([0.0, 1.0], 1.0), Normal([1.0, 5.0], 1.0), Normal([2.0, 3.0], 1.0)]
    assert distances(MixtureWasserstein(), Mixture(None, parts))[0, 1] == pytest.approx(np.sqrt((1 + 4 + 9) / 3))
    unlike = Mixture([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], parts)  # two of three components hold equal weights
    assert distances(MixtureWasserstein(), unlike)[0, 1] == pytest.approx(np.sqrt((3**2 + 4**2) / 2))
    with pytest.raises(kc.errors.MissingExtraError, match=r"unequal weights needs the package 'POT'.*\[transport\]"):
        distances(MixtureWasserstein(), Mixture([0.5, 0.3, 0.2], parts))
