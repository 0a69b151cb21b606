"""Inputs that people really had trouble with (data/cases.json): quantiles, ties, counts, usage, groups."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.statistics.outcomes.transform import pit, pit_intervals

FILE = Path(__file__).resolve().parents[1] / "data" / "cases.json"
CASES = {case["id"]: case for case in json.loads(FILE.read_text())["cases"]}
HERE = {"quantiles", "ties", "discrete", "regression", "usage", "groups"}
TESTED = {
    "constant-quantile",
    "quantiles-unsorted",
    "quantile-float-levels",
    "quantile-crossing",
    "ties-zero-rain",
    "sbc-discrete",
    "pit-counts",
    "variance-as-std",
    "std-question",
    "mixed-sources",
}


def case(name):
    return CASES[name]["input"], CASES[name]["expected"]


def test_no_case_is_left_out():
    assert {name for name, entry in CASES.items() if entry["category"] in HERE} == TESTED


def test_constant_predictions_in_equal_mass_bins():
    given, expected = case("constant-quantile")
    ece = kc.ece(given["y"], given["p"], question="positive class", bins=kc.EqualMassBins(given["n_bins"]))
    assert float(ece) == pytest.approx(expected["ece"])
    p = binomtest(sum(given["y"]), len(given["y"]), given["p"][0]).pvalue
    assert p == pytest.approx(expected["exact_binomial_p"], rel=1e-5)
    drawn = kc.calibration_test(given["y"], given["p"], draws=9999).pvalue
    assert drawn < 0.01  # the exact test of the family says the same


def test_unsorted_quantiles_are_sorted_with_their_values():
    given, expected = case("quantiles-unsorted")
    one = kc.Quantiles([given["values"]], given["levels"])
    other = kc.Quantiles([expected["same_as"]["values"]], expected["same_as"]["levels"])
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.levels, other.levels)
    low, high = pit_intervals([given["y"]], one)
    np.testing.assert_allclose([low[0], high[0]], expected["pit_interval"])


def test_levels_that_differ_by_rounding_are_found():
    given, _ = case("quantile-float-levels")
    levels = [0.05 * k for k in range(1, 20)]
    batch = kc.Quantiles([np.arange(19.0)], levels)
    for level in given["wanted"]:
        assert batch.at(level) == [pytest.approx(round(level / 0.05) - 1)]


def test_crossing_quantiles_are_reported_never_interpolated():
    given, _ = case("quantile-crossing")
    with pytest.raises(InputError) as caught:
        kc.Quantiles([given["values"]], given["levels"])
    for part in ("row 0", "0.65", "0.7", 'crossing="sort"'):
        assert part in str(caught.value)
    assert "less by 0.03178" in str(caught.value)
    sorted_batch = kc.Quantiles([given["values"]], given["levels"], crossing="sort")
    np.testing.assert_array_equal(sorted_batch.values[0], sorted(given["values"]))
    assert sorted_batch.notes


@pytest.mark.parametrize("name", ["ties-zero-rain", "sbc-discrete"])
def test_ranks_within_ties_are_random(name):
    given, expected = case(name)
    draws, y = (np.zeros(32), 0) if name == "ties-zero-rain" else (given["draws"], given["theta"])
    batch = kc.Samples(np.tile(draws, (4000, 1)))
    low, high = (int(x[0]) for x in batch.rank_range(np.full(4000, float(y))))
    assert [low, high] == expected["rank_range"]
    u = pit(np.full(4000, float(y)), batch)
    size = len(draws) + 1
    np.testing.assert_array_equal(np.unique(np.floor(u * size)), np.arange(low, high + 1))
    counts = np.bincount(np.floor(u * size).astype(int), minlength=size)[low : high + 1]
    expected_count = 4000 / (high - low + 1)
    assert np.abs(counts - expected_count).max() < 5 * np.sqrt(expected_count)
    np.testing.assert_array_equal(u, pit(np.full(4000, float(y)), batch))  # a fixed seed, the same ranks


def test_pit_of_counts():
    given, expected = case("pit-counts")
    batch = kc.Poisson([3.0] * 3)
    np.testing.assert_allclose(np.stack(pit_intervals(given["y"], batch), 1), expected["intervals"], atol=1e-9)
    low, high = pit_intervals(given["y"], batch)
    u = pit(given["y"], batch, rng=5)
    assert np.all((low < u) & (u < high))


def test_a_variance_passed_as_standard_deviation():
    given, expected = case("variance-as-std")
    mean, u, y = (np.array(given[k], dtype=float) for k in ("mu", "u", "y"))
    assert np.mean(((y - mean) / u) ** 2) == pytest.approx(expected["mean_z2_if_std"])
    assert np.mean((y - mean) ** 2 / u) == pytest.approx(expected["mean_z2_if_var"])
    note = kc.evaluate(y, kc.Normal(mean, u)).notes[0]
    assert "average 14.5" in note
    assert "and 1 if the standard deviations are taken as variances" in note


def test_point_predictions_alone():
    case("std-question")
    rng = np.random.default_rng(0)
    for function in (kc.evaluate, kc.calibration_test, kc.skce):
        with pytest.raises(InputError, match="oint predictions alone cannot be tested"):
            function(rng.normal(size=50), 3 + rng.normal(size=50))
        with pytest.raises(InputError, match="oint prediction"):
            function(rng.normal(size=50), kc.Normal(rng.normal(size=50), np.zeros(50)))
        with pytest.raises(InputError, match=r"say what they are, kernelcal.Samples\(x\) for draws"):
            function(rng.normal(size=50), rng.normal(size=(50, 7)))


def test_sources_that_cancel_are_told_apart():
    given, expected = case("mixed-sources")
    p = np.concatenate([np.full(g["n"], g["conf"]) for g in given["groups"].values()])
    y = np.concatenate([np.arange(g["n"]) < g["right"] for g in given["groups"].values()]).astype(int)
    assert p.mean() - y.mean() == pytest.approx(expected["pooled_signed"], abs=1e-12)
    table = kc.ece(y, p, question="positive class", bins=kc.UniformBins(10)).tables[0]
    gaps = {round(float(m), 2): float(m - f) for m, f in zip(table.mean_prediction, table.frequency, strict=True)}
    assert gaps[0.95] == pytest.approx(expected["per_group_gap"]["a"])
    assert gaps[0.29] == pytest.approx(expected["per_group_gap"]["b"])
    result = kc.evaluate(y, p)
    assert result.pvalue == 0.001
    assert float(result.eces[1]) == pytest.approx(0.45)
