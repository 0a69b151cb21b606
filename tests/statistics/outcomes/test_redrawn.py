"""PIT values of redrawn targets at the same random places: plain loops, enumeration, levels with the default seed."""

import itertools

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.statistics.outcomes import highest_density, histograms, quantile_curves, transform
from kernelcal.statistics.outcomes.transform import RandomisedPIT, pit, pit_intervals

OWN = np.random.default_rng(2)
N = 7
RATES = OWN.exponential(size=N) + 0.2
TIED = OWN.integers(0, 3, (N, 4)).astype(float)
FAMILIES = {
    "poisson": kc.Poisson(RATES),
    "binomial": kc.Binomial(np.full(N, 3.0), OWN.random(N)),
    "mixture of counts": kc.Mixture([0.5, 0.5], [kc.Poisson(RATES), kc.Poisson(RATES + 3)]),
    "point mass and density": kc.Mixture([0.4, 0.6], [kc.Samples(np.zeros((N, 1))), kc.Normal(np.zeros(N), 1.0)]),
    "quantiles": kc.Quantiles(np.sort(OWN.integers(0, 4, (N, 3)), axis=1).astype(float), [0.2, 0.5, 0.7]),
    "draws": kc.Samples(TIED),
    "missing members": kc.Samples(TIED, (np.arange(4) < np.array([4, 2, 3, 1, 4, 4, 2])[:, None]).astype(float)),
}


def values_at(batch, y, places):
    """The transform by its definition, at given places."""
    low, high = pit_intervals(y, batch)
    return low + places * (high - low)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.quick_cases(2)
def test_redrawn_values_are_those_of_redrawn_targets(name):
    batch = FAMILIES[name]
    y = np.ceil(batch.sample(rng=4)[0]) if batch.counts else batch.sample(rng=4)[0]
    found = RandomisedPIT.of(Case.of(y, batch), 3)
    assert found.values == pytest.approx(pit(y, batch, rng=3))
    assert not found.continuous
    drawn = np.concatenate(list(found.drawn(np.random.default_rng(1), 4000)))
    assert drawn.shape == (4000, N)
    for i in range(N):  # every value is that of a target, and occurs as often as the target
        at, others = found.places[i], batch[np.full(4000, i)].sample(np.random.default_rng(8))[0]
        if isinstance(batch, kc.Samples):  # any member of the pool may be the outcome, beside the others
            counted = np.ones(4) if batch.weights is None else batch.weights[i] > 0
            pool = [*TIED[i, counted > 0], y[i]]
            targets = np.array(pool)
            beside = [np.array([v for k, v in enumerate(pool) if k != j]) for j in range(len(pool))]
            each = values_at(kc.Samples(beside), targets, at)
        else:
            targets = np.arange(40.0) if batch.counts else others
            each = values_at(batch[np.full(len(targets), i)], targets, at)
        gaps = np.abs(drawn[:, i, None] - each)
        if batch.counts or isinstance(batch, kc.Samples):
            assert gaps.min(axis=1).max() < 1e-12
        share = np.mean(drawn[:, i] <= found.values[i] + 1e-12)
        # P(value <= u) at the same place, by other draws
        if isinstance(batch, kc.Samples):
            expected = np.mean(each <= found.values[i] + 1e-12)
        else:
            expected = np.mean(values_at(batch[np.full(4000, i)], others, at) <= found.values[i] + 1e-12)
        assert abs(share - expected) < 4.5 * np.sqrt(0.5 / 4000)


def test_continuous_families_give_the_uniform_numbers():
    batch = kc.Mixture([0.5, 0.5], [kc.Normal(np.zeros(3), 1.0), kc.Laplace(np.ones(3), 1.0)])
    found = RandomisedPIT.of(Case.of(np.zeros(3), batch), 0)
    assert found.continuous
    assert found.uniforms == 1
    uniforms = np.random.default_rng(0).random((5, 3))
    np.testing.assert_array_equal(found.draw(uniforms), uniforms)


def test_wide_counts_need_no_table(monkeypatch):
    batch = kc.Poisson(RATES)
    case, uniforms = Case.of(np.ones(N), batch), np.random.default_rng(6).random((50, N))
    table = RandomisedPIT.of(case, 0).draw(uniforms)
    monkeypatch.setattr(transform, "_CELLS", 1)
    np.testing.assert_allclose(RandomisedPIT.of(case, 0).draw(uniforms), table, rtol=1e-12)
    targets = stats.poisson(RATES).ppf(uniforms)
    places = RandomisedPIT.of(case, 0).places
    expected = stats.poisson(RATES).cdf(targets - 1) + places * stats.poisson(RATES).pmf(targets)
    np.testing.assert_allclose(table, expected, rtol=1e-9)


