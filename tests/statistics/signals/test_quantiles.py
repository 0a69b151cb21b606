"""Signals of quantile forecasts against sums over indicators, row by row."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from kernelcal import Quantiles
from kernelcal.statistics import QuantileSignals
from kernelcal.statistics.signals import CellScores, skewed

LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def forecasts(n, seed, tied):
    rng = np.random.default_rng(seed)
    if tied:
        rate = np.exp(rng.normal(1.0, 0.5, n))
        return rng.poisson(rate).astype(float), Quantiles(stats.poisson.ppf(LEVELS, rate[:, None]), LEVELS)
    loc, scale = rng.normal(size=n), np.exp(rng.normal(0, 0.4, n))
    return loc + scale * rng.normal(size=n), Quantiles(loc[:, None] + scale[:, None] * stats.norm.ppf(LEVELS), LEVELS)


@cache
def _normal_scores(levels):
    """Mean of Z and of Z^2 - 1 in each cell, by quadrature; the second less its regression on the first."""
    levels = np.array(levels)
    edges = np.concatenate([[-np.inf], stats.norm.ppf(levels), [np.inf]])
    mass = np.diff(levels, prepend=0, append=1)
    pairs = list(pairwise(edges))
    z = np.array([stats.norm.expect(lambda x: x, lb=a, ub=b) for a, b in pairs]) / mass
    v = np.array([stats.norm.expect(lambda x: x * x - 1, lb=a, ub=b) for a, b in pairs]) / mass
    z = z / np.sqrt(mass @ z**2)
    v = v - (mass @ (v * z)) * z
    return z, v / np.sqrt(mass @ v**2)


def normal_scores(levels):
    return _normal_scores(tuple(levels))


def naive_row(y, q, levels):
    """High, low, narrow and wide of one row, before their means are taken off."""
    z, v = normal_scores(levels)
    dz, dv = np.diff(z), np.diff(v)
    above, below = y > q, y < q
    out, into = np.maximum(dv, 0), np.maximum(-dv, 0)
    return np.array([dz @ above, dz @ below, out @ above + into @ below, out @ below + into @ above])


def naive_mean(q, levels):
    """Means of the same under the sharpest claims, by a fine grid of U."""
    z, v = normal_scores(levels)
    dz, dv = np.diff(z), np.diff(v)
    first = np.array([levels[q == x].min() for x in q])
    last = np.array([levels[q == x].max() for x in q])
    out, into = np.maximum(dv, 0), np.maximum(-dv, 0)
    above, below = 1 - last, first
    return np.array([dz @ above, dz @ below, out @ above + into @ below, out @ below + into @ above])


@pytest.mark.parametrize("tied", [False, True])
def test_scores_of_rows(tied):
    y, batch = forecasts(40, 1, tied)
    scores = CellScores(batch.cells)
    found = scores.table[:, scores.codes(y)].T - scores.mean
    expected = [
        naive_row(a, q, LEVELS) - naive_mean(q, LEVELS) for a, q in zip(y, np.asarray(batch.values), strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_scores_without_ties_have_unit_variance_and_mirrors():
    scores = CellScores(forecasts(3, 1, tied=False)[1].cells)
    np.testing.assert_allclose(
        scores.covariance[0], [[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, -1, 1]], atol=1e-12
    )


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_standardised_sums(tied, weighted):
    y, batch = forecasts(60, 2, tied)
    weights = np.random.default_rng(5).uniform(0, 2, 60) if weighted else None
    w = np.ones(60) if weights is None else weights
    prepared = QuantileSignals().prepare(batch, weights)
    found = dict(zip(prepared.names, prepared.values(y[None])[0], strict=True))
    q = np.asarray(batch.values)
    rows = np.array([naive_row(a, b, LEVELS) - naive_mean(b, LEVELS) for a, b in zip(y, q, strict=True)])
    spread = np.sqrt(np.broadcast_to(np.diagonal(prepared.scores.covariance, axis1=1, axis2=2), rows.shape).T @ w**2)
    for k, name in enumerate(("high", "low", "narrow", "wide")):
        assert found[name] == pytest.approx(w @ rows[:, k] / spread[k], abs=1e-6)
    ranks = stats.rankdata(np.round(np.log(np.maximum(q[:, -1] - q[:, 0], 1e-300)), 6))
    s = stats.norm.ppf((ranks - 0.5) / 60)
    assert found["high in wide rows"] == pytest.approx(_standardised(w, s, rows, prepared, 0, 1), abs=1e-6)
    assert found["narrow in wide rows"] == pytest.approx(_standardised(w, s, rows, prepared, 2, 3), abs=1e-6)
    first = np.array([[LEVELS[row == x].min() for x in row] for row in q])
    tails = [stats.binom.sf(round((y < q[:, k]).sum()) - 1, 60, first[:, k].mean()) for k in range(len(LEVELS))]
    if not weighted:
        expected = max(-stats.norm.ppf(1 - (1 - min(tails)) ** len(LEVELS)), -9.0)
        assert found["levels below"] == pytest.approx(expected, abs=1e-6)


def _standardised(w, s, rows, prepared, own, mirror):
    up, down = np.maximum(s, 0), np.maximum(-s, 0)
    variances = np.broadcast_to(np.diagonal(prepared.scores.covariance, axis1=1, axis2=2), rows.shape)
    variance = (w * up) ** 2 @ variances[:, own] + (w * down) ** 2 @ variances[:, mirror]
    return (w * up) @ rows[:, own] / np.sqrt(variance) + (w * down) @ rows[:, mirror] / np.sqrt(variance)


def test_cells_without_ties_are_the_chi_square_statistic():
    y, batch = forecasts(200, 3, tied=False)
    prepared = QuantileSignals().prepare(batch)
    counts = np.bincount((np.asarray(batch.values) < y[:, None]).sum(axis=1), minlength=6)
    chi = stats.chisquare(counts, 200 * np.diff(LEVELS, prepend=0, append=1)).statistic
    assert prepared.values(y[None])[0, prepared.names.index("cells")] == pytest.approx(skewed(np.array(chi), 5, 10))


@pytest.mark.parametrize("tied", [False, True])
def test_nothing_decreases_in_a_claim(tied):
    """Outcomes moved further up, past quantiles, never lower what speaks for high; exactness rests on it."""
    y, batch = forecasts(30, 4, tied)
    prepared, cells = QuantileSignals().prepare(batch), batch.cells
    lo, hi = cells.ends(cells.codes(y))
    base = prepared.values(cells.codes(y)[None])[0]
    for row in range(30):
        for wider in ((max(lo[row] - 1, 0), hi[row]), (lo[row], min(hi[row] + 1, len(LEVELS)))):
            codes = cells.codes(y).copy()
            codes[row] = wider[0] * (len(LEVELS) + 1) + wider[1]  # fewer indicators are 1
            assert (prepared.values(codes[None])[0] <= base + 1e-9).all()


def test_words():
    y, batch = forecasts(300, 6, tied=False)
    prepared = QuantileSignals().prepare(batch)
    up = y + 0.5
    assert prepared.sentence("high", up) == "outcomes lie above the quantiles more often than claimed"
    assert prepared.clear("high", up)
    assert not prepared.clear("high", y)
    share = 100 * np.mean(up <= np.asarray(batch.values)[:, 1])
    found = prepared.sentence("levels above", up)
    assert found.startswith("at level 0.")
    assert found.endswith("% was claimed")
    assert "lie at or below; at least" in found
    assert prepared.sentence("high in wide rows", up) == (
        "outcomes lie above the quantiles more often than claimed in rows with wide intervals than in rows with narrow "
        "ones"
    )
    assert share < 25
    narrow = np.asarray(batch.values)[:, 2] + 3 * (y - np.asarray(batch.values)[:, 2])
    assert "lie" in prepared.sentence("cells", narrow)
    below = prepared.sentence("levels below", narrow)
    assert "lie strictly below; at most" in below


def test_one_level_has_no_widths():
    y, batch = forecasts(50, 7, tied=False)
    one = Quantiles(np.asarray(batch.values)[:, :1], [0.1])
    prepared = QuantileSignals().prepare(one)
    assert prepared.names == (
        "high",
        "low",
        "high in high rows",
        "low in high rows",
        "levels below",
        "levels above",
        "cells",
    )
    assert np.isfinite(prepared.values(y[None])).all()
