"""The second-order median heuristic against the reference, root finding one pair at a time, and simulation."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi, ncx2

import kernelcal as kc
from kernelcal.kernels import MMD, FisherDivergence, KernelFisherDivergence, Wasserstein, ground_lengthscale
from kernelcal.kernels.divergences.ground import _pairs, chi_medians
from kernelcal.predictions import (
    DiagonalNormal,
    IsotropicNormal,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    Samples,
    Score,
)

REFERENCE = Path(__file__).resolve().parents[2] / "data" / "reference"


@pytest.fixture
def kccsd():
    """A function that gives numbers and arrays of a case of the reference code."""
    cases = json.loads((REFERENCE / "kccsd_reference.json").read_text())["cases"]
    return lambda name: (cases[name], np.load(REFERENCE / f"kccsd_case_{name[0]}.npz"))


# the reference


@pytest.mark.parametrize("name", ["A", "B"])
def test_published_ground_lengthscales(kccsd, name):
    case, arrays = kccsd(name)
    expected = case["median"]["ground_space_median_of_medians"]["scipy_brentq"]
    assert ground_lengthscale(IsotropicNormal(arrays["mu"], arrays["sigma"])) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["A", "B"])
def test_published_medians_of_distances(kccsd, name):
    case, arrays = kccsd(name)
    predictions = IsotropicNormal(arrays["mu"], arrays["sigma"])
    base = IsotropicNormal(arrays["base_mean"][None], arrays["base_scale"][None])
    ground = kc.Gaussian(case["median"]["exp_mmd"]["kccsd_ground_sigma"])
    metrics = {
        "exp_mmd": MMD(ground),
        "exp_w2": Wasserstein(),
        "exp_gfd": FisherDivergence(base),
        "exp_kgfd": KernelFisherDivergence(ground, base),
    }
    for kernel, metric in metrics.items():
        found = kc.median_lengthscale(predictions, metric=metric)
        assert found == pytest.approx(case["median"][kernel]["kccsd_sigma"], rel=1e-9)


# one pair


def naive_median(s, t, apart, d):
    """Root of the distribution function, written with scipy.stats."""

    def excess(r):
        both = s**2 + t**2
        inside = chi.cdf(r / (np.sqrt(2) * s), d) + chi.cdf(r / (np.sqrt(2) * t), d)
        return inside / 4 + ncx2.cdf(r**2 / both, d, apart**2 / both) / 2 - 0.5

    return brentq(excess, 1e-9, 1e4, xtol=1e-15, rtol=1e-14)


@pytest.mark.parametrize("d", [1, *(pytest.param(d, marks=pytest.mark.slow) for d in (2, 10)), 3, 60])
def test_roots_are_those_of_one_pair_at_a_time(d):
    rng = np.random.default_rng(d)
    s, t, apart = rng.uniform(0.2, 2, 40), rng.uniform(0.2, 2, 40), rng.uniform(1e-3, 4, 40)
    expected = [naive_median(*pair, d) for pair in zip(s, t, apart, strict=True)]
    np.testing.assert_allclose(chi_medians(s, t, apart, d), expected, rtol=1e-11)


@pytest.mark.parametrize("d", [1, 3])
def test_the_median_is_that_of_simulated_draws_of_the_mixture(d):
    rng = np.random.default_rng(0)
    size, mean, std = 400_000, np.array([np.zeros(d), np.full(d, 1.5)]), np.array([0.5, 1.2])
    z, other = (mean[k] + std[k, None] * rng.standard_normal((size, d)) for k in rng.integers(0, 2, (2, size)))
    simulated = np.median(np.linalg.norm(z - other, axis=1))
    assert ground_lengthscale(IsotropicNormal(mean, std)) == pytest.approx(simulated, rel=0.006)


def test_one_distribution_twice_has_the_median_of_a_chi_variable():
    for d in (1, 2, 7):
        expected = np.sqrt(2) * 3 * chi.ppf(0.5, d)
        found = chi_medians(np.full(2, 3.0), np.full(2, 3.0), np.zeros(2), d)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_any_unit_will_do():
    s, t, apart = np.array([1.0, 0.3, 2.0]), np.array([1.0, 1e-6, 0.1]), np.array([0.0, 1.0, 30.0])
    for d in (1, 4):
        plain = chi_medians(s, t, apart, d)
        for unit in (1e-200, 1e-9, 1e200):
            np.testing.assert_allclose(chi_medians(unit * s, unit * t, unit * apart, d), unit * plain, rtol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 9])
def test_far_halves_have_their_median_in_the_gap(d):
    apart = np.array([8.0, 12.0, 20.0, 60.0, 1e3, 1e8, 1e100])
    s, t = np.full(7, 0.3), np.full(7, 1.0)
    found = chi_medians(s, t, apart, d)
    inside = chi.sf(found / np.sqrt(2), d) / 4  # the wider half: the other is nearer still
    across = ncx2.cdf(found[:2] ** 2 / 1.09, d, apart[:2] ** 2 / 1.09) / 2
    np.testing.assert_allclose(across, inside[:2], rtol=1e-6)  # both sides of the gap leak alike
    assert (inside < 6e-3).all()
    assert (found[2:] > 6).all()
    assert (found[2:] < apart[2:] - 6).all()
    assert (np.diff(found) > 0).all()


def test_roots_that_secants_miss_are_bisected():
    # in a thousand dimensions the three distances concentrate, and logarithms are steep and crooked
    rng = np.random.default_rng(1)
    s, t, apart = rng.uniform(0.3, 2, (3, 60))
    expected = [naive_median(*pair, 1000) for pair in zip(s, t, apart, strict=True)]
    np.testing.assert_allclose(chi_medians(s, t, apart, 1000), expected, rtol=1e-10)


# batches


def test_the_median_is_over_pairs_of_rows():
    rng = np.random.default_rng(0)
    mean, std = rng.standard_normal((6, 2)), rng.uniform(0.5, 2, 6)
    medians = [naive_median(std[i], std[j], np.linalg.norm(mean[i] - mean[j]), 2) for i in range(6) for j in range(i)]
    assert ground_lengthscale(IsotropicNormal(mean, std)) == pytest.approx(np.median(medians), rel=1e-12)
    numbers = [naive_median(std[i], std[j], abs(mean[i, 0] - mean[j, 0]), 1) for i in range(6) for j in range(i)]
    assert ground_lengthscale(Normal(mean[:, 0], std)) == pytest.approx(np.median(numbers), rel=1e-12)


def test_pairs_are_of_different_rows_and_not_more_than_wanted():
    rng = np.random.default_rng(0)
    for n, most in ((5, 10), (5, None), (2, 1)):
        i, j = _pairs(n, most, rng)
        assert len({*zip(i, j, strict=True)}) == n * (n - 1) // 2
    i, j = _pairs(100, 700, rng)
    assert len(i) == len(j) == 700
    assert (i != j).all()
    counts = np.bincount(np.concatenate([i, j]), minlength=100)
    assert counts.min() > 0
    assert counts.max() < 40


def test_some_pairs_stand_for_all():
    rng = np.random.default_rng(0)
    batch = IsotropicNormal(rng.standard_normal((300, 3)), rng.uniform(0.5, 2, 300))
    every = ground_lengthscale(batch, max_pairs=None)
    assert ground_lengthscale(batch, max_pairs=2000) == pytest.approx(every, rel=0.03)
    assert ground_lengthscale(batch, 2000, rng=1) != ground_lengthscale(batch, 2000, rng=2)
    assert ground_lengthscale(batch, 2000, rng=1) == ground_lengthscale(batch, 2000, rng=1)


def test_draws_of_other_families_agree_with_the_roots():
    rng = np.random.default_rng(0)
    mean, std = rng.standard_normal((40, 3)), rng.uniform(0.5, 2, 40)
    expected = ground_lengthscale(IsotropicNormal(mean, std))
    full = MultivariateNormal(mean, std[:, None, None] ** 2 * np.eye(3))
    single = [
        DiagonalNormal(mean, np.tile(std[:, None], 3)),
        full,
        Mixture(None, [full, full]),
        Samples(np.swapaxes(full.sample(1, 100), 0, 1)),
        Score(lambda y: -y, n=40, event_shape=3, draws=np.swapaxes(full.sample(1, 100), 0, 1)),
        Score(lambda y, m: m - y, mean, event_shape=3, sampler=lambda rng, m: full.sample(rng, 1)[0]),
    ]
    for batch in single[:-1]:
        assert ground_lengthscale(batch) == pytest.approx(expected, rel=0.02)
    unlike = IsotropicNormal([[0.0, 0.0], [4.0, 0.0]], [0.1, 1.0])
    drawn = [ground_lengthscale(DiagonalNormal(unlike.mean, unlike.std), rng=k) for k in range(40)]
    assert np.mean(drawn) == pytest.approx(ground_lengthscale(unlike), rel=0.03)


def test_a_sampler_is_drawn_from():
    mean = np.linspace(0, 3, 12)
    batch = Score(lambda y, m: m - y, mean, sampler=lambda rng, m: m + rng.standard_normal(len(m)))
    assert ground_lengthscale(batch) == pytest.approx(ground_lengthscale(Normal(mean, 1.0)), rel=0.05)


def test_counts_lie_on_a_grid():
    assert ground_lengthscale(Poisson([40.0, 41.0, 42.0])) == pytest.approx(0.954 * np.sqrt(41), abs=1)


def test_one_row_and_points_without_spread():
    assert ground_lengthscale(Normal([5.0], 2.0)) == pytest.approx(2 * np.sqrt(2) * 0.6744897501960817, rel=1e-12)
    assert ground_lengthscale(Samples(np.zeros((4, 3)))) == 1.0
    # a pair of points apart by 2 counts as 0 where half of its distances are
    assert ground_lengthscale(Samples(np.array([[0.0], [2.0], [2.0]]))) in (1.0, 2.0)


def test_other_libraries(backend):
    batch = IsotropicNormal([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]], [1.0, 0.5, 2.0])
    assert ground_lengthscale(batch.map_arrays(backend)) == ground_lengthscale(batch)


# refusals


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ground_lengthscale(kc.Categorical(np.eye(3))),
            "Categorical predicts classes: use kernelcal.median",
        ),
        (lambda: ground_lengthscale(Normal([0.0], 1.0), max_pairs=0), "max_pairs must be a positive whole .*, got 0"),
        (lambda: ground_lengthscale(Normal([0.0], 1.0)[:0]), "needs at least one prediction, got none"),
        (
            lambda: ground_lengthscale(Score(lambda y: -y, n=3)),
            "Score has neither a sampler nor draws .*: give the lengthscale as a number",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(make, message):
    with pytest.raises(kc.errors.InputError, match=message):
        make()


@pytest.mark.parametrize("family", [IsotropicNormal, DiagonalNormal])
def test_inside_jit_there_is_nothing_to_look_at(family):
    jax = pytest.importorskip("jax")
    std = np.ones(2) if family is IsotropicNormal else np.ones((2, 2))
    with pytest.raises(kc.errors.InputError, match=r"jax.jit does not have: give a number"):
        jax.jit(lambda mean: ground_lengthscale(family(mean, std)))(np.zeros((2, 2)))
