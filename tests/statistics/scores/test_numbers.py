"""Scores of numbers, pinball loss and coverage: by hand, against scipy and plain loops."""

import math

import numpy as np
import pytest
from scipy import stats

from kernelcal.errors import InputError
from kernelcal.predictions import (
    Laplace,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
)
from kernelcal.statistics.outcomes.central import central_coverage
from kernelcal.statistics.scores.numbers import crps, mean_squared_error, negative_log_likelihood
from kernelcal.statistics.scores.quantiles import QUANTILE_LEVELS, pinball_loss

MEAN, STD = np.array([0.0, 1.0, -2.0, 0.5]), np.array([1.0, 0.3, 2.0, 5.0])
Y = np.array([0.3, 1.5, -2.5, 9.0])


# ---- log score and squared error


def test_log_scores_agree_with_scipy():
    assert negative_log_likelihood(Y, Normal(MEAN, STD)) == pytest.approx(-stats.norm(MEAN, STD).logpdf(Y).mean())
    assert negative_log_likelihood(Y, Laplace(MEAN, STD)) == pytest.approx(-stats.laplace(MEAN, STD).logpdf(Y).mean())
    counts = np.array([0, 3, 7, 2])
    assert negative_log_likelihood(counts, Poisson(STD)) == pytest.approx(-stats.poisson(STD).logpmf(counts).mean())
    batch = NegativeBinomial(STD, 2.0)
    law = stats.nbinom(2.0, 2.0 / (2.0 + STD))
    assert negative_log_likelihood(counts, batch) == pytest.approx(-law.logpmf(counts).mean())
    mixed = Mixture([0.25, 0.75], [Normal(MEAN, STD), Laplace(MEAN, STD)])
    density = 0.25 * stats.norm(MEAN, STD).pdf(Y) + 0.75 * stats.laplace(MEAN, STD).pdf(Y)
    assert negative_log_likelihood(Y, mixed) == pytest.approx(-np.log(density).mean())
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    vector = MultivariateNormal(np.zeros((2, 2)), cov)
    expected = -stats.multivariate_normal([0, 0], cov).logpdf([[1, 2], [3, 4]]).mean()
    assert negative_log_likelihood([[1.0, 2.0], [3.0, 4.0]], vector) == pytest.approx(expected)


def test_weighted_means():
    rows = [negative_log_likelihood(Y[i : i + 1], Normal(MEAN[i : i + 1], STD[i : i + 1])) for i in range(4)]
    weights = np.array([1.0, 0.0, 3.0, 4.0])
    assert negative_log_likelihood(Y, Normal(MEAN, STD), weights=weights) == pytest.approx(rows @ weights / 8)
    squares = (Y - MEAN) ** 2
    assert mean_squared_error(Y, Normal(MEAN, STD), weights=weights) == pytest.approx(squares @ weights / 8)


def test_an_impossible_count_costs_infinity_unless_its_weight_is_zero():
    batch = Poisson([0.0, 1.0])
    assert math.isinf(negative_log_likelihood([1, 1], batch))
    assert negative_log_likelihood([1, 1], batch, weights=[0, 1]) == pytest.approx(1.0)


def test_squared_error_is_the_mean_over_coordinates():
    vector = MultivariateNormal([[0.0, 0.0]], np.eye(2))
    assert mean_squared_error([[1.0, 3.0]], vector) == pytest.approx(5.0)
    assert mean_squared_error([1.0], Samples([[0.0, 4.0]])) == pytest.approx(1.0)


def test_draws_have_no_log_score_but_a_remedy():
    with pytest.raises(
        InputError, match=r"Samples has no density, so there is no log score: use kernelcal\.statistics\.crps"
    ):
        negative_log_likelihood([0.0], Samples([[0.0, 1.0]]))
    with pytest.raises(InputError, match="this needs predictions of numbers, got Bernoulli: for classes use"):
        negative_log_likelihood([0, 1], [0.2, 0.7])


# ---- pinball


def by_loop(y, quantiles, tau):
    return np.mean([(1 - tau) * max(q - v, 0) + tau * max(v - q, 0) for v, q in zip(y, quantiles, strict=True)])


def test_pinball_against_a_plain_loop():
    result = pinball_loss(Y, Normal(MEAN, STD))
    expected = [by_loop(Y, stats.norm(MEAN, STD).ppf(tau), tau) for tau in QUANTILE_LEVELS]
    assert len(QUANTILE_LEVELS) == 19
    assert QUANTILE_LEVELS[0] == 0.05
    assert result.losses == pytest.approx(np.array(expected))
    assert float(result) == result.mean == pytest.approx(np.mean(expected))
    assert result.to_dict()["n"] == 4


