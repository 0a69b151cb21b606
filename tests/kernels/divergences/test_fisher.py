"""Distances between scores against the reference, quadrature and double sums over base points."""

import json
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import kernelcal as kc
from kernelcal.kernels import FisherDivergence, KernelFisherDivergence, ground_lengthscale, kernel_between
from kernelcal.kernels.divergences.score_functions import fixed_base, psd_root
from kernelcal.kernels.points import CrossPairs, Points
from kernelcal.pairs.tiles import BlockPoints, Tile
from kernelcal.predictions import (
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    RealPredictions,
    Samples,
    Score,
)
from kernelcal.randomness import generator_of
from kernelcal.residuals import residual_of

REFERENCE = Path(__file__).resolve().parents[2] / "data" / "reference"
ALL = slice(None)


@pytest.fixture
def kccsd():
    """A function that gives numbers and arrays of a case of the reference code."""
    cases = json.loads((REFERENCE / "kccsd_reference.json").read_text())["cases"]
    return lambda name: (cases[name], np.load(REFERENCE / f"kccsd_case_{name[0]}.npz"))


def squared(metric, predictions):
    return CrossPairs(Points(predictions), ALL, ALL).squared_distance(metric)


def covariances(rng, n, d):
    x = rng.standard_normal((n, d, d + 2))
    return x @ np.swapaxes(x, 1, 2)


@dataclass(frozen=True, eq=False)
class ScoreOnly(RealPredictions):
    """Predictions that hide their family: only what any predictions with a score have."""

    inside: Any

    def __len__(self):
        return len(self.inside)

    def __getitem__(self, index):
        return ScoreOnly(self.inside[index])

    def map_arrays(self, function):
        return ScoreOnly(self.inside.map_arrays(function))

    def draw(self, uniforms):
        return self.inside.draw(uniforms)

    def score(self, y):
        return self.inside.score(y)

    event_shape = property(lambda self: self.inside.event_shape)
    mean = property(lambda self: self.inside.mean)
    std = property(lambda self: self.inside.std)


def families(n=6):
    """One batch of every family with scores, with a duplicated row."""
    rng = np.random.default_rng(3)
    m, s = rng.standard_normal(n), rng.uniform(0.5, 2, n)
    v, t = rng.standard_normal((n, 3)), rng.uniform(0.5, 2, (n, 3))
    full = MultivariateNormal(v, covariances(rng, n, 3))
    batches = {
        "normal": Normal(m, s),
        "laplace": Laplace(m, s),
        "diagonal": DiagonalNormal(v, t),
        "isotropic": IsotropicNormal(v, s),
        "full": full,
        "mixture": Mixture(rng.dirichlet([1, 1], n), [Normal(m, s), Normal(m * m, s + 1)]),
        "vector mixture": Mixture(None, [full, DiagonalNormal(v + 1, t)]),
        "score": Score(lambda y, a: -((y - a[:, None]) ** 3), m, event_shape=3),
    }
    rows = np.array([*range(n), 2])
    return {name: batch[rows] for name, batch in batches.items()}


NORMALS = ("normal", "diagonal", "isotropic", "full")
GROUND = [
    kc.Gaussian(1.1),
    kc.Laplacian(0.8),
    kc.kernels.InverseMultiquadric(0.7),
    2 * kc.Gaussian(0.5) + kc.kernels.Matern52(2.0),
]


def values_of(kernel, points):
    """The ground kernels at points, written out."""
    r = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    return [
        np.exp(-(r**2) / (2 * 1.1**2)),
        np.exp(-r / 0.8),
        (1 + r**2 / 0.7**2) ** -0.5,
        2 * np.exp(-2 * r**2) + (1 + np.sqrt(5) * r / 2 + 5 * r**2 / 12) * np.exp(-np.sqrt(5) * r / 2),
    ][GROUND.index(kernel)]


def double_sum(predictions, points, gram):
    """``sum_ab w_ab (s_i - s_j)(z_a).(s_i - s_j)(z_b)``, shape (n, n)."""
    n, m = len(predictions), len(points)
    y = points.reshape(m, *predictions.event_shape)
    scores = np.stack([predictions.score(np.stack([z] * n)).reshape(n, -1) for z in y], axis=1)
    difference = scores[:, None] - scores
    return np.einsum("ijak,ab,ijbk->ij", difference, gram, difference)


