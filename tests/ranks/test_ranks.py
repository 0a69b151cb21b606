"""Ranks alone, PIT values alone, and ranks of draws: p-values, directions, tables, and what is refused."""

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

import kernelcal as kc
from kernelcal.inference.test import holm_adjusted
from kernelcal.ranks import pit_values_test, posterior_test, rank_test, ranks_of_draws, vectors_test


def made(kind, n=400, size=19, seed=0):
    """Ranks of a posterior that is wrong in one way: of normal true values among draws of another normal law."""
    rng = np.random.default_rng(seed)
    mean, width = {"narrow": (0, 0.7), "wide": (0, 1.5), "up": (0.4, 1), "down": (-0.4, 1), "right": (0, 1)}[kind]
    draws = mean + width * rng.normal(size=(n, size))
    return (draws < rng.normal(size=(n, 1))).sum(axis=1)


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize(
    ("kind", "words"),
    [("narrow", "too narrow"), ("wide", "too wide"), ("up", "shifted up"), ("down", "shifted down"), ("right", "")],
)
def test_directions_are_told_in_words(kind, words):
    found = rank_test(made(kind), 19)
    assert found.parameters[0].direction.split(" (")[0] == words
    assert found.rejected == bool(words)
    of_values = pit_values_test((made(kind) + np.random.default_rng(1).random(400)) / 20)
    assert of_values.parameters[0].direction.split(" (")[0] == words


def test_a_wrong_shape_has_no_direction():
    ranks = np.repeat([1, 6, 13, 18], [39, 61, 61, 39])  # the mean and the variance of uniform ranks
    found = rank_test(ranks, 19)
    assert found.rejected
    assert found.directions == ("theta: of a wrong shape, without a clear shift or width",)


def test_ranks_are_tested_as_ranks_among_draws():
    """Any ensembles with these ranks give the same test."""
    ranks = made("narrow", 60, 9)
    draws = np.sort(np.random.default_rng(3).normal(size=(60, 9)), axis=1)
    padded = np.concatenate([draws[:, :1] - 1, draws, draws[:, -1:] + 1], axis=1)
    rows = np.arange(60)
    y = 0.5 * (padded[rows, ranks] + padded[rows, ranks + 1])
    whole = kc.pit_test(y, kc.Samples(draws))
    found = rank_test(ranks, 9).parameters[0].test
    assert found.pvalue == whole.pvalue
    assert found.members == whole.members


@pytest.mark.slow
def test_parameters_are_corrected_by_holm():
    table = np.stack([made("narrow"), made("right", seed=5), made("up", seed=6)], axis=1)
    found = rank_test(table, 19, names=["a", "b", "c"])
    alone = [rank_test(table[:, k], 19, draws=999).pvalue for k in range(3)]
    np.testing.assert_allclose([one.pvalue for one in found.parameters], alone)
    np.testing.assert_allclose([one.adjusted for one in found.parameters], holm_adjusted(np.array(alone)))
    assert found.pvalue == min(one.adjusted for one in found.parameters)
    assert [word.split(" (")[0] for word in found.directions] == ["a: too narrow", "c: shifted up"]


@pytest.mark.slow
def test_many_parameters_get_draws_enough():
    table = np.stack([made("narrow", 50)] * 40, axis=1)
    found = rank_test(table, 19)
    assert found["theta[0]"].test.draws_asked == 1599
    assert found.rejected
    assert any("1,599 draws" in note for note in found.notes)


def test_the_numbers_of_the_table():
    ranks = made("narrow", 200)
    one = rank_test(ranks, 19).parameters[0]
    assert one.mean_rank == pytest.approx((ranks.mean() + 0.5) / 20)
    quantiles = norm.ppf((np.arange(20) + 0.5) / 20)
    assert one.spread == pytest.approx(quantiles[ranks].std() / quantiles.std())
    held = ((ranks >= 1) & (ranks <= 18)).sum()
    assert (one.expected, one.covered) == (0.9, held / 200)
    assert one.low == pytest.approx(beta.ppf(0.025, held, 200 - held + 1))
    assert one.high == pytest.approx(beta.ppf(0.975, held + 1, 200 - held))
    even = rank_test(np.arange(100) % 10, 9).parameters[0]
    assert (even.expected, even.covered) == (0.8, 0.8)
    assert even.spread == pytest.approx(1)


