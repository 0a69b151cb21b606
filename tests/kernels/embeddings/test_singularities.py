"""Closed forms with removable singularities: against mpmath on grids that close in on them, and published values."""

import numpy as np
import pytest

from kernelcal.kernels import Laplacian, Matern32, Matern52, plan
from kernelcal.predictions import Laplace, Mixture, Normal

mpmath = pytest.importorskip("mpmath")

CLOSING_IN = [0.0, *(sign * 10.0**-k for k in range(1, 15) for sign in (1, -1)), 1e-15, 2e-16, -1e-16]
DISTANCES = [0.0, 1e-12, 1e-3, 0.7, 1.0, 3.0, 30.0, 300.0]


def apart(values):
    """The values with 60 digits, equal ones moved apart by far less than shows, so that no difference is zero."""
    return [mpmath.mpf(v) * (1 + mpmath.mpf(10) ** -35 * k) for k, v in enumerate(values, start=1)]


def laplaces(lengthscale, scales, z):
    """2 l times the density of a sum of Laplace variables, by partial fractions of the characteristic function."""
    with mpmath.workdps(110):
        s = apart([lengthscale, *scales])
        total = mpmath.mpf(0)
        for i, a in enumerate(s):
            others = [a**2 - b**2 for j, b in enumerate(s) if j != i]
            total += a ** (2 * len(scales) - 1) * mpmath.exp(-mpmath.mpf(z) / a) / mpmath.fprod(others)
        return float(mpmath.mpf(lengthscale) * total)


def laplace_mean(lengthscale, scale, z):
    p = Laplace([0.0], scale)
    return plan(Laplacian(lengthscale), p).mean(p, np.array([z]))[0]


def laplace_cross(lengthscale, b, c, z):
    p, q = Laplace([0.0], b), Laplace([z], c)
    return plan(Laplacian(lengthscale), p).cross(p, q)[0]


@pytest.mark.parametrize("z", DISTANCES)
def test_laplacian_under_laplace_near_equal_scales(z):
    for e in CLOSING_IN:
        np.testing.assert_allclose(laplace_mean(1.0, 1 + e, z), laplaces(1.0, [1 + e], z), rtol=1e-12)
        np.testing.assert_allclose(laplace_mean(0.3, 0.3 * (1 + e), z), laplaces(0.3, [0.3 * (1 + e)], z), rtol=1e-11)


@pytest.mark.quick_cases(7)
@pytest.mark.parametrize("z", DISTANCES)
def test_laplacian_under_two_laplaces_near_every_coincidence(z):
    for e in CLOSING_IN[::2]:
        for b, c in ((1 + e, 1 + e), (1 + e, 1 - e / 2), (1.0, 1 + e), (2.0, 2 + e), (1 + e, 0.4), (0.5, 0.5 + e)):
            np.testing.assert_allclose(laplace_cross(1.0, b, c, z), laplaces(1.0, [b, c], z), rtol=1e-12)


@pytest.mark.parametrize("z", [0.99, 1.0, 1.01, 1.9, 2.0, 2.1, 10.0])
def test_laplacian_under_two_laplaces_where_the_series_ends(z):
    """The series serves up to z / s - z / r = 1."""
    for b, c in ((2.0, 1.0), (2.0, 1.001), (2.0, 1.5), (0.5, 0.5), (1.1, 1.1), (1.111, 1.0)):
        np.testing.assert_allclose(laplace_cross(1.0, b, c, z), laplaces(1.0, [b, c], z), rtol=1e-14)


def test_laplacian_under_laplace_at_scales_of_all_sizes():
    rng = np.random.default_rng(0)
    for _ in range(200):
        lengthscale, b, c = (float(x) for x in 10 ** rng.uniform(-5, 5, 3))
        z = float(10 ** rng.uniform(-6, 2) * rng.choice([lengthscale, b, c]))
        for found, true in (
            (laplace_mean(lengthscale, b, z), laplaces(lengthscale, [b], z)),
            (laplace_cross(lengthscale, b, c, z), laplaces(lengthscale, [b, c], z)),
        ):
            np.testing.assert_allclose(found, true, rtol=1e-12, atol=1e-300)


def test_published_values_of_laplace_predictions(julia):
    facts = julia["derived_laplace"]
    for case in facts["single"]:
        np.testing.assert_allclose(laplace_mean(1.0, case["b"], case["z"]), case["value"], rtol=1e-12)
    for case in facts["double"]:
        np.testing.assert_allclose(laplace_cross(1.0, case["b"], case["b2"], case["z"]), case["value"], rtol=1e-12)
    for case in facts["near_degenerate_true_values"]:
        if "b2" in case:
            found, true = laplace_cross(1.0, case["b"], case["b2"], case["z"]), case["true_approx"]
        else:
            found, true = laplace_mean(1.0, case["b"], case["z"]), case["true_approx_single"]
        np.testing.assert_allclose(found, true, rtol=2e-8)  # the published value is the limit
        assert abs(case["julia_formula_gives"] - true) > 1e-4


RATES = {Laplacian: 1.0, Matern32: 3**0.5, Matern52: 5**0.5}


