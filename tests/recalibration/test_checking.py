"""What a map does for other rows: scores by hand, tests of the library, and refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import kernelcal as kc
from kernelcal.dependence import Dependence
from kernelcal.errors import InputError
from kernelcal.predictions import Quantiles, Samples
from kernelcal.randomness import generator_of
from kernelcal.recalibration import recalibrate
from kernelcal.recalibration.advice import ends_of, error_of_gain
from kernelcal.recalibration.folds import folds_of

SCORES = np.array([-1.2816, 0.0, 1.2816])


def error_with_surprises(gain, p, made, score):
    """By hand: two rows more in which the less likely outcome happened, as both expect it on average."""
    rare, happened = np.minimum((p + made) / 2, 1 - (p + made) / 2), (p + made) / 2 < 0.5
    more = score(happened, p) - score(happened, made)
    mean, n = gain.mean(), len(gain)
    square = ((gain - mean) ** 2).sum() + 2 * np.average((more - mean) ** 2, weights=rare)
    return np.sqrt(square / ((n + 1) * (n + 2)))


def log_score(y, q):
    return -np.log(np.where(y == 1, q, 1 - q))


def test_scores_and_tests_of_classes_are_those_of_the_library():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=600)
    y = (rng.random(600) < p).astype(int)
    sharp = p**2 / (p**2 + (1 - p) ** 2)
    found = recalibrate(y[:300], sharp[:300], test=False)
    weights = rng.uniform(0.5, 2, 300)
    check = found.check(y[300:], sharp[300:], weights=weights, draws=99)
    made = found(sharp[300:]).p
    for k, q in enumerate((sharp[300:], made)):
        own = np.where(y[300:] == 1, q, 1 - q)
        assert check.scores["log score"][k] == pytest.approx(np.average(-np.log(own), weights=weights))
        brier = np.average((1 - own) ** 2, weights=weights)
        assert check.scores["Brier score"][k] == pytest.approx(brier)
        test = (check.test_before, check.test_after)[k]
        assert test.pvalue == kc.calibration_test(y[300:], q, weights=weights, draws=99).pvalue
    before, after = check.scores["log score"]
    assert check.gain == pytest.approx(before - after)
    assert "makes these 300 rows better" in check.verdict
    json.dumps(check.to_dict(), allow_nan=False)


@pytest.mark.parametrize("kind", ["normal", "members", "quantiles"])
def test_scores_of_numbers(kind):
    rng = np.random.default_rng(1)
    m, s = 3 * rng.normal(size=400), rng.uniform(0.5, 2, 400)
    y = m + 0.5 + 2 * s * rng.normal(size=400)
    given = {
        "normal": kc.Normal(m, s),
        "members": Samples(m[:, None] + s[:, None] * rng.normal(size=(400, 8))),
        "quantiles": Quantiles(m[:, None] + s[:, None] * SCORES, [0.1, 0.5, 0.9]),
    }[kind]
    fit, rest = np.arange(200), np.arange(200, 400)
    found = recalibrate(y[fit], given[fit], test=False)
    check = found.check(y[rest], given[rest], draws=99)
    made = found(given[rest])
    name = {"normal": "CRPS", "members": "CRPS", "quantiles": "mean pinball loss"}[kind]
    if kind == "normal":
        expected = kc.crps(y[rest], made)
    elif kind == "members":
        draws = made.draws
        half = np.abs(draws[:, :, None] - draws[:, None, :]).mean(axis=(1, 2)) / 2
        expected = (np.abs(draws - y[rest, None]).mean(axis=1) - half).mean()
    else:
        off = y[rest, None] - made.values
        expected = np.maximum(np.array([0.1, 0.5, 0.9]) * off, (np.array([0.1, 0.5, 0.9]) - 1) * off).mean()
    assert check.scores[name][1] == pytest.approx(expected)
    assert check.gain > 0


def test_a_label_of_probability_0_has_an_infinite_score_before():
    rng = np.random.default_rng(2)
    p = np.clip(rng.uniform(size=300), 0.01, 0.99)
    y = (rng.random(300) < p).astype(int)
    found = recalibrate(y[:200], p[:200], "temperature", test=False)
    other, outcome = p[200:].copy(), y[200:].copy()
    other[0], outcome[0] = 0.0, 1
    check = found.check(outcome, other, draws=99)
    assert check.scores["log score"][0] == np.inf
    assert np.isfinite(check.scores["log score"][1])
    assert check.to_dict()["scores"]["log score"][0] is None
    assert "better" in check.verdict


def test_rows_of_the_fit_are_refused():
    rng = np.random.default_rng(3)
    p = rng.uniform(size=200)
    y = (rng.random(200) < p).astype(int)
    found = recalibrate(y, p, "temperature", test=False)
    with pytest.raises(InputError, match="100% of the rows of the map's fit are among these"):
        found.check(y, p)
    with pytest.raises(InputError, match="of the rows of the map's fit are among these"):
        found.check(y[50:], p[50:])
    with pytest.raises(InputError, match="of 2 classes, got Normal"):
        found.check(p, kc.Normal(p, np.ones(200)))


@pytest.mark.parametrize("how", ["clusters", "horizon"])
def test_the_error_of_the_gain_is_that_of_rows_that_depend(how):
    """Blocks of rows that repeat each other tell as much as one row each, however many these are."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.05, 0.95, 300)
    found = recalibrate((rng.random(300) < p).astype(int), p, "platt", test=False)
    block = np.repeat(np.arange(20), 15)
    q, y = rng.uniform(0.05, 0.95, 20)[block], rng.integers(0, 2, 20)[block]
    depend = {"clusters": block} if how == "clusters" else {"time": np.arange(300), "horizon": 15}
    check, alone = found.check(y, q, draws=19, **depend), found.check(y, q, draws=19)
    made = found(q).p
    gains = log_score(y, q) - log_score(y, made)
    few = error_with_surprises(gains, q, made, log_score)
    assert alone.gain_error == pytest.approx(max(gains.std(ddof=1) / np.sqrt(300), few))
    if how == "clusters":
        assert check.gain_error == pytest.approx(gains[::15].std(ddof=1) / np.sqrt(20))
    else:
        assert check.gain_error > 2 * alone.gain_error


