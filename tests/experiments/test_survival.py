"""Settings of the experiment on survival: each makes data that all tests take."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def run(load):
    return load("survival/run.py")


def test_every_setting_has_pvalues(run):
    for name in run.WRONG:
        found = np.array(run.one(name, 60, run.RATES[30], 0))
        assert found.shape == (len(run.NAMES) + 1,)
        assert ((found[:-1] > 0) & (found[:-1] <= 1)).all(), name


def test_settings_are_censored_and_wrong_as_they_say(run):
    rng = np.random.default_rng(0)
    for percent, rate in run.RATES.items():
        seen, _ = run.data("nothing", 4000, rate, rng)
        assert 100 * (1 - seen.event.mean()) == pytest.approx(percent, abs=8)
        assert seen.event.sum() == pytest.approx(seen.hazard.sum(), abs=4 * np.sqrt(seen.event.sum() + 1))
    seen, _ = run.data("hazard x 1.25", 4000, run.RATES[30], rng)
    assert seen.event.sum() / seen.hazard.sum() == pytest.approx(1.25, abs=0.1)
    seen, ends = run.data("nothing, censoring by risk", 4000, run.RATES[30], rng)
    assert np.corrcoef(np.log(np.asarray(seen.law.scale)), np.log(ends))[0, 1] < -0.3
