"""Every page says in one sentence what to do, by the same decision as the printed verdict; names of groups are told."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.comparison import Standing
from kernelcal.errors import InputError
from kernelcal.evaluation import doubts_of, mendable
from kernelcal.monitor import Monitor
from kernelcal.reporting import report

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("unrendered")

_spec = importlib.util.spec_from_file_location("pages_with_advice", Path(__file__).with_name("test_page.py"))
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)

FAST = {"draws": 99, "date": "2026-01-02"}
RNG = np.random.default_rng(0)
P = RNG.uniform(size=200)
HONEST, BOLD = RNG.random(200) < P, RNG.random(200) < P**4
MAP = "a map (kernelcal recalibrate)"


def advised(page):
    """What stands on the page behind "What to do"."""
    text = pages.Page(page).text
    assert text.count("What to do:") >= 1
    return text.partition("What to do:")[2].strip()


@pytest.mark.slow
def test_what_is_wrong_is_to_be_mended_and_what_is_not_may_be_used():
    found = report(BOLD, P, **FAST)
    assert found.verdict.advice.startswith("Do not use them as they are: mend them with a map (kernelcal recalibrate)")
    assert advised(found.to_html()).startswith(found.verdict.advice)
    assert found.to_dict()["what_to_do"] == found.verdict.advice
    assert report(HONEST, P, **FAST).verdict.advice.startswith("Nothing speaks against using them as they are;")
    assert report(HONEST[:60], P[:60], **FAST).verdict.advice.startswith("Get more rows before you rely on them")


def test_what_has_no_map_must_be_mended_by_its_model():
    y = RNG.normal(size=(80, 2))
    found = report(y + 3, kc.MultivariateNormal.isotropic(np.zeros((80, 2)), np.ones(80)), **FAST)
    assert "the model itself must be mended" in found.verdict.advice
    assert MAP not in found.verdict.advice


def test_small_errors_of_many_rows_may_not_matter():
    found = kc.evaluate(BOLD, P, draws=99)
    assert "unless errors" not in found.what_to_do
    assert "unless errors of the size found do not matter to you" in replace(found, n=5000).what_to_do


@pytest.mark.slow
def test_groups_stand_in_the_verdict():
    groups = np.repeat(["north", "south"], 100)
    y = np.where(groups == "south", BOLD, HONEST)
    found = report(y, P, groups={"site": groups}, **FAST)
    assert found.verdict.tone == "against"
    assert "In 1 of 2 groups it does not match what happened: site south." in found.verdict.sentences
    assert "by a map of its own for each group (site south is wrong)" in found.verdict.advice
    (model,) = found.models
    unsure = replace(model.evaluation, test=replace(model.evaluation.test, pvalue=0.4)).what_to_do
    assert unsure.startswith("Do not use them as they are for site south, where they do not match")
    none = report(HONEST, P, groups={"site": groups}, **FAST)
    assert "In none of 2 groups by themselves evidence was found." in none.verdict.sentences


@pytest.mark.slow
def test_differences_of_groups_are_told_above_their_table():
    groups = np.repeat(["north", "south"], 100)
    y = np.where(groups == "south", P > 0.2, RNG.random(200) < P**3)
    found = report(y, P, groups={"site": groups}, **FAST)
    (model,) = found.models
    words = model.evaluation.by_group.differences_in_words
    assert words
    text = pages.Page(found.to_html()).text.lower()
    assert text.index(words[0].lower()[:40], text.index("where it is wrong")) < text.index("groups, the surest first")
    head = found.to_html().split("Groups, the surest first")[1].split("</thead>")[0]
    assert head.index("what is wrong") < head.index("rows</th>") < head.index("happened")


def test_doubts_about_the_p_value_stand_in_the_verdict():
    """A series whose neighbours deviate alike: the page says it where everybody reads, and what to do first."""
    away = np.convolve(np.random.default_rng(1).normal(size=419), np.ones(20), "valid") / np.sqrt(20)
    found = report(away, kc.Normal(np.zeros(400), np.full(400, 0.6)), **FAST)
    doubts = [text for text in found.verdict.sentences if "can be far too small" in text]
    assert len(doubts) == 1
    assert doubts[0].startswith("But ")
    assert found.verdict.advice.startswith(
        "Find out first whether rows depend on each other, as is said below; if they do not, do"
    )


def test_what_had_been_ruled_out_is_proof_however_rows_depend():
    y, p = np.repeat(np.random.default_rng(0).integers(0, 2, 40), 10), np.full(400, 0.5)
    p[np.flatnonzero(y)[0]] = 0.0
    found = kc.evaluate(y, p, draws=99)
    assert doubts_of(found)
    assert found.what_to_do.startswith("Do not use them as they are")


def test_counts_of_which_there_is_no_map_are_not_sent_to_one():
    rate = np.random.default_rng(0).gamma(5, 1, 100)
    y = np.random.default_rng(1).poisson(rate)
    found = kc.compare(y, {"high": kc.Poisson(2 * rate), "low": kc.Poisson(rate / 2)}, draws=99)
    assert found.standing.without_map == tuple(model.name for model in found.models)
    assert "there is no map of such predictions" in found.standing.what_to_do
    assert mendable(kc.evaluate(y, kc.Normal(rate, np.sqrt(rate)), draws=99))


STANDINGS = {
    "alone": (Standing("a", (), False, False, ()), "Take a."),
    "alone and wrong": (Standing("a", (), False, False, ("a", "b")), f"Take a; {MAP[:5]} can mend what it states"),
    "tied": (Standing("a", ("b",), False, False, ()), "Choose between a and b by other things, such as costs,"),
    "all tied, wrong": (Standing("a", ("b", "c"), True, False, ("b",)), "a map can mend what they state"),
    "another says more": (
        Standing("a", (), False, False, ("b",), "b"),
        "Take b: what it says of the outcomes is worth",
    ),
    "wrong, no map": (
        Standing("a", (), False, False, ("a",), without_map=("a", "b")),
        "Take a; what it states must be mended in the model itself, for there is no map of such predictions.",
    ),
    "tied, one has a map": (
        Standing("a", ("b",), True, False, ("a", "b"), without_map=("a",)),
        "a map can mend what they state",
    ),
}


@pytest.mark.parametrize(("standing", "words"), STANDINGS.values(), ids=STANDINGS)
def test_what_to_do_with_several_models(standing, words):
    assert words in standing.what_to_do
    assert standing.what_to_do.endswith(".")


@pytest.mark.slow
def test_the_page_and_the_printed_verdict_have_one_standing():
    models = {"honest": P, "bold": P**4, "shy": 0.5 + 0.5 * (P - 0.5)}
    found = report(HONEST, models, **FAST)
    standing = found.comparison.standing
    assert found.verdict.advice == standing.what_to_do
    assert advised(found.to_html()).startswith("Take honest.")
    assert standing.best == "honest" == found.comparison.verdict.split()[0]
    assert set(standing.wrong) == {"bold", "shy"}


@pytest.mark.slow
def test_the_log_score_decides_where_errors_do_not():
    """Both are as well calibrated as chance lets one see, and one says much more."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    y = rng.random(400) < p
    found = kc.compare(y, {"sharp": p, "flat": np.full(400, y.mean())}, draws=99)
    alike = (replace(x, adjusted=0.9) if x.measure == "CKCE" else x for x in found.differences)
    tied = replace(found, differences=tuple(alike))
    assert tied.standing.talker == "sharp"
    assert tied.standing.what_to_do == "Take sharp: what it says of the outcomes is worth most (log score)."
    open_ = replace(tied, differences=tuple(replace(x, adjusted=0.9) for x in tied.differences))
    assert open_.standing.what_to_do.startswith("Choose between ")


