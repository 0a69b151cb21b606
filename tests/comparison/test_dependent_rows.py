"""Comparison of models on rows that depend on each other: every figure against what computes it, level, refusals."""

import numpy as np
import pytest
from scipy.stats import binom, norm

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.dependence import Dependence, mean_law
from kernelcal.errors import InputError
from kernelcal.inference import equivalence_test
from kernelcal.statistics import log_score_rows, weighted_interval_score_rows

DRAWS = {"draws": 99}


def along_time(rng, n, h, phi=0.9):
    """Two models of events that err by as much, each in its own way that lasts; errors h steps long."""
    x, first, second = np.zeros((3, n + 50))
    for t in range(1, n + 50):
        for path in (x, first, second):
            path[t] = phi * path[t - 1] + np.sqrt(1 - phi**2) * rng.normal()
    g = np.convolve(rng.normal(size=n + h - 1), np.full(h, h**-0.5), "valid")
    seen = x[50:], first[50:], second[50:]
    return (g < seen[0]).astype(int), {"a": norm.cdf(seen[0] + 0.5 * seen[1]), "b": norm.cdf(seen[0] + 0.5 * seen[2])}


def in_clusters(rng, clusters=15, size=6):
    of = np.repeat(np.arange(clusters), size)
    x = rng.normal(size=(4, clusters))[:, of] * 0.7 + rng.normal(size=(4, len(of))) * 0.7
    return (x[0] < x[1]).astype(int), {"a": norm.cdf(x[1] + 0.5 * x[2]), "b": norm.cdf(x[1] + 0.5 * x[3])}, of


@pytest.fixture(scope="module")
def found():
    y, models = along_time(np.random.default_rng(0), 120, 6)
    return y, models, kc.compare(y, models, horizon=6, within=0.3, **DRAWS)


def test_every_figure_of_a_model_is_that_of_its_own_function(found):
    y, models, result = found
    for name, p in models.items():
        own, alone = result[name], kc.evaluate(y, p, horizon=6, **DRAWS)
        assert own.evaluation.pvalue == alone.pvalue
        assert own.evaluation.test.null == "targets redrawn from the predictions, dependent up to 5 steps"
        interval = kc.confidence_interval(y, p, statistic=result.ckce, horizon=6, pvalue=alone.pvalue, **DRAWS)
        assert (own.ckce.lower, own.ckce.upper) == pytest.approx((interval.lower, interval.upper), rel=1e-9)
        within = equivalence_test(y, p, within=0.3, statistic=result.skce, horizon=6)
        assert own.equivalence.pvalue == pytest.approx(within.pvalue, rel=1e-9)
        assert own.equivalence.method == within.method


def test_differences_of_scores_are_those_of_fixed_b(found):
    y, models, result = found
    d = result.differences[-1]
    assert d.measure == "log score"
    rows = log_score_rows(y, models[d.first]) - log_score_rows(y, models[d.second])
    law = mean_law(Dependence.of(120, horizon=6))
    assert d.difference == pytest.approx(rows.mean(), rel=1e-9)
    assert law.error(rows) <= d.standard_error < 1.2 * law.error(rows)  # two surprises are allowed for
    assert d.pvalue == pytest.approx(law.pvalue(abs(d.difference) / d.standard_error), rel=1e-6)
    assert d.pvalue > kc.compare(y, models, **DRAWS).difference("log score", d.first, d.second).pvalue


def test_differences_of_the_skce_leave_out_rows_that_overlap(found):
    y, models, result = found
    d = result.difference("SKCE", "a", "b")
    far = np.abs(np.subtract.outer(np.arange(120), np.arange(120))) >= 6
    values = [
        result.skce.prepare(case.predictions).matrix(case.targets).dense()[far].mean()
        for case in (Case.of(y, p) for p in models.values())
    ]
    assert d.difference == pytest.approx(values[0] - values[1], rel=1e-9)


def test_results_say_what_was_done(found):
    _, _, result = found
    text = str(result)
    assert "Diebold-Mariano" in text
    assert "exact" not in text.split("note")[0]
    assert "differences of the SKCE leave out pairs of rows less than 6 steps apart" in result.notes
    assert result.to_dict()["differences"][0]["pvalue"] > 0
    assert result.law.quantile(0.95) > norm.isf(0.025)


