"""Histograms of PIT values and ranks, and the quantile curve with its band."""

import json

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.statistics import pit, pit_histogram, quantile_calibration, rank_histogram


def test_counts_of_pit_values():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=50)
    y = mean + rng.normal(size=50)
    found = pit_histogram(y, kc.Normal(mean, 1.0), bins=7)
    values = pit(y, kc.Normal(mean, 1.0))
    assert found.counts.tolist() == [sum(k / 7 <= u < (k + 1) / 7 for u in values) for k in range(7)]
    assert found.expected == pytest.approx(np.full(7, 50 / 7))
    assert found.n == 50


def test_values_of_counts_are_those_of_pit_with_the_seed():
    y, batch = np.arange(20) % 4, kc.Poisson(np.full(20, 1.5))
    found = pit_histogram(y, batch, bins=4, rng=3)
    assert found.counts.tolist() == np.histogram(pit(y, batch, 3), np.linspace(0, 1, 5))[0].tolist()


def test_an_outcome_far_out_is_in_the_last_bin():
    assert pit_histogram([1e9, -1e9], kc.Normal([0.0, 0.0], 1.0), bins=3).counts.tolist() == [1, 0, 1]


def test_ranks_by_counting():
    rng = np.random.default_rng(1)
    draws, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    found = rank_histogram(y, kc.Samples(draws))
    ranks = [sum(d < v for d in row) for row, v in zip(draws, y, strict=True)]
    assert found.counts.tolist() == [ranks.count(k) for k in range(5)]
    assert found.edges.tolist() == [-0.5, 0.5, 1.5, 2.5, 3.5, 4.5]


@pytest.mark.slow
def test_ties_are_broken_evenly_and_by_the_seed():
    tied = kc.Samples(np.zeros((3000, 4)))
    counts = rank_histogram(np.zeros(3000), tied, rng=0).counts
    assert stats.chisquare(counts).pvalue > 0.001
    assert counts.tolist() == rank_histogram(np.zeros(3000), tied, rng=0).counts.tolist()
    assert counts.tolist() != rank_histogram(np.zeros(3000), tied, rng=1).counts.tolist()


def test_neighbouring_ranks_are_joined():
    rng = np.random.default_rng(2)
    draws, y = rng.normal(size=(100, 9)), rng.normal(size=100)
    fine, joined = rank_histogram(y, kc.Samples(draws)), rank_histogram(y, kc.Samples(draws), bins=4)
    assert joined.counts.tolist() == [fine.counts[a:b].sum() for a, b in ((0, 2), (2, 5), (5, 7), (7, 10))]
    assert joined.expected == pytest.approx([20, 30, 20, 30])
    assert len(rank_histogram(y, kc.Samples(rng.normal(size=(100, 60)))).counts) == 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param("ranks", marks=pytest.mark.slow), "ties"])
def test_calibrated_ensembles_lie_inside_as_often_as_promised(kind):
    rng = np.random.default_rng(len(kind))
    out = 0
    for k in range(200):
        values = rng.normal(size=(40, 6))
        values = values.round() if kind == "ties" else values
        out += bool(
            rank_histogram(values[:, 0], kc.Samples(values[:, 1:]), confidence_level=0.9, draws=99, rng=k).outside.any()
        )
    assert out <= stats.binom(200, 0.1).ppf(0.999)


def test_a_narrow_ensemble_is_outside():
    rng = np.random.default_rng(3)
    found = rank_histogram(2 * rng.normal(size=300), kc.Samples(rng.normal(size=(300, 9))))
    assert found.outside[[0, -1]].all()
    assert "outside" in repr(found)
    assert found.band.high[0] < found.counts[0]


