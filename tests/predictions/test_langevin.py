"""Langevin chains: detailed balance by quadrature, invariance of densities, what is rejected, notes and messages."""

import re

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.predictions import (
    Categorical,
    DiagonalNormal,
    MultivariateNormal,
    Normal,
    Poisson,
    Samples,
    Score,
    UnnormalizedDensity,
    langevin_draws,
)
from kernelcal.predictions.densities.langevin import LangevinChains, log_acceptance

GRID = np.linspace(-5, 5, 401)
WIDTH = GRID[1] - GRID[0]
DENSITIES = {
    "normal": (lambda y: -((y - 0.4) ** 2) / (2 * 0.9**2), lambda y: -(y - 0.4) / 0.9**2),
    "double well": (lambda y: -((y**2 - 1) ** 2), lambda y: -4 * y * (y**2 - 1)),
}
FUNCTIONS = {"second moment": lambda y: y**2, "cosine": lambda y: np.cos(2 * y), "sign": lambda y: y > 0.3}


def unnormalized(name, n=1, **options):
    """The density for n rows; parameters are the numbers of the rows."""
    log, gradient = DENSITIES[name]
    return UnnormalizedDensity(lambda y, k: log(y), np.arange(n), gradient=lambda y, k: gradient(y), **options)


def probabilities(name):
    p = np.exp(DENSITIES[name][0](GRID))
    return p / p.sum()


def stratified(name, size):
    """Targets at equally spaced levels of the distribution function, in random order."""
    cumulative = np.cumsum(probabilities(name))
    levels = (np.arange(size) + 0.5) / size
    return np.random.default_rng(1).permutation(np.interp(levels, cumulative, GRID + WIDTH / 2))


def kernel(name, size):
    """Transition probabilities between the points of the grid, accepted proposals only, from the code's ratio."""
    log, gradient = DENSITIES[name]
    state = np.repeat(GRID, len(GRID)), np.tile(GRID, len(GRID))
    here, there = ((y, log(y), gradient(y)) for y in state)
    with np.errstate(over="ignore"):
        ratio = log_acceptance(here, there, np.full(len(state[0]), size)).reshape(len(GRID), -1)
    drift = GRID[None] - (GRID + size * gradient(GRID))[:, None]
    proposal = np.exp(-(drift**2) / (4 * size)) * WIDTH / np.sqrt(4 * np.pi * size)
    return proposal * np.exp(np.minimum(ratio, 0))


@pytest.mark.slow
@pytest.mark.parametrize("name", DENSITIES)
def test_detailed_balance_and_invariance_by_quadrature(name):
    p = probabilities(name)
    moved = kernel(name, 0.3)
    flow = p[:, None] * moved
    assert flow == pytest.approx(flow.T, rel=1e-8, abs=1e-16)
    stays = 1 - moved.sum(axis=1)
    inside = p > 1e-8
    assert stays[inside].min() > 0
    assert p @ moved + p * stays == pytest.approx(p, rel=1e-8)


def after_a_step(name, size=100_000, e=0.3):
    """Starts that follow the density exactly, and where one step leads them."""
    start = stratified(name, size)
    return start, langevin_draws(unnormalized(name), size, steps=1, step_size=e, start=start[None]).draws[0]


def drift(name):
    """How far means of functions and of products move in one step, in standard errors."""
    start, end = after_a_step(name)
    deviations = []
    for f in FUNCTIONS.values():
        moved = f(end).astype(float) - f(start)
        deviations.append(moved.mean() / (moved.std() / np.sqrt(len(moved))))
        for g in FUNCTIONS.values():
            asymmetric = f(start) * g(end).astype(float) - g(start) * f(end)
            deviations.append(asymmetric.mean() / max(asymmetric.std() / np.sqrt(len(end)), 1e-12))
    return np.abs(deviations).max()


@pytest.mark.parametrize("name", DENSITIES)
def test_a_step_leaves_the_density_as_it_is(name):
    assert drift(name) < 4


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda here, there, e: np.full(len(e), np.inf),  # all accepted: no adjustment
        lambda here, there, e: there[1] - here[1],  # Metropolis without the density of the proposal
        lambda here, there, e: log_acceptance(there, here, e),
    ],
    ids=["no adjustment", "no proposal density", "upside down"],
)
def test_wrong_acceptance_does_not(name, wrong, monkeypatch):
    monkeypatch.setitem(LangevinChains.step.__globals__, "log_acceptance", wrong)
    assert drift(name) > 8