def test_clusters_of_models():
    y, models, of = in_clusters(np.random.default_rng(1))
    result = kc.compare(y, models, clusters=[f"patient {k}" for k in of], **DRAWS)
    rows = log_score_rows(y, models["a"]) - log_score_rows(y, models["b"])
    sums = np.bincount(of, rows - rows.mean())
    own = np.sqrt(15 / 14 * (sums**2).sum()) / 90
    assert own <= result.difference("log score", "a", "b").standard_error < 1.3 * own
    assert "differences of models: standard errors by sums over 15 clusters, p-values by their t law" in result.notes
    shuffled = np.random.default_rng(2).permutation(90)
    again = kc.compare(y[shuffled], {k: p[shuffled] for k, p in models.items()}, clusters=of[shuffled], **DRAWS)
    for measure in ("CKCE", "SKCE", "log score"):
        one, two = (r.difference(measure, "a", "b") for r in (result, again))
        assert two.difference == pytest.approx(one.difference, rel=1e-6, abs=1e-12), measure


def test_order_of_rows_is_that_of_time():
    y, models = along_time(np.random.default_rng(3), 80, 4)
    plain = kc.compare(y, models, horizon=4, **DRAWS).difference("log score", "a", "b")
    mixed = np.random.default_rng(4).permutation(80)
    days = np.datetime64("2026-01-01") + np.arange(80)
    again = kc.compare(y[mixed], {k: p[mixed] for k, p in models.items()}, horizon=4, time=days[mixed], **DRAWS)
    assert again.difference("log score", "a", "b").pvalue == pytest.approx(plain.pvalue, rel=1e-9)
    series = kc.compare(y, models, horizon=4, series=np.arange(80) % 2, **DRAWS)
    assert any("2 series are taken as independent" in note for note in series.notes)


def test_quantile_forecasts_with_ties_have_errors_along_time():
    rng = np.random.default_rng(5)
    x, levels = rng.normal(size=60), [0.1, 0.5, 0.9]
    y = x + np.convolve(rng.normal(size=63), np.full(4, 0.5), "valid")
    models = {name: kc.Quantiles(x[:, None] + w * norm.ppf(levels), levels) for name, w in (("a", 1.0), ("b", 1.5))}
    y[0] = models["a"].values[0, 1]
    result = kc.compare(y, models, horizon=4, **DRAWS)
    law = mean_law(Dependence.of(60, horizon=4))
    for (name, _), error in zip(result.models, result.errors, strict=True):
        assert error == pytest.approx(law.error(weighted_interval_score_rows(y, models[name])), rel=1e-9)
    assert "Diebold-Mariano" in result.notes[1]
    assert "exact" not in str(result).split("note")[0]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"clusters": np.arange(40) // 10}, "4 clusters count like"),
        ({"clusters": np.zeros(40)}, "all 40 rows have one label"),
        ({"horizon": 40}, "no two forecasts are apart"),
        ({"horizon": 3, "clusters": np.arange(40) // 2}, "give one of the two"),
        ({"series": np.arange(40) % 2}, "say horizon= too"),
    ],
)
def test_what_cannot_be_had_is_refused(said, words):
    p = np.random.default_rng(6).uniform(0.1, 0.9, 40)
    y = (np.random.default_rng(7).random(40) < p).astype(int)
    with pytest.raises(InputError, match=words):
        kc.compare(y, {"a": p, "b": p**2}, **said, **DRAWS)


def test_many_models_over_blocks_are_refused(monkeypatch):
    import importlib

    figures = importlib.import_module("kernelcal.comparison.main")
    y, models = along_time(np.random.default_rng(8), 60, 3)
    blocks = kc.SKCE(estimator="block", block_size=10, prediction_kernel=kc.Laplacian(0.3))
    monkeypatch.setattr(figures, "pairs_or_blocks", lambda batches, skce: blocks)
    with pytest.raises(InputError, match="every second cluster or every k-th time"):
        kc.compare(y, models, horizon=3, **DRAWS)


@pytest.mark.slow
def test_level_of_scores_along_time():
    sets, law, rejected, naive = 300, mean_law(Dependence.of(200, horizon=8)), 0, 0
    for number in range(sets):
        y, models = along_time(np.random.default_rng([9, number]), 200, 8)
        rows = log_score_rows(y, models["a"]) - log_score_rows(y, models["b"])
        rejected += law.pvalue(abs(rows.mean()) / law.error(rows)) <= 0.05
        naive += abs(rows.mean()) > 1.97 * rows.std(ddof=1) / np.sqrt(200)
    assert rejected <= binom.ppf(0.999, sets, 0.075)
    assert naive > binom.ppf(0.999, sets, 0.15)
