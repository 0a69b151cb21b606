"""Ensembles by hand, with ties and weights."""

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.predictions import Samples

RNG = np.random.default_rng(0)
DRAWS = RNG.normal(size=(6, 9)).round(1)
WEIGHTS = RNG.integers(0, 4, (6, 9)) + np.eye(6, 9)
VECTORS = RNG.normal(size=(6, 5, 2))


def repeated(draws, weights):
    """Whole weights are repetitions."""
    return [np.repeat(x, w.astype(int)) for x, w in zip(draws, weights, strict=True)]


def test_by_hand():
    batch = Samples([[3.0, 0.0, 1.0], [2.0, 2.0, 5.0]])
    assert (batch.size, batch.event_shape, len(batch), batch.dimension) == (3, (), 2, 1)
    np.testing.assert_allclose(batch.mean, [4 / 3, 3.0])
    np.testing.assert_allclose(batch.std**2, [14 / 9, 2.0])
    np.testing.assert_array_equal(batch.cdf([1.0, 2.0]), [2 / 3, 2 / 3])
    np.testing.assert_array_equal(batch.cdf_below([1.0, 2.0]), [1 / 3, 0.0])
    np.testing.assert_array_equal(
        batch.quantile(np.array([[0.3], [1 / 3], [0.34], [1.0]])), [[0, 2], [0, 2], [1, 2], [3, 5]]
    )


def test_weights_are_repetitions():
    batch = Samples(DRAWS, WEIGHTS)
    long = repeated(DRAWS, WEIGHTS)
    y = np.concatenate([DRAWS.T, DRAWS.T + 0.05])
    np.testing.assert_allclose(batch.mean, [x.mean() for x in long], rtol=1e-13)
    np.testing.assert_allclose(batch.std, [x.std() for x in long], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        batch.cdf(y), np.transpose([[np.mean(x <= v) for v in y[:, i]] for i, x in enumerate(long)])
    )
    np.testing.assert_allclose(
        batch.cdf_below(y), np.transpose([[np.mean(x < v) for v in y[:, i]] for i, x in enumerate(long)])
    )
    levels = np.linspace(0.01, 0.99, 37)
    expected = [np.quantile(x, levels, method="inverted_cdf") for x in long]
    np.testing.assert_array_equal(batch.quantile(levels[:, None]), np.transpose(expected))


@pytest.mark.parametrize("size", [1, 3, 7, 49, 200, 700])
def test_levels_that_are_steps_are_hit_exactly(size):
    batch = Samples(np.arange(size)[None] + np.zeros((2, 1)))
    levels = np.arange(1, size + 1) / size
    np.testing.assert_array_equal(batch.quantile(levels[:, None])[:, 0], np.arange(size))
    np.testing.assert_array_equal(batch.cdf(np.arange(float(size))[:, None] * np.ones(2))[:, 0], levels)


def test_ties_leave_a_range_of_ranks():  # cases.json ties-zero-rain, sbc-discrete
    below, at_most = Samples(np.zeros((1, 32))).rank_range([0.0])
    assert (below.tolist(), at_most.tolist()) == ([0], [32])
    below, at_most = Samples([[0, 0, 1, 1, 1]]).rank_range([1])
    assert (below.tolist(), at_most.tolist()) == ([2], [5])
    assert below.dtype.kind == "i"
    below, at_most = Samples(DRAWS).rank_range(np.stack([DRAWS[:, 0], DRAWS[:, 1] + 0.01]))
    np.testing.assert_array_equal(below[0], (DRAWS[:, :1] > DRAWS).sum(axis=1))
    np.testing.assert_array_equal(at_most[0], (DRAWS[:, :1] >= DRAWS).sum(axis=1))
    np.testing.assert_array_equal(below[1], at_most[1])


@pytest.mark.parametrize("draws", [DRAWS, VECTORS])
def test_the_outcome_is_one_more_draw(draws):
    y = RNG.normal(size=(6, *draws.shape[2:]))
    pooled = Samples(draws).pooled(y)
    assert pooled.size == draws.shape[1] + 1
    together = np.concatenate([draws, y[:, None]], axis=1)
    for row, members in zip(pooled.draws, together, strict=True):  # by size, whoever is the outcome
        expected = sorted(members.tolist())
        assert row.tolist() == expected
    np.testing.assert_allclose(pooled.mean, np.concatenate([draws, y[:, None]], axis=1).mean(axis=1))


def test_missing_members_stay_without_weight():
    draws, missing = np.array([[3.0, 1.0, 9.0], [2.0, 7.0, 5.0]]), np.array([[1, 1, 0], [1, 0, 1]])
    batch = Samples(draws, missing)
    assert batch.exchangeable
    assert not Samples(draws, [[1, 2, 0], [1, 0, 1]]).exchangeable
    pooled = batch.pooled(np.array([2.0, 8.0]))
    np.testing.assert_array_equal(pooled.draws, [[1, 2, 3, 9], [2, 5, 7, 8]])
    np.testing.assert_allclose(pooled.weights, np.array([[1, 1, 1, 0], [1, 1, 0, 1]]) / 3)
    np.testing.assert_allclose(pooled.mean, [2, 5])


def test_the_outcome_joins_draws_of_a_library(backend):
    y = backend(RNG.normal(size=6))
    assert type(Samples(backend(DRAWS)).pooled(y).draws) is type(y)


