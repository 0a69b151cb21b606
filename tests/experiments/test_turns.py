"""The experiment on turned draws in a short form: p-values are those of independent draws, but for their noise."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "experiments" / "turns" / "run.py"

if not SCRIPT.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module", name="run")
def script():
    """The script, imported from where it lies."""
    spec = importlib.util.spec_from_file_location("turns_run", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_the_spread_of_p_values_is_that_of_independent_draws(run):
    """The worst case for draws that share turns: two classes of one half; variance within its error of 40 seeds."""
    row = run.measured((("half", 200, 99), 20, 1))
    assert 0.5 < float(row["spread"]) < 1.8
