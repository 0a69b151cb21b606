"""Kernel values in single precision: an error far below the noise, told by the result; draws are ranked in double."""

from dataclasses import replace

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.pairs import tile_sums
from kernelcal.residuals import ClassResidual

PROFILES = {
    "Laplacian": (kc.Laplacian(0.4), lambda d: np.exp(-d / 0.4)),
    "Gaussian": (kc.Gaussian(0.4), lambda d: np.exp(-(d**2) / 0.32)),
    "PowerExponential": (kc.kernels.PowerExponential(0.4, power=0.7), lambda d: np.exp(-((d / 0.4) ** 0.7))),
    "Matern52": (
        kc.Matern52(0.4),
        lambda d: (1 + np.sqrt(5) * d / 0.4 + 5 * d**2 / (3 * 0.16)) * np.exp(-np.sqrt(5) * d / 0.4),
    ),
    "RationalQuadratic": (kc.kernels.RationalQuadratic(0.4), lambda d: (1 + d**2 / 0.32) ** -1.0),
}
METRICS = {"Euclidean": kc.Euclidean(), "TotalVariation": kc.TotalVariation(), "Hellinger": kc.Hellinger()}
MIXED = "exact pairs, kernel values in single precision"
pytestmark = pytest.mark.filterwarnings("ignore:.*not known to be positive definite:kernelcal.errors.KernelcalWarning")


def spread(k, p):
    """Standard deviation of the unbiased SKCE under calibration, from ``E <r, r'>^2 = tr(V V')``."""
    covariances = [np.diag(row) - np.outer(row, row) for row in p]
    moments = np.array([[(a * b).sum() for b in covariances] for a in covariances])
    squares = k**2 * moments
    pairs = len(p) * (len(p) - 1)
    return np.sqrt(2 * (squares.sum() - np.trace(squares))) / pairs


@pytest.mark.parametrize("m", [3, 7])  # distances from differences, and from a product
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("profile", PROFILES)
def test_the_error_is_far_below_the_noise(profile, metric, m, naive, make_data):
    p, y = make_data(60, m)
    kernel, formula = PROFILES[profile]
    k = formula(naive.distance(p, metric))
    engine = kc.ExactPairs(rows=16, columns=25, precision="mixed")
    value = kc.skce(y, p, prediction_kernel=replace(kernel, metric=METRICS[metric]), engine=engine)
    assert value.engine == MIXED
    assert abs(float(value) - naive.unbiased(k, p, y)) < 2e-6 * spread(k, p)


def test_close_pairs_keep_their_distances(naive):
    rng = np.random.default_rng(4)
    p = np.repeat(rng.dirichlet(np.ones(6), 8), 5, axis=0)
    p += 1e-7 * rng.normal(size=p.shape)
    p = np.abs(p) / np.abs(p).sum(axis=1, keepdims=True)
    y = rng.integers(6, size=len(p))
    k = np.exp(-naive.distance(p, "Euclidean") / 2e-6)
    engine = kc.ExactPairs(precision="mixed")
    value = kc.skce(y, p, prediction_kernel=kc.Laplacian(2e-6), engine=engine)
    assert abs(float(value) - naive.unbiased(k, p, y)) < 2e-6 * spread(k, p)


@pytest.mark.parametrize("unit", [1e-60, 1.0, 1e60])
def test_case_weights_of_any_unit(unit, make_data):
    p, y = make_data(70, 4)
    weights = np.random.default_rng(1).exponential(size=70)
    values = [
        float(kc.skce(y, p, prediction_kernel=kc.Laplacian(0.4), weights=w, engine=kc.ExactPairs(precision=precision)))
        for w, precision in ((weights, "double"), (unit * weights, "mixed"))
    ]
    assert values[1] == pytest.approx(values[0], rel=1e-5)


def test_many_rows_choose_it_and_double_refuses_it(monkeypatch, make_data):
    monkeypatch.setattr("kernelcal.pairs.engines.SINGLE_FROM", 50)
    p, y = make_data(60, 4)
    kernel = kc.Laplacian(0.4)
    assert kc.skce(y, p, prediction_kernel=kernel).engine == MIXED
    assert kc.skce(y, p, prediction_kernel=2 * kernel + kc.Gaussian(0.2) * kernel).engine == MIXED
    assert kc.skce(y[:49], p[:49], prediction_kernel=kernel).engine == "exact pairs"
    exact = kc.skce(y, p, prediction_kernel=kernel, engine=kc.ExactPairs(precision="double"))
    assert exact.engine == "exact pairs"
    assert float(exact) != float(kc.skce(y, p, prediction_kernel=kernel))


