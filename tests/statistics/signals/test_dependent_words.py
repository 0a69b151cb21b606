"""Directions of rows that depend on each other: errors of sums against loops and Student's law, words by simulation."""

import numpy as np
import pytest
from scipy.stats import binom, norm, t

import kernelcal as kc
from kernelcal.dependence import Dependence, mean_law
from kernelcal.statistics.signals import QuantileSignals
from kernelcal.statistics.signals.class_words import recalibrated
from kernelcal.statistics.signals.classes import ClassSignals
from kernelcal.statistics.signals.clear import sums_with_errors
from kernelcal.statistics.signals.numbers import NumberSignals


def law_of(clusters):
    return mean_law(Dependence.of(len(clusters), clusters=clusters))


def shared(rng, clusters, size, rho):
    """Clusters, and standard normal numbers with the correlation rho inside them."""
    of = np.repeat(np.arange(clusters), size)
    return of, np.sqrt(rho) * rng.normal(size=clusters)[of] + np.sqrt(1 - rho) * rng.normal(size=len(of))


def binary(rng, clusters, size, rho, sharp=1.0):
    """Labels whose probabilities are right if `sharp` is 1, with normal shocks that clusters share."""
    of, g = shared(rng, clusters, size, rho)
    x = 0.7 * rng.normal(size=clusters)[of] + rng.normal(size=len(of))
    return (g > norm.isf(norm.cdf(x))).astype(int), kc.Bernoulli(norm.cdf(sharp * x)), of


def three(rng, clusters, size, rho):
    of, g = shared(rng, clusters, size, rho)
    p = rng.dirichlet(np.ones(3), len(of))
    return (norm.cdf(g)[:, None] > np.cumsum(p[:, :2], axis=1)).sum(axis=1), kc.Categorical(p), of


def numbers(rng, clusters, size, rho, wide=1.0):
    of, g = shared(rng, clusters, size, rho)
    mean, std = rng.normal(size=len(of)), np.exp(0.3 * rng.normal(size=len(of)))
    return mean + std * wide * g, kc.Normal(mean, std), of


@pytest.mark.parametrize("together", [1, 6])
def test_errors_of_clusters_are_those_of_a_loop_and_of_student(together):
    rng = np.random.default_rng(0)
    of, a = shared(rng, 5, 8, 0.8)
    columns = [a, rng.normal(size=40) + 0.3]
    sums, errors = sums_with_errors(columns, law_of(of), together)
    for column, total, error in zip(columns, sums, errors, strict=True):
        left = column - column.mean()
        by_cluster = [sum(left[i] for i in range(40) if of[i] == g) for g in range(5)]
        dependent = (5 / 4 * sum(x**2 for x in by_cluster)) ** 0.5
        level = 0.025 / together
        wanted = max((left**2).sum() ** 0.5, dependent * t.isf(level, 4) / norm.isf(level))
        assert total == pytest.approx(sum(column))
        assert error == pytest.approx(wanted, rel=1e-5)
    assert errors[0] > 2 * ((columns[0] - columns[0].mean()) ** 2).sum() ** 0.5  # the clusters are what counts


def test_one_cluster_tells_no_error_and_nothing_that_varies_none():
    rows = Dependence.of(6, clusters=[0, 0, 0, 1, 1, 1])
    assert sums_with_errors([np.arange(6.0)], mean_law(rows[np.arange(3)]))[1] == np.inf
    assert sums_with_errors([np.full(6, 2.0)], mean_law(rows))[1] == 0


@pytest.mark.parametrize("m", [2, 3])
def test_counts_class_by_class_are_those_of_a_table(m):
    answers = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y, batch, of = binary(rng, 12, 6, 0.9) if m == 2 else three(rng, 12, 6, 0.6)
        p, w, law = batch.table(), rng.uniform(0.5, 2, 72), law_of(of)
        table = w[:, None] * (np.eye(m)[y] - p)[:, 1 if m == 2 else 0 :]
        sums, errors = sums_with_errors(table.T, law, table.shape[1])
        wanted = bool((np.abs(sums) > norm.isf(0.025 / table.shape[1]) * errors).any())
        assert ClassSignals().prepare(batch, w).clear("bias", y, law) == wanted
        answers.add(wanted)
    assert answers == {True, False}


