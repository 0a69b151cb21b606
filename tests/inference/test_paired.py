"""Paired differences, rows drawn for the CKCE, and equivalence: against formulae written a second time."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm, t as student, ttest_1samp

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference import Draws, equivalence_test
from kernelcal.inference.intervals.paired import (
    Contrast,
    PairedDifference,
    difference_of_draws,
    difference_of_pairs,
    mean_difference,
)
from kernelcal.inference.intervals.row_bootstrap import RowBootstrap
from kernelcal.inference.intervals.surprises import surprises_of
from kernelcal.kernels import Spectral, Wasserstein
from kernelcal.pairs.matrix import joint_sums
from kernelcal.statistics import CKCE
from kernelcal.statistics.conditional.engines import fourier_features

STATISTIC = kc.SKCE(prediction_kernel=kc.Laplacian(0.3))


def binary(n, seed=0, slope=1.0):
    """Targets of uniform predictions, and predictions with another slope of their log-odds."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, size=n)
    return (rng.random(n) < p).astype(int), p**slope / (p**slope + (1 - p) ** slope)


def classes(n, m=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, m, n), rng.dirichlet(np.ones(m), n)


def pairs_by_hand(y, p, scale=0.3):
    """h_ij of the SKCE of two classes, written from its definition: two equal residuals of opposite sign."""
    return np.exp(-np.abs(p[:, None] - p) / scale) * 2 * np.outer(y - p, y - p)


def joint(y, *models):
    return joint_sums([STATISTIC.prepare(kc.Bernoulli(p)).matrix(y) for p in models])


@pytest.mark.parametrize("slope", [2.0, 0.4])
def test_difference_of_pairs_has_the_variance_of_a_u_statistic(slope):
    y, p = binary(9)
    q = binary(9, slope=slope)[1]
    d = pairs_by_hand(y, p) - pairs_by_hand(y, q)
    squares = np.mean([d[i, j] ** 2 for i, j in permutations(range(9), 2)])
    shared = np.mean([d[i, j] * d[i, k] for i, j, k in permutations(range(9), 3)])
    apart = np.mean([d[i, j] * d[k, m] for i, j, k, m in permutations(range(9), 4)])
    variance = 4 * 7 / (9 * 8) * max(shared - apart, 0) + 2 / (9 * 8) * max(squares - apart, 0)
    found, turned = (difference_of_pairs(*joint(y, p, q), *order) for order in ((0, 1), (1, 0)))
    assert found.difference == pytest.approx(np.mean([d[i, j] for i, j in permutations(range(9), 2)]), rel=1e-9)
    assert found.error == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert found.pvalue == pytest.approx(2 * norm.sf(abs(found.difference) / found.error), rel=1e-9)
    assert (turned.difference, turned.error) == pytest.approx((-found.difference, found.error), rel=1e-9)


@pytest.mark.slow
def test_the_standard_error_is_the_spread_of_the_difference_over_samples():
    found = []
    for seed in range(200):
        y, p = binary(150, [3, seed])
        found.append(difference_of_pairs(*joint(y, p, p**2), 0, 1))
    differences, errors = np.array([(one.difference, one.error) for one in found]).T
    assert np.sqrt((errors**2).mean()) == pytest.approx(differences.std(ddof=1), rel=0.15)


def test_equal_predictions_differ_by_nothing():
    y, p = binary(60)
    assert difference_of_pairs(*joint(y, p, p.copy()), 0, 1) == Contrast(0.0, 0.0, 1.0)
    assert difference_of_draws((0.2, 0.2), np.arange(5.0), np.arange(5.0)) == Contrast(0.0, 0.0, 1.0)


def test_draws_give_the_spread_of_their_difference():
    first, second = np.array([1.0, 4.0, 3.0]), np.array([0.0, 1.0, 1.0])
    found = difference_of_draws((2.0, 0.5), first, second)
    assert (found.difference, found.error, found.pvalue) == pytest.approx((1.5, 1.0, 2 * norm.sf(1.5)))
    wider = difference_of_draws((2.0, 0.5), first, second, lambda surprises: (first * 2, second * 2))
    assert (wider.error, wider.pvalue) == pytest.approx((2.0, 2 * norm.sf(0.75)))
    narrower = difference_of_draws((2.0, 0.5), first, second, lambda surprises: (first / 2, second / 2))
    assert narrower == found


