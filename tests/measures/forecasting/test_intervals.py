"""Interval scores: parts that sum to the whole, quantiles that were not given, coverage by cells."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures import measure
from kernelcal.measures.forecasting import IntervalCoverage, IntervalOver, IntervalScore, IntervalUnder, IntervalWidth
from kernelcal.statistics import weighted_interval_score


def forecasts(n=200, seed=0):
    rng = np.random.default_rng(seed)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    mean = rng.normal(size=n)
    values = kc.Normal(mean, np.ones(n)).quantile(levels[:, None]).T
    return mean + 1.3 * rng.normal(size=n), kc.Quantiles(values, levels)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_parts_sum_to_the_score_of_every_interval(level):
    y, batch = forecasts()
    own = weighted_interval_score(y, batch)
    k = int(np.abs(own.nominal - level).argmin())
    parts = [float(one(level=level)(y, batch)) for one in (IntervalWidth, IntervalOver, IntervalUnder)]
    assert float(IntervalScore(level=level)(y, batch)) == pytest.approx(own.interval_score[k], rel=1e-12)
    assert sum(parts) == pytest.approx(own.interval_score[k], rel=1e-12)
    assert parts[0] == pytest.approx(own.width[k])
    assert float(IntervalCoverage(level=level)(y, batch)) == pytest.approx(own.share[k])


def test_by_hand():
    """interval_score of scoringrules 0.10.0 of these: 3.2, 8.0."""
    batch = kc.Quantiles([[1.0, 2.0, 4.2], [0.0, 1.0, 3.0]], [0.1, 0.5, 0.9])
    rows = IntervalScore(level=0.8).prepare(batch).rows(np.array([2.0, 3.5]))
    np.testing.assert_allclose(rows, [3.2, 8.0], rtol=1e-12)


def test_no_outcome_changes_the_width():
    y, batch = forecasts()
    found = measure(y, batch, "width", draws=49)["interval width of 90 %"]
    assert found.value == found.expected
    assert found.pvalue == 1
    assert found.interval[0] < 3.29 < found.interval[1] + 1e-3


def test_levels_that_were_not_given_are_interpolated_and_that_is_said():
    y, batch = forecasts()
    notes = IntervalScore(level=0.8)(y, batch).notes
    assert "interval score of 80 %: the quantiles 0.1 and 0.9 were not given: they are interpolated" in notes
    assert not any("interpolated" in note for note in IntervalScore(level=0.9)(y, batch).notes)


def test_coverage_of_given_quantiles_is_tested_without_a_law_between_them():
    """The exact p-value of a share: twice the smaller tail of a binomial law."""
    from scipy.stats import binom

    y, batch = forecasts()
    assert IntervalCoverage().prepare(batch).by_cells
    found = measure(y, batch, "coverage", draws=999)
    share = found["coverage of 90 %"]
    hits = round(share.value * 200)
    assert share.pvalue == pytest.approx(min(1, 2 * binom.cdf(hits, 200, 0.9)), abs=0.015)
    assert share.expected == pytest.approx(0.9, abs=0.005)
    assert not any("linear between the quantiles" in note for note in found.notes)


def test_refusals():
    with pytest.raises(InputError, match=r"level must lie between 0 and 1, such as 0.9 for 90 %, got 90"):
        IntervalScore(level=90)
    with pytest.raises(InputError, match="coverage of 90 % is for predictions of one number, got Categorical"):
        IntervalCoverage()([0, 1], [[0.2, 0.8], [0.5, 0.5]])