def test_a_map_of_overlapping_forecasts_is_judged_by_their_error():
    rng = np.random.default_rng(0)
    walk = np.convolve(rng.normal(size=419), np.ones(20), "valid") / np.sqrt(20)
    laws = kc.Normal(np.zeros(400), np.ones(400))
    alone = recalibrate(walk, laws, "one shift, one factor", test=False)
    overlapping = recalibrate(walk, laws, "one shift, one factor", test=False, time=np.arange(400), horizon=20)
    assert overlapping.fit.gain_error > 2 * alone.fit.gain_error


@pytest.mark.parametrize("depend", [{"clusters": np.repeat(np.arange(60), 10)}, {"horizon": 10}])
def test_rows_that_repeat_each_other_tell_no_more_than_one_of_them(depend):
    """Ten rows each of sixty outcomes: the error of what is gained is about that of the sixty."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=360)
    y, sharp = (rng.random(360) < p).astype(int), p**2 / (p**2 + (1 - p) ** 2)
    found = recalibrate(y[:300], sharp[:300], test=False)
    once = found.check(y[300:], sharp[300:], draws=19)
    many = found.check(np.repeat(y[300:], 10), np.repeat(sharp[300:], 10), draws=19, **depend)
    assert many.gain == pytest.approx(once.gain)
    assert many.gain_error == pytest.approx(once.gain_error, rel=0.35)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_gain_of_a_fit_and_its_error_are_of_rows_that_were_held_out(kind):
    rng = np.random.default_rng(2)
    weights, clusters = rng.uniform(0.5, 2, 80), rng.integers(0, 20, 80)
    weights /= weights.mean()
    if kind == "classes":
        p = rng.uniform(0.05, 0.95, 80)
        y, given = (rng.random(80) < p).astype(int), p**3 / (p**3 + (1 - p) ** 3)
        name, rows = "platt", -np.log(np.where(y == 1, given, 1 - given))
    else:
        m = rng.normal(size=80)
        y, given = m + 1 + 2 * rng.normal(size=80), kc.Normal(m, np.ones(80))
        name, rows = "one shift, one factor", 0.5 * (y - m) ** 2 + 0.5 * np.log(2 * np.pi)
    fit = recalibrate(y, given, name, weights=weights, clusters=clusters, test=False, rng=7).fit
    after, generator = np.empty(80), generator_of(7, "folds of a recalibration")
    labels = y if kind == "classes" else np.zeros(80)
    depend = Dependence.of(80, clusters=clusters)
    for some, held in folds_of(labels, 5, generator, depend):
        one = recalibrate(y[some], given[some], name, weights=weights[some], clusters=clusters[some], test=False)
        made = one(given[held])
        of_class = np.where(y[held] == 1, made.p, 1 - made.p) if kind == "classes" else None
        after[held] = -made.log_prob(y[held]) if of_class is None else -np.log(of_class)
    assert fit.before == pytest.approx(np.average(rows, weights=weights))
    assert fit.after == pytest.approx(np.average(after, weights=weights), abs=5e-4)
    gain = weights * (rows - after)
    sums = [(gain - gain.mean())[clusters == k].sum() for k in range(20)]
    error = np.sqrt(20 / 19) * np.linalg.norm(sums) / 80
    if kind == "classes":
        made = recalibrate(y, given, name, weights=weights, clusters=clusters, test=False, rng=7)(given).p
        error = max(error, error_with_surprises(gain, given, made, log_score))
    assert fit.gain_error == pytest.approx(error, rel=5e-3)


@pytest.mark.parametrize("clusters", [None, np.repeat(np.arange(6), 2)])
def test_what_did_not_happen_yet_is_part_of_the_error_of_a_gain(clusters):
    """All of twelve events of probability 0.9 happened, as in 28 % of such data: a map to 0.97 gains in every row."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.85, 0.95, 400)
    found = recalibrate((rng.random(400) < 0.975).astype(int), p, "temperature", test=False)
    check = found.check(np.ones(12, dtype=int), np.full(12, 0.9), draws=19, clusters=clusters)
    made = found(np.array([0.9])).p[0]
    assert made > 0.95
    for one in check.changes:
        assert one.gain > 0
        assert one.low < 0 < one.high
    assert check.advice != "use"