def random_points(predictions, m=25):
    return np.random.default_rng(8).standard_normal((m, predictions.dimension)) * 1.5 + 0.3


# the reference


def same_in_other_families(mean, std):
    """An isotropic batch written with every kind of covariance."""
    d = mean.shape[1]
    batches = [
        IsotropicNormal(mean, std),
        DiagonalNormal(mean, np.tile(std[:, None], d)),
        MultivariateNormal(mean, std[:, None, None] ** 2 * np.eye(d)),
    ]
    return batches if d > 1 else [*batches, Normal(mean[:, 0], std)]


@pytest.mark.parametrize("name", ["A", "B"])
def test_published_distances_and_kernels(kccsd, name):
    case, arrays = kccsd(name)
    numbers = case["params"]
    bases = same_in_other_families(arrays["base_mean"][None], arrays["base_scale"][None])
    for batch in same_in_other_families(arrays["mu"], arrays["sigma"]):
        for base in bases:
            for kind, metric in (
                ("exp_gfd", FisherDivergence(base)),
                ("exp_kgfd", KernelFisherDivergence(kc.Gaussian(numbers["ell"]), base)),
            ):
                scale = arrays[f"D2_{kind}"].max()
                np.testing.assert_allclose(squared(metric, batch), arrays[f"D2_{kind}"], atol=1e-14 * scale, rtol=1e-12)
                pairs = CrossPairs(Points(batch), ALL, ALL)
                found = kc.Gaussian(numbers["sigma_p"], metric=metric).evaluate(pairs)
                np.testing.assert_allclose(found, arrays[f"K_{kind}"], atol=1e-10)


def test_published_kernels_of_base_particles(kccsd):
    case, arrays = kccsd("E_sample_based")
    numbers, base = case["params"], arrays["base_particles"]
    metrics = {
        "K_disc_gfd": FisherDivergence(base),
        "K_disc_kgfd": KernelFisherDivergence(kc.Gaussian(numbers["ell"]), base),
    }
    normals = same_in_other_families(arrays["mu"], arrays["sigma"])
    known = Score(lambda y, m, s: (m - y) / s[:, None] ** 2, (arrays["mu"], arrays["sigma"]), event_shape=2)
    for batch in [*normals, ScoreOnly(normals[2]), known]:
        for kind, metric in metrics.items():
            pairs = CrossPairs(Points(batch), ALL, ALL)
            found = kc.Gaussian(numbers["sigma_p"], metric=metric).evaluate(pairs)
            np.testing.assert_allclose(found, arrays[kind], atol=1e-12)


# closed forms


def grid(mean, factor):
    """Gauss-Hermite nodes and weights of a normal distribution in the plane."""
    x, w = np.polynomial.hermite_e.hermegauss(22)
    z = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2) @ factor.T + mean
    return z, np.outer(w, w).ravel() / (2 * np.pi)


