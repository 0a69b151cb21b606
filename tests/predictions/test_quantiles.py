"""Quantile predictions: interpolation, tails, point masses, levels and crossing."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from kernelcal.errors import InputError
from kernelcal.predictions import Quantiles

RNG = np.random.default_rng(0)
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.9])
VALUES = np.sort(RNG.normal(size=(6, 5)), axis=1)
BOTH = pytest.mark.parametrize("tails", ["exponential", "linear"])


def test_by_hand():
    batch = Quantiles([[1.0, 2.0, 4.0]], [0.25, 0.5, 0.75])
    y = np.array([[1.0], [1.5], [2.0], [3.0], [4.0]])
    np.testing.assert_allclose(batch.cdf(y)[:, 0], [0.25, 0.375, 0.5, 0.625, 0.75], rtol=1e-15)
    np.testing.assert_allclose(batch.quantile(np.array([[0.25], [0.375], [0.625]]))[:, 0], [1, 1.5, 3], rtol=1e-15)
    np.testing.assert_allclose(np.exp(batch.log_prob(y)[:, 0]), [0.25, 0.25, 0.125, 0.125, 0.125], rtol=1e-14)
    # exponential tails of mass 1/4 that start with densities 1/4 and 1/8: lengths 1 and 2
    np.testing.assert_allclose(batch.cdf([0.0]), 0.25 * np.exp(-1))
    np.testing.assert_allclose(batch.cdf([6.0]), 1 - 0.25 * np.exp(-1))
    np.testing.assert_allclose(batch.mean, [0.25 * (1 - 1) + 0.25 * 1.5 + 0.25 * 3 + 0.25 * (4 + 2)])
    # linear tails keep the densities over lengths 1 and 2
    linear = Quantiles([[1.0, 2.0, 4.0]], [0.25, 0.5, 0.75], tails="linear")
    np.testing.assert_allclose(linear.cdf(np.array([[0.0], [0.5], [5.0], [6.0]]))[:, 0], [0, 0.125, 0.875, 1])
    np.testing.assert_allclose(linear.mean, [0.25 * (0.5 + 1.5 + 3 + 5)])
    assert not linear.impossible(np.array([[-0.1], [0.0], [6.0], [6.1]])).any()  # tails are no forecast
    assert not batch.impossible(np.array([-99.0])).any()


@BOTH
def test_given_quantiles_are_kept_exactly(tails):
    batch = Quantiles(VALUES, LEVELS, tails=tails)
    np.testing.assert_array_equal(batch.cdf(VALUES.T), np.repeat(LEVELS[:, None], 6, axis=1))
    np.testing.assert_array_equal(batch.quantile(LEVELS[:, None]), VALUES.T)


@BOTH
def test_densities_are_continuous_at_the_ends(tails):
    batch = Quantiles(VALUES, LEVELS, tails=tails)
    for edge in (VALUES[:, 0], VALUES[:, -1]):
        np.testing.assert_allclose(batch.log_prob(edge - 1e-9), batch.log_prob(edge + 1e-9), rtol=1e-6)


@BOTH
def test_moments_and_waves_are_integrals_of_the_quantile_function(tails):
    batch = Quantiles(VALUES, LEVELS, tails=tails)
    one = batch[2:3]
    edges = [0.0, *LEVELS, 1.0]

    def expected(function):
        integrand = lambda u: function(one.quantile(u)[0])  # noqa: E731
        return sum(integrate.quad(integrand, a, b, limit=200)[0] for a, b in pairwise(edges))

    np.testing.assert_allclose(batch.mean[2], expected(lambda z: z), rtol=1e-8)
    np.testing.assert_allclose(batch.std[2] ** 2, expected(lambda z: (z - batch.mean[2]) ** 2), rtol=1e-7)
    wave = expected(lambda z: np.cos(1.7 * z)) + 1j * expected(lambda z: np.sin(1.7 * z))
    np.testing.assert_allclose(one.characteristic(np.array([1.7]))[0, 0], wave, rtol=1e-7)


@pytest.mark.parametrize("width", [1.0, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_characteristic_functions_are_stable_for_short_segments(width):
    mpmath = pytest.importorskip("mpmath")
    values, levels, w = [1.0, 1.0 + width, 1.0 + 3 * width], [0.0, 0.4, 1.0], 0.7
    found = Quantiles([values], levels).characteristic(np.array([w]))[0, 0]
    with mpmath.workdps(60):
        z, q = [mpmath.mpf(v) for v in values], [mpmath.mpf(v) for v in levels]
        waves = [mpmath.expj(mpmath.mpf(w) * v) for v in z]
        slopes = ((q[k + 1] - q[k]) * (waves[k + 1] - waves[k]) / (z[k + 1] - z[k]) for k in range(2))
        exact = complex(sum(slopes) / (1j * mpmath.mpf(w)))
    assert abs(found - exact) < 1e-15


def test_equal_quantiles_are_point_masses():
    batch = Quantiles([[0.0, 0.0, 0.0, 1.0, 3.0], [0.0, 1.0, 1.0, 2.0, 2.0]], LEVELS)
    np.testing.assert_allclose(batch.cdf_below([0.0, 1.0]), [0.0, 0.25])
    np.testing.assert_allclose(batch.cdf([0.0, 1.0]), [0.5, 0.5])
    np.testing.assert_allclose(batch.cdf_below([0.5, 2.0]), [0.625, 0.75])
    np.testing.assert_allclose(batch.cdf([0.5, 2.0]), [0.625, 1.0])  # the upper tail joins the mass at 2
    u = np.array([[0.01], [0.3], [0.5], [0.95]])
    np.testing.assert_allclose(batch.quantile(u)[:, 1], [0 + np.log(0.01 / 0.05) * 0.25, 1, 1, 2])
    np.testing.assert_array_equal(batch.quantile(u)[:3, 0], [0, 0, 0])
    assert not batch.impossible(np.array([[-0.1, -0.1], [9.0, 2.1]])).any()  # no level of 0 or 1 was given


def test_a_row_of_one_value_is_a_point():
    batch = Quantiles([[0.3, 0.3, 0.3]], [0.1, 0.5, 0.9])
    assert (batch.mean[0], batch.std[0]) == (pytest.approx(0.3), 0.0)
    np.testing.assert_array_equal(batch.sample(0, 100), np.full((100, 1), 0.3))
    np.testing.assert_array_equal(batch.impossible(np.array([[0.2], [0.3]])), [[False], [False]])
    np.testing.assert_array_equal(batch.standardised(np.array([0.9])), [0.0])


@BOTH
@pytest.mark.filterwarnings("error")
def test_levels_zero_and_one_end_the_distribution(tails):
    batch = Quantiles([[-1.0, 0.0, 2.0]], [0.0, 0.5, 1.0], tails=tails)
    np.testing.assert_allclose(batch.quantile(np.array([[0.0], [0.5], [1.0]]))[:, 0], [-1, 0, 2])
    np.testing.assert_allclose(batch.cdf(np.array([[-2.0], [-1.0], [2.0], [3.0]]))[:, 0], [0, 0, 1, 1])
    np.testing.assert_array_equal(batch.impossible(np.array([[-1.1], [2.1], [0.0]]))[:, 0], [True, True, False])
    np.testing.assert_allclose(
        batch.log_prob(np.array([[-1.1], [-1.0], [2.0], [2.1]]))[:, 0], [-np.inf, np.log(0.5), np.log(0.25), -np.inf]
    )


def test_unsorted_levels_are_sorted_with_their_values(backend):  # cases.json quantiles-unsorted
    batch = Quantiles(backend(np.array([[3.0, 1.0, 2.0]])), [0.75, 0.25, 0.5])
    np.testing.assert_array_equal(np.asarray(batch.values), [[1, 2, 3]])
    np.testing.assert_array_equal(batch.levels, [0.25, 0.5, 0.75])
    low, high = batch.level_range([1.5])
    assert (low.tolist(), high.tolist()) == ([0.25], [0.5])
    assert batch.cdf([1.5]).tolist() == [0.375]
    assert batch.notes == ()


def test_levels_around_a_target():
    batch = Quantiles([[1.0, 2.0, 2.0, 3.0]], [0.2, 0.4, 0.6, 0.8])
    low, high = batch.level_range(np.array([[0.0], [1.0], [2.0], [2.5], [9.0]]))
    assert low[:, 0].tolist() == [0.0, 0.0, 0.2, 0.6, 0.8]
    assert high[:, 0].tolist() == [0.2, 0.4, 0.8, 0.8, 1.0]


def test_levels_are_found_in_spite_of_rounding():  # cases.json quantile-float-levels
    levels = 0.05 * np.arange(1, 20)
    batch = Quantiles(np.arange(1.0, 20.0)[None], levels)
    assert levels[6] != 0.35
    assert batch.at(0.35).tolist() == [7.0]
    assert batch.at(0.65).tolist() == [13.0]
    with pytest.raises(InputError, match=r"level 0.36 is not among the given levels 0.05, 0.1, .*quantile\(level\)"):
        batch.at(0.36)


def test_crossing_quantiles_are_refused_or_sorted():  # cases.json quantile-crossing
    values, levels = [[566.830717, 590.21883, 590.187053, 601.321633]], [0.6, 0.65, 0.7, 0.75]
    message = (
        r"quantiles cross in row 0: level 0.65 has 590.21883 but level 0.7 has 590.187053, less by 0.03178 "
        r'\(1 of 1 rows cross, at most by 0.03178\): correct them, or pass crossing="sort"'
    )
    with pytest.raises(InputError, match=message):
        Quantiles(values, levels)
    batch = Quantiles(values, levels, crossing="sort")
    assert batch.notes == (
        "quantiles crossed in 1 of 1 rows (first in row 0, at most by 0.03178): they were sorted in each row, as asked",
    )
    np.testing.assert_array_equal(batch.at(0.65), [590.187053])
    np.testing.assert_array_equal(batch.at(0.7), [590.21883])


def test_crossing_quantiles_are_sorted_in_every_library(backend):
    batch = Quantiles(backend(np.array([[1.0, 0.5, 2.0]])), [0.2, 0.5, 0.8], crossing="sort")
    np.testing.assert_array_equal(np.asarray(batch.values), [[0.5, 1.0, 2.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Quantiles(VALUES, LEVELS[:4]), "there are 4 levels but 5 columns of values: one column a level"),
        (lambda: Quantiles(VALUES[:, :1], []), r"levels must be one or more numbers, shape \(Q,\)"),
        (lambda: Quantiles(VALUES[:, :1], [0.5]).mean, "one level alone, 0.5, makes no distribution, which this needs"),
        (lambda: Quantiles(VALUES[:, :2], [0, 1]).cells, r"levels must have one or more inside \(0, 1\), got 0 and 1"),
        (lambda: Quantiles(VALUES, LEVELS, resolution=-1), "resolution must be the width to which outcomes were"),
        (
            lambda: Quantiles(VALUES, 100 * LEVELS),
            r"levels must lie in \[0, 1\], got 5: percentages must be divided by 100",
        ),
        (lambda: Quantiles(VALUES, LEVELS - 0.1), r"levels must lie in \[0, 1\], got -0.05$"),
        (
            lambda: Quantiles(VALUES, [0.1, 0.2, 0.2, 0.3, 0.4]),
            "level 0.2 is given twice: every level needs one column",
        ),
        (lambda: Quantiles(VALUES, LEVELS, tails="normal"), "tails must be 'exponential' or 'linear', got 'normal'"),
        (lambda: Quantiles(VALUES, LEVELS, crossing="no"), "crossing must be 'raise' or 'sort', got 'no'"),
        (
            lambda: Quantiles(np.where(VALUES > 0, np.nan, VALUES), LEVELS),
            r"the quantile in row 0, column \d is missing",
        ),
        (
            lambda: Quantiles([[1.0, 2.0], [3.0, 3.0]], [0.2, 0.7]).log_prob([1.0, 1.0]),
            "row 1 has a point mass and no density: levels 0.2 and 0.7 have one value; use a score of quantiles",
        ),
    ],
)
def test_quantiles_refuse(make, message):
    with pytest.raises(InputError, match=message):
        make()