def test_the_first_rank_may_be_one():
    ranks = made("wide")
    assert rank_test(ranks + 1, 19, first=1).pvalue == rank_test(ranks, 19).pvalue


def test_pit_values_are_tested_as_outcomes_of_a_uniform_law():
    u = np.random.default_rng(0).beta(2, 2, 80)
    found = pit_values_test({"u": u})
    assert found["u"].pvalue == kc.pit_test(u, kc.Uniform(np.zeros(80), 1.0)).pvalue
    assert found.table.names == ("u",)
    assert found["u"].expected == 0.9


def test_ranks_among_very_many_draws_are_placed_at_random():
    ranks = np.random.default_rng(0).integers(0, 20_001, 300)
    found = rank_test(ranks, 20_000, draws=99)
    assert found.table.joined
    assert any("random places" in note for note in found.notes)
    assert found.histogram().counts.sum() == 300
    assert not found.rejected
    steps = found.table.case(0).targets * 20_001 - ranks
    assert 0 <= steps.min() < 0.05
    assert 0.95 < steps.max() < 1


def test_notes_fit_what_was_given():
    assert not any("no rank is above" in note for note in rank_test([0, 1, 2], 9).notes)  # of three that is chance
    assert any("no rank is above" in note for note in rank_test(np.arange(30) % 5, 9).notes)
    shared = rank_test(np.arange(30) % 10, 9, clusters=np.arange(30) // 2)
    assert "simulations of different clusters are assumed independent" in shared.notes[-1]


def test_clusters_are_tested_in_sets():
    ranks = np.repeat(made("right", 60), 2)
    clusters = np.repeat(np.arange(60), 2)
    found = rank_test(ranks, 19, clusters=clusters)
    assert np.isnan(found.parameters[0].low)
    assert "2 times the smallest" in found.parameters[0].test.null
    assert np.isnan(found.ecdf().low).all()
    assert found.to_dict()["parameters"][0]["low"] is None
    of_values = pit_values_test((ranks + 0.5) / 20, clusters=clusters)
    assert "exact" not in of_values.parameters[0].test.null


@pytest.mark.slow
def test_tables_and_plain_values():
    found = rank_test({"mu": made("narrow"), "tau": made("right", seed=5)}, 19)
    text = found.summary()
    assert "ranks among 19 draws, 400 simulations" in text
    assert "too narrow" in text
    assert "no evidence" in text
    plain = found.to_dict()
    assert plain["draws_per_rank"] == 19
    assert [one["name"] for one in plain["parameters"]] == ["mu", "tau"]
    assert "p, Holm" in found["mu"].summary()
    few = rank_test(made("right"), 40)
    assert any("no rank is above" in note for note in few.notes)


@pytest.mark.slow
def test_pictures():
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    found = rank_test({"mu": made("narrow"), "tau": made("right", seed=5)}, 19)
    for kind in ("ecdf", "histogram"):
        axes = found.plot(kind)
        assert len(axes) == 2
        assert "tau" in axes[1].get_title(loc="left")
    pyplot.close("all")
    with pytest.raises(kc.InputError, match="kind must be"):
        found.plot("bars")


def draws(n=60, size=9, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], (n, size + 1))
    return x[:, 0], x[:, 1:]


def test_ranks_of_draws_are_counts_of_draws_below():
    theta, samples = draws()
    table, joint, notes = ranks_of_draws(theta, samples, names=["a", "b"])
    np.testing.assert_array_equal(table.values[:, :2], (samples < theta[:, None]).sum(axis=1))
    assert table.names == ("a", "b", "dependence", "TARP")
    assert joint == ("dependence", "TARP")
    assert notes == ()
    references = np.random.default_rng(1).random((60, 2))
    table, _, _ = ranks_of_draws(theta, samples, pre_ranks=(), references=references)
    far = np.linalg.norm(samples - references[:, None], axis=2) < np.linalg.norm(theta - references, axis=1)[:, None]
    np.testing.assert_array_equal(table.values[:, 2], far.sum(axis=1))


def test_equal_draws_have_ranks_at_random_among_those_that_ties_allow():
    table, _, _ = ranks_of_draws(np.zeros(400), np.zeros((400, 3)))
    np.testing.assert_array_equal(np.unique(table.values), [0, 1, 2, 3])
    assert table.names == ("theta",)


