"""Signals and kernels of numbers from one pass: the same values as each by itself, whatever the blocks and threads."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.inference.test.placed_members import PlacedMembers
from kernelcal.pairs import one_thread
from kernelcal.predictions import Gamma, Mixture, MultivariateNormal, Poisson, Samples, StudentT

RNG = np.random.default_rng(0)
N = 700  # rows: two parts
M, S = RNG.normal(size=N), RNG.uniform(0.3, 2, N)
BATCHES = {
    "normal": kc.Normal(M, S),
    "gamma": Gamma(1 + S, S),
    "no variance": StudentT(np.full(N, 1.5), M, S),
    "mixture": Mixture(np.full((N, 2), 0.5), [kc.Normal(M, S), kc.Normal(M + 2, 1.0)]),
    "counts": Poisson(S),
    "draws": Samples(RNG.normal(M[:, None], S[:, None], (N, 7))),
    "vectors": MultivariateNormal(RNG.normal(size=(N, 3)), np.broadcast_to(np.eye(3) + 0.5, (N, 3, 3)).copy()),
}


def prepared(batch, weights=None):
    family = kc.DefaultFamily(engine=kc.Nystrom(40, share=0.999)).prepare(batch, weights)
    assert isinstance(family.valued[0], PlacedMembers)
    return family


def one_by_one(family, targets):
    return np.hstack([part.values(targets) for part in family.parts])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.quick_cases(5)
def test_values_are_those_of_signals_and_kernels_alone(name, weighted):
    batch = BATCHES[name]
    weights = RNG.uniform(0.2, 2, N) * (RNG.uniform(size=N) < 0.9) if weighted else None
    family = prepared(batch, weights)
    targets = np.asarray(batch.sample(rng=1, size=70), dtype=np.float64)
    targets[1, :3] += 40.0  # far out
    found, expected = family.values(targets), one_by_one(family, targets)
    assert found.shape == (70, len(family.names))
    near = np.delete(expected, 1, axis=0).std(axis=0)
    assert (np.abs(found - expected) <= 1e-9 * near + 1e-12 * np.abs(expected)).all()


def test_single_precision_errs_by_little(monkeypatch):
    import importlib

    family = prepared(BATCHES["normal"])
    targets = BATCHES["normal"].sample(rng=2, size=50)
    expected = family.values(targets)
    monkeypatch.setattr(importlib.import_module("kernelcal.pairs.features"), "_SINGLE_PLACES", 0)
    single = prepared(BATCHES["normal"])
    found = single.values(targets)
    assert single.kernels.forms.parts[0].features.dtype == np.float32
    kernels = found[:, -2:], expected[:, -2:]
    assert 0 < (np.abs(kernels[0] - kernels[1]) / kernels[1].std(axis=0)).max() < 1e-5
    np.testing.assert_allclose(found[:, :-2], expected[:, :-2], rtol=1e-12)  # signals stay in double precision


def test_no_number_changes_with_the_threads():
    family = prepared(BATCHES["normal"])
    targets = BATCHES["normal"].sample(rng=3, size=100)
    with one_thread():
        alone = family.values(targets)
    np.testing.assert_array_equal(family.values(targets), alone)


@pytest.mark.parametrize("name", ["normal", "counts"])
def test_draws_that_are_the_same_tie(name):
    batch = BATCHES[name]
    family, targets = prepared(batch), np.repeat(batch.sample(rng=4, size=1), 77, axis=0)
    assert (kc.inference.laws.ranking.ranks(family.values(targets.astype(np.float64))) == 77).all()


@pytest.mark.slow
def test_data_of_which_all_draws_are_the_same_say_nothing():
    """Counts of nearly 0 everywhere: in single precision the last digits of sums said p = 0.035."""
    rates = np.random.default_rng(0).uniform(1e-8, 2e-8, 13_000)
    test = kc.calibration_test(np.zeros(13_000, dtype=int), Poisson(rates), draws=99, early_stopping=False)
    assert test.engine.startswith("Nystrom")
    assert test.pvalue == 1


def test_others_are_valued_one_by_one():
    """All pairs, other target kernels, classes, and features that are not held."""
    batch = BATCHES["normal"]
    assert not isinstance(kc.DefaultFamily().prepare(batch).valued[0], PlacedMembers)
    spectral = kc.DefaultFamily(target_kernel=kc.kernels.Spectral(), engine=kc.Nystrom(40)).prepare(batch)
    assert not isinstance(spectral.valued[0], PlacedMembers)
    levels = kc.DefaultFamily(target_kernel=kc.kernels.PIT(), engine=kc.Nystrom(40)).prepare(batch)
    assert not isinstance(levels.valued[0], PlacedMembers)
    classes = kc.DefaultFamily(engine=kc.Nystrom(40)).prepare(kc.Categorical(RNG.dirichlet(np.ones(3), 200)))
    assert not isinstance(classes.valued[0], PlacedMembers)