def normal_expectation(kind, std, distance):
    """E k of lengthscale 1 from the moments of the two halves of a tilted normal distribution, with many digits."""
    digits = 60 + int(20 * min(2 * std, 1e3) ** 0.5 + 12 * abs(np.log10(std)) + min(distance / std, 60) ** 2 / 2)
    with mpmath.workdps(digits):
        rate = mpmath.sqrt({Laplacian: 1, Matern32: 3, Matern52: 5}[kind])
        s, total = rate * mpmath.mpf(std), mpmath.mpf(0)
        for d in (rate * mpmath.mpf(distance), -rate * mpmath.mpf(distance)):
            x = (d - s * s) / s
            below, height = mpmath.erfc(-x / mpmath.sqrt(2)) / 2, mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
            moments = (below, s * (x * below + height), s * s * ((x * x + 1) * below + x * height))
            weights = (1, 0, 0) if kind is Laplacian else (1, 1, 0) if kind is Matern32 else (1, 1, mpmath.mpf(1) / 3)
            total += mpmath.exp(s * s / 2 - d) * sum(a * m for a, m in zip(weights, moments, strict=True))
        return float(total)


@pytest.mark.parametrize("kind", [Laplacian, Matern32, Matern52])
@pytest.mark.parametrize("std", [1e-8, 1e-3, 0.1, 1.0, 4.0, 30.0, 1e3, 1e6])
@pytest.mark.quick_cases(4)
def test_kernels_with_a_kink_under_normal_at_all_ratios(kind, std):
    p = Normal([0.0], std)
    ratios = [0.0, 1e-10, 1e-3, 0.5, 1.0, 2.0, 5.0, 20.0, 35.0]
    distances = sorted({*(r * std for r in ratios), *(r for r in ratios if r * RATES[kind] < 700)})
    found = plan(kind(1.0), p).mean(Normal(np.zeros(len(distances)), std), np.array(distances))
    true = [normal_expectation(kind, std, d) for d in distances]
    np.testing.assert_allclose(found, true, rtol=1e-12, atol=1e-300)
    crossed = plan(kind(1.0), p).cross(Normal(np.zeros(len(distances)), 0.6 * std), Normal(distances, 0.8 * std))
    np.testing.assert_allclose(crossed, true, rtol=1e-11, atol=1e-300)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("kind", [Laplacian, Matern32, Matern52])
def test_the_ranges_of_the_tilted_moments_meet(kind):
    """On both sides of s = t, where the tilted mean is 0, and of s - t = 5, where the continued fraction starts."""
    for s in (0.5, 3.0, 6.0, 20.0):
        for x in (-1.0, -1e-9, 0.0, 1e-9, 0.3, 4.999, 5.0, 5.001, 9.0):
            if x > s:
                continue
            std = s / RATES[kind]
            distance = (s - x) * std
            p = Normal([0.0], std)
            found = plan(kind(1.0), p).mean(p, np.array([distance]))[0]
            np.testing.assert_allclose(found, normal_expectation(kind, std, distance), rtol=1e-12, atol=1e-300)


def test_nothing_overflows_or_vanishes_wrongly_at_extreme_scales():
    p = Normal([0.0, 0.0, 0.0, 0.0], [1e-300, 1e150, 1e-10, 1e10])
    y = np.array([2.0, 1.0, 1e9, 1e300])
    for kind in (Laplacian, Matern32, Matern52):
        found = plan(kind(1.0), p).mean(p, y)
        assert np.isfinite(found).all()
        assert found[2] == found[3] == 0
    np.testing.assert_allclose(plan(Laplacian(1.0), p).mean(p, y)[0], np.exp(-2))
    np.testing.assert_allclose(plan(Laplacian(1.0), p).mean(p, y)[1], 2 / (1e150 * np.sqrt(2 * np.pi)))


def normal_and_laplace(std, scale, z):
    """E exp(-|Z - Z'|) for a normal and a Laplace variable, by partial fractions."""
    with mpmath.workdps(110):
        a, b = apart([1.0, scale])

        def first(x):
            s, d = mpmath.mpf(std) / x, mpmath.mpf(z) / x
            root = mpmath.sqrt(2)
            left, right = mpmath.erfc((s - d / s) / root), mpmath.erfc((s + d / s) / root)
            return mpmath.exp(s * s / 2) * (mpmath.exp(-d) * left + mpmath.exp(d) * right) / 2

        return float((a * first(a) - b * first(b)) / (a**2 - b**2))


@pytest.mark.slow
@pytest.mark.parametrize("std", [0.01, 0.5, 3.0, 8.0])
def test_laplacian_under_normal_and_laplace_near_equal_scales(std):
    p = Normal([0.0], std)
    cross = plan(Laplacian(1.0), Mixture(None, [p, Laplace([0.0], 1.0)])).crosses[Normal, Laplace]
    for z in (0.0, 0.1, 1.0, 5.0, 50.0):
        for e in (*CLOSING_IN, 0.5, -0.5, 1.01e-3, 0.99e-3):
            found = cross(p, Laplace([z], 1 + e))[0]
            np.testing.assert_allclose(found, normal_and_laplace(std, 1 + e, z), rtol=2e-12)
