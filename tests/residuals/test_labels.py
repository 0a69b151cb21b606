"""Features of labels: the identity is never made, and gives what the matrix would."""

import tracemalloc

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.residuals import ClassResidual, LabelFeatures


@pytest.mark.parametrize("matrix", [None, np.random.default_rng(0).normal(size=(5, 3))], ids=["identity", "matrix"])
def test_products_are_those_of_the_matrix(matrix):
    features = LabelFeatures(matrix, 5)
    table = np.eye(5) if matrix is None else matrix
    rng = np.random.default_rng(1)
    x, v, labels = rng.normal(size=(4, table.shape[1])), rng.normal(size=(2, 5)), np.array([3, 0, 3])
    assert len(features) == 5
    np.testing.assert_array_equal(features.table(), table)
    np.testing.assert_array_equal(features.of(labels), table[labels])
    np.testing.assert_allclose(features.products(x), x @ table.T)
    np.testing.assert_allclose(features.mean(v), v @ table)
    np.testing.assert_allclose(features.mean(v[0]), v[0] @ table)
    for power in (1, 2):
        np.testing.assert_allclose(features.weighed(v, power), v @ (table @ table.T) ** power)
    np.testing.assert_allclose(features.sizes, (table**2).sum(axis=1))


def test_a_residual_has_the_features_of_its_kernel():
    p = np.full((2, 3), 1 / 3)
    assert ClassResidual.of(kc.Categorical(p), kc.Dirac()).label_features.matrix is None
    gram = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    features = ClassResidual.of(kc.Categorical(p), kc.FiniteKernel(gram)).label_features
    np.testing.assert_allclose(features.table() @ features.table().T, gram, atol=1e-12)


@pytest.mark.slow
def test_thousands_of_classes_take_no_memory_of_their_square():
    n, m = 30, 6_000  # a matrix over the classes takes 288 MB
    rng = np.random.default_rng(0)
    p = rng.exponential(size=(n, m))
    p /= p.sum(axis=1, keepdims=True)
    y = rng.integers(0, m, n)
    other = p**1.2 / (p**1.2).sum(axis=1, keepdims=True)
    tracemalloc.start()
    try:
        kc.evaluate(y, p, draws=99)
        kc.compare(y, {"a": p, "b": other}, draws=99)
        assert tracemalloc.get_traced_memory()[1] < 8 * m * m / 2
    finally:
        tracemalloc.stop()
