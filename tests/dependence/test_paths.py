"""Uniform numbers of rows that depend on each other: uniform each, correlated as asked."""

import numpy as np
from scipy.stats import kstest, norm

from kernelcal.dependence import Dependence, SharedPart, Stretches


def test_clusters_share_a_part():
    rows = Dependence.of(5, clusters=[0, 0, 1, 1, 2])
    coupling = SharedPart(rows, 0.6)
    u = coupling(np.random.default_rng(0).random((40_000, coupling.size)))
    assert u.shape == (40_000, 5)
    wanted = np.eye(5)
    wanted[0, 1] = wanted[1, 0] = wanted[2, 3] = wanted[3, 2] = 0.6
    np.testing.assert_allclose(np.corrcoef(norm.ppf(u).T), wanted, atol=0.02)
    assert all(kstest(column, "uniform").pvalue > 1e-3 for column in u.T)


def test_overlapping_forecasts_are_a_path():
    """Two series, one with a gap: correlations by steps, none across series and none from the horizon on."""
    time, series = np.array([0, 1, 2, 4, 0, 1, 2]), np.array([0, 0, 0, 0, 1, 1, 1])
    rows = Dependence.of(7, time=time, horizon=3, series=series)
    coupling = Stretches(rows, np.array([2 / 3, 1 / 3]))
    u = coupling(np.random.default_rng(0).random((40_000, coupling.size)))
    by_lag = np.array([1, 2 / 3, 1 / 3, 0, 0])
    wanted = np.where(series[:, None] == series, by_lag[np.abs(time[:, None] - time)], 0.0)
    np.testing.assert_allclose(np.corrcoef(norm.ppf(u).T), wanted, atol=0.02)
    assert all(kstest(column, "uniform").pvalue > 1e-3 for column in u.T)


def test_correlations_of_no_path_are_brought_near_one():
    rows = Dependence.of(50, horizon=3)
    coupling = Stretches(rows, np.array([0.9, -0.9]))
    u = coupling(np.random.default_rng(0).random((5_000, coupling.size)))
    np.testing.assert_allclose(norm.ppf(u).std(axis=0), 1.0, atol=0.06)