def test_wrong_correlations_are_seen_together():
    theta, samples = draws(300, 19)
    apart = np.random.default_rng(7).normal(size=samples.shape)
    found = posterior_test(theta, apart, names=["a", "b"], rng=1)
    assert [one.name for one in found.parameters if one.direction] == ["dependence"]
    assert "closer together" in found["dependence"].direction
    assert not posterior_test(theta, samples, names=["a", "b"], rng=1).rejected


def test_named_variables_are_flattened():
    theta, samples = draws()
    table, _, notes = ranks_of_draws(
        {"beta": theta, "mu": theta[:, 0], "x": theta}, {"mu": samples[:, :, 0], "beta": samples}
    )
    assert table.names[:3] == ("beta[0]", "beta[1]", "mu")
    assert notes == ("left out, since only one of both has them: x",)
    np.testing.assert_array_equal(table.values[:, 0], table.values[:, 2])


@pytest.mark.filterwarnings("ignore::FutureWarning")  # arviz announces its next version
def test_inference_data_of_arviz():
    arviz, xarray = pytest.importorskip("arviz"), pytest.importorskip("xarray")
    theta, samples = draws(60, 8)
    values = {"mu": (("chain", "draw", "simulation"), np.moveaxis(samples[..., 0].reshape(60, 2, 4), 0, 2))}
    truth = xarray.Dataset({"mu": ("simulation", theta[:, 0])})
    found = ranks_of_draws(truth, arviz.InferenceData(posterior=xarray.Dataset(values)))[0]
    expected = ranks_of_draws({"mu": theta[:, 0]}, {"mu": samples[:, :, 0]})[0]
    np.testing.assert_array_equal(found.values, expected.values)


def test_datasets_with_chains():
    xarray = pytest.importorskip("xarray")
    theta, samples = draws(60, 8)
    truth = xarray.Dataset({"beta": (("k", "simulation"), theta.T), "mu": ("simulation", theta[:, 0])})
    chains = samples.reshape(60, 2, 4, 2)
    posterior = xarray.Dataset(
        {
            "mu": (("chain", "draw", "simulation"), np.moveaxis(chains[..., 0], 0, 2)),
            "beta": (("chain", "draw", "simulation", "k"), np.moveaxis(chains, 0, 2)),
        }
    )
    expected = ranks_of_draws({"beta": theta, "mu": theta[:, 0]}, {"beta": samples, "mu": samples[:, :, 0]})[0]
    tree = xarray.DataTree.from_dict({"posterior": posterior})
    for given in (posterior, tree):
        found = ranks_of_draws(truth, given)[0]
        assert found.names == expected.names
        np.testing.assert_array_equal(found.values, expected.values)
    with pytest.raises(kc.InputError, match="say which one holds the simulations"):
        ranks_of_draws(truth[["beta"]], posterior)
    found = ranks_of_draws(truth[["beta"]], posterior, simulation="simulation")[0]
    np.testing.assert_array_equal(found.values[:, :2], expected.values[:, :2])
    with pytest.raises(kc.InputError, match="one of chain, draw"):
        ranks_of_draws(truth, truth)


def test_datasets_of_ranks_and_pit_values():
    xarray = pytest.importorskip("xarray")
    u = np.random.default_rng(0).random((2, 40, 3))
    data = xarray.Dataset({"beta": (("chain", "draw", "k"), u), "mu": (("chain", "draw"), u[..., 0])})
    found = pit_values_test(data, draws=99)
    assert found.table.names == ("beta[0]", "beta[1]", "beta[2]", "mu")
    np.testing.assert_array_equal(found.table.values[:, :3], u.reshape(80, 3))
    ranks = rank_test((data * 10).astype(int), 9, draws=99)
    np.testing.assert_array_equal(ranks.table.values[:, 3], (10 * u[..., 0]).astype(int).ravel())


