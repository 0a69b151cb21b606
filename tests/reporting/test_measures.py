"""Measures on a page: the table, the picture, the values, the call that makes it again."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib").use("agg")
R = np.random.default_rng(3)
P = R.uniform(0.05, 0.6, 120)
Y = (R.random(120) < P).astype(int)


@pytest.mark.slow
def test_the_page_has_the_table_and_the_picture():
    found = kc.report(Y, P, measures=["slope", "oe"], groups={"site": np.arange(120) % 2}, draws=99, date="2026-01-01")
    page = found.to_html()
    assert "Measures of 120 rows" in page
    assert "observed to expected, site 1" in page
    assert found.models[0].measured["calibration slope"].value > 0
    assert found.to_dict()["models"][0]["measured"]["measures"][0]["measure"] == "calibration slope"
    assert "measures=[&#39;slope&#39;, &#39;oe&#39;]" in page
    assert found.models[0].pictures[-1].title == "Measures"


@pytest.mark.slow
def test_a_page_without_measures_has_none():
    found = kc.report(Y, P, draws=99)
    assert found.models[0].measured is None
    assert "Measures of" not in found.to_html()


@pytest.mark.slow
def test_several_models_have_a_table_each():
    found = kc.report(Y, {"a": P, "b": P**2}, measures="oe", draws=99)
    assert found.to_html().count("Measures of 120 rows") == 2
    assert {model.measured["observed to expected"].value > 1.2 for model in found.models} == {True, False}


def test_wrong_names_are_said_first():
    with pytest.raises(InputError, match="measures: 'slop' is none of"):
        kc.report(None, None, measures="slop")


@pytest.mark.slow
def test_the_commands_write_pages(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{y},{p:.4f}" for y, p in zip(Y, P, strict=True))
    (tmp_path / "risk.csv").write_text(f"died,risk\n{rows}\n")
    read = ["risk.csv", "--target", "died", "--predictions", "risk", "--draws", "99"]
    assert main(["clinical", *read, "-o", "page.html", "--threshold", "0.3"]) == 0
    assert "a risk of 30 %" in capsys.readouterr().out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "calibration slope" in page
    assert "Calibration curve" in page
    assert main(["report", *read, "--measures", "slope", "-o", "other.html"]) == 0
    assert "Measures of 120 rows" in (tmp_path / "other.html").read_text(encoding="utf-8")
    assert main(["clinical", *read, "-o", "page.txt"]) == 2
    assert "a report is a page" in capsys.readouterr().err
    assert main(["clinical", "risk.csv", "risk.csv", "-o", "page.html"]) == 2
    assert "is about one table, got 2 files" in capsys.readouterr().err
