"""CKCE and JKCE: published values, a naive second implementation, low rank, weights, numbers, exact test, messages."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import kernelcal as kc
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.kernels import GaussLegendre, Linear, Spectral, Wasserstein
from kernelcal.predictions import Categorical, Laplace, MultivariateNormal, Normal, Poisson, Samples
from kernelcal.randomness import generator_of
from kernelcal.residuals import residual_of
from kernelcal.statistics import CKCE, JKCE, ckce, jkce
from kernelcal.statistics.conditional.kernel import MeanEmbedding
from kernelcal.statistics.conditional.operator import CANDIDATES, CrossValidation

REFERENCE = Path(__file__).resolve().parents[2] / "data" / "reference" / "ckce_reference.json"
FEATURES = "random Fourier features of the CKCE"  # the stream of their frequencies
RNG = np.random.default_rng(3)
N, M = 15, 4
P = RNG.dirichlet(np.ones(M), N)
Y = RNG.integers(0, M, N)
A = np.cov(RNG.normal(size=(M, 9))) + 0.3
MEAN, STD = RNG.normal(size=N), RNG.uniform(0.4, 1.5, N)
NORMAL = Normal(MEAN, STD)
Z = MEAN + 1.5 * STD * RNG.normal(size=N)
W = RNG.integers(0, 4, N).astype(float)


def engine(name, tolerance=1e-4, frequencies=100):
    """An engine by the name that the tests have for it, with what of the settings is its own."""
    return {
        "exact": kc.ExactPairs(),
        "fourier": kc.RandomFourier(frequencies),
        "cholesky": kc.IncompleteCholesky(tolerance),
    }[name]


def squares(x):
    return ((x[:, None] - x[None, :]) ** 2).sum(-1)


def kernel_8(x, gamma, linear=1.0, gaussian=1.0):
    return linear * x @ x.T + gaussian * np.exp(-squares(x) / (2 * gamma**2))


def naive(k, r, penalty, w=None):
    """tr(W R W K) by explicit inverses, weights as roots on both sides."""
    roots = np.ones(len(k)) if w is None else np.sqrt(w / np.mean(w))
    k, r = k * np.outer(roots, roots), r * np.outer(roots, roots)
    inverse = np.linalg.inv(k + penalty * len(k) * np.eye(len(k)))
    return np.trace(inverse @ r @ inverse @ k)


def class_gram(p, y, a):
    """R by the four terms of eq. (7), a pair after the other."""
    n = range(len(y))
    return np.array([[a[y[i], y[j]] + p[i] @ a @ p[j] - p[i] @ a[:, y[j]] - a[y[i]] @ p[j] for j in n] for i in n])


def normal_gram(mean, std, y, scale):
    """R for normal predictions and a Gaussian target kernel; also E k(Z, Z')."""

    def smooth(d, variance):
        return scale / np.sqrt(scale**2 + variance) * np.exp(-(d**2) / (2 * (scale**2 + variance)))

    cross = smooth(mean[:, None] - mean, std[:, None] ** 2 + std**2)
    half = smooth(mean[:, None] - y, std[:, None] ** 2)
    return smooth(y[:, None] - y, 0.0) - half - half.T + cross, cross


@pytest.fixture(params=[0, 1])
def case(request):
    return json.loads(REFERENCE.read_text())["cases"][request.param]


def test_it_gives_every_reference_value(case):
    y, p, gamma = case["labels"], case["probabilities"], kc.Gaussian(case["gamma_median_offdiagonal"])
    both = Linear() + gamma
    values = {
        "lambda": ckce(y, p).options["regularization"],
        "ckce_both": ckce(y, p, prediction_kernel=both),
        "jkce_both": jkce(y, p, prediction_kernel=both),
        "ckce_lin": ckce(y, p, prediction_kernel=Linear()),
        "ckce_gauss": ckce(y, p, prediction_kernel=gamma),
        "ckce_both_lambda_0.01_gamma_0.3": ckce(
            y, p, prediction_kernel=Linear() + kc.Gaussian(0.3), regularization=0.01
        ),
    }
    for name, value in values.items():
        assert float(value) == pytest.approx(case[name], abs=1e-10 if name != "lambda" else 1e-6), name
    assert float(CKCE().prepare(Categorical(p)).regularization) == pytest.approx(case["lambda"], abs=1e-14)
    assert set(case) - set(values) == {"n", "m", "probabilities", "labels", "gamma_median_offdiagonal"}


def test_the_median_of_the_reference_is_that_of_squares(case):
    """Its text says median distance; with an even number of pairs its number is the root of the median square."""
    p = np.array(case["probabilities"])
    above = squares(p)[np.triu_indices(len(p), 1)]
    assert case["gamma_median_offdiagonal"] == pytest.approx(math.sqrt(np.median(above)), abs=1e-15)
    default = ckce(case["labels"], p)
    assert default.options["prediction_kernel"].right.scale == pytest.approx(np.median(np.sqrt(above)), abs=1e-15)
    assert float(default) == pytest.approx(case["ckce_both"], abs=5e-7)
    assert float(jkce(case["labels"], p)) == pytest.approx(case["jkce_both"], abs=5e-7)


@pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("target", [None, kc.FiniteKernel(A), kc.Gaussian(1.3)], ids=["dirac", "matrix", "ordered"])
@pytest.mark.parametrize("method", ["exact", "cholesky"])
def test_it_is_the_definition_for_classes(target, w, method):
    ordered = np.exp(-squares(np.arange(M)[:, None]) / (2 * 1.3**2))
    a = {type(None): np.eye(M), kc.FiniteKernel: A, kc.Gaussian: ordered}[type(target)]
    kernel, expected = Linear() + 0.5 * kc.Gaussian(0.4), kernel_8(P, 0.4, gaussian=0.5)
    options = {"target_kernel": target, "prediction_kernel": kernel, "engine": engine(method, 1e-14)}
    for penalty in (0.02, None):
        value = float(ckce(Y, P, weights=w, regularization=penalty, **options))
        assert value == pytest.approx(naive(expected, class_gram(P, Y, a), penalty or N**-0.25, w), rel=1e-10)


@pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("method", ["exact", "cholesky"])
def test_it_is_the_definition_for_numbers(method, w):
    gram, cross = normal_gram(MEAN, STD, Z, 0.8)
    x = np.stack([MEAN, STD], axis=1)
    counted = x if w is None else np.repeat(x, w.astype(int), axis=0)  # the median counts rows by their weights
    distances = np.sqrt(squares(counted)[np.triu_indices(len(counted), 1)])
    gamma = np.median(distances[distances > 1e-12])
    k = cross + np.exp(-squares(x) / (2 * gamma**2))
    options = {"target_kernel": kc.Gaussian(0.8), "engine": engine(method, 1e-14), "weights": w}
    assert float(ckce(Z, NORMAL, **options)) == pytest.approx(naive(k, gram, N**-0.25, w), rel=1e-9)
    alone = float(ckce(Z, NORMAL, prediction_kernel=kc.Gaussian(gamma), **options))
    assert alone == pytest.approx(naive(k - cross, gram, N**-0.25, w), rel=1e-9)
    if w is None:
        h = k * gram
        unbiased = (h.sum() - np.trace(h)) / (N * (N - 1))
        assert float(jkce(Z, NORMAL, target_kernel=kc.Gaussian(0.8))) == pytest.approx(unbiased, rel=1e-9)


@pytest.mark.parametrize("method", ["exact", "cholesky", "fourier"])
def test_features_of_targets_and_their_inner_products_agree(method):
    """`Spectral` has features (E - P), the same kernel pair by pair has none (R)."""
    near = Spectral(kc.Gaussian(0.8), frequencies=64)
    options = {"prediction_kernel": kc.Gaussian(0.9), "engine": engine(method)}
    by_features = float(ckce(Z, NORMAL, target_kernel=near, **options))
    assert by_features == pytest.approx(float(ckce(Z, NORMAL, target_kernel=kc.Gaussian(0.8), **options)), rel=2e-4)


FAMILIES = {
    "normal": NORMAL,
    "vectors": MultivariateNormal.diagonal(RNG.normal(size=(N, 2)), RNG.uniform(0.5, 1, (N, 2))),
    "laplace": Laplace(MEAN, STD),
    "poisson": Poisson(3 * STD),
    "samples": Samples(RNG.normal(size=(N, 60))),
    "bernoulli": kc.Bernoulli(RNG.random(N)),
    "categorical": Categorical(P),
}


@pytest.mark.parametrize("method", ["exact", "cholesky"])
@pytest.mark.parametrize("name", FAMILIES)
def test_many_sets_of_targets_give_what_each_gives(name, method):
    batch = FAMILIES[name]
    statistic = CKCE(engine=engine(method))
    sets = batch.sample(1, 5)
    values = statistic.prepare(batch).values(sets)
    assert values.shape == (5, 1)
    assert values[:, 0] == pytest.approx([float(statistic(y, batch)) for y in sets], rel=1e-10)
    assert (values > 0).all()
    assert np.ptp(values) > 1e-4


def test_one_probability_is_two():
    p, y = RNG.random(N), RNG.integers(0, 2, N)
    for f in (ckce, jkce):
        assert float(f(y, p)) == pytest.approx(float(f(y, np.stack([1 - p, p], axis=1))), rel=1e-12)
    two = np.stack([1 - p, p], axis=1)
    expected = naive(kernel_8(two, 0.5), class_gram(two, y, np.eye(2)), 0.1)
    value = ckce(y, p, prediction_kernel=Linear() + kc.Gaussian(0.5), regularization=0.1)
    assert float(value) == pytest.approx(expected, rel=1e-10)
    assert float(JKCE().resolved(kc.Bernoulli(p))(y, p)) == pytest.approx(float(jkce(y, p)), rel=1e-12)


def test_the_unit_of_the_targets_does_not_matter():
    for f in (ckce, jkce):
        value = float(f(Z, NORMAL))
        assert float(f(1000 * Z + 5, Normal(1000 * MEAN + 5, 1000 * STD))) == pytest.approx(value, rel=1e-7)


def test_embeddings_of_a_spectral_kernel_are_near_those_of_its_kernel():
    near = {"target_kernel": Spectral(kc.Gaussian(0.8), frequencies=64)}
    for f in (ckce, jkce):
        value = float(f(Z, NORMAL, target_kernel=kc.Gaussian(0.8)))
        assert float(f(Z, NORMAL, **near)) == pytest.approx(value, rel=2e-4)
    alone = MeanEmbedding(near["target_kernel"])
    exact = naive(normal_gram(MEAN, STD, Z, 0.8)[1], normal_gram(MEAN, STD, Z, 0.8)[0], N**-0.25)
    for method in ("exact", "fourier", "cholesky"):
        value = float(ckce(Z, NORMAL, prediction_kernel=alone, engine=engine(method, 1e-13), **near))
        assert value == pytest.approx(exact, rel=2e-4)


def test_embeddings_of_classes_are_their_probabilities():
    given = {"prediction_kernel": MeanEmbedding(kc.Dirac())}
    assert float(ckce(Y, P, **given)) == pytest.approx(float(ckce(Y, P, prediction_kernel=Linear())), rel=1e-12)
    assert float(jkce(Y, P, **given)) == pytest.approx(float(jkce(Y, P, prediction_kernel=Linear())), rel=1e-12)


@pytest.mark.parametrize("method", ["exact", "cholesky", "fourier"])
def test_whole_weights_are_copies(method):
    rows = np.repeat(np.arange(N), W.astype(int))
    options = {"prediction_kernel": Linear() + kc.Gaussian(0.4), "regularization": 0.1, "engine": engine(method, 1e-13)}
    weighted = float(ckce(Y, P, weights=W, **options))
    assert weighted == pytest.approx(float(ckce(Y[rows], P[rows], **options)), rel=1e-9)


def test_float32_is_computed_in_double():
    single = P.astype(np.float32)
    assert float(ckce(Y, single)) == pytest.approx(float(ckce(Y, single.astype(np.float64), normalize=True)), rel=1e-6)


# low rank


def shifted(n, m, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(m), n)
    q = p**0.5 / (p**0.5).sum(axis=1, keepdims=True)
    return Categorical(q).sample(rng)[0], p


def test_fourier_is_the_primal_form_of_its_features():
    w = generator_of(5, FEATURES).standard_normal((7, M)) / 0.4
    phi = np.hstack([P, np.cos(P @ w.T) / math.sqrt(7), np.sin(P @ w.T) / math.sqrt(7)])
    r = np.eye(M)[Y] - P
    b = np.linalg.inv(phi.T @ phi + N * 0.1 * np.eye(M + 14)) @ phi.T @ r
    statistic = CKCE(
        prediction_kernel=Linear() + kc.Gaussian(0.4), regularization=0.1, engine=kc.RandomFourier(7, rng=5)
    )
    assert float(statistic(Y, P)) == pytest.approx((b**2).sum(), rel=1e-10)
    assert float(statistic(Y, P)) == pytest.approx(naive(phi @ phi.T, r @ r.T, 0.1), rel=1e-9)


def test_a_factor_scales_the_features_by_its_root():
    options = {"prediction_kernel": 0.5 * Linear() + 3 * kc.Gaussian(0.4), "engine": kc.RandomFourier(200)}
    w = generator_of(0, FEATURES).standard_normal((200, M)) / 0.4
    waves = np.exp(1j * P @ w.T)
    k = 0.5 * P @ P.T + 3 * (waves @ waves.conj().T).real / 200
    assert float(ckce(Y, P, **options)) == pytest.approx(naive(k, class_gram(P, Y, np.eye(M)), N**-0.25), rel=1e-9)


def test_features_made_anew_in_chunks_change_nothing(monkeypatch):
    from kernelcal.statistics.conditional import operator

    y, p = shifted(300, 3, 0)
    whole = float(ckce(y, p, engine=kc.RandomFourier(100)))
    monkeypatch.setattr(operator, "_KEEP_BYTES", 0)
    monkeypatch.setattr(operator, "_CHUNK_BYTES", 8 * 203 * 17)
    assert float(ckce(y, p, engine=kc.RandomFourier(100))) == pytest.approx(whole, rel=1e-11)


@pytest.mark.slow
def test_fourier_converges_as_the_root_of_the_frequencies():
    y, p = shifted(150, 3, 1)
    kernel = kc.Gaussian()
    exact = float(ckce(y, p, prediction_kernel=kernel))
    sizes = np.array([32, 128, 512])

    def error(size):
        values = [float(ckce(y, p, prediction_kernel=kernel, engine=kc.RandomFourier(int(size), s))) for s in range(60)]
        return math.sqrt(np.mean((np.array(values) - exact) ** 2))

    errors = [error(size) for size in sizes]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.38
    assert errors[-1] < 0.05 * exact


def test_columns_that_are_made_together_are_those_of_one_at_a_time():
    from kernelcal.statistics.conditional.engines import pivoted_factor

    x = np.random.default_rng(0).dirichlet(np.ones(5), 300)
    matrix = np.exp(-((x[:, None] - x) ** 2).sum(axis=2) / 0.2)
    found = [
        pivoted_factor(lambda rows: matrix[rows], np.diag(matrix).copy(), 1e-6, rank, kc.Gaussian(1.0), some)
        for rank in (None, 20)
        for some in (1, 8, 500)
    ]
    for alone, together, whole in (found[:3], found[3:]):
        np.testing.assert_allclose(together[0], alone[0], atol=1e-10)
        np.testing.assert_allclose(whole[0], alone[0], atol=1e-10)
        assert together[1] == pytest.approx(alone[1], rel=1e-6)
    np.testing.assert_allclose(found[1][0].T @ found[1][0], matrix, atol=1e-3)


def test_incomplete_cholesky_converges_within_its_bound():
    y, p = shifted(200, 4, 2)
    exact = float(ckce(y, p))
    kernel = ckce(y, p).options["prediction_kernel"]
    k, r = kernel_8(p, kernel.right.scale), class_gram(p, y, np.eye(4))
    errors = []
    for tolerance in (1e-1, 1e-2, 1e-4, 1e-6, 1e-8):
        error = abs(float(ckce(y, p, engine=kc.IncompleteCholesky(tolerance))) - exact)
        assert error <= 3 * tolerance * np.trace(k) * np.trace(r) / (200**0.75) ** 2
        errors.append(error / exact)
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1e-4  # there is something to converge
    assert errors[-1] < 1e-7
    assert errors[-2] < 1e-5


def test_the_factor_has_the_rank_and_remainder_that_it_says():
    y, p = shifted(120, 3, 4)
    for rank in (1, 5, 100, 500):
        estimate = ckce(y, p, engine=kc.IncompleteCholesky(1e-15, rank))
        assert (f"rank {rank}," in estimate.engine) == (rank < 100), estimate.engine
    from kernelcal.statistics.conditional.engines import incomplete_cholesky

    kernel = Linear() + kc.Gaussian(0.3)
    w = np.sqrt(RNG.random(120))
    for roots in (None, w):
        k = kernel_8(p, 0.3) * (1.0 if roots is None else np.outer(w, w))
        factor, left = incomplete_cholesky(kernel, Categorical(p), roots, 1e-3, None)
        gap = k - factor.T @ factor
        assert left == pytest.approx(np.trace(gap) / np.trace(k), rel=1e-6)
        assert left <= 1e-3
        assert np.linalg.eigvalsh(gap)[0] > -1e-10
    assert len(incomplete_cholesky(kernel, Categorical(np.repeat(p[:3], 40, axis=0)), None, 1e-12, None)[0]) == 3


# lambda


def left_out(k, psi, penalty, w):
    """Loss by refitting without every row in turn."""
    n, total = len(k), 0.0
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        scale = np.diag(1 / w[rest])
        fit = k[i, rest] @ np.linalg.solve(k[np.ix_(rest, rest)] + penalty * n * scale, psi[rest])
        total += w[i] * ((psi[i] - fit) ** 2).sum()
    return total


@pytest.mark.parametrize("method", ["exact", "cholesky", "fourier"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cross_validation_is_refitting_without_every_row(method, weighted, seed):
    rng = np.random.default_rng(seed)
    y, w = Categorical(P).sample(rng)[0], (rng.uniform(0.5, 2, N) if weighted else np.ones(N))
    w = w / w.mean()
    options = {"prediction_kernel": Linear() + kc.Gaussian(0.4), "engine": engine(method, 1e-14), "weights": w}
    estimate = ckce(y, P, regularization="cross-validation", target_kernel=kc.FiniteKernel(A), **options)
    k = kernel_8(P, 0.4)
    if method == "fourier":
        f = generator_of(0, FEATURES).standard_normal((100, M)) / 0.4
        k = P @ P.T + (np.cos(P @ f.T) @ np.cos(P @ f.T).T + np.sin(P @ f.T) @ np.sin(P @ f.T).T) / 100
    psi = np.linalg.cholesky(A)[y]
    candidates = CANDIDATES * np.mean(w * np.diag(k))
    best = candidates[np.argmin([left_out(k, psi, c, w) for c in candidates])]
    assert estimate.options["regularization"] == pytest.approx(best, rel=1e-5)
    assert float(estimate) == pytest.approx(naive(k, class_gram(P, y, A), best, w), rel=1e-8)
    at_end = best in (candidates[0], candidates[-1])
    assert any("first or last" in note for note in estimate.notes) == at_end


@pytest.mark.parametrize("w", [None, W + 1], ids=["", "weighted"])
def test_every_loss_is_that_of_refitting(w):
    w = np.ones(N) if w is None else w / w.mean()
    k = kernel_8(P, 0.4)
    residual = residual_of(Categorical(P), kc.Dirac(), np.sqrt(w))
    given = k * np.sqrt(np.outer(w, w))
    validation = CrossValidation.of_matrix(given, kc.Gaussian(0.4), residual, np.sqrt(w))
    losses = validation.losses(residual.batch(Y[None]))[:, 0]
    assert losses == pytest.approx([left_out(k, np.eye(M)[Y], c, w) for c in validation.candidates], rel=1e-8)


def test_cross_validation_is_redone_in_every_set_of_targets():
    prepared = CKCE(regularization="cross-validation").prepare(Categorical(P))
    sets = np.stack([*Categorical(P).sample(2, 6), np.zeros(N, dtype=int)])
    values, chosen = prepared.with_regularization(sets)
    assert len(set(chosen)) > 1
    for y, value, c in zip(sets, values, chosen, strict=True):
        assert value == pytest.approx(float(ckce(y, P, regularization=float(c))), rel=1e-9)


def test_resolved_keeps_kernels_and_lambda_for_other_rows():
    fixed = CKCE().resolved(Categorical(P))
    assert fixed.regularization == pytest.approx(N**-0.25)
    part = fixed(Y[:6], P[:6])
    gamma = np.median(np.sqrt(squares(P)[np.triu_indices(N, 1)]))
    expected = naive(kernel_8(P[:6], gamma), class_gram(P[:6], Y[:6], np.eye(M)), N**-0.25)
    assert float(part) == pytest.approx(expected, rel=1e-10)
    assert CKCE(regularization="cross-validation").resolved(Categorical(P)).regularization == "cross-validation"


# tests and the claim of the paper


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"engine": kc.RandomFourier(10)}, {"regularization": "cross-validation"}])
def test_the_exact_test_keeps_its_level_and_has_power(options):
    rng, repetitions, rejected = np.random.default_rng(11), 300, 0
    for seed in range(repetitions):
        p = rng.dirichlet([1, 1, 1], 12)
        y = Categorical(p).sample(rng)[0]
        result = kc.calibration_test(y, p, statistic=CKCE(**options), draws=19, rng=seed, early_stopping=False)
        rejected += result.pvalue <= 0.1
    assert binom.ppf(1e-3, repetitions, 0.1) <= rejected <= binom.ppf(1 - 1e-3, repetitions, 0.1)
    if "regularization" not in options:  # a lambda that changes from draw to draw costs power
        y, p = shifted(400, 3, 5)
        assert kc.calibration_test(y, p, statistic=CKCE(**options), draws=99).pvalue == 0.01


