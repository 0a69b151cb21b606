"""Residuals of predictions of numbers: against a naive second implementation, pair by pair."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.kernels import PIT, Spectral, target_lengthscale
from kernelcal.residuals import FourierResidual, GramResidual, residual_of, target_kernel_of

RNG = np.random.default_rng(0)
N = 40
MEAN, STD = RNG.normal(size=N), RNG.uniform(0.3, 2, N)
NORMAL = kc.Normal(MEAN, STD)
VECTORS = kc.MultivariateNormal.diagonal(RNG.normal(size=(N, 3)), RNG.uniform(0.5, 2, (N, 3)))
MANY = 200_000


def gram(y, mean, std, lengthscale):
    """Residual Gram matrix of the Gaussian kernel under normals: loops over rows, formulae by integration by hand."""
    n, r = len(y), np.zeros((len(y), len(y)))

    def expectation(difference, variance):
        total = lengthscale**2 + variance
        return lengthscale / np.sqrt(total) * np.exp(-(difference**2) / (2 * total))

    for i in range(n):
        for j in range(n):
            r[i, j] = expectation(y[i] - y[j], 0)
            r[i, j] -= expectation(mean[i] - y[j], std[i] ** 2) + expectation(mean[j] - y[i], std[j] ** 2)
            r[i, j] += expectation(mean[i] - mean[j], std[i] ** 2 + std[j] ** 2)
    return r


def test_gram_residuals_pair_by_pair():
    y = NORMAL.sample(rng=1)[0]
    inner = GramResidual.of(NORMAL, kc.Gaussian(0.7)).inner(y)
    expected = gram(y, MEAN, STD, 0.7)
    np.testing.assert_allclose(inner.block(slice(None), slice(None)), expected, atol=1e-15)
    np.testing.assert_allclose(inner.block(slice(3, 9), np.array([1, 5])), expected[3:9][:, [1, 5]], atol=1e-15)
    np.testing.assert_allclose(
        inner.aligned(slice(0, 4), slice(4, 8)), expected[[0, 1, 2, 3], [4, 5, 6, 7]], atol=1e-15
    )


@pytest.mark.parametrize("kernel", [Spectral(kc.Gaussian(0.7)), Spectral(kc.Matern52(1.5), frequencies=7)], ids=str)
def test_fourier_residuals_are_those_of_their_kernel(kernel):
    """Features by the characteristic function against the same kernel, its expectations by quadrature."""
    some = slice(0, 16)  # nodes of a row meet those of every other: all rows would be seconds of cosines
    mean, std, normal = MEAN[some], STD[some], NORMAL[some]
    y = normal.sample(rng=1)[0]
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    z, w = mean[:, None] + std[:, None] * nodes, weights / weights.sum()
    frequencies, amplitudes = kernel.nodes(None)

    def k(a, b):
        return sum(a2 * np.cos(f * (a - b)) for f, a2 in zip(frequencies, amplitudes**2, strict=True))

    expected = k(y[:, None], y[None, :])
    one = np.einsum("isj,s->ij", k(z[:, :, None], y[None, None, :]), w)
    cross = np.einsum("isjt,s,t->ij", k(z[:, :, None, None], z[None, None]), w, w)
    expected = expected - one - one.T + cross
    residual = residual_of(normal, kernel)
    assert isinstance(residual, FourierResidual)
    np.testing.assert_allclose(residual.inner(y).block(slice(None), slice(None)), expected, atol=1e-9)
    batch = residual.batch(np.stack([y, mean]))
    np.testing.assert_allclose(batch[:, 0], residual.features(y), atol=1e-14)
    np.testing.assert_allclose(residual.squared_norms(y[None])[0], np.diag(expected), atol=1e-9)


def test_spectral_kernel_is_near_the_kernel_whose_spectrum_it_takes():
    y = np.linspace(-3, 3, 25)
    for name, predictions in (("numbers", kc.Normal(y, np.ones(25))), ("vectors", VECTORS)):
        targets = y if name == "numbers" else VECTORS.sample(rng=0)[0]
        exact = GramResidual.of(predictions, kc.Gaussian(1.5)).inner(targets).block(slice(None), slice(None))
        size = 16 if name == "numbers" else 4000
        near = residual_of(predictions, Spectral(kc.Gaussian(1.5), frequencies=size)).inner(targets)
        tolerance = 1e-4 if name == "numbers" else 0.06
        np.testing.assert_allclose(near.block(slice(None), slice(None)), exact, atol=tolerance)


def test_spectral_kernel_evaluates_between_targets():
    from kernelcal.kernels.embeddings import point

    y = np.linspace(0, 4, 9)
    kernel = Spectral(kc.Gaussian(1.0))
    np.testing.assert_allclose(point(kernel, y, 0.0, 0), np.exp(-(y**2) / 2), atol=1e-4)
    vectors = RNG.normal(size=(5, 3))
    expected = np.exp(-((vectors - vectors[0]) ** 2).sum(1) / 2)
    near = point(Spectral(kc.Gaussian(1.0), frequencies=5000), vectors, vectors[:1], 1)
    np.testing.assert_allclose(near, expected, atol=0.05)


@pytest.mark.parametrize("predictions", [NORMAL, VECTORS], ids=["numbers", "vectors"])
@pytest.mark.parametrize(
    "kernel", [kc.Gaussian(0.9), Spectral(kc.Gaussian(0.9), frequencies=5)], ids=["gram", "features"]
)
def test_residuals_have_mean_zero_under_the_prediction(predictions, kernel):
    row = predictions[:1]
    draws = row.sample(rng=0, size=MANY // 10)[:, 0]
    many = row.map_arrays(lambda x: np.repeat(x, len(draws), axis=0))
    fixed = predictions[1:2]
    both = residual_of(_joined(many, fixed), kernel).inner(np.concatenate([draws, predictions.sample(rng=3)[0][1:2]]))
    values = both.block(slice(0, len(draws)), np.array([len(draws)]))[:, 0]
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(len(values))


def _joined(many, one):
    arrays = []
    one.map_arrays(lambda x: arrays.append(x) or x)
    rest = iter(arrays)
    return many.map_arrays(lambda x: np.concatenate([x, next(rest)]))


def test_target_lengthscale_is_the_median_predicted_standard_deviation():
    assert target_lengthscale(NORMAL) == pytest.approx(np.median(STD))
    assert target_lengthscale(VECTORS) == pytest.approx(np.median(np.sqrt((VECTORS.std**2).sum(1))))
    assert target_lengthscale(kc.Samples(np.ones((3, 4)))) == 1.0
    assert target_kernel_of(kc.Gaussian(), NORMAL) == kc.Gaussian(np.median(STD))
    assert target_kernel_of(kc.Laplacian(), NORMAL) == kc.Laplacian(np.median(STD))
    assert target_kernel_of(None, NORMAL) == target_kernel_of(None, kc.Laplace(MEAN, STD)) == PIT()
    assert isinstance(target_kernel_of(None, kc.Samples(np.ones((3, 4, 2)))), Spectral)
    assert target_kernel_of(None, kc.Bernoulli([0.2])) == kc.Dirac()


def test_bounds_hold():
    y = MEAN + 3 * RNG.normal(size=N)
    for kernel in (kc.Gaussian(0.5), 2.0 * kc.Gaussian(0.5), Spectral(kc.Gaussian(0.5))):
        residual = residual_of(NORMAL, kernel)
        assert np.abs(residual.inner(y).block(slice(None), slice(None))).max() <= residual.bound()
    with pytest.raises(InputError, match="a linear target kernel of numbers has no bound"):
        GramResidual.of(NORMAL, kc.Linear()).bound()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spectral(kc.Dirac()), "Spectral needs a profile such as Gaussian"),
        (lambda: Spectral(frequencies=0), "frequencies must be a positive whole number, got 0"),
        (lambda: kc.skce([0.0, 1.0], NORMAL[:2], prediction_kernel=Spectral()), "use it as target_kernel"),
        (
            lambda: kc.skce([0.0, 1.0], NORMAL[:2], target_kernel=kc.Gaussian(1.0), engine=kc.Nystrom()),
            "this needs residuals with features: for predictions of numbers pass target_kernel=",
        ),
        (
            lambda: kc.skce([0.0, 1.0], NORMAL[:2], target_kernel=kc.Gaussian(1.0, metric=kc.TotalVariation())),
            "TotalVariation compares predictions, not targets",
        ),
        (
            lambda: kc.skce([0.0, 1.0], NORMAL[:2], target_kernel=kc.FiniteKernel(np.eye(2))),
            "FiniteKernel",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_spectral_kernels_are_part_of_plans():
    """Inside a sum the spectrum goes through the plan; alone through features: the same numbers."""
    y = NORMAL.sample(rng=1)[0]
    kernel = Spectral(kc.Gaussian(0.7))
    features = residual_of(NORMAL, kernel).inner(y)
    pairs = GramResidual.of(NORMAL, kernel).inner(y)
    everything = (slice(None), slice(None))
    np.testing.assert_allclose(pairs.block(*everything), features.block(*everything), atol=1e-13)
    np.testing.assert_allclose(pairs.aligned(*everything), features.aligned(*everything), atol=1e-13)
    linear = (y - MEAN)[:, None] * (y - MEAN)[None, :]
    both = residual_of(NORMAL, kernel + kc.Linear()).inner(y)
    np.testing.assert_allclose(both.block(*everything), features.block(*everything) + linear, atol=1e-12)
    vectors = VECTORS.sample(rng=1)[0]
    kernel = Spectral(kc.Gaussian(2.0), frequencies=9)
    one, other = (make(VECTORS, kernel).inner(vectors) for make in (residual_of, GramResidual.of))
    np.testing.assert_allclose(other.block(*everything), one.block(*everything), atol=1e-13)


@pytest.mark.slow
def test_integrators_by_request():
    laplace = kc.Laplace(MEAN[:16], STD[:16])  # every pair of rows takes all pairs of nodes
    y, options = laplace.sample(rng=2)[0], {"prediction_kernel": kc.Laplacian(1.0), "target_kernel": kc.Gaussian(1.0)}
    with pytest.raises(InputError, match=r"has no closed form.*Ways out: pass an integrator"):
        kc.skce(y, laplace, **options)
    near = kc.skce(y, laplace, integrator=kc.kernels.GaussLegendre(400), **options)
    drawn = kc.skce(y, laplace, integrator=kc.kernels.MonteCarlo(20_000), **options)
    spectral = {**options, "target_kernel": Spectral(kc.Gaussian(1.0), frequencies=64)}
    exact = kc.skce(y, laplace, **spectral)
    assert float(near) == pytest.approx(float(exact), abs=1e-5)
    assert float(drawn) == pytest.approx(float(exact), abs=3e-3)
