"""What the page about clinical prediction models shows of commands is what they print."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from kernelcal.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "clinical.rst").read_text(encoding="utf-8")
BLOCKS = re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", PAGE)


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_page_shows_what_is_printed(block, tmp_path, monkeypatch, capsys):
    command, *shown = [line[3:] for line in block.rstrip().split("\n")]
    shutil.copy(ROOT / "examples" / "biopsies.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[2:]) == ("--fail-above" in command)
    printed = capsys.readouterr().out
    for part in re.split(r"^\.\.\.$", "\n".join(shown), flags=re.MULTILINE):
        assert part.strip("\n") in printed


def test_the_page_has_commands():
    assert len(BLOCKS) == 3
