"""Kaplan-Meier, D-calibration, concordance and the weighted Brier score by naive loops; values of others."""

import numpy as np
import pytest
from scipy import stats

from kernelcal.survival import brier_at, concordance, d_calibration, kaplan_meier


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    times, ends = rng.exponential(size=n), rng.exponential(size=n) * 1.5
    return np.minimum(times, ends).round(1), times <= ends, rng.normal(size=n).round(1)


def naive_survival(time, event, t):
    s = 1.0
    for moment in np.unique(time[event]):
        if moment <= t:
            s *= 1 - np.sum(event & (time == moment)) / np.sum(time >= moment)
    return s


def test_kaplan_meier_is_the_product_over_times():
    time, event, _ = data()
    curve = kaplan_meier(time, event)
    for t in (0.0, 0.3, 0.9, 5.0):
        assert curve.at(t) == pytest.approx(naive_survival(time, event, t))


def test_kaplan_meier_of_the_six_mp_trial():
    """Remission of 21 patients (Freireich 1963): the estimates and standard errors printed by Collett (2015)."""
    time = np.array([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35.0])
    event = np.array([1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0], dtype=bool)
    curve = kaplan_meier(time, event)
    assert curve.times.tolist() == [6, 7, 10, 13, 16, 22, 23]
    np.testing.assert_allclose(curve.survival, [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482], atol=6e-5)
    error = curve.survival * np.sqrt(curve.variance)
    np.testing.assert_allclose(error, [0.0764, 0.0869, 0.0963, 0.1068, 0.1141, 0.1282, 0.1346], atol=6e-5)


def test_whole_weights_count_as_rows_for_the_curve():
    time, event, _ = data()
    weights = np.random.default_rng(1).integers(1, 4, len(time))
    rows = np.repeat(np.arange(len(time)), weights)
    found, expected = kaplan_meier(time, event, weights.astype(float)), kaplan_meier(time[rows], event[rows])
    np.testing.assert_allclose(found.survival, expected.survival)


def test_nobody_with_an_event_is_no_certainty():
    """Ends of Clopper and Pearson, ``(tail)^(1 / m)`` of m rows without an event; 0 of none watched."""
    time, event = np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, False, True, False])
    curve = kaplan_meier(time, event)
    assert curve.interval(0.5, 0.95) == (pytest.approx(0.025 ** (1 / 4)), 1.0)
    assert curve.interval(1.5, 0.95) == (pytest.approx(0.025 ** (1 / 3)), 1.0)
    assert kaplan_meier(time, ~event).interval(5.0, 0.95)[1] > 0.5  # the last of two died: the upper end of before
    assert kaplan_meier(time, np.ones(4, dtype=bool)).interval(4.0, 0.95)[1] > 0.3
    assert kaplan_meier(np.ones(3), np.ones(3, dtype=bool)).interval(1.0, 0.95) == (
        0.0,
        pytest.approx(1 - 0.025 ** (1 / 3)),
    )
    assert [curve.known(t) for t in (0.5, 4.0, 4.1)] == [True, True, False]


def test_the_interval_before_the_first_event_holds_the_truth():
    """Share of 500 sets of 8 rows: the binomial end holds, where the estimate alone is wrong nearly always."""
    rng, held = np.random.default_rng(5), 0
    for _ in range(500):
        times, ends = rng.exponential(size=8), rng.exponential(2.0, 8)
        low, high = kaplan_meier(np.minimum(times, ends), times <= ends).interval(0.1, 0.95)
        held += low <= np.exp(-0.1) <= high
    assert held >= stats.binom.ppf(0.001, 500, 0.95)


def naive_concordance(time, event, risk):
    pairs = agreeing = 0.0
    for i in np.flatnonzero(event):
        for j in range(len(time)):
            if time[j] > time[i] or (time[j] == time[i] and not event[j]):
                pairs += 1
                agreeing += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
    return agreeing / pairs


def test_concordance_counts_pairs():
    time, event, risk = data()
    assert concordance(time, event, risk) == pytest.approx(naive_concordance(time, event, risk))
    assert concordance(time, np.zeros(len(time), dtype=bool), risk) is None


def naive_brier(t, survival, time, event):
    total = 0.0
    for i in range(len(time)):
        at = time[i] if event[i] and time[i] <= t else t
        censoring = 1.0  # P(C >= at): events leave first
        for moment in np.unique(time[~event]):
            if moment < at:
                left = np.sum(time >= moment) - np.sum(event & (time == moment))
                censoring *= 1 - np.sum(~event & (time == moment)) / left
        if event[i] and time[i] <= t:
            total += survival[i] ** 2 / censoring
        elif time[i] >= t:
            total += (1 - survival[i]) ** 2 / censoring
    return total / len(time)


@pytest.mark.parametrize("t", [0.35, 0.7, 1.1])
def test_the_brier_score_weights_by_the_inverse_of_censoring(t):
    time, event, risk = data()
    survival = 1 / (1 + np.exp(risk))
    assert brier_at(t, survival, time, event) == pytest.approx(naive_brier(t, survival, time, event))


def test_the_brier_score_without_censoring_is_a_mean_of_squares():
    time, _, risk = data()
    survival, event = 1 / (1 + np.exp(risk)), np.ones(len(time), dtype=bool)
    assert brier_at(0.55, survival, time, event) == pytest.approx(np.mean((survival - (time > 0.55)) ** 2))


def test_the_brier_score_is_not_known_where_nobody_was_watched():
    time, event = np.array([1.0, 2.0, 3.0]), np.array([True, True, False])
    assert np.isnan(brier_at(4.0, np.full(3, 0.1), time, event))
    assert brier_at(3.0, np.full(3, 0.1), time, event) == pytest.approx((2 * 0.1**2 + 0.9**2) / 3)


def naive_deciles(hazard, event):
    counts = np.zeros(10)
    for h, e in zip(hazard, event, strict=True):
        s = np.exp(-h)
        k = min(int(s * 10), 9)
        if e:
            counts[k] += 1
        else:
            counts[k] += (s - k / 10) / s
            counts[:k] += 0.1 / s
    n = len(hazard)
    assert counts.sum() == pytest.approx(n)
    return ((counts - n / 10) ** 2 / (n / 10)).sum()


def test_d_calibration_spreads_censored_rows_over_what_is_left():
    time, event, _ = data(seed=4)
    hazard = time + 0.013
    assert d_calibration(hazard, event) == pytest.approx(naive_deciles(hazard, event))
