"""The page about survival: what every page holds, every figure beside its calibrated one, and names as text."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.survival import SurvivalCurves, evaluate

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

_spec = importlib.util.spec_from_file_location("pages_of_others", Path(__file__).with_name("test_page.py"))
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)

_spec = importlib.util.spec_from_file_location("survival_subjects", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)
evaluation = subjects.survival


@pytest.fixture(scope="module")
def made(hostile):
    from kernelcal.reporting import survival_page

    groups = {hostile[3]: np.resize([hostile[0], hostile[4]], 90)}
    found = evaluation(2.5, groups=groups)
    read = f"read {hostile[1]}"
    return found, survival_page(found, title=hostile[0], read=read, command=hostile[2], date="2026-01-02")


def test_the_page_holds_what_every_page_holds(made):
    _, written = made
    page = pages.Page(written.to_html())
    for check in pages.CHECKS[:-1]:
        check(page, written)
    for words in ("Method", "What it assumes", "Rows are independent", "To repeat it", "Seed", "2026-01-02", "numpy"):
        assert words in page.text, words
    assert "nan" not in page.text.lower().split()
    assert written.verdict.tone == "against"
    assert written.verdict.heading in page.text


def test_names_are_text(made, hostile):
    _, written = made
    page = pages.Page(written.to_html())
    for word in hostile:
        assert word in page.text, word
    assert "<script" not in written.to_html()


def test_every_figure_stands_beside_its_calibrated_one(made):
    found, written = made
    page = pages.Page(written.to_html())
    about = found.concordance_calibrated
    for words in (
        f"{found.ratio:.3f}",
        f"{found.low:.3f} to {found.high:.3f}",
        f"{found.concordance:.4f}",
        f"{about.mean:.4f} ({about.low:.4f} to {about.high:.4f}), p {about.pvalue:.2g}",
        f"{found.d_calibration[1]:.2f}, p {found.d_calibration[2]:.3g}",
        f"{found.horizons[0].brier_calibrated.mean:.4f}",
        f"{found.horizons[0].reference_calibrated.mean:.4f}",
        "at most 1 on average",
        "Every group by itself",
    ):
        assert words in page.text, words
    table = re.search(r'<table class="figures">.*?</table>', written.to_html(), re.DOTALL)[0]
    assert table.count("If calibrated: </span>") == table.count('<th scope="row">') == 5
    assert "If calibrated: </span></td>" not in table


def test_pictures_are_told_in_words(made):
    found, written = made
    titles = [picture.title for picture in written.pictures]
    assert titles == ["When events come", "Risk up to 0.6"]
    assert "where 0.5 was predicted" in written.pictures[0].svg
    assert "Groups from low risk to high: predicted" in written.pictures[1].svg
    assert written.pictures[1].legend[0].text == "calibrated"
    assert {entry.mark for entry in written.pictures[1].legend} == {"dashes", "dot"}
    assert f"p {found.horizons[0].pvalue:.3g}" in written.pictures[1].caption


def test_a_page_never_calls_a_model_calibrated():
    from kernelcal.reporting import survival_page

    found = evaluation()
    page = pages.Page(survival_page(found).to_html())
    assert not found.rejected
    assert "No evidence against the predicted times was found." in page.text
    assert "That is not proof that they are right" in page.text


@pytest.mark.slow
def test_what_there_is_not_has_its_reason():
    from kernelcal.reporting import survival_page

    page = pages.Page(survival_page(evaluation(weights=np.linspace(0.5, 2, 90))).to_html())
    assert "None: pairs of weighted rows have no one weight." in page.text
    assert "None: its law with case weights is not known." in page.text
    assert "E-value of bets" not in page.text
    clustered = pages.Page(survival_page(evaluation(clusters=np.arange(90) // 3)).to_html())
    assert "Rows of different clusters are independent" in clustered.text
    assert "clusters=clusters" in clustered.text


@pytest.mark.slow
def test_the_call_repeats_the_page(tmp_path):
    from kernelcal.reporting import survival_page

    place = tmp_path / "page.html"
    written = survival_page(evaluation(), place, date="2026-01-02")
    page = pages.Page(written.to_html())
    assert place.read_text(encoding="utf-8") == written.to_html()
    assert (
        "found = survival.evaluate(y, law, censoring_time=censoring_time, horizons=[0.6], null='redraw', draws=39, "
        "rng=0)" in page.text
    )
    assert f"reporting.survival_page(found, {str(place)!r})" in page.text
    assert survival_page(evaluation(), place, date="2026-01-02").to_html() == written.to_html()
    assert "2 pictures" in str(written)
    assert written.save(tmp_path / "again.html").read_bytes() == place.read_bytes()
    with pytest.raises(InputError, match="a report is a page"):
        survival_page(evaluation(), tmp_path / "page.txt")


def test_horizons_that_nobody_reached_are_not_drawn():
    from kernelcal.reporting import survival_page

    y = np.array([0.5, 0.7, 1.0, 1.0]), np.array([True, True, False, False])
    curves = SurvivalCurves([1.0, 5.0], [[0.8, 0.4]] * 4)
    written = survival_page(evaluate(y, curves, horizons=(0.6, 4.0), draws=19))
    assert [picture.title for picture in written.pictures] == ["When events come", "Risk up to 0.6"]
    assert "no row was watched longer than 1" in pages.Page(written.to_html()).text.lower()


@pytest.mark.slow
def test_the_command_writes_the_page(tmp_path, capsys):
    rng = np.random.default_rng(1)
    scale = np.exp(rng.normal(size=50))
    times = scale * rng.weibull(1.5, 50)
    lines = [f"{t:.6f},{int(t < 2)},{s:.6f}" for t, s in zip(np.minimum(times, 2), scale, strict=True)]
    table, place = tmp_path / "cohort.csv", tmp_path / "page.html"
    table.write_text("\n".join(["time,event,scale", *lines]))
    said = ["survival", str(table), "--family", "weibull", "--parameters", "scale,1.5", "--draws", "39"]
    assert main([*said, "-o", str(place), "--title", "Cohort of <b>"]) == 0
    assert f"wrote {place}" in capsys.readouterr().out
    page = pages.Page(place.read_text(encoding="utf-8"))
    assert "Cohort of <b>" in page.text
    assert "50 rows; times time" in page.text
    assert f"kernelcal survival {table} --family weibull --parameters scale,1.5 --draws 39 -o {place}" in page.text
    assert main([*said, "-o", str(place), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["horizons"]
    assert f"wrote {place}" in printed.err
    assert main([*said, "-o", str(tmp_path / "page.txt")]) == 2
    assert main([said[0], str(table), *said[1:], "-o", str(place)]) == 2
    assert "is about one table, got 2 files" in capsys.readouterr().err
