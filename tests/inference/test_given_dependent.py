"""Columns that are given, of rows that depend on each other: the same coupled draws, flipped signs, levels."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.covariates import Covariates
from kernelcal.inference.laws import exact
from kernelcal.inference.test import DefaultFamily, law_of, tested as answer_of
from kernelcal.inference.test.place_family import FamilyOfPlaces, FlippedPlaces
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics.covariates import PreparedPlaces, scores_of


def in_clusters(rng, clusters, size, rho):
    of = np.repeat(np.arange(clusters), size)
    g = np.sqrt(rho) * rng.normal(size=clusters)[of] + np.sqrt(1 - rho) * rng.normal(size=len(of))
    return g, rng.normal(size=len(of)), of


def calibration_of(case, run):
    return answer_of(case, DefaultFamily(), law_of(case, DefaultFamily()), run)


def moving(rng, n, h):
    e = rng.normal(size=n + h)
    return np.convolve(e, np.ones(h), "valid")[:n] / np.sqrt(h)


def columns(rng, n, of=None):
    trait = rng.normal(size=n).cumsum() if of is None else rng.normal(size=of.max() + 1)[of]
    return {"age": rng.normal(size=n), "site": rng.choice(["a", "b"], n), "trait": trait}


QUICK = (  # every kind, and every dependence with two of them or more
    ("numbers", "clusters"),
    ("events", "clusters"),
    ("events", "one step"),
    ("events", "four steps"),
    ("counts", "one step"),
    ("quantiles", "clusters"),
)


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (kind, how) if (kind, how) in QUICK else pytest.param(kind, how, marks=pytest.mark.slow)
        for kind in ("numbers", "events", "counts", "quantiles")
        for how in ("clusters", "one step", "four steps")
    ],
)
def test_columns_join_the_test_of_dependent_rows(how, kind):
    rng = np.random.default_rng(1)
    g, mean, of = in_clusters(rng, 30, 4, 0.3)
    u, levels = ndtr(g), np.array([0.1, 0.5, 0.9])
    y, batch = {
        "numbers": (mean + g, kc.Normal(mean, 1.0)),
        "events": ((u > 1 - ndtr(mean)).astype(int), ndtr(mean)),
        "counts": (kc.Poisson(np.exp(mean)).quantile(u), kc.Poisson(np.exp(mean))),
        "quantiles": (mean + g, kc.Quantiles(mean[:, None] + ndtri(levels), levels)),
    }[kind]
    rows = {"clusters": {"clusters": of}, "one step": {"horizon": 1}, "four steps": {"horizon": 4}}[how]
    given = columns(rng, 120, of)
    result = kc.calibration_test(y, batch, given=given, draws=99, early_stopping=False, **rows)
    law = {"clusters": "dependent inside 30 clusters", "one step": "valid for one-step forecasts"}
    assert result.given.law == law.get(how, "dependent up to 3 steps")
    assert "p-values are exact" not in result.given.summary()
    assert result.given.to_dict()["law"] == result.given.law
    evaluated = kc.evaluate(y, batch, given=given, draws=99, early_stopping=False, **rows)
    assert evaluated.pvalue == result.pvalue
    assert [f.pvalue for f in evaluated.test.given.findings] == [f.pvalue for f in result.given.findings]
    explained = kc.explain(y, batch, given=given, draws=99, **rows)
    assert explained.given.pvalue == result.given.pvalue


@pytest.mark.slow
def test_values_that_were_not_kept_are_made_again_from_the_same_draws(monkeypatch):
    rng = np.random.default_rng(2)
    g, mean, of = in_clusters(rng, 30, 4, 0.3)
    for rows in ({"clusters": of}, {"horizon": 4}):
        options = {"given": columns(np.random.default_rng(3), 120, of), "draws": 99, "early_stopping": False, **rows}
        kept = kc.calibration_test(mean + g, kc.Normal(mean, 1.0), **options)
        with monkeypatch.context() as patch:
            patch.setattr(exact, "_KEPT", 0)
            again = kc.calibration_test(mean + g, kc.Normal(mean, 1.0), **options)
        assert not again.null_draws
        assert [f.pvalue for f in again.given.findings] == [f.pvalue for f in kept.given.findings]
        assert again.given.pvalue == kept.given.pvalue


@pytest.mark.parametrize(
    ("kind", "words"),
    [("classes", "OneClass"), ("draws", "keep one row a cluster, or every h-th row"), ("vectors", "coordinate")],
)
@pytest.mark.parametrize("rows", [{"horizon": 3}, {"clusters": np.arange(60) // 3}])
def test_outcomes_that_are_not_redrawn_are_refused_with_a_way_out(kind, words, rows):
    rng = np.random.default_rng(4)
    y, batch = {
        "classes": (rng.integers(0, 3, 60), rng.dirichlet([1, 1, 1], 60)),
        "draws": (rng.normal(size=60), kc.Samples(rng.normal(size=(60, 9)))),
        "vectors": (rng.normal(size=(60, 2)), kc.DiagonalNormal(np.zeros((60, 2)), np.ones((60, 2)))),
    }[kind]
    for test in (kc.calibration_test, kc.evaluate, kc.explain):
        with pytest.raises(kc.InputError, match="given= needs outcomes that are redrawn with as much dependence") as e:
            test(y, batch, given=rng.normal(size=60), draws=99, **rows)
        assert words in str(e.value)
    assert kc.calibration_test(y, batch, given=rng.normal(size=60), draws=99, horizon=1).given.law.startswith("valid")


def test_sums_under_flipped_signs_by_loops():
    rng = np.random.default_rng(5)
    g, mean, of = in_clusters(rng, 10, 4, 0.3)
    p = ndtr(mean)
    case = Case.of((g > ndtri(1 - p)).astype(int), p).in_numpy
    places = PreparedPlaces(Covariates.of({"x": rng.normal(size=40)}, 40), scores_of(case.predictions))
    signs = np.concatenate([np.ones((1, 10)), rng.choice([-1.0, 1.0], size=(5, 10))])
    found, residual = places.flipped(case.targets, of, signs), case.targets - p
    _, roots = places.by_cluster(case.targets, of)
    for b in range(6):
        sums = []
        for k, place in enumerate(places.places):
            w = np.ones(len(place.rows)) if place.trend is None else place.trend[place.rows]
            by = np.zeros(10)
            for i, row in enumerate(place.rows):
                by[of[row]] += w[i] * residual[row]
            variance = sum(w[i] ** 2 * p[row] * (1 - p[row]) for i, row in enumerate(place.rows))
            root = np.sqrt((by**2).sum())
            if places.looked_at[0, k]:
                assert roots[0, k] == pytest.approx(root / np.sqrt(variance))
                sums.append(abs(signs[b] @ by) / root)
        assert found[b, 0] == pytest.approx(max(sums))


def test_p_values_and_bands_of_flipped_places():
    rng = np.random.default_rng(6)
    sums = rng.normal(size=(2, 8, 3))
    sums /= np.sqrt((sums**2).sum(axis=1))[:, None]
    signs, roots = rng.choice([-1.0, 1.0], size=(99, 8)), rng.uniform(1, 2, size=(2, 3))
    values = np.abs(np.stack([signs @ one for one in sums]))  # (scores, draws, places)
    largest = np.stack([values[:, :, :2].max(axis=(0, 2)), values[:, :, 2].max(axis=0)], axis=1)
    places = FlippedPlaces(largest, sums, roots, 2)
    family, observed = FamilyOfPlaces(largest), np.abs(sums.sum(axis=1))
    found = places.pvalues(one_sided=False)
    np.testing.assert_array_equal(found[:, :2], family.pvalues(observed[:, :2].ravel(), 0).reshape(2, 2))
    np.testing.assert_array_equal(found[:, 2], family.pvalues(observed[:, 2], 1))
    np.testing.assert_allclose(places.critical(0.05), family.critical(0.05) * roots)


def test_places_of_clusters_that_differ_by_more_than_a_shift_take_the_larger_p_value():
    rng = np.random.default_rng(8)
    g, mean, of = in_clusters(rng, 60, 5, 0.0)
    slopes = rng.normal(size=60)[of]
    y = mean + (g + 2 * slopes * mean) / np.sqrt(1 + 4 * mean**2)
    case = Case.of(y, kc.Normal(mean, 1.0), given=columns(rng, 300, of), clusters=of).in_numpy
    found = calibration_of(case, Run(draws=199, early_stopping=False))
    assert any("flipped signs of clusters" in note and "differ" in note for note in found.notes)
    places = PreparedPlaces(case.given, scores_of(case.predictions))
    signs = generator_of(0, "signs of clusters").integers(0, 2, size=(199, 60)) * 2.0 - 1.0
    flips = FlippedPlaces(places.flipped(case.targets, of, signs), *places.by_cluster(case.targets, of), places.single)
    least, seen = flips.pvalues(one_sided=False), 0
    normal = places.normal(case.targets[None])[:, 0]
    for finding in found.given.findings:
        s, p = np.argwhere(normal == finding.score)[0]
        assert finding.pvalue >= least[s, p]
        seen += finding.pvalue == least[s, p] < 1
    assert seen
    assert found.given.pvalue >= least.min()


@pytest.mark.slow
def test_an_error_in_a_column_is_seen_in_dependent_rows():
    rng = np.random.default_rng(7)
    g, mean, of = in_clusters(rng, 60, 5, 0.2)
    given = columns(rng, 300, of)
    y = mean + g + np.where(given["age"] > 0, 1.2, -1.2)
    for rows in ({"clusters": of}, {"horizon": 3}):
        result = kc.calibration_test(y, kc.Normal(mean, 1.0), given=given, draws=199, **rows)
        assert result.pvalue < 0.02
        assert result.given.sentences[0].startswith("where age is low (up to -0.0385), outcomes are lower")


def _settings():
    for kind in ("numbers", "events"):
        yield kind, "clusters", lambda rng: in_clusters(rng, 40, 5, 0.5)
        yield kind, "many clusters", lambda rng: in_clusters(rng, 80, 3, 0.8)
        yield kind, "four steps", lambda rng: (moving(rng, 240, 4), rng.normal(size=240), None)
        yield kind, "eight steps", lambda rng: (moving(rng, 320, 8), rng.normal(size=320), None)


@pytest.mark.slow
@pytest.mark.slow_cases(4)
@pytest.mark.parametrize(("kind", "how", "make"), list(_settings()), ids=lambda x: x if isinstance(x, str) else "")
def test_level_given_columns(kind, how, make):
    sets, rejected, places = 60, 0, 0
    for seed in range(sets):
        rng = np.random.default_rng([30, seed])
        g, mean, of = make(rng)
        p = ndtr(mean)
        y, batch = (mean + g, kc.Normal(mean, 1.0)) if kind == "numbers" else ((g > ndtri(1 - p)).astype(int), p)
        rows = {"clusters": of} if of is not None else {"horizon": {"four steps": 4, "eight steps": 8}[how]}
        given = columns(rng, len(g), of)
        result = kc.calibration_test(y, batch, given=given, draws=99, rng=seed, early_stopping=False, **rows)
        rejected += result.pvalue <= 0.05
        places += bool(result.given.rejected)
    assert rejected <= binom.ppf(0.9995, sets, 0.075)
    assert places <= binom.ppf(0.9995, sets, 0.075)
