"""Draws depend on seed and draw alone; ranks count ties against rejection; min-p is exact."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference import DrawnValues, Draws, exact_null
from kernelcal.inference.draws import KeptDraws
from kernelcal.inference.laws.ranking import decisive, merged_pvalue, ranks
from kernelcal.runs import Run
from kernelcal.statistics import CallableStatistic, Merge, Prepared


def test_a_draw_does_not_depend_on_its_batch():
    whole = Draws(3, "draws of a test").uniforms(0, 20, 101)
    for start, stop in ((0, 1), (7, 13), (19, 20)):
        np.testing.assert_array_equal(Draws(3, "draws of a test").uniforms(start, stop, 101), whole[start:stop])
    np.testing.assert_array_equal(
        Draws(3, "draws of a test").uniforms(0, 20, 50), whole[:, :50]
    )  # nor a row on those after it
    assert not np.array_equal(Draws(4, "draws of a test").uniforms(0, 20, 101), whole)
    assert len(np.unique(whole)) == whole.size


@pytest.mark.parametrize("n", [30, 2000])
def test_kept_draws_are_those_that_are_made_anew(n):
    draws, kept, plain = 40, KeptDraws(3, "draws of a test", n, 40), Draws(3, "draws of a test")
    uniforms, share = plain.uniforms(0, draws, 2 * n + 1), np.linspace(0.001, 0.05, n)
    np.testing.assert_array_equal(kept.counts(3, 17, n), plain.resampled(3, 17, n)[0])
    for source, stop in ((plain, 25), (kept, 25), (kept, 25)):
        found = source.marked(5, stop, n, share)
        chosen = found.marks < share[found.rows]
        expected = []
        for draw in range(5, stop):
            place = (uniforms[draw, :n] * n).astype(int)
            copies = [j for j in range(n) if uniforms[draw, n + j] < share[place[j]]]
            ordered = sorted(copies, key=lambda j: place[j])
            expected += [(draw - 5, place[j], np.sum(place == place[j]), uniforms[draw, n + j]) for j in ordered]
        columns = (found.draws[chosen], found.rows[chosen], found.counts[chosen], found.marks[chosen])
        assert list(zip(*columns, strict=True)) == expected
        np.testing.assert_array_equal(found.last, uniforms[5:stop, -1])


def test_seeds_follow_spec_7():
    for rng in (5, np.random.SeedSequence(5)):
        same = Draws(rng, "draws of a test").uniforms(0, 2, 10)
        np.testing.assert_array_equal(same, Draws(5, "draws of a test").uniforms(0, 2, 10))
        assert not np.isin(same, Draws(5, "draws of an interval").uniforms(0, 2, 10)).any()
    moving = np.random.default_rng(5)
    first, second = (Draws(moving, "draws of a test").uniforms(0, 2, 10) for _ in range(2))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, Draws(np.random.default_rng(5), "draws of a test").uniforms(0, 2, 10))
    assert not np.array_equal(
        Draws(None, "draws of a test").uniforms(0, 2, 10), Draws(None, "draws of a test").uniforms(0, 2, 10)
    )


@pytest.mark.parametrize("m", [2, 3, 16, 17, 40])
def test_targets_follow_the_predictions(m):
    p = np.random.default_rng(0).dirichlet(np.full(m, 0.3), 5)
    p[0] = np.eye(m)[m - 1]
    y = Draws(1, "draws of a test").targets(kc.Categorical(p), 0, 4000)
    counts = np.stack([(y == k).mean(0) for k in range(m)], 1)
    assert np.abs(counts - p).max() < 4 * np.sqrt(0.25 / 4000)
    assert np.all(y[:, 0] == m - 1)


def test_labels_are_the_same_in_every_library(backend):
    p = np.random.default_rng(0).dirichlet(np.ones(3), 30)
    y = kc.Categorical(p).sample(0)[0]
    expected = kc.calibration_test(y, p, draws=99)
    assert kc.calibration_test(y, backend(p), draws=99).pvalue == expected.pvalue


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_ranks_count_what_is_at_least_as_large(values):
    x = np.array(values, dtype=float)
    expected = np.array([(x >= v).sum() for v in x])
    np.testing.assert_array_equal(ranks(x[:, None])[:, 0], expected)
    noisy = (x + 1) * (1 + 1e-16) + 1e-15 * np.arange(len(x))  # rounding must not break ties
    np.testing.assert_array_equal(ranks(noisy[:, None])[:, 0], expected)


def test_infinity_ranks_first():
    np.testing.assert_array_equal(ranks(np.array([[np.inf], [1.0], [np.inf], [2.0]]))[:, 0], [2, 4, 2, 3])


def test_one_statistic_is_the_monte_carlo_pvalue():
    values = np.random.default_rng(0).standard_normal((100, 1))
    assert merged_pvalue(values, ranks(values)) == (values[0] <= values).sum() / 100


def test_no_exceedance_is_one_over_draws_plus_one():
    values = np.r_[10.0, np.arange(100) / 100][:, None]
    assert merged_pvalue(values, ranks(values)) == pytest.approx(0.00990099, rel=1e-6)


def test_min_p_is_a_permutation_pvalue():
    """Over all choices of the observed row, at most a share a of the p-values is <= a: exactness, by enumeration."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        values = rng.integers(0, 4, (12, 3)).astype(float) * [1, 1, 0.1]
        pvalues = []
        for row in range(12):
            order = [row, *(k for k in range(12) if k != row)]
            pvalues.append(merged_pvalue(values[order], ranks(values[order])))
        for a in np.unique(pvalues):
            assert np.mean(np.array(pvalues) <= a) <= a + 1e-12


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize(
    "merge",
    [
        Merge(((0, 1), (2,))),
        Merge(((0,), (1,), (2,)), (1.0, 2.0, 0.5)),
        Merge(((0, 2), (1,)), (3.0, 1.0)),
        Merge(((1,), (2,))),
    ],
)
def test_groups_and_weights_stay_exact(merge):
    """The same by enumeration; and against the definition, written out."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = rng.integers(0, 4, (12, 3)).astype(float) * [1, 1, 0.1] + [0, 0, 3]
        pvalues = []
        for row in range(12):
            order = [row, *(k for k in range(12) if k != row)]
            moved = values[order]
            pvalues.append(merged_pvalue(moved, ranks(moved), merge))
            assert pvalues[-1] == pytest.approx(naive_merged(moved, merge), abs=1e-12)
        for a in np.unique(pvalues):
            assert np.mean(np.array(pvalues) <= a) <= a + 1e-12


def naive_merged(values, merge):
    """Rank, group by group, then over groups: entry by entry."""
    rows = range(len(values))
    deviation = (values - values.mean(axis=0)) / values.std(axis=0)
    rank = [[sum(values[b, s] >= values[a, s] for b in rows) for s in range(values.shape[1])] for a in rows]
    group_ranks, largest = [], []
    for group in merge.groups:
        small = [min(rank[a][s] for s in group) for a in rows]
        large = [max(deviation[a, s] for s in group) for a in rows]
        extreme = [
            [small[b] < small[a] or (small[b] == small[a] and large[b] >= large[a] - 1e-9) for b in rows] for a in rows
        ]
        group_ranks.append([sum(e) for e in extreme] if len(group) > 1 else small)
        largest.append(large)
    if len(merge.groups) == 1:
        return group_ranks[0][0] / len(values)
    pairs = list(zip(group_ranks, merge.weights, strict=True))
    score = [min(0 if g[a] == 1 else g[a] / w for g, w in pairs) for a in rows]
    large = [max(g[a] for g in largest) for a in rows]
    return sum(score[b] < score[0] or (score[b] == score[0] and large[b] >= large[0] - 1e-9) for b in rows) / len(
        values
    )


@pytest.mark.parametrize(
    ("groups", "weights", "words"),
    [
        ((), (), "groups must hold"),
        (((0,), (0, 1)), (), "groups must hold"),
        (((0,), ()), (), "groups must hold"),
        (((0,), (1,)), (1.0,), "weights must be"),
        (((0,),), (0.0,), "weights must be"),
    ],
)
def test_merges_that_are_none_are_refused(groups, weights, words):
    with pytest.raises(InputError, match=words):
        Merge(groups, weights)


def test_weights_leave_the_least_pvalue_to_all():
    """What no draw reaches is 1 / (B + 1) in the lightest group too, where it deviates most."""
    values = np.random.default_rng(3).standard_normal((200, 3))
    values[0] = [0.0, 0.0, 30.0]
    assert merged_pvalue(values, ranks(values), Merge(((0,), (1,), (2,)), (5.0, 2.0, 1.0))) == 1 / 200


def test_what_is_told_only_has_no_part_in_the_pvalue():
    values = np.random.default_rng(2).standard_normal((100, 2))
    values[0] = [0.0, 9.0]
    drawn = DrawnValues.of(values, merge=Merge(((0,),)))
    outcome = drawn.outcome(("counted", "told"))
    assert outcome.pvalue == (values[:, 0] >= 0).sum() / 100
    assert outcome.fired == "counted"
    assert [member.ranked for member in outcome.members] == [True, False]


def test_the_member_that_decides():
    """The smallest rank over its weight; of several that no draw reaches the one that deviates most, of any weight."""
    drawn = np.tile(np.arange(99.0)[:, None], (1, 3))
    merge = Merge(((0,), (1, 2)), (2.0, 1.0))

    def decides(*observed):
        values = np.vstack([observed, drawn])
        return decisive(values, ranks(values), merge)

    assert decides(89.5, 93.5, 0.0) == 0  # rank 10 of weight 2 is heard before rank 6 of weight 1
    assert decides(85.5, 93.5, 0.0) == 1  # and rank 14 after it
    assert decides(85.5, 0.0, 93.5) == 2
    assert decides(150.0, 200.0, 0.0) == 1  # both at the least rank
    assert decides(150.0, 0.0, 120.0) == 0
    unweighted = np.vstack([[89.5, 93.5, 0.0], drawn])
    assert decisive(unweighted, ranks(unweighted)) == 1


def test_a_member_that_stands_alone_reaches_the_smallest_pvalue():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((1000, 6))
    values[0] = [0, 0, 50, 0, 0, 0]
    assert merged_pvalue(values, ranks(values)) == 0.001


def first_label(y, predictions):
    return y[0] + y.sum() / 100


def test_exact_by_enumeration_of_a_tiny_problem():
    """Three binary rows: the null has eight points, and the test's p-value approaches the enumerated one."""
    p = np.array([0.2, 0.5, 0.9])
    batch = kc.Bernoulli(p)
    atoms = np.array(list(itertools.product([0, 1], repeat=3)))
    weights = np.prod(np.where(atoms == 1, p, 1 - p), axis=1)
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3))
    values = np.array([float(statistic(y, batch)) for y in atoms])
    for y, value in zip(atoms, values, strict=True):
        expected = weights[values >= value - 1e-12].sum()
        found = kc.calibration_test(y, batch, statistic=statistic, draws=4000, early_stopping=False)
        assert found.pvalue == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 4000))
        assert found.statistic == pytest.approx(value, rel=1e-12)


