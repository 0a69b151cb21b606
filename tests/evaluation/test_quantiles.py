"""Evaluation of quantile forecasts: what it holds, with ties, with one level, as JSON and in words."""

import json

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.evaluation import QuantileEvaluation, plan
from kernelcal.statistics import claimed_levels, crps, weighted_interval_score

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
RNG = np.random.default_rng(0)
MEAN = RNG.normal(size=300)
BATCH = kc.Quantiles(MEAN[:, None] + stats.norm.ppf(LEVELS), LEVELS)
Y = MEAN + RNG.normal(size=300)
COUNTS = kc.Quantiles(np.tile(stats.poisson.ppf(LEVELS, 3.0), (300, 1)), LEVELS)


def test_figures_are_those_of_their_functions():
    found = kc.evaluate(Y, BATCH, draws=99)
    assert isinstance(found, QuantileEvaluation)
    assert found.pvalue > 0.05
    assert found.interval_score.to_dict() == weighted_interval_score(Y, BATCH).to_dict()
    assert found.levels.to_dict() == claimed_levels(Y, BATCH).to_dict()
    assert found.crps == crps(Y, BATCH)
    assert float(found.skce) == float(kc.skce(Y, BATCH))
    assert found.interval.lower <= max(float(found.skce), 0) <= found.interval.upper


def test_it_says_what_it_is():
    found = kc.evaluate(Y, BATCH, draws=99)
    text = found.summary()
    for words in (
        "CRPS, interpolated",
        "weighted interval score",
        "gap of levels",
        "Claimed and observed levels",
        "90 %",
    ):
        assert words in text
    assert "coverage" not in text
    assert "PIT" not in text
    assert any("the root of the SKCE is a probability" in note for note in found.notes)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["family"] == "Quantiles"
    assert plain["levels"]["levels"] == LEVELS.tolist()
    assert "<table" in found._repr_html_()
    assert dict(found.headline())["WIS"] == f"{found.interval_score.value:.4g}"


def test_ties_have_the_least_gap_in_place_of_an_estimate():
    y = np.random.default_rng(1).poisson(3.0, 300)
    found = kc.evaluate(y, COUNTS, draws=99)
    assert found.pvalue > 0.05
    assert (found.estimate.name, found.interval) == ("least gap", None)
    assert found.root == pytest.approx(claimed_levels(y, COUNTS).gap)
    assert any("the gap is the least that agrees with the claims" in note for note in found.notes)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["least_gap_root"] == pytest.approx(found.root)


def test_one_level_alone():
    one = kc.Quantiles(BATCH.values[:, :1], [0.05])
    found = kc.evaluate(Y, one, draws=99)
    assert found.crps is None
    assert found.pvalue > 0.05
    assert kc.evaluate(Y - 1, one, draws=99).verdict.startswith("Calibration is rejected (p = 0.01, exact test)")


def test_single_precision_and_weights():
    single = kc.Quantiles(BATCH.values.astype(np.float32), LEVELS)
    assert kc.evaluate(Y, single, draws=99).pvalue > 0.05
    weighted = kc.evaluate(Y, BATCH, weights=np.linspace(0.5, 1.5, 300), draws=99)
    assert np.isnan(weighted.levels.below_interval).all()


def test_outcomes_that_are_a_quantile_are_suspected():
    note = kc.evaluate(BATCH.values[:, 2], BATCH, draws=99).notes[0]
    assert "the target equals the quantile of level 0.5 in every row" in note


@pytest.mark.parametrize("batch", [BATCH, COUNTS])
def test_a_plan(batch):
    steps = plan(batch).steps
    assert [step.name for step in steps][:2] == ["estimate", "test"]
    assert "cells between quantiles" in steps[1].engine


def test_explain_tells_regions_and_groups_by_cells():
    y = MEAN + np.where(MEAN > 0, 2.0, 1.0) * np.random.default_rng(2).normal(size=300)
    found = kc.explain(y, BATCH, groups=np.where(MEAN > 0, "high", "low"), draws=99)
    assert [group.name for group in found.rejected] == ["high"]
    assert any("outcomes lie outside the intervals more often than claimed" in text for text in found.findings)
    assert found.by_group.gap_name == "share above quantiles, observed - claimed"
    assert found.contributions.sum() == pytest.approx(float(found.estimate))
    high = found.group("high")
    s = (y[:, None] > BATCH.values) - (1 - LEVELS)
    assert high.gap == pytest.approx(s[MEAN > 0].mean())
    assert "middle quantile" in found.regions[0].sentence
    json.dumps(found.to_dict())


def test_models_with_ties_are_compared_by_their_scores():
    y = np.random.default_rng(1).poisson(3.0, 300)
    other = kc.Quantiles(np.tile(stats.poisson.ppf(LEVELS, 5.0), (300, 1)), LEVELS)
    found = kc.compare(y, {"five": other, "three": COUNTS}, draws=99)
    assert [name for name, _ in found.models] == ["three", "five"]
    assert found.verdict.startswith("three has the best weighted interval score")
    assert "Calibration is rejected for five." in found.verdict
    d = found.difference("WIS", "three", "five")
    scores = [float(weighted_interval_score(y, batch)) for batch in (COUNTS, other)]
    assert d.difference == pytest.approx(scores[0] - scores[1])
    assert d.better == "three"
    assert found["five"].pvalue == 0.01
    json.dumps(found.to_dict(), allow_nan=False)
    with pytest.raises(kc.InputError, match="within= bounds the SKCE, which has no value"):
        kc.compare(y, {"five": other, "three": COUNTS}, draws=99, within=0.1)


