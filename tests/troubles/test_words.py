"""Words that were wrong once: what verdicts, notes, regions and tables say of data whose truth is known."""

import html
import json
import re

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.evaluation.classes import class_suspicions
from kernelcal.evaluation.numbers import number_suspicions
from kernelcal.ranks import rank_test
from kernelcal.sketch import Sketch
from kernelcal.statistics.scores import accuracy_of


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def events(rng, p):
    return (rng.random(len(p)) < p).astype(int)


# One level of significance


def borderline():
    """Three classes, slightly too sharp: p about 0.1 with 199 draws."""
    rng = np.random.default_rng(18)
    p = rng.dirichlet([1, 1, 1], 150)
    q = p**1.25 / (p**1.25).sum(axis=1, keepdims=True)
    return stats.multinomial.rvs(1, p, random_state=rng).argmax(axis=1), q


def test_fired_and_directions_are_said_where_calibration_is_rejected_alone():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=200)
    y = events(rng, p)
    calm = kc.calibration_test(y, p, draws=199)
    assert calm.pvalue > 0.05
    assert not calm.rejected
    assert (calm.fired, calm.directions, calm.to_dict()["fired"]) == ("", (), "")
    lax = kc.calibration_test(y, p, draws=199, alpha=0.9)
    assert lax.rejected
    assert (lax.pvalue, lax.members, lax.alpha) == (calm.pvalue, calm.members, 0.9)
    assert lax.fired in {member.name for member in calm.members}
    assert lax.directions
    evaluated = str(kc.evaluate(y, p, draws=199))
    assert "strongest evidence" not in evaluated
    assert "strongest evidence" in str(kc.evaluate(y, p, draws=199, alpha=0.9))


def test_alpha_decides_holm_and_the_pit_test_too():
    y, q = borderline()
    every = kc.calibration_test(y, q, draws=199, lens=kc.ClassWise())
    assert (every.fired, every.directions) == ("", ()) if every.pvalue > 0.05 else every.fired
    lax = kc.calibration_test(y, q, draws=199, lens=kc.ClassWise(), alpha=0.99)
    assert lax.pvalue == every.pvalue
    assert len(lax.directions) == sum(member.pvalue <= 0.99 for member in every.members)
    x = np.random.default_rng(4).normal(size=100)
    pit = kc.pit_test(x, kc.Normal(np.zeros(100), 1.0), draws=199)
    assert pit.fired == ""
    assert kc.pit_test(x, kc.Normal(np.zeros(100), 1.0), draws=199, alpha=0.999).fired


def test_the_level_of_intervals_is_not_that_of_the_verdict():
    y, q = borderline()
    base = kc.evaluate(y, q, draws=199)
    assert 0.05 < base.pvalue < 0.2
    assert kc.evaluate(y, q, draws=199, confidence_level=0.8).verdict == base.verdict
    lax = kc.evaluate(y, q, draws=199, alpha=0.2)
    assert lax.rejected
    assert lax.verdict.startswith("Calibration is rejected")
    assert (lax.interval, lax.to_dict()["alpha"]) == (base.interval, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "rejects"), [({}, False), ({"confidence_level": 0.8}, False), ({"alpha": 0.2}, True)]
)
@pytest.mark.usefixtures("unrendered")
def test_a_page_has_one_level_for_verdict_and_tables(options, rejects):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    y, q = borderline()
    page = kc.report(y, q, draws=199, **options)
    text = html.unescape(page.to_html())
    assert (page.verdict.tone == "against") == rejects
    assert ("Classes, those that add most" in text) == rejects
    assert ("Rows that add most to the error" in text) == rejects
    assert f"ask for the level {'20' if rejects else '5'} %" in text


