"""Sums of products on predictions and targets: every estimator and null law against sums written out."""

from itertools import product

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.inference.laws.null_moments import known_null
from kernelcal.kernels import Constant, OnTargets, RationalQuadratic, joint_mixture, terms_of
from kernelcal.statistics.pairwise import KCCSD

A = np.array([[1.0, 0.4, 0.0], [0.4, 2.0, 0.1], [0.0, 0.1, 0.3]])
B = np.array([[2.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
KERNEL = kc.Laplacian(0.3) * kc.FiniteKernel(A) + 0.5 * (kc.Gaussian(0.5) * kc.FiniteKernel(B)) + kc.Gaussian(0.8)


def data(n, seed=0, m=3):
    rng = np.random.default_rng(seed)
    return rng.integers(0, m, n), rng.dirichlet(np.ones(m), n)


def matrix_valued(p, q):
    """The kernel k(p, q) of the supplement, an m x m matrix: eq. (D.7)."""
    d = np.linalg.norm(p - q)
    return np.exp(-d / 0.3) * A + 0.5 * np.exp(-(d**2) / 0.5) * B + np.exp(-(d**2) / 1.28) * np.eye(3)


def naive(y, p):
    r = np.eye(3)[y] - p
    n = len(y)
    return np.array([[r[i] @ matrix_valued(p[i], p[j]) @ r[j] for j in range(n)] for i in range(n)])


def off(h):
    return h - np.diag(np.diag(h))


def test_estimators_are_those_of_the_matrix_valued_kernel():
    y, p = data(13)
    h, n = naive(y, p), 13

    def value(**options):
        return float(kc.skce(y, p, prediction_kernel=KERNEL, **options))

    assert value(estimator="biased") == pytest.approx(h.mean(), rel=1e-12)
    assert value() == pytest.approx(off(h).sum() / (n * (n - 1)), rel=1e-12)
    for size in (2, 3):
        blocks = [off(h)[i : i + size, i : i + size].sum() for i in range(0, n - size + 1, size)]
        assert value(estimator="block", block_size=size) == pytest.approx(np.mean(blocks) / (size * (size - 1)))
    band = [h[i, j] for i in range(n) for j in range(i + 1, min(i + 3, n))]
    assert value(estimator="incomplete", superdiagonals=2) == pytest.approx(np.mean(band), rel=1e-12)
    assert value(engine=kc.Nystrom(n)) == pytest.approx(value(), rel=1e-9)


def test_pairs_of_a_band_are_summed_over_terms():
    y, p = data(9)
    statistic = kc.SKCE(prediction_kernel=KERNEL, estimator="incomplete", superdiagonals=2)
    lists = statistic.prepare(kc.Categorical(p)).forms.by_pair(y)
    h = naive(y, p)
    for step, values in enumerate(lists, start=1):
        np.testing.assert_allclose(values, np.diagonal(h, step), rtol=1e-10)


def test_far_outcomes_are_as_long_as_their_terms_say():
    predictions = kc.Normal([0.0, 1.0, 3.0], [1.0, 0.5, 2.0])
    kernel = 3.0 * (kc.Laplacian(1.0) * OnTargets(kc.Gaussian(1.0))) + kc.Gaussian(2.0) * OnTargets(kc.Laplacian(0.7))
    residual = kc.SKCE(prediction_kernel=kernel).prepare(predictions).residual
    first, second = (term.residual.far_lengths() for term in residual.terms)
    np.testing.assert_allclose(residual.far_lengths(), 3 * first + second)


def test_weights_multiply_pairs():
    y, p = data(9)
    w = np.linspace(0.2, 2, 9)
    pairs = np.outer(w, w)
    expected = (off(naive(y, p)) * pairs).sum() / (pairs.sum() - (w**2).sum())
    assert float(kc.SKCE(prediction_kernel=KERNEL)(y, p, weights=w)) == pytest.approx(expected, rel=1e-12)


def test_exact_law_ranks_naive_values_of_the_same_draws():
    _, p = data(10)
    prepared = kc.SKCE(prediction_kernel=KERNEL).prepare(kc.Categorical(p))
    draws = kc.Categorical(p).sample(np.random.default_rng(1), 5)
    expected = [off(naive(row, p)).sum() / 90 for row in draws]
    np.testing.assert_allclose(prepared.values(draws)[:, 0], expected, rtol=1e-11)


def test_saddlepoint_has_the_moments_of_all_outcomes():
    """Every one of the 3^4 outcomes of four rows, weighted by its probability."""
    _, p = data(4, seed=2)
    sums, weights = [], []
    for y in product(range(3), repeat=4):
        sums.append(off(naive(np.array(y), p)).sum())
        weights.append(np.prod(p[np.arange(4), y]))
    sums, weights = np.array(sums), np.array(weights)
    null = known_null(kc.SKCE(prediction_kernel=KERNEL).prepare(kc.Categorical(p)))
    assert weights @ sums == pytest.approx(0, abs=1e-12)
    assert null.variance == pytest.approx(weights @ sums**2, rel=1e-10)
    assert null.third == pytest.approx(weights @ sums**3, rel=1e-10)


@pytest.mark.slow
def test_saddlepoint_of_many_rows_has_the_exact_variance():
    """Above 1,500 rows times classes the variance comes from one pass, here beside the sum over all pairs of labels."""
    _, p = data(520, seed=3)
    prepared = kc.SKCE(prediction_kernel=KERNEL).prepare(kc.Categorical(p))
    c = [np.diag(row) - np.outer(row, row) for row in p]
    d = np.linalg.norm(p[:, None] - p[None], axis=2)
    total, some = 0.0, slice(0, 520, 40)
    full = 0.0
    for i in range(*some.indices(520)):
        for j in range(520):
            if i != j:
                k = np.exp(-d[i, j] / 0.3) * A + 0.5 * np.exp(-(d[i, j] ** 2) / 0.5) * B
                k = k + np.exp(-(d[i, j] ** 2) / 1.28) * np.eye(3)
                total += np.trace(c[i] @ k @ c[j] @ k.T)
    null = known_null(prepared)
    from kernelcal.inference.laws.null_moments import _covariance, _kernels

    covariance, rows = _covariance(prepared), slice(0, 520)
    strips = _kernels(prepared.forms, rows)
    for strip in strips:
        np.fill_diagonal(strip, 0)
    squares = covariance.squares(strips, rows)
    full = squares[some].sum()
    assert full == pytest.approx(total, rel=1e-9)
    assert null.variance == pytest.approx(2 * squares.sum(), rel=1e-9)
    assert not null.exact


def test_bound_is_the_sum_of_the_bounds():
    prepared = kc.SKCE(prediction_kernel=KERNEL, estimator="biased").prepare(kc.Categorical(data(5)[1]))
    largest = [max(m[a, a] + m[b, b] - 2 * m[a, b] for a in range(3) for b in range(3)) for m in (A, B, np.eye(3))]
    assert prepared.residual.bound() == pytest.approx(largest[0] + 0.5 * largest[1] + largest[2])
    y, p = data(40)
    result = kc.calibration_test(y, p, statistic=kc.SKCE(prediction_kernel=KERNEL, estimator="biased"), null="bound")
    value, bound = naive(y, p).mean(), prepared.residual.bound()
    expected = np.exp(-0.5 * max(0, np.sqrt(40 * value / bound) - 1) ** 2)
    assert result.pvalue == pytest.approx(expected, rel=1e-10)


def test_bootstraps_work_on_the_same_matrix():
    y, p = data(20)
    h, n = naive(y, p), 20
    prepared = kc.SKCE(prediction_kernel=KERNEL).prepare(kc.Categorical(p))
    matrix = prepared.matrix(y)
    np.testing.assert_allclose(matrix.dense(), h, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(matrix.row_squares, (off(h) ** 2).sum(axis=1), rtol=1e-10)
    signs = np.where(np.random.default_rng(0).random((n, 3)) < 0.5, -1.0, 1.0)
    np.testing.assert_allclose(
        matrix.quadratic(signs, diagonal=False), np.einsum("ib,ij,jb->b", signs, off(h), signs), rtol=1e-9
    )
    for null in ("bootstrap", "wild", "gamma", "pearson", "spectrum", "saddlepoint", "exact"):
        result = kc.calibration_test(y, p, statistic=kc.SKCE(prediction_kernel=KERNEL), null=null, draws=99)
        assert 0 < result.pvalue <= 1
        assert result.statistic == pytest.approx(off(h).sum() / (n * (n - 1)), rel=1e-10)


@pytest.mark.parametrize("method", ["bootstrap", "root", "ball", "block"])
def test_intervals_hold_the_estimate(method):
    y, p = data(60)
    options = {"estimator": "block", "block_size": 2} if method == "block" else {}
    statistic = kc.SKCE(prediction_kernel=KERNEL, **options)
    found = kc.confidence_interval(y, p, statistic=statistic, method=method, draws=99)
    assert found.estimate == pytest.approx(float(statistic(y, p)), rel=1e-10)
    assert found.lower <= max(found.estimate, 0) <= found.upper


@pytest.mark.slow
def test_two_classes_are_one_product_so_that_a_scan_serves_them():
    rng = np.random.default_rng(0)
    p, y = rng.random(1500), rng.integers(0, 2, 1500)
    a = np.array([[1.0, 0.2], [0.2, 3.0]])
    kernel = kc.Laplacian(0.3) * kc.FiniteKernel(a) + kc.kernels.Matern32(0.5)
    estimate = kc.skce(y, p, prediction_kernel=kernel)
    d = np.abs(p[:, None] - p[None])
    t = np.sqrt(3) * d / 0.5
    r = y - p
    h = (3.6 * np.exp(-d / 0.3) + 2 * (1 + t) * np.exp(-t)) * np.outer(r, r)
    assert estimate.engine == "exact scan"
    assert float(estimate) == pytest.approx(off(h).sum() / (1500 * 1499), rel=1e-9)
    both = [
        kc.calibration_test(y, p, statistic=kc.SKCE(prediction_kernel=k), null="saddlepoint").pvalue
        for k in (kernel, 1.8 * kc.Laplacian(0.3) + kc.kernels.Matern32(0.5))
    ]
    assert both[0] == pytest.approx(both[1], rel=1e-9)


def test_numbers_have_sums_of_products_too():
    rng = np.random.default_rng(0)
    predictions = kc.Normal(rng.normal(size=8), rng.uniform(0.5, 2, 8))
    y = rng.normal(size=8)
    kernel = kc.Laplacian(0.7) * OnTargets(kc.Gaussian(0.5)) + 2 * kc.Gaussian(1.0) * OnTargets(kc.Laplacian(2.0))
    parts = [
        float(kc.skce(y, predictions, prediction_kernel=k, target_kernel=t))
        for k, t in ((kc.Laplacian(0.7), kc.Gaussian(0.5)), (kc.Gaussian(1.0), kc.Laplacian(2.0)))
    ]
    assert float(kc.skce(y, predictions, prediction_kernel=kernel)) == pytest.approx(parts[0] + 2 * parts[1], rel=1e-10)
    stein = kc.Laplacian(0.7) * OnTargets(kc.Gaussian(0.5)) + kc.Gaussian(1.0)
    parts = [
        float(kc.kccsd(y, predictions, prediction_kernel=k, target_kernel=kc.Gaussian(t)))
        for k, t in ((kc.Laplacian(0.7), 0.5), (kc.Gaussian(1.0), 1.5))
    ]
    found = KCCSD(prediction_kernel=stein, target_kernel=kc.Gaussian(1.5))(y, predictions)
    assert float(found) == pytest.approx(sum(parts), rel=1e-10)


def test_a_profile_of_one_distance_is_no_product_and_agrees_with_numbers():
    """(1 + (d_P^2 + 4 d_Y^2) / (2 l^2))^-1 under expectations by a fine rule, against 32 products."""
    mean, std, y = np.array([0.0, 0.7, -1.0]), np.array([1.0, 0.5, 2.0]), np.array([0.3, 1.9, -0.2])
    kernel = joint_mixture(RationalQuadratic(1.2), target_lengthscale=0.6, terms=32)
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    points = [np.append(y[i], mean[i] + std[i] * nodes) for i in range(3)]
    signed = np.append(1.0, -weights)
    h = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            d2 = (mean[i] - mean[j]) ** 2 + (std[i] - std[j]) ** 2
            values = 1 / (1 + d2 / (2 * 1.44) + (points[i][:, None] - points[j]) ** 2 / (2 * 0.36))
            h[i, j] = signed @ values @ signed
    found = kc.skce(y, kc.Normal(mean, std), prediction_kernel=kernel)
    assert float(found) == pytest.approx(off(h).sum() / 6, abs=1e-5)


def test_a_profile_of_one_distance_errs_as_little_as_it_says():
    u = np.concatenate([np.linspace(0, 10, 500), np.logspace(1, 6, 200)])
    for profile, exponent, square, errors in (
        (RationalQuadratic(1.0), 1.0, 2.0, (5e-4, 1e-6)),
        (kc.InverseMultiquadric(1.0), 0.5, 1.0, (2e-3, 2e-5)),
    ):
        for terms, error in zip((12, 32), errors, strict=True):
            values = np.zeros(len(u))
            for term in terms_of(joint_mixture(profile, 1.0, terms=terms)):
                factor, inside = term.kernel.factor, term.kernel.kernel
                values += factor * np.exp(-u * square / (2 * inside.lengthscale**2))
                assert term.target.lengthscale == inside.lengthscale
            assert np.abs(values - (1 + u) ** -exponent).max() < error


@pytest.mark.parametrize(
    ("profile", "exponent", "shift", "stretch"),
    [
        (RationalQuadratic(1.5, alpha=0.7, metric=kc.TotalVariation()), -0.7, 1.0, 1.4),
        (kc.InverseMultiquadric(0.8, beta=-1.3, offset=1.7, metric=kc.TotalVariation()), -1.3, 1.7**2, 1.0),
    ],
    ids=["rational quadratic", "inverse multiquadric"],
)
def test_a_profile_of_one_distance_keeps_exponent_offset_and_metric(profile, exponent, shift, stretch):
    d, e = np.meshgrid(np.linspace(0, 4, 9), np.linspace(0, 3, 7))
    values = np.zeros_like(d)
    for term in terms_of(joint_mixture(profile, target_lengthscale=0.6, terms=40)):
        inside = term.kernel.kernel
        assert inside.metric == profile.metric
        values += term.kernel.factor * np.exp(
            -(d**2) / (2 * inside.lengthscale**2) - e**2 / (2 * term.target.lengthscale**2)
        )
    wanted = (shift + (d**2 / profile.lengthscale**2 + e**2 / 0.6**2) / stretch) ** exponent
    np.testing.assert_allclose(values, wanted, atol=2e-6)


def test_a_constant_is_the_mean_residual():
    y, p = data(30)
    r = (np.eye(3)[y] - p).mean(axis=0)
    found = kc.skce(y, p, prediction_kernel=Constant(), estimator="biased")
    assert float(found) == pytest.approx(r @ r, rel=1e-12)
    with_matrix = kc.skce(y, p, prediction_kernel=kc.FiniteKernel(A), estimator="biased")
    assert float(with_matrix) == pytest.approx(r @ A @ r, rel=1e-12)


def test_products_multiply_out():
    left = kc.Laplacian(1.0) + OnTargets(kc.Dirac())
    terms = terms_of(left * left)
    assert [(str(term.target)) for term in terms] == ["None", "Dirac()", "Dirac() * Dirac()"]


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_gradients_flow_through_all_terms(library):
    y, p = data(6)
    expected = np.zeros_like(p)
    for i in range(6):
        for k in range(3):
            step = np.zeros_like(p)
            step[i, k] = 1e-6
            expected[i, k] = (off(naive(y, p + step)).sum() - off(naive(y, p - step)).sum()) / 2e-6 / 30
    if library == "torch":
        torch = pytest.importorskip("torch")
        x = torch.tensor(p, requires_grad=True)
        kc.skce(y, kc.Categorical(x), prediction_kernel=KERNEL).value.backward()
        found = x.grad.numpy()
    else:
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        found = np.asarray(jax.grad(lambda q: kc.skce(y, kc.Categorical(q), prediction_kernel=KERNEL).value)(p))
    free = expected - expected.mean(axis=1, keepdims=True)  # rows stay on the simplex
    np.testing.assert_allclose(found - found.mean(axis=1, keepdims=True), free, atol=1e-6)


def test_what_compares_targets_is_refused_elsewhere():
    y, p = data(10)
    with pytest.raises(kc.errors.InputError, match="use it as target_kernel"):
        kc.ckce(y, p, prediction_kernel=kc.Gaussian(1.0) * kc.FiniteKernel(A))
    with pytest.raises(kc.errors.InputError, match="compares targets"):
        kc.ckce(y, p, prediction_kernel=OnTargets(kc.Gaussian(1.0)))
    with pytest.raises(kc.errors.InputError, match="needs a kernel between targets"):
        OnTargets(3)
    with pytest.raises(kc.errors.InputError, match="mixtures of Gaussians"):
        joint_mixture(kc.Laplacian(1.0), 1.0)
    with pytest.raises(kc.errors.InputError, match="terms must be a whole number from 2 to 64"):
        joint_mixture(RationalQuadratic(1.0), 1.0, terms=1)


@pytest.mark.slow
def test_level_of_the_exact_and_saddlepoint_laws():
    """Calibrated rows of other random numbers: rejections at 10 % within a binomial bound."""
    rng, rejected = np.random.default_rng(7), np.zeros(2)
    for _ in range(200):
        p = rng.dirichlet(np.ones(3), 60)
        y = (rng.random(60)[:, None] > p.cumsum(axis=1)).sum(axis=1)
        for k, null in enumerate(("exact", "saddlepoint")):
            found = kc.calibration_test(y, p, statistic=kc.SKCE(prediction_kernel=KERNEL), null=null, draws=99)
            rejected[k] += found.pvalue <= 0.1
    assert (rejected < 36).all(), rejected  # P(Bin(200, .1) >= 36) is below 5e-4
    assert (rejected > 6).all(), rejected
