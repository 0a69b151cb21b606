"""``kernelcal recalibrate``: what it says of a fit, of other rows, and of rows of the fit; tables that read again."""

import json
import shlex

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.io import ReadOptions, read
from kernelcal.recalibration import Recalibration, recalibrate

FEW = ["--draws", "99"]
NAMES = ("cat", "dog", "owl")
LEVELS = (0.1, 0.5, 0.9)


def write(path, columns):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def classes(path, n, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(3, 0.7), n)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, 2)
    q = p**2 / (p**2).sum(axis=1, keepdims=True)
    table = {"id": [f"r{k}" for k in range(n)], "label": [NAMES[k] for k in y]}
    return write(
        path, {**table, **dict(zip(NAMES, q.T.tolist(), strict=True)), "site": [f"s{k % 9}" for k in range(n)]}
    )


def numbers(path, kind, n, seed):
    rng = np.random.default_rng(seed)
    m, s = 3 * rng.normal(size=n), rng.uniform(0.5, 2, n)
    heavy = kind == "heavy"
    y = m + 0.5 + 1.6 * s * (rng.standard_t(3, n) if heavy else rng.normal(size=n))
    if kind == "members":
        draws = m[:, None] + s[:, None] * rng.normal(size=(n, 5))
        own = {f"m{k}": draws[:, k].tolist() for k in range(5)}
    elif kind == "quantiles":
        own = {f"q{level}": (m + s * z).tolist() for level, z in zip(LEVELS, (-1.28, 0.0, 1.28), strict=True)}
    elif kind == "variance":
        own = {"mean": m.tolist(), "variance": (s**2).tolist()}
    elif kind == "laplace":
        own = {"loc": m.tolist(), "scale": s.tolist()}
    else:
        own = {"mean": m.tolist(), "std": s.tolist()}
    return write(path, {"y": y.tolist(), **own, "day": list(range(n))})