@pytest.mark.slow
def test_explain_names_at_alpha_and_draws_its_band_there():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=300)
    y, groups = events(rng, p), np.repeat(["a", "b", "c"], 100)
    strict, lax = (kc.explain(y, p, groups=groups, draws=199, alpha=alpha) for alpha in (0.05, 0.9))
    assert strict.witness.confidence_level == pytest.approx(0.95)
    assert lax.witness.confidence_level == pytest.approx(0.1)
    assert lax.witness.critical < strict.witness.critical
    assert [g.pvalue for g in strict.groups] == [g.pvalue for g in lax.groups]
    assert lax.rejected == tuple(g for g in lax.groups if g.pvalue <= 0.9)
    assert lax.to_dict()["alpha"] == 0.9


@pytest.mark.slow
def test_comparisons_and_equivalence_use_alpha():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 200)
    y = stats.multinomial.rvs(1, p, random_state=rng).argmax(axis=1)
    q = p**1.3 / (p**1.3).sum(axis=1, keepdims=True)
    strict, lax = (kc.compare(y, {"a": p, "b": q}, draws=99, within=0.5, alpha=alpha) for alpha in (1e-9, 0.4))
    assert all(d.better is None for d in strict.differences)
    assert [d.adjusted for d in strict.differences] == [d.adjusted for d in lax.differences]
    assert any(d.better for d in lax.differences)
    assert strict.to_dict()["alpha"] == 1e-9
    assert strict.models[0].equivalence.upper > lax.models[0].equivalence.upper


def test_a_result_names_what_repeats_it():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=50)
    found = kc.calibration_test(events(rng, p), p, draws=99, rng=17).to_dict()
    assert (found["seed"], found["draws_asked"], found["early_stopping"]) == (17, 99, True)
    moved = kc.evaluate(events(rng, p), p, draws=99, rng=np.random.default_rng(3)).to_dict()
    assert isinstance(moved["test"]["seed"], int)  # a generator gives one seed for all parts, which can be repeated
    assert kc.calibration_test(events(rng, p), p, statistic="skce", null="saddlepoint").to_dict()["seed"] is None
    sketched = Sketch.like(p, rng=5).update(events(rng, p), p).result().to_dict()
    assert (sketched["test"]["seed"], sketched["test"]["draws_asked"]) == (5, 199)