def test_intervals_of_a_gain_hold_the_truth_where_rows_are_few():
    """Events of a few percent, of which twenty rows have none or one: the normal law held half of the truths."""
    rng = np.random.default_rng(1)
    p = rng.beta(1, 30, (300, 20)).clip(1e-6)
    y, made = rng.random(p.shape) < p, np.minimum(1.8 * p, 0.99)
    held = []
    for q, after, happened in zip(p, made, y, strict=True):
        gains = log_score(happened, q) - log_score(happened, after)
        true = (q * np.log(after / q) + (1 - q) * np.log((1 - after) / (1 - q))).mean()
        error = error_of_gain(gains, None, kc.Bernoulli(q), kc.Bernoulli(after))
        low, high = ends_of(float(gains.mean()), error, 0.95, None, 20)
        held.append(low <= true <= high)
    assert binom.cdf(sum(held), 300, 0.95) > 1e-3


@pytest.mark.parametrize("n", [5, 12])
def test_intervals_of_a_gain_of_few_numbers_are_those_of_student(n):
    """Gains that are normal are held with 95 %, of five rows too."""
    gains = np.random.default_rng(n).normal(0.3, 1.0, (1000, n))
    law = kc.Normal(np.zeros(n), np.ones(n))
    ends = [ends_of(float(row.mean()), error_of_gain(row, None, law, law), 0.95, None, n) for row in gains]
    held = sum(low <= 0.3 <= high for low, high in ends)
    assert 1e-3 < binom.cdf(held, 1000, 0.95) < 1 - 1e-3


@pytest.mark.parametrize(("error", "said"), [(0.9, "Use the map"), (1.1, "Leave the predictions alone")])
def test_a_map_is_worth_it_where_it_gains_more_than_one_error(error, said):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=300)
    found = recalibrate((rng.random(300) < p).astype(int), p**2 / (p**2 + (1 - p) ** 2), test=False)
    fit = replace(found.fit, gain_error=error * found.gain)
    assert replace(found, fit=fit).verdict.startswith(said)