def test_the_observed_value_of_a_test_is_the_estimate():
    for statistic in (CKCE(), CKCE(engine=kc.IncompleteCholesky()), JKCE(), CKCE(target_kernel=kc.Gaussian(1.0))):
        y, batch = (Z, NORMAL) if statistic.target_kernel else (Y, P)
        result = kc.calibration_test(y, batch, statistic=statistic, draws=19)
        assert result.statistic == pytest.approx(float(statistic(y, batch)), rel=1e-10)
        assert result.members[0].name == statistic(y, batch).name
    p = np.random.default_rng(0).random(60)
    y = kc.Bernoulli(p).sample(1)[0]
    assert kc.calibration_test(y, p, statistic=JKCE(), null="saddlepoint").pvalue > 0.01


@pytest.mark.slow
def test_ckce_stays_where_jkce_follows_the_predictions():
    """Moskvichev 2025, Sec. 5.2: f(x) = sigmoid(5 x) where the truth is sigmoid(x), x at other places."""
    rng, found = np.random.default_rng(0), []
    for alpha in (-1, -0.5, 0, 0.5, 1):
        values = []
        for _ in range(3):
            x = rng.normal(alpha, 0.25, 20_000)
            x = x[np.abs(x) <= 1][:1000]
            y, p = (rng.random(1000) < 1 / (1 + np.exp(-x))).astype(int), 1 / (1 + np.exp(-5 * x))
            alone = [float(ckce(y, p, prediction_kernel=k)) for k in (Linear(), kc.Gaussian())]
            values.append([float(ckce(y, p)), float(jkce(y, p)), *alone])
        found.append(np.mean(values, axis=0))
    both, joint, linear, gaussian = np.array(found).T
    assert both == pytest.approx([0.092, 0.088, 0.084, 0.086, 0.092], abs=0.02)
    assert joint == pytest.approx([0.234, 0.202, 0.026, 0.199, 0.236], abs=0.03)
    assert both.max() / both.min() < 1.35
    assert joint.max() / joint.min() > 5
    assert linear[2] == linear.min()
    assert gaussian[2] < 0.75 * gaussian.mean()