@pytest.mark.slow
def test_curve_band_against_binomial_tails_and_draws():
    curve = quantile_calibration(np.zeros(80), kc.Normal(np.zeros(80), 1.0), levels=[0.9, 0.1, 0.5])
    band = curve.band(0.9, 199)
    for k, t in enumerate([0.9, 0.1, 0.5]):
        held = [x for x in range(81) if min(stats.binom.cdf(x, 80, t), stats.binom.sf(x - 1, 80, t)) >= 0.05]
        assert (band.pointwise_low[k] * 80, band.pointwise_high[k] * 80) == pytest.approx((held[0], held[-1]))
    assert (band.low <= band.pointwise_low).all()
    rng, out = np.random.default_rng(4), 0
    for k in range(200):
        u = rng.random(80)
        shares = np.array([(u <= t).mean() for t in curve.levels])
        out += bool(curve.band(0.9, 99, k).outside(shares).any())
    assert out <= stats.binom(200, 0.1).ppf(0.999)


def test_weighted_curves_have_no_band_and_say_so():
    curve = quantile_calibration([0.0, 1.0], kc.Normal([0.0, 0.0], 1.0), weights=[1.0, 2.0])
    assert curve.weighted
    with pytest.raises(InputError, match="not binomial, and have no band"):
        curve.band()


def test_results_are_plain_values():
    found = rank_histogram([0.5], kc.Samples([[0.0, 1.0]]))
    assert json.loads(json.dumps(found.to_dict()))["counts"] == [0, 1, 0]
    assert found.counts.sum() == found.n == 1
    assert "rank of the outcome among 2 draws" in found._repr_html_()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rank_histogram([0.0], kc.Normal([0.0], 1.0)), "ranks are those among draws .*got Normal: use pit_his"),
        (lambda: rank_histogram([0.0], kc.Samples([[0.0, 1.0]], [[1.0, 2.0]])), "ranks need equally likely draws"),
        (
            lambda: rank_histogram([0.0], kc.Samples([[0.0, 1.0]]), bins=4),
            "there are 3 ranks, so at most 3 bins, got 4",
        ),
        (lambda: rank_histogram([[0.0]], kc.Samples(np.zeros((1, 3, 1)))), "take one coordinate at a time"),
        (
            lambda: pit_histogram([0.0], kc.Samples([[0.0, 1.0]], [[1.0, 2.0]])),
            "unequal weights are only nearly uniform",
        ),
        (lambda: pit_histogram([0.0], kc.Normal([0.0], 1.0), bins=0), "bins must be a whole number, at least 1, got 0"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_tied_quantiles_have_no_pit_histogram():
    """Poisson counts at their own quantiles are calibrated, and a band of uniform values would call them wrong."""
    levels = np.array([0.1, 0.5, 0.9])
    y = np.random.default_rng(0).poisson(3, 200).astype(float)
    tied = kc.Quantiles(np.tile(stats.poisson.ppf(levels, 3), (200, 1)), levels)
    with pytest.raises(InputError, match=r"claimed_levels tells what each level claims"):
        pit_histogram(y, tied, draws=99)
    between = pit_histogram(y, kc.Quantiles(tied.values + np.array([0.3, 0.4, 0.5]), levels), draws=99)
    assert between.counts.sum() == 200


def test_members_that_are_missing_leave_ranks_uniform():
    rng = np.random.default_rng(9)
    draws, there = rng.normal(size=(4000, 7)), rng.uniform(size=(4000, 7)) < 0.7
    there[:, 0] = True
    some = kc.Samples(np.where(there, draws, 0.0), weights=there.astype(float))
    found = rank_histogram(rng.normal(size=4000), some)
    assert len(found.counts) == 8
    assert not found.outside.any()
    assert any("rows have fewer than 7 members (at least" in note for note in found.notes)
    narrow = rank_histogram(2 * rng.normal(size=4000), some)
    assert narrow.outside[0]
    assert narrow.outside[-1]


def test_with_all_members_there_weights_change_nothing():
    rng = np.random.default_rng(10)
    y, draws = rng.normal(size=200), rng.normal(size=(200, 5))
    same = kc.Samples(draws, weights=np.ones((200, 5)))
    assert rank_histogram(y, same).counts.tolist() == rank_histogram(y, kc.Samples(draws)).counts.tolist()
    assert not rank_histogram(y, same).notes
    with pytest.raises(InputError, match="ranks need equally likely draws"):
        rank_histogram(y, kc.Samples(draws, weights=rng.uniform(1, 2, (200, 5))))
