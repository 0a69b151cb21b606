"""Dependence that nobody spoke of is told; independent rows are left in peace."""

import numpy as np
import pytest
from scipy.stats import binom, norm

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.dependence import suspicions, suspicious_labels


def told(y, predictions):
    case = Case.of(y, predictions)
    return suspicions(case.predictions, case.targets)


def overlapping(rng, n=200, h=8):
    mean = rng.normal(size=n)
    return mean, mean + np.convolve(rng.normal(size=n + h - 1), np.full(h, h**-0.5), "valid")


def test_overlapping_forecasts_are_told():
    mean, y = overlapping(np.random.default_rng(0))
    (sentence,) = told(y, kc.Normal(mean, 1.0))
    assert sentence.startswith("neighbouring rows deviate alike (correlation 0.69)")
    assert "horizon=" in sentence
    assert "clusters=" in sentence
    assert told(y > mean + 0.3, norm.sf(np.full(200, 0.3)))
    assert told(y, kc.Quantiles(mean[:, None] + norm.ppf([0.1, 0.5, 0.9]), [0.1, 0.5, 0.9]))


def test_rows_with_one_prediction_are_told():
    rng = np.random.default_rng(1)
    of = np.arange(1000) % 200
    p = rng.uniform(size=200)[of]
    g = np.sqrt(0.5) * rng.normal(size=200)[of] + np.sqrt(0.5) * rng.normal(size=1000)
    (sentence,) = told((g > norm.isf(p)).astype(int), p)
    assert sentence.startswith("rows with the same prediction deviate alike (200 groups of them)")


def test_sorted_outcomes_say_nothing():
    rng = np.random.default_rng(2)
    mean = rng.normal(size=300)
    y = mean + rng.normal(size=300)
    order = np.argsort(y)
    assert told(y[order], kc.Normal(mean[order], 1.0)) == ()


def test_laws_without_mean_are_binned_by_their_centres():
    rng = np.random.default_rng(5)
    loc = rng.normal(size=200)
    batch = kc.StudentT(np.ones(200), loc, np.ones(200))
    assert told(loc + rng.standard_t(1, 200), batch) == ()
    path = np.convolve(rng.normal(size=207), np.full(8, 8**-0.5), "valid")
    (sentence,) = told(loc + np.tan(np.pi * (norm.cdf(path) - 0.5)), batch)
    assert "nan" not in sentence


def test_too_few_rows_and_densities_without_draws_are_left():
    mean, y = overlapping(np.random.default_rng(3), n=29)
    assert told(y, kc.Normal(mean, 1.0)) == ()
    assert told(np.cumsum(np.ones(50)), kc.Score(lambda y: -y, n=50)) == ()


@pytest.mark.parametrize("kind", ["event", "its opposite", "first choice", "count"])
@pytest.mark.parametrize("twice", [False, True])
def test_where_nothing_happened_nothing_is_seen(kind, twice):
    rate = np.sort(np.repeat(np.random.default_rng(8).beta(0.2, 20, 45), 2) if twice else np.geomspace(1e-6, 0.1, 90))
    y = np.zeros(90, dtype=int)
    first = np.column_stack([1 - rate, 0.3 * rate, 0.7 * rate])
    batch = {"event": rate, "its opposite": 1 - rate, "first choice": first, "count": kc.Poisson(rate)}[kind]
    case = Case.of(y + (kind == "its opposite"), batch)
    assert suspicions(case.predictions, case.targets) == ()
    assert suspicious_labels(case.predictions, case.targets, {"subject": np.arange(90) // 3}) == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["right", "wrong and sorted", "rare", "counts", "rare counts", "hits", "many rows"])
def test_independent_rows_are_seldom_suspected(kind):
    sets = 150
    alarms = 0
    for seed in range(sets):
        rng = np.random.default_rng([7, seed])
        p = np.sort(rng.uniform(size=400))
        if kind == "right":
            alarms += bool(told((rng.random(400) < p).astype(int), p))
        elif kind == "wrong and sorted":
            alarms += bool(told((rng.random(400) < p).astype(int), p**2 / (p**2 + (1 - p) ** 2)))
        elif kind == "rare":
            alarms += bool(told((rng.random(400) < 0.03 * p).astype(int), 0.03 * p))
        elif kind == "counts":
            alarms += bool(told(rng.poisson(0.1 + 2 * p), kc.Poisson(0.1 + 2 * p)))
        elif kind == "rare counts":
            rate = np.sort(rng.gamma(0.2, 0.05, 200) + 1e-4)
            alarms += bool(told(rng.poisson(rate), kc.Poisson(rate)))
        elif kind == "hits":
            miss = np.sort(rng.beta(0.2, 20, 60))
            alarms += bool(told((rng.random(60) > miss).astype(int), 1 - miss))
        else:
            q = rng.uniform(size=3000)
            alarms += bool(told((rng.random(3000) < q).astype(int), q))
    assert alarms <= binom.ppf(0.9995, sets, 0.01)
