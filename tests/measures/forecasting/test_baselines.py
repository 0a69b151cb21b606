"""Skill: against the ratio of means, intervals that cover, dependent rows, climatologies."""

import numpy as np
import pytest
from scipy.stats import t, ttest_rel

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures import ThresholdCRPS, climatology, skill
from kernelcal.statistics import crps, crps_rows


def forecasts(n=300, seed=0):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=n)
    return centre + rng.normal(size=n), kc.Normal(centre, np.ones(n))


def test_it_is_one_less_the_ratio_of_mean_scores():
    y, batch = forecasts()
    naive = kc.Normal(np.zeros(300), np.full(300, 1.5))
    found = skill(y, batch, naive)
    assert found.skill == pytest.approx(1 - crps(y, batch) / crps(y, naive))
    row = found.rows[0]
    assert row.interval[0] < row.skill < row.interval[1]
    assert "Skill in the CRPS against the baseline" in found.summary()
    assert found.to_dict()["rows"][0]["n"] == 300


def test_intervals_cover_the_skill():
    """Of normal forecasts whose scores are known: ``s / sqrt(pi)`` against that of a wider normal law."""
    truth, held = 1 - 1 / np.sqrt(2), 0
    for seed in range(200):
        y, batch = forecasts(120, seed)
        row = skill(y, batch, kc.Normal(np.zeros(120), np.full(120, np.sqrt(2)))).rows[0]
        held += row.interval[0] <= truth <= row.interval[1]
    assert 180 <= held <= 199  # 190 +- 3 standard deviations


def test_the_pvalue_is_that_of_student_and_the_interval_of_the_delta_method():
    y, batch = forecasts(9)
    naive = kc.Normal(np.zeros(9), np.full(9, 1.5))
    row, own, other = skill(y, batch, naive).rows[0], crps_rows(y, batch), crps_rows(y, naive)
    assert row.pvalue == pytest.approx(ttest_rel(own, other).pvalue)
    parts = own / other.mean() - own.mean() * other / other.mean() ** 2
    ends = row.skill + t.ppf([0.025, 0.975], 8) * parts.std(ddof=1) / 3
    assert row.interval == pytest.approx((ends[0], min(ends[1], 1)))


def test_rows_that_depend_have_wider_intervals():
    y, batch = forecasts(100)
    twice = kc.Normal(np.repeat(batch.mean, 5), np.ones(500)), kc.Normal(np.zeros(500), np.full(500, 1.4))
    once = skill(y, batch, kc.Normal(np.zeros(100), np.full(100, 1.4))).rows[0]
    alone = skill(np.repeat(y, 5), *twice).rows[0]
    found = skill(np.repeat(y, 5), *twice, clusters=np.repeat(np.arange(100), 5))
    widths = [np.diff(row.interval)[0] for row in (once, alone, found.rows[0])]
    assert widths[2] == pytest.approx(widths[0], rel=0.02)
    assert widths[1] < 0.6 * widths[0]
    overlapping = skill(np.repeat(y, 5), *twice, horizon=5).rows[0]
    assert np.diff(overlapping.interval)[0] > 1.5 * widths[1]


def test_groups_and_scores():
    y, batch = forecasts()
    station = np.where(np.arange(300) % 3 == 0, "north", "south")
    found = skill(y, batch, score=ThresholdCRPS(lower=1.0), groups={"station": station})
    assert [(row.column, row.group) for row in found.rows] == [("", ""), ("station", "north"), ("station", "south")]
    assert found.rows[1].n == 100
    assert found.rows[1].score == pytest.approx(float(ThresholdCRPS(lower=1.0)(y[station == "north"], batch[::3])))
    pytest.importorskip("matplotlib").use("agg")
    assert len(found.plot().get_yticks()) == 3


def test_a_skill_as_small_as_the_price_of_the_climatology_is_said_to_be_so():
    """Forecasts that are the climate itself have a skill of 1 / n on average, which p-values call a difference."""
    rng = np.random.default_rng(0)
    found = [skill(rng.normal(size=30), kc.Normal(np.zeros(30), 1.0)) for _ in range(60)]
    assert np.mean([one.skill for one in found]) == pytest.approx(1 / 30, abs=0.02)
    assert np.mean([one.rows[0].pvalue <= 0.05 for one in found]) > 0.15
    said = ["pays about 1 part in 30 of its score" in " ".join(one.summary().split()) for one in found]
    assert said == [0 < one.skill < 5 / 30 for one in found]
    centre = rng.normal(size=300)
    assert not any("pays" in note for note in skill(centre + rng.normal(size=300), kc.Normal(centre, 1.0)).notes)


def test_few_rows_claim_no_more_than_they_tell():
    """One difference in all rows has no error, and no skill is above 1."""
    same = skill([1.0, 2, 3, 4], kc.Normal([1.0, 2, 3, 4], 1.0), kc.Normal([2.0, 3, 4, 5], 1.0)).rows[0]
    assert same.skill > 0.5
    assert np.isnan([*same.interval, same.pvalue]).all()
    assert skill([1.0, 2, 4], kc.Normal([1.0, 2, 3], 1.0), kc.Normal([1.0, 2, 3], 1.0)).rows[0].pvalue == 1
    assert skill([1.0, 2, 3], kc.Normal([1.0, 2, 3], 1.0)).rows[0].interval[1] == 1


def test_refusals():
    y, batch = forecasts(20)
    with pytest.raises(InputError, match="baseline must be 'climatology' or forecasts of the same rows, got 'mean'"):
        skill(y, batch, "mean")
    for score in ("slope", "coverage"):
        with pytest.raises(InputError, match=r"score must be one of 'crps', .*, got '[sc]"):
            skill(y, batch, score=score)
    with pytest.raises(InputError, match="a climatology is what happened in other rows, and some rows have none"):
        climatology([1.0], kc.Normal([0.0], [1.0]))