@pytest.mark.slow
def test_batches_memory_and_engine_tiles_change_no_number(monkeypatch):
    import kernelcal.inference.laws.exact as exact

    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 60)
    y = kc.Categorical(p).sample(rng)[0]
    y[:8] = 0
    reference = kc.calibration_test(y, p, early_stopping=False)
    for memory in (1, 10**5, 10**7):
        monkeypatch.setattr(exact, "_MEMORY", memory)
        assert kc.calibration_test(y, p, early_stopping=False).to_dict() == approx_dict(reference.to_dict())
    for engine in (kc.ExactPairs(rows=7, columns=9, threads=3), kc.ExactPairs(rows=100, columns=100, threads=1)):
        again = kc.calibration_test(y, p, early_stopping=False, statistic=kc.DefaultFamily(engine=engine))
        assert again.pvalue == reference.pvalue
        assert [m.pvalue for m in again.members] == [m.pvalue for m in reference.members]


def approx_dict(d):
    members = [
        {**m, "value": pytest.approx(m["value"], rel=1e-9), "deviation": pytest.approx(m["deviation"], rel=1e-6)}
        for m in d["members"]
    ]
    return {**d, "members": members}


def test_early_stopping_looks_and_rule():
    batch = kc.Bernoulli(np.full(50, 0.5))
    prepared = CallableStatistic(first_label).prepare(batch)
    case = Case(np.zeros(50, int), batch)
    low = exact_null(prepared, case, Run())
    assert (low.draws, low.stopped_early) == (99, True)
    assert low.pvalue > 0.2
    whole = exact_null(prepared, case, Run(early_stopping=False), Draws(0, "draws of a test"))
    assert (whole.draws, whole.stopped_early) == (999, False)
    np.testing.assert_array_equal(low.values, whole.values[:100])
    high = exact_null(prepared, Case(np.ones(50, int), batch), Run())
    assert high.draws == 999
    assert high.pvalue == 0.001


