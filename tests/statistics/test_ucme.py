"""UCME: published and hand-worked values, a naive second implementation, test locations, gradients, messages."""

import math

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.kernels import Coordinatewise, Spectral, kernel_between
from kernelcal.kernels.divergences.mmd import MMD
from kernelcal.kernels.metrics import MixtureWasserstein, Wasserstein
from kernelcal.kernels.points import CrossPairs, Points
from kernelcal.predictions import (
    Categorical,
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    Quantiles,
    Samples,
)
from kernelcal.residuals import residual_of
from kernelcal.statistics import UCME, Locations, draw_locations, normal_locations, ucme

RNG = np.random.default_rng(7)
N, D = 9, 3
MEAN, STD = RNG.normal(size=(N, D)), RNG.uniform(0.3, 1.5, (N, D))
LEVELS = np.linspace(0.05, 0.95, 7)


def covariances():
    a = np.random.default_rng(8).normal(size=(N, D, D))
    return a @ np.swapaxes(a, 1, 2) + 0.2 * np.eye(D)


FAMILIES = {
    "bernoulli": (kc.Bernoulli(RNG.random(N)), None),
    "categorical": (kc.Categorical(RNG.dirichlet(np.ones(4), N)), None),
    "categorical, matrix": (kc.Categorical(RNG.dirichlet(np.ones(3), N)), kc.FiniteKernel(np.eye(3) + 0.3)),
    "ordered": (kc.Categorical(RNG.dirichlet(np.ones(4), N)), kc.Gaussian(1.5)),
    "normal": (Normal(MEAN[:, 0], STD[:, 0]), None),
    "normal, laplacian": (Normal(MEAN[:, 0], STD[:, 0]), kc.Laplacian()),
    "normal, sum": (Normal(MEAN[:, 0], STD[:, 0]), kc.Gaussian(0.4) + 2 * kc.Gaussian(3.0)),
    "isotropic": (IsotropicNormal(MEAN, STD[:, 0]), None),
    "diagonal": (DiagonalNormal(MEAN, STD), kc.Gaussian(1.2)),
    "diagonal, coordinates": (DiagonalNormal(MEAN, STD), Coordinatewise(kc.Laplacian(1.2))),
    "full": (MultivariateNormal(MEAN, covariances()), kc.Gaussian(2.0)),
    "laplace": (Laplace(MEAN[:, 0], STD[:, 0]), kc.Laplacian(0.7)),
    "laplace, default": (Laplace(MEAN[:, 0], STD[:, 0]), None),
    "mixture": (Mixture(None, [Normal(MEAN[:, 0], 0.5), Normal(MEAN[:, 1], STD[:, 1])]), kc.Gaussian(0.8)),
    "poisson": (Poisson(3 * STD[:, 0]), None),
    "poisson, equality": (Poisson(3 * STD[:, 0]), kc.Dirac()),
    "samples": (Samples(RNG.normal(size=(N, 5))), kc.Laplacian(1.0)),
    "weighted": (Samples(RNG.normal(size=(N, 5)), RNG.random((N, 5))), None),
    "vectors": (Samples(RNG.normal(size=(N, 5, D))), kc.Gaussian(1.0)),
    "quantiles": (Quantiles(np.sort(RNG.normal(size=(N, 7)), axis=1), LEVELS), Spectral(kc.Gaussian(1.0))),
    "spectral vectors": (DiagonalNormal(MEAN, STD), Spectral(kc.Gaussian(1.0), frequencies=5)),
}
CASES = pytest.mark.parametrize("name", FAMILIES)


def targets_of(batch, seed=0):
    return batch.sample(np.random.default_rng(seed))[0]


def expected_by_draws(batch, f, size=20_000):
    """E f(Z) for every row: over labels, over draws of an ensemble, else over many seeded draws."""
    if hasattr(batch, "n_classes"):
        p = np.asarray(batch.probabilities)
        return sum(p[:, k] * f(np.full(len(p), k)) for k in range(batch.n_classes))
    if isinstance(batch, Samples):
        w = np.full(batch.draws.shape[:2], 1 / batch.size) if batch.weights is None else batch.weights
        return sum(w[:, s] * f(batch.draws[:, s]) for s in range(batch.size))
    return f(batch.sample(np.random.default_rng(5), size)).mean(axis=0)


