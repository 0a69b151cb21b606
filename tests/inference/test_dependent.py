"""Tests of rows that depend on each other: pieces against loops, level by simulation, what is refused."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.dependence import Dependence, Scores, less_error, shared_correlation
from kernelcal.inference.cluster_sums import ClusterSums, flipped_values
from kernelcal.inference.laws import dependent
from kernelcal.inference.laws.dependent import effective_clusters
from kernelcal.inference.laws.ranking import merged_pvalue, ranks


def overlapping(rng, n, h, phi=0.9):
    """Outcomes of an AR(1), and its law h steps ahead."""
    noise, x = rng.normal(size=n + 100), np.zeros(n + 100)
    for t in range(1, len(x)):
        x[t] = phi * x[t - 1] + noise[t]
    t = np.arange(100, 100 + n)
    return x[t], phi**h * x[t - h], np.sqrt((phi ** (2 * np.arange(h))).sum())


def in_clusters(rng, clusters, size, rho):
    of = np.repeat(np.arange(clusters), size)
    g = np.sqrt(rho) * rng.normal(size=clusters)[of] + np.sqrt(1 - rho) * rng.normal(size=len(of))
    p = norm.cdf(rng.normal(size=clusters)[of] / 2 + rng.normal(size=len(of)))
    return (g > norm.isf(p)).astype(int), p, of


def test_flipped_signs_are_near_all_of_them():
    sums = np.random.default_rng(0).normal(size=(9, 2)) + 0.4
    every = np.array(list(itertools.product([1, -1], repeat=9)))
    values = np.abs(every @ (sums / np.sqrt((sums**2).sum(axis=0))))
    rank = np.array([[(values[:, k] >= values[a, k] - 1e-12).sum() for k in range(2)] for a in range(len(every))])
    smallest = rank.min(axis=1)
    wanted = np.mean(smallest <= smallest[0])
    drawn = flipped_values(sums, 9_999, 0).values
    assert merged_pvalue(drawn, ranks(drawn)) == pytest.approx(wanted, abs=0.02)


def test_sums_of_clusters_are_those_of_loops():
    rng = np.random.default_rng(1)
    y, p, of = in_clusters(rng, 6, 4, 0.3)
    weights = rng.uniform(0.5, 2, len(y))
    case = Case.of(y, p, clusters=of, weights=weights)
    found = ClusterSums(Scores.of(case.predictions), case, case.rows)
    x = np.log(p / (1 - p))
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    x = np.clip((x - middle) / (high - low) * 1.349, -6, 6)
    columns = [np.ones(len(x)), x - x.mean()]
    wanted, sums = [], np.zeros((6, 2))
    for k, c in enumerate(columns):
        each = [case.weights[i] * (y[i] - p[i]) / np.sqrt(p[i] * (1 - p[i])) * c[i] for i in range(len(y))]
        left = [each[i] - case.weights[i] / case.weights.sum() * sum(each) for i in range(len(y))]
        groups = [np.flatnonzero(of == g) for g in range(6)]
        sums[:, k] = [sum(each[i] for i in group) for group in groups]
        wanted.append(sum(sum(left[i] for i in group) ** 2 for group in groups) / sum(x**2 for x in left))
    np.testing.assert_allclose(found.of(y[None])[0], sums, atol=1e-12)
    np.testing.assert_allclose(found.values(y[None])[0], wanted)


def test_weights_leave_sums_of_widths_without_bias():
    """A row of weight w has the mean 0, whatever w: with ``w^2 e^2 - 1`` flipped signs would reject weights."""
    rng = np.random.default_rng(2)
    case = Case.of(rng.normal(size=60), kc.Normal(np.zeros(60), np.ones(60)), clusters=np.arange(60) // 3)
    case = replace(case, weights=rng.uniform(0, 2, 60))
    found = ClusterSums(Scores.of(case.predictions), case, case.rows)
    means = found.of(rng.normal(size=(4_000, 60))).sum(axis=1).mean(axis=0)
    assert np.abs(means).max() < 5 * np.sqrt(2 * (case.weights**2).sum() / 4_000)
    columns = found.of(np.full((1, 60), 2.0))[0]
    np.testing.assert_allclose(columns[:, 1], 3 * np.bincount(case.rows.clusters, case.weights))


@pytest.mark.slow
def test_an_error_that_all_clusters_have_is_no_difference_between_them():
    """The gate is for clusters that differ: it opened for slopes, and their test lost a quarter of its power."""
    opened = 0
    for number in range(20):
        rng = np.random.default_rng([8, number])
        p = 1 / (1 + np.exp(-2.5 * rng.normal(size=200)))
        true = p**0.6 / (p**0.6 + (1 - p) ** 0.6)
        found = kc.calibration_test(rng.random(200) < true, p, clusters=np.arange(200) // 10, draws=99)
        opened += any("differ by more than a common shift" in note for note in found.notes)
    assert opened <= 6  # of which 2 are expected where clusters have one shared part


def along_time(n, h, seed):
    rng = np.random.default_rng(seed)
    return np.convolve(rng.normal(size=n + h - 1), np.full(h, h**-0.5), "valid")


def test_errors_beyond_what_chance_explains_are_not_taken_for_dependence():
    rows, by = Dependence.of(200, horizon=8), np.ones((200, 1))
    e = along_time(200, 8, 3)
    e -= e.mean()
    parts = [sum(e[i] * e[j] for j in range(200) if abs(i - j) < 8) for i in range(200)]
    error = np.sqrt(max(sum(parts) / (1 - 15 / 200) / 200, (e**2).mean()) / 200)
    for mean in (0.5, 1.9, 3.5):
        left = less_error(e + mean * error, by, rows)
        np.testing.assert_allclose(left, e + min(mean, 2.0) * error, atol=1e-9)
    few = less_error(e[:40] - e[:40].mean() + 9, by[:40], Dependence.of(40, horizon=8))
    assert few.mean() > less_error(e[:40] - e[:40].mean() + 9, by[:40], Dependence.of(40, horizon=2)).mean() > 0


def test_effective_clusters_are_those_of_loops():
    of, rho = np.array([0, 0, 0, 1, 2, 2]), 0.4
    v = np.array([0.1, 0.2, 0.25, 0.2, 0.1, 0.05])
    sums = [
        sum(v[i] if i == j else rho * np.sqrt(v[i] * v[j]) for i in rows for j in rows)
        for rows in (np.flatnonzero(of == g) for g in range(3))
    ]
    found = effective_clusters(Dependence.of(6, clusters=of), rho, v)
    assert found == pytest.approx(sum(sums) ** 2 / sum(s**2 for s in sums))
    assert effective_clusters(Dependence.of(6, clusters=[0, 0, 1, 1, 2, 2]), 0.7, np.ones(6)) == pytest.approx(3)


def test_one_step_forecasts_are_tested_as_they_are():
    y, mean, sd = overlapping(np.random.default_rng(2), 150, 1)
    plain = kc.calibration_test(y, kc.Normal(mean, sd))
    said = kc.calibration_test(y, kc.Normal(mean, sd), horizon=1)
    assert said.pvalue == plain.pvalue
    assert "valid for one-step forecasts" in said.null
    assert "exact" not in said.null


@pytest.mark.slow
def test_overlapping_forecasts_are_redrawn_and_thinned():
    y, mean, sd = overlapping(np.random.default_rng(3), 200, 8)
    batch = kc.Normal(mean, sd)
    naive, said = kc.calibration_test(y, batch), kc.calibration_test(y, batch, horizon=8)
    assert naive.pvalue < 0.01 < 0.2 < said.pvalue
    assert "dependent up to 7 steps" in said.null
    parts = [kc.calibration_test(y[k::8], batch[np.arange(k, 200, 8)], early_stopping=False).pvalue for k in range(8)]
    (note,) = (note for note in said.notes if note.startswith("whatever the dependence inside 8 steps: p = "))
    assert float(note.split("p = ")[1].split(" ")[0]) == pytest.approx(min(1, 8 * min(parts)), abs=0.1)


@pytest.mark.slow
def test_order_of_rows_is_that_of_time():
    rng = np.random.default_rng(4)
    y, mean, sd = overlapping(rng, 200, 8)
    order = rng.permutation(200)
    said = kc.calibration_test(y[order], kc.Normal(mean[order], sd), horizon=8, time=np.arange(200)[order])
    assert said.pvalue == pytest.approx(kc.calibration_test(y, kc.Normal(mean, sd), horizon=8).pvalue, abs=1e-9)


@pytest.mark.parametrize("wrong", ["classes", "draws", "vectors", "density"])
def test_what_cannot_be_redrawn_is_thinned(wrong):
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 120)
    x = rng.normal(size=(120, 2))
    y, batch = {
        "classes": ((p.cumsum(axis=1) < rng.random((120, 1))).sum(axis=1), p),
        "draws": (x[:, 0], kc.Samples(rng.normal(size=(120, 9)))),
        "vectors": (x, kc.MultivariateNormal.diagonal(np.zeros((120, 2)), np.ones((120, 2)))),
        "density": (x[:, 0], kc.Score(lambda y, m: m - y, parameters=(np.zeros(120),))),
    }[wrong]
    result = kc.calibration_test(y, batch, horizon=3)
    assert any("the p-value is that whatever the dependence inside 3 steps" in note for note in result.notes)
    assert result.null.startswith("every third row by itself, 3 times the smallest p-value (")
    assert "exact" not in result.null
    assert result.pvalue > 0.02
    one_step = kc.calibration_test(y, batch, horizon=1)
    assert one_step.null.endswith(", valid for one-step forecasts")
    assert one_step.null.startswith({"draws": "the outcome swapped", "density": "wild"}.get(wrong, "targets redrawn"))
    assert not any("null='swap' holds" in note for note in (*result.notes, *one_step.notes))


def test_clusters_say_what_they_count_like():
    y, p, of = in_clusters(np.random.default_rng(12), 30, 10, 0.3)
    result = kc.calibration_test(y, p, clusters=of)
    assert result.pvalue > 0.05
    assert "dependent inside 30 clusters" in result.null
    (counted,) = (note for note in result.notes if "they count like" in note)
    assert 25 <= int(counted.split("count like ")[1].split(" ")[0]) <= 30
    assert any("flipped signs of clusters" in note for note in result.notes)


def test_clusters_with_slopes_of_their_own_are_not_rejected_for_them():
    """Each row has its law, and no shared part explains how clusters differ: flipped signs decide."""
    rng = np.random.default_rng(4)
    of, x = np.repeat(np.arange(20), 15), rng.normal(size=300)
    y = x + rng.normal(size=20)[of] * x + rng.normal(size=300)
    result = kc.calibration_test(y, kc.Normal(x, np.sqrt(1 + x**2)), clusters=of)
    (note,) = (note for note in result.notes if "not below that of flipped signs" in note)
    above = [np.mean(result.null_draws[member.name] >= member.value) for member in result.members]
    assert min(above) < 0.01  # what the redrawn targets say
    assert min(member.pvalue for member in result.members) >= result.pvalue  # no member says more than the test
    assert result.pvalue == pytest.approx(float(note.rsplit(" ", 1)[1]), abs=5e-4)
    assert result.pvalue > 0.3


def test_the_correlation_of_clusters_is_raised_by_its_error(monkeypatch):
    seen = []
    plain = dependent.SharedPart
    monkeypatch.setattr(dependent, "SharedPart", lambda rows, rho: seen.append(rho) or plain(rows, rho))
    y, p, of = in_clusters(np.random.default_rng(12), 25, 10, 0.3)
    case = Case.of(y, p, clusters=of)
    scores = Scores.of(case.predictions)
    kc.calibration_test(y, p, clusters=of, draws=99)
    assert seen == [pytest.approx(1.2 * shared_correlation(scores, scores(case.targets), case.rows))]


@pytest.mark.slow
def test_errors_are_seen_in_dependent_rows():
    rng = np.random.default_rng(7)
    y, p, of = in_clusters(rng, 40, 10, 0.1)
    steep = norm.cdf(2 * norm.ppf(p))
    assert kc.calibration_test(y, steep, clusters=of).pvalue < 0.01
    y, mean, sd = overlapping(rng, 400, 4)
    assert kc.calibration_test(y, kc.Normal(mean + 1.5 * sd, sd), horizon=4).pvalue < 0.01


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"clusters": [0, 1] * 20, "null": "exact"}, "null= is for independent rows"),
        ({"clusters": [0, 1] * 20}, "clusters count like 2.0 of equal size"),
        ({"horizon": 25}, "leave 1 without overlap, and at least 3 are needed"),
    ],
)
def test_what_does_not_go_together_is_refused(options, words):
    rng = np.random.default_rng(8)
    mean = rng.normal(size=40)
    with pytest.raises(kc.InputError, match=words):
        kc.calibration_test(mean + rng.normal(size=40), kc.Normal(mean, 1.0), **options)


def what_cannot_be_redrawn(wrong, rng, n):
    p = rng.dirichlet([1, 1, 1], n)
    x = rng.normal(size=(n, 2))
    return {
        "classes": ((p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), p),
        "draws": (x[:, 0], kc.Samples(rng.normal(size=(n, 9)))),
        "vectors": (x, kc.MultivariateNormal.diagonal(np.zeros((n, 2)), np.ones((n, 2)))),
        "density": (x[:, 0], kc.Score(lambda y, m: m - y, parameters=(np.zeros(n),))),
    }[wrong]


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("wrong", ["classes", "draws", "vectors", "density"])
def test_clusters_of_what_cannot_be_redrawn_are_thinned(wrong):
    y, batch = what_cannot_be_redrawn(wrong, np.random.default_rng(9), 100)
    of = np.repeat(np.arange(20), 5)
    result = kc.calibration_test(y, batch, clusters=of, early_stopping=False)
    assert result.null.startswith("at most one row a cluster, 5 times the smallest p-value of as many sets (")
    assert "exact" not in result.null
    (note,) = (note for note in result.notes if "whatever the dependence inside clusters" in note)
    assert "5 times the smallest p-value of 5 sets of rows, no two of one cluster)" in note
    assert 0.02 < result.pvalue <= 1
    case = Case.of(y, batch, clusters=of)
    parts = [
        kc.calibration_test(y[rows], case.predictions[rows], early_stopping=False).pvalue for rows in case.rows.thinned
    ]
    assert result.pvalue == pytest.approx(min(1, 5 * min(parts)), abs=0.15)


def test_thinned_clusters_of_unequal_sizes_say_what_is_left_out():
    rng = np.random.default_rng(10)
    of = np.concatenate([np.zeros(40, int), np.repeat(np.arange(1, 41), 2)])
    y, p = what_cannot_be_redrawn("classes", rng, len(of))
    result = kc.calibration_test(y, p, clusters=of)
    assert any("2 sets of rows, no two of one cluster; 38 of 120 rows, of larger clusters" in n for n in result.notes)
    few = np.repeat([0, 1], [3, 5])
    with pytest.raises(kc.InputError, match=r"at least 3 are needed: ask one question, lens=kernelcal.TopLabel\(\)"):
        kc.calibration_test(y[:8], p[:8], clusters=few)


def test_questions_about_classes_in_clusters_are_redrawn():
    y, p = what_cannot_be_redrawn("classes", np.random.default_rng(9), 100)
    of = np.repeat(np.arange(20), 5)
    assert kc.calibration_test(y, p, clusters=of, lens=kc.TopLabel()).pvalue > 0.01
    assert kc.calibration_test(y, p, clusters=of, lens=kc.ClassWise()).pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("unequal", [False, True])
def test_thinned_clusters_hold_their_level(unequal):
    rng, sets, rejected = np.random.default_rng(12), 60, 0
    for _ in range(sets):
        of = np.repeat(np.arange(25), 1 + rng.geometric(0.2, 25) if unequal else 6)
        shared, p = rng.normal(size=25)[of], rng.dirichlet([1, 1, 1], len(of))
        u = norm.cdf(0.9 * shared + np.sqrt(1 - 0.81) * rng.normal(size=len(of)))
        y = (u[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
        rejected += kc.calibration_test(y, p, clusters=of, draws=99).pvalue <= 0.05
    assert rejected <= binom.ppf(0.999, sets, 0.05)


def test_members_of_thinned_rows_are_multiplied_too():
    """What one set of rows says was chosen as the least of h."""
    rng = np.random.default_rng(11)
    p = rng.dirichlet([1, 1, 1], 120)
    y = (p.cumsum(axis=1) < rng.random((120, 1))).sum(axis=1)
    found = kc.calibration_test(y, p, horizon=3, draws=199, early_stopping=False)
    for pvalue in (found.pvalue, *(member.pvalue for member in found.members)):
        rank = 200 * pvalue / 3
        assert pvalue == 1 or rank == pytest.approx(round(rank))


@pytest.mark.parametrize("said", [{"horizon": 3}, {"clusters": np.repeat(np.arange(12), 5)}])
def test_predictions_that_are_certain_and_right_are_calibrated(said):
    y = np.arange(60) % 2
    assert kc.calibration_test(y, y.astype(float), **said).pvalue == 1
    assert kc.calibration_test(1 - y, y.astype(float), **said).pvalue < 0.02


def _bound(sets, level):
    return binom.ppf(0.9995, sets, level)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "h"), [(100, 8), (400, 2)])
def test_level_of_overlapping_forecasts(n, h):
    sets, rejected = 150, 0
    for seed in range(sets):
        y, mean, sd = overlapping(np.random.default_rng([10, seed]), n, h)
        rejected += kc.calibration_test(y, kc.Normal(mean, sd), horizon=h, draws=199).pvalue <= 0.05
    assert rejected <= _bound(sets, 0.075)


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size", "rho"), [(20, 10, 0.3), (30, 10, 0.6)])
def test_level_in_clusters(clusters, size, rho):
    sets, rejected = 150, 0
    for seed in range(sets):
        y, p, of = in_clusters(np.random.default_rng([11, seed]), clusters, size, rho)
        rejected += kc.calibration_test(y, p, clusters=of, draws=199).pvalue <= 0.05
    assert rejected <= _bound(sets, 0.075)
