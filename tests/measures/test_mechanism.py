"""One set of draws for all measures: p-values, means under calibration, intervals, groups, messages."""

import math
import re

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures import MEASURES, BinnedError, forget_measure, measure, register_measure
from kernelcal.measures.redraws import _part

R = np.random.default_rng(4)
P = R.uniform(0.05, 0.6, 300)
Y = (R.random(300) < P**1.4).astype(int)
GROUPS = {"site": np.where(np.arange(300) % 3 == 0, "north", "south")}


@pytest.fixture(scope="module")
def found():
    return measure(Y, P, groups=GROUPS, draws=199)


def test_every_measure_that_serves_is_in_the_table_with_all_that_it_needs(found):
    assert [one.name for one in found.values] == [
        MEASURES.made(name).name for name in kc.measures.serving(kc.Bernoulli(P))
    ]
    for one in found.values:
        assert math.isfinite(one.expected)
        assert one.band[0] < one.expected < one.band[1]
        assert 0 < one.pvalue <= 1
        assert one.interval[0] <= one.value <= one.interval[1] or one.how.startswith("no interval: ")
    text = found.summary()
    assert "expected if" in text
    assert "calibration slope" in text
    assert "targets redrawn from the predictions" in text
    assert "<table>" in found._repr_html_()


def test_pvalues_are_ranks_among_redrawn_targets(found):
    """By another generator: the p-value of O:E is that of the number of outcomes, whose law is known."""
    drawn = (np.random.default_rng(0).random((40_000, 300)) < P).sum(axis=1)
    tails = [(1 + (drawn >= Y.sum()).sum()) / 40_001, (1 + (drawn <= Y.sum()).sum()) / 40_001]
    exact = min(1, 2 * min(tails))
    oe = measure(Y, P, "oe", draws=1999)["observed to expected"]
    assert abs(oe.pvalue - exact) < 6 * math.sqrt(exact * (1 - exact) / 1000)
    assert oe.value == pytest.approx(Y.sum() / P.sum())
    assert oe.expected == pytest.approx(1, abs=0.02)


def test_groups_are_rows_alone_with_corrected_pvalues(found):
    north = np.arange(300) % 3 == 0
    alone = measure(Y[north], P[north], "slope", draws=199)["calibration slope"]
    own = next(one for one in found.groups if one.group == "north" and one.name == "calibration slope")
    assert own.value == pytest.approx(alone.value)
    assert own.interval == pytest.approx(alone.interval, abs=0.15)  # their spread under calibration has other draws
    pair = sorted([one for one in found.groups if one.name == "calibration slope"], key=lambda one: one.pvalue)
    assert pair[0].corrected == pytest.approx(min(1, 2 * pair[0].pvalue))
    assert pair[1].corrected == pytest.approx(max(pair[1].pvalue, pair[0].corrected))
    assert pair[0].apart == pytest.approx(-pair[1].apart)
    assert pair[0].apart_pvalue == pytest.approx(pair[1].apart_pvalue)


def test_a_group_that_differs_is_found_and_others_are_not():
    r = np.random.default_rng(8)
    p = r.uniform(0.1, 0.5, 900)
    where = r.integers(0, 3, 900)
    y = r.random(900) < np.where(where == 1, p + 0.25, p)
    found = measure(y, p, "oe", groups={"g": where}, draws=199)
    by = {one.group: one for one in found.groups}
    assert by["1"].corrected <= 0.03  # 3 groups times the smallest p-value of 199 draws, twice
    assert by["1"].apart_pvalue < 1e-4
    assert by["0"].corrected > 0.05
    assert by["2"].corrected > 0.05


