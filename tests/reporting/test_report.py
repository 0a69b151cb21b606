"""What `report` returns, writes and refuses."""

import datetime
import html
import re
import sys

import numpy as np
import pytest
from scipy.stats import binomtest

import kernelcal as kc
from kernelcal.errors import InputError, MissingExtraError
from kernelcal.reporting import main, report
from kernelcal.reporting.page import day
from kernelcal.reporting.result import write_whole

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
P = np.random.default_rng(0).uniform(size=60)
Y = np.random.default_rng(1).random(60) < P
FAST = {"draws": 99, "date": "2026-01-02"}


@pytest.mark.slow
def test_the_result_holds_what_was_computed(tmp_path):
    path = tmp_path / "page.html"
    found = report(Y, {"forest": P}, path, groups={"half": np.arange(60) % 2}, **FAST)
    assert found.path == path
    assert path.read_text(encoding="utf-8") == found.to_html()
    (model,) = found.models
    assert (model.name, model.family, model.explained_rows) == ("forest", "Bernoulli", 60)
    assert model.evaluation.pvalue == kc.evaluate(Y, P, draws=99).pvalue
    assert {g.name for g in model.evaluation.by_group.findings} == {"0", "1"}
    assert found.comparison is None
    assert found.to_dict()["models"][0]["evaluation"]["n"] == 60
    assert "page.html" in repr(found)


@pytest.mark.slow
def test_the_same_bytes_for_the_same_input():
    assert report(Y, P, **FAST).to_html() == report(Y, P, **FAST).to_html()
    other = report(Y, P, draws=99, date="2026-01-03").to_html()
    assert other.replace("2026-01-03", "2026-01-02") == report(Y, P, **FAST).to_html()


