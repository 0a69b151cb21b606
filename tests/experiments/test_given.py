"""Short version of experiments/given: the settings, and that the test given columns keeps its level and has power."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "given"

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("given_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "given_run", module)
        patch.syspath_prepend(FOLDER)  # of what it simulates
        patch.delitem(sys.modules, "simulated", raising=False)
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        spec.loader.exec_module(module)
        yield module
    sys.modules.pop("simulated", None)


def named(script, words):
    return next(setting for setting in script.SETTINGS if words in setting.name)


def test_settings_have_the_probabilities_that_they_say(script):
    rng = np.random.default_rng(0)
    y, p, given = script.quick_start(200_000, 1.0, numbers=1)(rng)
    abroad = given["country"] == "US"
    assert (y - p)[abroad].mean() == pytest.approx(0.075, abs=0.005)
    assert (y - p)[~abroad].mean() == pytest.approx(-0.075, abs=0.005)
    assert (y - p)[given["content"] == "video"].mean() == pytest.approx(0.05, abs=0.005)
    assert abs((y - p)[given["surface"] == "feed"].mean()) < 0.005
    assert list(given) == ["country", "content", "surface", "number0"]
    y, p, given = script.logits(200_000, 2, shift=0.7)(rng)
    assert (y - p)[given["x0"] > 0].mean() > 0.1
    assert abs((y - p).mean()) < 0.005


@pytest.mark.slow
@pytest.mark.parametrize("words", ["300 rows, 7 columns, 0 of", "calibrated, 400 rows, 2"])
def test_level(script, words):
    found = [script.asked(named(script, words), 10_000 + number) for number in range(60)]
    for name in ("given", "place_named", "without"):
        assert binom.cdf(sum(f[name] for f in found) - 1, 60, 0.05) < 0.999


@pytest.mark.slow
def test_power(script):
    found = [script.asked(named(script, "sign of a column, 400 rows, 2"), 10_000 + number) for number in range(30)]
    assert sum(f["given"] for f in found) >= 25
    assert sum(f["without"] for f in found) <= 12