def test_stopping_early_keeps_the_level_by_enumeration():
    """For p-values on a grid of looks: P(p <= a) <= a for every a, with uniform exceedance probabilities."""
    rng = np.random.default_rng(0)
    reported = []
    for _ in range(4000):
        draws = rng.random(400)
        observed = draws[0]
        for look in (100, 200, 400):
            p = (draws[:look] >= observed).sum() / look
            if p > 0.2:
                break
        reported.append(p)
    for a in (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8):
        assert np.mean(np.array(reported) <= a) <= a + 3 * np.sqrt(a * (1 - a) / 4000)


def test_progress_is_reported():
    seen = []
    kc.calibration_test([0, 1, 1], [0.2, 0.7, 0.4], draws=50, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (50, 50)


def test_a_pvalue_below_the_bound_needs_all_draws():
    """Looks with p in (0.02, 0.2] go on: stopping there would break the level."""
    batch = kc.Bernoulli(np.full(40, 0.5))
    found = 0
    for seed in range(40):
        y = batch.sample(seed)[0].astype(int)
        result = kc.calibration_test(y, batch, statistic=lambda y, p: float(y.sum()), rng=seed)
        if result.stopped_early:
            assert result.pvalue > 0.2
        else:
            assert result.draws == 999
            found += 0.02 < result.pvalue <= 0.2
    assert found >= 2


def test_float32_predictions_tie_like_float64():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = np.repeat(rng.dirichlet(np.ones(3), 3).astype(np.float32), 4, axis=0)
        p = (p.astype(float) / p.sum(1, keepdims=True, dtype=float)).astype(np.float32)
        y = kc.Categorical(p).sample(rng)[0]
        statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3))
        single = kc.calibration_test(y, p, statistic=statistic, draws=199, early_stopping=False)
        double = kc.calibration_test(y, p.astype(float), statistic=statistic, draws=199, early_stopping=False)
        assert single.pvalue == double.pvalue


