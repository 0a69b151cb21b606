"""The test of uniform PIT values: its statistics, its level, and what it says."""

import math

import numpy as np
import pytest
from scipy import stats

from kernelcal.errors import InputError
from kernelcal.inference.test.pit import pit_test
from kernelcal.predictions import Binomial, DiagonalNormal, NegativeBinomial, Normal, Poisson, Samples
from kernelcal.statistics.outcomes.transform import PreparedUniformity


def naive(values):
    """Statistics of one set of numbers, in plain loops."""
    u, n = sorted(values), len(values)
    anderson = -n - sum((2 * i + 1) * (math.log(u[i]) + math.log(1 - u[n - 1 - i])) for i in range(n)) / n
    above = max((i + 1) / n - u[i] for i in range(n))
    below = max(u[i] - i / n for i in range(n))
    z = stats.norm.ppf(values)
    cube = np.var(z, ddof=1) ** (1 / 3)
    return [anderson, math.sqrt(n) * (above + below), abs(z.mean()), abs(cube - (1 - 2 / (9 * (n - 1))))]


@pytest.mark.parametrize("n", [2, 3, 20])
def test_statistics_against_plain_loops(n):
    values = np.random.default_rng(n).random((5, n))
    found = PreparedUniformity(n).values(values)
    assert found == pytest.approx(np.array([naive(row) for row in values]), rel=1e-10)


def test_kuiper_and_kolmogorov_share_their_distances():
    values = np.random.default_rng(0).random((1, 50))
    distances = [
        stats.ks_1samp(values[0], stats.uniform.cdf, alternative=side).statistic for side in ("less", "greater")
    ]
    assert PreparedUniformity(50).values(values)[0, 1] == pytest.approx(math.sqrt(50) * sum(distances))


def test_the_dispersion_has_mean_zero_and_is_symmetric():
    prepared = PreparedUniformity(10)
    spread = prepared.signed(np.random.default_rng(1).random((200_000, 10)))[1]
    assert abs(spread.mean()) < 0.002
    assert abs(stats.skew(spread)) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("family", ["normal", "poisson"])
@pytest.mark.parametrize("n", [10, 30, 100])
def test_level(n, family):
    rng = np.random.default_rng([n, len(family)])
    scale = rng.exponential(size=n) + 0.2
    batch = Normal(rng.normal(size=n), scale) if family == "normal" else Poisson(scale * 2)
    targets = batch.sample(rng, 400)
    pvalues = np.array([pit_test(y, batch, draws=99, rng=k).pvalue for k, y in enumerate(targets)])
    low, high = stats.binom(400, 0.05).ppf([0.001, 0.999])
    assert low <= np.sum(pvalues <= 0.05) <= high
    low, high = stats.binom(400, 0.5).ppf([0.001, 0.999])
    assert low <= np.sum(pvalues <= 0.5) <= high


@pytest.mark.slow  # draws of an ensemble also stand in test_level_with_the_default_seed
def test_level_for_draws():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(300, 20, 5)).round(1)
    pvalues = [pit_test(v[:, 0], Samples(v[:, 1:]), draws=99, rng=k).pvalue for k, v in enumerate(values)]
    low, high = stats.binom(300, 0.05).ppf([0.001, 0.999])
    assert low <= np.sum(np.array(pvalues) <= 0.05) <= high


def rare_counts(rng, n):
    return stats.poisson(0.02).rvs(n, random_state=rng), Poisson(np.full(n, 0.02))


def counts(rng, n):
    return stats.poisson(3).rvs(n, random_state=rng), Poisson(np.full(n, 3.0))


def mostly_dry(rng, n):
    """Ensembles of 10 that are mostly 0."""
    values = stats.bernoulli(0.1).rvs((n, 11), random_state=rng) * stats.gamma(2).rvs((n, 11), random_state=rng)
    return values[:, 0], Samples(values[:, 1:])


def one_trial(rng, n):
    p = stats.beta(0.5, 0.5).rvs(n, random_state=rng)
    return stats.bernoulli(p).rvs(n, random_state=rng), Binomial(np.ones(n), p)


CALIBRATED = [
    (rare_counts, 300),
    (rare_counts, 320),
    *((f, n) for f in (counts, mostly_dry, one_trial) for n in (20, 100)),
]
CALIBRATED += [(counts, 300), (mostly_dry, 300), (one_trial, 300)]
FULL = ((rare_counts, 300), (one_trial, 20))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "n", "sets"),
    [
        *((make, n, 40) for make, n in CALIBRATED),
        *(pytest.param(make, n, 500, marks=() if (make, n) in FULL else pytest.mark.long) for make, n in CALIBRATED),
    ],
)
def test_level_with_the_default_seed(make, n, sets):
    """All data sets meet the same random places, and the same draws: what is beyond the 10th of 200 is beta."""
    pvalues = [pit_test(*make(np.random.default_rng([n, k]), n), draws=199).pvalue for k in range(sets)]
    assert np.sum(np.array(pvalues) <= 0.05) <= stats.betabinom(sets, 10, 190).ppf(0.9995)
    if n >= 100:
        assert np.mean(pvalues) > 0.3  # nor is everything accepted: p-values are spread
        assert np.min(pvalues) < 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    "simulated", ["inverse transform of the plain stream", pytest.param("sample", marks=pytest.mark.slow)]
)
def test_data_of_the_same_seed(simulated):
    rejected = 0
    for seed in range(60):
        rates = stats.gamma(2).rvs(200, random_state=np.random.default_rng([7, seed]))
        batch = Poisson(rates)
        y = batch.sample(rng=seed)[0]
        if simulated != "sample":
            y = stats.poisson(rates).ppf(np.random.default_rng(seed).random(200))
        rejected += pit_test(y, batch, draws=199, rng=seed).pvalue <= 0.05
    assert rejected <= stats.binom(60, 0.05).ppf(0.9995)