def target_value(kernel, z, y):
    """Target kernel at one test target and the targets of all rows, by its definition."""
    distance = np.abs(y - z) if np.ndim(z) == 0 else np.sqrt(((y - z) ** 2).sum(-1))
    if isinstance(kernel, kc.Dirac):
        return 1.0 * (distance == 0)
    if isinstance(kernel, kc.FiniteKernel):
        return kernel.matrix[z, y]
    if isinstance(kernel, kc.kernels.Sum):
        return target_value(kernel.left, z, y) + target_value(kernel.right, z, y)
    if isinstance(kernel, kc.kernels.Scaled):
        return kernel.factor * target_value(kernel.kernel, z, y)
    if isinstance(kernel, Coordinatewise):
        return np.exp(-np.abs(y - z).sum(-1) / kernel.kernel.scale)
    if isinstance(kernel, kc.Gaussian):
        return np.exp(-(distance**2) / (2 * kernel.scale**2))
    if isinstance(kernel, kc.Laplacian):
        return np.exp(-distance / kernel.scale)
    assert isinstance(kernel, kc.kernels.Spectral)
    w, a = kernel.nodes(None if np.ndim(z) == 0 else len(z))
    phases = np.multiply.outer(y - z, w) if np.ndim(z) == 0 else (y - z) @ w.T
    return np.cos(phases) @ a**2


def coordinates(batch):
    if isinstance(batch, kc.Bernoulli):
        return batch.p[:, None]
    if hasattr(batch, "n_classes"):
        return batch.probabilities
    if isinstance(batch, Quantiles):
        return batch.values / np.sqrt(batch.values.shape[1])
    return np.hstack([batch.mean.reshape(len(batch), -1), batch.std.reshape(len(batch), -1)])


def naive(y, batch, prepared):
    """The definition, a location after the other; also the size of the Monte-Carlo error of the expectations."""
    scale, target = prepared.prediction_kernel.scale, prepared.target_kernel
    locations, total = prepared.locations, 0.0
    p, q = coordinates(batch), coordinates(locations.predictions)
    for j in range(len(locations)):
        k = np.exp(-np.sqrt(((p - q[j]) ** 2).sum(1)) / scale)
        z = locations.targets[j]
        if isinstance(target, kc.kernels.PIT):
            own = residual_of(locations.predictions[j : j + 1], target).features(z[None])[0]
            r = residual_of(batch, target).features(y) @ own
        else:
            r = target_value(target, z, y) - expected_by_draws(batch, lambda x, z=z: target_value(target, z, x))
        total += np.mean(k * r) ** 2 / len(locations)
    return total


@CASES
def test_it_is_the_definition(name):
    batch, target = FAMILIES[name]
    y = targets_of(batch)
    prepared = UCME(target_kernel=target, locations=3).prepare(batch)
    value, expected = float(prepared.estimate(y)), naive(y, batch, prepared)
    exact = hasattr(batch, "n_classes") or isinstance(batch, Samples)
    assert value > 1e-5
    assert value == pytest.approx(expected, rel=1e-11 if exact else 0.05, abs=0 if exact else 2e-4)


@CASES
def test_many_sets_of_targets_give_what_each_gives(name):
    batch, target = FAMILIES[name]
    prepared = UCME(target_kernel=target, locations=4).prepare(batch)
    sets = np.stack([targets_of(batch, seed) for seed in range(6)])
    values = prepared.values(sets)
    assert values.shape == (6, 1)
    np.testing.assert_allclose(values[:, 0], [float(prepared.estimate(y)) for y in sets], rtol=1e-10, atol=1e-16)
    np.testing.assert_allclose(prepared.sums(sets), [prepared.rows(y).sum(0) for y in sets], rtol=1e-9, atol=1e-13)


def test_published_values_of_normal_predictions(julia):
    facts = julia["ucme_normal"]
    mean, std = np.array(facts["predictions"], dtype=float).T
    for case in facts["cases"]:
        q_mean, q_std = np.array(case["test_predictions"], dtype=float).T
        locations = Locations(Normal(q_mean, q_std), case["test_targets"])
        kernel = kc.Laplacian(1.0, metric=Wasserstein())
        estimate = ucme(
            facts["targets"],
            Normal(mean, std),
            prediction_kernel=kernel,
            target_kernel=kc.Gaussian(1.0),
            locations=locations,
        )
        assert float(estimate) == pytest.approx(case["expected"], rel=1e-12)