def test_laws_of_vectors_are_drawn_from():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(80, 2))
    law = kc.MultivariateNormal(np.zeros((80, 2)), np.eye(2))
    found = vectors_test(y, law, draws=99)
    drawn = kc.statistics.vectors.ensemble_of(law, 0)
    assert found.pvalue == vectors_test(y, drawn, draws=99).pvalue
    assert any("100 draws of every prediction" in note for note in found.notes)
    wide = vectors_test(y, kc.MultivariateNormal(np.zeros((80, 2)), 4 * np.eye(2)))
    assert wide.rejected
    assert "too wide" in wide.directions[0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rank_test([0, 20], 19), "the rank of theta in row 1 is 20, expected a whole number from 0 to 19"),
        (lambda: rank_test([1, 20], 19), "say first=1"),
        (lambda: rank_test([0.5, 1], 19), "pit_values_test"),
        (lambda: rank_test([0, 1], 0), "draws_per_rank must be the number L"),
        (lambda: rank_test([0, 1], 9, first=2), "first must be 0 or 1"),
        (lambda: rank_test([0, np.nan], 9), "row 1"),
        (lambda: rank_test([0, 1], 9, names=["a", "b"]), "names must be 1 different names"),
        (lambda: rank_test([0, 1], 9, weights=[1, 2]), "no weighted test"),
        (lambda: pit_values_test([0.5, 1.5]), "rank_test"),
        (lambda: pit_values_test([0.5], weights=[1]), "no weighted test"),
        (lambda: rank_test([0, 1], 9)["mu"], "there is no parameter 'mu'"),
        (lambda: posterior_test(np.zeros((5, 2)), np.zeros((9, 5, 2))), "np.moveaxis"),
        (lambda: posterior_test(np.zeros(5), np.zeros((5, 9)), references=np.zeros((5, 1))), "of two parameters"),
        (lambda: posterior_test({"a": np.zeros(5)}, {"b": np.zeros((5, 9))}), "no parameter is in both"),
        (lambda: posterior_test({"a": np.zeros(5)}, {"a": np.zeros((4, 9))}), "expected"),
    ],
)
def test_messages_cure(call, words):
    with pytest.raises(kc.InputError, match=words):
        call()


def rejected(test, tries):
    return sum(test(np.random.default_rng([k, 3]), k) <= 0.05 for k in range(tries))


LEVELS = {
    "few draws": lambda rng, seed: rank_test(rng.integers(0, 10, 30), 9, draws=39, rng=seed).pvalue,
    "two parameters": lambda rng, seed: rank_test(rng.integers(0, 6, (30, 2)), 5, draws=79, rng=seed).pvalue,
    "vectors": lambda rng, seed: vectors_test(*of_vectors(rng, np.asarray), draws=39, rng=seed).pvalue,
    "ties": lambda rng, seed: vectors_test(*of_vectors(rng, np.round), draws=39, rng=seed).pvalue,
    "weights": lambda rng, seed: (
        vectors_test(*of_vectors(rng, np.asarray), weights=rng.exponential(size=30), draws=39, rng=seed).pvalue
    ),
}


def of_vectors(rng, change):
    x = change(rng.normal(size=(30, 10, 2)))
    return x[:, 0], kc.Samples(x[:, 1:])


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LEVELS))
def test_levels_are_kept(name):
    tries = 300
    assert rejected(LEVELS[name], tries) <= binom.ppf(1 - 1e-3, tries, 0.05)


def ranks_of(rng, size, shift, width, n=300):
    y = shift + width * rng.normal(size=n)
    return (rng.normal(size=(n, size)) < y[:, None]).sum(axis=1)


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize(
    ("size", "shift", "width", "words", "never"),
    [
        (1, 0.4, 1.0, "shifted down", "too"),  # one draw tells no width
        (1, -0.8, 1.6, "shifted up", "too"),
        (2, 0.4, 1.0, "shifted down", "too"),
        (3, 0.8, 1.0, "shifted down", "too"),
        (3, 0.4, 0.5, "too wide", "narrow"),
        (3, 0.0, 1.6, "too narrow", "wide"),
        (19, 0.8, 1.0, "shifted down", "too"),
        (19, -0.4, 1.6, "too narrow", "wide"),
        (19, 0.4, 0.6, "too wide", "narrow"),
    ],
)
def test_a_width_is_told_beside_a_shift_only_where_there_is_one(size, shift, width, words, never):
    wrong = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        (one,) = rank_test(ranks_of(rng, size, shift, width), size, draws=99).parameters
        assert words in one.direction, one.direction
        wrong += never in one.direction
    assert wrong <= (never == "too")  # two standard errors are passed by chance once in twenty
