"""Short version of experiments/level/quantiles.py: true quantiles of every law, and every wrong one."""

import numpy as np
import pytest
from scipy.stats import binom


@pytest.fixture(scope="module")
def script(load):
    return load("level/quantiles.py")


@pytest.mark.slow
def test_true_quantiles_of_every_law_keep_the_level(script):
    tasks = [(law, number, 20, k) for law in script.LAWS for number in (1, 3, 9) for k in range(4)]
    rejected = sum(script.level_repetition(task) <= 0.05 for task in tasks)
    assert rejected <= binom.ppf(0.9995, len(tasks), 0.05)


def test_wrong_quantiles_are_found(script):
    found = np.array([script.power_repetition(("n = 200, 9 levels, too wide 0.75", k)) for k in range(5)]) <= 0.05
    assert found[:, 0].all()