# messages


_ENGINES = r"engine of a CKCE must be ExactPairs\(\), RandomFourier\(100\) or IncompleteCholesky\(\)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularization": 0}, r"regularization \(lambda\) must be a positive finite number, got 0"),
        ({"regularization": -0.1}, r"regularization \(lambda\) must be a positive finite number, got -0.1"),
        ({"regularization": math.nan}, "must be a positive finite number, got nan"),
        ({"regularization": "cv"}, "regularization must be a number or 'cross-validation', got 'cv'"),
        ({"estimator": "unbiased"}, "estimator must be one of plug-in, corrected, got 'unbiased'"),
        ({"engine": kc.Nystrom(7)}, rf"{_ENGINES}, all of kernelcal, got Nystrom\(landmarks=7, rng=0, share=1.0\)"),
        ({"engine": "cholesky"}, f"{_ENGINES}, all of kernelcal, got 'cholesky'"),
        ({"engine": None}, f"{_ENGINES}, all of kernelcal, got None"),
        ({"prediction_kernel": "linear"}, "prediction_kernel must be a kernel such as kernelcal.Gaussian"),
        ({"target_kernel": 1.0}, "target_kernel must be a kernel"),
        ({"rank": 5}, "ckce has no option 'rank'; its options are prediction_kernel"),
        ({"engine": kc.RandomFourier(7, None)}, "rng must be a whole number, at least 0, got None"),
        ({"engine": kc.RandomFourier(7, -1)}, "rng must be a whole number, at least 0, got -1"),
        ({"lam": 0.1}, "ckce has no option 'lam'; its options are prediction_kernel"),
        (
            {"engine": kc.RandomFourier(100), "prediction_kernel": kc.Gaussian() * Linear()},
            "has no Fourier features: use sums of Linear",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ckce(Y, P, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0}, "tolerance must be a positive finite number, got 0"),
        ({"tolerance": math.inf}, "tolerance must be a positive finite number, got inf"),
        ({"rank": 0}, "rank must be a whole number, at least 1, got 0"),
        ({"rank": 2.5}, "rank must be a whole number, at least 1, got 2.5"),
        ({"rank": True}, "rank must be a whole number, at least 1, got True"),
    ],
)
def test_an_incomplete_factor_refuses_what_does_not_fit(options, message):
    with pytest.raises(InputError, match=message):
        kc.IncompleteCholesky(**options)


