"""Pre-ranks beside naive ones, the statistic of their ranks beside its formula, and what swaps may not change."""

import itertools

import numpy as np
import pytest
from numpy.polynomial import Legendre
from scipy.integrate import quad
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import rankdata

import kernelcal as kc
from kernelcal.statistics.vectors import (
    PRE_RANKS,
    PreRanks,
    RanksOfMembers,
    pre_rank_case,
    pre_rank_histogram,
    pre_ranks_of,
    register_pre_rank,
)


def scaled(x):
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0)


def apart(z):
    return np.array([abs(a - b) ** 0.5 for a, b in itertools.combinations(z, 2)])


def naive(name, x):
    """Pre-ranks of the vectors of one row, one at a time."""
    x = scaled(x)
    ranks = np.stack([rankdata(column) for column in x.T], axis=1)
    m = len(x)
    mean = np.mean([apart(z) for z in x], axis=0)
    return {
        "mean": lambda k: np.mean(x[k]),
        "spread": lambda k: np.var(x[k]),
        "dependence": lambda k: apart(x[k]).sum(),
        "variogram": lambda k: ((apart(x[k]) - mean) ** 2).sum(),
        "band depth": lambda k: np.mean([(r - 1) * (m - r) for r in ranks[k]]),
        "average rank": lambda k: ranks[k].mean(),
        "energy": lambda k: cdist(x[[k]], x).mean(),
        "spanning tree": lambda k: minimum_spanning_tree(squareform(pdist(np.delete(x, k, axis=0)))).sum(),
    }[name]


@pytest.mark.parametrize("name", list(PRE_RANKS))
def test_pre_ranks_are_those_of_their_definitions(name):
    x = np.random.default_rng(1).normal(size=(5, 8, 3))
    found = pre_ranks_of(name, x)
    for row, own in zip(x, found, strict=True):
        value = naive(name, row)
        expected = np.array([value(k) for k in range(len(row))])
        np.testing.assert_allclose(own, (expected - expected.min()) / np.ptp(expected), atol=1e-9)


@pytest.mark.parametrize("name", list(PRE_RANKS))
def test_pre_ranks_treat_members_alike_and_know_no_units(name):
    rng = np.random.default_rng(2)
    x, order = rng.normal(size=(4, 7, 3)), rng.permutation(7)
    np.testing.assert_array_equal(pre_ranks_of(name, x[:, order]), pre_ranks_of(name, x)[:, order])
    moved = pre_ranks_of(name, 1e3 * x * [1, 10, 1e-3] + 50)
    np.testing.assert_allclose(moved, pre_ranks_of(name, x), atol=1e-8)
    np.testing.assert_array_equal(pre_ranks_of(name, np.ones((2, 4, 3))), np.zeros((2, 4)))


def test_values_are_smooth_statistics_of_ranks():
    rng = np.random.default_rng(3)
    pool = np.round(rng.normal(size=(6, 5, 2)), 1)
    pool[0] = pool[0, :1]  # all equal
    y, w = pool[:, 2].copy(), rng.uniform(0.5, 2, 6)
    batch = kc.Samples(np.delete(pool, 2, axis=1)).pooled(y)
    prepared = PreRanks(pre_ranks=("mean",), tarp=False).prepare(batch, w)
    found = prepared.values(y[None])[0, 0]
    total = 0.0
    for m in range(1, 5):
        polynomial = np.sqrt(2 * m + 1) * Legendre.basis(m, domain=[0, 1])
        top, variance = 0.0, 0.0
        for row, own, weight in zip(pool, y, w, strict=True):
            means = naive("mean", row)
            values = np.array([round(means(k), 9) for k in range(5)])
            mean_over = []
            for value in values:
                low, high = (values < value).mean(), (values <= value).mean()
                mean_over.append(quad(polynomial, low, high)[0] / (high - low))
            k = next(k for k in range(5) if (row[k] == own).all())
            top += weight * mean_over[k]
            variance += weight**2 * np.mean(np.square(mean_over))
        total += top**2 / variance / m
    assert found == pytest.approx(total, rel=1e-9)


