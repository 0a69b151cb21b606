"""What tutorials show of commands is what they print; notebooks are made from them, and run, as the gallery does."""

import csv
import json
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest

from kernelcal.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(path.stem for path in (DOCS / "tutorials").glob("*.rst") if path.stem != "index"), "index"]
SCRIPTS = sorted(path.stem for path in (DOCS / "gallery").glob("*.py"))
NOTEBOOKS = sorted(path.stem for path in (DOCS / "notebooks").glob("*.ipynb"))
CONSOLE = re.compile(r"code-block:: console\n\n((?:   .*\n|\n)+)")
SLOW = {("clinical_risk", 1), ("language_models", 1), ("classes", 0), ("classes", 1), ("index", 0)}


def blocks(page):
    """Commands of a tutorial, or of the first page, with what they print; those that install are left out."""
    path = DOCS / ("index.rst" if page == "index" else f"tutorials/{page}.rst")
    found = CONSOLE.findall(path.read_text(encoding="utf-8"))
    return [block for block in found if block.lstrip().startswith("$ kernelcal")]


SHOWN = [(page, k) for page in PAGES for k in range(len(blocks(page)))]


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize(
    ("page", "k"), [pytest.param(*one, marks=pytest.mark.slow) if one in SLOW else one for one in SHOWN]
)
def test_the_page_shows_what_is_printed(page, k, tmp_path, monkeypatch, capsys):
    command, *shown = [line[3:] for line in blocks(page)[k].rstrip().split("\n")]
    for path in (ROOT / "examples").glob("*.csv"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    status = main(shlex.split(command)[2:])
    assert status == (command.split()[2] == "monitor")  # an alarm
    printed = capsys.readouterr().out
    for part in re.split(r"\.\.\.", "\n".join(shown)):
        assert part.strip("\n ") in printed


def test_the_pages_have_commands():
    assert len(SHOWN) == 11


def made(name):
    return runpy.run_path(str(DOCS / "make_notebooks.py"))["notebook"](name)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_those_of_their_pages(name):
    text = (DOCS / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    assert json.loads(text) == made(name), "python docs/make_notebooks.py makes them anew"


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_run(name, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(DOCS / "notebooks")
    names, commands, codes = {}, 0, 0
    for cell in made(name)["cells"]:
        source = "".join(cell["source"])
        if source.startswith("!"):
            assert main(shlex.split(source)[1:]) == 0
            commands += 1
        elif cell["cell_type"] == "code":
            exec(compile(source, name, "exec"), names)
            codes += 1
    assert commands >= 1
    assert codes >= 4
    assert Path.cwd() == ROOT
    plt.close("all")


def test_three_tutorials_are_notebooks():
    assert NOTEBOOKS == ["classes", "forecasts", "simulation_based_inference"]
    text = (DOCS / "tutorials" / "index.rst").read_text(encoding="utf-8")
    assert all(f"notebooks/{name}.ipynb" in text for name in NOTEBOOKS)


QUICK = {"null", "pit", "quantile_curve", "levels", "ranks"}


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    "name", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in SCRIPTS]
)
def test_scripts_of_the_gallery_draw(name, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(ROOT)
    ax = runpy.run_path(str(DOCS / "gallery" / f"{name}.py"))["ax"]
    assert ax.has_data()
    plt.close(ax.figure)


def test_every_script_of_the_gallery_has_its_picture_and_its_place():
    page = (DOCS / "gallery.rst").read_text(encoding="utf-8")
    with (DOCS / "tables" / "commands.csv").open(encoding="utf-8") as stream:
        commands = dict(csv.reader(stream))
    assert len(SCRIPTS) == 18
    for name in SCRIPTS:
        picture = f"images/gallery_{name}.png"
        assert (DOCS / picture).exists()
        assert commands[f"docs/{picture}"] == "python docs/make_gallery.py"
        assert page.count(f":: {picture}") == 2
        assert f".. _picture-{name.replace('_', '-')}:" in page
        assert f":: gallery/{name}.py" in page


def test_real_examples_are_those_of_their_script(tmp_path):
    cut = runpy.run_path(str(ROOT / "examples" / "cut_real.py"))
    cut["write"].__globals__["HERE"] = tmp_path
    for name in ("rain", "stated_confidence", "covid_quantiles"):
        cut[name]()
        assert (tmp_path / f"{name}.csv").read_bytes() == (ROOT / "examples" / f"{name}.csv").read_bytes()


def test_examples_are_described():
    described = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples").iterdir():
        if path.is_file() and path.name != "README.md":
            assert f"`{path.name}`" in described, path.name
