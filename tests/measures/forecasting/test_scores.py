"""Mean scores as measures: values, what forecasts expect of themselves, and two-sided p-values."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures import CRPS, RankedProbabilityScore, WeightedInterval, measure
from kernelcal.statistics import brier_score, crps, weighted_interval_score


def normals(n=400, seed=0):
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n), rng.uniform(0.5, 2, n)
    return mean + std * rng.normal(size=n), kc.Normal(mean, std)


def test_the_expected_crps_of_normals_is_known():
    """``E|X - X'| / 2 = s / sqrt(pi)`` on average over outcomes from the forecast itself."""
    y, batch = normals()
    found = measure(y, batch, "crps", draws=1999)["CRPS"]
    assert found.value == pytest.approx(crps(y, batch))
    assert found.expected == pytest.approx(np.asarray(batch.std).mean() / np.sqrt(np.pi), abs=4 * found.expected_error)
    assert found.pvalue > 0.01


@pytest.mark.parametrize("factor", [0.4, 2.5])
def test_forecasts_too_sure_and_not_sure_enough_are_both_seen(factor):
    y, batch = normals()
    found = measure(y, kc.Normal(batch.mean, batch.std * factor), "crps", draws=199)["CRPS"]
    assert found.pvalue == 2 / 200
    assert (found.value > found.expected) == (factor < 1)


def test_the_interval_is_that_of_a_mean():
    y, batch = normals()
    rows = kc.statistics.crps_rows(y, batch)
    low, high = measure(y, batch, "crps", draws=19)["CRPS"].interval
    assert (high - low) / 2 == pytest.approx(1.97 * rows.std() / 20, rel=0.05)
    assert high - rows.mean() > rows.mean() - low  # large scores are rare


def test_quantiles_and_classes():
    y, batch = normals()
    levels = np.array([0.1, 0.5, 0.9])
    forecasts = kc.Quantiles(batch.quantile(levels[:, None]).T, levels)
    assert float(WeightedInterval()(y, forecasts)) == pytest.approx(weighted_interval_score(y, forecasts).value)
    p = np.random.default_rng(2).uniform(size=50)
    z = (np.random.default_rng(3).uniform(size=50) < p).astype(int)
    assert float(RankedProbabilityScore()(z, p)) == pytest.approx(brier_score(z, kc.Bernoulli(p)))
    assert measure(z, p, "rps", draws=19).values[0].value == pytest.approx(brier_score(z, kc.Bernoulli(p)))
    assert "rps" not in kc.measures.serving(kc.Bernoulli(p))  # where it is the Brier score


def test_values_of_scoringrules():
    """rps_score and crps_ensemble of scoringrules 0.10.0, from experiments/peers/scores.py."""
    p = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25]])
    rows = RankedProbabilityScore().prepare(kc.Categorical(p)).rows(np.array([2, 0, 3]))
    np.testing.assert_allclose(rows, [0.26, 0.14, 0.875], rtol=1e-12)


def test_members_that_are_missing_count_nothing():
    draws = np.array([[1.0, 2.0, 4.0, 0.0], [1.0, 3.0, 5.0, 9.0]])
    some = kc.Samples(draws, weights=[[1, 1, 1, 0], [1, 1, 1, 1]])
    rows = CRPS().prepare(some).rows(np.array([2.0, 2.0]))
    assert rows[0] == pytest.approx(crps([2.0], kc.Samples(draws[:1, :3])))


def test_fields_leave_out_what_predictions_do_not_have():
    y, batch = normals(60)
    names = {one.name for one in measure(y, batch, "forecasting", draws=19).values}
    assert "CRPS" in names
    assert "interval score of 90 %" in names
    assert "weighted interval score" not in names
    with pytest.raises(InputError, match="weighted interval score is for quantile forecasts, got Normal"):
        measure(y, batch, "wis,crps", draws=19)


def test_settings_by_name():
    y, batch = normals(60)
    found = measure(y, batch, "coverage(level=0.5), coverage, twcrps(lower=1, upper=2)", draws=19)
    names = [one.name for one in found.values]
    assert names == ["coverage of 50 %", "coverage of 90 %", "threshold-weighted CRPS from 1 to 2"]
    said = r"'coverage\(size=2\)' has settings that 'coverage' does not take: .* IntervalCoverage has level"
    with pytest.raises(InputError, match=said):
        measure(y, batch, "coverage(size=2)")
    with pytest.raises(InputError, match=r"measures: 'cover' is none of"):
        measure(y, batch, "cover(level=0.5)")
