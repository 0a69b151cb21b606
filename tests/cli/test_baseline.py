"""``kernelcal measure --baseline``: skill against what happened, and against forecasts in another file."""

import json
from pathlib import Path

import pytest

from kernelcal.cli import main

TABLE = Path(__file__).parents[2] / "examples" / "temperatures.csv"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Forecasts one day ahead of a month, and a wider one for the same rows."""
    folder = tmp_path_factory.mktemp("baseline")
    head, *rows = TABLE.read_text().splitlines()
    rows = [row for row in rows if ",1," in row.replace(row.split(",")[1] + ",", "", 1)][:120]
    (folder / "model.csv").write_text("\n".join([head, *rows]) + "\n")
    wide = [",".join([*row.split(",")[:-1], "4.0"]) for row in rows]
    (folder / "wide.csv").write_text("\n".join([head, *wide]) + "\n")
    return folder


def run(capsys, *arguments):
    status = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def found(capsys, files, *more):
    asked = ("--target", "observed", "--measures", "crps", "--draws", "19", "--json")
    status, out, err = run(capsys, "measure", files / "model.csv", *asked, *more)
    assert status == 0, err
    return json.loads(out)["skill, CRPS"]


def test_forecasts_of_another_file_are_the_baseline(files, capsys):
    other = found(capsys, files, "--baseline", files / "wide.csv", "--groups", "station")
    assert other["baseline"] == "wide"
    assert [row["group"] for row in other["rows"]] == ["", "hill", "valley"]
    assert 0 < other["rows"][0]["skill"] < 1


def test_a_climatology_of_each_station_is_harder_to_beat(files, capsys):
    every = found(capsys, files, "--baseline", "climatology", "--groups", "station")
    own = found(capsys, files, "--baseline", "climatology:station", "--groups", "station")
    assert own["baseline"] == "climatology by station"
    assert 0 < own["rows"][0]["skill"] < every["rows"][0]["skill"]


def test_refusals(files, capsys):
    asked = ("measure", files / "model.csv", "--target", "observed", "--draws", "19", "--measures", "crps")
    status, _, err = run(capsys, *asked, "--baseline", "climatology:place")
    assert status == 2
    assert "--baseline climatology:place names no column of --groups: add it, --groups place" in err
    status, _, err = run(capsys, asked[0], files / "wide.csv", *asked[1:], "--baseline", files / "wide.csv")
    assert status == 2
    assert "is compared with one file, got 2: measure each by itself, or say --baseline climatology" in err
    status, _, err = run(capsys, *asked, "--baseline", "nothing.csv")
    assert status == 2
    assert "nothing.csv" in err