@pytest.mark.parametrize("statistic", [kc.SKCE, JKCE])
def test_means_of_pairs_take_no_incomplete_factor(statistic):
    with pytest.raises(InputError, match=r"engine must be ExactPairs\(\).*, got IncompleteCholesky"):
        statistic(engine=kc.IncompleteCholesky())


def test_data_that_do_not_fit_are_refused(monkeypatch):
    with pytest.raises(InputError, match="CKCE needs at least 2 rows, got 1"):
        ckce(Y[:1], P[:1])
    with pytest.raises(InputError, match=r"needs features of the targets.*Spectral"):
        ckce(Z, NORMAL, target_kernel=kc.Gaussian(), regularization="cross-validation")
    with pytest.raises(InputError, match=r"has no Fourier features.*Spectral.*engine=kernelcal.IncompleteCholesky"):
        ckce(Z, NORMAL, target_kernel=kc.Gaussian(), engine=kc.RandomFourier(100))
    with pytest.raises(InputError, match="FiniteKernel has 2 classes, the predictions have 4"):
        ckce(Y, P, target_kernel=kc.FiniteKernel(np.eye(2)))
    monkeypatch.setattr("kernelcal.statistics.conditional.kernel._MOST_ROWS", 10)
    with pytest.raises(InputError, match=r"GB for 15 rows, and serves up to 10: use engine=kernelcal\.RandomFourier"):
        ckce(Y, P)


