"""Quantile forecasts with ties: groups by what is claimed, and what cannot be said."""

import json

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.explanation import explained
from kernelcal.runs import Run
from kernelcal.statistics import claimed_levels

LEVELS = np.array([0.1, 0.5, 0.9])


def counts(seed, n=150, worse=0.0):
    """Poisson counts in three groups, the last of which has a mean that is larger by `worse`."""
    rng = np.random.default_rng(seed)
    mean, group = rng.uniform(1, 5, n), np.arange(n) % 3
    y = rng.poisson(mean + worse * (group == 2))
    return y, kc.Quantiles(stats.poisson.ppf(LEVELS[:, None], mean).T, LEVELS), group


def test_the_wrong_group_is_named():
    y, batch, group = counts(0, worse=2.5)
    found = kc.explain(y, batch, groups={"site": group}, draws=199)
    assert [g.name for g in found.rejected] == ["2"]
    assert "outcomes lie above the quantiles more often than claimed" in found.group(2).directions
    assert found.group(2).gap > 0
    assert (found.witness, found.contributions, found.regions, found.rows) == (None, None, (), ())
    assert float(found.estimate) == pytest.approx(claimed_levels(y, batch).gap ** 2)
    text = found.summary()
    for words in ("least gap, squared", "with conservative p-values", "no places and no rows are named"):
        assert words in " ".join(text.split())
    for words in ("contribution", "SKCE, unbiased"):
        assert words not in text
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["groups"]["findings"][0]["contribution"] is None
    assert plain["least_gap"]["value"] == pytest.approx(float(found.estimate))
    with pytest.raises(kc.InputError, match=r"ties have no residuals.*claimed_levels\(y, predictions\).plot"):
        found.plot()


def test_groups_are_those_of_evaluate():
    y, batch, group = counts(1, worse=1.0)
    found = kc.explain(y, batch, groups=group, draws=99).by_group
    expected = kc.evaluate(y, batch, groups=group, draws=99).by_group
    assert found.law == "conservative"
    assert [(g.name, g.pvalue, g.gap) for g in found.findings] == [(g.name, g.pvalue, g.gap) for g in expected.findings]


def test_columns_that_are_given_need_no_groups():
    y, batch, group = counts(2, worse=3.0)
    found = kc.explain(y, batch, given={"site": group.astype(str)}, draws=99)
    assert found.groups == ()
    assert found.given.pvalue == 0.01
    assert any("site" in sentence for sentence in found.findings)


def test_what_cannot_be_said_is_refused_with_the_reason():
    y, batch, group = counts(3)
    with pytest.raises(kc.InputError, match=r"no residual of a row has a value to explain: pass groups= of rows"):
        kc.explain(y, batch)
    for options in ({"statistic": kc.SKCE()}, {"witness_kernel": kc.Laplacian(1.0)}):
        with pytest.raises(kc.InputError, match=r"there is no SKCE whose kernels could be chosen: leave out"):
            kc.explain(y, batch, groups=group, **options)


def test_small_groups_and_weights():
    y, batch, group = counts(4, worse=3.0)
    names = np.where(np.arange(150) == 7, "alone", group.astype(str))
    found = kc.explain(y, batch, groups=names, weights=np.where(group == 1, 0.0, 2.0), draws=99)
    assert found.group("alone").pvalue is None
    assert found.group("1").gap is None
    assert found.group("2").pvalue <= 0.05
    assert any("not tested, since fewer than two of their rows count: group 1" in note for note in found.by_group.notes)


def test_draws_are_told():
    y, batch, group = counts(5)
    seen = []
    explained(Case.of(y, batch), Run(draws=99, progress=lambda done, total: seen.append((done, total))), groups=group)
    assert seen[-1] == (99, 99)


def level(make, repetitions):
    """How many data sets there are in which a group of a calibrated model has p at most 0.1."""
    named = 0
    for seed in range(repetitions):
        y, batch, group = make(seed)
        run = Run(alpha=0.1, draws=39, rng=seed)
        named += any(g.pvalue <= 0.1 for g in explained(Case.of(y, batch), run, groups=group).groups)
    return named


def apart(seed, n=60):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    return mean + rng.normal(size=n), kc.Quantiles(mean[:, None] + stats.norm.ppf(LEVELS), LEVELS), np.arange(n) % 3


@pytest.mark.slow
def test_groups_of_calibrated_forecasts_keep_the_level():
    """Exact without ties; at most the level with ties."""
    low, high = stats.binom.ppf([0.0005, 0.9995], 300, 0.1)
    assert low <= level(apart, 300) <= high
    assert level(lambda seed: counts(seed, n=60), 300) <= high