@pytest.mark.parametrize(
    "rows",
    [{"clusters": np.arange(300) // 6}, {"horizon": 3}, {"horizon": 1}, {"time": np.arange(300), "horizon": 2}],
    ids=str,
)
def test_rows_that_depend_on_each_other_have_laws_of_their_own(rows):
    found = measure(Y, P, ["slope", "ece"], draws=99, groups=GROUPS, **rows)
    assert ("clusters" in found.law) == ("clusters" in rows)
    for one in (*found.values, *found.groups):
        assert 0 < one.pvalue <= 1
        assert math.isfinite(one.expected)


def test_with_copies_of_rows_as_clusters_nothing_is_more_certain():
    """Each outcome five times: intervals by clusters are about those of the rows once, not a root of five narrower."""
    y, p, clusters = np.repeat(Y, 5), np.repeat(P, 5), np.repeat(np.arange(300), 5)
    once = measure(Y, P, ["oe", "slope", "auroc", "ece"], draws=199)
    found = measure(y, p, ["oe", "slope", "auroc", "ece"], draws=199, clusters=clusters)
    for one, other in zip(once.values, found.values, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-6)
        widths = [np.diff(x.interval)[0] for x in (one, other)]
        assert widths[1] / widths[0] == pytest.approx(1, abs=0.3)


def test_several_classes_ask_one_question():
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 200)
    y = kc.Categorical(p).sample(1)[0]
    with pytest.raises(InputError, match=r"calibration slope is for one probability a row, .* got Categorical of 3 cl"):
        measure(y, p, "slope")
    found = measure(y, p, "slope", lens=kc.TopLabel(), draws=49)
    assert found.question == "top label"
    assert found["calibration slope"].n == 200


def test_measures_are_asked_by_name_by_field_and_as_they_are():
    both = measure(Y, P, "slope, oe", draws=19)
    assert [one.name for one in both.values] == ["calibration slope", "observed to expected"]
    mixed = measure(Y, P, ["oe", kc.measures.BinnedError(bins=5)], draws=19)
    assert [one.name for one in mixed.values] == ["observed to expected", "binned error (ECE)"]
    assert {one.name for one in measure(Y, P, "cited", draws=19).values} >= {"binned error (ECE)"}
    for asked, said in [
        ("slop", r"measures: 'slop' is none of .*'slope'.*no field \(.*'clinical'.*\)"),
        ([], r"measures must name one or more"),
        (3, r"measures must name one or more"),
        (["slope", "slope"], r"measures names 'calibration slope' twice"),
    ]:
        with pytest.raises(InputError, match=said):
            measure(Y, P, asked)


def test_names_are_words_and_no_fields():
    for name in ("two words", "a,b", "clinical"):
        with pytest.raises(InputError, match=r"must be a word such as 'slope', and no field"):
            register_measure(name, kc.measures.AUROC, summary="x", field="mine")
    with pytest.raises(InputError, match=r"field 'slope' is the name of a measure"):
        register_measure("mine", kc.measures.AUROC, summary="x", field="slope")
    register_measure("mine", kc.measures.AUROC, summary="x", field="own")
    assert measure(Y, P, "own", draws=19)["c-statistic"].value > 0.5
    forget_measure("mine")
    assert "own" not in kc.measures.FIELDS


def test_intervals_stay_in_the_range_of_their_measure():
    """Of few rows standard errors are wide: no share is above 1, no score below 0."""
    few = measure([0, 1], [0.2, 0.6], "brier,scaled-brier,net-benefit,ece,smece", draws=19)
    assert few["Brier score"].interval == (0.0, 1.0)
    assert all(one.interval[1] <= 1 for one in few.values)
    covered = measure(np.linspace(-0.5, 0.5, 10), kc.Normal(np.zeros(10), 1.0), "coverage,interval-score", draws=99)
    assert covered.values[0].value == covered.values[0].interval[1] == 1
    assert all(0 <= one.interval[0] < one.value for one in covered.values)


def test_rows_that_are_all_alike_have_one_end():
    """No event of 40 rows: 3.69 may be expected; 20 right answers: the end of Clopper and Pearson."""
    p, none = np.linspace(0.05, 0.45, 40), np.zeros(40, dtype=int)
    found = measure(none, p, "oe,intercept", draws=99)
    assert found["observed to expected"].interval == pytest.approx((0.0, -np.log(0.025) / p.sum()))
    low, high = found["calibration intercept"].interval
    odds = np.exp(high) * p / (1 - p)
    assert low == -np.inf
    assert (odds / (1 + odds)).sum() == pytest.approx(-np.log(0.025))
    assert measure(1 - none, 1 - p, "intercept", draws=19).values[0].interval == pytest.approx((-high, np.inf))
    assert found["observed to expected"].away > 0.5  # a gate sees it
    assert measure(none, p, "oe", draws=19, clusters=np.arange(40) // 2).values[0].how.startswith("no interval")
    right = measure(np.ones(20, dtype=int), np.linspace(0.5, 0.9, 20), "accuracy", draws=19).values[0]
    assert right.interval == pytest.approx((0.025 ** (1 / 20), 1.0))


def test_a_value_that_is_not_defined_is_no_evidence():
    found = measure(np.zeros(40, int), np.full(40, 0.02), ["auroc", "intercept", "slope"], draws=99)
    assert math.isnan(found["c-statistic"].value)
    assert found["c-statistic"].pvalue == 1
    assert found["calibration intercept"].value == -math.inf
    assert math.isfinite(found["calibration intercept"].expected)
    assert any(re.match(r"calibration intercept: \d+ of 99 draws have no finite value", note) for note in found.notes)
    assert 0 < found["calibration intercept"].pvalue <= 1
    assert found["calibration slope"].how == "no interval: the value is not defined"
    assert found.to_dict()["measures"][0]["value"] is None


def test_calibration_test_takes_measures():
    wrong = kc.calibration_test(Y, P, statistic=kc.measures.ObservedExpected())
    assert wrong.pvalue < 0.05
    assert [member.name for member in wrong.members] == ["observed to expected, high", "observed to expected, low"]


def test_the_picture_has_a_line_a_measure(found):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    ax = found.plot()
    assert len(ax.get_yticks()) == len(found.values) + len(found.groups)
    matplotlib.pyplot.close(ax.figure)


@pytest.mark.parametrize("name", list(MEASURES))
def test_a_lens_that_a_message_proposes_serves(name):
    """Of three classes: who follows the message gets a measure, and who can get none is not sent there."""
    p = R.dirichlet([1, 1, 1], 40)
    y = kc.Categorical(p).sample(rng=0)[0]
    made = MEASURES.made(name)
    if made.takes(kc.Categorical(p)):
        return
    with pytest.raises(InputError) as refused:
        measure(y, p, name, draws=9)
    if "lens=kernelcal.TopLabel()" in str(refused.value):
        assert measure(y, p, name, lens=kc.TopLabel(), draws=9)[made.name].n == 40
    else:
        with pytest.raises(InputError):
            measure(y, p, name, lens=kc.TopLabel(), draws=9)


@pytest.mark.slow
@pytest.mark.parametrize("signed", [True, False])
def test_pvalues_keep_their_level(signed):
    r, hits = np.random.default_rng(12), 0
    for k in range(400):
        p = r.beta(1, 4, 40)
        y = r.random(40) < p
        found = measure(y, p, "slope" if signed else "ece", draws=39, rng=k)
        hits += found.pvalue <= 0.05
    assert 5 <= hits <= 36  # binomial(400, .05): 20 +- 4 standard deviations


@pytest.mark.parametrize("number", [2, 3])
def test_the_p_value_of_several_measures_is_the_rank_of_their_smallest(number):
    """Of rows whose smallest rank over the columns is at most that of the first; ties may be broken either way."""
    measures = [BinnedError(bins=k) for k in range(2, 2 + number)]
    for seed in range(6):
        values = np.random.default_rng(seed).normal(size=(60, number))
        values[0, -1] += 1.5
        part = _part(values, measures, range(number))
        least = np.array([[np.sum(column >= one) for one in column] for column in values.T]).min(axis=0)
        assert np.mean(least < least[0]) + 1 / 60 <= part.together + 1e-12
        assert part.together <= np.mean(least <= least[0]) + 1e-12
        assert part.pvalues == pytest.approx([np.mean(column >= column[0]) for column in values.T])
