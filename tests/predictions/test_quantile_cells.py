"""Cells between quantiles against indicators written out, and what is drawn against the claims."""

import numpy as np
import pytest
from scipy import stats

from kernelcal import Quantiles
from kernelcal.predictions import QuantileCells

LEVELS = np.array([0.1, 0.3, 0.5, 0.8])
ROWS = np.array(
    [
        [0.0, 1.0, 2.0, 3.0],
        [0.0, 0.0, 2.0, 3.0],  # the first two are equal
        [0.0, 2.0, 2.0, 2.0],  # the last three are
        [1.0, 1.0, 1.0, 1.0],
    ]
)


def indicators(codes, cells):
    """Below and above of every level, by the rule of the class."""
    lo, hi = cells.ends(codes)
    k = np.arange(1, len(cells.taus) + 1)
    return hi[..., None] < k, lo[..., None] >= k


def naive(y, quantiles):
    return y < quantiles, y > quantiles


@pytest.mark.parametrize("y", [-1.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 9.0])
def test_outcomes_are_below_and_above_as_written(y):
    cells = Quantiles(ROWS, LEVELS).cells
    below, above = indicators(cells.codes(np.full(4, y)), cells)
    for row in range(4):
        for k in range(4):
            assert (below[row, k], above[row, k]) == naive(y, ROWS[row, k]), (row, k)


def test_what_is_drawn_keeps_to_the_sharpest_claims():
    """U above C levels: below the quantiles whose first equal level lies above U, above those whose last lies below."""
    cells = Quantiles(ROWS, LEVELS).cells
    for u in np.concatenate([LEVELS, LEVELS - 1e-9, [0.0, 0.05, 0.2, 0.4, 0.6, 0.9, 1 - 1e-12]]):
        below, above = indicators(cells.draw(np.full((1, 4), u)), cells)
        for row in range(4):
            for k in range(4):
                equal = LEVELS[ROWS[row] == ROWS[row, k]]
                assert below[0, row, k] == (u < equal.min()), (u, row, k)
                assert above[0, row, k] == (u >= equal.max()), (u, row, k)


@pytest.mark.parametrize("law", [stats.norm(), stats.poisson(3), stats.binom(1, 0.3), stats.nbinom(2, 0.4)])
def test_outcomes_claim_no_more_than_their_transform(law):
    """With the true quantiles, the indicators of every outcome are at most those of the uniform number behind it."""
    levels = np.arange(1, 20) / 20
    cells = Quantiles(np.tile(law.ppf(levels), (4000, 1)), levels).cells
    rng = np.random.default_rng(3)
    u, v = rng.random(4000), rng.random(4000)
    y = law.ppf(u).astype(float)
    atom = law.pmf(y) if hasattr(law.dist, "pmf") else np.zeros(4000)
    transform = law.cdf(y) - v * atom  # uniform, and independent of how y was made
    assert stats.kstest(transform, "uniform").pvalue > 0.001
    observed, drawn = indicators(cells.codes(y), cells), indicators(cells.draw(transform[None])[0], cells)
    near = np.abs(transform[:, None] - levels).min(axis=1) < 1e-9
    for side in range(2):
        assert not (observed[side] & ~drawn[side])[~near].any()


def test_cells_have_their_spacings():
    cells = Quantiles(ROWS[:1].repeat(2, 0), LEVELS).cells
    np.testing.assert_allclose(cells.spacings, [0.1, 0.2, 0.2, 0.3, 0.2])
    u = (np.arange(1000) + 0.5) / 1000
    lo, hi = cells.ends(cells.draw(np.stack([u, u], axis=1)))
    np.testing.assert_array_equal(lo, hi)
    np.testing.assert_array_equal(np.bincount(lo[:, 0]), [100, 200, 200, 300, 200])


def test_levels_zero_and_one_rule_out_what_lies_further_than_rounding():
    cells = Quantiles([[0.0, 2.0, 10.0]], [0, 0.5, 1]).cells
    y = np.array([[0.0], [np.nextafter(0, -1)], [10.0], [np.nextafter(10, 11)], [-1e-9], [10.1], [5.0]])
    np.testing.assert_array_equal(cells.impossible(y)[:, 0], [0, 0, 0, 0, 1, 1, 0])
    lo, hi = cells.ends(cells.codes(y))
    np.testing.assert_array_equal(lo[:, 0], hi[:, 0])
    np.testing.assert_array_equal(lo[:, 0], [0, 0, 1, 1, 0, 1, 1])


def test_a_quantile_that_equals_that_of_level_zero_has_nothing_below():
    cells = Quantiles([[0.0, 0.0, 1.0, 1.0]], [0, 0.3, 0.6, 1]).cells
    first, last = cells.groups
    np.testing.assert_array_equal([first[0], last[0]], [[0, 2], [1, 3]])
    codes = cells.draw(np.array([[0.1], [0.4], [0.9]]))
    below, above = indicators(codes, cells)
    np.testing.assert_array_equal(below[:, 0], [[False, True], [False, True], [False, False]])
    np.testing.assert_array_equal(above[:, 0], [[False, False], [True, False], [True, False]])


def test_numbers_of_two_types_are_equal_up_to_the_rounding_of_the_coarser():
    q = np.array([[0.1, 0.7, 1.3]])
    single = Quantiles(q.astype(np.float32), [0.2, 0.5, 0.8]).cells
    assert single.values.dtype == np.float32
    for cells, y in ((single, 0.7), (Quantiles(q, [0.2, 0.5, 0.8]).cells, float(np.float32(0.7)))):
        lo, hi = cells.ends(cells.codes(np.array([y])))
        assert (lo[0], hi[0]) == (1, 2)
    double = Quantiles([[1e6, 1e6 + 1e-4, 1e6 + 2e-4]], [0.2, 0.5, 0.8]).cells
    assert double.between(np.array([1e6 + 1.5e-4])).all()
    big = Quantiles([[16777215.0, 16777217.0]], [0.2, 0.5]).cells
    assert big.between(np.array([16777216.0])).all()  # whole numbers are not rounded


def test_rounded_outcomes_stand_for_an_interval():
    cells = Quantiles(ROWS[:1], LEVELS, resolution=1.0).cells
    lo, hi = cells.ends(cells.codes(np.array([[1.0], [1.4], [1.6], [5.0]])))
    np.testing.assert_array_equal(lo[:, 0], [1, 1, 2, 4])
    np.testing.assert_array_equal(hi[:, 0], [2, 2, 3, 4])
    below, above = indicators(cells.draw(np.array([[0.2]])), cells)  # what is drawn is not rounded
    np.testing.assert_array_equal(below[0, 0], [False, True, True, True])
    np.testing.assert_array_equal(above[0, 0], [True, False, False, False])


def test_one_level_has_two_cells():
    cells = Quantiles([[1.0], [2.0]], [0.05]).cells
    np.testing.assert_array_equal(cells.ends(cells.codes(np.array([0.5, 3.0])))[0], [0, 1])
    assert cells.draw(np.full((1, 2), 0.04)).tolist() == [[0, 0]]


def test_rows_and_codes_are_kept():
    cells = Quantiles(ROWS, LEVELS).cells
    assert isinstance(cells[1:3], QuantileCells)
    np.testing.assert_array_equal(cells[1:3].tied, [True, True])
    codes = cells.codes(np.array([0.5, 0.0, 2.0, 1.0]))
    np.testing.assert_array_equal(cells.codes(codes), codes)
    np.testing.assert_array_equal(cells.between(codes), [True, False, False, False])