def test_the_command_line_has_alpha_and_names_the_seed(tmp_path, capsys):
    y, q = borderline()
    path = tmp_path / "table.csv"
    np.savetxt(path, np.column_stack([y, q]), delimiter=",", header="y,p_0,p_1,p_2", comments="")
    assert main(["evaluate", str(path), "--draws", "199", "--alpha", "0.2", "--seed", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"].startswith("Calibration is rejected")
    assert (found["alpha"], found["test"]["seed"]) == (0.2, 0)
    assert main(["test", "no-such-file.csv", "--alpha", "5"]) == 2
    assert "alpha must lie between 0 and 1, such as 0.05, got 5.0" in capsys.readouterr().err


# Regions


def test_the_gap_of_a_region_is_the_mean_of_its_rows():
    p = np.repeat([0.7, 0.8, 0.9, 0.99], [4, 40, 130, 66])
    y = np.r_[[0] * 4, [1] * 27 + [0] * 13, [1] * 82 + [0] * 48, [1] * 53 + [0] * 13]
    first, second = kc.explain(y, p, draws=199).regions
    assert (first.rows, second.rows) == (4, 236 - 40)
    assert first.gap == pytest.approx(-0.7)
    assert second.gap == pytest.approx((y - p)[p > 0.85].mean())
    assert "(gap -0.7)" in first.sentence
    assert "(gap -0.24)" in second.sentence
    weights = np.random.default_rng(0).uniform(0.5, 2, len(p))
    for region in kc.explain(y, p, draws=199, weights=weights).regions:
        rows = (p >= region.low) & (p <= region.high)
        assert region.gap == pytest.approx(np.average((y - p)[rows], weights=weights[rows]))


@pytest.mark.parametrize(("mean", "shift"), [(-2.5, 0.8), (-2.5, -1.2), (2.5, 1.2)])
def test_a_shift_of_the_log_odds_is_no_question_of_confidence(mean, shift):
    rng = np.random.default_rng(1)
    x = rng.normal(mean, 0.8, 1500)
    found = kc.explain(events(rng, sigmoid(x + shift)), sigmoid(x), draws=199)
    words = "more frequent" if shift > 0 else "rarer"
    assert found.regions
    assert all(words in region.sentence for region in found.regions)
    assert not any("confident" in region.sentence for region in found.regions)


@pytest.mark.parametrize(("slope", "word"), [(0.6, "over-confident"), (1.6, "under-confident")])
def test_gaps_that_agree_on_both_sides_have_the_word(slope, word):
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1.5, 1500)
    found = kc.explain(events(rng, sigmoid(slope * x)), sigmoid(x), draws=199)
    assert {region.above for region in found.regions} == {True, False}
    assert all(word in region.sentence for region in found.regions)


def test_the_width_of_a_region_is_about_its_own_mean():
    rng = np.random.default_rng(1)
    mu = rng.normal(0, 2, 500)
    noise = rng.normal(size=500)
    shifted = kc.explain(mu + 1 + 0.7 * noise, kc.Normal(mu, np.ones(500)), draws=199).findings
    assert not any("too narrow" in sentence for sentence in shifted)
    assert any("outcomes are higher" in sentence for sentence in shifted)
    for scale, word in ((1.4, "narrow"), (0.6, "wide")):
        (found,) = kc.explain(mu + scale * noise, kc.Normal(mu, np.ones(500)), draws=199).regions
        assert f"predictions are too {word}" in found.sentence
        assert np.sqrt(1 + found.gap) == pytest.approx(scale, rel=0.2)


# Words on PIT values


def test_a_far_shift_is_never_called_too_wide():
    rng = np.random.default_rng(3)
    mu = rng.normal(size=300)
    model = kc.Normal(mu, np.ones(300))
    for shift, sd in ((3, 1), (20, 3), (20, 1), (-30, 1)):
        y = mu + shift + sd * rng.normal(size=300)
        words = kc.pit_test(y, model, draws=99).directions
        assert not any("too wide" in word for word in words)
        assert any("shifted" in word for word in words)
        narrow = [word for word in words if "too narrow" in word]
        assert len(narrow) == (sd == 3)
        for word in narrow:  # of outcomes whose PIT value is 1 the residuals tell the width
            told = float(re.search(r"spread ([\d.]+) times", word)[1])
            assert told == pytest.approx((y - mu).std(ddof=1), abs=0.01)


def test_ranks_tell_how_many_outcomes_lie_outside_all_draws():
    rng = np.random.default_rng(3)
    draws = kc.Samples(rng.normal(size=(300, 11)))
    for y in (5 + rng.normal(size=300), 3 + 2 * rng.normal(size=300)):
        words = kc.pit_test(y, draws, draws=99).directions
        assert not any("too" in word for word in words)
    for scale, word in ((3.0, "too narrow"), (0.3, "too wide")):
        y = scale * rng.normal(size=300)
        outside = ((y < draws.draws.min(axis=1)) | (y > draws.draws.max(axis=1))).mean()
        (told,) = kc.pit_test(y, draws, draws=99).directions
        assert word in told
        assert f"{outside:.1%} of outcomes lie outside all 11 draws, where 16.7% are expected" in told


def test_counts_far_above_the_prediction_are_shifted_not_wide():
    y = np.random.default_rng(0).poisson(9, 300)
    words = kc.pit_test(y, kc.predictions.Poisson(np.full(300, 3.0)), draws=99).directions
    assert [("shifted down" in word, "too wide" in word) for word in words] == [(True, False)]


def test_one_row_does_not_own_the_words_on_pit_values():
    rng = np.random.default_rng(5)
    z = rng.normal(size=300)
    z[:6] = 60
    (word,) = [w for w in kc.pit_test(z, kc.Normal(np.zeros(300), 1.0), draws=199).directions if "narrow" in w] or [""]
    assert word == "" or "the middle half" in word


# Notes about mistakes


def test_an_over_confident_model_is_not_asked_for_its_variances():
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mu = rng.normal(0, 3, 300)
        for sd in (0.3 * np.exp(0.2 * rng.normal(size=300)), rng.gamma(4, 0.2, 300) + 0.05):
            for k in (1, 1.5, 1.8, 2, 2.5):
                wrong += bool(number_suspicions(Case(mu + k * sd * rng.normal(size=300), kc.Normal(mu, sd))))
    assert wrong == 0


def test_variances_are_noticed_where_rows_tell():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        mu, sd = rng.normal(0, 3, 300), 0.3 * np.exp(0.5 * rng.normal(size=300))
        y = mu + sd * rng.normal(size=300)
        assert "were variances passed as std?" in number_suspicions(Case(y, kc.Normal(mu, sd**2)))[0]
        assert "were standard deviations passed as variances?" in number_suspicions(Case(y, kc.Normal(mu, sd**0.5)))[0]
        assert number_suspicions(Case(y, kc.Normal(mu, sd))) == ()


def notes_of(y, p):
    case = Case.of(y, p)
    return class_suspicions(case, accuracy_of(case))


def test_swapped_columns_are_noticed():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 1000)
    y = events(rng, p)
    assert notes_of(y, p) == ()
    (note,) = notes_of(y, 1 - p)
    assert note.startswith("1 - p explains the labels far better than p, by ")
    gain = (np.log(np.where(y == 1, p, 1 - p)) - np.log(np.where(y == 1, 1 - p, p))).sum()
    assert f"by {gain:.3g} nats" in note
    q = rng.dirichlet([2, 2, 2], 1000)
    y = stats.multinomial.rvs(1, q, random_state=rng).argmax(axis=1)
    (note,) = notes_of(y, q[:, [1, 2, 0]])  # column 0 holds class 1, column 1 class 2, column 2 class 0
    assert "are the columns those of 1, 2, 0, in this order?" in note


