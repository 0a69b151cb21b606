"""Short versions of experiments/power/groups.py and given.py, and of experiments/explain/differences.py."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDERS = Path(__file__).resolve().parents[2] / "experiments"

if not FOLDERS.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture
def script():
    """A function that imports a script from its folder; afterwards nothing of it is left."""
    with pytest.MonkeyPatch.context() as patch:

        def load(folder, name):
            patch.syspath_prepend(FOLDERS / folder)
            for own in ("common", name):
                patch.delitem(sys.modules, own, raising=False)
            return importlib.import_module(name)

        yield load
    for name in ("common", "groups", "given", "simulated", "differences"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_power_of_groups(script):
    power = script("power", "groups")
    found, _ = power.shares("four classes, power 1.3, all of three", 2)
    whole, kernel, alone = found
    assert whole >= kernel
    assert 0 <= alone <= 1
    header, row = power.table(2, ["binary, slope .5, one of five"], tell=lambda *a, **o: None)
    assert header[3:6] == ["whole family", "kernel error alone", "each group by itself, Bonferroni"]
    assert row[:3] == ["binary, slope .5, one of five", 5, 200]


@pytest.mark.slow
def test_power_given_columns(script, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))  # the script adds the folder of its data
    power = script("power", "given")
    name = "product of 2 numbers, 400 rows"
    given, _, _, regression = power.shares(name, 6)
    assert given >= 0.5 > regression  # main effects alone say nothing of a product
    header, row = power.table(1, [name], tell=lambda *a, **o: None)
    assert header[1:4] == ["data sets", "given the columns", "without"]
    assert row[0] == name
    for name, draw in power.ALTERNATIVES.items():
        y, batch, columns = draw(np.random.default_rng(0))
        assert len(y) == len(batch) == len(next(iter(columns.values())))
        assert power.TESTS["regression on the columns"](y, batch, columns, 1) <= 1, name


def test_differences_of_groups(script):
    differences = script("explain", "differences")
    data = differences.DIFFERENT["one narrow 1.4"]
    assert differences.share_rejected("one narrow 1.4", data, 2000, 10, "unequal", 4) >= 0.5
    rng = np.random.default_rng(0)
    for family in (differences.COMMON, differences.DIFFERENT):
        for data in family.values():
            y, batch = data(rng, differences.groups_of(rng, 60, 3, "unequal"))
            assert len(y) == len(batch) == 60


def test_a_short_run_writes_its_table_too(script, monkeypatch, tmp_path):
    """Where to is for `outputs` to say: a scratch folder, in which there is no table whose other rows could stay."""
    common, differences = script("power", "common"), script("explain", "differences")
    monkeypatch.setattr(sys, "argv", ["given.py", "--sets", "3"])
    common.by_itself("Power.", lambda sets: [["data sets"], [sets]], tmp_path / "own.csv", 200)
    assert (tmp_path / "own.csv").read_text() == "data sets\n3\n"
    made = [["miscalibration", "200 rows"], ["common: calibrated binary", "0.050"]]
    monkeypatch.setattr(differences, "TABLE", tmp_path / "differences.csv")
    assert differences.written(made) == made
    differences.TABLE.write_text("miscalibration,200 rows\ncommon: bias +.5,0.040\n")
    assert differences.written(made) == [*made, ["common: bias +.5", "0.040"]]