def test_draws_get_the_surprises_of_the_next_depth():
    asked = []

    def surprised(surprises):
        asked.append(surprises)
        return np.array([0.0, np.sqrt(2 * surprises)]), np.zeros(2)

    found = difference_of_draws((9.0, 0.0), np.array([0.0, 1.0]), np.zeros(2), surprised)
    assert set(asked) <= {z**2 / 2 for z in (2.0, 2.5, 3.0, 4.0, 6.0)}
    z = norm.isf(found.pvalue / 2)  # errors are depth / sqrt(2): 9 of them are met between 3 and 4, by those of 4
    assert z == pytest.approx(9 / (4 / np.sqrt(2)), rel=1e-6)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("n", [40, 3000])
def test_joint_sums_equal_those_of_dense_matrices(n):
    y, p = binary(n)
    models = (p, p**2, binary(n, slope=0.5)[1])
    sums, products = joint(y, *models)
    dense = np.stack([pairs_by_hand(y, q) for q in models])
    dense[:, range(n), range(n)] = 0
    np.testing.assert_allclose(sums, dense.sum(axis=2), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(products, np.einsum("aij,bij->ab", dense, dense, optimize=True), rtol=1e-9)


@pytest.mark.parametrize("n", [40, 3000])
def test_every_matrix_knows_the_sums_that_all_were_walked_over_for(n):
    y, p = binary(n)
    prepared = [STATISTIC.prepare(kc.Bernoulli(q)) for q in (p, p**2)]
    matrices = [one.matrix(y) for one in prepared]
    joint_sums(matrices)
    for q, ready, matrix in zip((p, p**2), prepared, matrices, strict=True):
        dense = pairs_by_hand(y, q)
        np.testing.assert_allclose(matrix.diagonal, np.diag(dense), rtol=1e-12)
        np.testing.assert_allclose(matrix.row_sums, dense.sum(axis=1), rtol=1e-9, atol=1e-9)
        np.fill_diagonal(dense, 0)
        assert matrix.square_sum == pytest.approx((dense**2).sum(), rel=1e-9)
        assert float(ready.estimate(y)) == pytest.approx(dense.sum() / (n * (n - 1)), rel=1e-9)


def test_mean_difference_of_rows():
    first, second = np.array([1.0, 2.0, 6.0]), np.array([0.0, 3.0, 1.0])
    rows = first - second
    found = mean_difference(first, second)
    assert (found.difference, found.error) == pytest.approx((rows.mean(), rows.std(ddof=1) / np.sqrt(3)))
    assert found.pvalue == pytest.approx(ttest_1samp(rows, 0).pvalue, rel=1e-9)
    assert mean_difference(first, first) == Contrast(0.0, 0.0, 1.0)
    assert mean_difference(first, first + 1e-16) == Contrast(0.0, 0.0, 1.0)  # rounding is no difference


@pytest.mark.parametrize("n", [3, 10, 5000])
def test_rows_that_all_differ_by_the_same_have_the_p_value_of_equal_signs(n):
    found = mean_difference(np.full(n, 0.5), np.full(n, 0.25))
    assert (found.difference, found.error) == (0.25, 0.0)
    assert found.pvalue == max(2.0 ** (1 - n), 1e-300)


def test_infinite_rows_of_mean_differences():
    finite = np.array([1.0, 2.0, 3.0])
    one, other = np.array([np.inf, 2.0, 3.0]), np.array([1.0, np.inf, 3.0])
    assert mean_difference(one, finite).difference == np.inf
    assert mean_difference(finite, one).difference == -np.inf
    assert np.isnan(mean_difference(one, finite).error)
    assert mean_difference(one, finite).pvalue is None
    assert np.isnan(mean_difference(one, other).difference)
    assert np.isnan(mean_difference(one, other).error)
    assert mean_difference(one, one) == Contrast(0.0, 0.0, 1.0)


def test_a_row_that_is_infinite_for_both_leaves_the_others_to_decide():
    one, other = np.array([np.inf, 2.0, 3.0, 9.0]), np.array([np.inf, 1.0, 1.0, 4.0])
    rows, found = np.array([0.0, 1.0, 2.0, 5.0]), mean_difference(one, other)
    assert (found.difference, found.error) == pytest.approx((rows.mean(), rows.std(ddof=1) / 2))


def test_a_paired_difference_speaks_of_the_better_model():
    found = PairedDifference("SKCE", "a", "b", -0.1, 0.01, 1e-4, 2e-4)
    assert (found.better, found.verdict) == ("a", "a is better")
    turned = found.reversed()
    assert (turned.first, turned.difference, turned.better) == ("b", 0.1, "a")
    assert PairedDifference("SKCE", "a", "b", -0.1, 0.1, 0.04, 0.0501).verdict == "tie"
    assert PairedDifference("SKCE", "a", "b", -0.1, 0.1, 0.04, 0.05).better == "a"
    assert PairedDifference("log score", "a", "b", np.inf, None, None, None).verdict == "b is better"
    assert PairedDifference("log score", "a", "b", np.nan, None, None, None).verdict == "cannot be compared"


# CKCE over drawn rows. R is the matrix of inner products <r_i, r_j>, K that of kernel values, all dense.


def operator_by_hand(k, penalty):
    """``E = I - K W``, which takes residuals to what ridge regression leaves, and ``M = W K W``."""
    w = np.linalg.inv(k + penalty * len(k) * np.eye(len(k)))
    return np.eye(len(k)) - k @ w, w @ k @ w


def drawn_by_hand(k, r, penalty, counts):
    """Off-diagonal sum of ``M_ij <r_i + (w_i - 1) e_i, r_j + (w_j - 1) e_j>``."""
    e, m = operator_by_hand(k, penalty)
    m = m - np.diag(np.diag(m))
    moved = [np.eye(len(k)) + np.diag(w - 1) @ e for w in counts.T]
    return np.array([np.sum(m * (a @ r @ a.T)) for a in moved])


def linear_and_gaussian(p, gamma=0.5):
    squares = ((p[:, None] - p) ** 2).sum(-1)
    return p @ p.T + np.exp(-squares / (2 * gamma**2))


def class_residuals(y, p):
    r = np.eye(p.shape[1])[y] - p
    return r @ r.T


KERNEL = kc.kernels.Linear() + kc.Gaussian(0.5)
COUNTS = np.random.default_rng(8).multinomial(20, np.full(20, 1 / 20), 6).T


@pytest.mark.parametrize("engine", [kc.ExactPairs(), kc.IncompleteCholesky(1e-13)], ids=["exact", "cholesky"])
def test_drawn_rows_of_classes_equal_the_formula_with_inverses(engine):
    y, p = classes(20)
    statistic = CKCE(prediction_kernel=KERNEL, regularization=0.3, engine=engine)
    rows = RowBootstrap(statistic.prepare(kc.Categorical(p)), y)
    expected = drawn_by_hand(linear_and_gaussian(p), class_residuals(y, p), 0.3, COUNTS)
    np.testing.assert_allclose(rows.values(COUNTS), expected, rtol=1e-7, atol=1e-10)
    corrected = CKCE(prediction_kernel=KERNEL, regularization=0.3, estimator="corrected")(y, p)
    assert rows.estimate == pytest.approx(float(corrected), rel=1e-7)
    assert rows.values(np.ones((20, 1))) == pytest.approx(rows.estimate)


def test_drawn_rows_with_fourier_features_equal_the_formula_with_inverses():
    y, p = classes(20)
    statistic = CKCE(prediction_kernel=KERNEL, regularization=0.3, engine=kc.RandomFourier(30, rng=4))
    phi = fourier_features(KERNEL, kc.Categorical(p), 30, 4)(slice(None))
    rows = RowBootstrap(statistic.prepare(kc.Categorical(p)), y)
    expected = drawn_by_hand(phi @ phi.T, class_residuals(y, p), 0.3, COUNTS)
    np.testing.assert_allclose(rows.values(COUNTS), expected, rtol=1e-9)


def normal_residuals(mean, std, y, scale):
    """Inner products of residuals of normal predictions under a Gaussian target kernel, term by term."""

    def smooth(distance, variance):
        return scale / np.sqrt(scale**2 + variance) * np.exp(-(distance**2) / (2 * (scale**2 + variance)))

    half = smooth(mean[:, None] - y, std[:, None] ** 2)
    cross = smooth(mean[:, None] - mean, std[:, None] ** 2 + std**2)
    return smooth(y[:, None] - y, 0.0) - half - half.T + cross


@pytest.mark.parametrize("engine", [kc.ExactPairs(), kc.IncompleteCholesky(1e-13)], ids=["exact", "cholesky"])
def test_drawn_rows_of_numbers_whose_target_kernel_has_no_features(engine):
    rng = np.random.default_rng(5)
    mean, std = rng.normal(size=20), rng.uniform(0.5, 1.5, 20)
    y = mean + std * rng.normal(size=20)
    statistic = CKCE(
        prediction_kernel=kc.Gaussian(0.7, metric=Wasserstein()),
        target_kernel=kc.Gaussian(0.8),
        regularization=0.2,
        engine=engine,
    )
    k = np.exp(-((mean[:, None] - mean) ** 2 + (std[:, None] - std) ** 2) / (2 * 0.7**2))
    rows = RowBootstrap(statistic.prepare(kc.Normal(mean, std)), y)
    expected = drawn_by_hand(k, normal_residuals(mean, std, y, 0.8), 0.2, COUNTS)
    np.testing.assert_allclose(rows.values(COUNTS), expected, rtol=1e-6, atol=1e-9)


def test_drawn_rows_with_features_of_numbers_equal_those_without():
    rng = np.random.default_rng(6)
    mean, std = rng.normal(size=20), rng.uniform(0.5, 1.5, 20)
    y = mean + std * rng.normal(size=20)
    kernel, options = Spectral(kc.Gaussian(0.8), 40), {"prediction_kernel": kc.Gaussian(0.7), "regularization": 0.2}
    first, second = (
        RowBootstrap(CKCE(target_kernel=k, **options).prepare(kc.Normal(mean, std)), y).values(COUNTS)
        for k in (kernel, kc.Gaussian(0.8))
    )
    np.testing.assert_allclose(first, second, rtol=0.02, atol=1e-4)


def test_drawn_rows_of_weighted_rows_equal_the_formula_with_inverses():
    y, p = classes(20)
    weights = np.random.default_rng(2).uniform(0.2, 2.0, 20)
    weights /= weights.mean()
    roots = np.sqrt(np.outer(weights, weights))
    statistic = CKCE(prediction_kernel=KERNEL, regularization=0.3)
    rows = RowBootstrap(statistic.prepare(kc.Categorical(p), weights), y)
    expected = drawn_by_hand(linear_and_gaussian(p) * roots, class_residuals(y, p) * roots, 0.3, COUNTS)
    np.testing.assert_allclose(rows.values(COUNTS), expected, rtol=1e-9)


def derivative(function, step=1e-5):
    return (function(step) - function(-step)) / (2 * step)


@pytest.mark.parametrize("n", [100, 400])
def test_the_bootstrap_of_the_ckce_has_its_influence_function(n):
    rng = np.random.default_rng(n)
    p = rng.dirichlet(np.ones(3), n)
    y = np.where(rng.random(n) < 0.4, 0, kc.Categorical(p).sample(rng)[0])
    direction = rng.normal(size=n)
    direction -= direction.mean()
    options = {"prediction_kernel": KERNEL, "regularization": 0.1}

    def true_slope(estimator):
        statistic = CKCE(estimator=estimator, **options)
        return derivative(lambda t: float(statistic(y, p, weights=1 + t * direction)))

    prepared = CKCE(**options).prepare(kc.Categorical(p))
    e, mr = prepared.operator.regression(prepared.observed(y))
    assert 2 * direction @ (e * mr).sum(axis=1) == pytest.approx(true_slope("plug-in"), rel=1e-5)
    rows = RowBootstrap(prepared, y)
    slope = derivative(lambda t: rows.values(1 + t * direction[:, None])[0])
    assert slope == pytest.approx(true_slope("corrected"), rel=30 / n)  # what is left out is of order 1 / n


@pytest.mark.slow
def test_the_bootstrap_of_the_ckce_has_the_spread_of_rows_that_are_really_drawn():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 150)
    y = np.where(rng.random(150) < 0.4, 0, kc.Categorical(p).sample(rng)[0])
    statistic = CKCE(prediction_kernel=KERNEL, regularization=0.3, estimator="corrected")
    counts = rng.multinomial(150, np.full(150, 1 / 150), 200).T
    quick = RowBootstrap(statistic.prepare(kc.Categorical(p)), y).values(counts)
    real = np.array([float(statistic(y, p, weights=w.astype(float))) for w in counts.T])
    assert quick.std() == pytest.approx(real.std(), rel=0.1)
    assert np.corrcoef(quick, real)[0, 1] > 0.98