def run(capsys, *arguments):
    status = main(["recalibrate", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


OPTIONS = {
    "normal": [],
    "heavy": [],
    "variance": ["--mean", "mean", "--variance", "variance"],
    "members": ["--samples", "m*", "--target", "y"],
    "quantiles": ["--quantiles", "q*", "--target", "y"],
    "laplace": ["--family", "laplace", "--target", "y"],
}


@pytest.mark.slow
def test_a_map_is_fitted_saved_applied_and_tested_on_other_rows(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = classes(tmp_path / "a.csv", 300, 1), classes(tmp_path / "b.csv", 200, 2)
    status, out, err = run(capsys, first, "--save", "map.json", *FEW)
    assert (status, err) == (0, "wrote map.json\n")
    given = read([tmp_path / "a.csv"], ReadOptions())
    expected = recalibrate(given.y, given.predictions, draws=99)
    assert out.endswith(expected.summary() + "\n")
    status, out, _ = run(capsys, second, "--apply", "map.json", "-o", "fixed.csv", *FEW)
    other = read([tmp_path / "b.csv"], ReadOptions())
    assert status == 0
    assert expected.check(other.y, other.predictions, draws=99).summary() in out
    command = shlex.split(out.splitlines()[-1])
    assert main([*command[1:], *FEW, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    made = kc.evaluate(other.y, expected(other.predictions), draws=99).to_dict()
    for name in ("log_score", "brier_score", "pvalue"):
        assert found[name] == pytest.approx(made[name], rel=1e-12), name
    assert found["skce"]["value"] == pytest.approx(made["skce"]["value"], rel=1e-12)
    header, row = (tmp_path / "fixed.csv").read_text().splitlines()[:2]
    assert header == "id,label,cat,dog,owl,site"
    assert row.startswith("r0,")
    assert row.endswith(",s0")


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [kind if kind in ("normal", "quantiles") else pytest.param(kind, marks=pytest.mark.slow) for kind in OPTIONS],
)
def test_tables_of_numbers_are_read_again_as_they_are_meant(kind, capsys, tmp_path):
    first, fixed = numbers(tmp_path / "a.csv", kind, 200, 1), tmp_path / "fixed.csv"
    status, out, _ = run(capsys, first, "-o", str(fixed), *OPTIONS[kind], "--method", "one", *FEW)
    assert status == 0
    assert "holds rows of the fit: no test of them shows success" in out
    command = shlex.split(out.splitlines()[-1])
    assert main([*command[1:], *FEW, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    given = read([tmp_path / "a.csv"], options_of(kind))
    made = recalibrate(given.y, given.predictions, "one", draws=99)(given.predictions)
    expected = kc.evaluate(given.y, made, draws=99).to_dict()
    assert found["pvalue"] == expected["pvalue"]
    scores = [
        one["weighted_interval_score"]["value"] if kind == "quantiles" else one["crps"] for one in (found, expected)
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-10)
    assert fixed.read_text().splitlines()[0].endswith(",day")
    assert ("df,loc,scale" in fixed.read_text()) == (kind == "heavy")


def options_of(kind):
    names = iter(OPTIONS[kind])
    return ReadOptions(**{name.removeprefix("--"): value for name, value in zip(names, names, strict=True)})


def test_rows_of_the_fit_show_no_success(capsys, tmp_path):
    first, saved = classes(tmp_path / "a.csv", 120, 1), str(tmp_path / "map.json")
    assert run(capsys, first, "--save", saved, "--method", "temperature", *FEW)[0] == 0
    status, out, _ = run(capsys, first, "--apply", saved, *FEW)
    assert status == 0
    assert out.splitlines()[-1] == "these are the rows of the fit: no test of them shows success"
    status, _, err = run(capsys, first, "--apply", saved, "--fail-below", "0.05", *FEW)
    assert status == 2
    assert "gates look at rows that had no part in the fit" in err


def test_rows_without_outcomes_are_repaired(capsys, tmp_path):
    first, saved, fixed = classes(tmp_path / "a.csv", 120, 1), str(tmp_path / "map.json"), tmp_path / "fixed.csv"
    run(capsys, first, "--save", saved, "--method", "temperature", *FEW)
    second = classes(tmp_path / "b.csv", 30, 2)
    table = read([tmp_path / "b.csv"], ReadOptions())
    lines = (tmp_path / "b.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    (tmp_path / "b.csv").write_text("\n".join(",".join([c[0], *c[2:]]) for c in cells) + "\n")
    status, out, err = run(capsys, second, "--apply", saved, "--without-outcomes", "-o", str(fixed))
    assert status == 0, err
    assert "not known" not in out
    written = np.genfromtxt(fixed, delimiter=",", skip_header=1, usecols=(1, 2, 3))
    np.testing.assert_array_equal(written, Recalibration.load(saved)(table.predictions).probs)
    assert fixed.read_text().splitlines()[0] == "id,cat,dog,owl,site"


@pytest.mark.slow
def test_gates_clusters_and_json(capsys, tmp_path):
    first = classes(tmp_path / "a.csv", 200, 1)
    status, out, _ = run(capsys, first, "--clusters", "site", "--method", "temperature", "--json", *FEW)
    found = json.loads(out)
    assert status == 0
    assert found["method"] == "temperature"
    assert found["rows"] == 200
    assert "9 clusters of site" in found["read"]
    status, out, _ = run(capsys, first, "--fail-below", "1", "--method", "temperature", "--json", *FEW)
    assert (status, json.loads(out)["said_no"][0][:19]) == (1, "after the map: p = ")
    status, _, err = run(capsys, first, "--fail-below", "0.001", "--draws", "99")
    assert (status, "--draws 99 make no p-value below 0.01" in err) == (2, True)
    assert run(capsys, first, "--fail-unless-better", "--method", "temperature", *FEW)[0] == 0
    assert run(capsys, first, "--fail-unless-better", "--method", "identity", *FEW)[0] == 1


@pytest.mark.slow
def test_gates_that_could_not_say_no(capsys, tmp_path):
    """99 draws make no p-value below .01: more are made for the gate, or it is refused; JSON tells what said no."""
    first = classes(tmp_path / "a.csv", 300, 1)
    asked = ("--method", "identity", "--fail-below")
    status, _, err = run(capsys, first, *asked, "0.01", *FEW)
    assert status == 2
    assert "so that --fail-below 0.01 would never say no: say --draws 999 or more" in err
    status, out, _ = run(capsys, first, *asked, "0.0009")
    assert status == 1
    assert out.splitlines()[-1].startswith("gate: after the map: p = 0.000")
    status, out, _ = run(capsys, first, *asked, "1", "--fail-unless-better", "--json", *FEW)
    assert status == 1
    assert json.loads(out)["said_no"][1] == "the map is not clearly better than leaving the predictions alone"
    status, _, err = run(capsys, first, *asked, "0.05", "--clusters", "site", *FEW)
    assert status == 2
    assert "so that --fail-below 0.05 would never say no" in err


def test_what_does_not_go_together_is_refused(capsys, tmp_path):
    first = classes(tmp_path / "a.csv", 60, 1)
    for arguments, word in (
        ([first, "-o", first], "name another"),
        ([first, "--apply", "map.json", "--method", "one"], "belong to the fit"),
        ([first, "--without-outcomes"], "name --apply MAP and -o TABLE"),
        ([first, "--apply", "none.json"], "there is no such file"),
        ([first, "--method", "plat"], "method must be one of"),
        ([first, "--save", "map.txt"], "json"),
    ):
        status = main(["recalibrate", *arguments])
        assert status == 2
        assert word in capsys.readouterr().err


def test_no_file_that_is_read_is_written_over_whatever_it_is_called(capsys, tmp_path, monkeypatch):
    table, truth = classes(tmp_path / "a.csv", 60, 1), classes(tmp_path / "truth.csv", 60, 1)
    (tmp_path / "link.csv").symlink_to(table)
    monkeypatch.chdir(tmp_path)
    before = (tmp_path / "a.csv").read_bytes(), (tmp_path / "truth.csv").read_bytes()
    for place in ("a.csv", "./a.csv", table, "link.csv", "truth.csv"):
        status, _, err = run(capsys, "a.csv", "--truth", truth, "-o", place)
        assert status == 2
        assert f"-o {place.removeprefix('./')} is the file that is read" in err
    assert before == ((tmp_path / "a.csv").read_bytes(), (tmp_path / "truth.csv").read_bytes())
