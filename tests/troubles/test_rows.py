"""Rows that are named have the numbers of the file, whatever was dropped from it: each is found there again."""

import json
import re

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.cli import main
from kernelcal.errors import naming_rows
from kernelcal.explanation import explained
from kernelcal.reporting import main as reporting
from kernelcal.runs import Run

DROPPED = (0, 3, 11)  # rows with a hole, before the row that is looked for
WRONG = 20


def table(path, columns, wrong=None, header=None):
    """A file of 60 rows, some with holes; `wrong` changes one row after them."""
    rows = [list(row) for row in zip(*columns, strict=True)]
    for row in DROPPED:
        rows[row][0] = ""
    if wrong is not None:
        rows[WRONG] = wrong
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(path)


def classes(path, wrong=("b", 0.7, 0.0, 0.3), seed=0):
    """Probabilities of three classes; in one row the class that happened had 0."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([2, 2, 2], 60).round(6)
    p[:, 2] = (1 - p[:, :2].sum(axis=1)).round(6)
    y = rng.choice(list("abc"), 60)
    return table(path, [y, *p.T], wrong, header="y,a,b,c")


def numbers(path, wrong=(1.0, 0.0, 0.001), seed=0):
    """Means and standard deviations; in one row the outcome lies a thousand of these away."""
    rng = np.random.default_rng(seed)
    return table(path, [rng.normal(size=60), np.zeros(60), np.ones(60)], wrong, header="y,mean,std")


DROP = ["--drop-missing", "--draws", "99"]


def printed(capsys, *said):
    """What a command prints, on one line, and the rows that it names."""
    status = main([*said, *DROP])
    both = capsys.readouterr()
    text = " ".join((both.out + both.err).split())
    return status, text, [int(row) for row in re.findall(r"\brow (\d+)", text)]


@pytest.mark.parametrize("command", ["evaluate", "test"])
def test_impossible_labels(tmp_path, capsys, command):
    path = classes(tmp_path / "classes.csv")
    _, text, rows = printed(capsys, command, path)
    assert rows == [WRONG]
    assert f"row {WRONG}: the label b had a predicted probability of exactly 0" in text
    assert f"{len(DROPPED)} rows with missing values" in text
    main([command, path, *DROP, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found.get("test", found)["impossible_rows"] == [WRONG]


def test_of_every_class_and_through_a_lens(tmp_path, capsys):
    path = classes(tmp_path / "classes.csv")
    for lens in ("class-wise", "class-wise-joint", "class:b"):
        main(["test", path, *DROP, "--json", "--lens", lens])
        assert json.loads(capsys.readouterr().out)["impossible_rows"] == [WRONG]


def test_the_pit_far_out(tmp_path, capsys):
    path = numbers(tmp_path / "numbers.csv")
    _, text, rows = printed(capsys, "test", path, "--statistic", "pit")
    assert rows == [WRONG]
    assert f"row {WRONG}: the outcome lies so far out" in text


def test_a_density_that_cannot_be_used(tmp_path, capsys):
    """What is refused while computing names the row of the file too."""
    path = tmp_path / "beta.csv"
    rng = np.random.default_rng(0)
    table(path, [rng.uniform(0.2, 0.8, 60), np.full(60, 2.0), np.full(60, 2.0)], (0.5, 0.5, 2.0), header="y,a,b")
    status, text, rows = printed(capsys, "test", str(path), "--family", "beta", "--statistic", "kccsd")
    assert (status, rows) == (2, [WRONG])
    assert f"row {WRONG} has a = 0.5" in text


def test_what_is_refused_or_noted_while_reading(tmp_path, capsys):
    path = classes(tmp_path / "sums.csv", wrong=("b", 0.7, 0.1, 0.1))
    status, text, rows = printed(capsys, "evaluate", path)
    assert (status, rows) == (2, [WRONG])
    assert f"row {WRONG} sums to 0.9" in text
    path = classes(tmp_path / "outside.csv", wrong=("b", 1 + 1e-9, -1e-9, 0.0))
    _, text, rows = printed(capsys, "evaluate", path)
    assert set(rows) == {WRONG}
    assert f"(first in row {WRONG})" in text
    path = tmp_path / "quantiles.csv"
    rng = np.random.default_rng(0)
    table(path, [rng.normal(size=60), np.full(60, -1.0), np.ones(60)], (0.0, 1.0, -1.0), header="y,q0.2,q0.8")
    _, text, rows = printed(capsys, "evaluate", str(path), "--quantiles", "q0.2,q0.8", "--crossing", "sort")
    assert rows == [WRONG]
    status, text, rows = printed(capsys, "evaluate", str(path), "--quantiles", "q0.2,q0.8")
    assert (status, rows) == (2, [WRONG])
    path = tmp_path / "ten.csv"
    table(path, [rng.integers(0, 11, 60), rng.integers(0, 2, 60)], (80, 1), header="confidence,correct")
    said = ["--target", "correct", "--predictions", "confidence", "--kind", "out-of-ten"]
    assert printed(capsys, "evaluate", str(path), *said)[2] == [WRONG]


@pytest.mark.slow
@pytest.mark.parametrize("make", [classes, pytest.param(numbers, marks=pytest.mark.slow)])
def test_a_page(tmp_path, capsys, make):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    path, page = make(tmp_path / "file.csv"), tmp_path / "page.html"
    main(["report", path, *DROP, "-o", str(page), "--json"])
    why = json.loads(capsys.readouterr().out)["models"][0]
    lines = tmp_path.joinpath("file.csv").read_text().splitlines()[1:]
    for row in why["explanation"]["rows"]:
        assert row["row"] not in DROPPED
        outcome, told = lines[row["row"]].split(",")[0], row["happened"].split()[0]
        assert told == outcome or float(told) == pytest.approx(float(outcome), rel=1e-3)
    named = {int(n) for n in re.findall(r"\b[Rr]ow (\d+):", page.read_text())}
    assert named == ({WRONG} if make is classes else set())
    places = why["explanation"]["witness"]["rows"]
    assert len(places) == 60 - len(DROPPED)
    assert not set(places) & set(DROPPED)


@pytest.mark.slow
def test_several_models(tmp_path, capsys):
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet([2, 2, 2], 60), rng.choice(list("abc"), 60)
    p = np.vstack([p[:WRONG], [0.7, 0.0, 0.3], p[WRONG + 1 :]])
    y[WRONG] = "b"
    ids = np.arange(100, 160)
    for name, q in (("first", p), ("second", p[:, [0, 1, 2]] ** 2)):
        q = q / q.sum(axis=1, keepdims=True)
        table(tmp_path / f"{name}.csv", [y, *q.T, ids], header="y,a,b,c,id")
    files = [str(tmp_path / f"{name}.csv") for name in ("first", "second")]
    _, text, rows = printed(capsys, "compare", *files, "--row-id", "id", "--classes", "a,b,c", "--predictions", "a,b,c")
    assert set(rows) == {WRONG}
    assert f"row {WRONG}: the label b" in text
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    said = ["--row-id", "id", "--classes", "a,b,c", "--predictions", "a,b,c", "-o", str(page)]
    main(["report", *files, *DROP, *said])
    assert {int(n) for n in re.findall(r"\b[Rr]ow (\d+):", page.read_text())} == {WRONG}


@pytest.mark.slow
def test_of_a_random_choice_of_rows_the_numbers_are_those_of_all(monkeypatch):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(reporting, "_EXPLAINED", 40)
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 3, 60), rng.dirichlet([2, 2, 2], 60)
    p[y == 1] = [0.5, 0.0, 0.5]
    numbers = 1000 + np.arange(60)
    (model,) = kc.report(y, p, draws=99, rows=numbers).models
    assert model.explained_rows == 40
    assert any(note.startswith(f"row {numbers[y == 1][0]}:") for note in model.evaluation.notes)
    (note,) = (note for note in model.explanation.notes if "exactly 0" in note)
    assert int(re.search(r"row (\d+)", note)[1]) in numbers[y == 1]
    with pytest.raises(kc.InputError, match=r"row 1007 sums to 0.5"):
        kc.report(y, np.where(np.arange(60)[:, None] == 7, p / 2, p), rows=numbers, draws=99)
    groups = ["a"] * 60
    groups[9] = None
    with pytest.raises(kc.InputError, match=r"groups: row 1009 of column 'group' is missing"):
        kc.report(y, p, rows=numbers, groups=groups, draws=99)


def test_a_part_of_a_case_keeps_its_numbers():
    p = np.full((6, 2), 0.5)
    p[4] = [1.0, 0.0]
    part = Case.of([0, 1, 0, 1, 1, 0], p)[np.array([1, 2, 4, 5])]
    assert any(note.startswith("row 4:") for note in explained(part, Run(draws=19, alpha=0.1)).notes)


def test_rows_in_what_is_refused_are_renamed():
    def again(row):
        return f"line {10 * row}"

    with pytest.raises(kc.InputError, match=r"^line 20, then line 30 of rows 4$"), naming_rows(again):
        raise kc.InputError("row 2, then row 3 of rows 4")
    with pytest.raises(kc.InputError, match="row 2"), naming_rows(None):
        raise kc.InputError("row 2")
