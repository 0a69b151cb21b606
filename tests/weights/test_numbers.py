"""Case weights with predictions of numbers, and diagonals that are not 1: every engine against loops over pairs."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.kernels import Spectral
from kernelcal.pairs.base import Engine
from kernelcal.residuals import FourierResidual, GramResidual, residual_of

RNG = np.random.default_rng(0)
N = 24
NORMAL = kc.Normal(RNG.normal(size=N), RNG.uniform(0.4, 1.5, N))
ENSEMBLE = kc.Samples(RNG.normal(size=(N, 6)))
WEIGHTS = RNG.uniform(0.2, 3, N)
TARGETS = np.stack([NORMAL.sample(rng=seed)[0] for seed in range(3)])
EVERY = slice(None)
KERNELS = {"features": Spectral(kc.Gaussian(0.8)), "pairs": kc.Gaussian(0.8)}


def looped(y, predictions, prediction_kernel, target_kernel, weights, estimator="unbiased"):
    """Weighted mean over pairs, a pair at a time, of kernels that see two rows only."""
    total = mass = 0.0
    for i in range(N):
        for j in range(N):
            if i == j and estimator == "unbiased":
                continue
            pair = np.array([i, j])
            two = predictions[pair]
            k = prediction_kernel(two)
            r = residual_of(two, target_kernel).inner(y[pair]).block(EVERY, EVERY)
            total += weights[i] * weights[j] * k * r[0, 1]
            mass += weights[i] * weights[j]
    return total / mass


def laplacian(two):
    a, b = (np.array([two.mean[k], two.std[k]]) for k in (0, 1))
    return float(np.exp(-np.linalg.norm(a - b) / 0.9))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_weights_multiply_the_residuals(kernel):
    plain, weighted = residual_of(NORMAL, kernel), residual_of(NORMAL, kernel, WEIGHTS)
    y, part = TARGETS[0], np.array([1, 5, 7])
    expected = plain.inner(y).block(EVERY, EVERY) * np.outer(WEIGHTS, WEIGHTS)
    np.testing.assert_allclose(weighted.inner(y).block(EVERY, EVERY), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(weighted.inner(y).aligned(EVERY, EVERY), np.diag(expected), rtol=1e-12)
    of_part = weighted[part].inner(y[part]).block(EVERY, EVERY)
    np.testing.assert_allclose(of_part, expected[np.ix_(part, part)], rtol=1e-12, atol=1e-15)
    if isinstance(weighted, FourierResidual):
        batch = weighted.batch(TARGETS)
        np.testing.assert_allclose(batch, plain.batch(TARGETS) * WEIGHTS[:, None, None], rtol=1e-12, atol=1e-15)


ENGINES: dict[str, tuple[str, Engine]] = {
    "feature tiles": ("features", kc.ExactPairs(rows=7, columns=5)),
    "pair tiles": ("pairs", kc.ExactPairs(rows=7, columns=5)),
    "Nystrom": ("features", kc.Nystrom(N)),  # as many landmarks as rows: exact
}


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        *(("unbiased", name) for name in ENGINES if name != "Nystrom"),
        ("biased", "Nystrom"),
        pytest.param("unbiased", "Nystrom", marks=pytest.mark.slow),
        *(pytest.param("biased", name, marks=pytest.mark.slow) for name in ENGINES if name != "Nystrom"),
    ],
)
def test_weighted_values_of_many_targets_are_loops_over_pairs(name, estimator):
    kind, engine = ENGINES[name]
    statistic = kc.SKCE(
        prediction_kernel=kc.Laplacian(0.9), target_kernel=KERNELS[kind], estimator=estimator, engine=engine
    )
    values = statistic.prepare(NORMAL, WEIGHTS).values(TARGETS)[:, 0]
    expected = [looped(y, NORMAL, laplacian, KERNELS[kind], WEIGHTS, estimator) for y in TARGETS]
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    found = float(statistic(TARGETS[0], NORMAL, weights=WEIGHTS))
    assert found == pytest.approx(expected[0], rel=1e-9)


@pytest.mark.parametrize("kind", KERNELS)
def test_prediction_kernels_whose_diagonal_is_not_one(kind):
    def linear(two):
        return float(two.mean[0] * two.mean[1] + two.std[0] * two.std[1])

    statistic = kc.SKCE(prediction_kernel=kc.Linear(), target_kernel=KERNELS[kind], estimator="biased")
    expected = [looped(y, NORMAL, linear, KERNELS[kind], np.ones(N), "biased") for y in TARGETS]
    np.testing.assert_allclose(statistic.prepare(NORMAL).values(TARGETS)[:, 0], expected, rtol=1e-10)
    assert float(statistic(TARGETS[0], NORMAL)) == pytest.approx(expected[0], rel=1e-10)


@pytest.mark.parametrize(("batch", "null"), [(NORMAL, "exact"), (ENSEMBLE, "swap")], ids=["exact", "swap"])
@pytest.mark.parametrize("name", ["feature tiles", "Nystrom"])
def test_weighted_tests_show_the_weighted_value(batch, null, name):
    kind, engine = ENGINES[name]
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.9), target_kernel=KERNELS[kind], engine=engine)
    result = kc.calibration_test(TARGETS[0], batch, statistic=statistic, null=null, weights=WEIGHTS, draws=99)
    expected = float(statistic(TARGETS[0], batch, weights=WEIGHTS))
    if null == "exact":
        assert result.statistic == pytest.approx(expected, rel=1e-9)
    assert 0.01 <= result.pvalue <= 1
    shifted = kc.calibration_test(TARGETS[0] + 3, batch, statistic=statistic, null=null, weights=WEIGHTS, draws=99)
    assert shifted.pvalue == 0.01


def test_bounds_are_reached():
    """A certain prediction, and an outcome half a wave or very far away."""
    certain = kc.Normal(np.zeros(2), np.full(2, 1e-12))
    kernel = Spectral(kc.Matern52(1.0), frequencies=1)
    wave = kernel.nodes(None)[0][0]
    residual = residual_of(certain, kernel)
    assert residual.inner(np.full(2, np.pi / wave)).block(EVERY, EVERY)[0, 1] == pytest.approx(residual.bound())
    far = GramResidual.of(certain, 3.0 * kc.Gaussian(1.0))
    assert far.inner(np.full(2, 1e3)).block(EVERY, EVERY)[0, 1] == pytest.approx(far.bound())


def test_drawn_frequencies_give_the_kernel_and_its_amplitude():
    profile = kc.Matern52(1.5)
    kernel = Spectral(profile, frequencies=40_000, rng=3)
    frequencies, amplitudes = kernel.nodes(None)
    assert np.sum(amplitudes**2) == pytest.approx(profile.amplitude)
    for distance in (0.5, 1.5, 4.0):
        near = np.sum(amplitudes**2 * np.cos(frequencies * distance))
        x = np.sqrt(5) * distance / 1.5
        assert near == pytest.approx((1 + x + x**2 / 3) * np.exp(-x), abs=0.02)


def test_matrices_of_single_precision_are_summed_in_double():
    single = NORMAL.map_arrays(lambda x: x.astype(np.float32))
    wide = single.map_arrays(lambda x: x.astype(np.float64))
    for kernel in KERNELS.values():
        statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.9), target_kernel=kernel)
        y = TARGETS[0].astype(np.float32).astype(np.float64)
        found, expected = (statistic.prepare(p).matrix(y).row_sums for p in (single, wide))
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
