"""``kernelcal recalibrate -o`` of long tables: the same lines, the same columns, and better numbers in one of them."""

import csv
import json
import shlex

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.io import ReadOptions, read
from kernelcal.recalibration import Recalibration

FEW = ["--draws", "99"]
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
NORMAL = (-1.2816, -0.6745, 0.0, 0.6745, 1.2816)
NAMES = ("fall", "rise", "same")


def written(path, header, lines):
    with open(path, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *lines])


def laws(n, seed):
    """Means, widths that are too small, and outcomes."""
    rng = np.random.default_rng(seed)
    m, s = 3 * rng.normal(size=n), rng.uniform(0.5, 2, n)
    return rng, m, s, m + 0.5 + 1.6 * s * rng.normal(size=n)


def quantiles(folder, name, n, seed):
    """Lines in disorder, places as codes with zeros in front, another column that says nothing."""
    rng, m, s, y = laws(n, seed)
    lines = [
        (f"{k:04d}", repr(float(y[k])), f"{level:.2f}", repr(float(m[k] + z * s[k])))
        for k in range(n)
        for level, z in zip(LEVELS, NORMAL, strict=True)
    ]
    order = rng.permutation(len(lines))
    written(folder / name, ("place", "observed", "quantile_level", "predicted"), [lines[k] for k in order])
    return []


def draws(folder, name, n, seed):
    rng, m, s, y = laws(n, seed)
    lines = [(f"s{j}", m[k] + s[k] * rng.normal(), f"{k:04d}", y[k]) for k in range(n) for j in range(7)]
    written(folder / name, ("run", "height", "place", "level"), [lines[k] for k in rng.permutation(len(lines))])
    return ["--value", "height", "--sample-id", "run", "--target", "level", "--clusters", "place"]


def hub(folder, name, n, seed):
    """Quantiles and a mean of every place and a week; outcomes in a second file, which lacks one of them."""
    _, m, s, y = laws(n, seed)
    header = ("location", "target_end_date", "output_type", "output_type_id", "value")
    lines = []
    for k in range(n):
        own = (f"{k:03d}", "2024-01-06")
        lines.append((*own, "mean", "", m[k]))
        lines += [(*own, "quantile", level, m[k] + z * s[k]) for level, z in zip(LEVELS, NORMAL, strict=True)]
    written(folder / name, header, lines)
    truth = [(f"{k:03d}", "2024-01-06", y[k]) for k in range(n - 1)]
    written(folder / f"truth_{name}", ("location", "date", "value"), truth)
    return ["--truth", f"truth_{name}"]


def categories(folder, name, n, seed, kind="pmf"):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(3, 0.7), n)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, 2)
    q = p**2 / (p**2).sum(axis=1, keepdims=True)
    header = ("location", "target_end_date", "output_type", "output_type_id", "value")
    ids = NAMES if kind == "pmf" else ("10", "5")  # thresholds in disorder
    values = q if kind == "pmf" else q.cumsum(axis=1)[:, [1, 0]]
    lines = [
        (f"{k:03d}", "2024-01-06", kind, one, repr(float(v)))
        for k in range(n)
        for one, v in zip(ids, values[k], strict=True)
    ]
    written(folder / name, header, lines)
    outcome = [NAMES[k] if kind == "pmf" else (3, 7, 12)[k] for k in y]
    truth = [(f"{k:03d}", "2024-01-06", one) for k, one in enumerate(outcome)]
    written(folder / f"truth_{name}", ("location", "date", "value"), truth)
    return ["--truth", f"truth_{name}"]


def sums(folder, name, n, seed):
    return categories(folder, name, n, seed, "cdf")


KINDS = {"quantiles": quantiles, "draws": draws, "hub": hub, "categories": categories, "sums": sums}


def rows_of(path):
    with open(path, newline="") as stream:
        return [*csv.reader(stream)]


