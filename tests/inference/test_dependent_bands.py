"""Bands and intervals of curves and histograms, of rows that depend on each other."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.dependence import share_interval
from kernelcal.inference import band_draws, class_reliability_of, reliability_of
from kernelcal.runs import Run
from kernelcal.statistics import ECE, pit_histogram_of, quantile_calibration_of, rank_histogram_of


def in_clusters(rng, clusters, size, rho):
    of = np.repeat(np.arange(clusters), size)
    g = np.sqrt(rho) * rng.normal(size=clusters)[of] + np.sqrt(1 - rho) * rng.normal(size=len(of))
    return g, np.round(rng.uniform(0.1, 0.9, clusters)[of], 1), of


def test_the_band_of_a_curve_is_that_of_coupled_events():
    """Counts in bins of coupled events have the spread of clusters: the band holds so many sets of them at once."""
    rng = np.random.default_rng(0)
    g, p, of = in_clusters(rng, 40, 10, 0.6)
    case = Case.of((g > ndtri(1 - p)).astype(int), p, clusters=of).in_numpy
    ece = ECE(question="positive class", bins=5)
    band, alone = (
        reliability_of(case, ece, Run()).band,
        reliability_of(Case.of(case.targets, p).in_numpy, ece, Run()).band,
    )
    assert np.nanmin((band.high - band.low) - (alone.high - alone.low)) > 0.05
    source, reason = band_draws(case, Run(rng=7), "draws to look at")
    assert reason == ""
    drawn = source.targets(case.predictions, 0, 999)
    index = np.minimum((p * 5 - 1e-9).astype(int), 4)
    filled = np.unique(index)
    shares = np.stack([drawn[:, index == k].mean(axis=1) for k in filled], axis=1)
    inside = ((shares >= band.low[filled] - 1e-9) & (shares <= band.high[filled] + 1e-9)).all(axis=1).mean()
    assert 0.93 < inside < 0.97


def test_intervals_of_bins_are_those_of_their_rows():
    rng = np.random.default_rng(1)
    g, p, of = in_clusters(rng, 30, 6, 0.4)
    case = Case.of((g > ndtri(1 - p)).astype(int), p, clusters=of).in_numpy
    found = reliability_of(case, ECE(question="positive class", bins=3), Run())
    low, high = found.interval
    for k in range(3):
        rows = np.flatnonzero((p > k / 3) & (p <= (k + 1) / 3))
        wanted = share_interval(case.targets[None, rows] == 1, case.rows[rows], 0.95)
        assert (low[k], high[k]) == pytest.approx((wanted[0][0], wanted[1][0]))
    assert "by clusters or stretches" in found.summary()
    weighted = Case.of(case.targets, p, clusters=of, weights=rng.uniform(1, 2, 180)).in_numpy
    assert np.isnan(reliability_of(weighted, ECE(question="positive class", bins=3), Run()).interval[0]).all()


def test_bands_of_every_class_are_each_of_its_own_events():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([2, 2, 2], 200)
    y = (p.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    found = class_reliability_of(Case.of(y, p, horizon=4).in_numpy, ECE(question="class-wise", bins=4), Run())
    assert all(part.band.known and not part.outside.any() for part in found.parts)
    few = class_reliability_of(Case.of(y, p, horizon=4).in_numpy, ECE(question="class-wise", bins=4), Run(draws=39))
    assert not any(part.band.known for part in few.parts)  # 2 of 39 draws lie outside, a third of them is none
    assert all("none" in part.summary() for part in few.parts)


def test_no_band_where_outcomes_are_not_drawn_alike():
    rng = np.random.default_rng(3)
    of, x = np.repeat(np.arange(40), 8), rng.normal(size=320)
    y = x + 2 * rng.normal(size=40)[of] * x + rng.normal(size=320)
    case = Case.of(y, kc.Normal(x, np.sqrt(1 + 4 * x**2)), clusters=of).in_numpy
    assert band_draws(case, Run(), "x") == (None, "clusters differ by more than a common shift")
    few = Case.of(rng.normal(size=20), kc.Normal(np.zeros(20), 1.0), clusters=np.arange(20) % 4).in_numpy
    assert band_draws(few, Run(), "x") == (None, "there are too few clusters")
    assert not pit_histogram_of(case, 5, Run()).band.known
    draws = Case.of(y, kc.Samples(rng.normal(size=(320, 4))), clusters=of).in_numpy
    found = rank_histogram_of(draws, None, Run())
    assert not found.outside.any()
    assert "there is no band" in found.summary()
    curve = quantile_calibration_of(case)
    with pytest.raises(kc.InputError, match="rows depend on each other"):
        curve.band()


def test_the_histogram_of_coupled_values_has_their_band():
    rng = np.random.default_rng(4)
    of = np.repeat(np.arange(30), 10)
    y = np.sqrt(0.7) * rng.normal(size=30)[of] + np.sqrt(0.3) * rng.normal(size=300)
    case = Case.of(y, kc.Normal(np.zeros(300), 1.0), clusters=of).in_numpy
    source, _ = band_draws(case, Run(), "draws of the band of a histogram")
    found = pit_histogram_of(case, 5, Run(), source.coupling)
    assert not found.outside.any()
    values = ndtr(np.sqrt(0.7) * rng.normal(size=(500, 30))[:, of] + np.sqrt(0.3) * rng.normal(size=(500, 300)))
    counts = np.stack([np.histogram(one, np.linspace(0, 1, 6))[0] for one in values])
    inside = ((counts >= found.band.low) & (counts <= found.band.high)).all(axis=1).mean()
    assert inside > 0.9  # the correlation is estimated
    plain = pit_histogram_of(Case.of(y, kc.Normal(np.zeros(300), 1.0)).in_numpy, 5, Run())
    assert (found.band.high - found.band.low > plain.band.high - plain.band.low).all()