@pytest.mark.slow
def test_wrong_but_ordered_models_have_no_other_order():
    wrong = swapped = tries = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for m in (2, 3, 5):
            p = rng.dirichlet(np.ones(m), 200)
            y = stats.multinomial.rvs(1, p, random_state=rng).argmax(axis=1)
            for power in (0.3, 1, 3, 8):
                q = p**power / (p**power).sum(axis=1, keepdims=True)
                biased = q * np.exp(3 * rng.normal(size=m))
                wrong += bool(notes_of(y, q)) + bool(notes_of(y, biased / biased.sum(axis=1, keepdims=True)))
                wrong += bool(notes_of(rng.integers(0, m, 200), q))  # a model that knows nothing
                swapped, tries = swapped + bool(notes_of(y, np.roll(q, 1, axis=1))), tries + 1
    assert wrong == 0
    assert swapped > 0.9 * tries


# Questions about one column


def test_one_column_asks_for_the_positive_class_everywhere():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 12, 400)
    y = events(rng, p)
    asked = kc.ece(y, p, bins=10, question="positive class")
    found = kc.ece(y, p, bins=10)
    assert (float(found), found.name, found.options["question"]) == (float(asked), asked.name, "positive class")
    assert kc.reliability(y, p, bins=10, draws=99).question == "class 1 against the rest"
    assert "class 1" in str(kc.reliability(y, p, bins=10, draws=99)).splitlines()[0]
    assert kc.evaluate(y, p, draws=99).eces[0].name == "ECE, positive class"
    assert kc.ece(y, np.column_stack([1 - p, p]), bins=10).name == "ECE, top label"
    assert kc.ece(y, kc.Bernoulli(p, question="top label"), bins=10).name == "ECE, top label"


