"""Places of outcomes in their predicted distributions: against integrals, loops and other ways to the same features."""

import numpy as np
import pytest
from scipy import integrate, stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.kernels import PIT, Spectral, plan
from kernelcal.predictions import (
    Beta,
    Gamma,
    IsotropicNormal,
    Laplace,
    LogNormal,
    Mixture,
    MultivariateNormal,
    Poisson,
    Samples,
    StudentT,
    Uniform,
)
from kernelcal.residuals import PITResidual, residual_of, target_kernel_of
from kernelcal.statistics.conditional.kernel import MeanEmbedding

RNG = np.random.default_rng(0)
N = 12
M, S = RNG.normal(size=N), RNG.uniform(0.3, 2, N)
NORMAL = kc.Normal(M, S)
Y = M + S * RNG.normal(size=N)
COV = np.array([[2.0, 0.8, 0.1], [0.8, 1.0, -0.3], [0.1, -0.3, 0.7]])
CONTINUOUS = {
    "normal": (NORMAL, stats.norm(M, S)),
    "Laplace": (Laplace(M, S), stats.laplace(M, S)),
    "t": (StudentT(np.full(N, 1.5), M, S), stats.t(1.5, M, S)),
    "log-normal": (LogNormal(M, S), stats.lognorm(S, scale=np.exp(M))),
    "gamma": (Gamma(1 + S, S), stats.gamma(1 + S, scale=1 / S)),
    "beta": (Beta(S, 1 + S), stats.beta(S, 1 + S)),
    "uniform": (Uniform(M, M + S), stats.uniform(M, S)),
}


def cosines(u):
    """32 waves of the kernel of Cramer and von Mises, feature by feature."""
    return [np.sqrt(2) * np.cos(j * np.pi * u) / (j * np.pi) for j in range(1, 33)]


def polynomials(u):
    basis = (np.polynomial.legendre.Legendre.basis(k)(2 * u - 1) * np.sqrt(2 * k + 1) for k in range(1, 5))
    return [np.sqrt(w) * value for w, value in zip((1, 1, 0.5, 0.5), basis, strict=True)]


FEATURES = {"levels": cosines, "polynomials": polynomials}


