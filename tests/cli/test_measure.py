"""``kernelcal measure``: tables, gates, messages, the picture."""

import json

import numpy as np
import pytest

from kernelcal.cli import main


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    r = np.random.default_rng(0)
    p = r.uniform(0.05, 0.6, 240)
    y = (r.random(240) < p**1.5).astype(int)
    path = tmp_path_factory.mktemp("measure") / "risk.csv"
    rows = [f"{y[i]},{p[i]:.4f},{'ab'[i % 2]},{i // 3}" for i in range(240)]
    path.write_text("\n".join(["y,p,site,patient", *rows]))
    return path


def run(capsys, *arguments):
    status = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


READ = ("--target", "y", "--predictions", "p", "--draws", "99")


def test_it_prints_the_table_with_groups(table, capsys):
    status, out, _ = run(capsys, "measure", table, *READ, "--measures", "slope,oe", "--groups", "site")
    assert status == 0
    assert "calibration slope " in out
    assert "observed to expected, site b" in out
    assert "expected if" in out


def test_json_holds_all_of_it(table, capsys):
    status, out, _ = run(capsys, "measure", table, *READ, "--measures", "clinical", "--clusters", "patient", "--json")
    found = json.loads(out)
    assert status == 0
    assert found["law"].endswith("dependent inside 80 clusters")
    assert {"value", "interval", "expected", "pvalue", "ideal"} <= set(found["measures"][0])


def test_gates_look_at_pvalues_and_at_how_far_intervals_are(table, capsys):
    status, out, _ = run(capsys, "measure", table, *READ, "--measures", "oe", "--fail-below", "0.05")
    assert status == 1
    assert "risk.csv: p = 0.02 is below 0.05" in out
    status, _, err = run(capsys, "measure", table, *READ, "--measures", "oe", "--fail-below", "0.01", "--draws", "150")
    assert status == 2  # a single measure is tested on both sides
    assert "--draws 150 make no p-value below 0.0132" in err
    grouped = ("measure", table, *READ[:4], "--measures", "oe,slope", "--groups", "patient", "--fail-below", "0.006")
    status, _, err = run(capsys, *grouped, "--draws", "999")
    assert status == 2
    assert "would never say no to a group: say --draws 1,334 or more" in err
    assert run(capsys, *grouped, "--json")[0] == 1
    status, out, _ = run(capsys, "measure", table, *READ, "--measures", "oe,auroc", "--fail-above", "0.05")
    assert status == 1
    assert "risk.csv, observed to expected: the error is at least 0." in out
    status, _, _ = run(capsys, "measure", table, *READ, "--measures", "oe", "--fail-above", "0.9")
    assert status == 0
    status, _, err = run(capsys, "measure", table, *READ, "--measures", "auroc", "--fail-above", "0.9")
    assert status == 2
    assert "none of the measures has an interval and a value that calibrated predictions have" in err


def test_wrong_names_are_said_before_the_file_is_opened(capsys):
    status, _, err = run(capsys, "measure", "nowhere.csv", "--measures", "slop")
    assert status == 2
    assert "measures: 'slop' is none of" in err


def test_the_picture_is_written_and_several_tables_have_none(table, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("agg")
    picture = tmp_path / "m.png"
    status, out, _ = run(capsys, "measure", table, *READ, "--measures", "oe", "--plot", picture)
    assert status == 0
    assert picture.stat().st_size > 1000
    assert f"wrote {picture}" in out
    status, _, err = run(capsys, "measure", table, table, *READ, "--plot", picture)
    assert status == 2
    assert "draws one table, got 2 files" in err
