"""What the pages about vectors and simulation-based inference show of commands is what they print."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from kernelcal.cli import main

ROOT = Path(__file__).parents[2]
PAGES = {
    name: (ROOT / "docs" / "howto" / f"{name}.rst").read_text("utf-8")
    for name in ("vector_forecasts", "simulation_based_inference")
}
BLOCKS = [block for page in PAGES.values() for block in re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", page)]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_pages_show_what_is_printed(block, tmp_path, monkeypatch, capsys):
    command, *shown = [line[3:] for line in block.rstrip().split("\n")]
    for name in ("wind.npz", "sbc_ranks.csv"):
        shutil.copy(ROOT / "examples" / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[2:]) == 0
    printed = capsys.readouterr().out
    for part in re.split(r"^\.\.\.$", "\n".join(shown), flags=re.MULTILINE):
        assert part.strip("\n") in printed


def test_the_pages_have_commands():
    assert len(BLOCKS) == 3


def test_the_files_are_made_by_the_script(tmp_path):
    scope = {"__file__": str(tmp_path / "make_ranks.py"), "__name__": "made"}
    exec((ROOT / "examples" / "make_ranks.py").read_text("utf-8"), scope)
    scope["main"]()
    assert (tmp_path / "sbc_ranks.csv").read_bytes() == (ROOT / "examples" / "sbc_ranks.csv").read_bytes()
    with np.load(tmp_path / "wind.npz") as made, np.load(ROOT / "examples" / "wind.npz") as shipped:
        for name in ("y", "samples"):
            np.testing.assert_allclose(made[name], shipped[name], atol=0.011)  # two digits, rounded
