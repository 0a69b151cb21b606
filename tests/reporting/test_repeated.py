"""What pages say under "To repeat it" is typed, on every kind that a command writes: it makes the page again."""

import html
import re
import shlex

import numpy as np
import pytest

from kernelcal.cli import main

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

PAGES = {
    "one": ["report 'my table.csv' --target y --predictions p --groups site --draws 19 --title 'A & <b>' -o page.html"],
    "some rows": ["report 'my table.csv' --target y --predictions p --where site=north --draws 19 -o page.html"],
    "two": ["report 'my table.csv' two.csv --target y --predictions p --row-id case --draws 99 -o page.html"],
    "two columns": ["report 'my table.csv' --target y --predictions p,q --kind probabilities --draws 19 -o page.html"],
    "measures": ["clinical 'my table.csv' --target y --predictions p --draws 19 -o page.html"],
    "survival": [
        "survival cohort.csv --duration time --event event --family weibull --parameters scale,1.5 --draws 19 "
        "-o page.html"
    ],
    "history": [
        "monitor 'my table.csv' two.csv --target y --predictions p --state 'the state.npz' --fail-on none",
        "report --state 'the state.npz' -o page.html",
    ],
    "before and after": [
        "recalibrate 'my table.csv' --target y --predictions p --method platt --draws 19 --report page.html"
    ],
}
TITLES = {
    "one": "A &amp; &lt;b&gt;",
    "measures": "Clinical prediction model",
    "survival": "Predicted times to an event",
    "history": "Monitor of calibration",
    "before and after": "Before and after the map",
}


SLOW = ("some rows", "two", "two columns")  # "one" is such a command of report


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    rng = np.random.default_rng(0)
    p = rng.uniform(size=80).round(4)
    y = (rng.random(80) < p**5).astype(int)
    site = rng.choice(["north", "south"], 80)
    for name, order in (("my table.csv", np.arange(80)), ("two.csv", np.arange(80)[::-1])):
        q = p if name == "my table.csv" else p**2
        lines = [f"{y[k]},{q[k]:.6f},{1 - q[k]:.6f},{site[k]},{k}" for k in order]
        (tmp_path / name).write_text("\n".join(["y,p,q,site,case", *lines]) + "\n")
    scale = np.exp(rng.normal(size=60))
    times = scale * rng.weibull(1.5, 60)
    lines = [f"{t:.6f},{int(t < 2)},{s:.6f}" for t, s in zip(np.minimum(times, 2), scale, strict=True)]
    (tmp_path / "cohort.csv").write_text("\n".join(["time,event,scale", *lines]) + "\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize(
    "commands",
    [pytest.param(PAGES[k], marks=pytest.mark.slow if k in SLOW else (), id=k) for k in PAGES],
)
def test_the_command_on_a_page_makes_the_page_again(folder, commands, capsys, request):
    for command in commands:
        status = main(shlex.split(command))
        assert status == 0, capsys.readouterr().err
    page = folder / "page.html"
    first = page.read_text(encoding="utf-8")
    assert re.search(r"<h1>(.*?)</h1>", first)[1] == TITLES.get(request.node.callspec.id, "Calibration report")
    page.unlink()
    part = first.split('<section id="again"')[1]
    shown = html.unescape(re.search(r"<code>(.*?)</code>", part, re.DOTALL)[1])
    assert shlex.split(shown) == ["kernelcal", *shlex.split(commands[-1])]
    assert main(shlex.split(shown)[1:]) == 0
    assert page.read_text(encoding="utf-8") == first


@pytest.mark.usefixtures("unrendered")
def test_rows_on_a_page_have_the_numbers_of_the_file_and_are_distinct(folder, capsys):
    (command,) = PAGES["some rows"]
    assert main(shlex.split(command)) == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    table = page.split("Rows that add most to the error")[1].split("</table>")[0]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[2:]]
    lines = [line.split(",") for line in (folder / "my table.csv").read_text().splitlines()[1:]]
    named = [int(re.match(r"\d+", row[0])[0]) for row in cells]
    assert len(named) == len(set(named)) >= 3
    assert len({row[1] for row in cells}) >= 3
    for number, row in zip(named, cells, strict=True):
        assert lines[number][3] == "north"
        assert (f"{float(lines[number][1]):.3f}", lines[number][0]) == (row[1], row[2])
    assert "row 0 is the first below the names of the columns" in page.lower()
