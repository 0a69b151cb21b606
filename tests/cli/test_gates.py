"""Gates, and the commands that stand beside evaluate: what says no, and what a gate cannot look at is no yes."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main

DRAWS = ["--draws", "199"]
pytestmark = pytest.mark.usefixtures("unrendered")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("gates")
    (path / "models").mkdir()
    rng = np.random.default_rng(0)
    p, site = rng.uniform(size=400), rng.integers(0, 2, 400)
    y = (rng.random(400) < p).astype(int)
    mixed = np.where(site == 0, p, p**3 / (p**3 + (1 - p) ** 3))
    sharp = p**3 / (p**3 + (1 - p) ** 3)
    for name, q in (("models/honest", p), ("models/bold", sharp), ("mixed", mixed), ("models/_note", p)):
        rows = zip(y.tolist(), q.tolist(), site.tolist(), strict=True)
        (path / f"{name}.csv").write_text("y,p,site\n" + "".join(f"{a},{b!r},{'ab'[c]}\n" for a, b, c in rows))
    (path / "honest.csv").write_text((path / "models/honest.csv").read_text())
    (path / "bold.csv").write_text((path / "models/bold.csv").read_text())
    return path


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def run(capsys, line):
    status = main(line.split() + ([] if line.startswith("merge") or "--draws" in line else DRAWS))
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("command", ["evaluate", "explain", "report -o page.html"])
@pytest.mark.parametrize(
    ("name", "gate", "status"),
    [
        ("honest", "--fail-below 0.05", 0),
        ("bold", "--fail-below 0.05", 1),
        ("honest", "--fail-above 0.02", 0),
        ("bold", "--fail-above 0.02", 1),
        ("bold", "--fail-above 0.2", 0),
        ("bold", "--fail-below 0.05 --fail-above 0.2", 1),
    ],
)
@pytest.mark.quick_cases(2)
def test_the_same_gates_everywhere(capsys, command, name, gate, status):
    if command.startswith("report"):
        pytest.importorskip("jinja2")
    found, out, err = run(capsys, f"{command} {name}.csv {gate}")
    assert (found, err) == (status, "")
    assert ("gate: " in out) == (status == 1)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compare", pytest.param("report -o page.html", marks=pytest.mark.slow)])
def test_of_several_models_each_is_judged(capsys, command):
    pytest.importorskip("jinja2")
    assert run(capsys, f"{command} honest.csv mixed.csv --fail-above 0.5")[0] == 0
    status, out, _ = run(capsys, f"{command} honest.csv bold.csv --fail-below 0.05 --fail-above 0.02")
    assert status == 1
    lines = [line for line in out.splitlines() if line.startswith("gate: ")]
    assert lines[0].startswith("gate: bold: p = 0.005 is below 0.05")
    assert lines[1].startswith("gate: bold: the error is at least 0.0")
    assert len(lines) == 2


@pytest.mark.slow
def test_the_gate_on_the_size_looks_at_the_lower_end(capsys):
    found = json.loads(run(capsys, "evaluate bold.csv --json")[1])
    low = found["interval"]["root"][0]
    assert run(capsys, f"evaluate bold.csv --fail-above {low + 1e-6}")[0] == 0
    status, out, _ = run(capsys, f"evaluate bold.csv --json --fail-above {low - 1e-6}")
    assert status == 1
    assert json.loads(out)["said_no"] == [f"bold.csv: the error is at least {low:.4f}, above {low - 1e-6:g}"]


@pytest.mark.slow
def test_groups_are_judged_too(capsys):
    assert run(capsys, "evaluate mixed.csv --fail-above 0.05")[0] == 0
    status, out, _ = run(capsys, "evaluate mixed.csv --groups site --fail-above 0.05")
    assert status == 1
    assert out.splitlines()[-1].startswith("gate: mixed.csv, site b: the error is at least 0.0")
    for command in ("explain mixed.csv", "compare honest.csv mixed.csv"):
        status, out, _ = run(capsys, f"{command} --groups site --fail-below 0.05 --json")
        assert status == 1
        assert any("site b: p = " in why for why in json.loads(out)["said_no"])
    assert set(json.loads(out)["groups"]) == {"honest", "mixed"}


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("command", ["evaluate bold.csv", "explain bold.csv", "compare honest.csv bold.csv"])
def test_within_is_asked_everywhere(capsys, command):
    status, out, _ = run(capsys, f"{command} --within 0.1 --json")
    assert status == 0
    found = json.loads(out)
    table = np.genfromtxt("bold.csv", delimiter=",", names=True, usecols=(0, 1))
    expected = kc.equivalence_test(table["y"].astype(int), table["p"], within=0.1)
    if command.startswith("compare"):
        assert found["models"][1]["equivalence"]["within"] == 0.1
    else:
        assert found["equivalence"]["pvalue"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert "0.1" in run(capsys, f"{command} --within 0.1")[1]
    status, _, err = run(capsys, f"{command} --within -1")
    assert (status, err) == (2, "kernelcal: within must be a positive number, such as 0.05 of probability, got -1.0\n")


@pytest.mark.slow
def test_within_on_a_page_of_one_model(capsys):
    pytest.importorskip("jinja2")
    status, out, _ = run(capsys, "report honest.csv -o page.html --within 0.1 --json")
    assert status == 0
    assert json.loads(out)["models"][0]["equivalence"]["verdict"].startswith("Calibrated to within 0.1")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("evaluate bold.csv --draws 99 --fail-below 0.01", "would never say no: say --draws 999 or more"),
        ("evaluate bold.csv --fail-below 0", "expected a level between 0 and 1"),
        ("evaluate bold.csv --fail-above -0.1", "expected the size of an error from 0"),
        ("test bold.csv --fail-above 0.1", "test measures no error: --fail-above belongs to evaluate"),
        ("evaluate bold.csv --one-pass --within 0.1", "--within needs all rows at once"),
        ("evaluate bold.csv --like a.npz", "--like and --first-row say how sums are kept"),
        ("compare nothing", "there is no such file"),
        ("merge bold.csv", "is not a sketch"),
        ("merge models", "no file of it is of a kind that is read here: .npz"),
    ],
)
def test_what_is_refused(capsys, line, text):
    try:
        status, _, err = run(capsys, line)
    except SystemExit as end:  # of the parser
        status, err = end.code, capsys.readouterr().err
    assert status == 2
    assert text in err


def test_draws_are_enough_for_the_gate(capsys):
    assert main(["evaluate", "bold.csv", "--fail-below", "0.001"]) == 1
    assert "(1,000 draws)" in capsys.readouterr().out
    pytest.importorskip("pyarrow")  # which reads files in parts
    assert main(["evaluate", "bold.csv", "--fail-below", "0.001", "--one-pass"]) == 1
    assert "gate: bold.csv: p = 0.000999 is below 0.001" in capsys.readouterr().out


def test_a_gate_without_anything_to_look_at_is_no_yes(capsys, folder):
    rng = np.random.default_rng(0)
    values = np.add.outer(rng.poisson(3, 200), [0, 1, 2])
    rows = zip(rng.poisson(4, 200).tolist(), values.tolist(), strict=True)
    (folder / "counts.csv").write_text("y,q0.1,q0.5,q0.9\n" + "".join(f"{a},{b[0]},{b[1]},{b[2]}\n" for a, b in rows))
    status, _, err = run(capsys, "evaluate counts.csv --target y --quantiles q0.1,q0.5,q0.9 --fail-above 0.1")
    assert status == 2
    assert "the error has no confidence interval here" in err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["models", "models/*.csv", "models/honest.csv models/bold.csv"])
def test_a_folder_is_a_file_a_model_in_comparisons(capsys, name):
    status, out, _ = run(capsys, f"compare {name} --json")
    assert status == 0
    assert set(json.loads(out)["read"]) == {"bold", "honest"}


@pytest.mark.slow
def test_a_folder_is_one_table_where_one_model_is_asked(capsys):
    pytest.importorskip("jinja2")
    for command in ("evaluate", "explain", "test"):
        status, out, _ = run(capsys, f"{command} models --json")
        assert (status, json.loads(out)["n"]) == (0, 800)
    status, out, _ = run(capsys, "report models/honest.csv models/bold.csv --together -o page.html --json")
    assert json.loads(out)["models"][0]["evaluation"]["n"] == 800


def test_explain_says_where(capsys):
    status, out, _ = run(capsys, "explain bold.csv --groups site")
    assert status == 0
    assert "Where is the model wrong?" in out
    assert "over-confident" in out
    found = json.loads(run(capsys, "explain bold.csv --json")[1])
    table = np.genfromtxt("bold.csv", delimiter=",", names=True, usecols=(0, 1))
    expected = kc.explain(table["y"].astype(int), table["p"], draws=199).to_dict()
    assert found["regions"] == expected["regions"]
    assert found["rows"] == expected["rows"]


@pytest.mark.slow
def test_sums_of_days_are_merged(capsys):
    pytest.importorskip("pyarrow")
    assert run(capsys, "evaluate honest.csv --save monday.npz")[0] == 0
    assert run(capsys, "evaluate bold.csv --save tuesday.npz --like monday.npz")[0] == 0
    assert run(capsys, "evaluate mixed.csv --save wednesday.npz --like monday.npz --first-row 800")[0] == 0
    status, out, _ = run(capsys, "merge monday.npz tuesday.npz wednesday.npz -o week.npz --json")
    assert status == 0
    merged = json.loads(out)
    assert merged["read"] == "sums of 3 files, monday.npz to wednesday.npz: 1,200 rows"
    whole = kc.Sketch.load("monday.npz").empty()
    for name in ("honest", "bold", "mixed"):
        table = np.genfromtxt(f"{name}.csv", delimiter=",", names=True, usecols=(0, 1))
        whole.update(table["y"].astype(int), table["p"])
    assert merged["pvalue"] == whole.result().pvalue == kc.Sketch.load("week.npz").result().pvalue
    assert merged["skce"]["value"] == pytest.approx(float(whole.result().estimate), rel=1e-9)
    assert run(capsys, "merge *day.npz --fail-below 0.05")[0] == 1
    status, _, err = run(capsys, "merge monday.npz monday.npz")
    assert status == 2
    assert "monday.npz: row 0 was given twice" in err
    assert "--like FIRST.npz" in err
    run(capsys, "evaluate bold.csv --save other.npz")
    status, _, err = run(capsys, "merge monday.npz other.npz")
    assert (status, "differ in prediction kernel" in err) == (2, True)
    status, _, err = run(capsys, "merge monday.npz --fail-below 0.004")
    assert (status, "would never say no: keep sums with --draws 250" in err) == (2, True)
    status, _, err = run(capsys, "merge monday.npz -o missing/week.npz")
    assert (status, "there is no folder missing" in err) == (2, True)


@pytest.mark.slow
def test_gates_of_the_real_command():
    def status(*arguments):
        command = [sys.executable, "-m", "kernelcal", *arguments, *DRAWS]
        return subprocess.run(command, capture_output=True, text=True).returncode

    assert status("evaluate", "bold.csv", "--fail-above", "0.02") == 1
    assert status("compare", "models", "--fail-below", "0.01") == 1
    assert status("explain", "honest.csv", "--fail-below", "0.01", "--fail-above", "0.02") == 0


def yaml_blocks():
    text = (Path(__file__).parents[2] / "docs/howto/command_line.rst").read_text()
    blocks = re.findall(r"\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)", text)
    return [textwrap.dedent(block) for block in blocks]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "status"), [("honest", 0), ("bold", 1), ("nothing", 2)])
def test_the_step_of_github_actions_is_run_as_it_stands(tmp_path, folder, name, status):
    pytest.importorskip("jinja2")
    (workflow, _) = yaml_blocks()
    step = textwrap.dedent(re.search(r"run: \|\n((?: {10}.*\n)+)", workflow)[1])
    (tmp_path / "predictions").mkdir()
    if name != "nothing":
        (tmp_path / "predictions/held_out.csv").write_text((folder / f"{name}.csv").read_text())
    step = step.replace("kernelcal report", f"{sys.executable} -m kernelcal report")
    done = subprocess.run(["bash", "-e", "-c", step], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status
    assert ("not calibrated" in done.stdout) == (status == 1)
    assert ("was not checked (status 2)" in done.stdout) == (status == 2)
    assert (tmp_path / "calibration.html").exists() == (status < 2)


@pytest.mark.slow
def test_the_hook_of_pre_commit_is_run_as_it_stands(folder):
    (_, hook) = yaml_blocks()
    entry = re.search(r"entry: kernelcal (.*)\n", hook)[1].split()
    assert re.compile(re.search(r"files: (.*)\n", hook)[1]).search("predictions/a.csv")
    for names, status in ((["honest.csv"], 0), (["honest.csv", "bold.csv"], 1)):
        done = subprocess.run([sys.executable, "-m", "kernelcal", *entry, *names], cwd=folder, capture_output=True)
        assert done.returncode == status


@pytest.mark.parametrize(
    "command",
    ["evaluate sure.csv", "explain sure.csv", pytest.param("report sure.csv -o page.html", marks=pytest.mark.slow)],
)
def test_draws_of_rows_in_sets_are_enough_for_the_gate(capsys, tmp_path, command):
    """Three classes in clusters of 5: five times the smallest p-value of 999 draws is never below .005."""
    if command.startswith("report"):
        pytest.importorskip("jinja2")
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    sure = p**4 / (p**4).sum(axis=1, keepdims=True)
    rows = np.column_stack([y, np.repeat(np.arange(40), 5), sure])
    header = "y,patient,p0,p1,p2"
    np.savetxt("sure.csv", rows, delimiter=",", header=header, comments="", fmt=["%d", "%d", "%.17g", "%.17g", "%.17g"])
    gate = "--clusters patient --fail-below 0.005"
    assert main(f"{command} {gate}".split()) == 1
    assert "is below 0.005" in capsys.readouterr().out
    code, _, error = run(capsys, f"{command} {gate} --draws 999")
    assert code == 2
    assert "tested in 5 sets here" in error
    assert "say --draws 1,000 or more" in error