@pytest.mark.slow
def test_what_accuracy_counts_is_said(tmp_path, capsys):
    y, p = np.repeat([1, 0], [104, 296]), np.full(400, 0.3)
    rows = dict(kc.evaluate(y, p, draws=99).score_rows())
    assert (rows["share of class 1"], rows["mean probability of class 1"]) == ("0.2600", "0.3000")
    assert rows["accuracy, threshold 1/2"] == "0.7400, no row reaches it"  # the share of class 0, and no merit
    above = dict(kc.evaluate(y, 1 - p, draws=99).score_rows())
    assert above["accuracy, threshold 1/2"] == "0.2600, all rows reach it"
    mixed = kc.evaluate(y, np.r_[p[:399], 0.5], weights=np.r_[np.ones(399), 3.0], draws=99)
    assert dict(mixed.score_rows())["accuracy, threshold 1/2"] == f"{mixed.accuracy:.4f}"
    plain = mixed.to_dict()
    assert plain["share_above_half"] == pytest.approx(3 / 402)
    assert plain["mean_probability"] == pytest.approx((399 * 0.3 + 3 * 0.5) / 402)
    sure = kc.evaluate(y, kc.Bernoulli(p, question="top label"), draws=99)
    told = dict(sure.score_rows())
    assert (told["share right"], told["mean confidence"]) == ("0.2600", "0.3000")
    assert not any("threshold" in name or "share of" in name for name in told)
    assert (sure.to_dict()["accuracy"], sure.to_dict()["accuracy_counts"]) == (0.26, "share right")
    path = tmp_path / "answers.csv"
    np.savetxt(path, np.column_stack([y, p]), delimiter=",", header="correct,confidence", comments="")
    said = ["evaluate", str(path), "--target", "correct", "--predictions", "confidence", "--draws", "99"]
    assert main([*said, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["question"], found["accuracy"], found["accuracy_counts"]) == ("top label", 0.26, "share right")
    pytest.importorskip("pyarrow")
    assert main([*said, "--save", str(tmp_path / "sums.npz")]) == 0  # read in one pass
    shown = " ".join(capsys.readouterr().out.split())
    assert "question top label mean confidence 0.3000 share right 0.2600" in shown
    assert "threshold" not in shown


def test_one_pass_tells_base_rate_and_threshold():
    y, p = np.repeat([1, 0], [104, 296]), np.full(400, 0.3)
    rows = dict(kc.Sketch(kc.Laplacian(0.1), draws=19).update(y, p).result().score_rows())
    assert (rows["share of events"], rows["mean probability"]) == ("0.2600", "0.3000")
    assert rows["accuracy, threshold 1/2"] == "0.7400"


# Messages


def test_the_axis_of_the_classes_is_found():
    x = np.moveaxis(np.random.default_rng(0).dirichlet([1, 1, 1], (2, 4, 5)), -1, 1)
    with pytest.raises(InputError) as refused:
        kc.evaluate(np.zeros((2, 4, 5), int), x)
    message = str(refused.value)
    assert "axis 1 sums to 1: move it to the end, numpy.moveaxis(x, 1, -1).reshape(-1, x.shape[1])" in message
    assert "kernelcal.Samples" in message
    flat = np.moveaxis(x, 1, -1).reshape(-1, x.shape[1])
    assert np.allclose(flat.sum(axis=1), 1)
    last = np.moveaxis(x, 1, -1)
    with pytest.raises(InputError, match=r"flatten the leading axes, for example x\.reshape\(-1, x\.shape\[-1\]\)"):
        kc.evaluate(np.zeros((2, 4, 5), int), last)
    with pytest.raises(InputError, match="no axis of it sums to 1"):
        kc.evaluate(np.zeros((2, 4, 5), int), 2 * x)


@pytest.mark.parametrize("mark", [-1, -100, 255])
def test_labels_that_mark_rows_to_be_ignored(mark):
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 30)
    y = np.arange(30) % 3
    y[::10] = mark
    with pytest.raises(InputError) as refused:
        kc.evaluate(y, p)
    assert f"row 0 is {mark} (3 of 30 rows)" in str(refused.value)
    assert f"y != {mark} (command line: --drop-target={mark})" in str(refused.value)
    kept = y != mark
    assert kc.evaluate(y[kept], p[kept], draws=99).n == 27