def test_published_values_of_classes(julia):
    facts = julia["ucme_binary"]["categorical"]
    locations = Locations(np.array(facts["test_predictions"]), np.array(facts["test_labels_1based"]) - 1)
    for case in facts["cases"]:
        y, p = np.array(case["labels_1based"]) - 1, np.array(facts["predictions"], dtype=float)
        estimate = ucme(y, p, prediction_kernel=kc.Gaussian(1.0), locations=locations)
        assert float(estimate) == pytest.approx(case["expected"], rel=1e-12, abs=1e-16)


def test_published_values_of_one_probability(julia):
    facts = julia["ucme_binary"]["binary"]
    locations = Locations(np.array(facts["test_predictions"]), facts["test_targets"])
    for case in facts["cases"]:
        p = np.array(facts["predictions"], dtype=float)
        estimate = ucme(case["targets"], p, prediction_kernel=kc.Gaussian(1 / math.sqrt(2)), locations=locations)
        assert float(estimate) == pytest.approx(case["expected"], rel=1e-12, abs=1e-16)


def test_two_rows_by_hand():
    """p = 0.2, 0.7 with outcomes 1, 0; location (0.5, 1): exp(-0.3^2/2) 0.8 and exp(-0.2^2/2) (-0.7)."""
    at = Locations([0.5], [1])
    estimate = ucme([1, 0], [0.2, 0.7], prediction_kernel=kc.Gaussian(1.0), locations=at)
    expected = ((math.exp(-0.045) * 0.8 - math.exp(-0.02) * 0.7) / 2) ** 2
    assert float(estimate) == pytest.approx(expected, rel=1e-13)
    other = ucme([1, 0], [0.2, 0.7], prediction_kernel=kc.Gaussian(1.0), locations=Locations([0.5], [0]))
    assert float(other) == pytest.approx(expected, rel=1e-13)  # the residual of label 0 is minus that of label 1


def test_spectral_target_kernels_agree_with_the_kernel():
    batch, _ = FAMILIES["normal"]
    y = targets_of(batch)
    options = {"prediction_kernel": kc.Laplacian(1.0), "locations": 5}
    near = ucme(y, batch, target_kernel=Spectral(kc.Gaussian(1.0)), **options)
    assert float(near) == pytest.approx(float(ucme(y, batch, target_kernel=kc.Gaussian(1.0), **options)), rel=1e-3)


def test_weights_are_repetitions_of_a_mean():
    p, y = RNG.dirichlet(np.ones(3), 5), np.array([0, 2, 1, 1, 0])
    at, kernel = draw_locations(kc.Categorical(p)), kc.Laplacian(0.5)
    weighted = ucme(y, p, weights=[1, 2, 0, 1, 3], prediction_kernel=kernel, locations=at)
    rows = [0, 1, 1, 3, 4, 4, 4]
    assert float(weighted) == pytest.approx(
        float(ucme(y[rows], p[rows], prediction_kernel=kernel, locations=at)), 1e-12
    )
    sets = np.stack([y, y[::-1]])
    prepared = UCME(prediction_kernel=kernel, locations=at).prepare(kc.Categorical(p), np.array([1, 2, 0, 1, 3]) / 1.4)
    assert prepared.values(sets)[0, 0] == pytest.approx(float(weighted), rel=1e-12)


# --- kernels between batches ---------------------------------------------------------------------------------------

LEFT, RIGHT = slice(0, 3), slice(3, N)
BETWEEN = {
    "euclidean": ("categorical", kc.Laplacian(0.5)),
    "order 1": ("categorical", kc.Laplacian(0.5, metric=kc.TotalVariation())),
    "order 1 squared": ("categorical", kc.Gaussian(0.5, metric=kc.TotalVariation())),
    "hellinger": ("categorical", kc.Gaussian(0.5, metric=kc.Hellinger())),
    "inner": ("categorical", kc.Linear() + kc.Dirac()),
    "wasserstein": ("isotropic", kc.Laplacian(1.0, metric=Wasserstein())),
    "bures": ("full", kc.Laplacian(1.0, metric=Wasserstein())),
    "mmd": ("normal", kc.Gaussian(1.0, metric=MMD(kc.Gaussian(1.0)))),
    "mixtures": ("mixture", kc.Laplacian(1.0, metric=MixtureWasserstein())),
    "sorted draws": ("samples", kc.Laplacian(1.0, metric=Wasserstein())),
    "mixed": ("normal", kc.Laplacian(0.5, metric=MMD(kc.Gaussian(1.0))) * kc.Matern32(1.0)),
}


