"""Energy and variogram score as measures: beside draws under calibration, by the slow way and the quick one."""

import numpy as np
import pytest
from scipy.stats import binom

import kernelcal as kc
from kernelcal.measures import FIELDS, EnergyScore, RankByDependence, VariogramScore, measure, serving
from kernelcal.measures.redraws import _OfRest
from kernelcal.statistics.vectors import energy_score, energy_score_rows, variogram_score

BOTH = (EnergyScore(), VariogramScore(order=1.0))
COVARIANCE = np.array([[1.0, 0.6], [0.6, 1.0]])


def data(n=60, size=8, factor=1.0, seed=0, dimension=2):
    covariance = COVARIANCE if dimension == 2 else np.full((dimension, dimension), 0.5) + np.eye(dimension) / 2
    x = np.random.default_rng(seed).multivariate_normal(np.zeros(dimension), covariance, (n, size + 1))
    return x[:, 0], kc.Samples(factor * x[:, 1:])


def test_values_are_the_scores():
    y, draws = data()
    w = np.random.default_rng(1).random(60)
    found = measure(y, draws, BOTH, weights=w, draws=19)
    assert found.values[0].value == pytest.approx(energy_score(y, draws, weights=w))
    assert found.values[1].value == pytest.approx(variogram_score(y, draws, weights=w, order=1.0))
    law = kc.MultivariateNormal(np.zeros((60, 2)), COVARIANCE)
    assert measure(y, law, "energy", draws=19).values[0].value == pytest.approx(energy_score(y, law))


def test_few_draws_a_row_are_said_to_move_what_is_expected():
    """CRPS of 3 draws, where calibrated ones have 0.752: outcomes that spread thrice as far raise what is expected."""
    rng = np.random.default_rng(0)
    y, draws = 3 * rng.normal(size=200), rng.normal(size=(200, 3))
    found = measure(y, kc.Samples(draws), "crps", draws=99)
    assert found.values[0].expected > 1
    assert any("nearer to the value" in note for note in found.notes)
    many = measure(y, kc.Samples(rng.normal(size=(200, 30))), "crps", draws=99)
    assert not any("nearer to the value" in note for note in many.notes)


@pytest.mark.parametrize("dimension", [2, 4])
@pytest.mark.parametrize("missing", [False, True])
def test_members_are_scored_among_the_others(missing, dimension):
    y, draws = data(7, 5, dimension=dimension)
    weights = np.ones((7, 5))
    weights[2, 1] = 0 if missing else 1
    batch = kc.Samples(draws.draws, weights=weights) if missing else draws
    pooled = batch.pooled(y)
    quick = _OfRest(BOTH, pooled, None)
    slow = _OfRest(BOTH, pooled, None)
    slow.tables = [None, None]
    drawn = pooled.draw(np.random.default_rng(2).random((4, 7)))
    np.testing.assert_allclose(quick.values(drawn), slow.values(drawn), rtol=1e-12)


def test_influences_are_scores_less_their_mean():
    y, draws = data()
    prepared = EnergyScore().prepare(draws)
    scores = energy_score_rows(y, draws)
    np.testing.assert_allclose(prepared.influences(y), scores - scores.mean())


def test_narrow_predictions_score_above_what_they_expect():
    y, draws = data(200, factor=0.6)
    energy, variogram = measure(y, draws, "energy,variogram", draws=199).values
    assert energy.value > energy.band[1]
    assert max(energy.pvalue, variogram.pvalue) <= 0.02


def test_they_serve_vectors_alone():
    _, draws = data(10)
    assert serving(draws) == tuple(FIELDS["vectors"])
    assert "energy" not in serving(kc.Samples(np.zeros((3, 4))))
    assert "energy" not in serving(kc.Dirichlet([[1.0, 1.0]]))
    with pytest.raises(kc.InputError, match="energy score is for draws of vectors"):
        measure([0.0], kc.Normal([0.0], [1.0]), "energy")
    with pytest.raises(kc.InputError, match="order must be a positive number"):
        VariogramScore(order=-1)


@pytest.mark.slow
def test_levels_are_kept():
    tries, rejected = 200, np.zeros(3)
    for k in range(tries):
        found = measure(*data(20, 5, seed=k), BOTH, draws=39, rng=k)
        rejected += [found.pvalue <= 0.05, *(one.pvalue <= 0.05 for one in found.values)]
    assert (rejected <= binom.ppf(1 - 1e-3, tries, 0.05)).all()


def test_ranks_by_dependence_see_wrong_correlations():
    y, _ = data(300)
    apart = kc.Samples(np.random.default_rng(5).normal(size=(300, 9, 2)))
    (found,) = measure(y, apart, "rank-dependence", draws=99).values
    assert found.interval[1] < 0.5
    assert found.pvalue == 0.02
    assert found.expected == pytest.approx(0.5, abs=0.01)
    below = kc.statistics.vectors.pre_rank_case(kc.cases.Case.of(y, apart), "dependence")
    low, high = below.predictions.rank_range(below.targets)
    assert found.value == pytest.approx(((low + high + 1) / 20).mean())


def test_ranks_of_pooled_draws_are_those_of_the_draws():
    y, draws = data()
    w = np.random.default_rng(1).random(60)
    once = RankByDependence().prepare(draws, w).measured(y[None])
    pooled = RankByDependence().prepare(draws.pooled(y), w).measured(y[None])
    assert once == pytest.approx(pooled)