def test_draws_do_not_depend_on_how_many_are_made_at_once(monkeypatch):
    y, p = binary(50, slope=2.0)
    whole = kc.confidence_interval(y, p, statistic=CKCE(), pvalue=0.001, draws=99)
    monkeypatch.setattr("kernelcal.inference.intervals.row_bootstrap._BYTES", 40 * 50 * 2 * 7)
    parts = kc.confidence_interval(y, p, statistic=CKCE(), pvalue=0.001, draws=99)
    assert (parts.lower, parts.upper) == pytest.approx((whole.lower, whole.upper), rel=1e-10)


def test_the_interval_of_the_ckce_is_made_of_these_draws():
    y, p = binary(40, slope=2.0)
    statistic = CKCE(prediction_kernel=KERNEL, regularization=0.3)
    interval = kc.confidence_interval(y, p, statistic=statistic, draws=99, rng=3, pvalue=0.001, confidence_level=0.9)
    two = np.stack([1 - p, p], axis=1)
    counts = np.stack(
        [np.bincount((u * 40).astype(int), minlength=40) for u in Draws(3, "draws of an interval").uniforms(0, 99, 40)],
        axis=1,
    )
    values = drawn_by_hand(linear_and_gaussian(two), class_residuals(y, two), 0.3, counts)
    lower, upper = np.maximum(np.quantile(values, [0.05, 0.95]), 0)
    assert interval.lower == pytest.approx(lower, rel=1e-9)
    assert interval.upper >= upper * (1 - 1e-9)  # the larger one of this and of draws with surprises: test_surprises
    assert interval.name == "CKCE, corrected"