@pytest.mark.slow
@pytest.mark.parametrize("correlated", [True, False])
def test_closed_forms_are_integrals_over_the_base_measure(correlated):
    rng = np.random.default_rng(0)
    mean, cov = rng.standard_normal((5, 2)), covariances(rng, 5, 2)
    cov[4] = cov[3]  # scores that differ by a constant
    own = np.diag([0.49, 0.16]) if not correlated else np.array([[0.5, 0.3], [0.3, 0.4]])
    base = MultivariateNormal([[0.4, -0.2]], own[None])
    z, w = grid(base.mean[0], np.linalg.cholesky(own))
    batch = MultivariateNormal(mean, cov)
    bases = [base] if correlated else [base, DiagonalNormal([[0.4, -0.2]], [[0.7, 0.4]])]
    for kind in bases:
        expected = double_sum(batch, z, np.diag(w))
        np.testing.assert_allclose(squared(FisherDivergence(kind), batch), expected, rtol=1e-11, atol=1e-13)
        gram = np.exp(-((z[:, None] - z) ** 2).sum(-1) / (2 * 1.3**2))
        found = squared(KernelFisherDivergence(kc.Gaussian(1.3), kind), batch)
        np.testing.assert_allclose(found, double_sum(batch, z, gram * w * w[:, None]), rtol=1e-9, atol=1e-12)
    uneven = DiagonalNormal(mean, rng.uniform(0.5, 2, (5, 2)))
    for batch in (uneven, IsotropicNormal(mean, uneven.std[:, 0])):
        found = squared(KernelFisherDivergence(kc.Gaussian(1.3), base), batch)
        np.testing.assert_allclose(found, double_sum(batch, z, gram * w * w[:, None]), rtol=1e-9, atol=1e-12)
        found = squared(FisherDivergence(base), batch)
        np.testing.assert_allclose(found, double_sum(batch, z, np.diag(w)), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", NORMALS)
def test_moments_of_base_points_are_all_that_normals_need(name):
    batch = families()[name]
    points = random_points(batch)
    found = FisherDivergence(points).coordinates(batch)
    d = batch.dimension
    assert found.shape[1] == {"normal": 2, "diagonal": 2 * d, "isotropic": d + 1, "full": d * d + d}[name]
    expected = double_sum(batch, points, np.eye(25) / 25)
    np.testing.assert_allclose(squared(FisherDivergence(points), batch), expected, rtol=1e-11, atol=1e-13)
    for kernel in GROUND:
        found = squared(KernelFisherDivergence(kernel, points), batch)
        expected = double_sum(batch, points, values_of(kernel, points) / 25**2)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


def test_few_base_points_see_few_directions():
    batch = families()["full"]
    for m in (1, 2):
        points = random_points(batch, m)
        expected = double_sum(batch, points, np.eye(m) / m)
        np.testing.assert_allclose(squared(FisherDivergence(points), batch), expected, rtol=1e-10, atol=1e-13)


# scores at base points


@pytest.mark.parametrize("name", families())
def test_distances_are_double_sums_over_base_points(name):
    batch = families()[name]
    points = random_points(batch)
    metric = FisherDivergence(points)
    expected = double_sum(batch, points, np.eye(25) / 25)
    scored = batch if name == "score" else ScoreOnly(batch)
    np.testing.assert_allclose(squared(metric, scored), expected, rtol=1e-11, atol=1e-13)
    for kernel in GROUND:
        expected = double_sum(batch, points, values_of(kernel, points) / 25**2)
        found = squared(KernelFisherDivergence(kernel, points), scored)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * expected.max())


@pytest.mark.parametrize("name", NORMALS)
def test_drawn_base_points_converge_to_the_closed_forms(name):
    batch = families()[name]
    for make, size in (
        (FisherDivergence, 2000),
        (lambda **options: KernelFisherDivergence(kc.Gaussian(2.0), **options), 250),
    ):
        exact, error = squared(make(), batch), {}
        for m in (20, size):
            drawn = np.stack([squared(make(size=m, rng=seed), ScoreOnly(batch)) for seed in range(8)])
            error[m] = np.sqrt(((drawn - exact) ** 2).mean()) / exact.max()
        assert error[size] < 0.1
        assert error[size] < error[20] / (np.sqrt(size / 20) / 1.8)


def test_distance_of_mixtures_of_numbers_by_quadrature():
    batch = families()["mixture"]
    z = np.arange(-6, 7, 0.03)
    weights = 0.03 * norm.pdf(z, 0.5, 0.8)
    expected = double_sum(batch, z[:, None], np.diag(weights))
    found = squared(FisherDivergence(Normal([0.5], [0.8]), size=20_000), batch)
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.02 * expected.max())


def test_scores_get_base_points_a_few_at_a_time(monkeypatch):
    batch = families()["vector mixture"]
    expected = FisherDivergence().coordinates(batch)
    for numbers in (1, 100):
        monkeypatch.setattr("kernelcal.kernels.divergences.score_functions._NUMBERS_AT_ONCE", numbers)
        np.testing.assert_array_equal(FisherDivergence().coordinates(batch), expected)


def test_root_of_a_matrix_without_cholesky_factor():
    x = np.linspace(0, 1, 40)
    gram = np.exp(-((x[:, None] - x) ** 2) / 2)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(gram)
    root = psd_root(gram)
    assert root.shape[1] < 20
    np.testing.assert_allclose(root @ root.T, gram, atol=1e-13)


def test_predictions_that_differ_in_the_weights_of_far_modes_look_alike():
    parts = [Normal([0.0, 0.0, 1.0], 1.0), Normal([30.0, 30.0, 31.0], 1.0)]
    d = squared(FisherDivergence(size=10_000), Mixture([[0.1, 0.9], [0.9, 0.1], [0.1, 0.9]], parts))
    assert d[0, 1] < 0.15 * d[0, 2]  # a tenth in the limit; of 100 points few or none lie between the modes