class Indefinite(kc.kernels.Kernel):
    """Minus the inner product, or infinity."""

    def __init__(self, factor):
        self.factor = factor

    def evaluate(self, pairs):
        return self.factor * pairs.inner()

    def bound(self):
        return 1.0

    def positive_definite(self, points):
        return True


@pytest.mark.parametrize("method", ["exact", "cholesky"])
@pytest.mark.parametrize("regularization", [0.01, "cross-validation"])
def test_kernels_that_cannot_be_solved_are_refused(method, regularization):
    for factor, message in ((-1.0, "not positive definite"), (np.inf, "is not finite for row 0")):
        with pytest.raises(InputError, match=message):
            ckce(Y, P, prediction_kernel=Indefinite(factor), engine=engine(method), regularization=regularization)


def test_a_kernel_that_may_be_indefinite_is_named():
    predictions = MultivariateNormal(
        RNG.normal(size=(4, 2)), np.stack([np.eye(2) + 0.5 * k * np.ones((2, 2)) for k in range(4)])
    )
    with pytest.warns(KernelcalWarning, match="not known to be positive definite"):
        ckce(RNG.normal(size=(4, 2)), predictions, prediction_kernel=kc.Gaussian(1.0, metric=Wasserstein()))


def test_results_say_what_was_computed():
    table = repr(ckce(Y, P, engine=kc.IncompleteCholesky(), regularization=0.1))
    for part in ("CKCE", "plug-in", "Linear()", "Dirac()", "0.1", "incomplete Cholesky factor of rank", "left out"):
        assert part in table
    assert ckce(Y, P, engine=kc.RandomFourier(100)).engine == "random Fourier features, 100 frequencies"
    assert ckce(Y, P).to_dict()["regularization"] == "0.508133"
    assert jkce(Y, P).name == "JKCE"
    estimate = ckce(
        Z,
        Laplace(MEAN, STD),
        target_kernel=kc.Gaussian(1.0),
        integrator=GaussLegendre(32),
        prediction_kernel=kc.Gaussian(),
    )
    assert "integrator" in estimate.options