# Equivalence, for every way to the uncertainty


def degenerate_variance(h):
    n = len(h)
    squares = np.mean([h[i, j] ** 2 for i, j in permutations(range(n), 2)])
    apart = np.mean([h[i, j] * h[k, m] for i, j, k, m in permutations(range(n), 4)])
    return 2 / (n * (n - 1)) * max(squares - apart, 0)


def surprises(y, p, statistic=STATISTIC):
    """Sums with pseudo-surprises, which have tests of their own."""
    prepared = statistic.prepare(kc.Bernoulli(p))
    return surprises_of(prepared.matrix(y), Case(y, kc.Bernoulli(p)))


def test_equivalence_on_the_root_scale():
    y, p = binary(10, slope=2.0)
    h = pairs_by_hand(y, p)
    value, noise = np.mean([h[i, j] for i, j in permutations(range(10), 2)]), np.sqrt(degenerate_variance(h) / 2)
    centre, known = np.sqrt(max(value, 0) + noise), surprises(y, p)
    found = equivalence_test(y, p, within=0.9, statistic=STATISTIC)
    own = norm.sf((0.9 - centre) / np.sqrt(noise))
    with_surprises = norm.sf(brentq(lambda z: known.root(z) - 0.9, 0, 30))
    assert found.pvalue == pytest.approx(max(own, with_surprises), rel=1e-6)
    assert found.pvalue >= own
    usual = centre + norm.ppf(0.95) * np.sqrt(noise)
    assert found.upper == pytest.approx(max(usual, known.root(norm.ppf(0.95))), rel=1e-9)
    assert found.root == pytest.approx(np.sqrt(max(value, 0)), rel=1e-9)


