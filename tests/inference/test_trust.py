"""Laws estimated from residuals: where few outcomes could surprise, or few did, the result says so."""

import numpy as np
import pytest
from scipy.stats import binom

import kernelcal as kc
from kernelcal.inference.laws.mean_embedding import CME
from kernelcal.inference.laws.trust import expected_surprises, noise_ratio

LAWS = ("wild", "bootstrap", "gamma", "pearson", "spectrum")
KERNEL = kc.Laplacian(0.3)
CURE = "can reject calibrated models far too often; use null='exact'"


def asked(y, p, null, **options):
    return kc.calibration_test(y, p, statistic=kc.SKCE(prediction_kernel=KERNEL), null=null, draws=99, **options)


def noted(result):
    return [note for note in result.notes if CURE in note]


def variance(p):
    return np.diag(p) - np.outer(p, p)


@pytest.mark.parametrize("m", [2, 3])
def test_the_ratio_of_noise_equals_a_loop_over_pairs(m):
    rng = np.random.default_rng(m)
    p = rng.dirichlet(np.ones(m), 12)
    y = rng.integers(0, m, 12)
    batch = kc.Bernoulli(p[:, 1]) if m == 2 else kc.Categorical(p)
    x = p[:, 1:] if m == 2 else p
    seen = known = 0.0
    for i in range(12):
        for j in range(12):
            if i != j:
                k = np.exp(-np.linalg.norm(x[i] - x[j]) / 0.3)
                seen += (k * (np.eye(m)[y[i]] - p[i]) @ (np.eye(m)[y[j]] - p[j])) ** 2
                known += k**2 * np.trace(variance(p[i]) @ variance(p[j]))
    prepared = kc.SKCE(prediction_kernel=KERNEL).prepare(batch)
    found = noise_ratio(prepared.matrix(y), prepared.residual, batch)
    assert found == pytest.approx(np.sqrt(seen / known), rel=1e-9)
    assert expected_surprises(batch) == pytest.approx(sum((1 - q @ q) / 2 for q in p), rel=1e-12)
    square = kc.kernels.FiniteKernel(4 * np.eye(m))
    other = kc.SKCE(prediction_kernel=KERNEL, target_kernel=square).prepare(kc.Categorical(p))
    if m == 3:
        assert noise_ratio(other.matrix(y), other.residual, batch) == pytest.approx(found, rel=1e-9)


def test_the_ratio_of_many_rows_is_that_of_some():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=2500)
    y = (rng.random(2500) < p).astype(int)
    prepared = kc.SKCE(prediction_kernel=KERNEL).prepare(kc.Bernoulli(p))
    k, v = np.exp(-np.abs(p[:, None] - p) / 0.3), p * (1 - p)
    known = 4 * (v @ k**2 @ v - v @ v)
    seen = prepared.matrix(y).row_squares.sum()
    found = noise_ratio(prepared.matrix(y), prepared.residual, kc.Bernoulli(p))
    assert found == pytest.approx(np.sqrt(seen / known), rel=0.03)


@pytest.mark.parametrize("null", LAWS)
def test_an_event_that_did_not_happen_is_no_evidence_and_the_result_says_so(null):
    rng = np.random.default_rng(0)
    y, p = np.zeros(200, int), rng.uniform(0.0005, 0.005, 200)
    found = asked(y, p, null)
    assert len(noted(found)) == 1
    assert noted(found)[0].startswith(f"few outcomes could surprise ({(p * (1 - p)).sum():.2g} expected)")
    assert asked(y, p, "exact").pvalue > 0.3
    assert not noted(asked(y, p, "exact"))


@pytest.mark.parametrize("null", LAWS)
def test_where_outcomes_surprise_as_often_as_said_nothing_is_noted(null):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=200)
    assert not noted(asked((rng.random(200) < p).astype(int), p, null))


@pytest.mark.parametrize("null", [null for null in LAWS if null != "spectrum"])  # which sees no variance, and says so
def test_residuals_that_vary_less_than_predicted_are_noted(null):
    """Right answers alone, of a model that is less sure: evidence enough, but not by this law."""
    found = asked(np.ones(200, int), np.full(200, 0.9), null)
    assert noted(found)[0].startswith("the residuals vary less than the predictions say")


def test_small_p_values_need_more_surprises():
    y = (np.arange(100) < 18).astype(int)
    p = np.full(100, 0.07)  # 6.5 are expected
    found = asked(y, p, "gamma")
    assert found.pvalue < 0.01
    assert "6.5 expected" in noted(found)[0]
    assert not noted(asked((np.arange(100) < 8).astype(int), p, "gamma"))


def test_other_estimators_and_numbers():
    rng = np.random.default_rng(0)
    bands = kc.SKCE(estimator="incomplete", superdiagonals=8)
    found = kc.calibration_test(np.zeros(60, int), np.full(60, 0.01), statistic=bands, null="wild", draws=99)
    assert noted(found)
    many = rng.uniform(size=60)
    assert not noted(kc.calibration_test((many > 0.5).astype(int), many, statistic=bands, null="wild", draws=99))
    numbers = kc.calibration_test(
        rng.normal(size=60), kc.Normal(np.zeros(60), np.ones(60)), statistic="skce", null="wild"
    )
    assert not noted(numbers)


def test_what_is_not_noted_holds_its_level():
    unnoted = rejected = 0
    for seed in range(300):
        rng = np.random.default_rng([4, seed])
        p = rng.beta(1, rng.choice([2, 10, 50, 200]), 100)
        found = asked((rng.random(100) < p).astype(int), p, "gamma")
        unnoted += not noted(found)
        rejected += not noted(found) and found.pvalue <= 0.05
    assert 60 < unnoted < 240
    assert rejected <= binom.ppf(0.999, unnoted, 0.05)


@pytest.mark.parametrize(
    ("statistic", "null", "cure"),
    [("skce-block", "block", "use null='exact'"), ("ucme", CME(reference="chi2"), "use null='cme'")],
)
def test_laws_of_many_rows_say_where_few_outcomes_could_surprise(statistic, null, cure):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.001, 0.05, 200)
    y = (rng.random(200) < p).astype(int)
    found = kc.calibration_test(y, p, statistic=statistic, null=null)
    assert any("few outcomes could surprise" in note and cure in note for note in found.notes)
    even = kc.calibration_test((rng.random(200) < 0.5).astype(int), np.full(200, 0.5), statistic=statistic, null=null)
    assert not any("few outcomes could surprise" in note for note in even.notes)
