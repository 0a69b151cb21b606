"""Differences of models on dependent rows: against double loops, and against those of independent rows."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.dependence import Dependence
from kernelcal.inference.intervals import Along, PairedSurprises, ScoreSurprises, label_law, mean_difference
from kernelcal.pairs import joint_sums

_TIMES = np.repeat(np.sort(np.random.default_rng(2).choice(45, 20, replace=False)), 2)
SAID = {
    "horizon": {"horizon": 3},
    "series with gaps": {"horizon": 4, "series": np.arange(40) % 2, "time": _TIMES},
    "clusters": {"clusters": np.random.default_rng(0).integers(0, 12, 40)},
}


def data():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 40)
    return (rng.random(40) < p).astype(int), p, p**2 / (p**2 + (1 - p) ** 2)


def matrices(y, *models):
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3))
    cases = [Case.of(y, p) for p in models]
    return [statistic.prepare(case.predictions).matrix(case.targets) for case in cases], cases


@pytest.mark.parametrize("said", SAID)
def test_differences_of_pairs_leave_out_rows_that_depend(said):
    y, p, q = data()
    along = Along(Dependence.of(40, **SAID[said]))
    both, cases = matrices(y, p, q)
    sums, products = joint_sums(both)
    d = both[0].dense() - both[1].dense()
    far = np.ones((40, 40), dtype=bool)
    for i in range(40):
        for j in range(40):
            if "clusters" in SAID[said]:
                far[i, j] = SAID[said]["clusters"][i] != SAID[said]["clusters"][j]
            else:
                same = along.rows.series[i] == along.rows.series[j]
                far[i, j] = not (same and abs(along.rows.time[i] - along.rows.time[j]) < SAID[said]["horizon"])
    value = d[far].mean()
    found = along.of_pairs(sums, products, along.far_sums(both), (0, 1))
    assert found.difference == pytest.approx(value, rel=1e-9)
    assert found.difference != pytest.approx(d[~np.eye(40, dtype=bool)].mean(), rel=1e-3)
    influence = np.array([2 * 40 * (d[i, far[i]].sum() - far[i].sum() * value) / far.sum() for i in range(40)])
    assert found.error == pytest.approx(along.law.error(influence), rel=1e-9)
    assert found.pvalue == pytest.approx(along.law.pvalue(abs(value) / found.error), rel=1e-9)
    law = label_law(y, [case.predictions for case in cases])
    careful = along.of_pairs(
        sums, products, along.far_sums(both), (0, 1), PairedSurprises.of(both, law, sums, products)
    )
    assert careful.error > found.error
    assert careful.pvalue > found.pvalue


def test_differences_of_rows_allow_for_surprises_as_those_of_independent_rows_do():
    y, p, q = data()
    surprises = ScoreSurprises([Case.of(y, x).predictions for x in (p, q)])
    rows = [-np.log(np.where(y == 1, x, 1 - x)) for x in (p, q)]
    along = Along(Dependence.of(40, horizon=3))

    def more(gaps):
        return surprises.errors(gaps, 0, 1)

    plain, careful = along.of_rows(*rows), along.of_rows(*rows, more)
    alone, allowed = mean_difference(*rows), mean_difference(*rows, more)
    assert plain.difference == careful.difference == pytest.approx(alone.difference)
    added = careful.error**2 - plain.error**2
    assert added > 0
    assert added == pytest.approx(allowed.error**2 - alone.error**2, rel=1e-6)


def test_differences_of_drawn_values_have_the_error_of_influences():
    rng = np.random.default_rng(5)
    influence, one, two = rng.normal(size=40), rng.normal(size=99), rng.normal(size=99)
    along = Along(Dependence.of(40, horizon=3))
    found = along.of_draws((0.3, 0.1), influence, one, two)
    assert found.difference == pytest.approx(0.2)
    assert found.error == pytest.approx(along.law.error(influence))
    wider = along.of_draws((0.3, 0.1), influence, one, two, lambda some: (2 * one, 2 * two))
    assert wider.error**2 == pytest.approx(along.law.error(influence) ** 2 + 3 * np.var(one - two, ddof=1))
    own, added = along.law.error(influence) ** 2, 3 * np.var(one - two, ddof=1)
    far = along.of_draws((20.0, 0.0), influence, one, two, lambda some: (2 * one, 2 * two))
    square = (np.sqrt(own**2 + added * 20.0**2) - own) / (added / 2)  # z^2 (own + added z^2 / 4) = 20^2
    assert far.pvalue == pytest.approx(along.law.pvalue(np.sqrt(square)), rel=1e-6)


def test_rows_without_spread_and_infinite_rows():
    along = Along(Dependence.of(40, horizon=4))
    ones = np.ones(40)
    assert along.of_rows(ones, ones).pvalue == 1
    assert along.of_rows(2 * ones, ones).pvalue == pytest.approx(2.0 ** (1 - 10))  # ten stretches, not forty rows
    pairs = Along(Dependence.of(40, clusters=np.arange(40) // 2))
    alike = pairs.of_rows(np.tile([0.3, 0.5], 20), np.zeros(40))  # every cluster has the same two rows
    assert alike.difference == pytest.approx(0.4)
    assert alike.pvalue == pytest.approx(2.0**-19)
    infinite = np.where(np.arange(40) == 3, np.inf, 1.0)
    found = along.of_rows(infinite, ones)
    assert np.isinf(found.difference)
    assert found.pvalue is None
    assert along.of_rows(infinite, infinite).pvalue == 1
