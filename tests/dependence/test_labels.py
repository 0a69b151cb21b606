"""Whether rows with one label look as if they depended on each other."""

import numpy as np
import pytest

from kernelcal.dependence import suspicious_labels
from kernelcal.predictions import Bernoulli, Normal


def races(seed, days=40, number=67):
    """Calibrated forecasts of elections, a row a race and day in the order of days."""
    rng = np.random.default_rng(seed)
    last = rng.normal(size=number) * 1.5
    won = rng.random(number) < 1 / (1 + np.exp(-last))
    drift = rng.normal(size=(days, number)).cumsum(axis=0)[::-1] * 0.1
    p = 1 / (1 + np.exp(-(last + drift)))
    return p.ravel(), np.tile(won, days).astype(int), np.tile(np.arange(number), days)


@pytest.mark.parametrize("seed", range(3))
def test_forecasts_of_one_race_are_seen(seed):
    p, y, race = races(seed)
    said = suspicious_labels(Bernoulli(p), y, {"race": race})
    assert said.startswith(
        "rows of one race deviate alike (67 are there more than once), and p-values that take rows as"
    )
    assert said.endswith("say --clusters race (clusters=) if it names what rows share")


def test_numbers_and_many_rows_are_seen_by_the_labels_of_some():
    rng = np.random.default_rng(0)
    patient = rng.permutation(np.repeat(np.arange(9_000), 3))
    y = 0.5 * rng.normal(size=9_000)[patient] + np.sqrt(0.75) * rng.normal(size=27_000)
    said = suspicious_labels(Normal(np.zeros(27_000), np.ones(27_000)), y, {"patient": patient})
    assert said.startswith("rows of one patient deviate alike (9,000 are there more than once)")


def test_few_labels_ids_of_rows_and_constants_are_not_looked_at():
    p, y, race = races(0)
    for labels in (race % 5, np.arange(len(p)), np.zeros(len(p), dtype=int), np.minimum(race, 20)):
        assert suspicious_labels(Bernoulli(p), y, {"race": labels}) == ""
    assert suspicious_labels(Bernoulli(p[:29]), y[:29], {"race": race[:29] // 2}) == ""


def test_false_alarms_are_one_in_a_hundred_data_sets_at_most():
    """120 sets of independent rows, right and wrong models; at 1 % more than 6 have probability 0.0003."""
    rng, alarms = np.random.default_rng(7), 0
    for k in range(120):
        n = int(rng.integers(150, 700))
        p = rng.beta(2, 3, n)
        y = (rng.random(n) < p).astype(int)
        labels = {"race": rng.integers(0, rng.integers(12, 80), n), "team": rng.integers(0, 30, n)}
        alarms += bool(suspicious_labels(Bernoulli(p**1.5 if k % 2 else p), y, labels))
    assert alarms <= 6