@pytest.mark.parametrize("size", [3, 20, 70])
def test_members_are_picked_by_weight_and_never_with_weight_zero(size):
    weights = RNG.integers(0, 3, (4, size)).astype(float)
    weights[:, 1] = 2
    weights[0, [0, -1]] = 0
    batch = Samples(np.arange(size) + np.zeros((4, 1)), weights)
    u = np.concatenate([[[0.0] * 4, [1 - 2.0**-53] * 4], RNG.random((500, 4))])
    drawn = batch.draw(u).astype(int)
    assert np.all(weights[np.arange(4), drawn] > 0)
    cumulative = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    for i in range(4):
        np.testing.assert_array_equal(drawn[:, i], np.searchsorted(cumulative[i], u[:, i], side="right"))
    assert np.all(weights[np.arange(4), batch.quantile(0.0).astype(int)] > 0)


def test_equal_members_are_picked_equally():
    batch = Samples(np.arange(5.0)[None])
    u = (np.arange(500)[:, None] + 0.5) / 500
    assert np.bincount(batch.draw(u)[:, 0].astype(int)).tolist() == [100] * 5
    assert batch.draw(np.array([[1 - 2.0**-53]]))[0, 0] == 4
    picked = Samples(VECTORS).draw(RNG.random((3, 6)))
    assert picked.shape == (3, 6, 2)


def test_characteristic_functions_are_means_of_waves():
    w = RNG.normal(size=(3, 2))
    share = WEIGHTS / WEIGHTS.sum(axis=1, keepdims=True)
    expected = np.einsum("ns,nsd->nd", share, np.exp(1j * DRAWS[..., None] * w[:, 0]))
    np.testing.assert_allclose(Samples(DRAWS, WEIGHTS).characteristic(w[:, 0]), expected, rtol=1e-12)
    expected = np.exp(1j * np.einsum("nsd,kd->nsk", VECTORS, w)).mean(axis=1)
    np.testing.assert_allclose(Samples(VECTORS).characteristic(w), expected, rtol=1e-12)


def test_parts_of_the_rows_give_the_same_characteristic_function(monkeypatch):
    whole = Samples(DRAWS, WEIGHTS).characteristic(np.arange(4.0))
    monkeypatch.setattr("kernelcal.predictions.compositions.samples._CHUNK_BYTES", 1)
    np.testing.assert_allclose(Samples(DRAWS, WEIGHTS).characteristic(np.arange(4.0)), whole, rtol=1e-14)


def test_frames_hold_one_member_a_column():
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(Samples(pandas.DataFrame(DRAWS)).draws, DRAWS)


@pytest.mark.parametrize("size", [1, 3, 50])
def test_deviations_are_those_of_every_row_however_far_from_zero_or_from_the_first_draw(size):
    rng = np.random.default_rng(size)
    draws = rng.normal(rng.normal(0, 1e6, 3000)[:, None], 1e-2, (3000, size))
    draws[::7, 0] += 1e9  # the draw that others are taken less
    draws[5], exact = 0.1, draws - draws[:, :1].astype(np.longdouble)
    found = Samples(draws).std
    exact[5] = 0
    assert found == pytest.approx(exact.std(axis=1).astype(float), rel=1e-12)
    assert found[5] == 0
    assert Samples(draws.astype(np.float32)).std.dtype == np.float32


def test_whole_numbers_are_draws():
    assert Samples([[0, 1]]).mean.tolist() == [0.5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (  # cases.json nan-member
            lambda: Samples([[1.0, 2.0, np.nan], [0.0, 1.0, 2.0]]),
            r"the draw in row 0, member 2 is missing \(NaN\), expected a finite number \(1 such row\): "
            r"drop these rows, or leave members out by weight 0, Samples\(np.nan_to_num\(draws\), ",
        ),
        (lambda: Samples(np.zeros((3, 0))), "with S > 0 draws a row"),
        (lambda: Samples([[1.0, np.inf]]), "the draw in row 0, member 1 is inf"),
        (lambda: Samples([1.0, 2.0]), r"draws must have shape \(n, S\), .* sample_axis=...\) moves it"),
        (lambda: Samples(DRAWS, WEIGHTS[:, :2]), r"weights must have the shape of the draws, \(6, 9\), got \(6, 2\)"),
        (
            lambda: Samples(DRAWS, -WEIGHTS),
            "the weight in row 0, column 0 is -.*, expected a number that is not negative",
        ),
        (lambda: Samples(DRAWS, 0 * WEIGHTS), "the sum of the weights in row 0 is 0, expected a positive number: one"),
        (lambda: Samples(DRAWS, WEIGHTS).rank_range(DRAWS[:, 0]), "ranks need equally likely draws"),
        (lambda: Samples(DRAWS, WEIGHTS).pooled(DRAWS[:, 0]), "exchangeable only if all draws are equally likely"),
        (lambda: Samples(VECTORS).rank_range(VECTORS[:, 0]), "Samples has no distribution function"),
    ],
)
def test_samples_refuse(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_missing_members_can_be_left_out_by_weight():
    draws = np.array([[1.0, 2.0, np.nan], [0.0, 1.0, 2.0]])
    np.testing.assert_allclose(Samples(np.nan_to_num(draws), weights=np.isfinite(draws)).mean, [1.5, 1.0])