def test_chains_converge_from_a_far_start():
    mean, std = np.array([0.0, 4.0, -3.0]), np.array([1.0, 0.5, 2.0])
    sampled = langevin_draws(Normal(mean, std), 2_000, steps=150, step_size=0.4 * std**2, start=mean + 5 * std)
    assert sampled.draws.shape == (3, 2_000)
    assert np.abs((sampled.mean - mean) / std).max() < 4 / np.sqrt(2_000)
    assert np.abs(sampled.std / std - 1).max() < 4 / np.sqrt(4_000)


def test_chains_of_vectors_converge_to_a_correlated_normal():
    covariance = np.array([[1.0, 0.6], [0.6, 0.8]])
    target = MultivariateNormal(np.array([[1.0, -1.0]]), covariance[None])
    draws = langevin_draws(target, 4_000, steps=100, step_size=0.15).draws[0]
    assert draws.shape == (4_000, 2)
    assert draws.mean(axis=0) == pytest.approx([1, -1], abs=0.07)
    assert np.cov(draws.T) == pytest.approx(covariance, abs=0.1)


def test_small_steps_are_all_accepted_and_large_ones_are_not():
    rates, start = [], stratified("double well", 2_000)[None]
    for e in (1e-6, 0.5, 20.0):
        rng = np.random.default_rng(0)
        chains = LangevinChains.begin(unnormalized("double well"), 2_000, e, start, rng)
        rates.append(float(chains.step(rng).acceptance[0]))
    assert rates[0] == 1.0
    assert rates[1] < 0.9
    assert rates[2] < 0.1


def test_rejected_proposals_stay_and_proposals_outside_the_support_are_rejected():
    def log(y, k):
        return np.where(y > 0, -y, np.where(y > -1, -np.inf, np.nan))

    predictions = UnnormalizedDensity(log, np.arange(2), gradient=lambda y, k: -np.ones_like(y))
    start = np.full((2, 500), 0.5)
    sampled = langevin_draws(predictions, 500, steps=40, step_size=0.4, start=start)
    assert (sampled.draws > 0).all()
    assert sampled.draws.mean() == pytest.approx(1, abs=0.15)  # an exponential distribution
    assert "NaN at" in sampled.notes[1]
    still = langevin_draws(predictions, 500, steps=1, step_size=1e9, start=start)
    assert (still.draws == 0.5).all()
    assert "acceptance rate: 0.00" in still.notes[0]


def test_one_call_a_step_serves_all_rows_and_draws_and_chains_can_go_on():
    shapes = []

    def log(y, a):
        shapes.append(y.shape)
        return -0.5 * (y - a) ** 2

    predictions = UnnormalizedDensity(log, np.array([0.0, 3.0, 5.0]), gradient=lambda y, a: a - y)
    first = langevin_draws(predictions, 4, steps=5, step_size=0.3)
    assert set(shapes) == {(12,)}
    assert len(shapes) == 2 * 6  # once as log density, once beside the gradient
    onward = langevin_draws(predictions, 4, steps=1, step_size=1e-12, start=first.draws)
    assert onward.draws == pytest.approx(first.draws, abs=1e-4)


def test_seeds_and_step_sizes_of_rows():
    batch = Normal([0.0, 0.0], 1.0)
    one, same, other = (langevin_draws(batch, 3, steps=4, step_size=0.2, rng=k).draws for k in (5, 5, 6))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    start = np.zeros(2)
    moved = langevin_draws(batch, 400, steps=1, step_size=[1e-8, 0.5], start=start)
    assert moved.std[0] < 1e-3 < 0.5 < moved.std[1]
    assert "steps: 1, step size: 1e-08 to 0.5" in moved.notes[0]


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_functions_of_other_libraries(library):
    xp = pytest.importorskip("torch" if library == "torch" else "jax.numpy")
    a = xp.asarray(np.array([0.0, 2.0], dtype=np.float32))
    predictions = UnnormalizedDensity(lambda y, a: -0.5 * (y - a) ** 2, a)
    reference = UnnormalizedDensity(lambda y, a: -0.5 * (y - a) ** 2, np.array([0.0, 2.0]), gradient=lambda y, a: a - y)
    options = {"steps": 3, "step_size": 0.3}
    ours = langevin_draws(predictions, 5, **options)
    assert type(ours.draws) is np.ndarray
    assert ours.draws == pytest.approx(langevin_draws(reference, 5, **options).draws, abs=1e-5)


