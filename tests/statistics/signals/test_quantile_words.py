"""Words of quantile forecasts: intervals that are shifted are not called too narrow."""

import numpy as np
import pytest
from scipy.stats import norm

import kernelcal as kc

LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def directions(shift, spread, options=None):
    rng = np.random.default_rng(11)
    mean = rng.normal(size=300)
    outcomes = mean + shift + spread * rng.normal(size=300)
    quantiles = kc.Quantiles(mean[:, None] + norm.ppf(LEVELS), LEVELS)
    return " ".join(kc.calibration_test(outcomes, quantiles, draws=99, **(options or {})).directions)


@pytest.mark.parametrize("shift", [1, -1])
@pytest.mark.parametrize("options", [None, {"clusters": np.arange(300) // 5}, {"horizon": 3}])
def test_wide_intervals_that_are_shifted_are_not_called_narrow(shift, options):
    said = directions(shift, 0.6, options)
    assert "too narrow" not in said
    assert "outside the intervals more often than claimed, on one side only" in said
    assert f"lie {'above' if shift > 0 else 'below'} the quantiles more often" in said


@pytest.mark.parametrize(
    ("shift", "spread", "word"), [(0, 1.6, "too narrow"), (0.3, 1.8, "too narrow"), (0, 0.5, "too wide")]
)
def test_widths_are_told(shift, spread, word):
    assert word in directions(shift, spread)