def test_pinball_at_the_median_is_half_the_absolute_error():
    assert pinball_loss(Y, Normal(MEAN, STD), levels=0.5).losses[0] == pytest.approx(np.abs(Y - MEAN).mean() / 2)


def test_pinball_takes_the_smallest_value_that_reaches_the_level():
    # Poisson(1): F(0) = .3679, F(1) = .7358; draws 1, 2: F(1) = 1/2 reaches 0.5
    assert pinball_loss([0], Poisson([1.0]), levels=[0.36, 0.37]).losses == pytest.approx([0.0, 0.63])
    assert pinball_loss([5.0], Samples([[1.0, 2.0]]), levels=[0.5, 0.51]).losses == pytest.approx([2.0, 1.53])


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    "batch",
    [
        Normal(MEAN, STD),
        Laplace(MEAN, STD),
        Samples(np.sort(np.random.default_rng(0).normal(size=(4, 5)), axis=1)),
        Quantiles([[-1.0, 0.0, 0.0, 2.0]] * 4, [0.1, 0.2, 0.6, 0.9]),
    ],
    ids=lambda b: type(b).__name__,
)
def test_twice_the_pinball_loss_over_all_levels_is_the_crps(batch):
    levels = (np.arange(4_000) + 0.5) / 4_000
    assert 2 * pinball_loss(Y, batch, levels=levels).mean == pytest.approx(crps(Y, batch), rel=1e-3)


def test_pinball_messages():
    for levels in ([0.5, 1.0], [], [0.0], [[0.5]]):
        with pytest.raises(InputError, match=r"levels must be one or more numbers between 0 and 1, such as 0\.9"):
            pinball_loss(Y, Normal(MEAN, STD), levels=levels)
    vector = MultivariateNormal([[0.0, 0.0]], np.eye(2))
    with pytest.raises(InputError, match=r"the pinball loss needs one number a target, got targets of shape \(2,\)"):
        pinball_loss([[1.0, 3.0]], vector)


def test_pinball_prints_a_table():
    text = repr(pinball_loss([1.0], Normal([0.0], [1.0]), levels=[0.5]))
    assert text.splitlines() == ["Pinball loss", "------------", "mean       0.5", "rows       1", "level 0.5  0.5"]
    assert "<table>" in pinball_loss([1.0], Normal([0.0], [1.0]))._repr_html_()


# ---- coverage


def test_coverage_of_normal_intervals():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=300), rng.exponential(size=300) + 0.1
    y = mean + 1.4 * std * rng.normal(size=300)
    result = central_coverage(y, Normal(mean, std))
    z = np.abs(y - mean) / std
    assert result.shares == pytest.approx([np.mean(z <= stats.norm.ppf((1 + c) / 2)) for c in (0.5, 0.9, 0.95)])
    assert result.expected == pytest.approx([0.5, 0.9, 0.95], rel=1e-12)
    interval = stats.binomtest(int((z <= stats.norm.ppf(0.95)).sum()), 300).proportion_ci(method="exact")
    assert (result.low[1], result.high[1]) == pytest.approx((interval.low, interval.high))
    assert result.high[1] < 0.9
    assert "90 %  0.7" in repr(result)
    assert "<table>" in result._repr_html_()


def test_intervals_are_closed_and_counts_say_what_they_hold():
    # Poisson(3): quantile .25 is 2, quantile .75 is 4, and P(2 <= Y <= 4) = .6161 is more than 1/2
    result = central_coverage([1, 2, 3, 4, 5], Poisson(np.full(5, 3.0)), levels=[0.5])
    assert result.shares == pytest.approx([0.6])
    assert result.expected == pytest.approx([stats.poisson(3).cdf(4) - stats.poisson(3).cdf(1)])


def test_expected_coverage_is_that_of_redrawn_targets():
    rng = np.random.default_rng(3)
    for batch in (
        Poisson(rng.exponential(size=2000) * 4),
        NegativeBinomial(rng.exponential(size=2000) * 4, 0.7),
        Quantiles(np.sort(rng.integers(0, 4, size=(2000, 4)), axis=1), [0.1, 0.3, 0.6, 0.9]),
        Mixture([0.3, 0.7], [Samples(np.zeros((2000, 1))), Normal(np.zeros(2000), 1.0)]),
    ):
        result = central_coverage(batch.sample(rng)[0], batch, confidence_level=0.9999)
        assert np.all((result.low <= result.expected) & (result.expected <= result.high))
        assert np.all(result.expected > np.array([0.5, 0.9, 0.95]) - 1e-12)


