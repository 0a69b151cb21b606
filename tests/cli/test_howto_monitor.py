"""What the page about watching predictions shows of commands is what they print, with their exit statuses."""

import re
import runpy
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "monitor.rst").read_text(encoding="utf-8")
BLOCKS = re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", PAGE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("parcels")
    shutil.copy(ROOT / "examples" / "make_days.py", made)
    runpy.run_path(str(made / "make_days.py"), run_name="__main__")
    return made


def test_the_page_shows_what_is_printed(folder, monkeypatch, capsys):
    """The commands follow each other: the days, the alarm, the same day again."""
    monkeypatch.chdir(folder)
    for block, status in zip(BLOCKS, (0, 1, 0), strict=True):
        command, *shown = [line[3:] for line in block.rstrip().split("\n")]
        assert main(shlex.split(command)[2:]) == status
        printed = capsys.readouterr().out
        for part in re.split(r"^\.\.\.$", "\n".join(shown), flags=re.MULTILINE):
            assert part.strip("\n") in printed


def test_the_program_of_the_page_finds_the_change(folder, monkeypatch, capsys):
    days = {}
    for day in range(1, 9):
        risk, late = np.loadtxt(folder / f"day{day}.csv", delimiter=",", skiprows=1).T
        days[f"day{day}.csv"] = late.astype(int), risk
    program = re.search(r"code-block:: python\n\n((?:   .*\n|\n)+)", PAGE)[1]
    monkeypatch.chdir(folder)
    exec("\n".join(line[3:] for line in program.split("\n")), {"days": days})
    assert "day5.csv" in capsys.readouterr().out
    began, low, high = kc.Monitor.load("state.npz").changepoint
    assert low <= 1000 <= high
    assert abs(began - 1000) < 100