def test_the_warning_reaches_every_result():
    batch = unnormalized("normal", 60)
    sampled = langevin_draws(batch, 9, steps=3, step_size=0.1)
    note = sampled.notes[0]
    assert "steps: 3, step size: 0.1, acceptance rate: 0.9" in note
    assert "reject calibrated models too often" in note
    y = np.random.default_rng(0).normal(0.4, 0.9, 60)
    for options in ({}, {"statistic": "skce"}, {"statistic": "skce", "null": "wild"}, {"statistic": "ucme"}):
        assert note in kc.calibration_test(y, sampled, draws=19, **options).notes
        assert note in kc.calibration_test(y[:30], sampled[:30], draws=19, **options).notes
    own = kc.calibration_test(y, sampled, statistic=lambda y, p: float(np.mean((y - p.mean) ** 2)), draws=19)
    assert note in own.notes
    assert note in kc.confidence_interval(y, sampled, draws=19).notes
    assert note in kc.pit_test(y, sampled).notes
    assert note in kc.SKCE()(y, sampled).notes
    assert note in kc.evaluate(y, sampled).notes
    with_draws = unnormalized("normal", 60, draws=sampled)
    result = kc.calibration_test(y, with_draws, draws=19)
    assert "swapped" in result.null
    assert note in result.notes


def test_draws_of_chains_that_have_not_converged_are_rejected_and_longer_ones_are_not():
    mean = np.linspace(-4, 4, 100)
    y = Normal(mean, 1.0).sample(3)[0]
    few, many = (langevin_draws(Normal(mean, 1.0), 20, steps=k, step_size=0.3) for k in (3, 60))
    assert kc.calibration_test(y, few, draws=199).pvalue <= 0.01
    assert kc.calibration_test(y, many, draws=199).pvalue > 0.05


TRY = {"draws": 2, "steps": 1, "step_size": 0.1}


@pytest.mark.parametrize(
    ("predictions", "changes", "message"),
    [
        (Score(lambda y, a: a - y, np.zeros(3)), {}, "Score tells gradients only"),
        (Categorical(np.full((2, 3), 1 / 3)), {}, "got Categorical"),
        (Poisson([1.0, 2.0]), {}, "no score"),
        (Samples(np.zeros((2, 3))), {}, "Samples has no density"),
        (UnnormalizedDensity(lambda y: -(y**2), n=3, gradient=lambda y: -2 * y), {}, "parameters=numpy.arange(n)"),
        (Normal(np.zeros(0), 1.0), {}, "the batch has no rows"),
        (Normal([0.0], 1.0), {"draws": 0}, "draws must be a positive whole number, got 0"),
        (Normal([0.0], 1.0), {"steps": 2.5}, "steps must be a positive whole number, got 2.5"),
        (Normal([0.0], 1.0), {"step_size": -1}, "step_size must be a positive number, or one for each of the 1 rows"),
        (Normal([0.0], 1.0), {"step_size": "small"}, "got 'small'"),
        (Normal([0.0, 1.0], 1.0), {"step_size": [0.1, np.nan]}, "step_size must be"),
        (Normal([0.0, 1.0], 1.0), {"start": [1.0]}, "shape (2,), a point a row, or (2, 2), a point a draw, got (1,)"),
        (
            DiagonalNormal(np.zeros((3, 2)), np.ones((3, 2))),
            {"start": np.zeros(3)},
            "(3, 2), a point a row, or (3, 2, 2)",
        ),
        (Normal([0.0, 1.0], 1.0), {"start": [0.0, np.nan]}, "a chain of row 1 begins (2 such chains): pass start="),
        (Normal([0.0], 1.0), {"rng": "seed"}, "rng must be"),
    ],
)
def test_bad_input_is_refused_with_the_cure(predictions, changes, message):
    options = {**TRY, **changes}
    with pytest.raises(InputError, match=re.escape(message)):
        langevin_draws(predictions, options.pop("draws"), **options)
