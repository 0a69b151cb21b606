"""Directions that are clear of the observed spread, against one-row-at-a-time arithmetic."""

import numpy as np
import pytest
from scipy.stats import norm

import kernelcal as kc
from kernelcal.statistics.signals.classes import ClassSignals
from kernelcal.statistics.signals.clear import clear_of_zero
from kernelcal.statistics.signals.numbers import NumberSignals


def away(terms, number=1):
    """Whether a sum of terms is away from 0 by its own standard error, at 5 % for so many sums."""
    n, mean = len(terms), sum(terms) / len(terms)
    error = (sum((term - mean) ** 2 for term in terms)) ** 0.5
    return abs(n * mean) > norm.isf(0.025 / number) * error


@pytest.mark.parametrize("number", [1, 4])
def test_the_standard_error_is_that_of_the_rows(number):
    found = []
    for seed in range(300):
        terms = np.random.default_rng(seed).normal(0.2, 1.3, (100, number))
        expected = [away(list(column), number) for column in terms.T]
        found += expected
        assert clear_of_zero(terms.sum(axis=0), (terms**2).sum(axis=0), 100).tolist() == expected
    assert 0.05 < np.mean(found) < 0.6  # both answers occur


def test_terms_without_spread():
    assert clear_of_zero(np.array([3.0, 0.0]), np.array([3.0, 0.0]), 3).tolist() == [True, False]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [2, 3])
def test_counts_of_classes(m, weighted):
    answers = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.ones(m), 60)
        y = kc.Categorical(p**1.5 / (p**1.5).sum(axis=1, keepdims=True)).sample(rng)[0]
        w = rng.uniform(0.5, 2, 60) if weighted else np.ones(60)
        scores = ClassSignals().prepare(kc.Categorical(p), w if weighted else None)
        classes = [1] if m == 2 else range(m)
        answers += [any(away([w[i] * ((y[i] == k) - p[i, k]) for i in range(60)], len(classes)) for k in classes)]
        assert scores.clear("bias", y) == answers[-1]
    assert {True, False} == set(answers)


def test_scores_of_numbers():
    answers = {name: set() for name in NumberSignals().prepare(kc.Normal([0.0], [1.0])).directed}
    for seed in range(80):
        rng = np.random.default_rng(seed)
        mean, std = rng.normal(size=50), rng.uniform(0.5, 3, 50)
        y = (
            mean
            + std * (0.3 + 1.3 * std**0.4 * np.exp(0.2 * mean) * rng.normal(size=50))
            + 0.6 * (std - 1.75)
            + 0.6 * mean
        )
        scores = NumberSignals().prepare(kc.Normal(mean, std))
        z, x = (y - mean) / std, explaining(mean, std)
        rest = z - x @ np.linalg.lstsq(x, z, rcond=None)[0]
        sizes = np.abs(rest) - np.abs(rest).mean()
        terms = [z, rest**2 - 1, z * x[:, 1], z * x[:, 2], sizes * x[:, 1], sizes * x[:, 2]]
        for (name, found), own in zip(answers.items(), terms, strict=True):
            expected = away(list(own), 6)
            assert scores.clear(name, y) == expected
            found.add(expected)
    assert all(found == {True, False} for found in answers.values())


def explaining(mean, std):
    """Ones, and locations and log widths over the distance of their quartiles, less their means."""
    columns = [np.ones(len(mean))]
    for values in (mean, np.log(std)):
        low, high = np.quantile(values, [0.25, 0.75])
        scaled = np.clip((values - np.median(values)) * 1.3489795 / (high - low), -6, 6)
        columns.append(scaled - scaled.mean())
    return np.stack(columns, axis=1)
