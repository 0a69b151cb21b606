"""Sliced Wasserstein, other costs of mixtures, exponents of the multiquadric, matrix-valued ground kernels."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.kernels import (
    MMD,
    Euclidean,
    FisherDivergence,
    KernelFisherDivergence,
    MixtureWasserstein,
    SlicedWasserstein,
)
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, Laplace, Mixture, MultivariateNormal, Normal, Samples

MEAN = np.array([[0.0, 1.0], [0.5, -1.0], [2.0, 0.3]])
ROOTS = np.array([[[1.0, 0], [0.5, 0.8]], [[0.4, 0], [-0.3, 1.1]], [[2.0, 0], [1.9, 0.3]]])
FULL = MultivariateNormal(MEAN, ROOTS @ ROOTS.transpose(0, 2, 1))


def squared(metric, predictions):
    x = np.asarray(metric.coordinates(predictions))
    return ((x[:, None] - x[None]) ** 2).sum(axis=-1)


def test_sliced_distance_is_the_mean_over_directions_one_by_one():
    metric = SlicedWasserstein(7, rng=3)
    expected = np.zeros((3, 3))
    for theta in metric.on_sphere(2):
        m, s = MEAN @ theta, [np.sqrt(theta @ r @ r.T @ theta) for r in ROOTS]
        for i, j in itertools.product(range(3), repeat=2):
            expected[i, j] += ((m[i] - m[j]) ** 2 + (s[i] - s[j]) ** 2) / 7
    np.testing.assert_allclose(squared(metric, FULL), expected, atol=1e-13)
    assert np.allclose(np.linalg.norm(metric.on_sphere(2), axis=1), 1)


def test_sliced_distance_of_draws_and_of_independent_components():
    metric, rng = SlicedWasserstein(5), np.random.default_rng(0)
    draws = rng.normal(size=(2, 6, 2))
    value = squared(metric, Samples(draws))[0, 1]
    expected = np.mean([((np.sort(draws[0] @ t) - np.sort(draws[1] @ t)) ** 2).mean() for t in metric.on_sphere(2)])
    assert value == pytest.approx(expected, rel=1e-12)
    std = np.array([[1.0, 0.3], [0.6, 2.0], [0.2, 0.2]])
    full = MultivariateNormal(MEAN, np.stack([np.diag(s**2) for s in std]))
    np.testing.assert_allclose(squared(metric, DiagonalNormal(MEAN, std)), squared(metric, full), atol=1e-12)
    whole = MultivariateNormal(MEAN, np.stack([np.eye(2) * s**2 for s in std[:, 0]]))
    np.testing.assert_allclose(squared(metric, IsotropicNormal(MEAN, std[:, 0])), squared(metric, whole), atol=1e-12)
    numbers = Normal([0.0, 3.0], [1.0, 5.0])
    np.testing.assert_allclose(squared(metric, numbers), squared(kc.Wasserstein(), numbers))
    # over the sphere the mean of squared projections of a shift is its squared length over d
    shifted = IsotropicNormal([[0.0, 0.0], [3.0, 4.0]], [1.0, 1.0])
    assert squared(SlicedWasserstein(4000), shifted)[0, 1] == pytest.approx(12.5, rel=0.05)


def test_sliced_kernel_is_positive_definite_where_wasserstein_is_not():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, np.pi, 40)
    v = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    thin = MultivariateNormal(np.zeros((40, 2)), v[:, :, None] * v[:, None, :] + 1e-3 * np.eye(2))
    assert np.linalg.eigvalsh(np.exp(-squared(SlicedWasserstein(), thin) * 8))[0] > -1e-10
    assert kc.Gaussian(1.0, metric=SlicedWasserstein()).positive_definite(thin)
    with pytest.raises(InputError, match="SlicedWasserstein compares normal vectors and draws of vectors"):
        SlicedWasserstein().coordinates(Mixture(np.full((2, 2), 0.5), [IsotropicNormal(MEAN[:2], 1.0)] * 2))
    with pytest.raises(InputError, match="directions must be a whole number"):
        SlicedWasserstein(0)


def transport(a, b, cost):
    """Least cost by the linear program as it is written."""
    k = len(a)
    rows = [np.kron(np.eye(k)[i], np.ones(k)) for i in range(k)] + [np.kron(np.ones(k), np.eye(k)[j]) for j in range(k)]
    return linprog(cost.ravel(), A_eq=np.array(rows), b_eq=np.concatenate([a, b])).fun


@pytest.mark.parametrize("exponent", [1, 2, 3])
@pytest.mark.parametrize("name", ["mmd", "euclidean", "fisher", "bures", "total"])
def test_mixture_distance_with_other_costs_is_a_linear_program(exponent, name):
    pytest.importorskip("ot")
    w = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    if name == "bures":
        parts = [MultivariateNormal(MEAN[[k, 2 - k]], FULL.cov[[k, 2 - k]]) for k in range(3)]
        cost = kc.Wasserstein()
    else:
        parts = [Normal([0.0 + k, 1.0 - k], [1.0, 0.5 + k]) for k in range(3)]
        cost = {"mmd": MMD(kc.Gaussian(1.0)), "euclidean": Euclidean(), "fisher": FisherDivergence("standard")}.get(
            name, kc.Wasserstein()
        )
    costs = np.zeros((3, 3))
    for k, l in itertools.product(range(3), repeat=2):
        kind = type(parts[0])
        if name == "bures":
            pair = kind(np.stack([parts[k].mean[0], parts[l].mean[1]]), np.stack([parts[k].cov[0], parts[l].cov[1]]))
        else:
            pair = kind([parts[k].mean[0], parts[l].mean[1]], [parts[k].std[0], parts[l].std[1]])
        costs[k, l] = kc.kernels.metrics.view(cost, pair).cross(slice(0, 1), slice(1, 2))[0, 0] ** 0.5
    metric = MixtureWasserstein(exponent, cost=cost)
    found = kc.kernels.metrics.view(metric, Mixture(w, parts)).cross(slice(0, 1), slice(1, 2))[0, 0]
    assert found == pytest.approx(transport(w[0], w[1], costs**exponent) ** (2 / exponent), rel=1e-8)


def test_components_of_unlike_families_need_a_cost_for_both():
    mixture = Mixture(np.full((2, 2), 0.5), [Normal([0.0, 1.0], 1.0), Laplace([0.0, 1.0], 1.0)])
    value = kc.median_lengthscale(mixture, metric=MixtureWasserstein(cost=Euclidean()))
    # (0, 1), (0, sqrt 2) move to (1, 1), (1, sqrt 2): both by 1
    assert value == pytest.approx(1.0)
    with pytest.raises(InputError, match="components of one family"):
        kc.median_lengthscale(mixture, metric=MixtureWasserstein())
    with pytest.raises(InputError, match="pair by pair and compares components of one family"):
        kc.median_lengthscale(mixture, metric=MixtureWasserstein(cost=MMD(kc.Gaussian(1.0))))
    with pytest.raises(InputError, match="cost must be a metric"):
        MixtureWasserstein(cost="euclidean")


def test_multiquadric_of_exponent_minus_one_is_the_rational_quadratic():
    y, p = [0, 2, 1, 1], np.random.default_rng(0).dirichlet(np.ones(3), 4)
    one = kc.skce(y, p, prediction_kernel=kc.InverseMultiquadric(0.5, beta=-1.0))
    other = kc.skce(y, p, prediction_kernel=kc.kernels.RationalQuadratic(0.5 / np.sqrt(2), alpha=1.0))
    assert float(one) == pytest.approx(float(other), rel=1e-12)
    x = np.random.default_rng(1).normal(size=(30, 2))
    k = (1 + ((x[:, None] - x[None]) ** 2).sum(axis=-1)) ** -3.0
    assert np.linalg.eigvalsh(k)[0] > -1e-12


def naive_divergence(points, kernel_matrix, scores):
    """V-statistic ``1/m^2 sum_ab (s - s')(x_a)' K(x_a, x_b) (s - s')(x_b)`` of two predictions, as printed."""
    difference = scores[0] - scores[1]
    m, total = len(points), 0.0
    for a, b in itertools.product(range(m), repeat=2):
        total += difference[a] @ kernel_matrix(points[a], points[b]) @ difference[b]
    return total / m**2


MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])


