"""Scores of quantile forecasts: by hand, against a naive second implementation, and their identities."""

import json

import numpy as np
import pytest

from kernelcal import Normal, Quantiles
from kernelcal.errors import InputError
from kernelcal.statistics import (
    pinball_loss,
    quantile_calibration,
    weighted_interval_score,
    weighted_interval_score_rows,
)

LEVELS = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])


def forecasts(n=200, seed=0):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=(n, len(LEVELS))), axis=1)
    return rng.normal(size=n) * 2, Quantiles(values, LEVELS)


def naive(y, q, levels):
    """Bracher and others (2021), eq. 1 and 2, and the parts of its section 2.2."""
    number = len(levels) // 2
    spread = over = under = 0.0
    for k in range(number):
        low, high, alpha = q[k], q[-1 - k], 2 * levels[k]
        spread += alpha / 2 * (high - low)
        over += max(low - y, 0)
        under += max(y - high, 0)
    over += max(q[number] - y, 0) / 2
    under += max(y - q[number], 0) / 2
    return np.array([spread, over, under]) / (number + 0.5)


def test_score_and_parts_are_those_of_the_definition():
    y, batch = forecasts()
    expected = np.array([naive(a, q, LEVELS) for a, q in zip(y, np.asarray(batch.values), strict=True)])
    found = weighted_interval_score(y, batch)
    np.testing.assert_allclose([found.spread, found.over, found.under], expected.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.value, expected.sum(axis=1).mean(), rtol=1e-12)
    np.testing.assert_allclose(weighted_interval_score_rows(y, batch), expected.sum(axis=1), rtol=1e-12)
    assert float(found) == pytest.approx(2 * pinball_loss(y, batch).mean)


def test_intervals():
    y, batch = forecasts()
    found, q = weighted_interval_score(y, batch), np.asarray(batch.values)
    np.testing.assert_allclose(found.nominal, [0.5, 0.8, 0.9])
    low, high = q[:, 1], q[:, 5]
    assert found.width[1] == pytest.approx((high - low).mean())
    assert found.share[1] == ((low <= y) & (y <= high)).mean()
    score = (high - low) + 10 * np.maximum(low - y, 0) + 10 * np.maximum(y - high, 0)
    assert found.interval_score[1] == pytest.approx(score.mean())


@pytest.mark.parametrize("levels", [[0.05], [0.2, 0.5, 0.7], [0, 0.25, 0.75, 1]])
def test_any_levels_have_a_score(levels):
    y = np.array([0.5, 2.0, 7.0])
    batch = Quantiles(np.tile(np.arange(len(levels)) * 1.0, (3, 1)), levels)
    found, inner = weighted_interval_score(y, batch), [t for t in levels if 0 < t < 1]
    losses = [
        np.mean([max(t * (v - q), (t - 1) * (v - q)) for v in y])
        for t, q in zip(levels, range(9), strict=False)
        if t in inner
    ]
    assert found.value == pytest.approx(2 * np.mean(losses))
    assert found.spread + found.over + found.under == pytest.approx(found.value)


def test_weights_are_importances():
    y, batch = forecasts(20)
    weights = np.repeat([1, 3], 10)
    twice = np.repeat(np.arange(20), weights)
    found = weighted_interval_score(y, batch, weights=weights).to_dict()
    repeated = weighted_interval_score(y[twice], batch[twice]).to_dict()
    for name in ("value", "spread", "over", "under", "share", "interval_score", "width"):
        np.testing.assert_allclose(found[name], repeated[name], rtol=1e-12)


def test_pinball_loss_is_that_of_the_levels_that_were_given():
    batch = Quantiles(np.tile([1.0, 2.0, 4.0], (4, 1)), [0.2, 0.5, 0.8])
    found = pinball_loss([1.5] * 4, batch)
    np.testing.assert_array_equal(found.levels, [0.2, 0.5, 0.8])
    assert float(found) == pytest.approx((0.2 * 0.5 + 0.5 * 0.5 + 0.2 * 2.5) / 3)
    assert found.notes == ()
    assert pinball_loss([1.5] * 4, batch, levels=[0.3, 0.5]).notes == (
        "the quantiles of 0.3 were not given: they are interpolated",
    )


def test_pinball_loss_at_levels_0_and_1_is_finite():
    batch = Quantiles(np.tile([1.0, 2.0, 4.0], (4, 1)), [0, 0.5, 1])
    np.testing.assert_allclose(pinball_loss([1.5] * 4, batch).losses, [0, 0.25, 0])
    np.testing.assert_allclose(pinball_loss([0.5] * 4, batch).losses, [0.5, 0.75, 0])
    np.testing.assert_allclose(pinball_loss([5.0] * 4, batch, levels=[0, 1]).losses, [0, 1])


def test_quantile_calibration_counts_at_the_given_levels():
    batch = Quantiles(np.tile([1.0, 2.0, 4.0], (4, 1)), [0.2, 0.5, 0.8])
    found = quantile_calibration([1.5, 0.5, 3.0, 9.0], batch)
    np.testing.assert_array_equal(found.levels, [0.2, 0.5, 0.8])
    np.testing.assert_array_equal(found.shares, [0.25, 0.5, 0.75])
    assert found.below is None
    with pytest.raises(InputError, match=r"the quantiles of 0\.3 were not given.*name some of 0\.2, 0\.5, 0\.8"):
        quantile_calibration([1.5] * 4, batch, levels=[0.3])


def test_quantile_calibration_of_ties_has_two_shares():
    batch = Quantiles(np.tile([1.0, 2.0, 4.0], (4, 1)), [0.2, 0.5, 0.8])
    found = quantile_calibration([1.0, 2.0, 2.0, 9.0], batch)
    np.testing.assert_array_equal(found.below, [0, 0.25, 0.75])
    np.testing.assert_array_equal(found.shares, [0.25, 0.75, 0.75])
    assert found.largest_gap == pytest.approx(0.05)
    assert "0.25 below, 0.75 at or below" in found.summary()
    json.dumps(found.to_dict())
    with pytest.raises(InputError, match="which have no band"):
        found.band()


def test_other_families_are_refused():
    with pytest.raises(
        InputError, match="the weighted interval score needs predictions given by quantiles, got Normal"
    ):
        weighted_interval_score([1.0], Normal([0.0], [1.0]))


def test_a_result_prints_and_is_json():
    y, batch = forecasts()
    found = weighted_interval_score(y, batch)
    assert "Weighted interval score" in found.summary()
    assert "90 %" in found.summary()
    json.dumps(found.to_dict())
