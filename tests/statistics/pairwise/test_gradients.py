"""Gradients of SKCE in torch and JAX against finite differences, duplicates included."""

import numpy as np
import pytest

import kernelcal as kc

KERNELS = [
    kc.Laplacian(0.4),
    kc.Laplacian(0.4, metric=kc.TotalVariation()),
    kc.Gaussian(0.4, metric=kc.Hellinger()),
    kc.kernels.PowerExponential(0.4, power=0.6),
    kc.Matern32(0.4),
    kc.Matern52(0.4),
    kc.InverseMultiquadric(0.4),
    kc.kernels.RationalQuadratic(0.4),
    2 * kc.Laplacian(0.4) + kc.Linear(),
]
SETTINGS = [
    {"estimator": "unbiased"},
    {"estimator": "biased"},
    {"estimator": "block", "block_size": 3},
    {"engine": kc.Nystrom(6)},
    {"engine": kc.RandomFourier(8)},
]


def logits(seed=0):
    return np.random.default_rng(seed).standard_normal((12, 3)), np.random.default_rng(1).integers(0, 3, 12)


def finite_differences(f, x, step=1e-6):
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (f(up) - f(down)) / (2 * step)
    return gradient


def torch_gradient(f, x):
    torch = pytest.importorskip("torch")
    leaf = torch.tensor(x, requires_grad=True)
    f(leaf).backward()
    return leaf.grad.numpy()


def jax_gradient(f, x):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return np.asarray(jax.grad(f)(jax.numpy.asarray(x)))


SLOW_JAX = pytest.param(jax_gradient, marks=pytest.mark.slow)


@pytest.mark.parametrize("gradient", [torch_gradient, SLOW_JAX], ids=["torch", "jax"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.quick_cases(2)
def test_every_kernel(kernel, gradient):
    x, y = logits()

    def value(x):
        return kc.skce(y, kc.Logits(x), prediction_kernel=kernel, engine=kc.ExactPairs(rows=5, columns=4)).value

    expected = finite_differences(lambda x: float(value(x)), x)
    np.testing.assert_allclose(gradient(value, x), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("gradient", [torch_gradient, SLOW_JAX], ids=["torch", "jax"])
@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_every_estimator_and_engine(options, gradient):
    x, y = logits()
    kernel = kc.Gaussian(0.5)
    target = kc.FiniteKernel(np.eye(3) + 0.2)

    def value(x):
        return kc.skce(y, kc.Logits(x), prediction_kernel=kernel, target_kernel=target, **options).value

    expected = finite_differences(lambda x: float(value(x)), x)
    np.testing.assert_allclose(gradient(value, x), expected, rtol=1e-4, atol=1e-8)


SLOW_JAX = pytest.param(jax_gradient, marks=pytest.mark.slow)


@pytest.mark.parametrize("gradient", [torch_gradient, SLOW_JAX], ids=["torch", "jax"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_equal_predictions_give_no_nan(kernel, gradient):
    x, y = logits()
    x[3] = x[2]
    found = gradient(lambda x: kc.skce(y, kc.Logits(x), prediction_kernel=kernel).value, x)
    assert np.isfinite(found).all()
    assert np.abs(found).max() > 0


@pytest.mark.parametrize("gradient", [torch_gradient, jax_gradient], ids=["torch", "jax"])
def test_one_probability(gradient):
    x, y = np.linspace(-2, 2, 9), np.array([0, 1, 0, 0, 1, 0, 1, 1, 1])

    def value(x):
        return kc.skce(y, kc.Logits(x), prediction_kernel=kc.Laplacian(0.3)).value

    expected = finite_differences(lambda x: float(value(x)), x)
    np.testing.assert_allclose(gradient(value, x), expected, rtol=1e-5, atol=1e-9)


def test_jax_compiles_with_a_numeric_lengthscale():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    x, y = logits()
    run = jax.jit(lambda x: kc.skce(y, kc.Logits(x), prediction_kernel=kc.Laplacian(0.4)).value)
    assert float(run(x)) == pytest.approx(
        float(kc.skce(y, kc.Logits(x), prediction_kernel=kc.Laplacian(0.4))), rel=1e-12
    )
    with pytest.raises(kc.errors.InputError, match="give a number"):
        jax.jit(lambda x: kc.skce(y, kc.Logits(x)).value)(x)


def test_the_library_of_the_predictions_is_kept():
    torch = pytest.importorskip("torch")
    p = torch.tensor([[0.2, 0.8], [0.7, 0.3], [0.5, 0.5]], dtype=torch.float32)
    estimate = kc.skce(torch.tensor([1, 0, 1]), p)
    assert isinstance(estimate.value, torch.Tensor)
    assert estimate.value.dtype == torch.float32