def test_a_class_without_a_column_is_not_one_to_ignore():
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 30)
    y = np.arange(30) % 3
    y[::10] = 4
    with pytest.raises(InputError, match="are columns missing"):
        kc.evaluate(y, p)


@pytest.mark.parametrize(
    "make",
    [
        lambda s: kc.Normal([0.5, 4.0], [1.0, s]),
        lambda s: kc.predictions.Laplace([0.5, 4.0], [1.0, s]),
        lambda s: kc.predictions.StudentT(5.0, [0.5, 4.0], [1.0, s]),
        lambda s: kc.predictions.LogNormal([0.5, 4.0], [1.0, s]),
        lambda s: kc.predictions.DiagonalNormal(np.zeros((2, 2)), [[1.0, 1.0], [1.0, s]]),
        lambda s: kc.predictions.IsotropicNormal(np.zeros((2, 2)), [1.0, s]),
    ],
)
def test_a_negative_spread_is_no_point_prediction(make):
    with pytest.raises(InputError, match=r"is -3\.5, .*no spread is below 0: are these its logarithms\?") as negative:
        make(-3.5)
    assert "point prediction" not in str(negative.value)
    with pytest.raises(InputError, match="is 0, expected a positive number; a point prediction alone"):
        make(0.0)


def test_one_draw_a_row_is_a_point_forecast():
    rng = np.random.default_rng(4)
    m = rng.normal(0, 2, 100)
    y = m + 0.8 * rng.normal(size=100)
    words = "one draw a row is a point forecast: the calibration of its spread cannot be tested"
    found = kc.evaluate(y, kc.Samples(m[:, None]), draws=99)
    assert words in found.verdict
    assert words in found.notes
    assert words in kc.calibration_test(y, kc.Samples(m[:, None]), draws=99).notes
    assert words not in kc.evaluate(y, kc.Samples(np.stack([m, m + 1], axis=1)), draws=99).notes


def test_straight_tails_rule_nothing_out():
    """Levels of 0.1 to 0.9 claim nothing of what lies beyond, whatever the tails of an interpolation are."""
    mu = np.random.default_rng(0).normal(size=50)
    values = mu[:, None] + [-1, 0, 1.0]
    found = kc.calibration_test(mu + 30, kc.Quantiles(values, [0.1, 0.5, 0.9], tails="linear"), draws=99)
    assert found.pvalue == 0.01
    assert found.impossible_rows == ()
    assert not any("ruled out" in text for text in (*found.notes, *found.directions))
    assert not any("standard deviations" in text for text in found.directions)


def test_words_as_options_are_checked():
    p = np.random.default_rng(0).uniform(size=60)
    with pytest.raises(InputError, match="convention must be 'sklearn' or 'torchmetrics'"):
        kc.ece((p > 0.5).astype(int), p, convention="hello")


def test_bins_that_hold_rows_are_a_number():
    p = kc.Bernoulli([0.9, 0.8, 0.35, 0.6], question="top label")
    found = kc.ece([1, 0, 0, 1], p, bins=kc.EqualMassBins(50))
    assert found.bins_used == found.to_dict()["bins_used"] == found.to_dict()["bin_tables"][0]["bins_used"] == 4
    assert "bins that hold rows  4 of 4" in str(found)
    few = kc.ece([1, 0, 0, 1], [0.9, 0.8, 0.35, 0.6], bins=10)
    assert "bins that hold rows  4 of 10" in str(few)
    assert few.bins_used == 4