@pytest.mark.parametrize("at_once", [1, 2**20])
@pytest.mark.parametrize("name", BETWEEN)
def test_kernels_between_two_batches_are_those_of_one(name, at_once, monkeypatch):
    monkeypatch.setattr("kernelcal.kernels.points._NUMBERS_AT_ONCE", at_once)
    family, kernel = BETWEEN[name]
    batch = FAMILIES[family][0]
    found = kernel_between(kernel, batch[LEFT], batch[RIGHT])
    expected = kernel.evaluate(CrossPairs(Points(batch), LEFT, RIGHT))
    assert found.shape == (3, N - 3)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_what_kernels_between_batches_refuse():
    batch = FAMILIES["categorical"][0]
    with pytest.raises(InputError, match="FiniteKernel is a kernel between class labels"):
        kernel_between(kc.FiniteKernel(np.eye(4)), batch, batch)
    few, many = Samples(np.zeros((2, 3))), Samples(np.zeros((2, 4)))
    with pytest.raises(InputError, match="sees 3 numbers in each test prediction and 4 in each prediction, both Sam"):
        kernel_between(kc.Laplacian(1.0, metric=Wasserstein()), few, many)


# --- locations -----------------------------------------------------------------------------------------------------


@CASES
def test_locations_are_rows_and_draws_from_them(name):
    batch = FAMILIES[name][0]
    locations = draw_locations(batch, 5, rng=3)
    assert len(locations) == 5
    rows = [int(np.flatnonzero((coordinates(batch) == q).all(axis=1))[0]) for q in coordinates(locations.predictions)]
    assert len(set(rows)) == 5
    assert not batch[rows].impossible(locations.targets).any()
    again, other = draw_locations(batch, 5, rng=3), draw_locations(batch, 5, rng=4)
    np.testing.assert_array_equal(again.targets, locations.targets)
    assert not np.array_equal(coordinates(other.predictions), coordinates(locations.predictions))


def test_locations_follow_their_prediction():
    """z_j is distributed as its q_j says, not as another row."""
    batch = Normal(np.arange(2000.0), 0.5)
    locations = draw_locations(batch, 2000)
    z = (locations.targets - locations.predictions.mean) / 0.5
    assert abs(z.mean()) < 0.1
    assert abs(z.std() - 1) < 0.06


def test_more_locations_than_rows_repeat_rows():
    batch = Normal([0.0, 1.0], 1.0)
    locations = draw_locations(batch, 7)
    assert set(locations.predictions.mean) == {0.0, 1.0}
    assert len(set(locations.targets)) == 7


def test_the_observed_targets_choose_no_location():
    batch = FAMILIES["samples"][0]
    prepared = UCME().prepare(batch)
    before = prepared.locations.targets.copy()
    prepared.values(np.stack([targets_of(batch, 1), targets_of(batch, 2)]))
    assert np.array_equal(prepared.locations.targets, before)


@pytest.mark.parametrize(("shape", "metric"), [((N, 6), Wasserstein()), ((N, 6), kc.Euclidean()), ((N, 6, 2), None)])
def test_the_player_of_a_swap_test_changes_no_location(shape, metric):
    """Pooled draws in any order give the same locations and values: nothing tells which one is the outcome."""
    pool, rng = np.random.default_rng(4).normal(size=shape), np.random.default_rng(5)
    statistic = UCME(prediction_kernel=kc.Laplacian(metric=metric or kc.Euclidean()), locations=4)
    first = statistic.prepare(Samples(pool[:, 1:]).pooled(pool[:, 0]))
    y = pool[:, 2]
    for _ in range(3):
        order = rng.permuted(np.tile(np.arange(6), (N, 1)), axis=1)
        moved = pool[np.arange(N)[:, None], order]
        other = statistic.prepare(Samples(moved[:, 1:]).pooled(moved[:, 0]))
        assert np.array_equal(other.locations.targets, first.locations.targets)
        assert other.values(y[None])[0, 0] == pytest.approx(first.values(y[None])[0, 0], rel=1e-9)


