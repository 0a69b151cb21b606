"""Short version of experiments/sbi: all questions agree about calibrated and over-confident posteriors."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom, kstest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")
FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "sbi"
PARTS = ("simulator", "network", "questions", "picture", "run")

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def scripts():
    """The experiment's modules, imported from their folder; afterwards nothing of them is left."""
    before = {name: sys.modules.pop(name) for name in PARTS if name in sys.modules}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small networks: more threads wait for each other
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in PARTS})
    for name in PARTS:
        sys.modules.pop(name, None)
    sys.modules.update(before)
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def networks(scripts):
    return scripts.run.posteriors(many=10_000, epochs=60)


@pytest.fixture(scope="module")
def found(scripts, networks):
    return [scripts.run.asked(networks, 0)]


def test_score_of_the_simulator_is_the_gradient_of_its_log_posterior(scripts):
    simulator, step = scripts.simulator, 1e-5
    theta, x = simulator.simulate(np.random.default_rng(0), 20)
    for k, direction in enumerate(np.eye(2)):
        ends = [simulator.log_posterior(theta + sign * step * direction, x) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(simulator.posterior_score(theta, x)[:, k], slope, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_rejection_draws_from_the_posterior(scripts):
    """Ranks of the true value among its draws are uniform, for two functions of theta."""
    simulator, rng = scripts.simulator, np.random.default_rng(1)
    theta, x = simulator.simulate(rng, 1_000)
    draws = simulator.posterior_draws(rng, x, 99)
    for view in (lambda t: t[..., 0], lambda t: (t**2).sum(axis=-1)):
        below = (view(draws) < view(theta)[:, None]).sum(axis=1)
        assert kstest((below + rng.random(1_000)) / 100, "uniform").pvalue > 1e-3


@pytest.mark.slow
def test_automatic_differentiation_gives_the_score_of_the_family(scripts, networks):
    theta, x = scripts.simulator.simulate(np.random.default_rng(2), 50)
    for network in networks.values():
        known = scripts.questions.estimated_posterior(network, x, 0)
        np.testing.assert_allclose(
            known.density.score(theta).detach(), known.mixture.score(theta), rtol=1e-9, atol=1e-9
        )
        log_density = known.density.unnormalized_log_prob(theta)
        np.testing.assert_allclose(log_density.detach(), known.mixture.log_prob(theta), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_narrower_posteriors_have_the_same_means(scripts, networks):
    x = scripts.simulator.simulate(np.random.default_rng(3), 10)[1]
    whole, narrow = (networks[name].mixture(torch.tensor(x)) for name in ("trained", "narrowed"))
    np.testing.assert_allclose(narrow.mean, whole.mean)
    np.testing.assert_allclose(narrow.components[3].std, scripts.run.FACTOR * whole.components[3].std)


@pytest.mark.slow
def test_nothing_is_held_against_the_exact_posterior(found):
    for one in found:
        pvalues, coverages = one["exact"]
        assert min(p for p in pvalues.values() if p is not None) > 0.005  # the smallest of 199 draws
        for k, level in enumerate((0.5, 0.9)):
            inside = round(500 * coverages["log density and draws"].shares[k])
            assert binom.ppf(1e-4, 500, level) <= inside <= binom.ppf(1 - 1e-4, 500, level + 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["narrowed", "overfitted"])
def test_over_confident_posteriors_are_found_out(found, name):
    for one in found:
        pvalues, coverages = one[name]
        assert min(pvalues.values()) <= 0.01  # five tests at 5 % together
        assert {c.verdict for c in coverages.values()} == {("over-confident", "over-confident")}


@pytest.mark.slow
def test_every_test_finds_an_over_confident_posterior(found):
    for test in found[0]["trained"][0]:
        assert min(one[name][0][test] for one in found for name in ("narrowed", "overfitted")) <= 0.05, test


@pytest.mark.slow
def test_table_says_what_was_found(scripts, found):
    header, *rows = scripts.run.table(found)
    cells = {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    assert header == ["", "exact", "trained", "narrowed", "overfitted"]
    assert cells["KCCSD, draws swapped"]["narrowed"].endswith(
        f"(p = {found[0]['narrowed'][0]['KCCSD, draws swapped']:.3f})"
    )
    assert cells["default family, exact"]["exact"] == ""
    assert cells["90% region, family"]["narrowed"].endswith("(1.00)")


@pytest.mark.slow
def test_picture_is_drawn(scripts, networks, tmp_path):
    scripts.picture.draw(tmp_path / "sbi.png", networks, *scripts.run.data(networks, 0, n=50))
    assert (tmp_path / "sbi.png").stat().st_size > 10_000