def test_members_are_found_whatever_first_components_they_share():
    x = np.array([[[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [1.0, 0.0]]])
    ranks = RanksOfMembers(PreRanks(), kc.Samples(x))
    found = ranks.places(x.swapaxes(0, 1))
    np.testing.assert_array_equal(found[:, 0], [0, 1, 2, 3])


def test_distances_to_references_are_ranked():
    x = np.array([[[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]]])
    asked = PreRanks(pre_ranks=("mean",), references=[[0.0, 0.0]])
    ranks = RanksOfMembers(asked, kc.Samples(x))
    np.testing.assert_allclose(ranks.low[0, :, 1], [0, 2 / 3, 1 / 3])
    chosen = asked.among(np.array([0]))
    np.testing.assert_array_equal(chosen.references, [[0.0, 0.0]])


def test_reference_points_do_not_depend_on_who_is_the_outcome():
    x = np.random.default_rng(0).normal(size=(6, 5, 2))
    one = RanksOfMembers(PreRanks(), kc.Samples(x[:, 1:]).pooled(x[:, 0]))
    other = RanksOfMembers(PreRanks(), kc.Samples(x[:, :-1]).pooled(x[:, -1]))
    np.testing.assert_array_equal(one.low, other.low)


def test_a_case_of_pre_ranks_is_one_of_numbers():
    rng = np.random.default_rng(4)
    y, x = rng.normal(size=(40, 3)), rng.normal(size=(40, 6, 3))
    case = pre_rank_case(kc.cases.Case.of(y, kc.Samples(x)), "spread")
    pool = np.concatenate([y[:, None], x], axis=1)
    expected = [sum(naive("spread", row)(k) < naive("spread", row)(0) for k in range(7)) for row in pool]
    np.testing.assert_array_equal(case.predictions.rank_range(case.targets)[0], expected)


def test_histogram_counts_the_ranks_and_draws_them():
    rng = np.random.default_rng(5)
    y, x = rng.normal(size=(60, 2)), rng.normal(size=(60, 3, 2))
    found = pre_rank_histogram(y, kc.Samples(x), "mean")
    pool = np.concatenate([y[:, None], x], axis=1)
    ranks = [int((scaled(row).mean(axis=1) < scaled(row)[0].mean()).sum()) for row in pool]
    np.testing.assert_array_equal(found.counts, np.bincount(ranks, minlength=4))
    assert found.title == "Ranks by mean"
    assert found.variable == "rank among 3 draws"
    law = kc.MultivariateNormal(np.zeros((60, 2)), np.eye(2))
    assert pre_rank_histogram(y, law, "TARP", bins=5).counts.sum() == 60


def test_a_pre_rank_of_ones_own():
    register_pre_rank("first component", lambda x: x[:, :, 0], summary="first component")
    try:
        x = np.random.default_rng(0).normal(size=(30, 6, 2))
        found = kc.calibration_test(
            x[:, 0], kc.Samples(x[:, 1:]), statistic=PreRanks(pre_ranks=("first component",), tarp=False), draws=19
        )
        assert [member.name for member in found.members] == ["first component"]
    finally:
        PRE_RANKS.forget("first component")


VECTORS = np.zeros((5, 2))


def test_directions_claim_nothing_of_margins_that_are_right():
    """Margins are right and the correlation is not: no sentence calls predictions too narrow or too wide alone."""
    rng = np.random.default_rng(0)
    y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 300)
    strong = rng.multivariate_normal([0, 0], [[1, 0.95], [0.95, 1]], (300, 20))
    said = kc.ranks.vectors_test(y, kc.Samples(strong), draws=199).directions
    assert said[0].startswith(
        "components of outcomes differ more from each other than predicted: predictions too narrow, or"
    )
    assert any("correlation predicted too strong" in one for one in said)
    assert not any("there" in one for one in said)
    weak = rng.normal(size=(300, 20, 2))
    found = kc.ranks.posterior_test(y, weak, draws=199)["dependence"].direction
    assert found.startswith("components of outcomes lie closer together than predicted: correlation predicted too weak")
    assert "spread" not in found
    low = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], (300, 20)) - 0.5
    shifted = kc.ranks.vectors_test(y, kc.Samples(low), draws=199).directions
    assert all("too narrow, or off" in one for one in shifted if "narrow" in one)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PreRanks(pre_ranks=("depth",)), "pre_rank must be one of 'mean'"),
        (lambda: PreRanks(pre_ranks=()), "pre_ranks must be names, each once"),
        (lambda: PreRanks(tarp=1), "tarp must be True or False"),
        (lambda: PreRanks()(VECTORS, kc.Samples(np.zeros((5, 2, 2)))), "has no single estimate"),
        (lambda: kc.calibration_test(np.zeros(5), kc.Samples(np.zeros((5, 2))), statistic="pre-ranks"), "for vectors"),
        (
            lambda: kc.calibration_test(VECTORS, kc.MultivariateNormal(VECTORS, np.eye(2)), statistic="pre-ranks"),
            "kernelcal.ranks.vectors_test does so",
        ),
        (
            lambda: kc.calibration_test(VECTORS, kc.Samples(np.ones((5, 2, 2))), statistic="pre-ranks", null="exact"),
            "leave null out",
        ),
        (
            lambda: kc.calibration_test(
                VECTORS, kc.Samples(np.ones((5, 2, 2)), weights=[[1, 0]] * 5), statistic="pre-ranks"
            ),
            "as many in every row",
        ),
        (
            lambda: kc.calibration_test(
                VECTORS, kc.Samples(np.ones((5, 2, 2))), statistic=PreRanks(references=np.zeros((4, 2)))
            ),
            r"must have shape \(5, 2\)",
        ),
    ],
)
def test_messages_cure(call, words):
    with pytest.raises(kc.InputError, match=words):
        call()


def test_tables_that_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("kernelcal.statistics.vectors.statistic._MOST", 300)
    draws = kc.Samples(np.random.default_rng(0).normal(size=(5, 3, 2)))
    with pytest.raises(kc.InputError, match=r"5 rows of 3 draws need a table of .* take some of the draws"):
        kc.calibration_test(VECTORS, draws, statistic="pre-ranks")