# base measures


def test_the_default_is_normal_with_the_moments_of_an_outcome():
    batch = DiagonalNormal([[0.0, 1.0], [2.0, 5.0]], [[1.0, 1.0], [3.0, 1.0]])
    base = fixed_base("predictions", batch)
    np.testing.assert_allclose(base.mean, [1.0, 3.0])
    np.testing.assert_allclose(base.factor, np.sqrt([1 + 5, 4 + 1]))
    given = DiagonalNormal([[1.0, 3.0]], [[6**0.5, 5**0.5]])
    np.testing.assert_array_equal(squared(FisherDivergence(), batch), squared(FisherDivergence(given), batch))
    drawn = batch.sample(0, 100_000).reshape(-1, 2)
    np.testing.assert_allclose(drawn.mean(axis=0), base.mean, atol=0.03)
    np.testing.assert_allclose(drawn.std(axis=0), base.factor, rtol=0.01)


def test_the_standard_normal_of_the_paper():
    for name in ("normal", "full"):
        batch, d = families()[name], families()[name].dimension
        base = Normal([0.0], 1.0) if name == "normal" else IsotropicNormal(np.zeros((1, d)), 1.0)
        for make in (FisherDivergence, lambda base: KernelFisherDivergence(kc.Gaussian(2.0), base)):
            np.testing.assert_allclose(squared(make("standard"), batch), squared(make(base), batch), rtol=1e-12)


def test_other_priors_are_drawn_from():
    batch, prior = families()["normal"], Laplace([0.5], 2.0)
    points = prior.sample(generator_of(4, "points of a base measure"), 30)[:, 0]
    for make in (FisherDivergence, lambda base, **options: KernelFisherDivergence(kc.Gaussian(2.0), base, **options)):
        assert make(prior, size=30, rng=4) == make(points, size=30, rng=4)
        np.testing.assert_array_equal(
            make(prior, size=30, rng=4).coordinates(batch), make(points[:, None].tolist()).coordinates(batch)
        )


def test_a_correlated_base_is_drawn_with_its_correlation():
    base = MultivariateNormal([[1.0, -1.0]], [[[2.0, 1.2], [1.2, 1.0]]])
    points = FisherDivergence(base).base.points(200_000, 0)
    np.testing.assert_allclose(points.mean(axis=0), base.mean[0], atol=0.02)
    np.testing.assert_allclose(np.cov(points.T), base.cov[0], atol=0.02)


def test_what_a_batch_chooses_can_be_fixed():
    batch = families()["mixture"]
    for metric in (FisherDivergence(), KernelFisherDivergence(kc.Gaussian())):
        fixed = metric.resolved(batch)
        np.testing.assert_array_equal(fixed.coordinates(batch), metric.coordinates(batch))
        np.testing.assert_allclose(fixed.coordinates(batch[2:4]), metric.coordinates(batch)[2:4], rtol=1e-12)
        own, fixed_by_all = (
            np.linalg.norm(np.diff(x, axis=0)) for x in (metric.coordinates(batch[2:4]), metric.coordinates(batch)[2:4])
        )
        assert abs(own - fixed_by_all) > 0.01
        assert fixed.resolved(batch[:2]) == fixed
    assert fixed.kernel == kc.Gaussian(ground_lengthscale(batch))
    for metric in (kc.Euclidean(), FisherDivergence("standard"), FisherDivergence([[0.0]])):
        assert metric.resolved(batch) == metric


def test_kernels_are_resolved_with_their_base_measure():
    batch, some = families()["mixture"], np.array([0, 3])
    metric = KernelFisherDivergence(kc.Gaussian())
    for kernel in (kc.Gaussian(0.3, metric=metric), kc.Laplacian(metric=metric)):
        resolved, _ = kc.kernels.resolve(2 * kernel, batch)
        fixed = metric.resolved(batch)
        assert resolved.kernel.metric == fixed
        assert resolved.kernel.scale == (
            0.3 if kernel.lengthscale == 0.3 else kc.median_lengthscale(batch, metric=metric)
        )
        d = np.sqrt(squared(metric, batch))[:, some]
        expected = np.exp(-(d**2) / 0.18) if kernel.lengthscale == 0.3 else np.exp(-d / resolved.kernel.scale)
        np.testing.assert_allclose(kernel_between(resolved.kernel, batch, batch[some]), expected, rtol=1e-12)
    for statistic in (kc.skce, kc.ucme):
        estimate = statistic(np.zeros(7), batch, prediction_kernel=kernel, target_kernel=kc.Gaussian(1.0))
        assert "base=normal(mean [" in str(estimate)


