"""What the pages about language models and survival show of commands is what they print."""

import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest

from kernelcal.cli import main

ROOT = Path(__file__).parents[2]
FILES = ("answers.jsonl", "sampled.csv", "cohort.csv")


def blocks(page):
    text = (ROOT / "docs" / "howto" / f"{page}.rst").read_text(encoding="utf-8")
    return re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", text)


SHOWN = [(page, number) for page in ("language_models", "survival") for number in range(len(blocks(page)))]
SLOW = ("language_models", 3)


@pytest.mark.parametrize(
    ("page", "number"), [pytest.param(*one, marks=pytest.mark.slow) if one == SLOW else one for one in SHOWN]
)
@pytest.mark.quick_cases(1)
def test_the_page_shows_what_is_printed(page, number, tmp_path, monkeypatch, capsys):
    command, *shown = [line[3:] for line in blocks(page)[number].rstrip().split("\n")]
    if "--curve" in command:
        pytest.importorskip("matplotlib")
    if "-o " in command:
        pytest.importorskip("matplotlib")
        pytest.importorskip("jinja2")
    for name in FILES:
        shutil.copy(ROOT / "examples" / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[2:]) == 0
    printed = capsys.readouterr().out
    for part in re.split(r"\.\.\.", "\n".join(shown)):
        assert part.strip("\n ") in printed


def test_the_pages_have_commands():
    assert len(SHOWN) == 7


@pytest.mark.parametrize("script", ["make_answers", "make_cohort"])
def test_the_examples_are_those_of_their_scripts(script, tmp_path):
    copy = tmp_path / f"{script}.py"
    shutil.copy(ROOT / "examples" / f"{script}.py", copy)
    runpy.run_path(str(copy), run_name="__main__")
    for made in {path.name for path in tmp_path.iterdir()} - {copy.name}:
        found, expected = (re.split(r"[,\n]", (place / made).read_text()) for place in (tmp_path, ROOT / "examples"))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one == other or one_digit_apart(one, other), (one, other)


def one_digit_apart(one, other):
    """Numbers that differ by one in the last of at least three digits behind the point: processors round exp apart."""
    places = [len(x.partition(".")[2]) for x in (one, other)]
    return min(places) >= 3 and abs(float(one) - float(other)) < 1.001 * 10.0 ** -max(places)