def test_a_quantile_that_was_given_is_inside():
    # 0.9 asks for the levels 0.05 and 0.95 themselves: both ends are inside
    batch = Quantiles([[1.0, 2.0, 3.0]] * 4, [0.05, 0.5, 0.95])
    result = central_coverage([1.0, 3.0, 0.999, 3.001], batch, levels=[0.9])
    assert result.shares == pytest.approx([0.5])
    assert result.expected == pytest.approx([0.9])
    # (1 - 0.7) / 2 is 0.15000000000000002 in floating point, whose quantile is a little above 0
    assert central_coverage([0.0], Quantiles([[0.0, 2.0, 3.0]], [0.15, 0.5, 0.85]), levels=[0.7]).shares[0] == 1


def test_intervals_between_quantiles_that_were_not_given_are_noted():
    batch = Quantiles([[0.0, 2.0, 3.0]], [0.05, 0.5, 0.95])
    assert central_coverage([0.0], batch, levels=[0.9]).notes == ()
    (note,) = central_coverage([0.0], batch, levels=[0.9, 0.5]).notes
    assert note.startswith("50 % intervals need the quantiles 0.25 and 0.75, which were not given")


@pytest.mark.parametrize("members", [1, 2, 3, 9, 19, 20])
def test_coverage_of_draws_is_reached_on_the_grid_of_ranks(members):
    rng = np.random.default_rng(4)
    n = 4000
    values = rng.normal(size=(n, members + 1)) + rng.normal(size=(n, 1))
    result = central_coverage(values[:, 0], Samples(values[:, 1:]), confidence_level=0.9999)
    grid = (members + 1 - 2 * np.arange(1, members // 2 + 2)) / (members + 1)
    reach = (members - 1) / (members + 1)
    for c, expected, low, high in zip(result.levels, result.expected, result.low, result.high, strict=True):
        enough = grid[grid >= c - 1e-9]
        assert expected == pytest.approx(enough.min() if len(enough) else reach)
        assert low <= expected <= high
    short = [c for c in result.levels if reach < c - 1e-9]
    assert len(result.notes) == len(short)


def test_notes_of_few_draws():
    result = central_coverage([0.0], Samples([[0.0, 1.0, 2.0]]), levels=[0.9])
    assert result.expected == pytest.approx([0.5])
    assert result.notes[0].startswith(
        "intervals of 90 % need at least 19 draws, and there are fewer in 1 of 1 rows (at most 3)"
    )
    assert "covers at most 0.500" in result.notes[0]


def test_draws_of_weight_zero_do_not_count_and_unequal_weights_are_a_distribution():
    draws = np.array([[5.0, 0.0, 1.0, 2.0]])
    few = central_coverage([5.0], Samples(draws, weights=[[0.0, 1.0, 1.0, 1.0]]), levels=[0.5])
    assert few.shares[0] == 0
    assert few.expected == pytest.approx([0.5])
    weighted = central_coverage([2.0], Samples(draws, weights=[[0.1, 0.2, 0.3, 0.4]]), levels=[0.5])
    assert weighted.shares[0] == 1
    assert weighted.expected == pytest.approx([0.7])  # from 1 to 2
    assert "the draws have unequal weights" in weighted.notes[0]


def test_coverage_with_weights_has_no_binomial_interval():
    result = central_coverage([0.0, 9.0], Normal([0.0, 0.0], 1.0), levels=[0.5], weights=[3, 1])
    assert result.shares == pytest.approx([0.75])
    assert np.isnan(result.low).all()
    assert "is not binomial" in result.notes[0]
    assert result.to_dict()["low"] == [None]
    assert repr(result).splitlines()[3] == "50 %  0.750, expected 0.500"


def test_coverage_messages():
    with pytest.raises(InputError, match=r"confidence_level must lie between 0 and 1, such as 0\.95, got 95"):
        central_coverage([0.0], Normal([0.0], 1.0), confidence_level=95)
    with pytest.raises(InputError, match="levels must be one or more numbers between 0 and 1"):
        central_coverage([0.0], Normal([0.0], 1.0), levels=[90])
    with pytest.raises(InputError, match="the coverage of intervals needs one number a target"):
        central_coverage([[0.0, 1.0]], MultivariateNormal([[0.0, 0.0]], np.eye(2)))