def test_the_level_given_the_places_by_enumeration():
    """Two rows, three pools of ties: over all choices of the outcome, each rank is as likely as it must be."""
    pools = np.array([[0.0, 0.0, 1.0], [2.0, 2.0, 2.0]])
    seen = []
    for choice in itertools.product(range(3), repeat=2):
        y = pools[np.arange(2), choice]
        rest = np.array([np.delete(pool, k) for pool, k in zip(pools, choice, strict=True)])
        found = RandomisedPIT.of(Case.of(y, kc.Samples(rest)), 5)
        seen.append((found.values, np.sort(found.batch.draws, axis=1)))
    for values, members in seen:
        np.testing.assert_allclose(members, seen[0][1])  # the same law, whoever is the outcome
        assert np.isclose(values[:, None], members).any(axis=1).all()
    share = np.mean([np.isclose(values, seen[0][0]).all() for values, _ in seen])
    assert share == pytest.approx(6 / 9)  # two of three values of the first pool, all of the second


def test_counts_of_sets_against_plain_loops():
    values = np.random.default_rng(0).random((6, 40))
    values[0, :3] = 0.25, 0.5, 1.0
    levels = np.array([0.25, 0.5, 0.9])
    assert quantile_curves._below(values, levels).tolist() == [
        [sum(v <= t for v in row) for t in levels] for row in values
    ]
    naive = [[sum(min(int(v * 4), 3) == k for v in row) for k in range(4)] for row in values]
    assert histograms._counted(values, 4).tolist() == naive


def ranked(logs, c, place):
    """Places of one row in plain loops: whether the outcome lies inside, and how many of the pool do."""
    pool = list(logs)

    def stands(j):
        above = sum(x > pool[j] for x in pool)
        equal = sum(x == pool[j] for x in pool)
        return above + int(place * equal)

    held = min(int(np.ceil(c * len(pool) - 1e-9)), len(pool) - 1)
    return stands(0) < held, sum(stands(j) < held for j in range(len(pool))) / len(pool)


def test_ranks_of_equal_densities_against_plain_loops():
    rng = np.random.default_rng(3)
    logs = rng.integers(0, 3, (6, 30)).astype(float)
    logs[:, 0], logs[2, 1] = 1.0, -np.inf
    order, cs = rng.random(30), np.array([0.3, 0.5, 0.99])
    inside, probability = highest_density._ranked(logs, np.full(30, 5), cs, order)
    for i, k in itertools.product(range(30), range(3)):
        assert (inside[k, i], probability[k, i]) == pytest.approx(ranked(logs[:, i], cs[k], order[i]))
    gone = np.vstack([logs, np.full(30, np.nan)])[[0, 1, 6, 2, 3, 4, 5]]  # a member that is missing changes nothing
    for found, expected in zip(
        highest_density._ranked(gone, np.full(30, 5), cs, order), (inside, probability), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


# ---- levels with the default seed, which gives all data sets of a length the same places


def rare(n, rng):
    return stats.poisson(0.02).rvs(n, random_state=rng), kc.Poisson(np.full(n, 0.02))


def ensembles(n, rng):
    values = stats.bernoulli(0.1).rvs((n, 11), random_state=rng) * stats.gamma(2).rvs((n, 11), random_state=rng)
    return values[:, 0], kc.Samples(values[:, 1:])


def flat(n, rng):
    """Uniform densities: every value is as dense as every other."""
    return stats.uniform.rvs(size=n, random_state=rng), kc.Uniform(np.zeros(n), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("make", [rare, ensembles])
@pytest.mark.parametrize("repetitions", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_bands_hold_calibrated_data(make, repetitions):
    outside = np.zeros(3)
    for k in range(repetitions):
        y, batch = make(100, np.random.default_rng([4, k]))
        curve = kc.quantile_calibration(y, batch)
        outside[0] += kc.pit_histogram(y, batch, draws=199).outside.any()
        outside[1] += curve.band(draws=199).outside(curve.shares).any()
        if make is ensembles:
            outside[2] += kc.rank_histogram(y, batch, draws=199).outside.any()
    assert outside.max() <= stats.betabinom(repetitions, 10, 190).ppf(0.9995)


def test_equal_densities_are_held_against_their_own_order():
    for n in (100, 300):
        y, batch = flat(n, np.random.default_rng(n))
        found = kc.highest_density_coverage(y, batch, draws=99)
        np.testing.assert_allclose(found.shares, found.expected)  # nothing can be said
    y, batch = ensembles(300, np.random.default_rng(0))
    wrong = 0
    for k in range(40):
        y, batch = ensembles(300, np.random.default_rng([6, k]))
        found = kc.highest_density_coverage(y, batch, log_density=lambda z: -np.abs(z), levels=[0.5])
        wrong += found.verdict != ("agrees",)
    assert wrong <= stats.binom(40, 0.05).ppf(0.9995)
