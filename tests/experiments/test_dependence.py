"""Settings of the experiment on dependent rows: each makes calibrated data that the test takes."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "dependence"

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


def script(name):
    """A fixture: one script of the folder, imported from there; afterwards nothing of it is left."""

    @pytest.fixture(scope="module", name=name)
    def loaded():
        sys.path.insert(0, str(FOLDER))
        try:
            spec = importlib.util.spec_from_file_location(f"dependence_{name}", FOLDER / f"{name}.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            yield module
        finally:
            sys.path.remove(str(FOLDER))
            sys.modules.pop("settings", None)

    return loaded


run, power, compare, coverage, thinned = map(script, ("run", "power", "compare", "coverage", "thinned"))


def test_there_are_thirty_settings(run):
    assert len(run.SETTINGS) >= 30


@pytest.mark.slow
def test_every_setting_has_pvalues(run):
    for name in run.SETTINGS:
        found = np.array([run.one(name, number) for number in range(2)])
        kept = found[~np.isnan(found[:, 0])]
        assert ((kept[:, [0, 2]] > 0) & (kept[:, [0, 2]] <= 1)).all(), name
        assert ((kept[:, 1] > 0) | np.isnan(kept[:, 1])).all(), name


def test_power_is_told_beside_an_oracle_and_the_test_of_independent_rows(power):
    assert set(power.SETTINGS) == {*power.INDEPENDENT, *power.OVERLAPS, *power.CLUSTERS}
    for name in ("events, slope, n 200, independent, horizon 8", "events, slope, 20 x 10, rho 0"):
        own, oracle, thinned, alone = power.one(name, 0)
        assert np.isnan(thinned) == (name in power.CLUSTERS)
        assert max(own, oracle, alone) <= 0.05


@pytest.mark.slow
def test_a_horizon_costs_little_where_rows_are_independent(power):
    name = "events, shift, n 200, independent, horizon 8"
    p = np.array([power.one(name, number) for number in range(60)])
    lost = ((p[:, 3] <= 0.05).astype(float) - (p[:, 0] <= 0.05)).mean()
    assert lost <= 0.05 + 2 / np.sqrt(60) * 0.2


@pytest.mark.slow
def test_clusters_keep_the_power_of_an_oracle(power):
    p = np.array([power.one("events, slope, 20 x 10, rho 0.3", number) for number in range(60)])
    assert (p[:, 0] <= 0.05).mean() >= (p[:, 1] <= 0.05).mean() - 0.1


def test_measures_of_two_models_have_pvalues(compare):
    assert len(compare.LEVEL) >= 20
    for name in ("events, AR .9, h 8, n 200", "numbers, 20 x 10, rho .8", "quantiles, MA, h 6, n 200"):
        found = compare.one(name, 0)
        assert {"CKCE", "SKCE", "independent"} < set(found)
        assert all(0 < p <= 1 for p in found.values())


@pytest.mark.slow
def test_level_of_two_models_that_err_alike(compare):
    for name in ("events, AR .9, h 24, n 400", "numbers, 15 x 10, rho .5, unequal"):
        found = [compare.one(name, number) for number in range(60)]
        for measure in ("CKCE", "SKCE", "log score"):
            assert sum(p[measure] <= 0.05 for p in found) <= binom.ppf(0.999, 60, 0.075), (name, measure)


def test_there_are_twelve_settings_with_many_clusters_or_stretches(coverage):
    many = [name for name, (_, design, _) in coverage.SETTINGS.items() if design not in coverage.FEW]
    assert len(many) >= 12
    assert {name for name, _, _ in coverage.SETTINGS.values()} == set(coverage.WRONG)


@pytest.mark.slow
def test_intervals_of_every_setting_hold_the_truth_more_often_than_not(coverage, monkeypatch):
    monkeypatch.setattr(coverage, "truth", lambda name, design, wrong: (0.0, 0.0, 0.0))
    monkeypatch.setattr(coverage, "DRAWS", 99)
    held = []
    for name, (_, _, wrong) in coverage.SETTINGS.items():
        if not wrong:
            found = coverage.held(name, 0)
            assert not found or {"root", "bootstrap", "ball", "score", "equivalence", "width"} <= set(found), name
            held.append(found.get("root", 1.0))
    assert np.mean(held) >= 0.8


@pytest.mark.slow
def test_thinned_clusters_of_every_setting_are_tested(thinned):
    found = np.array([thinned.one(name, False, 0) for name in list(thinned.SETTINGS)[::3]])
    assert found.shape[1] == 3
    assert found[:, 0].sum() <= 1
