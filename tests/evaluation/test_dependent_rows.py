"""Evaluations, explanations and reports of rows that depend on each other, for every family."""

import numpy as np
import pytest
from scipy.stats import beta, norm, poisson, t

import kernelcal as kc
from kernelcal.inference import pit_test
from kernelcal.predictions import Score

N = 96
RNG = np.random.default_rng(4)
CLUSTERS = np.repeat(np.arange(24), 4)
G = np.sqrt(0.3) * RNG.normal(size=24)[CLUSTERS] + np.sqrt(0.7) * RNG.normal(size=N)
MEAN, P = RNG.normal(size=N), RNG.uniform(0.1, 0.9, N)
SEVERAL = RNG.dirichlet([1, 1, 1], N)
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
SUBJECTS = {
    "event": ((norm.ppf(1 - P) < G).astype(int), P),
    "classes": ((SEVERAL.cumsum(axis=1) < norm.cdf(G)[:, None]).sum(axis=1), SEVERAL),
    "normal": (MEAN + G, kc.Normal(MEAN, 1.0)),
    "counts": (poisson.ppf(norm.cdf(G), np.exp(MEAN)), kc.Poisson(np.exp(MEAN))),
    "ensemble": (MEAN + G, kc.Samples(MEAN[:, None] + RNG.normal(size=(N, 9)))),
    "quantiles": (MEAN + G, kc.Quantiles(MEAN[:, None] + norm.ppf(LEVELS), LEVELS)),
    "quantiles with ties": (np.round(MEAN + G), kc.Quantiles(np.round(MEAN[:, None] + norm.ppf(LEVELS)), LEVELS)),
    "vectors": (np.stack([G, RNG.normal(size=N)], axis=1), kc.DiagonalNormal(np.zeros((N, 2)), np.ones((N, 2)))),
    "score": (MEAN + G, Score(lambda y, a: a - y, MEAN)),
}
ROWS = {"clusters": {"clusters": CLUSTERS}, "one step": {"horizon": 1}, "four steps": {"horizon": 4}}
EVERY = [(name, how) for name in SUBJECTS for how in ROWS]
PAGES = [(name, list(ROWS)[k % 3]) for k, name in enumerate(SUBJECTS)]  # pages take seconds
INDEPENDENT = ("exact test", "independent of each other, given the predictions. Answers", "Clopper-Pearson for shares")


@pytest.mark.parametrize(("name", "how"), EVERY)
@pytest.mark.quick_cases(9)
def test_the_p_value_is_that_of_the_test_of_dependent_rows(name, how):
    y, predictions = SUBJECTS[name]
    test = kc.calibration_test(y, predictions, draws=99, **ROWS[how])
    found = kc.evaluate(y, predictions, draws=99, **ROWS[how])
    assert (found.pvalue, found.test.null) == (test.pvalue, test.null)
    words = {"clusters": ("inside 24 clusters", "one row a cluster"), "one step": ("valid for one-step forecasts",)}
    words["four steps"] = ("dependent up to 3 steps", "every 4th row by itself")
    assert any(word in found.verdict for word in words[how])
    assert "exact" not in found.verdict
    assert not any("deviate alike" in note for note in found.notes)  # who says how rows depend is not asked
    assert found.to_dict()["pvalue"] == test.pvalue


@pytest.mark.parametrize(("name", "how"), [pair for pair in EVERY if not pair[0].startswith("score")])
@pytest.mark.quick_cases(2)
def test_explanations_and_groups_of_every_family(name, how):
    y, predictions = SUBJECTS[name]
    groups = {"half": np.arange(N) < N / 2, "kind": np.arange(N) % 3}
    found = kc.explain(y, predictions, groups=groups, draws=99, **ROWS[how])
    assert found.by_group.law not in ("exact", "conservative")
    assert "exact" not in found.by_group.verdict + found.by_group.test_in_words
    assert all(0 < group.pvalue <= 1 and group.own_pvalue <= group.pvalue for group in found.groups)
    assert kc.evaluate(y, predictions, groups=groups, draws=99, **ROWS[how]).by_group.law == found.by_group.law
    if found.contributions is not None:
        assert found.contributions.sum() == pytest.approx(float(found.estimate), abs=1e-9)
    if found.classes:
        assert sum(part.contribution for part in found.classes) == pytest.approx(float(found.estimate), abs=1e-9)
    if found.witness is None and name not in ("quantiles with ties", "vectors"):
        assert how != "one step"
        assert any("no place is named" in note for note in found.notes)
    elif found.witness is not None:
        assert found.witness.law != "exact"
        assert "exact" not in found.summary()


