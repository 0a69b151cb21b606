"""Kernel values against formulae written out, their algebra, and positive definiteness."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.kernels import Product, Scaled, Sum, resolve
from kernelcal.kernels.points import AlignedPairs, CrossPairs, Points, class_matrix
from kernelcal.pairs.tiles import BlockPoints, Tile

D = np.array([0.0, 1e-9, 0.1, 0.5, 1.0, 3.0])
FORMULAE = [
    (kc.Laplacian(0.7), lambda d: np.exp(-d / 0.7)),
    (kc.Gaussian(0.7), lambda d: np.exp(-(d**2) / (2 * 0.7**2))),
    (kc.kernels.PowerExponential(0.7, power=0.5), lambda d: np.exp(-((d / 0.7) ** 0.5))),
    (kc.kernels.PowerExponential(0.7, power=2), lambda d: np.exp(-((d / 0.7) ** 2))),
    (kc.Matern32(0.7), lambda d: (1 + np.sqrt(3) * d / 0.7) * np.exp(-np.sqrt(3) * d / 0.7)),
    (
        kc.Matern52(0.7),
        lambda d: (1 + np.sqrt(5) * d / 0.7 + 5 * d**2 / (3 * 0.7**2)) * np.exp(-np.sqrt(5) * d / 0.7),
    ),
    (kc.InverseMultiquadric(0.7, beta=-0.3, offset=2.0), lambda d: (4 + d**2 / 0.49) ** -0.3),
    (kc.kernels.RationalQuadratic(0.7, alpha=1.5), lambda d: (1 + d**2 / (3 * 0.49)) ** -1.5),
]
PROFILES = [kernel for kernel, _ in FORMULAE]
METRICS = [kc.Euclidean(), kc.TotalVariation(), kc.Hellinger()]


def on_line(kernel, d):
    """Kernel values at distances from the origin, on the unit interval's Bernoulli predictions scaled up."""
    from kernelcal.predictions.base import trusted

    points = trusted(kc.Bernoulli(np.zeros(len(d) + 1)), p=np.concatenate([[0.0], d]))
    return kernel.evaluate(CrossPairs(Points(points), slice(0, 1), slice(1, None)))[0]


@pytest.mark.parametrize(("kernel", "formula"), FORMULAE, ids=lambda x: type(x).__name__)
def test_profile_is_its_formula(kernel, formula):
    np.testing.assert_allclose(on_line(kernel, D), formula(D), rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize(("kernel", "formula"), FORMULAE, ids=lambda x: type(x).__name__)
def test_amplitude_is_the_value_at_distance_zero(kernel, formula):
    assert kernel.amplitude == pytest.approx(formula(np.zeros(1))[0], rel=1e-14)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: type(m).__name__)
def test_distance_is_its_formula(metric, naive, make_data):
    p, _ = make_data(30, 4)
    pairs = CrossPairs(Points(kc.Categorical(p)), slice(None), slice(None))
    expected = naive.distance(p, type(metric).__name__)
    np.testing.assert_allclose(pairs.distance(metric), expected, atol=1e-15)
    np.testing.assert_allclose(pairs.squared_distance(metric), expected**2, atol=1e-15)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: type(m).__name__)
def test_bernoulli_agrees_with_two_classes_up_to_the_documented_factor(metric):
    p = np.random.default_rng(0).random(20)
    one = CrossPairs(Points(kc.Bernoulli(p)), slice(None), slice(None)).distance(metric)
    two = CrossPairs(Points(kc.Categorical(np.stack([1 - p, p], 1))), slice(None), slice(None)).distance(metric)
    factor = np.sqrt(2) if isinstance(metric, kc.Euclidean) else 1.0
    np.testing.assert_allclose(one * factor, two, atol=1e-15)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("single", [False, True])
def test_blocks_agree_with_differences_for_close_points(metric, single, make_data):
    p, _ = make_data(200, 5, concentration=0.05)
    p[100:] = p[:100] + 1e-6 * (np.eye(5)[0] - np.eye(5)[1]) * (p[:100, 1:2] > 1e-5)
    batch = kc.Categorical(p.astype(np.float32) if single else p)
    everything = slice(None)
    block = Tile(BlockPoints(batch), everything, everything, shared=True)
    expected = CrossPairs(Points(kc.Categorical(p)), everything, everything).distance(metric)
    error = np.abs(block.distance(metric) - expected).max()
    assert error < (2e-4 if single else 1e-11)
    assert block.distance(metric)[0, 0] == 0
    again = block.distance(metric)
    again[:] = -1  # an answer belongs to its kernel: overwriting it spoils nobody else's
    assert np.all(block.distance(metric) >= 0)


def test_constant_predictions_lose_no_digits():
    p = np.full((50, 4), 0.25) + 1e-7 * np.random.default_rng(0).standard_normal((50, 4))
    p /= p.sum(1, keepdims=True)
    batch, everything = kc.Categorical(p), slice(None)
    block = Tile(BlockPoints(batch), everything, everything, shared=False)
    exact = CrossPairs(Points(batch), everything, everything).distance(kc.Euclidean())
    np.testing.assert_allclose(block.distance(kc.Euclidean()), exact, rtol=1e-6)


def test_algebra():
    a, b = kc.Laplacian(0.5), kc.Gaussian(2.0, metric=kc.TotalVariation())
    assert a + b == Sum(a, b)
    assert a * b == Product(a, b)
    assert 3 * a == a * 3 == Scaled(3.0, a)
    np.testing.assert_allclose(on_line(2 * (a + b) * a, D), 2 * (on_line(a, D) + on_line(b, D)) * on_line(a, D))
    with pytest.raises(TypeError):
        a + 1


