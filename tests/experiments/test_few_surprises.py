"""Short version of experiments/few_surprises: the true errors, and the level where few outcomes surprise."""

import csv
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import kernelcal as kc

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "experiments" / "few_surprises"
PARTS = ("settings", "run")

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def scripts():
    """The experiment's modules, imported from their folder; afterwards nothing of them is left."""
    before = {name: sys.modules.pop(name) for name in PARTS if name in sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        patch.setenv("OMP_NUM_THREADS", "1")
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in PARTS})
    for name in PARTS:
        sys.modules.pop(name, None)
    sys.modules.update(before)


def of_kind(settings, words):
    return next(name for name in settings if words in name)


def test_there_are_settings_enough_of_every_kind(scripts):
    settings = scripts.settings
    assert len(settings.ONE) + len(settings.TWO) >= 40
    for words in (
        "2 classes",
        "100 classes",
        "weights",
        "counts",
        "numbers",
        "blocks",
        "one pass",
        "n = 10",
        "n = 1,000",
    ):
        assert of_kind(settings.ONE, words)
    for setting in (*settings.ONE.values(), *settings.TWO.values()):
        setting.draw(np.random.default_rng(0), setting.n)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    "words",
    [
        ".02, truth .0554",
        "Beta(1, 60) + .05",
        "wrong on one side",
        "10 classes, .999 sure of any",
        "3 classes, Dirichlet",
        "counts, Poisson 3",
        "outliers of 5 %",
    ],
)
def test_the_true_error_is_that_of_many_rows(scripts, words):
    setting = scripts.settings.ONE[of_kind(scripts.settings.ONE, words)]
    data = setting.draw(np.random.default_rng(1), 6000)
    found = float(setting.statistic(data.y, data.predictions))
    assert np.sqrt(max(found, 0)) == pytest.approx(data.truth, rel=0.15)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("words", "method"),
    [
        (".02, truth .0554", "root"),
        ("10 classes, .999 sure, right .93", "root"),
        ("counts, Poisson .05", "root"),
        ("blocks of 10, p", "block"),
        ("weights 1 and 5", "bootstrap"),
        ("one pass, p = .03", "sketch"),
        pytest.param("uniform + .1, n = 300", "root", marks=pytest.mark.slow),
        pytest.param("outliers of 5 %", "bootstrap", marks=pytest.mark.slow),
    ],
)
def test_the_level_at_the_bound_and_the_coverage(scripts, words, method):
    name, many = of_kind(scripts.settings.ONE, words), 40
    found = np.array([scripts.run.asked((name, method, 5000 + k)) for k in range(many)])
    assert (found[:, 0] <= 0.05).sum() <= binom.ppf(0.999, many, 0.05)
    assert found[:, 1:3].sum() <= binom.ppf(0.999, many, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["nearly sure, .002 apart, n = 60", "3 classes, .99 and .95", "five models of numbers, n = 10"]
)
def test_models_that_err_alike_are_not_told_apart(scripts, words):
    name, many = of_kind(scripts.settings.TWO, words), 25
    found = np.array([scripts.run.compared((name, 5000 + k)) for k in range(many)])
    assert ((found <= 0.05).sum(axis=0) <= binom.ppf(0.999, many, 0.05)).all()


def test_the_short_way_to_corrected_p_values_is_that_of_compare(scripts):
    setting = scripts.settings.TWO["risks .01 and .03 change places, n = 30"]
    place = list(scripts.settings.TWO).index("risks .01 and .03 change places, n = 30")
    y, models = setting.draw(np.random.default_rng([1000 + place, 3]), setting.n)
    result = kc.compare(y, {"0": models[0], "1": models[1]}, draws=199, rng=3)
    expected = [result.difference(m, "0", "1").adjusted for m in setting.measures]
    assert scripts.run.compared(("risks .01 and .03 change places, n = 30", 3)) == pytest.approx(expected, rel=1e-9)


def test_the_tables_hold_every_setting_and_no_level_is_broken(scripts):
    for name, settings in (
        ("few_surprises.csv", scripts.settings.ONE),
        ("few_surprises_paired.csv", scripts.settings.TWO),
    ):
        with open(ROOT / "docs" / "tables" / name) as stream:
            rows = list(csv.reader(stream))[1:]
        assert {row[0] for row in rows} == set(settings)
        for row in rows:
            assert float(row[3]) <= 0.07
    with open(ROOT / "docs" / "tables" / "few_surprises.csv") as stream:
        assert all(float(row[4]) >= 0.93 for row in list(csv.reader(stream))[1:])
