"""The product of a kernel over the coordinates of vectors."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.kernels import Coordinatewise, Gaussian, InverseMultiquadric, Laplacian
from kernelcal.kernels.embeddings import point


def test_it_is_the_product_over_the_coordinates():
    rng = np.random.default_rng(0)
    y, z = rng.normal(size=(4, 1, 3)), rng.normal(size=(1, 5, 3))
    found = point(Coordinatewise(Laplacian(0.7)), y, z, 1)
    np.testing.assert_allclose(found, np.exp(-np.abs(y - z).sum(-1) / 0.7), rtol=1e-13)
    found = point(Coordinatewise(0.5 * Laplacian(0.7)), y, z, 1)
    np.testing.assert_allclose(found, 0.125 * np.exp(-np.abs(y - z).sum(-1) / 0.7), rtol=1e-13)


def test_for_numbers_it_is_the_kernel_itself():
    y = np.linspace(-1, 1, 4)
    found = point(Coordinatewise(Gaussian(0.7)), y[:, None], y[None], 0)
    np.testing.assert_array_equal(found, point(Gaussian(0.7), y[:, None], y[None], 0))


def test_leaves_and_bounds_are_those_of_the_kernel_inside():
    kernel = Coordinatewise(Gaussian() + Laplacian())
    assert kernel.map_leaves(lambda leaf: leaf.with_lengthscale(2.0)) == Coordinatewise(Gaussian(2.0) + Laplacian(2.0))
    assert Coordinatewise(0.25 * Gaussian(1.0)).bound() == 0.25
    assert Coordinatewise(Gaussian(1.0)).positive_definite(kc.Bernoulli([0.5]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Coordinatewise(1.0), r"needs a kernel between numbers such as Laplacian\(\), got 1.0"),
        (
            lambda: Coordinatewise(InverseMultiquadric(1.0, offset=0.5)).bound(),
            r"grows with their number if that of a factor is above 1, here 2: scale the product",
        ),
        (
            lambda: kc.skce([0, 1], [[0.5, 0.5], [0.2, 0.8]], prediction_kernel=Coordinatewise(Laplacian(1.0))),
            "Coordinatewise is a kernel between targets: use it as target_kernel",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