def test_what_a_row_adds_to_a_slope_is_what_its_weight_moves():
    """Pairs of rows as clusters: the error is that of influences, here by refitting with one weight changed."""
    rng = np.random.default_rng(3)
    y, batch, of = binary(rng, 30, 4, 0.6, 1.5)
    w, step, classes = rng.uniform(0.5, 2, 120), 1e-3, np.array([0])
    plain = recalibrated(batch, y, w, classes)
    moved = np.array([recalibrated(batch, y, w + step * (np.arange(120) == i) * w, classes).slope for i in range(120)])
    influences = (moved - plain.slope) / step
    found = recalibrated(batch, y, w, classes, law_of(of)).error
    assert found == pytest.approx(max(plain.error, sums_with_errors([influences], law_of(of))[1][0]), rel=0.01)
    assert found > 1.02 * plain.error


CALIBRATED = {
    "one probability": (binary, ClassSignals(), ("bias", "slope")),
    "three classes": (three, ClassSignals(), ("bias", "slope")),
    "numbers": (numbers, NumberSignals(), ("bias", "dispersion")),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.slow) if case == "one probability" else case for case in CALIBRATED],
)
def test_shocks_of_clusters_are_no_direction(case):
    """With the spread of independent rows a third of these calibrated sets had a clear direction."""
    make, signals, names = CALIBRATED[case]
    sets = 120
    found = {(name, known): 0 for name in names for known in (True, False)}
    for seed in range(sets):
        y, batch, of = make(np.random.default_rng(seed), 20, 20, 0.35)
        prepared = signals.prepare(batch)
        for name, known in found:
            found[name, known] += prepared.clear(name, y, law_of(of) if known else None)
    for name in names:
        assert found[name, True] <= binom.isf(1e-3, sets, 0.06)
    assert found["bias", False] > binom.isf(1e-6, sets, 0.06)


@pytest.mark.slow
def test_shocks_of_clusters_are_no_levels_of_quantiles():
    taus, sets = np.array([0.05, 0.25, 0.5, 0.75, 0.95]), 60
    found = {}
    for seed in range(sets):
        y, batch, of = numbers(np.random.default_rng(seed), 20, 20, 0.4)
        q = batch.mean[:, None] + batch.std[:, None] * norm.ppf(taus)
        prepared = QuantileSignals().prepare(kc.Quantiles(q, taus))
        for name in ("high", "low", "levels below", "levels above"):
            for known in (True, False):
                clear = prepared.clear(name, y, law_of(of) if known else None)
                found[name, known] = found.get((name, known), 0) + clear
    for name in ("high", "low", "levels below", "levels above"):
        assert found[name, True] <= binom.isf(1e-3, sets, 0.06) < found[name, False]


def said(y, batch, of, words):
    result = kc.calibration_test(y, batch, clusters=of, draws=199)
    return result.pvalue <= 0.05, {word for word in words if any(word in one for one in result.directions)}


@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param("over-confident", marks=pytest.mark.slow), "too narrow"])
def test_the_right_direction_alone_is_said_of_clusters(case):
    """Before, shocks that clusters shared were told as a shift beside it: of 60 narrow sets in 18."""
    words = ("over-confident", "under-confident", "-predicted", "too narrow", "too wide", "shifted")
    right = wrong = rejected = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        args = binary(rng, 30, 10, 0.4, 2.0) if case == "over-confident" else numbers(rng, 12, 25, 0.5, 2.5)
        no, found = said(*args, words)
        rejected += no
        right += no and case in found
        wrong += bool(found - {case})
    assert rejected >= 22
    assert right >= rejected - 1
    assert wrong <= binom.isf(1e-2, 24, 0.06)


@pytest.mark.slow
def test_overlapping_forecasts_that_are_too_narrow_are_not_shifted():
    """Errors of eight steps ahead stay on one side for long: of 30 such sets 21 were called shifted as well."""
    wrong, sets = 0, 16
    for seed in range(sets):
        noise, x = np.random.default_rng(seed).normal(size=300), np.zeros(300)
        for i in range(1, 300):
            x[i] = 0.9 * x[i - 1] + noise[i]
        i = np.arange(100, 300)
        std = np.sqrt((0.9 ** (2 * np.arange(8))).sum())
        result = kc.calibration_test(x[i], kc.Normal(0.9**8 * x[i - 8], np.full(200, 0.4 * std)), horizon=8, draws=199)
        assert any("too narrow" in word for word in result.directions)
        wrong += any("shifted" in word for word in result.directions)
    assert wrong <= sets // 3
