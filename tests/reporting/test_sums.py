"""The page of sums: its frame is that of all pages, its figures those of the result; it says what it cannot tell."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom, norm

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.sketch import GroupedSketch, Sketch

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

_spec = importlib.util.spec_from_file_location("pages_of_sums", Path(__file__).with_name("test_page.py"))
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)

ENGINE = kc.RandomFourier(32)


def _one(wrong=True, sites=("north", "south")):
    rng = np.random.default_rng(0)
    p, site = rng.uniform(size=600), np.array(sites)[np.arange(600) % 2]
    y = rng.random(600) < (np.where(site == sites[1], p**2, p) if wrong else p)
    sketch = GroupedSketch(kc.Laplacian(0.2), groups="site", engine=ENGINE, draws=99)
    return sketch.update(y, p, groups=site)


def _classes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 500)
    sharp = p**1.7 / (p**1.7).sum(axis=1, keepdims=True)
    return Sketch.like(sharp, engine=ENGINE, draws=99).update(kc.Categorical(p).sample(rng)[0], sharp)


def _numbers():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    return Sketch.like(kc.Normal(np.zeros(300), np.full(300, 0.6)), engine=ENGINE, draws=99).update(
        y, kc.Normal(np.zeros(300), np.full(300, 0.6))
    )


def _quantiles():
    rng, levels = np.random.default_rng(0), [0.1, 0.5, 0.9]
    said = kc.Quantiles(np.tile(0.5 * norm.ppf(levels), (300, 1)), levels)
    return Sketch.like(said, engine=ENGINE, draws=99).update(rng.normal(size=300), said)


SUMS = {"one probability": _one, "classes": _classes, "numbers": _numbers, "quantiles": _quantiles}


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("name", SUMS)
def test_the_page_of_sums(tmp_path, name):
    from kernelcal.reporting import sums_page

    sketch = SUMS[name]()
    made = sums_page(sketch, tmp_path / "page.html", date="2026-01-02")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = pages.Page(html)
    found = SimpleNamespace(to_html=lambda: html, verdict=made.verdict)
    for check in pages.CHECKS[:-1]:
        check(page, found)
    result = sketch.result()
    assert made.verdict.tone == "against"
    assert made.verdict.advice.startswith("Do not use them as they are")
    for words in ("What sums cannot tell", "To repeat it", "no row is kept", "99", f"{result.n:,} rows", "2026-01-02"):
        assert words in page.text, words
    assert f"{result.pvalue:.3g}" in page.text
    assert "sketch.load_sketch('sums.npz'), " in page.text
    assert "<script" not in html
    pictures = {"one probability": 4, "classes": 2, "numbers": 1, "quantiles": 2}[name]
    assert len(made.pictures) == pictures


@pytest.mark.usefixtures("unrendered")
def test_its_figures_are_those_of_the_result():
    from kernelcal.reporting import sums_page

    sketch = _one()
    result, text = sketch.result(), pages.Page(sums_page(sketch).to_html()).text
    low, high = result.interval.root
    for words in (
        f"{low:.4f} to {high:.4f}",
        f"{result.means['log_score']:.4f}",
        f"{result.known.pvalue:.3g}",
        result.by_group.verdict,
        "site: south",
        "Every group is tested by the SKCE of its rows",
        "It says",
    )[:-1]:
        assert words in text, words
    table = result.eces[0].tables[0]
    said, did = (100 * float(x.sum()) / 600 for x in (table.prediction_sums, table.label_sums))
    assert f"On average it says {said:.1f} %, and it happens in {did:.1f} % of cases." in text
    assert "Class 1 is over-predicted" in text


@pytest.mark.usefixtures("unrendered")
def test_a_calibrated_model_is_not_accused_and_not_praised():
    from kernelcal.reporting import sums_page

    made = sums_page(_one(wrong=False))
    assert made.verdict.tone == "nothing"
    assert made.verdict.advice.startswith("Nothing speaks against using them as they are")
    text = pages.Page(made.to_html()).text
    assert "That is not proof that they are right." in text
    assert "That does not show that the model is right in each of them." in text


@pytest.mark.slow
def test_names_of_groups_are_text(tmp_path, hostile):
    from kernelcal.reporting import sums_page

    made = sums_page(_one(sites=tuple(hostile[:2])), tmp_path / "page.html", title=hostile[0])
    page = pages.Page(made.to_html())
    for word in hostile[:2]:
        assert word in page.text, word
    assert "<script" not in made.to_html()


def test_the_band_holds_more_than_the_stated_share_of_calibrated_models():
    """No bin of a calibrated model lies outside the band of all bins in 95 % of data sets, or more."""
    from kernelcal.reporting.pictures import sums

    rng, outside = np.random.default_rng(0), 0
    p = rng.beta(0.5, 0.5, 400)
    for _ in range(200):
        y = (rng.random(400) < p).astype(int)
        table = kc.ece(y, p, bins=15).tables[0]
        said = sums._reliability("ECE, positive class", table, 0.95).description
        outside += ": 0 of" not in said and ". 0 of" not in said
    assert outside <= binom.ppf(1 - 1e-4, 200, 0.05)


def test_what_is_no_sketch_is_refused(tmp_path):
    from kernelcal.reporting import sums_page

    with pytest.raises(InputError, match=r"a page of sums is about a sketch, .* got SketchResult"):
        sums_page(_numbers().result())
    with pytest.raises(InputError, match="has seen no rows"):
        sums_page(Sketch(kc.Laplacian(0.2)))
    with pytest.raises(InputError, match="page"):
        sums_page(_numbers(), tmp_path / "page.txt")


@pytest.mark.slow
def test_the_command_line(tmp_path, capsys):
    state, page = tmp_path / "sums.npz", tmp_path / "page.html"
    _one().save(state)
    assert main(["report", "--state", str(state), "-o", str(page), "--fail-below", "0.05"]) == 1
    out = capsys.readouterr().out
    assert f"The stated probabilities do not match what happened.\nwrote {page}" in out
    assert f"gate: {state}, site south: p = 0.01 is below 0.05" in out
    text = pages.Page(page.read_text(encoding="utf-8")).text
    assert f"sums of {state}: 600 rows" in text
    assert f"kernelcal report --state {state} -o {page} --fail-below 0.05" in text
    assert "Calibration, from one pass" in text
    assert main(["report", "--state", str(state), "-o", str(page), "--json", "--title", "A week"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 600
    assert "A week" in page.read_text(encoding="utf-8")
    assert main(["report", "--state", str(state), "-o", str(page), "--groups", "site"]) == 2
    assert "hold no rows: leave out --groups" in capsys.readouterr().err
    assert main(["report", str(state), "--state", str(state), "-o", str(page)]) == 2
    assert "leave out the files, or leave out --state" in capsys.readouterr().err
    assert main(["report", "--state", str(state), "-o", str(page), "--fail-below", "0.001"]) == 2
    assert "sums of 99 draws give no p-value below 0.01" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    ["--where site=south", "--target y", "--kind logits", "--draws 99", "--seed 3", "--truth a.csv", "--all-draws"],
)
def test_what_a_page_of_sums_would_not_heed_is_refused(option, tmp_path, capsys):
    state, page = tmp_path / "sums.npz", tmp_path / "page.html"
    _one().save(state)
    assert main(["report", "--state", str(state), "-o", str(page), *option.split()]) == 2
    assert f"which hold no rows: leave out {option.split()[0]}, or name the files" in capsys.readouterr().err
    assert not page.exists()


@pytest.mark.parametrize("content", [b"", b"abc", b"PK\x03\x04 cut"])
def test_a_state_that_is_damaged_may_be_of_either_kind(content, tmp_path, capsys):
    state = tmp_path / "sums.npz"
    state.write_bytes(content)
    assert main(["report", "--state", str(state), "-o", str(tmp_path / "page.html")]) == 2
    assert (
        "is neither the state of kernelcal monitor nor sums of evaluate --save or merge -o" in capsys.readouterr().err
    )