def diffusion(x, z, l2=1.44):
    d = x - z
    return np.exp(-d @ d / (2 * l2)) * (np.eye(2) / l2 - np.outer(d, d) / l2**2)


@pytest.mark.parametrize("kind", ["constant", "diffusion"])
@pytest.mark.parametrize("mixed", [False, True])
def test_matrix_valued_ground_kernel_is_the_sum_over_base_points(kind, mixed):
    points = np.random.default_rng(0).normal(size=(9, 2))
    predictions = FULL[:2]
    if mixed:  # scores that are not affine
        predictions = Mixture([[0.3, 0.7], [0.5, 0.5]], [FULL[:2], FULL[[1, 2]]])
    scores = np.stack([predictions.score(np.stack([x, x])) for x in points], axis=1)
    matrix = MATRIX if kind == "constant" else "diffusion"
    metric = KernelFisherDivergence(kc.Gaussian(1.2), base=points, matrix=matrix)

    def ground(x, z):
        return np.exp(-(x - z) @ (x - z) / 2.88) * MATRIX if kind == "constant" else diffusion(x, z)

    assert squared(metric, predictions)[0, 1] == pytest.approx(naive_divergence(points, ground, scores), rel=1e-8)


def test_matrix_times_identity_is_the_divergence_itself_in_closed_form():
    plain = squared(KernelFisherDivergence(kc.Gaussian(1.2), "standard"), FULL)
    scaled = squared(KernelFisherDivergence(kc.Gaussian(1.2), "standard", matrix=[3.0, 3.0]), FULL)
    np.testing.assert_allclose(scaled, 3 * plain, rtol=1e-9)
    drawn = np.random.default_rng(0).normal(size=(20_000, 2))
    left, right = drawn[:10_000], drawn[10_000:]
    s = [FULL[:2].score(np.repeat(x[:, None], 2, axis=1)) for x in (left, right)]
    d = [one[:, 0] - one[:, 1] for one in s]
    weights = np.exp(-((left - right) ** 2).sum(axis=1) / 2.88)
    values = weights * np.einsum("ni,ij,nj->n", d[0], MATRIX, d[1])
    exact = squared(KernelFisherDivergence(kc.Gaussian(1.2), "standard", matrix=MATRIX), FULL)[0, 1]
    assert abs(values.mean() - exact) < 4 * values.std() / 100


