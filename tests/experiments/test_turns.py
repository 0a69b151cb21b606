"""The experiment on turned draws in a short form: p-values are those of independent draws, but for their noise."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def run(load):
    return load("turns/run.py")


@pytest.mark.parametrize("kind", ["any", "ten"])
def test_turned_draws_are_as_good_as_independent_ones(run, kind):
    """Noise of both has the variance p (1 - p) / B, of which the mean difference over some data sets is made."""
    rng, draws = np.random.default_rng(4), 99
    found = []
    for number in range(15):
        p = run.predictions(kind, 200, rng)
        y = run.outcomes(p, rng, 0.05)
        found.append([run.by_turns(y, p, draws, number), run.independent(y, p, draws, rng)])
    turned, independent = np.array(found).T
    noise = np.sqrt(2 * independent * (1 - independent) / draws)
    assert np.abs(turned - independent).max() <= 4.5 * noise.max()
    assert abs((turned - independent).mean()) <= 4 * np.sqrt((noise**2).mean() / len(found))
    assert np.ptp(independent) > 0.3


@pytest.mark.slow
def test_the_spread_of_p_values_is_that_of_independent_draws(run):
    """The worst case for draws that share turns: two classes of one half; variance within its error of 40 seeds."""
    row = run.measured((("half", 200, 99), 20, 1))
    assert 0.5 < float(row["spread"]) < 1.8
