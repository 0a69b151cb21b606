"""Confidence intervals: pieces against naive sums, coverage by simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm, t

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference.intervals.surprises import hoeffding_parts, surprises_of

KERNEL = kc.Laplacian(0.3)
STATISTIC = kc.SKCE(prediction_kernel=KERNEL)


def data(n=60, seed=0, power=2):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return (rng.random(n) < p).astype(int), p**power


def test_hoeffding_variance_equals_sums_over_distinct_rows():
    y, p = data(9)
    matrix = STATISTIC.prepare(kc.Bernoulli(p)).matrix(y)
    h, n = matrix.dense(), 9
    distinct = lambda *i: len(set(i)) == len(i)  # noqa: E731
    grid = range(n)
    squares = np.mean([h[i, j] ** 2 for i in grid for j in grid if distinct(i, j)])
    shared = np.mean([h[i, j] * h[i, k] for i in grid for j in grid for k in grid if distinct(i, j, k)])
    apart = np.mean([h[i, j] * h[k, m] for i in grid for j in grid for k in grid for m in grid if distinct(i, j, k, m)])
    first, second = max(shared - apart, 0), max(squares - apart, 0)
    expected = 4 * (n - 2) / (n * (n - 1)) * first, 2 / (n * (n - 1)) * second
    assert hoeffding_parts(matrix) == pytest.approx(expected, rel=1e-10)
    interval = kc.confidence_interval(y, p, statistic=STATISTIC, method="root", pvalue=0.001)
    noise, root = np.sqrt(expected[1] / 2), max(interval.estimate, 0) ** 0.5
    own = np.sqrt(root**2 + noise) + norm.ppf(0.975) * np.sqrt(noise)
    assert interval.root[1] == pytest.approx(max(own, surprises(y, p).root(norm.ppf(0.975))), rel=1e-10)


def surprises(y, p, statistic=STATISTIC):
    """Sums with pseudo-surprises, which have tests of their own."""
    prepared = statistic.prepare(kc.Bernoulli(p))
    return surprises_of(prepared.matrix(y), Case(y, kc.Bernoulli(p)))


@pytest.mark.parametrize("n", [300, 1200])
def test_where_many_outcomes_surprise_the_root_ends_where_it_did(n):
    """Published by a formula alone: ``sqrt(max(U, 0) + s) + z sqrt(s)``, with s from the pairs that were seen."""
    y, p = data(n)
    interval = kc.confidence_interval(y, p, statistic=STATISTIC, method="root", pvalue=0.001)
    degenerate = hoeffding_parts(STATISTIC.prepare(kc.Bernoulli(p)).matrix(y))[1]
    noise = np.sqrt(degenerate / 2)
    own = np.sqrt(max(interval.estimate, 0) + noise) + norm.ppf(0.975) * np.sqrt(noise)
    assert own <= interval.root[1] <= 1.02 * own


def test_block_interval_is_that_of_student():
    y, p = data(600)
    statistic = kc.SKCE(prediction_kernel=KERNEL, estimator="block", block_size=5)
    interval = kc.confidence_interval(y, p, statistic=statistic, confidence_level=0.9)
    values = statistic.prepare(kc.Bernoulli(p)).block_values(y)
    assert interval.estimate == pytest.approx(values.mean())
    quantile, error = t.ppf(0.95, 119), values.std(ddof=1) / np.sqrt(120)
    assert interval.lower == pytest.approx(max(values.mean() - quantile * error, 0), rel=1e-9)
    known = replace(surprises(y, p), total=values.mean() * 600 * 599)
    upper = max(values.mean() + quantile * error, known.of_blocks(5, quantile))
    assert interval.upper == pytest.approx(upper, rel=1e-9)


def test_the_upper_end_of_blocks_adds_what_fewer_pairs_leave_unknown():
    known = surprises(*data(200))
    all_pairs = known.of_blocks(200, 1.7)
    assert all_pairs == pytest.approx(known.root(1.7) ** 2, rel=1e-3)
    w = known.weight(2.0)[1]  # two surprises up to two standard deviations
    value, square = known.value(2.0), known.mean_square(2.0)
    noise = np.sqrt((square - value**2) / (w * (w - 1)))
    gap = (np.sqrt(max(value, 0) + noise) + 1.7 * np.sqrt(noise)) ** 2 - value
    more = 2 * (square / (200 * 4) - noise**2)
    assert known.of_blocks(5, 1.7) == pytest.approx(value + np.sqrt(gap**2 + 1.7**2 * more), rel=1e-9)


def test_bootstrap_interval_equals_a_loop():
    from kernelcal.inference import Draws

    y, p = data(20)
    interval = kc.confidence_interval(y, p, statistic=STATISTIC, draws=50, rng=4, pvalue=0.001)
    h = STATISTIC.prepare(kc.Bernoulli(p)).matrix(y).dense()
    values = []
    for u in Draws(4, "draws of an interval").uniforms(0, 50, 20):
        rows = (u * 20).astype(int)
        pairs = [(i, j) for i in rows for j in rows if i != j]
        values.append(np.mean([h[i, j] for i, j in pairs]))
    lower, upper = np.maximum(np.quantile(values, [0.025, 0.975]), 0)
    assert interval.lower == pytest.approx(lower, rel=1e-10)
    assert interval.upper >= upper * (1 - 1e-10)  # the larger one of this and of draws with surprises: test_surprises


def test_lower_end_is_zero_unless_the_exact_test_rejects():
    y, p = data(200, power=1)
    interval = kc.confidence_interval(y, p)
    assert interval.lower == 0
    assert "the exact test does not reject" in interval.notes[0]
    assert kc.confidence_interval(*data(300)).lower > 0


@pytest.mark.slow
@pytest.mark.parametrize(("power", "truth"), [(1, 0.0), (2, None)])
def test_coverage_of_the_default(power, truth):
    if truth is None:
        p = np.linspace(0, 1, 2001)
        gap = p - p**2
        kernel = np.exp(-np.abs((p**2)[:, None] - p**2) / 0.3)
        truth = 2 * (gap @ kernel @ gap) / 2001**2
    repetitions, covered = 100, 0
    for seed in range(repetitions):
        y, p = data(150, [8, seed], power)
        pvalue = kc.calibration_test(y, p, draws=99, rng=seed).pvalue
        interval = kc.confidence_interval(y, p, statistic=STATISTIC, draws=199, pvalue=pvalue)
        covered += interval.lower <= truth <= interval.upper
    assert covered >= binom.ppf(0.001, repetitions, 0.92)  # within 3 points of 95 %, or above


def test_ball_is_wide_and_methods_are_checked():
    y, p = data(200)
    ball, default = (kc.confidence_interval(y, p, method=m).root for m in ("ball", "bootstrap"))
    assert ball[1] - ball[0] > default[1] - default[0]
    with pytest.raises(InputError, match="method must be one of 'bootstrap', 'root', 'ball', 'block', or 'default'"):
        kc.confidence_interval(y, p, method="t")
    with pytest.raises(InputError, match="does not serve estimator='unbiased'"):
        kc.confidence_interval(y, p, method="block")
    with pytest.raises(InputError, match=r"statistic must be an SKCE such as .* got 'ece'"):
        kc.confidence_interval(y, p, statistic="ece")
    with pytest.raises(InputError, match="confidence_level must lie between 0 and 1"):
        kc.confidence_interval(y, p, confidence_level=95)
    with pytest.raises(InputError, match="the biased estimator has no interval"):
        kc.confidence_interval(y, p, statistic=kc.SKCE(estimator="biased"))
    for wrong in (2, 0.0, float("nan")):
        with pytest.raises(InputError, match="pvalue must lie above 0 and not above 1"):
            kc.confidence_interval(y, p, pvalue=wrong)
    assert set(kc.confidence_interval(y, p, method="root").to_dict()) >= {"lower", "upper", "root", "method"}


def test_few_draws_are_noted():
    batch = kc.Samples(np.random.default_rng(0).normal(size=(30, 8)))
    interval = kc.confidence_interval(np.zeros(30), batch, draws=99)
    assert "with 8 draws a row" in interval.notes[0]


def test_evaluate_shows_the_interval():
    y, p = data(200)
    result = kc.evaluate(y, p)
    assert "root of SKCE, 95 % interval" in result.summary()
    assert result.interval.lower <= float(result.skce) <= result.interval.upper


@pytest.mark.slow
def test_weighted_rows_above_the_size_of_the_bootstrap_have_one_too():
    """The root takes no weights: up to 8,000 rows `evaluate` has an interval with them all the same."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=5100)
    y = (rng.random(5100) < p**2).astype(int)
    found = kc.evaluate(y, p, weights=rng.uniform(0.5, 2, 5100), draws=19)
    assert found.interval.method == "percentile bootstrap without pairs of a row with itself"
    assert 0 < found.interval.lower < found.interval.estimate < found.interval.upper