def test_equivalence_by_a_ball():
    y, p = binary(30, slope=2.0)
    h, known = pairs_by_hand(y, p), surprises(y, p)
    g = norm.ppf(Draws(2, "draws of an interval").uniforms(0, 199, 30))
    g -= g.mean(axis=1, keepdims=True)
    norms, centre = np.sqrt(np.einsum("bi,ij,bj->b", g, h, g)) / 30, np.sqrt(h.sum()) / 30
    found = equivalence_test(y, p, within=0.26, statistic=STATISTIC, method="ball", draws=199, rng=2)

    def upper(level):
        reach = np.quantile(norms, level)
        return max(centre + reach, known.ball(norm.ppf((1 + level) / 2), centre, reach, np.trace(h))[1])

    assert found.upper == pytest.approx(upper(0.95), rel=1e-9)
    met = brentq(lambda level: upper(level) - 0.26, 0.01, 1 - 1 / 200)
    assert found.pvalue == pytest.approx(max(1 - met, (1 + np.sum(norms >= 0.26 - centre)) / 200), rel=1e-6)


def test_equivalence_by_drawn_rows():
    y, p = binary(30, slope=2.0)
    h, values = pairs_by_hand(y, p), []
    for u in Draws(2, "draws of an interval").uniforms(0, 199, 30):
        rows = (u * 30).astype(int)
        values.append(np.mean([h[i, j] * (i != j) for a, i in enumerate(rows) for b, j in enumerate(rows) if a != b]))
        values[-1] *= 30 * 29 / np.sum(rows[:, None] != rows)  # pairs of different rows only
    found = equivalence_test(y, p, within=0.13, statistic=STATISTIC, method="bootstrap", draws=199, rng=2)
    assert found.pvalue >= (1 + np.sum(np.array(values) >= 0.13**2)) / 200
    assert found.upper >= np.sqrt(np.quantile(values, 0.95)) * (1 - 1e-9)


