"""Energy and variogram score beside naive sums, values of scoringrules, quadrature and closed forms."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma
from scipy.stats import norm

import kernelcal as kc
from kernelcal.statistics.vectors import (
    energy_score,
    energy_score_rows,
    variogram_score,
    variogram_score_rows,
)

COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.5]])

# scoringrules 0.10.0: es_ensemble and vs_ensemble of y[i, k] = sin(i + 2 k), x[i, s, k] = cos(i + s k + s) with weights
# 1, 2, 3, 4; made by the lines of `published`
ENERGY = [0.82120678800204, 1.1693769964596819]
FAIR = [0.525295646755479, 0.9399106480393474]
WEIGHTED = [0.7756290079390671, 1.275735607304437]
VARIOGRAM = [0.5815664122813574, 1.580564644612997]


def published():
    i, s, k = np.arange(2)[:, None, None], np.arange(4)[None, :, None], np.arange(3)[None, None]
    return np.sin(i[:, 0] + 2 * k[:, 0]), np.cos(i + s * k + s), np.broadcast_to(np.arange(1.0, 5.0), (2, 4))


def ensemble(n=6, size=7, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, size, d)), rng.uniform(0.1, 1, (n, size))


def naive_energy(y, x, w, fair):
    first = sum(a * np.sqrt(((v - y) ** 2).sum()) for a, v in zip(w, x, strict=True))
    pairs = list(itertools.product(range(len(x)), repeat=2))
    second = sum(w[s] * w[t] * np.sqrt(((x[s] - x[t]) ** 2).sum()) for s, t in pairs)
    different = sum(w[s] * w[t] for s, t in pairs if s != t)
    return first - 0.5 * second / (different if fair else 1)


def naive_variogram(y, x, w, p):
    total = 0.0
    for i, j in itertools.product(range(len(y)), repeat=2):
        expected = sum(a * abs(v[i] - v[j]) ** p for a, v in zip(w, x, strict=True))
        total += (abs(y[i] - y[j]) ** p - expected) ** 2
    return total


@pytest.mark.parametrize("fair", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_energy_score_of_draws_is_the_sum_over_all_pairs(fair, weighted):
    y, x, w = ensemble()
    shares = (w if weighted else np.ones_like(w)) / (w if weighted else np.ones_like(w)).sum(axis=1, keepdims=True)
    found = energy_score_rows(y, kc.Samples(x, weights=w if weighted else None), fair=fair)
    expected = [naive_energy(*row, fair) for row in zip(y, x, shares, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0])
def test_variogram_score_of_draws_is_the_sum_over_all_pairs_of_components(order):
    y, x, w = ensemble()
    shares = w / w.sum(axis=1, keepdims=True)
    found = variogram_score_rows(y, kc.Samples(x, weights=w), order=order)
    expected = [naive_variogram(*row, order) for row in zip(y, x, shares, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_scores_are_those_of_scoringrules():
    y, x, w = published()
    np.testing.assert_allclose(energy_score_rows(y, kc.Samples(x)), ENERGY, rtol=1e-12)
    np.testing.assert_allclose(energy_score_rows(y, kc.Samples(x), fair=True), FAIR, rtol=1e-12)
    np.testing.assert_allclose(energy_score_rows(y, kc.Samples(x, weights=w)), WEIGHTED, rtol=1e-12)
    np.testing.assert_allclose(variogram_score_rows(y, kc.Samples(x)), VARIOGRAM, rtol=1e-12)


def test_energy_score_of_isotropic_normals_has_a_closed_form():
    length = np.sqrt(2) * gamma(2) / gamma(1.5)  # E|Z| in three dimensions
    found = energy_score([[0.0, 0.0, 0.0]], kc.MultivariateNormal([[0.0, 0.0, 0.0]], 4 * np.eye(3)))
    assert found == pytest.approx(2 * length * (1 - np.sqrt(0.5)), rel=1e-12)


def test_energy_score_of_one_component_is_the_crps():
    normals = [kc.MultivariateNormal([[m]], [[v]]) for m, v in ((0.3, 2.0), (-1.0, 0.5))]
    numbers = [kc.Normal([m], [np.sqrt(v)]) for m, v in ((0.3, 2.0), (-1.0, 0.5))]
    assert energy_score([[1.1]], normals[0]) == pytest.approx(kc.crps([1.1], numbers[0]), rel=1e-12)
    vectors, mixture = kc.Mixture([0.3, 0.7], normals), kc.Mixture([0.3, 0.7], numbers)
    assert energy_score([[1.1]], vectors) == pytest.approx(kc.crps([1.1], mixture), rel=1e-12)
    assert energy_score([1.1], numbers[0]) == kc.crps([1.1], numbers[0])


@pytest.mark.slow
def test_scores_of_normals_are_those_of_many_draws():
    y, _, _ = ensemble()
    law = kc.MultivariateNormal(np.zeros((6, 3)), COVARIANCE)
    draws = kc.Samples(np.moveaxis(law.sample(1, 1500), 0, 1))
    assert energy_score(y, law) == pytest.approx(energy_score(y, draws, fair=True), abs=0.03)
    assert variogram_score(y, law) == pytest.approx(variogram_score(y, draws), abs=0.05)
    independent = kc.MultivariateNormal.diagonal(np.zeros((6, 3)), np.sqrt(np.diag(COVARIANCE)) * np.ones((6, 3)))
    same = kc.MultivariateNormal(np.zeros((6, 3)), np.diag(np.diag(COVARIANCE)))
    assert energy_score(y, independent) == pytest.approx(energy_score(y, same), rel=1e-12)


@pytest.mark.parametrize("order", [0.5, 1.3])
@pytest.mark.parametrize("mean", [0.0, 0.5, 3.0, 8.9, 9.1, 30.0])
def test_variogram_of_normals_is_an_integral(mean, order):
    law = kc.MultivariateNormal([[mean, 0.0]], 0.5 * np.eye(2))  # the difference has variance 1
    moment = quad(lambda z: abs(mean + z) ** order * norm.pdf(z), -12, 12, points=[-min(mean, 11)], epsabs=1e-13)[0]
    assert variogram_score([[0.0, 0.0]], law, order=order) == pytest.approx(2 * moment**2, rel=1e-10)


def test_weights_are_those_of_a_mean():
    y, x, _ = ensemble()
    w = np.array([0.0, 1, 2, 3, 0, 1])
    expected = np.average(energy_score_rows(y, kc.Samples(x)), weights=w)
    assert energy_score(y, kc.Samples(x), weights=w) == pytest.approx(expected)


def test_far_and_degenerate_normals():
    assert energy_score([[0.0, 0.0]], kc.MultivariateNormal([[1e8, 0.0]], np.eye(2))) == pytest.approx(1e8, rel=1e-7)
    flat = kc.MultivariateNormal([[0.0, 0.0]], np.diag([1.0, 1e-12]))
    assert energy_score([[0.0, 0.0]], flat) == pytest.approx(kc.crps([0.0], kc.Normal([0.0], [1.0])), abs=1e-9)


@pytest.mark.parametrize(
    ("score", "y", "predictions", "options", "words"),
    [
        (
            energy_score,
            [[0.0, 0.0]],
            kc.MultivariateNormal([[0.0, 0.0]], np.eye(2)),
            {"fair": True},
            "fair=True is for",
        ),
        (energy_score, [[0.5, 0.5]], kc.Dirichlet([[1.0, 1.0]]), {}, "draw from the predictions"),
        (energy_score, [[0.0, 0.0]], kc.Samples([[[1.0, 2.0]]]), {"fair": True}, "row 0 has one"),
        (variogram_score, [[0.0, 0.0]], kc.Samples([[[1.0, 2.0]]]), {"order": 0}, "order must be a positive number"),
        (variogram_score, [0.0], kc.Normal([0.0], [1.0]), {}, "kernelcal.statistics.crps"),
    ],
)
def test_messages_cure(score, y, predictions, options, words):
    with pytest.raises(kc.InputError, match=words):
        score(y, predictions, **options)
