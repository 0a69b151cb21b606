"""Settings of the experiment on dependent rows: each makes calibrated data that the test takes."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "dependence"

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def run():
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("dependence_run", FOLDER / "run.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("settings", None)


def test_there_are_thirty_settings(run):
    assert len(run.SETTINGS) >= 30


@pytest.mark.slow
def test_every_setting_has_pvalues(run):
    for name in run.SETTINGS:
        found = np.array([run.one(name, number) for number in range(2)])
        kept = found[~np.isnan(found[:, 0])]
        assert ((kept[:, [0, 2]] > 0) & (kept[:, [0, 2]] <= 1)).all(), name
        assert ((kept[:, 1] > 0) | np.isnan(kept[:, 1])).all(), name
