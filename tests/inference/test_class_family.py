"""The default family of classes: what the kernels are divided by, and that they are one member."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.inference.test.family import SummedKernels


def batch(m, n=60, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(m, 0.7), n)
    return kc.Bernoulli(p[:, 1]) if m == 2 else kc.Categorical(p)


@pytest.mark.quick_cases(7)
@pytest.mark.parametrize("target", [None, "matrix"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [2, 4])
def test_kernels_are_divided_by_their_standard_deviation(m, weighted, target):
    """Many labels drawn by NumPy: every kernel's value has the spread that it is divided by."""
    predictions, rng = batch(m), np.random.default_rng(1)
    weights = rng.uniform(0.5, 2, 60) if weighted else None
    kernel = None if target is None else kc.FiniteKernel(np.eye(m) + 0.3)
    prepared = kc.DefaultFamily(target_kernel=kernel).prepare(predictions, weights).kernels
    p = np.asarray(predictions.probabilities)
    labels = np.stack([(rng.random((60, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1) for _ in range(4000)])
    alone = prepared.pairs.values(labels)
    np.testing.assert_allclose(prepared.spreads, alone.std(axis=0), rtol=0.12)
    np.testing.assert_allclose(prepared.values(labels)[:, 0], (alone / prepared.spreads).sum(axis=1), rtol=1e-12)


def test_the_variance_by_loops():
    predictions = batch(3, n=12)
    pairs = kc.DefaultFamily().prepare(predictions).kernels.pairs
    p, found = np.asarray(predictions.probabilities), SummedKernels(pairs, predictions).spreads
    for kernel, spread in zip(pairs.kernels, found, strict=True):
        variance = 0.0
        for i in range(12):
            for j in range(12):
                vi, vj = (np.diag(p[k]) - np.outer(p[k], p[k]) for k in (i, j))
                k_ij = np.exp(-np.linalg.norm(p[i] - p[j]) / kernel.scale)
                variance += (i != j) * 2 * k_ij**2 * np.trace(vi @ vj)
        assert spread == pytest.approx(np.sqrt(variance) / (12 * 11), rel=1e-9)


def test_the_members_are_few_and_one_kernel_keeps_its_value():
    for m in (2, 4):
        *signals, kernels = kc.DefaultFamily().prepare(batch(m)).names
        assert signals == ["impossible label", "slope", "bias", "bins"]
        assert kernels.startswith("kernels at ")
    predictions = batch(3)
    alone = kc.DefaultFamily(factors=(0.5,)).prepare(predictions)
    scale = kc.median_lengthscale(predictions) / 2
    y = predictions.sample(np.random.default_rng(2))[0]
    expected = float(kc.skce(y, predictions, prediction_kernel=kc.Laplacian(scale)))
    assert alone.names[4] == f"kernel at {scale:.3g}"
    assert alone.values(y[None])[0, 4] == pytest.approx(expected, rel=1e-9)


def test_more_rows_than_are_looked_at_have_nearly_the_same_spread():
    predictions = batch(2, n=3000)
    pairs = kc.DefaultFamily().prepare(predictions).kernels.pairs
    rng = np.random.default_rng(3)
    labels = (rng.random((300, 3000)) < predictions.p).astype(np.uint8)
    np.testing.assert_allclose(SummedKernels(pairs, predictions).spreads, pairs.values(labels).std(axis=0), rtol=0.3)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [2, 4])
def test_a_few_rows_that_vary_among_thousands_that_do_not_make_the_spread(m, weighted):
    """Rows from everywhere would hold four of them: spreads of fine kernels were told 100 times too small."""
    rng = np.random.default_rng(m)
    p = np.full((6000, m), 1e-6 / (m - 1))
    p[:, 0] = 1 - 1e-6
    p[rng.choice(6000, 60, replace=False)] = rng.dirichlet(np.ones(m), 60)
    predictions = kc.Bernoulli(p[:, 1]) if m == 2 else kc.Categorical(p)
    weights = rng.uniform(0.5, 2, 6000) if weighted else None
    prepared = kc.DefaultFamily(engine=kc.Nystrom(200)).prepare(predictions, weights).kernels
    values = prepared.pairs.values(np.asarray(predictions.sample(rng=1, size=300)))
    np.testing.assert_allclose(prepared.spreads, values.std(axis=0), rtol=0.35)


def test_certain_predictions_have_no_spread_and_p_one():
    y = np.arange(30) % 2
    assert kc.calibration_test(y, y.astype(float)).pvalue == 1.0


@pytest.mark.parametrize("p", [np.full(50, 0.2), np.full((50, 3), 1 / 3)])
def test_equal_predictions_are_tested(p):
    y = np.zeros(50, dtype=int)
    result = kc.calibration_test(y, p)
    assert result.pvalue == 0.001
    assert result.directions[0].startswith("class ")
