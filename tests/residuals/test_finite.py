import numpy as np
import pytest

import kernelcal as kc
from kernelcal.kernels.points import class_matrix
from kernelcal.residuals import ClassResidual

TARGETS = [
    kc.Dirac(),
    2 * kc.Dirac(),
    kc.FiniteKernel(np.eye(4) + 0.4),
    kc.Laplacian(1.5),
    kc.FiniteKernel(np.ones((4, 4))),
]


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_gram_of_residuals_is_the_double_centred_kernel(target):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 20)
    labels = rng.integers(0, 4, (3, 20))
    a = class_matrix(target, 4)
    residual = ClassResidual.of(kc.Categorical(p), target)
    batch = residual.batch(labels)
    for b, y in enumerate(labels):
        expected = a[np.ix_(y, y)] - (p @ a)[:, y] - (p @ a)[:, y].T + p @ a @ p.T
        r = residual.features(y)
        np.testing.assert_allclose(r @ r.T, expected, atol=1e-14)
        np.testing.assert_allclose(batch[:, b], r, atol=1e-15)
        np.testing.assert_allclose(residual.squared_norms(labels)[b], (r**2).sum(1), atol=1e-13)
        np.testing.assert_allclose(residual[5:9].features(y[5:9]), r[5:9])


@pytest.mark.parametrize("target", [kc.Dirac(), kc.FiniteKernel([[2.0, 0.5], [0.5, 1.0]])], ids=str)
def test_one_probability_needs_one_column(target):
    rng = np.random.default_rng(0)
    p, y = rng.random(10), rng.integers(0, 2, 10)
    one = ClassResidual.of(kc.Bernoulli(p), target)
    two = ClassResidual.of(kc.Categorical(np.stack([1 - p, p], 1)), target)
    assert one.dimension == 1
    np.testing.assert_allclose(one.features(y) @ one.features(y).T, two.features(y) @ two.features(y).T, atol=1e-14)
    np.testing.assert_allclose(one.squared_norms(y[None])[0], (one.features(y) ** 2).sum(1), atol=1e-14)


def test_mean_is_zero_under_the_prediction():
    p = np.array([[0.2, 0.3, 0.5]])
    residual = ClassResidual.of(kc.Categorical(p), kc.FiniteKernel(np.eye(3) + 0.1))
    mean = sum(p[0, k] * residual.features(np.array([k])) for k in range(3))
    np.testing.assert_allclose(mean, 0, atol=1e-16)


def test_a_target_kernel_that_is_not_positive_is_refused():
    with pytest.raises(kc.errors.InputError, match="not positive semi-definite over the classes"):
        ClassResidual.of(kc.Categorical(np.eye(4)), NotPositive())


class NotPositive(kc.kernels.Kernel):
    def evaluate(self, pairs):
        return -pairs.equal()

    def bound(self):
        return 1.0

    def positive_definite(self, points):
        return False
