"""The experiment on vectors and ranks in a short form: levels are kept, and wrong dependence is seen by pre-ranks."""

import csv
from pathlib import Path

import numpy as np
import pytest

from kernelcal.ranks import vectors_test

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run(load):
    return load("vectors/run.py")


def test_wrong_dependence_is_seen_by_pre_ranks(run):
    wrong = run.WRONG["correlation 0.6 in place of 0.3"]
    data = [run.forecasts(np.random.default_rng(k), wrong) for k in range(3)]
    assert all(vectors_test(y, draws, draws=99).fired in ("spread", "dependence", "variogram") for y, draws in data)


@pytest.mark.parametrize("name", ["ranks, 30 simulations, L = 9", "vectors, 30 rows, 2 draws"])
def test_settings_of_levels_are_calibrated(run, name):
    p = [run.LEVELS[name](np.random.default_rng(k), k) for k in range(20)]
    assert np.mean(np.array(p) <= 0.2) <= 0.6


@pytest.mark.slow
def test_every_setting_runs(run):
    lines, high = run.levels(2)
    assert len(lines) == 1 + len(run.LEVELS)
    assert isinstance(high, list)
    lines = run.power(1)
    assert [line[0] for line in lines[1:]] == list(run.WRONG)


def test_tables_have_all_settings(run):
    tables = ROOT / "docs" / "tables"
    for name, settings in (("vectors_power.csv", run.WRONG), ("vectors_level.csv", run.LEVELS)):
        with (tables / name).open(newline="") as stream:
            assert [line[0] for line in list(csv.reader(stream))[1:]] == list(settings)
