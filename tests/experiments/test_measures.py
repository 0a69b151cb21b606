"""A short run of the experiment on intervals of measures."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def coverage(load):
    return load("measures/coverage.py")


def test_outcomes_are_as_frequent_as_they_should_be(coverage):
    for name, (n, _, a, b, _) in coverage.SETTINGS.items():
        y, p = np.empty((60, n)), np.empty((60, n))
        for k in range(60):
            y[k], p[k], clusters = coverage.drawn(np.random.default_rng(k), name)
            assert (clusters is not None) == ("clusters" in name)
        true = 1 / (1 + np.exp(-a - b * np.log(p / (1 - p))))
        apart = (y - true).sum(axis=1)
        assert abs(apart.mean()) < 4.5 * apart.std() / 60**0.5


@pytest.mark.slow
def test_a_short_run_is_what_it_should_be(coverage):
    rows = coverage.of_setting("50 rows, .3", 12)
    assert [row["measure"] for row in rows] == [*coverage.ASKED, "curve"]
    assert not any(map(coverage.wrong, rows))
    low = {**rows[0], "covered": "0.500", "sets": 100}
    assert coverage.wrong(low)