def test_normal_locations_are_those_of_the_paper():
    for like in (Normal([0.0], 1.0), *(FAMILIES[name][0] for name in ("isotropic", "diagonal", "full"))):
        locations = normal_locations(like, 4000, rng=1)
        q, z = locations.predictions, locations.targets
        assert type(q) is type(like)
        assert q.event_shape == like.event_shape == z.shape[1:]
        assert 0 < q.mean.min() < 0.001 < 0.999 < q.mean.max() < 1
        np.testing.assert_allclose(q.std, 0.1, rtol=1e-12)
        np.testing.assert_allclose(z.std(axis=0), 0.1, rtol=0.05)
        np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.007)
    full = normal_locations(FAMILIES["full"][0], 2, std=0.5).predictions
    np.testing.assert_allclose(full.cov[0], 0.25 * np.eye(D))


def test_a_resolved_statistic_keeps_lengthscales_and_locations():
    batch = FAMILIES["normal"][0]
    fixed = UCME(locations=4).resolved(batch)
    y = targets_of(batch)
    assert float(fixed(y, batch)) == pytest.approx(float(UCME(locations=4)(y, batch)), rel=1e-13)
    half = fixed.prepare(batch[:4])
    assert np.array_equal(half.locations.targets, fixed.locations.targets)
    assert half.prediction_kernel.scale == kc.median_lengthscale(batch)


# --- results, options, messages ------------------------------------------------------------------------------------


def test_the_estimate_says_how_it_came_about():
    p, y = RNG.dirichlet(np.ones(3), 20), RNG.integers(0, 3, 20)
    estimate = ucme(y, p, prediction_kernel=kc.Laplacian(0.5), locations=4, location_rng=2)
    assert estimate.name == "UCME"
    assert estimate.n == 20
    assert estimate.options["locations"] == "4 drawn from the predictions, seed 2"
    assert estimate.engine == "4 test locations"
    assert float(estimate) > 0
    given = ucme(y, p, prediction_kernel=kc.Laplacian(0.5), locations=draw_locations(kc.Categorical(p), 4, rng=2))
    assert given.options["locations"] == "4 given"
    assert float(given) == float(estimate)
    asked = kc.TopLabel()(y, kc.Categorical(p))
    assert ucme(*asked).options["question"] == "top label"
    equal = ucme([0, 1], [0.5, 0.5])
    assert equal.notes == ("all predictions are equal: the lengthscale was set to 1, which changes nothing",)


def test_names_of_classes_serve_as_targets():
    p = np.array([[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]])
    named = Categorical(p, classes=["no", "yes"])
    at = Locations(named[:2], ["yes", "no"])
    found = ucme(["yes", "no", "yes"], named, locations=at)
    assert float(found) == float(ucme([1, 0, 1], p, locations=Locations(p[:2], [1, 0])))
    with pytest.raises(InputError, match=r"classes of the test locations are \('no', 'yes'\), those of the pre"):
        ucme(["yes", "no", "yes"], Categorical(p, classes=["yes", "no"]), locations=at)


MESSAGES = [
    ({"locations": 0}, "locations must be a positive whole number, or Locations.*, got 0"),
    ({"locations": 2.5}, "locations must be a positive whole number, or Locations.*, got 2.5"),
    ({"locations": True}, "locations must be a positive whole number"),
    ({"location_rng": -1}, "location_rng must be a seed, a whole number from 0, got -1"),
    ({"location_rng": np.random.default_rng(0)}, "location_rng must be a seed"),
    ({"prediction_kernel": "gaussian"}, "prediction_kernel must be a kernel such as kernelcal.Laplacian.*'gaussian'"),
    ({"target_kernel": 1.0}, "target_kernel must be a kernel such as .* got 1.0"),
    ({"location": 3}, "ucme has no option 'location'; its options are prediction_kernel, target_kernel, locations"),
]


@pytest.mark.parametrize(("options", "message"), MESSAGES, ids=lambda x: str(x)[:30])
def test_options_that_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ucme([0, 1], [0.2, 0.7], **options)


