"""Cumulative errors: against sums over every interval, published code and Brownian motion."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.measures.cited import CutoffError, KSError, KuiperError


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 15, n) / 16
    return (rng.uniform(size=n) < p**1.5).astype(int), p, rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("seed", range(5))
def test_they_are_the_largest_sums_over_intervals(seed):
    y, p, w = rows(seed=seed)
    values = np.unique(p)
    inside = [w[(p >= a) & (p <= b)] @ (y - p)[(p >= a) & (p <= b)] for a in values for b in values if a <= b]
    below = [w[p <= b] @ (y - p)[p <= b] for b in values]
    for measure, sums in ((CutoffError(), inside), (KuiperError(), inside), (KSError(), below)):
        assert float(measure(y, p, weights=w)) == pytest.approx(np.abs(sums).max() / w.sum(), rel=1e-12)


def test_without_ties_they_are_those_of_the_published_code():
    """codes/calibration.py of facebookresearch/ecevecce, its last lines written out."""
    rng = np.random.default_rng(1)
    s = np.sort(rng.uniform(size=300))
    r = (rng.uniform(size=300) < s).astype(int)
    difference = np.insert(np.cumsum(r) / 300 - np.cumsum(s) / 300, 0, [0])
    assert float(KuiperError()(r, s)) == pytest.approx(np.max(difference) - np.min(difference), rel=1e-12)
    assert float(KSError()(r, s)) == pytest.approx(np.max(np.abs(difference)), rel=1e-12)


def test_the_order_of_equal_predictions_says_nothing():
    y, p, _ = rows(80)
    order = np.random.default_rng(2).permutation(80)
    assert float(KuiperError()(y[order], p[order])) == pytest.approx(float(KuiperError()(y, p)), rel=1e-12)


def test_the_interval_of_predictions_is_told():
    p = np.repeat([0.1, 0.3, 0.5, 0.7], 10)
    y = np.concatenate([[1], np.zeros(9), np.ones(8), np.zeros(2), np.ones(9), [0], np.ones(5), np.zeros(5)])
    found = CutoffError()(y.astype(int), p)
    assert float(found) == pytest.approx((5 + 4) / 40)
    assert found.options["where"] == "more events than predicted at predictions from 0.3 to 0.5"


@pytest.mark.parametrize("seed", range(6))
def test_the_predictions_up_to_the_largest_sum_are_told(seed):
    y, p, w = rows(seed=seed)
    y = 1 - y if seed % 2 else y
    sums = {b: w[p <= b] @ (y - p)[p <= b] for b in np.unique(p)}
    last = max(sums, key=lambda b: abs(sums[b]))
    more = "more" if sums[last] > 0 else "fewer"
    found = KSError()(y, p, weights=w)
    assert found.options["where"] == f"{more} events than predicted at predictions from {p.min():.4g} to {last:.4g}"


def test_p_values_tend_to_those_of_brownian_motion():
    """P(max |B| > x) = 1 - (4 / pi) sum (-1)^k / (2 k + 1) exp(-(2 k + 1)^2 pi^2 / (8 x^2))."""
    rng = np.random.default_rng(3)
    p = rng.uniform(size=2000)
    spread = np.sqrt((p * (1 - p)).sum()) / 2000
    for seed in range(3):
        y = (rng.uniform(size=2000) < p).astype(int)
        x, k = float(KSError()(y, p)) / spread, np.arange(50)
        limit = 1 - 4 / np.pi * ((-1.0) ** k / (2 * k + 1) * np.exp(-((2 * k + 1) ** 2) * np.pi**2 / (8 * x**2))).sum()
        found = kc.calibration_test(y, p, statistic=KSError(), draws=999, early_stopping=False, rng=seed)
        assert found.pvalue == pytest.approx(limit, abs=0.07)
