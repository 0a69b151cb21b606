"""A folder, or a glob in quotes, where a command takes files: the newer commands read what the older ones read."""

import json

import numpy as np
import pytest

from kernelcal.cli import main


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """Two files in a folder, and one of the same rows."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.05, 0.95, 80)
    rows = [f"{int(rng.random() < x)},{x:.3f}\n" for x in p]
    (tmp_path / "days").mkdir()
    for name, some in [("days/1.csv", rows[:30]), ("days/2.csv", rows[30:]), ("whole.csv", rows)]:
        (tmp_path / name).write_text("y,p\n" + "".join(some))
    monkeypatch.chdir(tmp_path)


def printed(capsys, line):
    assert main(line.split()) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["days", "days/*.csv"])
def test_a_map_of_a_folder_is_that_of_one_table(parts, name, capsys):
    pytest.importorskip("pyarrow")  # which reads files in parts
    found = printed(capsys, f"recalibrate {name} --method platt --draws 19 --json")
    whole = printed(capsys, "recalibrate whole.csv --method platt --draws 19 --json")
    assert {**found, "read": ""} == {**whole, "read": ""}
    assert main(f"recalibrate {name} -o fixed.csv".split()) == 2
    assert "stands for several" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["days", "days/*.csv"])
def test_a_folder_is_a_batch_a_file_and_its_state_is_none(parts, name, capsys):
    for state in ("a.npz", "days/state.npz"):
        found = printed(capsys, f"monitor {name} --state {state} --json")
        assert found["rows"] == 80
        assert [line["key"] for line in found["batches"]] == ["1.csv", "2.csv"]
        assert printed(capsys, f"monitor {name} --state {state} --json")["rows"] == 80


def test_a_folder_is_a_result_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trials").mkdir()
    rows = "".join(f"{1 + k / 9},{k % 4 > 0:d},0.7,0.4\n" for k in range(24))
    for name in "ab":
        (tmp_path / "trials" / f"{name}.csv").write_text("time,event,S_1,S_3\n" + rows)
    found = printed(capsys, "survival trials --survival S_* --draws 19 --json")
    assert [one["read"].split(":")[0] for one in found] == ["read trials/a.csv", "read trials/b.csv"]