def test_locations_that_do_not_fit():
    y, batch = [0.0, 1.0], Normal([0.0, 1.0], 1.0)
    with pytest.raises(
        InputError, match=r"are Laplace with targets of shape \(\), the predictions Normal with targets of"
    ):
        ucme(y, batch, locations=Locations(Laplace([0.0], 1.0), [0.0]))
    with pytest.raises(InputError, match="are Categorical with 3 classes, the predictions Categorical with 2 classes"):
        ucme([0, 1], np.eye(2), locations=Locations(np.eye(3), [0, 1, 2]))
    quantiles, other = (Quantiles([[0.0, 1.0, 2.0]] * 2, levels) for levels in ([0.1, 0.5, 0.9], [0.2, 0.5, 0.8]))
    with pytest.raises(InputError, match="the predictions too, but their components or levels differ: give"):
        ucme(y, quantiles, target_kernel=kc.Gaussian(1.0), locations=Locations(other, [0.0, 1.0]))
    with pytest.raises(InputError, match="quantile forecasts claim levels, not values between them"):
        ucme(y, quantiles)
    mixed = Mixture(None, [Normal([0.0, 1.0], 1.0), Laplace([0.0, 1.0], 1.0)])
    with pytest.raises(InputError, match="their components or levels differ"):
        ucme(y, Mixture(None, [batch, batch]), target_kernel=Spectral(), locations=Locations(mixed, y))
    with pytest.raises(InputError, match="there are 1 targets but 2 rows"):
        Locations(batch, [0.0])
    with pytest.raises(
        InputError, match=r"normal test locations serve Normal, IsotropicNormal.*, not Laplace: use draw_"
    ):
        normal_locations(Laplace([0.0], 1.0))
    assert repr(Locations(batch, y)) == "Locations(2 of Normal)"


# --- other array libraries -----------------------------------------------------------------------------------------


def test_every_library_gives_the_same_number(backend):
    p, y = RNG.dirichlet(np.ones(3), 12), RNG.integers(0, 3, 12)
    for kernel in (kc.Laplacian(0.4), kc.Gaussian(0.4, metric=kc.TotalVariation())):
        expected = float(ucme(y, p, prediction_kernel=kernel, locations=4))
        assert float(ucme(y, kc.Categorical(backend(p)), prediction_kernel=kernel, locations=4)) == pytest.approx(
            expected, rel=1e-12
        )
    batch = FAMILIES["normal"][0]
    y, kernel = targets_of(batch), kc.Laplacian(0.5)
    moved = batch.map_arrays(backend)
    expected = float(ucme(y, batch, prediction_kernel=kernel, locations=4))
    assert float(ucme(y, moved, prediction_kernel=kernel, locations=4)) == pytest.approx(expected, rel=1e-12)
    there = Locations(moved[:3], np.array([0.0, 1.0, 2.0]))  # locations of the library beside NumPy predictions
    here = Locations(batch[:3], np.array([0.0, 1.0, 2.0]))
    assert float(ucme(y, batch, locations=there)) == float(ucme(y, batch, locations=here))


def test_single_precision_is_summed_in_double():
    batch = FAMILIES["normal"][0]
    y = targets_of(batch)
    single = batch.map_arrays(lambda x: x.astype(np.float32))
    at = draw_locations(batch, 4)
    assert float(ucme(y, single, locations=at)) == pytest.approx(float(ucme(y, batch, locations=at)), rel=1e-5)


def finite_differences(f, x, step=1e-6):
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (f(up) - f(down)) / (2 * step)
    return gradient


def torch_gradient(f, x):
    torch = pytest.importorskip("torch")
    leaf = torch.tensor(x, requires_grad=True)
    f(leaf).backward()
    return leaf.grad.numpy()


def jax_gradient(f, x):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return np.asarray(jax.grad(f)(jax.numpy.asarray(x)))


@pytest.mark.parametrize("gradient", [torch_gradient, jax_gradient], ids=["torch", "jax"])
def test_gradients_of_class_predictions(gradient):
    x, y = RNG.normal(size=(8, 3)), RNG.integers(0, 3, 8)
    at = Locations(RNG.dirichlet(np.ones(3), 4), [0, 1, 2, 0])
    target = kc.FiniteKernel(np.eye(3) + 0.2)

    def value(x):
        return ucme(y, kc.Logits(x), prediction_kernel=kc.Laplacian(0.4), target_kernel=target, locations=at).value

    expected = finite_differences(lambda x: float(value(x)), x)
    np.testing.assert_allclose(gradient(value, x), expected, rtol=1e-5, atol=1e-10)