def test_standardising_survives_infinity_and_constants():
    from kernelcal.inference.laws.ranking import standardised

    np.testing.assert_array_equal(standardised(np.array([np.inf, 0.0, 0.0])), [np.inf, 0, 0])
    np.testing.assert_array_equal(standardised(np.zeros(3)), [0, 0, 0])
    np.testing.assert_allclose(standardised(np.array([np.inf, 1.0, 3.0])), [np.inf, -1, 1])


@pytest.mark.parametrize("n", [30, 20_000])
def test_numbers_that_threads_draw_are_those_of_single_draws(n):
    rng = np.random.default_rng(0)
    batch = kc.Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))
    source, many = Draws(3, "draws"), 40
    found = source.targets(batch, 5, 5 + many)
    one_by_one = np.concatenate([source.targets(batch, b, b + 1) for b in range(5, 5 + many)])
    np.testing.assert_array_equal(found, one_by_one)


class ByPlace(Prepared):
    """How many events there are among the first and among the last rows, and where a draw stands in its batch."""

    names, engine = ("first", "last"), "a test"

    def __init__(self, place, looks=None):
        self.place, self.own = place, looks

    @property
    def looks(self):
        return super().looks if self.own is None else self.own

    def values(self, targets):
        events = np.stack([targets[:, :3].sum(axis=1), targets[:, 3:].sum(axis=1)], axis=1)
        place = np.arange(len(targets), 0, -1)[:, None] / len(targets)
        return events + self.place * place


@pytest.mark.parametrize("groups", [False, True])
def test_targets_that_are_the_same_tie_wherever_a_draw_stands(groups):
    """As products of matrices values change with the place in a batch: of the first one, the observed, most."""
    batch = kc.Bernoulli(np.repeat([0.01, 0.3], 3))
    looks = ((slice(0, 3), 1), (slice(3, 6), 1)) if groups else ((slice(0, 6), 2),)
    case, run = Case(np.zeros(6, dtype=int), batch), Run(draws=199, early_stopping=False)
    found = exact_null(ByPlace(1e-3, looks if groups else None), case, run)
    targets = np.concatenate([case.targets[None], Draws(0, "draws of a test").targets(batch, 0, 199)])
    first = 0
    for place, number in looks:
        same = (targets[:, place] == targets[0, place]).all(axis=1)
        assert 40 < same.sum() < 200
        for k in range(first, first + number):
            assert set(found.rank[same, k]) == {found.rank[0, k]}
        first += number


def test_labels_that_are_nearly_certain_and_come_say_nothing():
    """Features in single precision: every draw had the observed labels, and p was 0.5."""
    n = 17_000
    p = np.full((n, 3), 1e-10)
    labels = np.random.default_rng(0).integers(0, 3, n)
    p[np.arange(n), labels] = 1 - 2e-10
    p[:, 0] *= np.random.default_rng(1).uniform(1 - 1e-9, 1, n)
    test = kc.calibration_test(labels, p, normalize=True, draws=99)
    assert test.engine.startswith("Nystrom")
    assert test.pvalue == 1
