"""Threshold-weighted CRPS: against integrals, moved ensembles, and parts that sum to the CRPS."""

from itertools import pairwise

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures import ThresholdCRPS
from kernelcal.measures.forecasting.thresholds import _continuous
from kernelcal.predictions import Gamma, Mixture, NegativeBinomial, Poisson, StudentT
from kernelcal.statistics import crps_rows

N = 60
R = np.random.default_rng(0)
MEAN, STD = R.normal(size=N), R.uniform(0.5, 2, N)
LEVELS = np.array([0.02, 0.1, 0.5, 0.8, 0.97])
NORMAL = kc.Normal(MEAN, STD)
NUMBERS = {
    "normal": NORMAL,
    "student": StudentT(np.full(N, 5.0), MEAN, STD),
    "gamma": Gamma(R.uniform(1, 3, N), R.uniform(0.5, 2, N)),
    "quantiles": kc.Quantiles(NORMAL.quantile(LEVELS[:, None]).T, LEVELS),
    "quantiles, exponential": kc.Quantiles(NORMAL.quantile(LEVELS[:, None]).T, LEVELS, tails="exponential"),
    "mixture": Mixture([0.3, 0.7], [NORMAL, kc.Normal(MEAN + 2, STD)]),
    "ensemble": kc.Samples(MEAN[:, None] + STD[:, None] * R.normal(size=(N, 11))),
    "poisson": Poisson(R.uniform(0.3, 9, N)),
    "negative binomial": NegativeBinomial(R.uniform(1, 9, N), R.uniform(0.2, 0.8, N)),
}


def rows(measure, batch, y):
    return measure.prepare(batch).rows(y)


@pytest.mark.parametrize("name", NUMBERS)
def test_parts_between_thresholds_sum_to_the_crps(name):
    batch = NUMBERS[name]
    y = batch.sample(1)[0].astype(float) + (1 if batch.counts else 0.7)
    ends = [-np.inf, -0.3, 1.2, 4.0, np.inf]
    parts = [rows(ThresholdCRPS(lower=a, upper=b), batch, y) for a, b in pairwise(ends)]
    assert min(part.min() for part in parts) > -1e-12
    np.testing.assert_allclose(sum(parts), crps_rows(y, batch), rtol=2e-8, atol=1e-10)


@pytest.mark.parametrize(("low", "high"), [(0.5, np.inf), (-np.inf, 0.1), (-0.4, 1.3)])
def test_two_ways_to_the_score_of_normals(low, high):
    y = MEAN + STD * R.normal(size=N) * 2
    found = rows(ThresholdCRPS(lower=low, upper=high), NORMAL, y)
    np.testing.assert_allclose(_continuous(NORMAL, low, high)(y), found, rtol=1e-9, atol=1e-12)
    x = np.linspace(max(low, -20), min(high, 20), 400_001)
    steps = [((NORMAL[i : i + 1].cdf(x[:, None])[:, 0] - (y[i] <= x)) ** 2).mean() * np.ptp(x) for i in range(3)]
    np.testing.assert_allclose(found[:3], steps, rtol=1e-3)


def test_values_of_scoringrules():
    """crps_cnormal and twcrps_ensemble of scoringrules 0.10.0: experiments/peers/scores.py compares more."""
    two = kc.Normal([0.0, 1.0], [1.0, 2.0])
    y = np.array([2.0, -1.0])
    np.testing.assert_allclose(rows(ThresholdCRPS(lower=0.5), two, y), CENSORED, rtol=1e-12)
    some = kc.Samples([[0.0, 1.0, 3.0, 4.0], [-2.0, 0.0, 1.0, 1.5]])
    np.testing.assert_allclose(rows(ThresholdCRPS(lower=0.5, upper=2.0), some, y), ENSEMBLE, rtol=1e-12)


CENSORED = [1.1557768356868594, 0.3851371675454226]
ENSEMBLE = [0.28125, 0.15625]


def test_refusals():
    with pytest.raises(InputError, match="lower must lie below upper, got 3 and 2"):
        ThresholdCRPS(lower=3, upper=2)
    with pytest.raises(InputError, match=r"asks for a threshold: say twcrps\(lower=20\)"):
        kc.measures.measure(MEAN, NORMAL, "twcrps")
    assert "twcrps" not in kc.measures.serving(NORMAL)
    with pytest.raises(InputError, match="upper must be a number in the unit of the target, or be left out, got 'a'"):
        ThresholdCRPS(upper="a")
    with pytest.raises(InputError, match="threshold-weighted CRPS above 1 is for predictions of one number, got Bern"):
        ThresholdCRPS(lower=1)([0, 1], kc.Bernoulli([0.2, 0.3]))