def test_the_date(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert day(None) == "1970-01-01"
    assert day(datetime.date(2026, 5, 1)) == "2026-05-01"
    assert day("spring") == "spring"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert len(day(None)) == 10


@pytest.mark.usefixtures("unrendered")
def test_figures_agree_with_other_means():
    found = report(Y, P, **FAST)
    figures = {f.name: f for f in found.models[0].figures}
    gap = 100 * (P - Y)
    half = 1.959964 * gap.std(ddof=1) / np.sqrt(60)
    shown = figures["difference, said minus happened"]
    assert shown.value == f"{gap.mean():+.1f} points".replace("-", "\N{MINUS SIGN}")
    ends = f"{gap.mean() - half:+.1f} points to {gap.mean() + half:+.1f} points"
    assert shown.interval == ends.replace("-", "\N{MINUS SIGN}")
    assert figures["Brier score"].value == f"{np.mean((P - Y) ** 2):.4f}"
    assert figures["expected calibration error, top label"].interval == "none"


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_gaps_of_groups_are_those_of_all_rows(monkeypatch):
    monkeypatch.setattr(sys.modules["kernelcal.reporting.main"], "_EXPLAINED", 40)
    half = np.arange(60) % 2
    (model,) = report(Y, P, groups=half, **FAST).models
    assert model.explained_rows == 40
    assert model.explanation.n == 40
    seen = next(g for g in model.evaluation.by_group.findings if g.name == "1")
    assert seen.n == 30
    assert np.isclose(seen.gap, (Y - P)[half == 1].mean())
    assert seen.pvalue == kc.explain(Y, P, groups=half, draws=99).group(1).pvalue  # of all rows too


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_several_models_are_compared_and_come_in_the_order_of_their_error():
    found = report(Y, {"inverted": 1 - P, "honest": P}, within=0.4, **FAST)
    assert [model.name for model in found.models] == ["honest", "inverted"]
    assert found.comparison is not None
    assert found.verdict.heading == "honest has the smallest calibration error, and chance does not explain its lead."
    assert "evidence against inverted (1 of 2 models)" in found.verdict.sentences[0]
    assert "does not prove it right" in found.verdict.sentences[0]
    assert "error below 0.4?" in found.to_html()


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_several_models_of_dependent_rows_have_one_page():
    said = {"clusters": np.arange(len(Y)) // 2}
    found = report(Y, {"inverted": 1 - P, "honest": P}, **said, **FAST)
    alone = kc.compare(Y, {"inverted": 1 - P, "honest": P}, **said, draws=FAST["draws"])
    assert found.comparison.differences == alone.differences
    page = found.to_html()
    assert f"standard errors by sums over {len(Y) // 2} clusters" in page
    assert "These p-values are those of many rows" not in page
    d = alone.differences[0]
    half = alone.law.quantile(0.95) * d.standard_error
    assert f"\N{PLUS-MINUS SIGN} {half:.3g}"[:5] in page


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_models_that_are_alike_are_not_told_apart():
    found = report(Y, {"one": P, "two": np.clip(P + 0.001, 0, 1)}, **FAST)
    assert found.verdict.heading == "The models cannot be told apart by their conditional calibration errors (CKCE)."


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_progress_grows_to_its_end():
    seen = []
    report(Y, {"a": P, "b": P**2}, progress=lambda done, total: seen.append((done, total)), **FAST)
    assert all(total == seen[0][1] for _, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.slow
def test_no_setting_of_matplotlib_changes_and_no_figure_stays_open():
    plt = pytest.importorskip("matplotlib.pyplot")
    before = dict(plt.rcParams)
    report(Y, P, **FAST)
    assert dict(plt.rcParams) == before
    assert plt.get_fignums() == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch, error):
    def fails(*_):
        raise error

    path = tmp_path / "page.html"
    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(error):
        write_whole(path, "text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_an_old_page_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr(main, "rendered", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report(Y, P, path, **FAST)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    report(Y, P, path, **FAST)
    assert path.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"predictions": {}}, "empty mapping: pass a model"),
        ({"predictions": {"a": P, "b": P}, "weights": P}, "takes no case weights: report one model at a time"),
        ({"predictions": {"a": P, "b": 7 * P}}, "model 'b': "),
        ({"rng": None}, "rng must be a seed, a whole number from 0: the page names it"),
        ({"rng": True}, "rng must be a seed"),
        ({"path": "missing/page.html"}, "there is no folder missing: make it first"),
        ({"path": "page.pdf"}, r"its name ends in \.html or \.htm, got page\.pdf"),
        ({"path": "."}, r"\. is a folder: name a file in it, such as report\.html"),
        ({"groups": [1, 2]}, "has 2 values, and there are 60 rows"),
    ],
)
@pytest.mark.usefixtures("unrendered")
def test_what_is_refused(change, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"predictions": P, **FAST, **change}
    with pytest.raises(InputError, match=text):
        report(Y, **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("unrendered")
def test_groups_of_what_cannot_be_explained_are_refused():
    score = kc.predictions.Score(lambda y, m: m - y, P)
    with pytest.raises(InputError, match=r"have no groups: pass draws of the model, kernelcal\.Samples"):
        report(P, score, groups=np.arange(60) % 2, **FAST)
    draws = kc.Samples(P[:, None] + np.linspace(-1, 1, 5), np.tile([0.1, 0.2, 0.4, 0.2, 0.1], (60, 1)))
    with pytest.raises(InputError, match="unequal weights have no test, hence no groups: draw an unweighted sample"):
        report(P, draws, groups=np.arange(60) % 2, **FAST)


@pytest.mark.parametrize(("package", "extra"), [("jinja2", "report"), ("matplotlib", "plot")])
def test_a_missing_extra_is_named_before_the_work(monkeypatch, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(main, "evaluated", lambda *_, **__: 1 / 0)
    with pytest.raises(MissingExtraError, match=rf"a report needs .*{package}.*pip install 'kernelcal\[{extra}\]'"):
        report(Y, P)


@pytest.mark.slow
def test_save(tmp_path):
    found = report(Y, P, **FAST)
    assert found.path is None
    assert "not written" in repr(found)
    assert found.save(tmp_path / "later.html").read_text(encoding="utf-8") == found.to_html()
    with pytest.raises(InputError, match="no folder"):
        found.save(tmp_path / "missing" / "page.html")


@pytest.mark.usefixtures("unrendered")
def test_the_verdict_in_plain_words():
    rng = np.random.default_rng(3)
    p = np.r_[0.0, rng.uniform(size=400)]
    y = np.r_[1, rng.random(400) < p[1:] ** 2].astype(int)
    found = report(y, p, **FAST)
    said = " ".join(found.verdict.sentences)
    assert f"On average it says {100 * p.mean():.1f} %, and it happens in {100 * y.mean():.1f} % of cases." in said
    assert "In 1 row it had ruled out what then happened." in said
    assert "if rows are independent of each other: of 1,000 data sets" in said
    assert "evidence as strong as this in at most 10 (p = 0.01)." in said
    for jargon in ("SKCE", "kernel", "null", "Nystrom", "reject"):
        assert jargon not in found.verdict.heading + said


@pytest.mark.usefixtures("unrendered")
def test_the_verdict_on_numbers_says_what_intervals_held():
    rng = np.random.default_rng(3)
    mean = rng.normal(size=300)
    y = mean + rng.normal(size=300)
    found = report(y, kc.Normal(mean, 0.5), **FAST)
    inside = {level: np.mean(np.abs(y - mean) / 0.5 < z) for level, z in ((0.5, 0.6745), (0.9, 1.6449), (0.95, 1.96))}
    level = max(inside, key=lambda level: abs(inside[level] - level) / np.sqrt(level * (1 - level)))
    share = inside[level]
    assert (
        f"Intervals that should hold {100 * level:.0f} % of outcomes held {100 * share:.1f} %."
        in found.verdict.sentences
    )


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_a_share_that_chance_explains_is_not_said():
    rng = np.random.default_rng(3)
    mean, std = rng.normal(size=4000), rng.choice([0.7, 1.3], 4000)
    y = mean + rng.normal(size=4000) * std
    found = report(y, kc.Normal(mean, np.sqrt(np.mean(std**2))), **FAST)
    assert found.verdict.tone == "against" or not any("should hold" in s for s in found.verdict.sentences)
    for sentence in found.verdict.sentences:
        assert "should hold 90 % of outcomes held 90" not in sentence


@pytest.mark.usefixtures("unrendered")
def test_what_is_not_tested_is_not_judged():
    draws = kc.Samples(P[:, None] + np.linspace(-1, 1, 5), np.tile([0.1, 0.2, 0.4, 0.2, 0.1], (60, 1)))
    found = report(P, draws, **FAST)
    assert found.verdict.tone == "untested"
    assert found.verdict.heading == "Whether the stated uncertainty can be believed was not tested."
    assert "unequal weights are not exchangeable" in found.verdict.sentences[0]


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_the_level_is_that_of_all_intervals():
    found = report(Y, P, confidence_level=0.8, groups=np.arange(60) % 2, **FAST)
    (model,) = found.models
    figures = {f.name: f for f in model.figures}
    gap = 100 * (P - Y)
    half = 1.2815516 * gap.std(ddof=1) / np.sqrt(60)
    assert figures["difference, said minus happened"].interval == (
        f"{gap.mean() - half:+.1f} points to {gap.mean() + half:+.1f} points".replace("-", "\N{MINUS SIGN}")
    )
    low, high = binomtest(int(Y.sum()), 60).proportion_ci(0.8)
    assert figures["share of rows in which it happened"].interval == f"{100 * low:.1f} % to {100 * high:.1f} %"
    group = next(g for g in model.evaluation.by_group.findings if g.name == "0")
    low, high = binomtest(int(Y[::2].sum()), 30).proportion_ci(0.8)
    assert np.allclose(group.gap_interval, (low - P[::2].mean(), high - P[::2].mean()))
    assert "80 % interval" in found.to_html()
    assert "where 95 % of calibrated models lie; points outside" in found.to_html()


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_probabilities_that_are_all_too_low_are_not_called_over_confident():
    p = np.random.default_rng(0).uniform(size=200)
    said = " ".join(report(np.ones(200, dtype=int), p, **FAST).verdict.sentences)
    assert "On average it says 5" in said
    assert "confident" not in said


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_one_model_has_a_bound_too():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    y = (rng.random(400) < p).astype(int)
    found = report(y, p, within=0.1, **FAST)
    assert found.models[0].equivalence == kc.equivalence_test(y, p, within=0.1, draws=FAST["draws"])
    assert found.models[0].figures[-1].meaning.startswith("Calibrated to within 0.1")
    assert found.models[0].figures[-1].meaning in found.to_html()
    assert found.to_dict()["models"][0]["equivalence"]["within"] == 0.1
    counts = kc.Quantiles(np.tile([0.0, 1.0, 3.0], (60, 1)), [0.1, 0.5, 0.9])
    with pytest.raises(InputError, match=r"within=0\.1 bounds the root of the SKCE, which has no interval here"):
        report(np.arange(60) % 4, counts, within=0.1, **FAST)


REPEATED = {
    "nothing": {},
    "levels": {"alpha": 0.1, "confidence_level": 0.9, "early_stopping": False},
    "title and groups": {"title": "T '<b>", "groups": np.repeat(["a", "b"], 30)},
    "weights": {"weights": np.linspace(0.5, 2, 60)},
    "lens and classes": {"lens": kc.TopLabel(), "classes": ["no", "yes"]},
    "bound and rows": {"within": 0.2, "rows": np.arange(60) + 7, "date": datetime.date(2026, 1, 2), "read": "a file"},
    "given": {"given": {"x": np.arange(60.0)}},
    "horizon": {"horizon": 2},
    "clusters": {"clusters": np.arange(60) // 3},
}


def command_on(page):
    return html.unescape(re.search(r"<code>(.*?)</code>", page, re.DOTALL)[1])


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(REPEATED[k], id=k, marks=pytest.mark.slow if k in ("nothing", "levels", "horizon") else ())
        for k in REPEATED
    ],
)
@pytest.mark.usefixtures("unrendered")
@pytest.mark.slow
def test_the_call_on_a_page_makes_the_page_again(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    report(Y, P, "page.html", draws=39, rng=3, **options)
    first = (tmp_path / "page.html").read_text()
    (tmp_path / "page.html").unlink()
    exec(command_on(first), {"y": Y, "predictions": P, **options})
    assert (tmp_path / "page.html").read_text() == first


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_the_call_on_a_page_of_several_models_makes_it_again():
    models = {"a": P, "b": P**2 / (P**2).sum(axis=-1, keepdims=True) if P.ndim == 2 else P**2}
    page = report(Y, models, within=0.2, draws=99).to_html()
    made = {"y": Y, "predictions": models}
    exec(command_on(page).replace("kernelcal.report", "page = kernelcal.report"), made)
    assert made["page"].to_html() == page


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_a_page_of_a_file_and_its_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    (tmp_path / "parts").mkdir()
    for k in range(2):
        p = rng.uniform(size=60)
        rows = zip(p.tolist(), (rng.random(60) < p).astype(int).tolist(), strict=True)
        (tmp_path / f"parts/{k}.csv").write_text("risk,event\n" + "".join(f"{a!r},{b}\n" for a, b in rows))
    assert kc.report("parts/0.csv", "risk", "a.html", target="event", draws=39).models[0].evaluation.n == 60
    found = kc.report("parts/*.csv", "risk", target="event", draws=39, title="All")
    assert found.models[0].evaluation.n == 120
    made = {}
    exec(command_on(found.to_html()).replace("kernelcal.report", "page = kernelcal.report"), made)
    assert made["page"].to_html() == found.to_html()
    for arguments, options, text in (
        (("parts/0.csv", "risk", "a.html", 3), {}, "after a path or a table come the names"),
        (("parts/0.csv", "risk"), {"predictions": "risk"}, "predictions was given twice"),
        (("parts/2.csv",), {}, "there is no such file"),
        (("parts/0.csv", "risk"), {"targets": "event"}, "there is no option 'targets'"),
        ((Y, P), {"target": "event"}, "target= says which columns of a file hold what"),
        ((Y,), {}, "needs predictions; of a file its path"),
    ):
        with pytest.raises(InputError, match=text):
            kc.report(*arguments, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_names_on_a_page_hold_no_control_characters():
    names = ["a\x1b]0;T\x07", "b\u202e", "c\x00d"]
    page = report(Y, P, groups=np.resize(names, len(Y)), title="t\x1b[31m", read="\x07", **FAST).to_html()
    assert not set(page) & set("\x1b\x07\u202e\x00")
    assert "a\\x1b]0;T\\x07" in page
    assert "t\\x1b[31m" in page


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_two_rows_are_no_reason_for_trust():
    said = " ".join(report([0, 1], [[0.3, 0.3, 0.4], [0.2, 0.2, 0.6]], **FAST).verdict.sentences)
    assert "fits these data" not in said


def test_an_option_of_files_that_is_taken_for_a_level():
    with pytest.raises(InputError, match="of intervals say confidence_level=, of the verdict alpha="):
        report(Y, P, level=0.9, **FAST)