@pytest.mark.parametrize("gradient", [torch_gradient, jax_gradient], ids=["torch", "jax"])
@pytest.mark.parametrize("d", [None, 2])
def test_gradients_of_normal_predictions(gradient, d):
    shape = (8, 2) if d is None else (8, 2 * d)
    x, rng = RNG.normal(size=shape), np.random.default_rng(2)
    y = rng.normal(size=8 if d is None else (8, d))

    def batch(x):
        if d is None:
            return Normal(x[:, 0], x[:, 1] ** 2 + 0.3)
        return DiagonalNormal(x[:, :d], x[:, d:] ** 2 + 0.3)

    at = normal_locations(batch(x), 4)

    def value(x):
        kernels = {"prediction_kernel": kc.Laplacian(0.9), "target_kernel": kc.Gaussian(0.8)}
        return ucme(y, batch(x), locations=at, **kernels).value

    expected = finite_differences(lambda x: float(value(x)), x)
    np.testing.assert_allclose(gradient(value, x), expected, rtol=1e-5, atol=1e-10)


def test_drawn_locations_are_constants_for_the_gradient():
    torch = pytest.importorskip("torch")
    x, y = RNG.normal(size=8), RNG.normal(size=8)
    at = draw_locations(Normal(x, 1.0), 3)
    kernels = {"prediction_kernel": kc.Laplacian(0.9), "target_kernel": kc.Gaussian(0.8)}
    gradients = []
    for locations in (3, at):
        leaf = torch.tensor(x, requires_grad=True)
        ucme(y, Normal(leaf, torch.ones(8, dtype=torch.float64)), locations=locations, **kernels).value.backward()
        gradients.append(leaf.grad.numpy())
    assert np.isfinite(gradients[0]).all()  # a location is one of the rows: the distance there is 0
    np.testing.assert_allclose(*gradients, rtol=1e-12)


@pytest.mark.slow
def test_jax_compiles_with_given_locations():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    x, y = RNG.normal(size=8), RNG.normal(size=8)
    kernels = {"prediction_kernel": kc.Laplacian(0.9), "target_kernel": kc.Gaussian(0.8)}
    at = draw_locations(Normal(x, 1.0), 3)
    run = jax.jit(lambda x: ucme(y, Normal(x, jax.numpy.ones(8)), locations=at, **kernels).value)
    assert float(run(x)) == pytest.approx(float(ucme(y, Normal(x, 1.0), locations=at, **kernels)), rel=1e-12)
    with pytest.raises(InputError, match=r"test locations are drawn from values, which jax\.jit does not have"):
        jax.jit(lambda x: ucme(y, Normal(x, jax.numpy.ones(8)), **kernels).value)(x)


def test_a_spectral_kernel_keeps_no_gradient_and_says_so():
    torch = pytest.importorskip("torch")
    batch = Normal(torch.zeros(3), torch.ones(3))
    with pytest.raises(InputError, match="computed in NumPy and keeps no gradient, got an array of torch: move"):
        ucme([0.0, 1.0, 2.0], batch, target_kernel=Spectral(kc.Gaussian(1.0)))


def test_an_integrator_serves_what_has_no_closed_form():
    laplace = Laplace(MEAN[:, 0], STD[:, 0])
    y, at = laplace.sample(rng=2)[0], draw_locations(laplace, 4)
    options = {"prediction_kernel": kc.Laplacian(1.0), "locations": at}
    with pytest.raises(InputError, match=r"has no closed form.*Ways out: pass an integrator"):
        ucme(y, laplace, target_kernel=kc.Gaussian(1.0), **options)
    near = ucme(y, laplace, target_kernel=kc.Gaussian(1.0), integrator=kc.kernels.GaussLegendre(400), **options)
    exact = ucme(y, laplace, target_kernel=Spectral(kc.Gaussian(1.0), frequencies=64), **options)
    assert float(near) == pytest.approx(float(exact), abs=1e-5)
    assert "an integrator was given" in near.notes[0]
    assert near.options["integrator"] == kc.kernels.GaussLegendre(400)


def test_few_draws_are_noted():
    batch = Samples(MEAN[:, 0, None] + np.random.default_rng(3).normal(size=(N, 12)))
    assert "with 12 draws a row" in ucme(MEAN[:, 0], batch).notes[-1]
