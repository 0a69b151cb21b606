"""Means of dependent rows: errors against double loops, and the law of t against simulation and Student's law."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm, t as student

from kernelcal.dependence import ClusterMeans, Dependence, StretchMeans, mean_law


def stretches(kind):
    rng = np.random.default_rng(3)
    if kind == "one series":
        return Dependence.of(80, horizon=6)
    if kind == "series":
        return Dependence.of(80, horizon=3, series=rng.permutation(np.repeat(np.arange(4), 20)))
    return Dependence.of(80, horizon=4, time=rng.permutation(np.sort(rng.choice(200, 80, replace=False))))


@pytest.mark.parametrize("kind", ["one series", "series", "gaps"])
def test_errors_along_time_are_those_of_bartlett_weights(kind):
    rows = stretches(kind)
    law = mean_law(rows)
    assert isinstance(law, StretchMeans)
    assert law.window == int(np.ceil(max(1.3 * np.sqrt(rows.lengths.max()), 2 * rows.horizon)))
    values = np.random.default_rng(0).normal(size=80) + 3
    e, total = values - values.mean(), 0.0
    for i in range(80):
        for j in range(80):
            if rows.series[i] == rows.series[j]:
                total += max(0.0, 1 - abs(int(rows.time[i]) - int(rows.time[j])) / law.window) * e[i] * e[j]
    assert law.error(values) == pytest.approx(np.sqrt(total) / 80, rel=1e-12)


def test_errors_of_clusters_are_those_of_their_sums():
    of = np.array([0, 1, 1, 2, 2, 2, 0])
    law = mean_law(Dependence.of(7, clusters=of))
    assert isinstance(law, ClusterMeans)
    values = np.random.default_rng(1).normal(size=7)
    sums = [(values - values.mean())[of == g].sum() for g in range(3)]
    assert law.error(values) == pytest.approx(np.sqrt(1.5 * np.square(sums).sum()) / 7, rel=1e-12)


@pytest.mark.parametrize("kind", ["one series", "series", "gaps"])
def test_the_law_along_time_is_that_of_the_same_t_of_white_noise(kind):
    law, sets = mean_law(stretches(kind)), 20_000
    noise = np.random.default_rng(4).normal(size=(sets, 80))
    means = noise.mean(axis=1)
    t = np.abs(means) / (np.sqrt(law._squares(noise - means[:, None])) / 80)
    for level in (0.5, 0.05, 0.01):
        exceed = (t >= brentq(lambda x: law.pvalue(x) - level, 1e-3, 100)).sum()  # noqa: B023
        assert binom.ppf(1e-4, sets, level) <= exceed <= binom.ppf(1 - 1e-4, sets, level)


@pytest.mark.parametrize("clusters", [2, 5, 30])
def test_clusters_of_one_size_have_the_law_of_student(clusters):
    law = mean_law(Dependence.of(clusters * 4, clusters=np.repeat(np.arange(clusters), 4)))
    for t in (0.3, 1.0, 2.5, 20.0):
        assert law.pvalue(t) == pytest.approx(2 * student.sf(t, clusters - 1), rel=1e-6)
    assert law.parts == pytest.approx(clusters)


def test_many_rows_of_one_step_have_nearly_the_normal_law():
    law = mean_law(Dependence.of(50_000, horizon=1))
    assert 2 * norm.sf(2.0) < law.pvalue(2.0) < 1.1 * 2 * norm.sf(2.0)


@pytest.mark.parametrize("alike", [0.0, 1.0])
def test_clusters_of_different_sizes_keep_the_level(alike):
    sizes = np.array([1] * 20 + [5] * 5 + [15] * 3)
    of = np.repeat(np.arange(len(sizes)), sizes)
    law, rng, sets = mean_law(Dependence.of(len(of), clusters=of)), np.random.default_rng(6), 2_000
    critical, t = brentq(lambda x: law.pvalue(x) - 0.05, 1, 20), np.empty(sets)
    for k in range(sets):
        values = np.sqrt(alike) * rng.normal(size=len(sizes))[of] + np.sqrt(1 - alike) * rng.normal(size=len(of))
        t[k] = abs(values.mean()) / law.error(values)
    rejected, too_often = (t >= critical).sum(), (t >= student.isf(0.025, len(sizes) - 1)).sum()
    assert rejected <= binom.ppf(0.9999, sets, 0.05)
    if alike:
        assert rejected >= binom.ppf(0.0001, sets, 0.05)
        assert too_often > binom.ppf(0.9999, sets, 0.05)  # Student's law with G - 1 would not do


def test_p_values_are_never_0_and_fall():
    for law in (mean_law(Dependence.of(200, horizon=8)), mean_law(Dependence.of(12, clusters=np.arange(12) // 2))):
        p = [law.pvalue(t) for t in (0.0, 0.1, 1, 3, 10, 1e3, 1e8)]
        assert p[0] == 1
        assert all(a > b > 0 for a, b in pairwise(p))


@pytest.mark.parametrize("n", [600, 900, 2_000])
def test_the_law_of_many_rows_goes_on_from_that_of_fewer(n):
    """Above 600 rows the law is that of every so many-th of them, at the same share of the window."""
    law = mean_law(Dependence.of(n, horizon=n // 20))
    few = mean_law(Dependence.of(400, horizon=20))
    assert law.pvalue(2.0) == pytest.approx(few.pvalue(2.0), rel=0.02)


def test_intervals_go_as_far_as_p_values_say():
    for law in (mean_law(Dependence.of(100, horizon=8)), mean_law(Dependence.of(40, clusters=np.arange(40) // 4))):
        for level in (0.5, 0.95, 0.999):
            assert law.pvalue(law.quantile(level)) == pytest.approx(1 - level, rel=1e-4)
    assert mean_law(Dependence.of(30, horizon=3)[np.array([4])]).quantile(0.95) == np.inf


def test_what_results_say():
    assert "Diebold-Mariano" in mean_law(Dependence.of(200, horizon=8)).notes[0]
    few = mean_law(Dependence.of(40, horizon=8, series=np.arange(40) % 2)).notes
    assert "about 5" in few[1]
    assert "2 series are taken as independent" in few[2]
    assert "few clusters" in mean_law(Dependence.of(12, clusters=np.arange(12) // 2)).notes[1]
    assert len(mean_law(Dependence.of(60, clusters=np.arange(60) // 2)).notes) == 1


@pytest.mark.slow
def test_shares_of_equal_models_that_the_documents_tell():
    """Differences that are means of h shocks; a variance below 0 rejects in the test as it was published."""
    for n, h, normal, own in ((200, 8, 0.12, 0.075), (200, 24, 0.19, 0.097), (400, 24, 0.13, 0.082)):
        shocks = np.cumsum(np.random.default_rng(4).normal(size=(2_000, n + h)), axis=1)
        d = shocks[:, h:] - shocks[:, :-h]
        e, total, law = d - d.mean(axis=1, keepdims=True), d.sum(axis=1), mean_law(Dependence.of(n, horizon=h))
        products = np.stack([(e[:, : n - k] * e[:, k:]).sum(axis=1) * (2 if k else 1) for k in range(law.window)])
        t = np.abs(total) / np.sqrt((1 - np.arange(law.window) / law.window) @ products)
        assert np.mean(t > norm.isf(0.025)) == pytest.approx(normal, abs=0.025)
        assert np.mean(t > law.quantile(0.95)) == pytest.approx(own, abs=0.02)
        if (n, h) == (200, 24):
            with np.errstate(invalid="ignore"):
                t = np.abs(total) / np.sqrt(products[:h].sum(axis=0))  # Diebold and Mariano
            shorter = np.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n)  # Harvey, Leybourne and Newbold
            assert np.mean(~(t <= norm.isf(0.025))) == pytest.approx(0.15, abs=0.025)
            assert np.mean(~(t * shorter <= student.isf(0.025, n - 1))) == pytest.approx(0.11, abs=0.025)
