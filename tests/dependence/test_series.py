"""Whether series that are taken as independent of each other deviate alike at the same times."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.dependence import Dependence, suspicious_series
from kernelcal.predictions import Normal


def stations(seed, shared, *, steps=1, number=6, times=80, bias=0.0):
    """Errors of overlapping forecasts, sums of so many steps, that share a part."""
    rng = np.random.default_rng(seed)
    own, common = rng.normal(size=(times + steps, number)), rng.normal(size=(times + steps, 1))
    noise = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
    error = sum(noise[k : k + times] for k in range(steps)) / np.sqrt(steps)
    mean = rng.normal(size=(times, number))
    series, time = np.tile(np.arange(number), times), np.repeat(np.arange(times), number)
    return (mean + error + bias).ravel(), Normal(mean.ravel(), np.ones(times * number)), time, series


@pytest.mark.parametrize("steps", [1, 4])
def test_a_shared_part_is_seen_in_any_order_of_the_rows(steps):
    y, predictions, time, series = stations(0, 0.4, steps=steps)
    order = np.random.default_rng(1).permutation(len(y))
    rows = Dependence.of(len(y), time=time[order], series=series[order], horizon=steps)
    (said,) = suspicious_series(predictions[order], y[order], rows)
    assert said.startswith("the 6 series deviate alike at the same times, and a p-value that takes them as independent")
    result = kc.calibration_test(
        y[order], predictions[order], time=time[order], series=series[order], horizon=steps, draws=99
    )
    assert said in result.notes


def test_times_of_series_that_begin_late_are_the_same_times():
    y, predictions, time, series = stations(2, 0.5)
    there = time >= 3 * series
    rows = Dependence.of(int(there.sum()), time=time[there], series=series[there], horizon=1)
    assert suspicious_series(predictions[there], y[there], rows)
    assert suspicious_series(predictions[there][:300], y[there][:300], rows[np.arange(300)])


def test_one_series_few_times_and_clusters_are_not_looked_at():
    y, predictions, time, series = stations(3, 0.9)
    for said in ({"horizon": 2}, {"clusters": time}):
        assert suspicious_series(predictions, y, Dependence.of(len(y), **said)) == ()
    early = time < 8
    rows = Dependence.of(int(early.sum()), time=time[early], series=series[early], horizon=1)
    assert suspicious_series(predictions[early], y[early], rows) == ()


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 4])
def test_false_alarms_are_about_one_in_a_hundred(steps):
    """120 data sets of series without a shared part, all off by the same: at 1 % more than 5 have probability 0.002."""
    alarms = 0
    for seed in range(120):
        y, predictions, time, series = stations(seed + 10, 0.0, steps=steps, number=4, times=50, bias=0.4)
        alarms += bool(suspicious_series(predictions, y, Dependence.of(200, time=time, series=series, horizon=steps)))
    assert alarms <= 5
