"""Signals of classes: by matrix products for one probability, by look-ups for several; by loops in this file."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.statistics import ClassSignals
from kernelcal.statistics.signals.classes import Cleared, edges_of, shared_intercepts


def covariance(p):
    return np.diag(p) - np.outer(p, p)


def by_loops(p, y, w):
    """Impossible labels, cleared slope and bias, a row at a time; the slope by least squares on the counts."""
    n, m = p.shape
    logs = np.where(p > 0, np.log(np.where(p > 0, p, 1)), 0)
    among, along, slope = np.zeros((m, m)), np.zeros(m), 0.0
    gaps, variance, impossible = np.zeros(m), np.zeros(m), 0
    for i in range(n):
        v = covariance(p[i])
        among += w[i] ** 2 * v
        along += w[i] ** 2 * v @ logs[i]
        residual = np.eye(m)[y[i]] - p[i]
        slope += w[i] * residual @ logs[i]
        gaps += w[i] * residual
        variance += w[i] ** 2 * np.diag(v)
        impossible += p[i, y[i]] == 0
    slope -= np.linalg.lstsq(among, along, rcond=1e-10)[0] @ gaps
    return impossible, abs(slope), (np.abs(gaps) / np.sqrt(variance + 1)).max()


def binned_by_loops(p, y, w, given):
    """Root of the mean chi-square over partitions."""
    ways = [(0.9, 0.0), (1.1, 0.25)] if p.shape[1] == 2 else [(0.8, 0.5)]
    return np.sqrt(np.mean([chi_square_by_loops(p, y, w, edges_of(p, given, *way)) for way in ways]))


def chi_square_by_loops(p, y, w, edges):
    """Chi-square over bins of the second class of two, or of the probabilities of all."""
    total, columns = 0.0, [1] if p.shape[1] == 2 else range(p.shape[1])
    cells = np.array([[sum(x >= e for e in edges) for x in row] for row in p])
    for b in range(len(edges) + 1):
        gap, variance = 0.0, 0.25
        for i in range(len(p)):
            share = sum(p[i, k] for k in columns if cells[i, k] == b)
            gap += w[i] * (float(y[i] in columns and cells[i, y[i]] == b) - share)
            variance += w[i] ** 2 * share * (1 - share)
        total += gap**2 / variance
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_signals_of_one_probability_are_those_of_two_classes_and_of_loops(weighted):
    rng = np.random.default_rng(0)
    p = np.r_[0.0, 1.0, 1.0, 0.0, rng.uniform(size=46)]
    w = rng.exponential(size=50) if weighted else None
    labels = rng.integers(0, 2, (7, 50))
    both = np.stack([1 - p, p], axis=1)
    one, two = ClassSignals().prepare(kc.Bernoulli(p), w), ClassSignals().prepare(kc.Categorical(both), w)
    np.testing.assert_allclose(one.values(labels), two.values(labels), rtol=1e-10)
    weights = np.ones(50) if w is None else w
    for y, found in zip(labels, one.values(labels), strict=True):
        binned = binned_by_loops(both, y, weights, w)
        np.testing.assert_allclose(found, [*by_loops(both, y, weights), binned], rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_signals_of_several_classes_are_those_of_loops(weighted):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(4, 0.6), 60)
    p[0], p[1] = [0, 0.5, 0.5, 0], [1, 0, 0, 0]
    w = rng.exponential(size=60) if weighted else None
    labels = rng.integers(0, 4, (5, 60))
    found = ClassSignals().prepare(kc.Categorical(p), w).values(labels)
    weights = np.ones(60) if w is None else w
    for y, values in zip(labels, found, strict=True):
        binned = binned_by_loops(p, y, weights, w)
        np.testing.assert_allclose(values, [*by_loops(p, y, weights), binned], rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("m", [2, 5])
def test_the_cleared_slope_is_uncorrelated_with_every_count(m):
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.r_[6.0, np.full(m - 1, 0.5)], 80)
    signals = ClassSignals().prepare(kc.Categorical(p))
    labels = np.stack([(rng.random((80, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1) for _ in range(20_000)])
    slope, counts = signals.slope(labels), signals.counts(labels)
    found = np.corrcoef(slope, counts, rowvar=True) if counts.ndim == 1 else np.corrcoef(slope, counts.T)[0, 1:]
    assert np.abs(found).max() < 4 / np.sqrt(20_000)
    raw = np.log(p)[np.arange(80), labels].sum(axis=1)
    assert np.abs(np.corrcoef(raw, counts.T)[0, 1:]).max() > 0.3
    assert abs(slope.mean()) < 4 * slope.std() / np.sqrt(20_000)


@pytest.mark.parametrize("p", [np.full(40, 0.1), np.full((40, 3), [0.2, 0.3, 0.5]), np.tile([0.0, 1.0], 20)])
def test_predictions_without_a_slope_have_none(p):
    """One and the same prediction, or certain ones: counts tell all, and the slope is 0 in every draw."""
    signals = ClassSignals().prepare(kc.as_predictions(p))
    labels = np.random.default_rng(3).integers(0, 2, (30, 40))
    assert not signals.cleared.varies
    assert (signals.values(labels)[:, 1] == 0).all()
    result = kc.calibration_test(labels[0], p, draws=99)
    assert all("confident" not in words for words in result.directions)
    assert {member.name for member in result.members} <= {"impossible label", "bias", "bins", *signals.names} | {
        member.name for member in result.members if member.name.startswith("kernel")
    }


def test_two_predictions_have_a_slope():
    """Of two different predictions slope and frequency are two things."""
    p = np.repeat([0.2, 0.8], 200)
    rng = np.random.default_rng(4)
    y = (rng.random(400) < np.where(p > 0.5, 0.65, 0.35)).astype(int)
    assert kc.calibration_test(y, p, draws=199).directions[0].startswith("over-confident (slope 0.")


def test_many_classes_share_an_intercept():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(90, 0.2), 300)
    expected = p.sum(axis=0)
    intercepts = shared_intercepts(expected)
    assert np.bincount(intercepts).tolist() == [1] * 63 + [27]
    assert expected[intercepts == 63].max() <= expected[intercepts < 63].min()
    cleared = Cleared.of(kc.Categorical(p), None, expected)
    joined = np.eye(64)[intercepts]
    among = sum(joined.T @ covariance(row) @ joined for row in p)
    along = sum(joined.T @ covariance(row) @ np.log(row) for row in p)
    np.testing.assert_allclose(among @ np.linalg.lstsq(among, along, rcond=1e-10)[0], along, rtol=1e-8, atol=1e-8)
    shift = np.linalg.lstsq(among, along, rcond=1e-10)[0][intercepts]
    centred = cleared.shift - cleared.shift.mean()
    np.testing.assert_allclose(centred, shift - shift.mean(), rtol=1e-6, atol=1e-8)


def test_edges_of_many_rows_see_rows_that_come_in_a_rhythm():
    p = np.full(2**18, 0.5)
    p[1::2] = np.linspace(0.1, 0.9, 2**17)
    assert len(edges_of(np.stack([1 - p, p], axis=1), None, 0.9, 0.0)) == 19


def test_edges_of_bins_by_hand():
    """Places are 1/4 rank and 3/4 width: of 2^5 rows 1.1 (32)^(2/5) = 4.4, four bins."""
    p = np.linspace(0.1, 0.9, 32)
    places = 0.25 * (np.arange(32) + 0.5) / 32 + 0.75 * (p - 0.1) / 0.8
    expected = np.interp([0.25, 0.5, 0.75], places, p)
    np.testing.assert_allclose(edges_of(np.stack([1 - p, p], axis=1), None, 1.1, 0.25), expected, rtol=1e-12)
    rare = np.r_[np.linspace(0.001, 0.02, 999), 0.9]
    counts = np.histogram(rare, [0, *edges_of(np.stack([1 - rare, rare], axis=1), None, 1.1, 0.25), 1])[0]
    assert (counts > 0).sum() >= 5  # one row that is far off does not put all others into one bin
    assert len(edges_of(np.full((50, 2), 0.5), None, 0.9, 0.0)) == 0
    assert len(edges_of(np.array([[0.0, 1.0], [1.0, 0.0]]), None, 0.9, 0.0)) == 0


def test_logits_keep_what_probabilities_round_away():
    """Logit 750: the probability of class 0 is 0 and its logarithm is not; it counts in the slope."""
    logits = np.r_[np.linspace(-3, 3, 60), 750.0]
    labels = np.r_[(np.random.default_rng(6).random(60) < 0.5).astype(int), 0]
    signals = ClassSignals().prepare(kc.Bernoulli.from_logits(logits))
    pair = np.stack([np.zeros(61), logits], axis=1)
    both = ClassSignals().prepare(kc.Categorical.from_logits(pair))
    np.testing.assert_allclose(signals.values(labels[None]), both.values(labels[None]), rtol=1e-9)
    assert signals.values(labels[None])[0, 0] == 0
    assert signals.slope(labels[None])[0] < -700
    assert signals.words.fit(labels).slope < 0.5