@pytest.mark.slow
def test_deviations_to_either_side_are_seen_for_every_seed():
    """The places of 300 rows that are nearly all 0 lead away from 0: the shift is measured from there."""
    for seed in (0, 1, 2):
        for rate, word in ((0.0, "up"), (0.08, "down")):
            y = stats.poisson(rate).rvs(300, random_state=seed)
            found = pit_test(y, Poisson(np.full(300, 0.025)), rng=seed)
            assert found.pvalue <= 0.05
            shifts = [words for words in found.directions if "shifted" in words]
            assert shifts, found.directions
            assert all(f"shifted {word}" in words for words in shifts)


@pytest.mark.slow
def test_power_against_a_wrong_width_is_alike_in_both_directions():
    rng = np.random.default_rng(4)
    narrow, wide = (
        np.mean(
            [
                pit_test(s * rng.normal(size=20), Normal(np.zeros(20), 1.0), draws=99, rng=k).pvalue <= 0.05
                for k in range(200)
            ]
        )
        for s in (1.6, 1 / 1.6)
    )
    assert narrow > 0.5
    assert wide > 0.5


Z = stats.zscore(np.random.default_rng(5).normal(size=300))


@pytest.mark.parametrize(
    ("y", "start"),
    [
        (Z + 0.5, "predictions shifted down (outcomes are higher than predicted, mean normal quantile +0.5"),
        (Z - 0.5, "predictions shifted up (outcomes are lower than predicted, mean normal quantile -0.5"),
        (1.5 * Z, "predictions too narrow (normal quantiles spread 1.5"),
        (0.6 * Z, "predictions too wide (normal quantiles spread 0.6"),
    ],
)
def test_directions(y, start):
    result = pit_test(y, Normal(np.zeros(300), 1.0))
    assert result.pvalue == 0.001
    assert result.directions[0].startswith(start)
    assert len(result.directions) == 1
    assert result.statistic == min(member.pvalue for member in result.members)


def test_a_shift_of_counts_and_a_missing_overdispersion():
    rng = np.random.default_rng(6)
    counts = NegativeBinomial(np.full(300, 5.0), 2.0).sample(rng)[0]
    assert any("too narrow" in word for word in pit_test(counts, Poisson(np.full(300, 5.0))).directions)
    assert pit_test(counts, NegativeBinomial(np.full(300, 5.0), 2.0)).pvalue > 0.05
    assert "shifted down" in pit_test(counts, NegativeBinomial(np.full(300, 4.0), 2.0)).directions[0]


def test_a_wrong_shape_has_no_single_direction():
    peaked = stats.zscore(stats.laplace.ppf((np.arange(3000) + 0.5) / 3000))
    result = pit_test(peaked, Normal(np.zeros(3000), 1.0))
    assert result.pvalue == 0.001
    assert result.directions == ("no clear shift or wrong width: the shape of the predicted distributions is wrong",)


def test_no_direction_without_evidence_and_the_draws_stop():
    result = pit_test(Z, Normal(np.zeros(300), 1.0))
    assert result.pvalue > 0.2
    assert result.directions == ()
    assert result.stopped_early
    assert result.draws == 99
    assert pit_test(Z, Normal(np.zeros(300), 1.0), early_stopping=False).draws == 999


def test_what_the_result_says():
    result = pit_test(Z, Normal(np.zeros(300), 0.5), rng=3)
    assert [member.name for member in result.members] == ["Anderson-Darling", "Kuiper", "bias", "dispersion"]
    assert result.question == "quantile calibration: are the PIT values uniform?"
    assert result.null == "exact, uniform PIT values"
    assert any(
        note.startswith("this tests quantile calibration only, a consequence of calibration") for note in result.notes
    )
    assert "rows are assumed independent given the predictions" in result.notes
    assert result.to_dict()["n"] == 300


def averaged(jumps):
    """Statistics over all places in jumps, in plain loops and by quadrature."""
    n = len(jumps)
    t = np.concatenate([(np.arange(200_000) + 0.5) / 200_000])
    f = np.zeros_like(t)
    for low, high in jumps:
        f += np.clip((t - low) / (high - low), 0, 1) if high > low else t >= low
    f /= n
    anderson = n * np.mean((f - t) ** 2 / (t * (1 - t)))
    kuiper = math.sqrt(n) * ((f - t).max() + (t - f).max())
    first, second = [], []
    for low, high in jumps:
        u = low + (np.arange(20_000) + 0.5) / 20_000 * (high - low)
        first.append(stats.norm.ppf(u).mean())
        second.append((stats.norm.ppf(u) ** 2).mean())
    variance = (np.mean(second) - np.mean(first) ** 2) * n / (n - 1)
    return [anderson, kuiper, abs(np.mean(first)), abs(np.cbrt(variance) - (1 - 2 / (9 * (n - 1))))]


