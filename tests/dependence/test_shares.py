"""Means and shares of rows that depend on each other: loops, and coverage by simulation."""

import numpy as np
import pytest
from scipy.stats import beta, binom, binomtest, norm, t

from kernelcal.dependence import Dependence, binomial_interval, bounded_interval, errors_aside, mean_law, share_interval


def moving(rng, n, h):
    e = rng.normal(size=n + h)
    return np.convolve(e, np.ones(h), "valid")[:n] / np.sqrt(h)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (5, 5), (3, 17), (50, 51), (400, 1000)])
def test_binomial_intervals_agree_with_scipy(k, n):
    expected = binomtest(k, n).proportion_ci(0.9, method="exact")
    assert binomial_interval(np.array([k]), n, 0.9) == (pytest.approx([expected.low]), pytest.approx([expected.high]))


@pytest.mark.parametrize("k", [0.4, 2.5, 6.7])
def test_binomial_intervals_interpolate_numbers_of_successes_and_know_nothing_without_rows(k):
    low, high = binomial_interval(np.array([k, 0.0]), np.array([7, 0]), 0.9)
    assert low == pytest.approx([beta.ppf(0.05, k, 8 - k), np.nan], nan_ok=True)
    assert high == pytest.approx([beta.ppf(0.95, k + 1, 7 - k), np.nan], nan_ok=True)


def test_shares_of_rows_that_do_not_depend_are_those_of_clopper_and_pearson():
    hit = np.random.default_rng(0).random((3, 40)) < [[0.0], [0.3], [1.0]]
    for rows in (None, Dependence.of(40, horizon=1)):
        np.testing.assert_array_equal(share_interval(hit, rows, 0.9), binomial_interval(hit.sum(axis=1), 40, 0.9))
    values = hit[1].astype(float)
    one_step = bounded_interval(values, (0.0, 1.0), Dependence.of(40, horizon=1), 0.9)
    assert one_step == bounded_interval(values, (0.0, 1.0), None, 0.9)


def test_errors_aside_are_normal_without_a_law_and_those_of_student_for_clusters():
    assert errors_aside(0.9) == pytest.approx(norm.isf(0.05), rel=1e-12)
    law = mean_law(Dependence.of(20, clusters=np.repeat(np.arange(5), 4)))
    assert errors_aside(0.9, law) == pytest.approx(t.isf(0.05, 4), rel=1e-5)


def test_shares_count_like_as_many_rows_as_have_the_same_error():
    rng = np.random.default_rng(0)
    of = np.repeat(np.arange(30), 5)
    hit = (rng.normal(size=30)[of] + rng.normal(size=150) > 0.5)[None]
    rows, law = Dependence.of(150, clusters=of), mean_law(Dependence.of(150, clusters=of))
    share = hit.mean()
    count = share * (1 - share) / law.error(hit[0].astype(float)) ** 2 * (t.isf(0.025, 149) / t.isf(0.025, 29)) ** 2
    ends = (
        beta.ppf(0.025, share * count, count * (1 - share) + 1),
        beta.ppf(0.975, share * count + 1, count * (1 - share)),
    )
    assert np.ravel(share_interval(hit, rows, 0.95)) == pytest.approx(ends, rel=1e-4)


def test_means_of_bounded_numbers_are_those_of_agresti_and_coull():
    hit, z = np.array([1.0] * 3 + [0.0] * 37), norm.isf(0.025)
    share = (3 + z**2 / 2) / (40 + z**2)
    half = z * np.sqrt(share * (1 - share) / (40 + z**2))
    ends = bounded_interval(hit, (0.0, 1.0), None, 0.95)
    assert ends == pytest.approx((max(share - half, 0), share + half))
    alone = Dependence.of(40, clusters=np.arange(40))
    of_clusters = bounded_interval(hit, (0.0, 1.0), alone, 0.95)
    assert ends[1] < of_clusters[1] < 1.05 * ends[1]
    none = np.zeros(40)
    few = bounded_interval(none, (0.0, 1.0), Dependence.of(40, clusters=np.arange(40) // 4), 0.95)
    assert few[0] == 0
    assert few[1] > 2 * bounded_interval(none, (0.0, 1.0), None, 0.95)[1]  # as of ten rows


def test_means_of_bounded_numbers_in_unequal_clusters_by_the_formula():
    sizes = np.array([1, 1, 2, 3, 5, 8, 4, 6])
    rows = Dependence.of(30, clusters=np.repeat(np.arange(8), sizes))
    values = np.random.default_rng(3).uniform(-0.4, 0.6, 30)
    law, m = mean_law(rows), 30**2 / (sizes**2).sum()
    z = law.quantile(0.9)
    middle = (m * values.mean() + z**2 * (-0.4 + 0.6) / 2) / (m + z**2)
    ends = z**2 / 2 * ((-0.4 - middle) ** 2 + (0.6 - middle) ** 2)
    half = z * np.sqrt((m * law.error(values)) ** 2 + m * (values.mean() - middle) ** 2 + ends) / (m + z**2)
    found = bounded_interval(values, (-0.4, 0.6), rows, 0.9)
    assert found == pytest.approx((max(middle - half, -0.4), min(middle + half, 0.6)))


def test_what_is_alike_has_intervals_where_they_are_known():
    rows = Dependence.of(40, clusters=np.arange(40) // 4)
    assert mean_law(rows).interval(np.ones(40), 0.95) == (1.0, 1.0)
    low, high = share_interval(np.array([np.ones(40), np.zeros(40)]), rows, 0.95)
    assert high[0] == 1
    assert low[1] == 0
    assert low[0] == pytest.approx(1 - high[1])
    assert 0.5 < low[0] < 0.8  # as of ten rows, not of forty
    one = Dependence(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64), np.arange(4))
    assert np.isnan(share_interval(np.eye(4)[:1], one, 0.95)[0]).all()
    assert np.isnan(bounded_interval(np.eye(4)[0], (0.0, 1.0), one, 0.95)).all()
    assert np.isnan(mean_law(one).interval(np.eye(4)[0], 0.95)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        "clusters",
        *(pytest.param(how, marks=pytest.mark.slow) for how in ("unequal clusters", "four steps", "twelve steps")),
    ],
)
def test_coverage_of_means_and_shares(how):
    sets, inside, shares = 400, 0, 0
    for seed in range(sets):
        rng = np.random.default_rng([3, seed])
        if how.endswith("clusters"):
            of = np.repeat(np.arange(40), 6 if how == "clusters" else rng.integers(1, 12, 40))
            values = np.sqrt(0.5) * rng.normal(size=40)[of] + np.sqrt(0.5) * rng.normal(size=len(of))
            rows = Dependence.of(len(of), clusters=of)
        else:
            h = 4 if how == "four steps" else 12
            values, rows = moving(rng, 360, h), Dependence.of(360, horizon=h)
        low, high = mean_law(rows).interval(values, 0.95)
        inside += low <= 0 <= high
        low, high = share_interval((values > 0.8)[None], rows, 0.95)
        shares += bool(low[0] <= 0.21185539858339666 <= high[0])
    least = binom.ppf(0.0005, sets, 0.93)
    assert inside >= least
    assert shares >= least