def test_metrics_are_equal_where_their_numbers_are():
    points = [[0.0, 1.0], [2.0, 3.0]]
    for make in (FisherDivergence, lambda *base, **more: KernelFisherDivergence(kc.Gaussian(1.0), *base, **more)):
        assert make(points) == make(np.array(points))
        assert hash(make(points)) == hash(make(np.array(points)))
        assert make(DiagonalNormal(points[1:], [[3.0, 3.0]])) == make(IsotropicNormal(points[1:], 3.0))
        assert len({make(points), make([[0.0, 1.0]]), make(), make("standard"), make(rng=1), make(size=3)}) == 6
        assert pickle.loads(pickle.dumps(make(points))) == make(points)


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (FisherDivergence(), "FisherDivergence()"),
        (FisherDivergence("standard", size=20), "FisherDivergence(base='standard', size=20)"),
        (FisherDivergence(Normal([0.25], 2.0)), "FisherDivergence(base=normal(mean [0.25], std [2]))"),
        (FisherDivergence(np.zeros((11, 2)), rng=3), "FisherDivergence(base=11 points of 2 numbers, rng=3)"),
        (FisherDivergence([1.0]), "FisherDivergence(base=1 point of 1 number)"),
        (
            KernelFisherDivergence(kc.Gaussian(), MultivariateNormal([[0.0, 1.0]], [[[4.0, 1.0], [1.0, 1.0]]])),
            "KernelFisherDivergence(Gaussian(lengthscale='median', metric=Euclidean()), "
            "base=normal(mean [0, 1], std [2, 1], correlated))",
        ),
        (
            FisherDivergence(IsotropicNormal(np.arange(9.0)[None] / 8, 1 / 3)),
            "FisherDivergence(base=normal(mean [0, 0.125, ..., 0.875, 1], std [0.3333, 0.3333, ..., 0.3333, 0.3333]))",
        ),
    ],
    ids=str,
)
def test_they_print_what_was_chosen(metric, text):
    assert repr(metric) == text
    assert text in repr(kc.Gaussian(1.0, metric=metric))


# as metrics

METRICS = [
    FisherDivergence(),
    FisherDivergence("standard"),
    KernelFisherDivergence(kc.Gaussian(1.0), "standard"),
    KernelFisherDivergence(kc.Laplacian(1.0), "standard", size=30),
]
EVERY = pytest.mark.parametrize("metric", METRICS, ids=repr)
# a score alone has no moments that could choose a base measure
USABLE = [(name, metric) for name in families() for metric in METRICS if name != "score" or metric.base == "standard"]


@pytest.mark.parametrize(("name", "metric"), USABLE, ids=lambda x: x if isinstance(x, str) else repr(x))
def test_they_are_hilbertian_metrics(name, metric):
    batch = families()[name]
    d2 = squared(metric, batch)
    np.testing.assert_array_equal(np.diag(d2), 0)
    assert d2[2, 6] == d2[6, 2] == 0  # the same prediction twice
    assert metric.hilbertian(batch)
    assert metric.why_not(batch) == ""
    for scale in (0.1, 10.0):
        assert np.linalg.eigvalsh(np.exp(-scale * d2 / d2.max()))[0] > -1e-12
    block = Tile(BlockPoints(batch), slice(1, 5), np.array([0, 3, 6, 2]), shared=True)
    np.testing.assert_allclose(block.squared_distance(metric), d2[1:5][:, [0, 3, 6, 2]], rtol=1e-9, atol=1e-12)
    upper = np.sqrt(d2[np.triu_indices(7, 1)])
    assert kc.median_lengthscale(batch, metric=metric) == pytest.approx(np.median(upper[upper > 0]), rel=1e-10)


