"""The experiment on the monitor, with few short streams."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "monitor"

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def run():
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("monitor_run", FOLDER / "run.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("settings", None)


@pytest.mark.slow
def test_calibrated_streams_raise_no_alarm_and_clusters_do(run, monkeypatch):
    monkeypatch.setattr(run, "ROWS", 400)
    lines = {line[0]: line for line in run.false_alarms(1)}
    assert set(lines) == {*run.CALIBRATED, *run.BROKEN}
    assert sum(float(lines[name][3]) for name in run.CALIBRATED) <= 1
    assert lines["clusters of ten"][3] == "1.000"
    assert lines["clusters of ten"][4] == ""


def test_streams_that_are_wrong_are_found_sooner_the_worse_they_are(run):
    mild, bad = (
        run.rows_to_alarm(run.WRONG[f"two classes, slope {slope}"], np.random.default_rng(1), 2000, run.Monitor())
        for slope in (0.7, 0.5)
    )
    assert bad < mild < 2000
    assert run.rows_to_alarm(run.CALIBRATED["numbers"][0], np.random.default_rng(1), 500, run.MapsAlone()) == np.inf


@pytest.mark.slow
def test_the_size_of_the_fixed_test_lies_between_those_that_were_tried(run, monkeypatch):
    monkeypatch.setattr(run, "SIZES", (4, 300))
    found = run.size_of_the_fixed_test(run.WRONG["two classes, slope 0.5"], 6)
    assert 4 < float(found) <= 300
    monkeypatch.setattr(run, "SIZES", (5,))
    assert run.size_of_the_fixed_test(run.CALIBRATED["numbers"][0], 6) == "> 5"


def test_detectors_of_the_loss_call_harder_cases_drift_and_the_monitor_does_not(run, monkeypatch):
    monkeypatch.setattr(run, "CHANGES", {name: run.CHANGES[name] for name in ("calibrated, cases get harder",)})
    monkeypatch.setattr(run, "ROWS", 1000)
    lines = {line[1]: line for line in run.changes(1, at=500)}
    assert lines["monitor, ever"][3:5] == ["0.00", "0.00"]
    if "ADWIN" in lines:  # river is installed
        assert lines["ADWIN"][3:5] == ["0.00", "1.00"]


@pytest.mark.slow
def test_run_lengths_are_counted_to_the_end(run, monkeypatch):
    monkeypatch.setattr(run, "SHORT", 100)
    monkeypatch.setattr(run, "LONG", 1000)
    for line in run.run_lengths(2):
        assert line[1:3] == [2, 100]
        assert 1 <= float(line[3]) <= 1000
