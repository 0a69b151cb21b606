"""What the pages about cited measures and about forecasts show of commands is what they print."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from kernelcal.cli import main

ROOT = Path(__file__).parents[2]
FILES = ("digits_naive_bayes.csv", "temperatures.csv")
PAGES = {
    name: (ROOT / "docs" / "howto" / f"{name}.rst").read_text(encoding="utf-8")
    for name in ("cited_measures", "forecast_verification")
}
BLOCKS = [
    (name, block)
    for name, page in PAGES.items()
    for block in re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", page)
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{name} {k}" for k, (name, _) in enumerate(BLOCKS)])
def test_the_page_shows_what_is_printed(page, block, tmp_path, monkeypatch, capsys):
    command, *shown = [line[3:] for line in block.rstrip().split("\n")]
    for name in FILES:
        shutil.copy(ROOT / "examples" / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[2:]) == 0
    printed = capsys.readouterr().out
    for part in re.split(r"^\.\.\.$", "\n".join(shown), flags=re.MULTILINE):
        assert part.strip("\n") in printed


def test_the_pages_have_commands():
    assert [name for name, _ in BLOCKS] == ["cited_measures"] * 2 + ["forecast_verification"] * 2