@pytest.mark.slow
def test_measurements_are_cut_into_groups():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=700)
    y, age = events(rng, p), rng.integers(20, 90, 700)
    found = kc.explain(y, p, groups={"age": age}, draws=99)
    assert len(found.groups) == 4
    assert re.match(r"age was cut at \d+, \d+, \d+; pass ranges of your own", found.by_group.notes[0])
    assert len(kc.explain(y, p, groups={"age": np.digitize(age, [40, 65])}, draws=99).groups) == 3


# Tables and headlines


def test_groups_say_all_that_is_wrong_with_them():
    rng = np.random.default_rng(0)
    mu, wide = rng.normal(size=600), np.repeat([False, True], 300)
    y = mu + np.where(wide, 1 + 2 * rng.normal(size=600), rng.normal(size=600))
    found = kc.explain(y, kc.Normal(mu, np.ones(600)), groups=np.where(wide, "b", "a"), draws=199)
    words = found.group("b").directions
    assert len(words) == 2
    assert "; ".join(words) in re.sub(r"\s+", " ", str(found))


@pytest.mark.slow
def test_equal_rows_are_one_and_have_the_numbers_of_their_file(tmp_path, capsys):
    rng = np.random.default_rng(0)
    p = rng.choice([0.2, 0.5, 0.9], 400)
    y = events(rng, p - 0.15)
    rows = kc.explain(y, p, draws=99).rows
    assert [(r.predicted, r.happened) for r in rows] == [("0.900", "0"), ("0.500", "0"), ("0.200", "0")]
    for row, value in zip(rows, (0.9, 0.5, 0.2), strict=True):
        alike = np.flatnonzero((p == value) & (y == 0))
        assert (row.row, row.count) == (alike[0], len(alike))
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    cells = [f"{a},{b}" for a, b in zip(y, p, strict=True)]
    cells[:7] = [f",{value}" for value in p[:7]]  # no outcome: dropped
    path = tmp_path / "table.csv"
    path.write_text("y,p\n" + "\n".join(cells) + "\n")
    page = tmp_path / "page.html"
    assert main(["report", str(path), "-o", str(page), "--drop-missing", "--draws", "99", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["models"][0]["explanation"]["rows"][0]
    first = np.flatnonzero((p == 0.9) & (y == 0) & (np.arange(400) >= 7))
    assert (found["row"], found["count"]) == (first[0], len(first))


@pytest.mark.slow
def test_a_headline_names_the_best_score_and_praises_no_infinite_one():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    sharp = np.clip(np.where(y == 1, 0.8, 0.2) + 0.1 * rng.normal(size=300), 0.02, 0.98)
    found = kc.compare(y, {"sharp": sharp, "constant": np.full(300, 0.5)}, draws=99)
    assert found.best_score == "sharp"
    assert "sharp has the best log score (" in found.verdict
    ruled_out = np.full(300, 0.5)
    ruled_out[0] = 1 - y[0]
    found = kc.compare(y, {"sharp": sharp, "zero": ruled_out}, draws=99)
    assert found.verdict.startswith("zero has the smallest CKCE, but gave an outcome probability 0.")
    assert "that of zero is infinite" in found.verdict


@pytest.mark.parametrize(
    ("power", "shift", "words"),
    [
        (1.0, 0.6, {"class 1 is under-predicted"}),
        (1.0, -0.6, {"class 1 is over-predicted"}),
        (0.5, 0.0, {"over-confident"}),
        (2.0, 0.0, {"under-confident"}),
    ],
)
def test_one_pass_says_the_direction(power, shift, words):
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1.5, 2000)
    p, y = sigmoid(x), events(rng, sigmoid(power * x + shift))
    for q in (p, np.column_stack([1 - p, p])):
        found = Sketch.like(q[:200]).update(y, q).result()
        told = {word.split(" (")[0] for word in found.test.directions}
        assert told == words
        if shift:
            assert f"({p.sum():,.1f} expected, {y.sum():,} observed)" in found.verdict


@pytest.mark.slow
def test_one_pass_over_numbers_tells_shift_and_width_apart():
    rng = np.random.default_rng(0)
    mu = rng.normal(size=2000)
    y = mu + 0.5 + 0.7 * rng.normal(size=2000)
    parts = [Sketch.like(kc.Normal(mu, 1.0)).update(y[:800], kc.Normal(mu[:800], 1.0))]
    parts.append(parts[0].empty().update(y[800:], kc.Normal(mu[800:], 1.0), first_row=800))
    told = parts[0].merge(parts[1]).result().test.directions
    z = y - mu
    assert sorted(told)[0] == (
        f"predictions shifted down (outcomes are higher by {z.mean():.2g} standard deviations on average)"
    )
    assert sorted(told)[1] == f"predictions too wide (outcomes spread {z.std():.2f} times as wide as predicted)"


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_where_few_rows_make_a_mean_the_median_stands_beside_it():
    rng = np.random.default_rng(1)
    z = rng.normal(size=400)
    z[:3] = 5000.0
    model, groups = kc.Normal(np.zeros(400), 1.0), np.repeat(["a", "b"], 200)
    found = kc.explain(z, model, groups=groups, draws=99)
    first, second = found.group("a"), found.group("b")
    assert first.median == pytest.approx(np.median(z[:200]))
    assert f"(median {first.median:+.2f})" in str(found)
    assert "median" not in second.gap_in_words
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = html.unescape(kc.report(z, model, groups=groups, draws=99).to_html())
    assert "few rows make it, the median is" in page
    assert f"(median {np.median(z[:200]):+.2f})".replace("-", "\N{MINUS SIGN}") in page


@pytest.mark.parametrize(
    ("mean", "shift", "slope"), [(-2.5, 0.5, 1), (-2.5, -0.5, 1), (2.5, 0.5, 1), (-2.5, -1.2, 0.6)]
)
def test_one_pass_tells_a_base_rate_from_confidence(mean, shift, slope):
    rng = np.random.default_rng(1)
    x = rng.normal(mean, 0.8, 4000)
    p, y = sigmoid(x), events(rng, sigmoid(slope * x + shift))
    sketch = Sketch.like(p[:200], engine=kc.RandomFourier(32), draws=99)
    told = sketch.update(y, p).result().test.directions
    assert ("over-confident" in told) == (slope < 1)
    assert "under-confident" not in told


@pytest.mark.parametrize(("factor", "word"), [(0.8, "narrow"), (1.3, "wide")])
def test_ranks_among_many_draws_tell_the_width_by_their_spread(factor, word):
    """Outside all of 1,000 draws hardly any of 150 outcomes is expected, and that none was there said too wide."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y, draws = rng.normal(size=150), factor * rng.normal(size=(150, 1000))
        told = kc.pit_test(y, kc.Samples(draws), draws=99, rng=seed).directions
        assert all(f"predictions too {word} (ranks among 1000 draws spread" in words for words in told[:1])
        z = stats.norm.ppf(((draws < y[:, None]).sum(axis=1) + 0.5) / 1001)
        middles = stats.norm.ppf((np.arange(1001) + 0.5) / 1001)
        assert all(f"spread {z.std() / middles.std():.2f} times" in words for words in told[:1])


def test_ranks_that_are_cut_off_tell_no_width():
    """All outcomes above all draws: their ranks have no spread, and predictions are not too wide."""
    rng = np.random.default_rng(0)
    for size in (9, 1000):
        draws = rng.normal(size=(100, size))
        y = 6 + rng.normal(size=100)
        told = kc.pit_test(y, kc.Samples(draws), draws=99).directions
        assert not any("too wide" in words or "too narrow" in words for words in told)
        found = rank_test((draws < y[:, None]).sum(axis=1), size)
        assert found.directions == (f"theta: shifted down (mean rank {found['theta'].mean_rank:.2f})",)
