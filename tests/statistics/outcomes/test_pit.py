"""The probability integral transform: by hand, on real cases, and uniform under calibration."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kernelcal.errors import InputError
from kernelcal.predictions import (
    DiagonalNormal,
    Laplace,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
    checked_pair,
)
from kernelcal.statistics.outcomes.quantile_curves import quantile_calibration
from kernelcal.statistics.outcomes.transform import pit, pit_intervals
from kernelcal.statistics.scores.numbers import coordinate

FILE = Path(__file__).resolve().parents[2] / "data" / "cases.json"


def case(name):
    found = {entry["id"]: entry for entry in json.loads(FILE.read_text())["cases"]}[name]
    return found["input"], found["expected"]


# ---- cases that people met


def test_the_counts_case():
    given, expected = case("pit-counts")
    low, high = pit_intervals(given["y"], Poisson([3.0, 3.0, 3.0]))
    assert np.stack([low, high], axis=1) == pytest.approx(np.array(expected["intervals"]), abs=1e-9)


def test_the_zero_rain_case():
    _, expected = case("ties-zero-rain")
    batch = Samples(np.zeros((4000, 32)))
    low, high = pit_intervals(np.zeros(4000), batch)
    assert (low[0], high[0]) == pytest.approx((0.0, 1.0))
    ranks = np.floor(pit(np.zeros(4000), batch) * 33).astype(int)
    assert [ranks.min(), ranks.max()] == expected["rank_range"]
    assert stats.chisquare(np.bincount(ranks, minlength=33)).pvalue > 0.01


def test_the_discrete_ranks_case():
    given, expected = case("sbc-discrete")
    low, high = pit_intervals([given["theta"]], Samples([np.array(given["draws"], dtype=float)]))
    assert [round(low[0] * 6), round(high[0] * 6) - 1] == expected["rank_range"]


def test_the_unsorted_quantiles_case():
    given, expected = case("quantiles-unsorted")
    low, high = pit_intervals([given["y"]], Quantiles([given["values"]], given["levels"]))
    assert [low[0], high[0]] == expected["pit_interval"]


# ---- by hand


def test_continuous_families_give_their_distribution_function():
    y = np.array([0.3, -1.0, 4.0])
    for batch, law in ((Normal(np.zeros(3), 2.0), stats.norm(0, 2)), (Laplace(np.zeros(3), 2.0), stats.laplace(0, 2))):
        assert pit(y, batch) == pytest.approx(law.cdf(y))
        low, high = pit_intervals(y, batch)
        assert np.array_equal(low, high)


def test_draws_by_rank():
    batch = Samples([[0.0, 1.0, 2.0]] * 4)
    low, high = pit_intervals([-1.0, 0.5, 1.0, 9.0], batch)
    assert low == pytest.approx([0.0, 0.25, 0.25, 0.75])
    assert high == pytest.approx([0.25, 0.5, 0.75, 1.0])


def test_draws_of_weight_zero_do_not_count():
    low, high = pit_intervals([0.5], Samples([[0.0, 1.0, 2.0, -7.0]], weights=[[2.0, 2.0, 2.0, 0.0]]))
    assert (low[0], high[0]) == pytest.approx((0.25, 0.5))
    low, high = pit_intervals([0.5], Samples([[0.0, 1.0]], weights=[[0.25, 0.75]]))
    assert (low[0], high[0]) == pytest.approx((0.25 / 1.625, 0.875 / 1.625))  # own weight 1/16 + 9/16


@pytest.mark.parametrize(
    ("y", "interval"),
    [(0.5, (0.0, 0.1)), (1.0, (0.0, 0.1)), (1.5, (0.1, 0.3)), (2.0, (0.3, 0.8)), (3.0, (0.8, 0.9)), (4.0, (0.9, 1.0))],
)
def test_quantiles_by_hand(y, interval):
    batch = Quantiles([[1.0, 2.0, 2.0, 3.0]], [0.1, 0.3, 0.8, 0.9])
    low, high = pit_intervals([y], batch)
    assert (low[0], high[0]) == interval


def test_outermost_equal_quantiles_hold_their_tail():
    levels = [0.25, 0.5, 0.75]
    assert [x[0] for x in pit_intervals([0.0], Quantiles([[0.0, 0.0, 3.0]], levels))] == [0.0, 0.5]
    assert [x[0] for x in pit_intervals([3.0], Quantiles([[0.0, 3.0, 3.0]], levels))] == [0.5, 1.0]
    assert [x[0] for x in pit_intervals([3.0], Quantiles([[3.0, 3.0, 3.0]], levels))] == [0.0, 1.0]


def test_quantile_intervals_hold_the_distribution_function():
    rng = np.random.default_rng(0)
    batch = Quantiles(np.sort(rng.integers(0, 5, size=(500, 5)), axis=1), [0.1, 0.2, 0.5, 0.7, 0.9])
    y = np.where(rng.random(500) < 0.5, rng.integers(-1, 6, size=500), rng.normal(2, 2, size=500))
    low, high = pit_intervals(y, batch)
    assert np.all((low <= batch.cdf_below(y) + 1e-12) & (batch.cdf(y) <= high + 1e-12))


def test_counts_whose_quantiles_are_exact_are_uniform():
    """Poisson(5) told by quantiles 2, 4, 5, 6, 8 at the levels F(2), F(4), ...: outcomes equal quantiles."""
    y = np.random.default_rng(3).poisson(5, 6000).astype(float)
    quantiles = np.array([2.0, 4.0, 5.0, 6.0, 8.0])
    values = pit(y, Quantiles(np.tile(quantiles, (6000, 1)), stats.poisson(5).cdf(quantiles)))
    assert stats.kstest(values, "uniform").pvalue > 0.001


@pytest.mark.parametrize("make", ["samples", "quantiles"])
def test_single_precision_keeps_ties(make):
    """0.1 of float32 is not 0.1 of float64: outcomes are rounded as the predictions are."""
    grid = np.array([0.1, 0.2, 0.3, 0.4])
    if make == "samples":
        values = np.random.default_rng(0).choice(grid, (400, 6))
        single, double = (Samples(values[:, 1:].astype(dtype)) for dtype in (np.float32, np.float64))
        y = values[:, 0]
    else:
        single, double = (
            Quantiles(np.tile(grid.astype(dtype), (4, 1)), [0.2, 0.4, 0.6, 0.8]) for dtype in (np.float32, np.float64)
        )
        y, flat = grid, Quantiles(np.tile(np.float32([0.1, 0.1, 0.3]), (4, 1)), [0.2, 0.5, 0.7])
        assert not flat.impossible(checked_pair(y, flat)[0]).any()  # 0.1 is the point mass at the lower end
    np.testing.assert_allclose(np.stack(pit_intervals(y, single)), np.stack(pit_intervals(y, double)))


def test_the_seed_decides_the_random_place():
    batch, y = Poisson(np.full(50, 2.0)), np.full(50, 2.0)
    assert np.array_equal(pit(y, batch), pit(y, batch, rng=0))
    assert not np.array_equal(pit(y, batch), pit(y, batch, rng=1))
    low, high = pit_intervals(y, batch)
    assert np.all((low < pit(y, batch, rng=3)) & (pit(y, batch, rng=3) < high))


# ---- uniform under calibration


def batches(n=6000):
    rng = np.random.default_rng(5)
    rate = rng.exponential(size=n) * 3
    yield "normal", Normal(rng.normal(size=n), rng.exponential(size=n) + 0.1)
    yield "poisson", Poisson(rate)
    yield "negative binomial", NegativeBinomial(rate, 0.5)
    yield "mixture", Mixture([0.5, 0.5], [Samples(np.zeros((n, 1))), Normal(rng.normal(size=n), 1.0)])
    yield "quantiles", Quantiles(np.sort(rng.integers(0, 4, size=(n, 5)), axis=1), [0.1, 0.2, 0.5, 0.7, 0.9])


@pytest.mark.parametrize("name", ["normal", "poisson", "negative binomial", "mixture", "quantiles"])
def test_uniform_under_calibration(name):
    batch = dict(batches())[name]
    values = pit(batch.sample(7)[0], batch, rng=8)
    assert np.all((values > 0) & (values < 1))
    assert stats.kstest(values, "uniform").pvalue > 0.001
    # the cumulative probability at the outcome itself, not randomised, is not uniform where there are jumps
    if name != "normal":
        assert stats.kstest(batch.cdf(batch.sample(7)[0]), "uniform").pvalue < 1e-6


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("members", [1, 4])
def test_draws_are_uniform_under_exchangeability(members, ties):
    values = np.random.default_rng(6).normal(size=(6000, members + 1))
    values = values.round() if ties else values
    found = pit(values[:, 0], Samples(values[:, 1:]), rng=9)
    assert stats.kstest(found, "uniform").pvalue > 0.001


# ---- the curve


def test_quantile_calibration_counts_outcomes_below_the_quantiles():
    rng = np.random.default_rng(1)
    mean, std = rng.normal(size=80), rng.exponential(size=80) + 0.1
    y = rng.normal(size=80)
    batch = Normal(mean, std)
    result = quantile_calibration(y, batch)
    expected = [np.mean(y <= stats.norm(mean, std).ppf(tau)) for tau in result.levels]
    assert result.shares == pytest.approx(expected)
    assert result.largest_gap == pytest.approx(np.abs(result.shares - result.levels).max())
    weights = rng.exponential(size=80)
    weighted = quantile_calibration(y, batch, weights=weights, levels=[0.4])
    assert weighted.shares[0] == pytest.approx(weights @ (y <= stats.norm(mean, std).ppf(0.4)) / weights.sum())
    assert result.to_dict()["n"] == 80
    assert "<table>" in result._repr_html_()


def test_quantile_calibration_of_calibrated_counts_is_on_the_diagonal():
    batch = Poisson(np.full(20_000, 0.7))
    y = batch.sample(2)[0]
    curve = quantile_calibration(y, batch)
    assert curve.largest_gap < 0.012
    assert np.mean(y <= batch.quantile(0.3)) - 0.3 > 0.15  # what is not randomised lies above


# ---- refusals


def test_messages():
    vector = DiagonalNormal([[0.0, 1.0]], [[1.0, 2.0]])
    with pytest.raises(
        InputError, match=r"needs one number a target, got targets of shape \(2,\): take one coordinate"
    ):
        pit([[0.0, 1.0]], vector)
    assert pit([1.0], coordinate(vector, 1)) == pytest.approx([0.5])
    with pytest.raises(InputError, match="this needs predictions of numbers, got Bernoulli"):
        pit([0, 1], [0.2, 0.7])
    with pytest.raises(InputError, match="levels must be one or more numbers between 0 and 1"):
        quantile_calibration([0.0], Normal([0.0], 1.0), levels=[2])