def test_resolve_reaches_every_leaf():
    p = kc.Bernoulli([0.1, 0.4, 0.8])
    kernel, notes = resolve(2 * (kc.Laplacian() + kc.Gaussian()) * kc.Matern32(0.2), p)
    median = kc.median_lengthscale(p)
    assert kernel == 2 * (kc.Laplacian(median) + kc.Gaussian(median)) * kc.Matern32(0.2)
    assert notes == ()


@pytest.mark.parametrize("kernel", [*PROFILES, kc.Linear(), kc.Dirac()], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("metric", METRICS, ids=lambda m: type(m).__name__)
def test_claimed_positive_definiteness_holds(kernel, metric, make_data):
    from dataclasses import replace

    if hasattr(kernel, "metric"):
        kernel = replace(kernel, metric=metric)
    for m, concentration in ((2, 1.0), (3, 0.1), (6, 0.02)):
        batch = kc.Categorical(make_data(60, m, concentration=concentration)[0])
        gram = kernel.evaluate(CrossPairs(Points(batch), slice(None), slice(None)))
        np.testing.assert_array_equal(gram, gram.T)
        if kernel.positive_definite(batch):
            assert np.linalg.eigvalsh(gram)[0] > -1e-10


def test_gaussian_of_total_variation_is_not_positive_definite_and_says_so():
    # the vertices and midpoints of the L1 ball: exp(-d^2) has a negative eigenvalue there
    p = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    p = np.vstack([p, [[0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0.25] * 4]])
    batch = kc.Categorical(p)
    kernel = kc.Gaussian(2.0, metric=kc.TotalVariation())
    gram = kernel.evaluate(CrossPairs(Points(batch), slice(None), slice(None)))
    assert np.linalg.eigvalsh(gram)[0] < -1e-4
    assert not kernel.positive_definite(batch)
    assert kc.Laplacian(2.0, metric=kc.TotalVariation()).positive_definite(batch)
    assert kernel.positive_definite(kc.Bernoulli([0.1, 0.2]))
    assert not (kc.Laplacian(1.0) + kernel).positive_definite(batch)
    assert not (2 * kernel).positive_definite(batch)
    with pytest.warns(kc.errors.KernelcalWarning, match="Laplacian with this metric"):
        kc.skce([0] * 9, batch, prediction_kernel=kernel)


def test_hilbertian_flags():
    p = kc.Categorical(np.eye(3))
    assert kc.Euclidean().hilbertian(p)
    assert kc.Hellinger().hilbertian(p)
    assert not kc.TotalVariation().hilbertian(p)
    assert kc.TotalVariation().hilbertian(kc.Bernoulli([0.5]))


def test_class_matrices():
    np.testing.assert_array_equal(class_matrix(kc.Dirac(), 3), np.eye(3))
    a = np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 1]])
    np.testing.assert_array_equal(class_matrix(kc.FiniteKernel(a), 3), a)
    np.testing.assert_array_equal(class_matrix(2 * kc.Dirac() + kc.FiniteKernel(a), 3), 2 * np.eye(3) + a)
    ordinal = np.exp(-np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / 2.0)
    np.testing.assert_allclose(class_matrix(kc.Laplacian(2.0), 4), ordinal)
    with pytest.raises(kc.errors.InputError, match="FiniteKernel has 3 classes, the predictions have 4"):
        class_matrix(kc.FiniteKernel(a), 4)
    with pytest.raises(kc.errors.InputError, match="compares predictions, not class labels"):
        class_matrix(kc.Laplacian(1.0, metric=kc.Hellinger()), 4)
    with pytest.raises(kc.errors.InputError, match="must be resolved first"):
        class_matrix(kc.Laplacian(), 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kc.Laplacian(0), "lengthscale must be a positive finite number, got 0"),
        (lambda: kc.Laplacian(float("nan")), "positive finite number"),
        (lambda: kc.Laplacian("mean"), "must be a number or 'median', got 'mean'"),
        (lambda: kc.Laplacian(1.0, metric="tv"), "metric must be a metric such as kernelcal.Euclidean"),
        (lambda: kc.kernels.PowerExponential(1.0, power=2.5), r"power must lie in \(0, 2\], got 2.5"),
        (lambda: kc.InverseMultiquadric(1.0, beta=0.5), "beta must be a negative number above -1000, got 0.5"),
        (lambda: kc.kernels.RationalQuadratic(1.0, alpha=-1), "alpha must be a positive finite number"),
        (lambda: -2 * kc.Laplacian(1.0), "factor of a kernel must be a positive"),
        (lambda: kc.FiniteKernel([[1, 2], [2, 1]]), "least eigenvalue is -1"),
        (lambda: kc.FiniteKernel([[1, 2, 3]]), "symmetric"),
    ],
)
def test_bad_kernels_are_refused_with_the_remedy(make, message):
    with pytest.raises(kc.errors.InputError, match=message):
        make()


def test_a_finite_kernel_between_predictions_is_refused():
    with pytest.raises(kc.errors.InputError, match="use it as target_kernel"):
        kc.ckce([0, 1], [[0.5, 0.5], [0.1, 0.9]], prediction_kernel=kc.FiniteKernel(np.eye(2)))


def test_aligned_pairs_are_the_diagonal_of_cross_pairs(make_data):
    points, rows, columns = Points(kc.Categorical(make_data(20, 3)[0])), slice(0, 10), slice(10, 20)
    for kernel in [*PROFILES, kc.Linear(), kc.Dirac()]:
        cross = kernel.evaluate(CrossPairs(points, rows, columns))
        np.testing.assert_allclose(kernel.evaluate(AlignedPairs(points, rows, columns)), np.diag(cross), rtol=1e-13)