def test_equal_predictions_are_no_singular_kernel():
    p = np.tile([0.2, 0.3, 0.5], (8, 1))
    y = np.array([0, 1, 2, 2, 1, 0, 0, 0])
    k = np.full((8, 8), 0.38 + 1)
    for method in ("exact", "cholesky"):
        value = float(ckce(y, p, engine=engine(method)))
        assert value == pytest.approx(naive(k, class_gram(p, y, np.eye(3)), 8**-0.25), rel=1e-10)


@pytest.mark.parametrize("w", [None, W + 1], ids=["", "weighted"])
@pytest.mark.parametrize("method", ["exact", "cholesky", "fourier"])
@pytest.mark.parametrize("regularization", [0.2, "cross-validation"])
def test_corrected_leaves_out_the_pairs_of_a_row_with_itself(method, w, regularization):
    options = {"engine": engine(method, 1e-14, 20), "regularization": regularization}
    plug_in, corrected = (CKCE(estimator=e, **options)(Y, P, weights=w) for e in ("plug-in", "corrected"))
    chosen = corrected.options["regularization"]
    assert chosen == plug_in.options["regularization"]
    prepared = CKCE(**options | {"regularization": plug_in.options["regularization"]}).prepare(
        Categorical(P), None if w is None else w / w.mean()
    )
    m = prepared.operator.rows(slice(None))
    r = (np.eye(M)[Y] - P) * (1 if w is None else np.sqrt(w / w.mean())[:, None])
    assert float(plug_in) == pytest.approx(float((m * (r @ r.T)).sum()), rel=2e-5)
    off_diagonal = m - np.diag(np.diag(m))
    assert float(corrected) == pytest.approx(float((off_diagonal * (r @ r.T)).sum()), rel=1e-4, abs=1e-7)