@pytest.mark.parametrize("seed", range(4))
def test_statistics_over_all_places_in_jumps_against_quadrature(seed):
    rng = np.random.default_rng(seed)
    jumps = np.sort(rng.random((9, 2)), axis=1)
    jumps[0] = 0.0, 0.98  # counts that are nearly all 0
    jumps[1] = 0.0, 0.98
    jumps[2] = 0.98, 1.0
    jumps[3, 1] = jumps[3, 0]  # no jump
    found = PreparedUniformity(9).values(jumps[None])[0]
    assert found == pytest.approx(averaged(jumps), rel=2e-3, abs=2e-3)


def test_jumps_without_width_are_values():
    values = np.random.default_rng(0).random((4, 30))
    for width in (0.0, 1e-12, 1e-6):
        jumps = np.stack([values, values + width], axis=-1)
        found = PreparedUniformity(30).values(jumps)
        np.testing.assert_allclose(
            found, PreparedUniformity(30).values(values), rtol=1e-3 if width else 1e-10, atol=1e-4
        )


@pytest.mark.slow
def test_no_random_place_decides():
    """The statistics are those of the outcomes, for every seed, and p-values differ by the draws of the test alone."""
    batch = Poisson(np.full(300, 0.02))
    y = stats.poisson(0.02).rvs(300, random_state=5)
    found = [pit_test(y, batch, rng=seed, early_stopping=False) for seed in range(6)]
    for k in range(3):  # the fourth is measured from a mean over draws
        assert len({result.members[k].value for result in found}) == 1
    p = np.array([result.pvalue for result in found])
    assert p.std() < 5 * np.sqrt(p.mean() * (1 - p.mean()) / 1000)
    again = pit_test(y, batch, rng=3, early_stopping=False)
    assert (again.pvalue, again.members) == (found[3].pvalue, found[3].members)
    source = np.random.default_rng(11)
    assert pit_test(y, batch, rng=source).members != pit_test(y, batch, rng=source).members  # a generator moves on


def few(family, n):
    """Counts that are nearly all 0."""
    laws = {
        "Poisson(.02)": (stats.poisson(0.02), Poisson(np.full(n, 0.02))),
        "Poisson(.5)": (stats.poisson(0.5), Poisson(np.full(n, 0.5))),
        "Binomial(1, .03)": (stats.binom(1, 0.03), Binomial(np.ones(n), np.full(n, 0.03))),
    }
    return laws[family]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["Poisson(.02)", "Poisson(.5)", "Binomial(1, .03)"])
@pytest.mark.parametrize("sets", [40, pytest.param(500, marks=pytest.mark.long)])
def test_level_over_seeds_of_counts_that_are_nearly_all_0(family, sets):
    law, batch = few(family, 300)
    p = np.array(
        [
            pit_test(law.rvs(300, random_state=np.random.default_rng([9, k])), batch, draws=99, rng=k).pvalue
            for k in range(sets)
        ]
    )
    for level in (0.05, 0.2):
        assert np.sum(p <= level) <= stats.binom(sets, level).ppf(0.9995)
    assert np.mean(p <= 0.5) > 0.2  # ties count against rejection, but not everything is accepted


def test_where_all_values_are_equal_nothing_can_be_said():
    result = pit_test(np.zeros(30), Samples(np.zeros((30, 2))), draws=99)
    assert result.pvalue == 1.0
    assert "the null has no variance: no draw differs from the data" in result.notes


def test_outcomes_far_out_are_named():
    result = pit_test([0.0, 60.0, 0.1, -0.3], Normal(np.zeros(4), 1.0))
    assert any(note.startswith("row 1: the outcome lies so far out that its PIT value is 1") for note in result.notes)
    assert math.isfinite(result.members[0].value)


def test_impossible_counts_are_named():
    result = pit_test([0.0, 2.0, 1.0], Poisson([0.0, 0.0, 1.0]))
    assert result.impossible_rows == (1,)
    assert result.notes[0].startswith("row 1: the prediction had ruled out the target 2")


def test_one_row_has_no_dispersion_and_a_constant_kuiper_distance():
    result = pit_test([4.0], Normal([0.0], 1.0))
    assert [member.name for member in result.members] == ["Anderson-Darling", "bias"]
    assert result.pvalue <= 0.01


def test_messages():
    with pytest.raises(InputError, match="draws must be a positive whole number, got 0"):
        pit_test([0.0], Normal([0.0], 1.0), draws=0)
    with pytest.raises(InputError, match="the test of the probability integral transform needs one number a target"):
        pit_test([[0.0, 1.0]], DiagonalNormal([[0.0, 1.0]], [[1.0, 2.0]]))
