"""Continuous ranked probability scores against quadrature, plain loops and values by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from kernelcal.errors import InputError
from kernelcal.predictions import (
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    RealPredictions,
    Samples,
)
from kernelcal.predictions.real import crps_by_quadrature
from kernelcal.statistics.scores.numbers import coordinate, crps, crps_rows


def by_quadrature(predictions, y, places):
    """Integral of (F(x) - 1[y <= x])^2 over each row, adaptively, between given places."""
    result = []
    for i, target in enumerate(y):
        row = predictions[i : i + 1]
        ends = np.unique([*places, target])
        square = lambda x, row=row, target=target: (float(row.cdf(np.array([x]))[0]) - (target <= x)) ** 2  # noqa: E731
        parts = [integrate.quad(square, a, b, limit=200, epsabs=1e-13)[0] for a, b in itertools.pairwise(ends)]
        result.append(sum(parts))
    return np.array(result)


def by_loops(draws, y, weights=None, fair=False):
    weights = np.ones_like(draws) if weights is None else weights
    result = []
    for x, target, w in zip(draws, y, weights, strict=True):
        w = w / w.sum()
        distance = sum(a * abs(b - target) for a, b in zip(w, x, strict=True))
        pairs = sum(w[j] * w[k] * abs(x[j] - x[k]) for j in range(len(x)) for k in range(len(x)))
        norm = sum(w[j] * w[k] for j in range(len(x)) for k in range(len(x)) if j != k) if fair else 1.0
        result.append(distance - pairs / norm / 2)
    return np.array(result)


LEVELS = [0.1, 0.3, 0.5, 0.9]
VALUES = [[-1.0, 0.0, 0.5, 2.0], [0.0, 0.0, 0.0, 3.0], [1.0, 1.5, 1.5, 2.5], [-3.0, 0.1, 2.0, 2.0]]
MEAN, STD = np.array([0.0, 1.0, -2.0, 0.5]), np.array([1.0, 0.3, 2.0, 5.0])
CONTINUOUS = {
    "normal": Normal(MEAN, STD),
    "laplace": Laplace(MEAN, STD),
    "mixture of normals": Mixture([0.2, 0.3, 0.5], [Normal(MEAN, STD), Normal(MEAN + 1, 1.0), Normal(-MEAN, 0.1)]),
    "mixture of families": Mixture([0.4, 0.6], [Normal(MEAN, STD), Laplace(MEAN - 1, 0.2)]),
    "mixture with draws": Mixture(None, [Normal(MEAN, STD), Samples(VALUES)]),
    "mixture of mixtures": Mixture(
        None, [Mixture(None, [Normal(MEAN, STD), Laplace(MEAN, 1.0)]), Quantiles(VALUES, LEVELS)]
    ),
    "quantiles": Quantiles(VALUES, LEVELS),
    "quantiles, linear tails": Quantiles(VALUES, LEVELS, tails="linear"),
    "samples": Samples(VALUES),
}


@pytest.mark.parametrize("y", [[0.3, 1.0, 1.5, 2.0], [-9.0, 0.0, -2.5, 2.2], [4.0, 5.0, 2.49, -4.0]])
@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.quick_cases(3)
def test_against_adaptive_quadrature(name, y):
    places = np.array([-250, -60, -20, -8, -4, -3, -2, -1, -0.5, 0, 0.1, 0.5, 1, 1.5, 2, 2.5, 3, 5, 9, 25, 60, 250.0])
    expected = by_quadrature(CONTINUOUS[name], y, places)
    assert crps_rows(y, CONTINUOUS[name]) == pytest.approx(expected, rel=2e-8)


def test_values_by_hand():
    assert crps_rows([0.0], Normal([0.0], [1.0]))[0] == pytest.approx(
        (math.sqrt(2) - 1) / math.sqrt(math.pi), rel=1e-14
    )
    assert crps([0.0], Normal([0.0], [1.0])) == pytest.approx(0.2336949772551092, rel=1e-13)
    assert crps([1.0], Laplace([1.0], [2.0])) == pytest.approx(0.5)  # 2 (1 - 3/4)
    assert crps([0.5], Quantiles([[0.0, 1.0]], [0.0, 1.0])) == pytest.approx(1 / 12)  # uniform
    assert crps([1.0], Samples([[0.0, 2.0]])) == pytest.approx(0.5)
    assert crps([1.0], Samples([[0.0, 2.0]]), fair=True) == pytest.approx(0.0, abs=1e-15)
    assert crps([3.0], Samples([[1.0]])) == 2.0
    assert crps([4.0], Poisson([0.0])) == pytest.approx(4.0)
    assert crps([4.0], NegativeBinomial([0.0], 2.0)) == pytest.approx(4.0)
    # geometric with p = 1/2 at 0: sum over k of (1 - F(k))^2 = sum 4^-(k+1) = 1/3
    assert crps([0.0], NegativeBinomial.from_probability(1.0, [0.5])) == pytest.approx(1 / 3, rel=1e-12)


@pytest.mark.parametrize("mean", [0.01, 1.0, 7.3, 60.0, 1000.0])
@pytest.mark.parametrize("size", [0.2, 1.0, 5.5, 300.0, None])
def test_counts_against_plain_sums(mean, size):
    y = np.floor(np.array([0.0, 1.0, mean / 3, mean, 2 * mean + 3]))
    law = stats.poisson(mean) if size is None else stats.nbinom(size, size / (size + mean))
    batch = Poisson(np.full(5, mean)) if size is None else NegativeBinomial(np.full(5, mean), size)
    k = np.arange(max(int(law.isf(1e-13)) + 1, int(y.max()) + 1))
    expected = [((law.cdf(k) - (target <= k)) ** 2).sum() for target in y]
    assert crps_rows(y, batch) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("mean", [0.01, 1.0, 30.0, 1000.0])
def test_a_negative_binomial_of_large_size_is_poisson(mean):
    y = np.floor(np.array([0.0, mean / 3, 2 * mean + 3]))
    nearly = crps_rows(y, NegativeBinomial(np.full(3, mean), 1e13))
    assert nearly == pytest.approx(crps_rows(y, Poisson(np.full(3, mean))), rel=1e-9)


def test_mixtures_of_counts():
    y = np.array([0.0, 3.0, 40.0])
    parts = [Poisson([1.0, 2.0, 3.0]), NegativeBinomial([10.0, 5.0, 30.0], 2.0)]
    laws = [stats.poisson([[1.0], [2.0], [3.0]]), stats.nbinom(2, 2 / (2 + np.array([[10.0], [5.0], [30.0]])))]
    k = np.arange(2000)
    cdf = 0.3 * laws[0].cdf(k) + 0.7 * laws[1].cdf(k)
    expected = ((cdf - (y[:, None] <= k)) ** 2).sum(axis=1)
    assert crps_rows(y, Mixture([0.3, 0.7], parts)) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("fair", [False, True])
def test_draws_against_plain_loops(fair):
    rng = np.random.default_rng(0)
    draws, y, weights = rng.normal(size=(20, 7)).round(1), rng.normal(size=20).round(1), rng.exponential(size=(20, 7))
    weights[:10, 4:] = 0.0
    plain, weighted = Samples(draws), Samples(draws, weights)
    assert crps_rows(y, plain, fair=fair) == pytest.approx(by_loops(draws, y, fair=fair), abs=1e-13)
    assert crps_rows(y, weighted, fair=fair) == pytest.approx(by_loops(draws, y, weights, fair), abs=1e-13)
    few = Samples(draws[:10, :4], weights[:10, :4])
    assert crps_rows(y, weighted, fair=fair)[:10] == pytest.approx(crps_rows(y[:10], few, fair=fair), abs=1e-14)


def test_fair_is_unbiased_for_the_law_of_the_draws():
    rng = np.random.default_rng(1)
    n, y = 40_000, 0.7
    draws = Samples(rng.normal(size=(n, 3)))
    target = crps([y], Normal([0.0], [1.0]))
    fair, plain = (crps_rows(np.full(n, y), draws, fair=flag) for flag in (True, False))
    assert abs(fair.mean() - target) < 4 * fair.std() / math.sqrt(n)
    assert abs(plain.mean() - target) > 20 * plain.std() / math.sqrt(n)


def test_the_expected_score_of_a_true_prediction_is_half_its_spread():
    # E CRPS(F, Y) = E|Y - Y'| / 2 for Y ~ F: by Gauss-Hermite, sigma / sqrt(pi)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    scores = crps_rows(1 + 2 * nodes, Normal(np.full(80, 1.0), 2.0))
    assert scores @ weights / weights.sum() == pytest.approx(2 / math.sqrt(math.pi), rel=1e-4)


def test_a_component_of_weight_zero_says_nothing():
    y = np.array([0.3, 1.0, 1.5, 2.0])
    mixture = Mixture([1.0, 0.0], [Normal(MEAN, STD), Normal(MEAN + 50, 9.0)])
    assert crps_rows(y, mixture) == pytest.approx(crps_rows(y, Normal(MEAN, STD)), rel=1e-12)
    other = Mixture([1.0, 0.0], [Normal(MEAN, STD), Laplace(MEAN + 50, 9.0)])
    assert crps_rows(y, other) == pytest.approx(crps_rows(y, Normal(MEAN, STD)), rel=1e-9)


def test_quadrature_is_made_in_parts_without_a_difference(monkeypatch):
    batch, y = CONTINUOUS["mixture of families"], np.array([0.3, 1.0, 1.5, 2.0])
    whole = crps_by_quadrature(batch, y)
    monkeypatch.setattr("kernelcal.predictions.real._VALUES", 1)
    assert crps_by_quadrature(batch, y) == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize("name", ["normal", "laplace", "mixture of normals", "mixture of families", "samples"])
def test_narrow_predictions_tend_to_the_absolute_error(name):
    y = np.array([3.0, -1.0])
    narrow = {
        "normal": Normal([0.0, 1.0], 1e-9),
        "laplace": Laplace([0.0, 1.0], 1e-9),
        "mixture of normals": Mixture(None, [Normal([0.0, 1.0], 1e-9), Normal([0.0, 1.0], 1e-8)]),
        "mixture of families": Mixture(None, [Normal([0.0, 1.0], 1e-9), Laplace([0.0, 1.0], 1e-8)]),
        "samples": Samples([[0.0, 1e-9], [1.0, 1.0]]),
    }[name]
    assert crps_rows(y, narrow) == pytest.approx([3.0, 2.0], abs=1e-7)


def test_vectors_are_scored_by_coordinates():
    rng = np.random.default_rng(2)
    mean, y, root = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 3, 3))
    cov = root @ np.swapaxes(root, 1, 2) + np.eye(3)
    std = np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
    expected = np.mean([crps_rows(y[:, k], Normal(mean[:, k], std[:, k])) for k in range(3)], axis=0)
    assert crps_rows(y, MultivariateNormal(mean, cov)) == pytest.approx(expected, rel=1e-12)
    assert crps_rows(y, DiagonalNormal(mean, std)) == pytest.approx(expected, rel=1e-12)
    isotropic = IsotropicNormal(mean, std[:, 0])
    assert crps_rows(y, Mixture([0.0, 1.0], [isotropic, DiagonalNormal(mean, std)])) == pytest.approx(
        expected, rel=1e-12
    )
    assert coordinate(isotropic, 2).std == pytest.approx(std[:, 0])
    draws = rng.normal(size=(5, 6, 3))
    by_draws = np.mean([by_loops(draws[..., k], y[:, k]) for k in range(3)], axis=0)
    assert crps_rows(y, Samples(draws)) == pytest.approx(by_draws, abs=1e-13)


def test_weights_and_units():
    y, batch = [0.0, 3.0], Normal([0.0, 1.0], [1.0, 2.0])
    rows = crps_rows(y, batch)
    assert crps(y, batch) == pytest.approx(rows.mean())
    assert crps(y, batch, weights=[1.0, 3.0]) == pytest.approx((rows[0] + 3 * rows[1]) / 4)
    assert crps([0.0, 30.0], Normal([0.0, 10.0], [10.0, 20.0])) == pytest.approx(10 * rows.mean())


def test_arrays_of_other_libraries_and_single_precision(backend):
    y, mean, std = np.array([0.0, 3.0]), np.array([0.0, 1.0]), np.array([1.0, 2.0])
    expected = crps_rows(y, Normal(mean, std))
    assert crps_rows(backend(y), Normal(backend(mean), backend(std))) == pytest.approx(expected, rel=1e-12)
    single = Normal(backend(mean.astype(np.float32)), backend(std.astype(np.float32)))
    assert crps_rows(y, single) == pytest.approx(expected, rel=1e-6)


def test_messages():
    with pytest.raises(InputError, match="fair=True corrects for the number of draws, and Normal has none"):
        crps([0.0], Normal([0.0], [1.0]), fair=True)
    with pytest.raises(InputError, match="fair=True needs at least two draws of positive weight, row 1 has one"):
        crps([0.0, 0.0], Samples([[0.0, 1.0], [0.0, 1.0]], weights=[[1.0, 1.0], [0.0, 1.0]]), fair=True)
    with pytest.raises(InputError, match="this needs predictions of numbers, got Categorical: for classes use"):
        crps([0, 1], [[0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(InputError, match="Normal has no known distribution of a coordinate"):
        coordinate(Normal([0.0], [1.0]), 0)


def test_a_family_without_distribution_function_is_refused():
    class Silent(RealPredictions):
        event_shape, mean, std = (), np.zeros(2), np.ones(2)

        def __len__(self):
            return 2

        def __getitem__(self, index):
            return self

        def draw(self, uniforms):
            return uniforms

        def map_arrays(self, function):
            return self

    with pytest.raises(InputError, match="Silent has no"):
        crps([0.0, 1.0], Silent())
