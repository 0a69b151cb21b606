"""Claimed and observed levels: counts by hand, intervals, gaps, ties."""

import json

import numpy as np
import pytest
from scipy import stats

from kernelcal import Normal, Quantiles
from kernelcal.errors import InputError
from kernelcal.statistics import claimed_levels


def test_shares_are_counts():
    rng = np.random.default_rng(0)
    y, levels = rng.normal(size=500), np.array([0.1, 0.4, 0.8])
    found = claimed_levels(y, Quantiles(np.tile(stats.norm.ppf(levels), (500, 1)), levels))
    shares = (y[:, None] < stats.norm.ppf(levels)).mean(axis=0)
    np.testing.assert_array_equal(found.below, shares)
    np.testing.assert_array_equal(found.upto, shares)
    np.testing.assert_array_equal(found.most_below, levels)
    assert found.gap == pytest.approx(np.sqrt(np.mean((shares - levels) ** 2)))
    for k in range(3):
        exact = stats.binomtest(round(500 * shares[k]), 500).proportion_ci(0.95)
        np.testing.assert_allclose(found.below_interval[k], [exact.low, exact.high], rtol=1e-9)
    assert not found.ties
    assert not found.broken.any()


def test_ties_have_both_ends_and_the_sharpest_claims():
    levels = [0.1, 0.25, 0.5, 0.75]
    batch = Quantiles([[0.0, 0.0, 1.0, 2.0]] * 4, levels)
    found = claimed_levels([0.0, 0.0, 1.0, 5.0], batch)
    np.testing.assert_allclose(found.most_below, [0.1, 0.1, 0.5, 0.75])
    np.testing.assert_allclose(found.least_upto, [0.25, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(found.below, [0, 0, 0.5, 0.75])
    np.testing.assert_allclose(found.upto, [0.5, 0.5, 0.75, 0.75])
    assert found.ties
    assert found.gap == 0
    assert "only what P(Y < q) <= level <= P(Y <= q) claims was tested" in found.notes[0]


def test_a_broken_claim_is_said():
    batch = Quantiles([[0.0, 1.0]] * 100, [0.1, 0.9])
    found = claimed_levels(np.r_[-np.ones(40), np.full(60, 0.5)], batch)
    np.testing.assert_array_equal(found.broken, [True, True])
    np.testing.assert_allclose(found.gaps, [0.3, 0.1])
    assert found.rows()[0] == ["0.1", "40.0 %", "30.3 to 50.3 %", "broken"]


def test_weights_have_shares_without_intervals():
    batch = Quantiles([[0.0]] * 4, [0.5])
    found = claimed_levels([-1.0, 1.0, 1.0, 1.0], batch, weights=[3, 1, 1, 1])
    assert found.below[0] == pytest.approx(0.5)
    assert np.isnan(found.below_interval).all()
    assert not found.broken.any()
    assert json.loads(json.dumps(found.to_dict()))["below_interval"] == [[None, None]]
    assert "with case weights" in found.notes[0]


def test_levels_0_and_1_are_no_claims():
    found = claimed_levels([0.0, 5.0], Quantiles([[0.0, 2.0, 10.0]] * 2, [0, 0.5, 1]))
    np.testing.assert_array_equal(found.levels, [0.5])


def test_it_prints_and_draws():
    pytest.importorskip("matplotlib")
    batch = Quantiles([[0.0, 0.0, 1.0]] * 50, [0.1, 0.5, 0.9])
    found = claimed_levels(np.repeat([0.0, 2.0], 25), batch)
    assert found.summary().startswith("Claimed and observed levels, 50 rows, least root mean square gap")
    ax = found.plot()
    assert ax.get_xlabel() == "claimed level"


def test_other_families_are_refused():
    with pytest.raises(
        InputError, match="the table of claimed levels needs predictions given by quantiles, got Normal"
    ):
        claimed_levels([1.0], Normal([0.0], [1.0]))