@pytest.mark.parametrize("name", ["full", "vector mixture", "mixture"])
def test_the_engines_sum_the_same_kernel(name):
    batch = families()[name]
    y = np.zeros((7, *batch.event_shape)) + np.arange(7).reshape(7, *(1,) * len(batch.event_shape))
    metric, target = KernelFisherDivergence(kc.Gaussian(1.5), "standard"), kc.kernels.Spectral(kc.Gaussian(1.0))
    options = {"prediction_kernel": kc.Gaussian(0.4, metric=metric), "target_kernel": target}
    h = np.exp(-squared(metric, batch) / 0.32) * residual_of(batch, target, None).inner(y).block(ALL, ALL)
    expected = (h.sum() - np.trace(h)) / 42
    for engine in (kc.ExactPairs(rows=2, columns=3, threads=2), kc.Nystrom(landmarks=7)):
        assert float(kc.skce(y, batch, engine=engine, **options)) == pytest.approx(expected, rel=1e-7)
    features, _ = kc.RandomFourier(20_000).maps([options["prediction_kernel"]], batch)
    phi = features(ALL)
    np.testing.assert_allclose(phi @ phi.T, np.exp(-squared(metric, batch) / 0.32), atol=0.03)


@EVERY
def test_coordinates_of_other_libraries_are_those_of_numpy(backend, metric):
    for name in (*NORMALS, "vector mixture"):
        batch = families()[name]
        found = metric.coordinates(batch.map_arrays(backend))
        np.testing.assert_allclose(np.asarray(found), metric.coordinates(batch), rtol=1e-9, atol=1e-12)
        assert type(found) is type(backend(batch.mean))


def test_single_precision_stays(backend):
    for name in ("full", "vector mixture"):
        batch = families()[name]
        metric, single = FisherDivergence("standard"), batch.map_arrays(lambda x: backend(x.astype(np.float32)))
        found = np.asarray(metric.coordinates(single))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, metric.coordinates(batch), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["normal", "isotropic", "full", "laplace", "vector mixture"])
@pytest.mark.parametrize("metric", METRICS[1:], ids=repr)
def test_gradients_are_those_of_finite_differences(name, metric):
    torch = pytest.importorskip("torch")
    batch = families()[name][:3]
    first = batch.components[0] if name == "vector mixture" else batch
    field = "loc" if name == "laplace" else "mean"

    def total(value, origin):
        if name == "vector mixture":
            inside = replace(origin.components[0]) if origin is batch else origin.components[0]
            object.__setattr__(inside, "mean", value)
            new = origin.map_arrays(lambda x: x)
            object.__setattr__(new, "components", (inside, *origin.components[1:]))
        else:
            new = origin.map_arrays(lambda x: x)
            object.__setattr__(new, field, value)
        return squared(metric, new)[0, 1:].sum()

    value = getattr(first, field)
    moving = torch.tensor(value, requires_grad=True)
    total(moving, batch.map_arrays(torch.tensor)).backward()
    expected = np.zeros_like(value)
    for place in np.ndindex(*value.shape):
        step = np.zeros_like(value)
        step[place] = 1e-5
        expected[place] = (total(value + step, batch) - total(value - step, batch)) / 2e-5
    np.testing.assert_allclose(moving.grad.numpy(), expected, rtol=1e-5, atol=1e-6 * (1 + np.abs(expected).max()))


# refusals