def test_diffusions_part_as_fast_as_the_divergence_says():
    """Proposition 4.6: points moved by t times the scores part, in MMD over t, as the root of the divergence says."""
    rng = np.random.default_rng(2)
    x, t = rng.normal(size=(300, 2)), 1e-4
    p = FULL[:2]
    moved = [x + t * p.score(np.repeat(x[:, None], 2, axis=1))[:, i] for i in range(2)]
    k = lambda a, b: np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=-1) / 2.88)  # noqa: E731
    mmd = k(moved[0], moved[0]).mean() + k(moved[1], moved[1]).mean() - 2 * k(moved[0], moved[1]).mean()
    metric = KernelFisherDivergence(kc.Gaussian(1.2), base=x, matrix="diffusion")
    assert mmd / t**2 == pytest.approx(squared(metric, p)[0, 1], rel=1e-2)


def test_the_upward_bias_of_base_points_is_what_the_docstring_says():
    p = MultivariateNormal(np.array([[0.0] * 5, [1.0] * 5]), np.array([np.eye(5)] * 2))
    exact = squared(KernelFisherDivergence(kc.Gaussian(1.0), "standard"), p)[0, 1]
    assert exact == pytest.approx(5 * 3**-2.5, rel=1e-12)  # .3208: |s - s'|^2 E k
    for m in (10, 100):
        drawn = [
            squared(KernelFisherDivergence(kc.Gaussian(1.0), np.random.default_rng(s).standard_normal((m, 5))), p)[0, 1]
            for s in range(60)
        ]
        expected = exact + (5 - exact) / m
        assert abs(np.mean(drawn) - expected) < 4 * np.std(drawn) / np.sqrt(60)


def test_matrices_that_are_none_are_refused():
    for given, message in (
        ([[1.0, 2.0], [2.0, 1.0]], "least eigenvalue is -1"),
        ([[1.0, 2.0, 3.0]], "got shape"),
        ("scaled", "or 'diffusion'"),
    ):
        with pytest.raises(InputError, match=message):
            KernelFisherDivergence(kc.Gaussian(1.0), matrix=given)
    with pytest.raises(InputError, match="closed form for a Gaussian ground kernel"):
        KernelFisherDivergence(kc.Laplacian(1.0), matrix="diffusion")
    with pytest.raises(InputError, match="matrix is 3 x 3, the predictions have d = 2"):
        KernelFisherDivergence(kc.Gaussian(1.0), matrix=np.eye(3)).coordinates(FULL)
