"""Inputs that people really had trouble with (data/cases.json): reliability, language models, groups."""

import json
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.explanation import explain
from kernelcal.inference import reliability
from kernelcal.io import ReadOptions, read
from kernelcal.reporting import report

FILE = Path(__file__).resolve().parents[1] / "data" / "cases.json"
CASES = {case["id"]: case for case in json.loads(FILE.read_text())["cases"]}
HERE = {"reliability", "groups", "llm", "llm_scale"}
TESTED = {"empty-bins-shape", "fifty-points", "yes-no-mass", "ten-scale", "mixed-sources"}


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    plt = pytest.importorskip("matplotlib.pyplot")
    yield
    plt.close("all")


def case(name):
    return CASES[name]["input"], CASES[name]["expected"]


def test_no_case_is_left_out():
    assert {name for name, entry in CASES.items() if entry["category"] in HERE} == TESTED


def test_empty_bins_keep_their_place():
    given, expected = case("empty-bins-shape")
    found = reliability(given["y"], given["p1"], question="positive class", bins=given["n_bins"])
    assert found.table.count.tolist() == expected["counts"]
    for name, values in (("mean_prediction", expected["mean_p"]), ("frequency", expected["freq"])):
        assert found.to_dict()[name] == [None if v is None else pytest.approx(v) for v in values]
    assert "1 of 3 bins empty, not drawn" in found.plot().get_title(loc="left")


@pytest.mark.slow
def test_a_bin_of_one_row_says_how_little_it_tells():
    given, expected = case("fifty-points")
    p = np.r_[0.45, np.linspace(0.51, 1, given["n"] - 1)]
    y = np.r_[1, kc.Bernoulli(p[1:]).sample(rng=0)[0]]
    found = reliability(y, p, question="positive class", bins=given["n_bins"])
    assert found.table.count[4] == 1
    low, high = (float(end[4]) for end in found.interval)
    assert (round(low, 3), high) == tuple(expected["interval_1_of_1_95"])
    assert not found.outside[4]
    texts = [text.get_text() for text in found.plot().texts]
    assert "1" in texts  # the number of rows stands at every bin
    page = report(y, p, draws=99, date="2026-01-02")
    assert "Bars and numbers: rows in each bin" in page.to_html()


@pytest.mark.slow
def test_mass_on_other_words_is_refused_and_normalised_when_asked():
    given, expected = case("yes-no-mass")
    p = np.tile([given["no_prob"], given["yes_prob"]], (30, 1))
    y = np.arange(30) % 2
    with pytest.raises(InputError, match=r"row 0 sums to 0\.384.*normalize=True"):
        report(y, p, draws=99)
    (model,) = report(y, p, normalize=True, draws=99, date="2026-01-02").models
    said = next(f for f in model.figures if f.name == "mean confidence in the first choice")
    assert said.value == f"{100 * expected['conf_normalised']:.1f} %"


def written(tmp_path, given):
    rows = zip(given["confidence"], given["correct"], strict=True)
    path = tmp_path / "answers.csv"
    path.write_text("confidence,correct\n" + "".join(f"{c},{y}\n" for c, y in rows))
    return path


SCALE = {"target": "correct", "predictions": "confidence", "kind": "out-of-ten"}


def test_a_scale_of_ten_with_words_in_it(tmp_path):
    given, expected = case("ten-scale")
    path = written(tmp_path, given)
    words = "cell_empty,no_confidence"
    data = read([path], ReadOptions(**SCALE, drop_missing=True, missing=words))
    assert data.predictions.p.tolist() == pytest.approx(expected["conf"])
    assert len(data.y) == expected["usable"]
    assert f"dropped {expected['dropped']} rows with missing values" in data.description


def test_a_word_among_numbers_is_refused_with_the_remedy(tmp_path):
    given, _ = case("ten-scale")
    path = written(tmp_path, given)
    with pytest.raises(InputError, match=r"'cell_empty' is not a number; a word for a missing value\? Say --missing"):
        read([path], ReadOptions(**SCALE, drop_missing=True))


def test_a_scale_of_a_hundred_is_no_scale_of_ten(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("confidence,correct\n8,1\n80,0\n")
    with pytest.raises(InputError, match="a scale from 0 to 10, and row 1 holds 80: what are these numbers"):
        read([path], ReadOptions(**SCALE))


@pytest.mark.slow
def test_a_report_says_what_was_dropped(tmp_path, capsys):
    path = tmp_path / "answers.csv"
    rng = np.random.default_rng(0)
    rows = [f"{c},{y}\n" for c, y in zip(rng.integers(0, 11, 40), rng.integers(0, 2, 40), strict=True)]
    path.write_text("confidence,correct\n" + "".join(rows) + "no_confidence,1\n,0\n")
    said = ["--target", "correct", "--predictions", "confidence", "--kind", "out-of-ten", "--draws", "99"]
    said += ["--missing", "no_confidence", "--drop-missing", "-o", str(tmp_path / "page.html")]
    assert main(["report", str(path), *said]) == 0
    assert "dropped 2 rows with missing values" in capsys.readouterr().out
    assert "dropped 2 rows with missing values" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_sources_that_cancel_are_reported_by_group():
    given, expected = case("mixed-sources")
    groups = given["groups"]
    p = np.concatenate([np.full(g["n"], g["conf"]) for g in groups.values()])
    y = np.concatenate([np.arange(g["n"]) < g["right"] for g in groups.values()]).astype(int)
    source = np.concatenate([np.full(g["n"], name) for name, g in groups.items()])
    found = explain(y, p, groups={"source": source}, draws=99)
    for name, gap in expected["per_group_gap"].items():
        assert found.group(name).gap == pytest.approx(-gap)  # theirs is predicted minus observed
    (model,) = report(y, p, groups={"source": source}, draws=99, date="2026-01-02").models
    shown = {f.name: f for f in model.figures}["difference, said minus happened"].value
    assert abs(float(shown.split()[0].replace("\N{MINUS SIGN}", "-"))) == expected["pooled_signed"]
    assert {g.name for g in model.evaluation.by_group.rejected} == {"a", "b"}
    assert {round(100 * g.gap) for g in model.evaluation.by_group.findings} == {-45, 45}