LONG = IsotropicNormal(np.zeros((4, 30)), 1.0)
TWO = IsotropicNormal(np.zeros((4, 2)), 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: FisherDivergence([[0.0, 1.0, 2.0]]).coordinates(TWO),
            r"the base measure has d = 3 \(1 point of 3 numbers\), the predictions d = 2: base must be .* vectors of 2",
        ),
        (lambda: FisherDivergence(Normal([0.0], 1.0)).coordinates(TWO), "has d = 1 .*, the predictions d = 2"),
        (
            lambda: KernelFisherDivergence(kc.Gaussian(1.0), TWO[:1]).coordinates(Normal([0.0], 1.0)),
            "has d = 2 .*, the predictions d = 1",
        ),
        (lambda: FisherDivergence(TWO), r"a batch of one row, got 4 rows: pass batch\[:1\], or an array"),
        (lambda: FisherDivergence("normal"), "base must be 'predictions' .*, got 'normal'"),
        (lambda: FisherDivergence(None), "base must be 'predictions' .*, got None"),
        (lambda: FisherDivergence(object()), "base must be 'predictions' .*, got object"),
        (lambda: FisherDivergence(kc.Categorical(np.eye(3)[:1])), "base must be .*; Categorical predicts classes"),
        (lambda: FisherDivergence(np.zeros((2, 2, 2))), r"must have shape \(m, d\), .* got shape \(2, 2, 2\)"),
        (lambda: FisherDivergence(np.zeros((0, 2))), r"must have shape \(m, d\), .* got shape \(0, 2\)"),
        (lambda: FisherDivergence([[0.0, 1.0], [np.nan, 1.0]]), r"base point 1 is \[nan  1.\], expected finite"),
        (lambda: FisherDivergence(size=0), "size must be a positive whole number, got 0"),
        (lambda: FisherDivergence(rng=None), "rng must be a whole number, so that every pair sees .*, got None"),
        (lambda: KernelFisherDivergence(1.0), r"kernel must be a target kernel .*, got 1.0"),
        (lambda: KernelFisherDivergence(kc.Linear()), r"use a profile such as kernelcal.Gaussian\(1.0\), not Linear"),
        (
            lambda: KernelFisherDivergence(kc.Gaussian(1.0, metric=kc.TotalVariation())),
            r"compares outcomes by their Euclidean distance: use a profile .*, not Gaussian\(.*TotalVariation",
        ),
        (
            lambda: FisherDivergence().coordinates(kc.Categorical(np.eye(3))),
            r"Categorical predicts none: use the metric Euclidean\(\)",
        ),
        (lambda: FisherDivergence().coordinates(Poisson([1.0])), "Poisson has no smooth density"),
        (lambda: FisherDivergence().coordinates(Samples([[0.0, 1.0]])), "Samples has no smooth density"),
        (
            lambda: FisherDivergence().coordinates(Score(lambda y: -y, n=3)),
            "Score has no means and standard deviations .*: pass base='standard', a batch of one row such as the prior",
        ),
        (
            lambda: KernelFisherDivergence(kc.Gaussian(1e-12), "standard").coordinates(LONG),
            r"the ground kernel is 0 on average .*: use a larger lengthscale, such as .*ground_lengthscale",
        ),
        (
            lambda: KernelFisherDivergence(kc.Gaussian(), "standard").coordinates(Score(lambda y: -y, n=3)),
            "Score has neither a sampler nor draws",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(make, message):
    with pytest.raises(kc.errors.InputError, match=message):
        make()


@dataclass(frozen=True, eq=False)
class Strange(ScoreOnly):
    """Scores that are not what they should be."""

    change: Any = None

    def score(self, y):
        return self.change(self.inside.score(y))


def test_scores_that_are_not_finite_name_the_row():
    def missing(scores):
        scores[3, 2:] = np.nan
        scores[5, 1, 1] = np.inf
        return scores

    points = np.arange(16.0).reshape(8, 2)
    for metric in (FisherDivergence(points), KernelFisherDivergence(kc.Gaussian(1.0), points)):
        with pytest.raises(
            kc.errors.InputError,
            match=r"the score of row 1 at the base point \[10. 11.\] is \[-?\d+\.\s+inf\], .* \(3 such rows\): base "
            r"points must lie where every prediction has a density; pass base=",
        ):
            metric.coordinates(Strange(TWO, change=missing))
    with pytest.raises(kc.errors.InputError, match=r"must have the shape of the targets, \(8, 4, 2\), got \(8, 4\)"):
        FisherDivergence(points).coordinates(Strange(TWO, change=lambda scores: scores[..., 0]))


def test_predictions_from_elsewhere_without_score_are_refused():
    class Own(ScoreOnly):
        score = property(lambda self: getattr(self, "missing"))  # noqa: B009

    with pytest.raises(kc.errors.InputError, match=r"Own has no score, .*: use the metric Euclidean\(\), or MMD"):
        FisherDivergence().coordinates(Own(TWO))


def test_inside_jit_the_base_must_not_depend_on_values():
    jax = pytest.importorskip("jax")
    std = np.ones((2, 2))
    with pytest.raises(kc.errors.InputError, match=r"jax.jit does not have: pass base='standard'"):
        jax.jit(lambda mean: FisherDivergence().coordinates(DiagonalNormal(mean, std)))(np.zeros((2, 2)))
    inside = jax.jit(lambda mean: FisherDivergence("standard").coordinates(DiagonalNormal(mean, std)))(np.ones((2, 2)))
    np.testing.assert_allclose(inside, [[1, 1, -1, -1]] * 2)
