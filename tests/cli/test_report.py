"""``kernelcal report``: files to a page."""

import json
import shlex
import sys

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two models and a column of groups in one csv, and the first model alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    rng = np.random.default_rng(0)
    p = rng.uniform(size=80)
    y = kc.Bernoulli(p).sample(rng)[0]
    site = rng.choice(["north", "<b>south</b>", ""], 80)
    one = [f"{a:.6f},{b},{s},{k}" for k, (a, b, s) in enumerate(zip(p, y, site, strict=True))]
    (tmp_path / "one.csv").write_text("\n".join(["p,y,site,case", *one]) + "\n")
    two = [line.replace(line.split(",")[0], f"{float(line.split(',')[0]) ** 2:.6f}", 1) for line in one]
    (tmp_path / "two.csv").write_text("\n".join(["p,y,site,case", *two[::-1]]) + "\n")
    return tmp_path


def run(text):
    return main([*shlex.split(text), "--draws", "99"])


@pytest.mark.slow
def test_one_file(folder, capsys):
    assert run("report one.csv --groups site --title 'Sites & <i>more</i>' -o page.html") == 0
    out = capsys.readouterr().out
    assert out.startswith("read one.csv: 80 rows")
    assert out.endswith("wrote page.html\n")
    assert "\nwhat to do: " in out
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Sites &amp; &lt;i&gt;more&lt;/i&gt;" in page
    assert "site: &lt;b&gt;south&lt;/b&gt;" in page
    assert "site: missing" in page  # an empty cell is a group of its own
    assert "read one.csv: 80 rows" in page
    assert "kernelcal report one.csv --groups site" in page
    assert "1970-01-01" in page


@pytest.mark.slow
def test_the_same_bytes_twice_and_an_old_page_is_replaced(folder, capsys):
    assert run("report one.csv -o page.html") == 0
    first = (folder / "page.html").read_bytes()
    (folder / "page.html").write_text("old")
    assert run("report one.csv -o page.html") == 0
    assert (folder / "page.html").read_bytes() == first
    assert sorted(path.name for path in folder.iterdir()) == ["one.csv", "page.html", "two.csv"]


@pytest.mark.slow
def test_two_files_whose_rows_are_in_another_order(folder, capsys):
    assert run("report one.csv two.csv --row-id case --groups site -o page.html --json") == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert [model["name"] for model in found["models"]] == ["one", "two"]
    assert found["comparison"]["n"] == 80
    assert found["path"] == "page.html"
    assert {g["name"] for g in found["models"][1]["evaluation"]["groups"]["findings"]} == {
        "north",
        "<b>south</b>",
        "missing",
    }
    assert "wrote page.html" in captured.err


@pytest.mark.slow
def test_groups_of_numbers_and_of_long_tables(folder, capsys):
    rng = np.random.default_rng(0)
    lines = ["date,place,observed,quantile_level,predicted"]
    for k in range(40):
        middle = rng.normal()
        outcome = middle + rng.normal()
        lines += [f"{k},{'ab'[k % 2]},{outcome},{t},{middle + s}" for t, s in ((0.1, -1.28), (0.5, 0), (0.9, 1.28))]
    (folder / "long.csv").write_text("\n".join(lines))
    assert run("report long.csv --long --groups place -o long.html") == 0
    assert "place: a" in (folder / "long.html").read_text(encoding="utf-8")
    assert run("report long.csv --long --groups planet -o long.html") == 2
    assert "--groups planet: the columns that tell predictions apart are date, place" in capsys.readouterr().err
    wide = ["mean,std,y,place"] + [f"{k % 7},1,{k % 7 + rng.normal()},{'ab'[k % 2]}" for k in range(40)]
    (folder / "wide.csv").write_text("\n".join(wide))
    assert run("report wide.csv --mean mean --std std --groups place -o wide.html") == 0
    assert "place: b" in (folder / "wide.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("report one.csv -o page.pdf", "its name ends in .html or .htm, got page.pdf"),
        ("report one.csv -o missing/page.html", "there is no folder missing"),
        ("report one.csv --groups planet", "'planet'"),
        ("report one.csv two.csv --weights case", "takes no case weights: leave out --weights"),
        ("report none.csv", "there is no such file"),
    ],
)
def test_what_is_refused(folder, capsys, command, text):
    assert run(command) == 2
    error = capsys.readouterr().err
    assert text in error
    assert len(error.splitlines()) == 1
    assert not list(folder.glob("*.html"))


def test_interrupted(folder, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["kernelcal.reporting.main"], "evaluated", interrupted)
    assert run("report one.csv -o page.html") == 130
    assert sorted(path.name for path in folder.iterdir()) == ["one.csv", "two.csv"]


def test_groups_by_the_outcome_are_refused(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("y,p\n" + "1,0.7\n0,0.2\n" * 20)
    assert main(["report", str(path), "-o", str(tmp_path / "a.html"), "--groups", "y"]) == 2
    assert "--groups y: this is the target, and groups of rows with one outcome" in capsys.readouterr().err


def with_columns(folder):
    rng = np.random.default_rng(3)
    age, site = rng.integers(18, 90, 600), rng.choice(["north", "west", ""], 600)
    day = np.datetime64("2024-01-01") + np.arange(600)
    p = rng.beta(2, 4, 600)
    y = rng.random(600) < p + np.where(site == "west", 0.3, 0.0)
    lines = [f"{a:.6f},{int(b)},{c},{d},{e}" for a, b, c, d, e in zip(p, y, age, site, day, strict=True)]
    (folder / "visits.csv").write_text("\n".join(["p,y,age,site,day", *lines]) + "\n")


@pytest.mark.slow
def test_columns_that_are_given_are_read_with_their_types(folder, capsys):
    with_columns(folder)
    assert run("test visits.csv --given age,site,day --json") == 0
    found = json.loads(capsys.readouterr().out)["given"]
    assert found["columns"] == ["age", "site", "day"]
    assert found["sentences"][0].startswith("where site is west, events are more frequent than predicted (0.")
    labels = {profile["column"]: profile["labels"] for profile in found["profiles"]}
    assert set(labels["site"]) == {"north", "west", "missing"}
    assert labels["day"][0].startswith("early (up to 2024-0")
    assert labels["age"][0].startswith("low (up to 2")
    assert run("evaluate visits.csv --given site") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Calibration is rejected" in out
    assert "Given the columns" in out
    assert (
        kc.evaluate("visits.csv", given=["site"], draws=99).test.given.sentences
        == kc.evaluate("visits.csv", given="site", draws=99).test.given.sentences
    )


@pytest.mark.slow
def test_a_page_tells_and_draws_what_columns_show(folder, capsys):
    with_columns(folder)
    assert run("report visits.csv --given age,site -o page.html") == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Where site is west, events are more frequent than predicted (0." in page
    assert "Places of the columns that were given, the surest first" in page
    assert "Given site" in page
    assert "It holds for all places of all columns together. 1 of 3 places lie outside." in page
    assert run("report one.csv --given site -o page.html") == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "places of the columns that were given can be named; that does not show" in page


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("test one.csv --given y", "--given y: this is the target, and given it nothing is left to be predicted"),
        ("test one.csv --given heigth", "heigth"),
        ("evaluate one.csv --given site --save sums.npz", "columns that are given are looked at with all rows at once"),
        (
            "report one.csv two.csv --row-id case --given site -o page.html",
            "given is for one model on a page, got several",
        ),
    ],
)
def test_columns_that_cannot_be_given_are_refused(folder, capsys, asked, words):
    assert run(asked) == 2
    assert words in capsys.readouterr().err