@pytest.mark.parametrize("features", PIT.known)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_features_of_a_distribution_function(features, name):
    batch, law = CONTINUOUS[name]
    y = batch.sample(rng=1, size=3)
    residual = PITResidual.of(batch, PIT(features))
    expected = np.stack(FEATURES[features](law.cdf(y)), axis=-1)
    np.testing.assert_allclose(residual.batch(y), expected.transpose(1, 0, 2), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(residual.features(y[0]), expected[0], rtol=1e-9, atol=1e-9)
    assert residual.dimension == expected.shape[-1]


def test_levels_are_the_integral_over_all_levels():
    u, v = RNG.random((2, 40))
    exact = [
        integrate.quad(lambda t, a=a, b=b: ((a <= t) - t) * ((b <= t) - t), 0, 1, points=sorted([a, b]))[0]
        for a, b in zip(u, v, strict=True)
    ]
    np.testing.assert_allclose(exact, 1 / 3 - np.maximum(u, v) + (u**2 + v**2) / 2, atol=1e-8)
    waves = (np.array(cosines(u)) * np.array(cosines(v))).sum(axis=0)
    np.testing.assert_allclose(waves, exact, atol=0.01)
    ends = PITResidual.of(Uniform([0.0], [1.0]), PIT()).features(np.array([1.0]))
    assert 0.32 < (ends**2).sum() <= PIT().bound() == 1 / 3
    ends = PITResidual.of(Uniform([0.0], [1.0]), PIT("polynomials")).features(np.array([1.0]))
    assert (ends**2).sum() == pytest.approx(PIT("polynomials").bound(), rel=1e-12)


@pytest.mark.parametrize("features", PIT.known)
def test_jumps_are_averaged_and_centred(features):
    batch = Poisson([0.05, 0.7, 3.0])
    residual, total = PITResidual.of(batch, PIT(features)), 0.0
    for k in range(40):
        y = np.full(3, float(k))
        low, high = batch.cdf_below(y), batch.cdf(y)
        found = residual.features(y)
        if k < 4:
            nodes = low + (high - low) * (np.arange(20_000)[:, None] + 0.5) / 20_000
            expected = [value.mean(axis=0) for value in FEATURES[features](nodes)]
            np.testing.assert_allclose(found, np.stack(expected, axis=-1), atol=1e-6)
        total = total + np.exp(batch.log_prob(y))[:, None] * found
    np.testing.assert_allclose(total, 0.0, atol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_draws_and_outcome_are_one_pool(ties):
    draws, y = RNG.normal(size=(5, 4)), RNG.normal(size=5)
    draws, y = (np.round(draws), np.round(y)) if ties else (draws, y)
    pooled = Samples(draws).pooled(y)
    alone = PITResidual.of(Samples(draws), PIT()).features(y)
    np.testing.assert_allclose(PITResidual.of(pooled, PIT()).features(y), alone, rtol=1e-12)
    players = [PITResidual.of(pooled, PIT()).features(pooled.draws[:, k]) for k in range(5)]
    np.testing.assert_allclose(np.sum(players, axis=0), 0.0, atol=1e-14)
    assert [batch.holds_outcomes for batch in (pooled, pooled[:2], Samples(draws))] == [True, True, False]


@pytest.mark.parametrize(
    "batch", [MultivariateNormal(RNG.normal(size=(6, 3)), COV), IsotropicNormal(np.ones((6, 2)), S[:6])]
)
def test_normal_vectors_component_given_those_before_and_distance(batch):
    y, d = batch.sample(rng=2)[0], batch.dimension
    expected = np.empty((6, d + 1))
    for i in range(6):
        cov = COV if d == 3 else np.eye(2) * S[i] ** 2
        away = y[i] - batch.mean[i]
        for k in range(d):
            weights = np.linalg.solve(cov[:k, :k], cov[:k, k]) if k else np.zeros(0)
            spread = np.sqrt(cov[k, k] - weights @ cov[:k, k])
            expected[i, k] = stats.norm.cdf((away[k] - weights @ away[:k]) / spread)
        expected[i, d] = stats.chi2.cdf(away @ np.linalg.solve(cov, away), d)
    residual = PITResidual.of(batch, PIT())
    np.testing.assert_allclose(residual.places(y).low, expected, rtol=1e-10)
    features = np.stack(cosines(expected), axis=-1).reshape(6, -1) / np.sqrt(d + 1)
    np.testing.assert_allclose(residual.features(y), features, atol=1e-12)


def test_other_vectors_component_by_component():
    draws = RNG.normal(size=(4, 7, 2))
    y = RNG.normal(size=(4, 2))
    found = PITResidual.of(Samples(draws), PIT("polynomials")).features(y)
    parts = [PITResidual.of(Samples(draws[:, :, k]), PIT("polynomials")).features(y[:, k]) for k in range(2)]
    np.testing.assert_allclose(found, np.hstack(parts) / np.sqrt(2), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, RNG.uniform(0.5, 2, N)])
def test_the_error_is_this_double_sum(weights):
    kernel = kc.Laplacian(1.3)
    expected, total, w = 0.0, 0.0, np.ones(N) if weights is None else weights
    u = stats.norm.cdf(Y, M, S)
    for i in range(N):
        for j in range(N):
            if i != j:
                near = np.exp(-np.hypot(M[i] - M[j], S[i] - S[j]) / 1.3)
                inner = sum(a * b for a, b in zip(cosines(u[i]), cosines(u[j]), strict=True))
                expected += w[i] * w[j] * near * inner
                total += w[i] * w[j]
    found = kc.skce(Y, NORMAL, prediction_kernel=kernel, weights=weights)
    assert float(found) == pytest.approx(expected / total, rel=1e-10)
    assert found.options["target_kernel"] == PIT()
    assert "PIT(features='levels')" in str(found)


def test_rows_of_any_scale_speak_alike():
    factor = np.logspace(-4, 4, N)
    kernel = kc.Gaussian(1e9)
    plain = float(kc.skce(Y, NORMAL, prediction_kernel=kernel))
    scaled = kc.Normal(M * factor, S * factor)
    assert float(kc.skce(Y * factor, scaled, prediction_kernel=kernel)) == pytest.approx(plain, rel=1e-9)
    rng = np.random.default_rng(3)  # means spread over a thousand standard deviations
    mean = rng.normal(0, 1000, 300)
    errors = [float(kc.skce(mean + r * rng.normal(size=300), kc.Normal(mean, np.ones(300)))) for r in (10, 100)]
    assert 0.02 < errors[0] < errors[1] < 1 / 3


def test_where_it_is_the_default():
    mixture = Mixture(None, [NORMAL, Gamma(S, S)])
    for batch in (
        NORMAL,
        Poisson(S),
        Samples(RNG.normal(size=(N, 3))),
        mixture,
        MultivariateNormal(np.zeros((N, 3)), COV),
    ):
        assert target_kernel_of(None, batch) == PIT()
    assert isinstance(target_kernel_of(None, Samples(RNG.normal(size=(N, 3, 2)))), Spectral)
    assert target_kernel_of(kc.Gaussian(2.0), NORMAL) == kc.Gaussian(2.0)


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("vector", [False, True])
def test_gradients_in_other_libraries(library, vector):
    module = pytest.importorskip(library)
    mean = RNG.normal(size=(8, 2)) if vector else RNG.normal(size=8)
    y = mean + RNG.normal(size=mean.shape)

    def batch(m, one):
        return MultivariateNormal.diagonal(m, one) if vector else kc.Normal(m, one)

    def error(m, one):
        return kc.skce(y, batch(m, one), prediction_kernel=kc.Gaussian(1.0)).value

    if library == "torch":
        moved = module.tensor(mean, requires_grad=True)
        value = error(moved, module.ones(mean.shape, dtype=module.float64))
        value.backward()
        value, gradient = value.detach(), moved.grad.numpy()
    else:
        module.config.update("jax_enable_x64", True)
        one = module.numpy.ones(mean.shape)
        value, gradient = module.value_and_grad(lambda m: error(m, one))(module.numpy.asarray(mean))
    assert float(value) == pytest.approx(float(error(mean, np.ones(mean.shape))), rel=1e-9)
    at, step = (0,) * mean.ndim, 1e-6
    up, down = mean.copy(), mean.copy()
    up[at] += step
    down[at] -= step
    difference = (float(error(up, np.ones(mean.shape))) - float(error(down, np.ones(mean.shape)))) / (2 * step)
    assert float(np.asarray(gradient)[at]) == pytest.approx(difference, rel=1e-4, abs=1e-8)


def test_sums_of_batches_in_one_pass():
    mean, std = RNG.normal(size=60), RNG.uniform(0.5, 2, 60)
    batch = kc.Normal(mean, std)
    y = mean + std * RNG.normal(size=60)
    sketch = kc.Sketch.like(batch, draws=19)
    for part in (slice(0, 25), slice(25, 60)):
        sketch.update(y[part], batch[part])
    engine = kc.RandomFourier(256)
    kernel = kc.kernels.resolve(kc.Laplacian(), batch)[0]
    whole = float(kc.skce(y, batch, prediction_kernel=kernel, engine=engine))
    assert float(sketch.result().estimate) == pytest.approx(whole, rel=1e-3)  # features are rounded to 2^-12


def test_what_is_refused():
    with pytest.raises(InputError, match="features of PIT must be one of 'levels', 'polynomials', got 'waves'"):
        PIT("waves")
    with pytest.raises(InputError, match="use it as target_kernel, by itself"):
        kc.skce(Y, NORMAL, prediction_kernel=PIT())
    with pytest.raises(InputError, match="by itself"):
        plan(PIT() + kc.Gaussian(1.0), NORMAL)
    with pytest.raises(InputError, match="all mean embeddings of"):
        MeanEmbedding(PIT())
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="keeps no gradient, got an array of torch: move the predictions to NumPy"):
        residual_of(Laplace(torch.tensor(M), torch.tensor(S)), PIT())