def test_corrected_serves_targets_without_features():
    options = {"target_kernel": kc.Gaussian(0.8), "regularization": 0.3}
    values = [float(CKCE(estimator=e, **options)(Z, NORMAL)) for e in ("plug-in", "corrected")]
    prepared = CKCE(**options).prepare(NORMAL)
    r, _ = normal_gram(MEAN, STD, Z, 0.8)
    noise = np.diag(prepared.operator.rows(slice(None))) @ np.diag(r)
    assert values[0] - values[1] == pytest.approx(noise, rel=1e-10)


def test_corrected_has_mean_zero_for_calibrated_models_and_the_plug_in_has_not():
    predictions = kc.Categorical(RNG.dirichlet(np.ones(3), 60))
    targets = predictions.sample(rng=5, size=4000)
    for estimator, centred in (("corrected", True), ("plug-in", False)):
        values = CKCE(estimator=estimator).prepare(predictions).values(targets)[:, 0]
        z = values.mean() / (values.std() / len(values) ** 0.5)
        assert (abs(z) < 3.3) == centred


def _naive_ckce(y, p, kernel, regularization, matrix, corrected=False):
    """tr(W R W K) with matrices, as printed."""
    n = len(y)
    r = np.eye(p.shape[1])[y] - p
    k = np.array([[kernel(a, b) for b in p] for a in p])
    w = np.linalg.inv(k + regularization * n * np.eye(n))
    inner = r @ matrix @ r.T
    m = w @ k @ w
    return np.sum(m * inner) - (np.sum(np.diag(m) * np.diag(inner)) if corrected else 0)