@pytest.mark.parametrize(
    "kernel",
    [kc.Linear(), kc.Laplacian(0.4) + kc.Linear(), kc.Laplacian(1e-9), 1e-9 * kc.Laplacian(0.4)],
    ids=["no profile", "a part that is none", "a tiny lengthscale", "a tiny factor"],
)
def test_kernels_without_a_bound_of_the_error_stay_double(kernel, make_data):
    p, y = make_data(60, 4)
    engine = kc.ExactPairs(precision="mixed")
    assert kc.skce(y, p, prediction_kernel=kernel, engine=engine).engine == "exact pairs"


def test_predictions_in_single_precision_and_many_classes_are_as_before(make_data):
    engine, kernel = kc.ExactPairs(precision="mixed"), kc.Laplacian(0.4)
    p, y = make_data(60, 4)
    assert kc.skce(y, p.astype(np.float32), prediction_kernel=kernel, engine=engine).engine == "exact pairs"
    p, y = make_data(60, tile_sums.WIDE_FROM)
    mixed = kc.skce(y, p, prediction_kernel=kernel, engine=engine)
    assert float(mixed) == float(kc.skce(y, p, prediction_kernel=kernel))


def test_draws_are_ranked_in_double_precision(make_data):
    p, _ = make_data(60, 4)
    batch, kernels = kc.Categorical(p), [kc.Laplacian(0.1), kc.Gaussian(0.5)]
    residual, labels = ClassResidual.of(batch, kc.Dirac()), batch.sample(0, 5)
    mixed, double = (
        kc.ExactPairs(precision=way).prepare(kernels, batch, residual).batch(labels) for way in ("mixed", "double")
    )
    np.testing.assert_array_equal(mixed.off_diagonal, double.off_diagonal)


def test_no_number_changes_with_the_threads(make_data):
    p, y = make_data(200, 5)
    values = [
        float(kc.skce(y, p, engine=kc.ExactPairs(rows=16, columns=64, precision="mixed", threads=threads)))
        for threads in (1, 3)
    ]
    assert values[0] == values[1]


def test_a_precision_has_a_name():
    with pytest.raises(kc.errors.InputError, match="precision must be 'double', 'mixed' or None"):
        kc.ExactPairs(precision="half")


def test_very_many_numbers_in_single_precision_are_not_copied_in_double(monkeypatch, make_data):
    p, y = make_data(300, 6)
    p = p.astype(np.float32)
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.4), estimator="block", block_size=75)
    double = kc.confidence_interval(y, p, statistic=statistic)
    assert statistic.prepare(kc.Categorical(p)).forms.forms[0].kernel_rows(slice(0, 2)).dtype == np.float64
    monkeypatch.setattr("kernelcal.arrays._STAYS_SINGLE", 0)
    assert statistic.prepare(kc.Categorical(p)).forms.forms[0].kernel_rows(slice(0, 2)).dtype == np.float32
    single = kc.confidence_interval(y, p, statistic=statistic)
    assert (single.lower, single.upper) == pytest.approx((double.lower, double.upper), rel=1e-5, abs=1e-9)
    assert single.upper != double.upper  # the way without copies was gone


def test_features_times_means_are_summed_once():
    p = np.random.default_rng(0).dirichlet(np.ones(5), 200)
    batch = kc.Categorical(p)
    forms = kc.SKCE(prediction_kernel=kc.Laplacian(0.4), engine=kc.Nystrom(20)).prepare(batch).forms
    labels = batch.sample(0, 8)
    again = [forms.batch(labels[:4]), forms.batch(labels[4:])]
    whole = forms.batch(labels)
    found = np.concatenate([sums.off_diagonal for sums in again])
    np.testing.assert_allclose(found, whole.off_diagonal, rtol=1e-12)
    anew = kc.SKCE(prediction_kernel=kc.Laplacian(0.4), engine=kc.Nystrom(20)).prepare(batch).forms
    np.testing.assert_allclose(anew.batch(labels[4:]).off_diagonal, whole.off_diagonal[4:], rtol=1e-12)


@pytest.mark.slow
def test_an_estimate_from_the_rows_of_an_interval_is_in_double_and_says_so(make_data):
    """`evaluate` walks over all pairs once, for the interval: the estimate is a sum of its rows."""
    p, y = make_data(9000, 4)
    found = kc.evaluate(y, p, draws=19)
    kernel = found.estimate.options["prediction_kernel"]
    double = kc.skce(y, p, prediction_kernel=kernel, engine=kc.ExactPairs(precision="double"))
    assert found.estimate.engine == double.engine == "exact pairs"
    assert float(found.estimate) == pytest.approx(float(double), rel=1e-12)