def test_other_levels_are_not_compared():
    with pytest.raises(kc.InputError, match=r"model 'a' forecasts the levels 0.05, .* and 'b' 0.05, 0.95"):
        kc.compare(Y, {"a": BATCH, "b": kc.Quantiles(BATCH.values[:, [0, 4]], [0.05, 0.95])}, draws=99)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.usefixtures("unrendered")
def test_a_report(tied, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    y = np.random.default_rng(1).poisson(3.0, 300) if tied else Y
    page = kc.report(y, COUNTS if tied else BATCH, tmp_path / "page.html", draws=99).to_html()
    lower = page.lower()
    for words in ("weighted interval score", "claimed and observed levels", "gap between claimed and observed level"):
        assert words in lower
    assert ("least gap" in lower) == tied
    assert "PIT" not in page
    assert page.count("claims was tested") == tied  # said once


def test_the_note_on_ties_is_told_once():
    notes = kc.evaluate(np.random.default_rng(1).poisson(3.0, 300), COUNTS, draws=99).notes
    assert sum("claims was tested" in note for note in notes) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_a_page_on_groups_and_on_several_models_with_ties():
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(1)
    group = np.arange(300) % 2
    y = rng.poisson(3.0 + 2 * group)
    models = {
        "five": kc.Quantiles(np.tile(stats.poisson.ppf(LEVELS, 8.0), (300, 1)), LEVELS),
        "three": COUNTS,
        "law": kc.Poisson(np.full(300, 3.0)),
    }
    found = kc.report(y, models, groups={"site": group}, draws=99, alpha=0.02, confidence_level=0.8)
    page = " ".join(found.to_html().split())
    assert found.comparison.alpha == 0.02
    assert [model.name for model in found.models] == [name for name, _ in found.comparison.models]
    expected = kc.compare(y, models, draws=99, alpha=0.02)
    assert found.comparison.scores == expected.scores
    assert "best weighted interval score" in found.verdict.heading
    assert "calibration errors have no values to compare" in found.verdict.sentences[0]
    for words in (
        "Models, the smallest score first",
        "difference in WIS",
        "Score of every model",
        "The mean weighted interval score of every model",
        "no place and no row is named",
        "with conservative p-values",
        "with exact p-values",  # of the law, which has no ties
    ):
        assert words in page
    three, law = (next(model for model in found.models if model.name == name) for name in ("three", "law"))
    assert three.explanation is None
    assert law.explanation is not None
    (site,) = (g for g in three.evaluation.by_group.findings if g.name == "1")
    above = ((y[group == 1, None] > COUNTS.values[0]) - (1 - LEVELS)).mean()
    assert site.gap == pytest.approx(above)
    assert site.pvalue <= 0.02
    json.dumps(found.to_dict(), allow_nan=False)
    with pytest.raises(kc.InputError, match="within= bounds the SKCE, which has no value"):
        kc.report(y, models, within=0.1, draws=99)


def test_scores_are_compared_at_the_level_that_is_asked_for():
    y = np.random.default_rng(1).poisson(3.0, 60)
    near = kc.Quantiles(np.tile(stats.poisson.ppf(LEVELS, 3.6), (60, 1)), LEVELS)
    models = {"near": near, "three": kc.Quantiles(COUNTS.values[:60], LEVELS)}
    p = kc.compare(y, models, draws=99).differences[0].adjusted
    assert 0.001 < p < 0.9
    assert kc.compare(y, models, draws=99, alpha=p * 1.01).tied("three") == ()
    assert kc.compare(y, models, draws=99, alpha=p * 0.99).tied("three") == ("near",)


def test_one_pass_over_parts_gives_the_same_error():
    kernel = kc.Laplacian(0.8)
    sketch = kc.Sketch(kernel, engine=kc.RandomFourier(128), draws=49)
    found = sketch.update(Y[:120], BATCH[:120]).update(Y[120:], BATCH[120:]).result()
    engine = kc.SKCE(prediction_kernel=kernel, engine=kc.RandomFourier(128))
    test = kc.calibration_test(Y, BATCH, statistic=engine, draws=49, early_stopping=False)
    spread = abs(test.statistic / test.members[0].deviation)
    assert float(found.estimate) == pytest.approx(float(engine(Y, BATCH)), abs=2e-3 * spread)
    assert found.pvalue == pytest.approx(test.pvalue, abs=0.3)  # ranks among other draws
    assert found.means["weighted_interval_score"] == pytest.approx(float(weighted_interval_score(Y, BATCH)))
    assert found.means["share below level 0.25"] == pytest.approx(claimed_levels(Y, BATCH).below[1])
    with pytest.raises(kc.InputError, match="differ in levels"):
        sketch.update(Y, kc.Quantiles(BATCH.values, [0.1, 0.25, 0.5, 0.75, 0.95]), first_row=1000)
