"""What the page about recalibration shows of commands is what they print."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from kernelcal.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "recalibrate.rst").read_text(encoding="utf-8")
BLOCKS = re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", PAGE)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("block", BLOCKS, ids=["forecasts", "answers"])
def test_the_page_shows_what_is_printed(block, tmp_path, monkeypatch, capsys):
    command, *shown = [line[3:] for line in block.rstrip().split("\n")]
    for name in ("temperatures.csv", "answers.jsonl"):
        shutil.copy(ROOT / "examples" / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[2:]) == 0
    printed = capsys.readouterr().out
    for part in re.split(r"^\.\.\.$", "\n".join(shown), flags=re.MULTILINE):
        assert part.strip("\n") in printed
