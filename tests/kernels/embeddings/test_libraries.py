"""Embeddings of arrays of other libraries: the same values, gradients, and a refusal where functions are missing."""

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.kernels import (
    Coordinatewise,
    Dirac,
    GaussHermite,
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    MonteCarlo,
    RationalQuadratic,
    plan,
)
from kernelcal.kernels.embeddings import point
from kernelcal.predictions import (
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    Samples,
)

RNG = np.random.default_rng(0)
N, D = 5, 4
A = RNG.normal(size=(N, D, D))
BATCHES = {
    "Normal": Normal(RNG.normal(size=N), RNG.uniform(0.5, 2, N)),
    "Laplace": Laplace(RNG.normal(size=N), RNG.uniform(0.5, 2, N)),
    "DiagonalNormal": DiagonalNormal(RNG.normal(size=(N, D)), RNG.uniform(0.5, 2, (N, D))),
    "IsotropicNormal": IsotropicNormal(RNG.normal(size=(N, D)), RNG.uniform(0.5, 2, N)),
    "MultivariateNormal": MultivariateNormal(RNG.normal(size=(N, D)), A @ A.transpose(0, 2, 1) + np.eye(D)),
    "Samples": Samples(RNG.normal(size=(N, 3)), weights=RNG.random((N, 3))),
    "Mixture": Mixture(
        RNG.dirichlet(np.ones(2), N), [Normal(RNG.normal(size=N), 1.0), Normal(RNG.normal(size=N), np.full(N, 0.5))]
    ),
}
CASES = [
    *((name, Gaussian(1.3)) for name in BATCHES if name != "Laplace"),
    ("Laplace", Laplacian(0.8)),
    ("Normal", Gaussian(1.0) * Gaussian(2.0) + 0.5 * Linear()),
    ("MultivariateNormal", Linear()),
    ("DiagonalNormal", Coordinatewise(Gaussian(1.0) + Linear())),
    ("Samples", Dirac() + Laplacian(1.0)),
]


def rows(p):
    return p.map_arrays(lambda x: x[:, None, ...])


def columns(p):
    return p.map_arrays(lambda x: x[None, ...])


@pytest.mark.parametrize(("name", "kernel"), CASES, ids=lambda c: c if isinstance(c, str) else type(c).__name__)
def test_every_library_gives_the_values_of_numpy(name, kernel, backend):
    p = BATCHES[name]
    y = RNG.normal(size=np.shape(p.mean))
    moved, targets = p.map_arrays(backend), backend(y)
    embedding = plan(kernel, p)
    expected = embedding.mean(rows(p), y[None]), embedding.cross(rows(p), columns(p))
    found = embedding.mean(rows(moved), targets[None, ...]), embedding.cross(rows(moved), columns(moved))
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(targets)
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-10, atol=1e-14)
    aligned = embedding.mean(moved, targets), embedding.cross(moved, moved)
    for one, other in zip(aligned, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.diag(other), rtol=1e-10, atol=1e-14)
    event = y.ndim - 1
    between = point(kernel, targets[:, None, ...], targets[None, ...], event)
    np.testing.assert_allclose(np.asarray(between), point(kernel, y[:, None], y[None], event), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    "name", ["Normal", "DiagonalNormal", "IsotropicNormal", "MultivariateNormal", "Laplace", "Mixture"]
)
def test_gradients_equal_finite_differences(name):
    torch = pytest.importorskip("torch")
    p = BATCHES[name]
    kernel = Laplacian(0.9) if name == "Laplace" else Gaussian(0.9)
    y = RNG.normal(size=np.shape(p.mean))
    embedding = plan(kernel, p)

    def total(mean_shift, factor, batch, targets):
        """A number that depends on all means and all spreads."""
        changed = {
            "Normal": lambda b: Normal(b.mean + mean_shift, b.std * factor),
            "Laplace": lambda b: Laplace(b.loc + mean_shift, b.scale * factor),
            "DiagonalNormal": lambda b: DiagonalNormal(b.mean + mean_shift, b.std * factor),
            "IsotropicNormal": lambda b: IsotropicNormal(b.mean + mean_shift, b.scale * factor),
            "MultivariateNormal": lambda b: MultivariateNormal(b.mean + mean_shift, b.cov * factor),
        }
        if name == "Mixture":
            parts = [changed["Normal"](c) for c in batch.components]
            new = Mixture(batch.weights, parts)
        else:
            new = changed[name](batch)
        shifted = batch.map_arrays(lambda x: x * 1.0)
        return (
            embedding.mean(rows(new), targets[None, ...]) * 1.5 + embedding.cross(rows(new), columns(shifted))
        ).sum()

    shift, factor = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.1, 1.2))
    total(shift, factor, p.map_arrays(torch.tensor), torch.tensor(y)).backward()
    step = 1e-6
    for gradient, change in ((shift.grad, (step, 0.0)), (factor.grad, (0.0, step))):
        upper = total(0.1 + change[0], 1.2 + change[1], p, y)
        lower = total(0.1 - change[0], 1.2 - change[1], p, y)
        np.testing.assert_allclose(float(gradient), (upper - lower) / (2 * step), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("kernel", "p", "integrator", "what"),
    [
        (Laplacian(1.0), BATCHES["Normal"], None, "Laplacian under Normal"),
        (Matern32(1.0), BATCHES["Normal"], None, "Matern32 under Normal"),
        (Gaussian(1.0), Poisson([2.0, 3.0]), None, "Poisson predictions"),
        (Dirac(), Poisson([2.0, 3.0]), None, "Poisson predictions"),
        (RationalQuadratic(1.0), BATCHES["Normal"], GaussHermite(4), "Gauss-Hermite quadrature"),
        (Laplacian(1.0), BATCHES["DiagonalNormal"], MonteCarlo(5), "Monte Carlo integration"),
    ],
)
def test_special_functions_of_scipy_refuse_other_libraries(kernel, p, integrator, what):
    torch = pytest.importorskip("torch")
    moved = p.map_arrays(torch.tensor)
    with pytest.raises(InputError, match=f"{what} needs special functions of SciPy.*got an array of torch: move"):
        plan(kernel, p, integrator).mean(moved, moved.mean)


@pytest.mark.parametrize("name", [n for n in BATCHES if n != "Laplace"])
def test_single_precision_stays_single(name):
    p = BATCHES[name].map_arrays(lambda x: x.astype(np.float32))
    y = RNG.normal(size=np.shape(p.mean)).astype(np.float32)
    embedding, double = plan(Gaussian(1.0), p), p.map_arrays(lambda x: x.astype(np.float64))
    for found, expected in (
        (embedding.mean(rows(p), y[None]), embedding.mean(rows(double), y[None].astype(np.float64))),
        (embedding.cross(rows(p), columns(p)), embedding.cross(rows(double), columns(double))),
    ):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-6)