def test_equivalence_by_blocks():
    y, p = binary(60, slope=2.0)
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), estimator="block", block_size=3)
    h = pairs_by_hand(y, p)
    blocks = [np.mean([h[a + i, a + j] for i, j in permutations(range(3), 2)]) for a in range(0, 60, 3)]
    mean, error = np.mean(blocks), np.std(blocks, ddof=1) / np.sqrt(20)
    known = replace(surprises(y, p), total=mean * 60 * 59)
    found = equivalence_test(y, p, within=0.3, statistic=statistic)
    with_surprises = student.sf(brentq(lambda z: known.of_blocks(3, z) - 0.09, 0, 30), 19)
    assert found.pvalue == pytest.approx(max(student.sf((0.09 - mean) / error, 19), with_surprises), rel=1e-6)
    quantile = student.ppf(0.95, 19)
    usual = max(mean + quantile * error, known.of_blocks(3, quantile))
    assert found.upper == pytest.approx(np.sqrt(max(usual, 0)), rel=1e-9)


@pytest.mark.parametrize("method", ["root", "ball", "bootstrap", "block"])
def test_a_wider_bound_is_easier_and_the_upper_limit_is_where_it_is_met(method):
    y, p = binary(200, slope=1.6)
    statistic = kc.SKCE(estimator="block", block_size=5) if method == "block" else kc.SKCE()
    one = lambda eps: equivalence_test(y, p, within=eps, statistic=statistic, method=method, draws=199)  # noqa: E731
    found = [one(eps) for eps in (1e-6, 0.02, 0.05, 0.1, 0.2, 0.5, 2.0)]
    pvalues = [f.pvalue for f in found]
    assert pvalues == sorted(pvalues, reverse=True)
    assert all(0 < p <= 1 for p in pvalues)
    upper = found[0].upper
    assert {f.upper for f in found} == {upper}
    assert one(upper * 1.02).pvalue <= 0.05 + 1 / 200
    assert one(upper * 0.98).pvalue > 0.05 - 1 / 200
    assert found[-1].verdict == f"Calibrated to within 2 (p = {pvalues[-1]:.3g})."
    assert found[0].verdict.startswith("Not shown to be calibrated to within 1e-06")


@pytest.mark.parametrize("within", [0, -0.1, np.nan, np.inf, True, "0.1", None])
def test_bounds_that_are_no_bounds(within):
    with pytest.raises(InputError, match="within must be a positive number"):
        equivalence_test([0, 1, 1, 0], [0.2, 0.3, 0.4, 0.5], within=within)


def test_equivalence_takes_the_skce_only():
    with pytest.raises(InputError, match="statistic must be an SKCE"):
        equivalence_test([0, 1, 1, 0], [0.2, 0.3, 0.4, 0.5], within=0.1, statistic=CKCE())
    with pytest.raises(InputError, match="method must be"):
        equivalence_test([0, 1, 1, 0], [0.2, 0.3, 0.4, 0.5], within=0.1, method="exact")
