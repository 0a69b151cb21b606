"""Labels that are lists, dictionaries, sets or arrays: named by their row, with a cure, and read as text from files."""

import json

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError

N = 40
RNG = np.random.default_rng(0)
P = RNG.uniform(0.1, 0.9, N)
Y = (RNG.uniform(size=N) < P).astype(int)
P3, Y3 = RNG.dirichlet(np.ones(3), N), RNG.integers(0, 3, N)


def column(values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def series(values):
    return pytest.importorskip("pandas").Series(values)


KINDS = {
    "list": lambda v: [v, 7],
    "dict": lambda v: {"label": v},
    "set": lambda v: {v},
    "ndarray": lambda v: np.array([v, 7]),
}
FORMS = {"array": column, "series": series, "one row": None}


def given(kind, form, labels):
    """A column whose rows are all nested, or the sixth one alone; and the row that is named."""
    values = [int(v) for v in labels]
    if form == "one row":
        values[5] = KINDS[kind](values[5])
        return column(values), 5
    return FORMS[form]([KINDS[kind](v) for v in values]), 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_nested_targets_groups_and_clusters_are_named(kind, form):
    y, row = given(kind, form, Y)
    y3, _ = given(kind, form, Y3)
    normal, of = kc.Normal(P, np.ones(N)), f"row {row} is .*, a {kind}"
    cure = {
        "dict": r": pass one value a row, such as \[value\['label'\] for value in y\]",
        "set": ": pass one value a row$",
    }
    target = of + cure.get(kind, r": pass one value a row, such as \[value\[0\] for value in y\]")
    calls = [
        (lambda: kc.evaluate(y, P), target),
        (lambda: kc.evaluate(y3, P3), target),
        (lambda: kc.evaluate(y3, P3, classes=["a", "b", "c"]), target),
        (lambda: kc.evaluate(y, normal), target),
        (lambda: kc.compare(y3, {"one": P3, "other": P3**2 / (P3**2).sum(axis=1, keepdims=True)}), target),
        (lambda: kc.calibration_test(Y, P, clusters=y), of + ": expected a label, such as a number, text or a date"),
        (lambda: kc.calibration_test(Y, P, series=y, horizon=2), of + ": expected a label"),
        (lambda: kc.calibration_test(Y, P, time=y, horizon=2), f"time must be numbers or dates, row {row} is "),
        (lambda: kc.explain(Y, P, groups=y), f"groups: row {row} of column 'group' is a {kind}, .*: groups are text"),
        (lambda: kc.explain(Y, P, groups={"site": y}), f"row {row} of column 'site' is a {kind}, .* or a column each"),
        (lambda: kc.calibration_test(Y, P, given=y), f"row {row} of column 'x' is nested, a {kind}"),
    ]
    for call, text in calls:
        with pytest.raises(InputError, match=f"(?s){text}"):
            call()


def test_a_tuple_with_a_list_inside_is_no_label():
    with pytest.raises(InputError, match=r"row 0 is \('a', \[1\]\), a tuple: pass one value a row"):
        kc.evaluate(column([("a", [1])] * N), P3, classes=["a", "b", "c"])


def test_tuples_are_labels():
    names = [("cat", 1), ("dog", 1), ("cat", 2)]
    found = kc.evaluate(column([names[k] for k in Y3]), P3, classes=names, draws=99)
    assert found.skce.value == kc.evaluate(Y3, P3, draws=99).skce.value
    of = column([(k % 8, "a") for k in range(N)])
    wanted = kc.calibration_test(Y, P, clusters=np.arange(N) % 8, draws=99).pvalue
    assert kc.calibration_test(Y, P, clusters=of, draws=99).pvalue == wanted


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_lists_in_files_are_groups_by_their_text(tmp_path, ending, capsys):
    from kernelcal.cli import main

    rows = [
        {"y": int(y), "p": p, "g": ["a", i % 2], "d": {"a": i % 2}} for i, (y, p) in enumerate(zip(Y, P, strict=True))
    ]
    path = tmp_path / f"rows.{ending}"
    path.write_text(json.dumps(rows) if ending == "json" else "\n".join(map(json.dumps, rows)))
    arguments = ["explain", str(path), "--target", "y", "--predictions", "p", "--draws", "99", "--groups"]
    assert main([*arguments, "g"]) == 0
    assert "['a', 0]" in capsys.readouterr().out
    assert main([*arguments, "d"]) == 2
    assert "there is no column 'd'. The columns are y, p, g, d.a" in capsys.readouterr().err
    rows[5]["y"] = ["no", "yes"]
    path.write_text(json.dumps(rows) if ending == "json" else "\n".join(map(json.dumps, rows)))
    assert main([*arguments, "g"]) == 2
    assert "[" in capsys.readouterr().err
