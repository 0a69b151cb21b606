"""What the page about dependent rows shows of commands is what they print."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from kernelcal.cli import main

ROOT = Path(__file__).parents[2]
FILES = {"answers.csv": "llm_confidence/two_models.csv", "forecasts.csv": "scoringutils/ensemble_forecasts.csv"}
PAGE = (ROOT / "docs" / "howto" / "dependent_rows.rst").read_text(encoding="utf-8")
BLOCKS = re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", PAGE)


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_page_shows_what_is_printed(block, tmp_path, monkeypatch, data_folder, capsys):
    command, *shown = [line[3:] for line in block.rstrip().split("\n")]
    for name, path in FILES.items():
        shutil.copy(data_folder / path, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[2:]) == 0
    printed = capsys.readouterr().out
    for part in re.split(r"^\.\.\.$", "\n".join(shown), flags=re.MULTILINE):
        assert part.strip("\n") in printed


def test_the_page_has_commands():
    assert len(BLOCKS) == 5