def options_of(said):
    pairs = zip(said[::2], said[1::2], strict=True)
    return ReadOptions(**{flag[2:].replace("-", "_"): value for flag, value in pairs})


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind == "sums" else kind for kind in KINDS]
)
def test_a_long_table_is_written_in_its_own_layout(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make = KINDS[kind]
    first, second = make(tmp_path, "a.csv", 120, 1), make(tmp_path, "b.csv", 80, 2)
    assert main(["recalibrate", "a.csv", *first, "--save", "map.json", *FEW]) == 0
    assert main(["recalibrate", "b.csv", *second, "--apply", "map.json", "-o", "fixed.csv", *FEW]) == 0
    printed = capsys.readouterr().out
    given = read([tmp_path / "b.csv"], options_of(second))
    made = Recalibration.load("map.json")(given.predictions)
    old, new = rows_of("b.csv"), rows_of("fixed.csv")
    assert new[0] == old[0]
    kept = [row for row in old[1:] if kind != "hub" or (row[2] == "quantile" and row[0] != "079")]
    value = old[0].index({"quantiles": "predicted", "draws": "height"}.get(kind, "value"))
    assert [row[:value] + row[value + 1 :] for row in new[1:]] == [row[:value] + row[value + 1 :] for row in kept]
    assert [row[value] for row in new[1:]] != [row[value] for row in kept]
    command = shlex.split(printed.splitlines()[-1])
    assert main([*command[1:], *FEW, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    again = read([tmp_path / "fixed.csv"], options_of(second))
    for name in {"quantiles": ("values", "levels"), "draws": ("draws",), "hub": ("values",)}.get(kind, ("probs",)):
        np.testing.assert_allclose(getattr(again.predictions, name), getattr(made, name), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(again.y, given.y)
    expected = kc.evaluate(given.y, again.predictions, draws=99, **given.dependence)
    assert found["pvalue"] == expected.pvalue


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["quantiles", "categories", *(pytest.param(k, marks=pytest.mark.slow) for k in ("hub", "sums"))]
)
def test_long_tables_without_outcomes(kind, tmp_path, monkeypatch, capsys):
    """Codes keep their zeros, and the numbers are those of the map."""
    monkeypatch.chdir(tmp_path)
    make = KINDS[kind]
    first, second = make(tmp_path, "a.csv", 120, 1), make(tmp_path, "b.csv", 40, 2)
    assert main(["recalibrate", "a.csv", *first, "--save", "map.json", *FEW]) == 0
    assert main(["recalibrate", "b.csv", *second, "--apply", "map.json", "-o", "known.csv", *FEW]) == 0
    old = rows_of("b.csv")
    if kind == "quantiles":
        header, *lines = [[row[0], *row[2:]] for row in old]
        written("b.csv", header, lines)
    capsys.readouterr()
    apply = ["recalibrate", "b.csv", "--apply", "map.json", "--without-outcomes", "-o", "fixed.csv"]
    assert main(apply) == 0, capsys.readouterr().err
    assert "not known" not in capsys.readouterr().out
    apart = [0, 2] if kind == "quantiles" else [0, 1, 2, 3]
    with_outcomes = {tuple(row[k] for k in apart): row[-1] for row in rows_of("known.csv")}
    for row in rows_of("fixed.csv")[1:]:
        key = tuple(row[:-1])
        assert key in with_outcomes or row[0] == "039"
        assert with_outcomes.get(key, row[-1]) == row[-1]
    assert rows_of("fixed.csv")[1][0] == old[1][0]
    assert rows_of("fixed.csv")[1][0].startswith("00")


def test_codes_of_tables_with_a_row_a_prediction_keep_their_zeros(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.uniform(size=60)
    written("a.csv", ("y", "p"), zip((rng.random(60) < p).astype(int), p, strict=True))
    written("b.csv", ("code", "p"), [(f"{k:03d}", v) for k, v in enumerate(p[:5] / 2)])
    assert main(["recalibrate", "a.csv", "--method", "platt", "--save", "map.json", *FEW]) == 0
    assert main(["recalibrate", "b.csv", "--apply", "map.json", "--without-outcomes", "-o", "fixed.csv"]) == 0
    assert [row[0] for row in rows_of("fixed.csv")] == ["code", "000", "001", "002", "003", "004"]


def test_what_differs_inside_a_prediction_is_refused(tmp_path, monkeypatch, capsys):
    """Categories may have their outcome in the table itself, one a prediction."""
    monkeypatch.chdir(tmp_path)
    header = ("place", "output_type", "output_type_id", "value", "came")
    lines = [(k, "pmf", name, 1 / 3, NAMES[k % 3]) for k in range(60) for name in NAMES]
    written("a.csv", header, lines)
    assert main(["evaluate", "a.csv", "--target", "came", *FEW]) == 0
    assert "read a.csv: 60 rows, one a combination of place, from 180 lines; target came" in capsys.readouterr().out
    written("a.csv", header, [(*lines[0][:4], "rise"), *lines[1:]])
    assert main(["evaluate", "a.csv", "--target", "came", *FEW]) == 2
    assert "came is 'rise' and 'fall' in the lines of one prediction (place=0)" in capsys.readouterr().err
