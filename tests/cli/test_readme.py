"""What README shows of the first command is what the command prints."""

import re
from pathlib import Path

from kernelcal.cli import main

ROOT = Path(__file__).parents[2]


def test_readme_shows_what_the_first_command_prints(capsys, monkeypatch):
    readme = (ROOT / "README.md").read_text()
    command, shown = re.search(r"kernelcal (evaluate \S+)\n```\n\n```text\n(.*?)```", readme, re.DOTALL).groups()
    monkeypatch.chdir(ROOT)
    assert main(command.split()) == 0
    assert without_time(capsys.readouterr().out) == without_time(shown)


def without_time(text):
    return re.sub(r"(seconds +)[0-9.]+", r"\1", text).strip()