@pytest.mark.parametrize(("name", "how"), PAGES)
@pytest.mark.usefixtures("unrendered")
@pytest.mark.quick_cases(2)
def test_reports_of_every_family(name, how):
    y, predictions = SUBJECTS[name]
    pytest.importorskip("jinja2")
    found = kc.report(y, predictions, draws=99, **ROWS[how])
    page = found.to_html()
    assert found.models[0].evaluation.pvalue == kc.evaluate(y, predictions, draws=99, **ROWS[how]).pvalue
    assert "Rows that depend on each other" in page
    assert INDEPENDENT[1] not in page
    assert (INDEPENDENT[2] in page) == (how == "one step")
    assert {"clusters": "clusters=clusters", "one step": "horizon=1", "four steps": "horizon=4"}[how] in page
    if how == "four steps":
        assert "whatever the dependence inside 4 steps: p =" in page.replace("Whatever", "whatever")


@pytest.mark.parametrize("name", ["normal", "counts", "quantiles", "ensemble"])
@pytest.mark.parametrize("how", ROWS)
@pytest.mark.quick_cases(1)
def test_the_test_of_pit_values_goes_through_the_same_law(name, how):
    y, predictions = SUBJECTS[name]
    found = pit_test(y, predictions, draws=99, **ROWS[how])
    assert kc.calibration_test(y, predictions, statistic="pit", draws=99, **ROWS[how]).pvalue == found.pvalue
    assert found.null.startswith("exact") == (how == "one step" and name in ("normal", "quantiles"))
    assert not any("assumed independent" in note for note in found.notes)
    if name != "quantiles":
        assert kc.evaluate(y, predictions, draws=99, **ROWS[how]).pit_pvalue == found.pvalue


def test_pit_values_of_coupled_draws_are_what_they_are_by_hand():
    """Anderson-Darling, Kuiper, bias and dispersion of the PIT values of coupled targets, computed otherwise."""
    from kernelcal.inference.test.pit import _Uniformity as Uniformity

    mean, sd = MEAN[:50], np.linspace(0.5, 2, 50)
    y = mean + sd * G[:50]
    prepared = Uniformity().prepare(kc.Normal(mean, sd))
    u = np.sort(norm.cdf((y - mean) / sd))
    i = np.arange(1, 51)
    anderson = -50 - np.mean((2 * i - 1) * (np.log(u) + np.log1p(-u[::-1])))
    kuiper = np.sqrt(50) * ((i / 50 - u).max() + (u - (i - 1) / 50).max())
    found = dict(zip(prepared.names, prepared.values(y[None])[0], strict=True))
    assert found["Anderson-Darling"] == pytest.approx(anderson)
    assert found["Kuiper"] == pytest.approx(kuiper)
    assert found["bias"] == pytest.approx(abs(norm.ppf(u).mean()))


def test_intervals_of_coverage_are_those_of_as_many_independent_rows_as_have_the_error_of_cluster_sums():
    y, predictions = SUBJECTS["normal"]
    found = kc.evaluate(y, predictions, draws=99, clusters=CLUSTERS).coverage[0]
    for k, level in enumerate(found.levels):
        inside = (np.abs(y - MEAN) <= norm.ppf(0.5 + level / 2)).astype(float)
        sums = np.array([(inside[c == CLUSTERS] - inside.mean()).sum() for c in range(24)])
        variance = 24 / 23 * (sums**2).sum() / N**2
        count = min(N, inside.mean() * (1 - inside.mean()) / variance) * (t.ppf(0.975, N - 1) / t.ppf(0.975, 23)) ** 2
        x = inside.mean() * count
        assert found.low[k] == pytest.approx(beta.ppf(0.025, x, count - x + 1))
        assert found.high[k] == pytest.approx(beta.ppf(0.975, x + 1, count - x))


def test_few_clusters_leave_out_the_interval_and_keep_the_test():
    y, predictions = SUBJECTS["classes"]
    few = np.arange(24) // 6
    found = kc.evaluate(y[:24], predictions[:24], draws=99, clusters=few)
    assert found.interval is None
    assert any("no interval of the kernel error" in note and "more clusters" in note for note in found.notes)
    assert found.pvalue == kc.calibration_test(y[:24], predictions[:24], draws=99, clusters=few).pvalue


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_several_models_on_one_page_are_each_tested_as_dependent_rows():
    y, p = SUBJECTS["event"]
    models = {"a": p, "b": p**2}
    pytest.importorskip("jinja2")
    page = kc.report(y, models, horizon=3, draws=99)
    for model in page.models:
        assert model.evaluation.pvalue == kc.calibration_test(y, models[model.name], horizon=3, draws=99).pvalue
        assert model.rows.horizon == 3
    assert INDEPENDENT[1] not in page.to_html()


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_errors_are_found_in_dependent_rows():
    y, _ = SUBJECTS["normal"]
    moved = kc.Normal(MEAN + 2.5, 1.0)
    for options in (ROWS["clusters"], ROWS["four steps"]):
        pytest.importorskip("jinja2")
        found = kc.report(y, moved, draws=99, groups=CLUSTERS % 2, **options)
        model = found.models[0]
        assert model.evaluation.rejected
        assert model.evaluation.by_group.rejected
        assert model.explanation.regions
        assert "rows are independent" not in " ".join(model.verdict.sentences)
        assert any("Intervals that should hold" in sentence for sentence in model.verdict.sentences)