def _both(a, b):
    return a @ b + np.exp(-((a - b) ** 2).sum() / (2 * 0.4**2))


_TRAINED = {"prediction_kernel": kc.Linear() + kc.Gaussian(0.4)}


def _differences(function, x, step=1e-6):
    found = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        e = np.zeros_like(x)
        e[index] = step
        found[index] = (function(x + e) - function(x - e)) / (2 * step)
    return found


def _softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _gradient(library, function, z):
    if library == "torch":
        torch = pytest.importorskip("torch")
        x = torch.tensor(z, requires_grad=True)
        value = function(x)
        value.backward()
        return float(value.detach()), x.grad.numpy()
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    value, found = jax.value_and_grad(function)(z)
    return float(value), np.asarray(found)


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("corrected", [False, True])
def test_gradient_of_classes_is_that_of_differences(library, corrected):
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(7, 3)), rng.integers(0, 3, 7)
    matrix = np.array([[1.0, 0.4, 0], [0.4, 1, 0], [0, 0, 2]])
    options = {**_TRAINED, "target_kernel": kc.FiniteKernel(matrix), "regularization": 0.2}
    options["estimator"] = "corrected" if corrected else "plug-in"

    def naive(z):
        return _naive_ckce(y, _softmax(z), _both, 0.2, matrix, corrected)

    value, found = _gradient(library, lambda x: kc.ckce(y, kc.Logits(x), **options).value, z)
    assert value == pytest.approx(naive(z), rel=1e-10)
    np.testing.assert_allclose(found, _differences(naive, z), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_gradient_of_normal_laws_and_of_features(library):
    rng = np.random.default_rng(1)
    mean, y = rng.normal(size=6), rng.normal(size=6)
    for options in (
        {"prediction_kernel": kc.Gaussian(0.8), "target_kernel": kc.Gaussian(1.0)},
        {"prediction_kernel": kc.Gaussian(0.8)},
        {"prediction_kernel": kc.Gaussian(0.8), "engine": kc.RandomFourier(20), "target_kernel": kc.Gaussian(1.0)},
    ):

        def value(m, options=options):
            return kc.ckce(y, kc.Normal(m, 1.0 + 0 * m), **options).value

        found, gradient = _gradient(library, value, mean)
        assert found == pytest.approx(float(value(mean)), rel=1e-9)
        np.testing.assert_allclose(gradient, _differences(lambda m: float(value(m)), mean), rtol=1e-5, atol=1e-9)


def test_one_probability_weights_and_few_rows_of_tensors():
    torch = pytest.importorskip("torch")
    p, y, w = np.array([0.2, 0.7, 0.4, 0.9]), [0, 1, 1, 0], [1.0, 2.0, 0.5, 1.0]
    tensor = torch.tensor(p, requires_grad=True)
    for options in (_TRAINED, {**_TRAINED, "engine": kc.RandomFourier(5)}):
        found = kc.CKCE(**options)(y, tensor, weights=w)
        assert found.value.requires_grad
        assert float(found) == pytest.approx(float(kc.CKCE(**options)(y, p, weights=w)), rel=1e-9)
    chosen = kc.ckce(y, tensor, regularization="cross-validation")
    assert not hasattr(chosen.value, "requires_grad")  # chosen by values, as documented
    with pytest.raises(kc.errors.InputError, match="at least 2 rows, got 1"):
        kc.ckce([0], tensor[:1], **_TRAINED)