@pytest.mark.slow
def test_models_of_which_only_the_first_is_tied_with_all_are_not_all_tied():
    """The printed sentence said of all what holds of the first alone."""
    found = kc.compare(HONEST, {"a": P, "b": np.clip(P + 0.01, 0, 1), "c": P**4}, draws=99)
    ties = {frozenset(("a", "b")), frozenset(("a", "c"))}
    changed = tuple(
        replace(d, adjusted=0.9 if frozenset((d.first, d.second)) in ties else 0.001) for d in found.differences
    )
    found = replace(found, models=tuple(sorted(found.models, key=lambda m: m.name)), differences=changed)
    assert found.tied("a") == ("b", "c")
    assert not found.standing.together
    assert found.verdict.startswith("a has the smallest CKCE, tied with b, c.")


@pytest.mark.slow
def test_an_infinite_score_is_said_in_words():
    p = P.copy()
    p[np.flatnonzero(HONEST)[0]] = 0.0
    page = report(HONEST, {"honest": P, "sure": p}, **FAST).to_html()
    text = pages.Page(page).text
    assert "sure is infinite" in text
    assert " inf " not in text


@pytest.mark.slow
def test_the_page_of_a_monitor_says_what_to_do(tmp_path):
    from kernelcal.reporting import history_page

    for y, words in ((BOLD, "Do not rely on these predictions as they are"), (HONEST, "Go on as before, and look")):
        monitor = Monitor()
        for _ in range(8 if y is BOLD else 1):
            monitor.update(y, P)
        place = history_page(monitor, tmp_path / "page.html", date="2026-01-02")
        assert advised(place.read_text(encoding="utf-8")).startswith(words)


@pytest.mark.parametrize(
    ("factor", "words"), [(2.5, "Do not use the predicted times as they are"), (1.0, "Wait for more")]
)
def test_the_page_of_survival_says_what_to_do(factor, words):
    from kernelcal.reporting import survival_page
    from kernelcal.survival import evaluate

    rng = np.random.default_rng(1)
    scale = np.exp(rng.normal(scale=0.5, size=90))
    times, ends = scale * rng.weibull(1.5, 90), rng.uniform(0.5, 3.0, 90) * (1 if factor > 1 else 0.4)
    law = kc.predictions.Weibull(scale * factor, 1.5)
    found = evaluate((np.minimum(times, ends), times <= ends), law, censoring_time=ends, draws=39)
    assert advised(survival_page(found).to_html()).startswith(words)


_spec = importlib.util.spec_from_file_location("subjects_with_maps", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)


@pytest.mark.parametrize("name", subjects.SUBJECTS)
def test_a_map_is_advised_where_there_is_one(name):
    """What the page says can be typed: `recalibrate` takes these predictions, and refuses the others."""
    from kernelcal.evaluation.verdicts import has_map
    from kernelcal.recalibration import recalibrate

    y, predictions, options = subjects.SUBJECTS[name]()
    first = next(iter(predictions.values())) if isinstance(predictions, dict) else predictions
    batch = kc.as_predictions(first, classes=options.get("classes"))
    try:
        recalibrate(y, batch, test=False)
        there = True
    except InputError:
        there = False
    assert has_map(batch) == there
