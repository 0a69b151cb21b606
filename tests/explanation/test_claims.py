"""Groups of quantile forecasts with ties: what is claimed, their level, and what cannot be said."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.explanation import claim_gap, claim_gaps, explained
from kernelcal.explanation.claims import PreparedClaims, explained_claims
from kernelcal.explanation.groups import checked_groups
from kernelcal.inference import DrawnValues
from kernelcal.inference.laws import family_wise_pvalues
from kernelcal.inference.laws.exact import ranks
from kernelcal.runs import Run
from kernelcal.statistics import Merge, claimed_levels

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
    for words in ("least gap, squared", "exact, conservative with ties,", "no places and no rows are named"):
        assert words in " ".join(text.split())
    for words in ("own SKCE", "contribution", "SKCE, unbiased"):
        assert words not in text
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["groups"][0]["contribution"] is None
    assert plain["least_gap"]["value"] == pytest.approx(float(found.estimate))
    with pytest.raises(kc.InputError, match=r"ties have no residuals.*claimed_levels\(y, predictions\).plot"):
        found.plot()


def test_gaps_of_rows_have_two_ends_that_are_one_without_ties():
    y, batch, _ = counts(1)
    low, high = claim_gaps(Case.of(y, batch))
    q = batch.values
    for row in range(len(y)):
        upto = [max(LEVELS[q[row] == q[row, k]]) for k in range(3)]
        below = [min(LEVELS[q[row] == q[row, k]]) for k in range(3)]
        assert low[row] == pytest.approx(np.mean((y[row] > q[row]) - 1 + np.array(upto)))
        assert high[row] == pytest.approx(np.mean((y[row] >= q[row]) - 1 + np.array(below)))
    assert claim_gap(Case.of(y, batch)) == 0.0
    assert claim_gap(Case.of(y + 3, batch)) == pytest.approx(claim_gaps(Case.of(y + 3, batch))[0].mean())
    assert claim_gap(Case.of(y - 9, batch)) == pytest.approx(claim_gaps(Case.of(y - 9, batch))[1].mean())
    apart = Case.of(np.linspace(0.1, 3.9, 20), kc.Quantiles(np.tile([1.0, 2.0, 3.0], (20, 1)), LEVELS))
    low, high = claim_gaps(apart)
    np.testing.assert_allclose(low, high)
    assert claim_gap(apart) == pytest.approx(
        kc.explain(apart.targets, apart.predictions, groups=[0] * 20).groups[0].gap
    )


def naive(values, groups):
    """Smallest adjusted p-value by the definition: entries are groups, of which inside the smallest rank counts."""
    rows = len(values)
    rank = [[sum(values[:, s] >= values[b, s]) for s in range(values.shape[1])] for b in range(rows)]
    inside = [[(min(rank[b][s] for s in g), -max(values[b, s] for s in g)) for g in groups] for b in range(rows)]
    single = [len(g) == 1 for g in groups]
    key = [
        [
            (rank[b][g[0]] if single[k] else sum(inside[c][k] <= inside[b][k] for c in range(rows)), inside[b][k][1])
            for k, g in enumerate(groups)
        ]
        for b in range(rows)
    ]
    most = [min(own) for own in key]
    return [sum(m <= key[0][k] for m in most) / rows for k in range(len(groups))]


def test_groups_of_statistics_are_corrected_as_defined():
    groups = ((0, 1), (2,), (3, 4, 5))
    for seed in range(10):
        values = np.random.default_rng(seed).normal(size=(40, 6))
        values[0] += [0, 2, 0, 0, 1, 3]
        found = family_wise_pvalues(values, ranks(values), Merge(groups, standardised=True))
        np.testing.assert_allclose(found, naive(values, groups))


def test_pvalues_never_fall_when_a_claim_is_less_broken():
    """The proof of the level: what is observed is at most what a uniform number would give, in every member."""
    y, batch, group = counts(2)
    prepared = PreparedClaims(Case.of(y, batch), checked_groups(group, len(y)))
    rng = np.random.default_rng(0)
    for k in rng.integers(0, len(prepared.names), 50):
        values = rng.normal(size=(50, len(prepared.names)))
        values[0] += 3 * rng.exponential(size=len(prepared.names))
        less = values.copy()
        less[0, k] -= 100 * rng.exponential()
        more_p, less_p = (prepared.pvalues(DrawnValues.of(v, merge=prepared.merge)) for v in (values, less))
        assert np.all(np.array(less_p) >= more_p)


def test_ties_of_ranks_are_broken_by_one_scale():
    """Standardised by all rows, an observed value that falls would push others back, and lower a p-value."""
    y, batch, group = counts(2)
    merge = PreparedClaims(Case.of(y, batch), checked_groups(group, len(y))).merge
    assert merge.standardised
    values = np.zeros((10, 2))
    values[:, 0] = np.r_[9, np.arange(9)] / 10  # no draw reaches what is observed
    values[5, 1] = 3.0  # nor any other row this one
    fallen = values.copy()
    fallen[0, 1] = -1000.0
    for standard, expected in ((True, [0.2, 0.2]), (False, [0.2, 0.1])):
        merge = Merge(((0,), (1,)), standardised=standard)
        assert [family_wise_pvalues(v, ranks(v), merge)[0] for v in (values, fallen)] == expected


def level(make, repetitions, draws=39):
    """Share of data sets in which a group of a calibrated model has p at most 0.1."""
    run, named = Run(alpha=0.1, draws=draws), 0
    for seed in range(repetitions):
        y, batch, group = make(seed)
        case = Case.of(y, batch)
        found = explained_claims(case, replace(run, rng=seed), checked_groups(group, len(y)))
        named += any(g.pvalue <= 0.1 for g in found.groups)
    return named


def apart(seed, n=60):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    return mean + rng.normal(size=n), kc.Quantiles(mean[:, None] + stats.norm.ppf(LEVELS), LEVELS), np.arange(n) % 3


@pytest.mark.slow
def test_groups_of_calibrated_forecasts_keep_the_level():
    """Exact without ties, which this test takes too; at most the level with ties."""
    low, high = stats.binom.ppf([0.0005, 0.9995], 300, 0.1)
    assert low <= level(apart, 300) <= high
    assert level(lambda seed: counts(seed, n=60), 300) <= high


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
    assert any("not tested, since fewer than two of their rows count: group 1" in note for note in found.notes)


def test_draws_are_told():
    y, batch, group = counts(5)
    seen = []
    explained(Case.of(y, batch), Run(draws=99, progress=lambda done, total: seen.append((done, total))), groups=group)
    assert seen[-1] == (99, 99)
