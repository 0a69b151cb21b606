"""Groups: the whole family in each, exact family-wise p-values, figures with intervals, columns that are cut."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import binom, binomtest, norm, poisson

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.explanation import by_group, checked_groups, columns_of_text, explain
from kernelcal.explanation.differing import (
    _ClassModel as ClassModel,
    _common as common_fit,
    _of_scores as of_scores,
    _of_shares as of_shares,
    difference_of,
)
from kernelcal.explanation.group_test import Null, prepared_groups
from kernelcal.explanation.sizes import sizes_of
from kernelcal.inference.laws.ranking import family_wise_pvalues, merged_ranks, ranks, standardised
from kernelcal.runs import Run
from kernelcal.statistics import Merge


def one_probability(n, seed):
    rng = np.random.default_rng([n, seed])
    p = rng.uniform(size=n)
    return (rng.random(n) < p).astype(int), p


def naive_merged(values, merge):
    """Rank of every row by its definition: smallest weighted rank over groups, then largest standardised value."""
    rows = range(len(values))
    z = np.stack([(column - column.mean()) / column.std() for column in values.T], axis=1)
    keys = [[] for _ in rows]
    far = np.full(len(values), -np.inf)
    for group, weight in zip(merge.groups, merge.weights, strict=True):
        own = [min(int(sum(values[:, k] >= values[b, k])) for k in group) for b in rows]
        top = [max(z[b, k] for k in group) for b in rows]
        place = [sum((own[a], -top[a]) <= (own[b], -top[b]) for a in rows) for b in rows]
        far = np.maximum(far, top)
        for b in rows:
            keys[b].append(0.0 if place[b] == 1 else place[b] / weight)
    key = [(min(keys[b]), -far[b]) for b in rows]
    return np.array([sum(key[a] <= key[b] for a in rows) for b in rows]), far


def naive_family_wise(rank, far):
    """Step-down min-p by its definition, as the largest of p over the columns that are not surer."""
    rows, columns = rank.shape
    order = sorted(range(columns), key=lambda g: (rank[0, g], -far[0, g]))
    found, largest = {}, 0.0
    for k, g in enumerate(order):
        rest = order[k:]
        most = [min((rank[b, s], -far[b, s]) for s in rest) for b in range(rows)]
        largest = max(largest, sum(m <= (rank[0, g], -far[0, g]) for m in most) / rows)
        found[g] = largest
    return [found[g] for g in range(columns)]


@pytest.mark.parametrize(
    "merge", [Merge.of_each(4), Merge(((0,), (1, 2), (3,)), (1.0, 1.4, 1.0)), Merge(((0, 1, 2),))], ids=str
)
def test_family_wise_pvalues_of_merged_families_against_their_definition(merge):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        tables = [rng.exponential(size=(40, 4)) * [1, 10, 0.1, 1] for _ in range(5)]
        tables[1][0] += [0, 20, 0, 3]
        tables[3][0, 0] += 6
        found = [merged_ranks(t, ranks(t), merge) for t in tables]
        for table, (rank, far) in zip(tables, found, strict=True):
            expected, expected_far = naive_merged(table, merge)
            np.testing.assert_array_equal(rank, expected)
            np.testing.assert_allclose(far, expected_far, rtol=1e-9)
        rank, far = (np.stack(columns, axis=1) for columns in zip(*found, strict=True))
        np.testing.assert_allclose(family_wise_pvalues(rank, far), naive_family_wise(rank, far))


def test_family_wise_pvalues_of_single_statistics_and_ties():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.exponential(size=(40, 4)) * [1, 10, 0.1, 1]
        values[0] += [0, 20, 0, 3]
        values[:, 3] = np.round(values[:, 3])
        rank, far = ranks(values), np.stack([standardised(column) for column in values.T], axis=1)
        np.testing.assert_allclose(family_wise_pvalues(rank, far), naive_family_wise(rank, far))
    one = rng.normal(size=(30, 1))
    assert family_wise_pvalues(ranks(one), one)[0] == ranks(one)[0, 0] / 30
    same = np.zeros((10, 3))
    np.testing.assert_array_equal(family_wise_pvalues(ranks(same), same), 1.0)


def test_what_others_do_does_not_help_a_group():
    """The p-value of a group is at least that over the groups that are calibrated: strong control."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rank = np.stack([rng.permutation(60) + 1 for _ in range(6)], axis=1)
        far = -rank / 60.0
        rank[0, 3:] = 1  # three groups are wrong
        found = family_wise_pvalues(rank, far)
        calibrated = family_wise_pvalues(rank[:, :3], far[:, :3])
        assert (found[:3] >= calibrated - 1e-12).all()
        assert (found >= 1 / 60).all()


@pytest.mark.slow
def test_every_group_has_the_family_of_a_test_of_its_own():
    """Members of a group are those of the test of its rows, for the same draws and lengthscales."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 90)
    y = kc.Categorical(p).sample(rng)[0]
    case = Case.of(y, kc.Categorical(p))
    null = Null.of(case, Run(draws=49))
    grouping = checked_groups({"a": np.arange(90) % 3, "b": np.arange(90) < 30}, 90)
    prepared = prepared_groups(null, grouping.groups)
    values = null.ranked(prepared).values
    family = kc.DefaultFamily().resolved(case.predictions)
    for group, own in zip(grouping.groups, prepared.ranked(values), strict=True):
        alone = family.prepare(case.predictions[group.rows])
        drawn = null.source.targets(case.predictions, 0, 49)
        targets = np.concatenate([y[None], drawn])[:, group.rows]
        np.testing.assert_allclose(own.values, alone.values(targets), rtol=1e-9, atol=1e-12)
    for (place, number), group, own in zip(prepared.looks, grouping.groups, prepared.families, strict=True):
        assert number == len(own.names)  # draws that are the same in these rows tie there
        np.testing.assert_array_equal(place, group.rows)
    found = by_group(case, grouping, Run(draws=49))
    assert {g.own_pvalue for g in found.findings} == {own.pvalue for own in prepared.ranked(values)}
    assert all(g.pvalue >= g.own_pvalue for g in found.findings)


def rejected(y, batch, groups, draws, seed, alpha=0.05):
    """Groups that are rejected, without figures of them."""
    null = Null.of(Case.of(y, batch), Run(draws=draws, rng=seed))
    prepared = prepared_groups(null, checked_groups(groups, len(y)).groups)
    pvalues = prepared.corrected(prepared.ranked(null.ranked(prepared).values))
    return {g.name for g, p in zip(prepared.groups, pvalues, strict=True) if p <= alpha}


def too_narrow():
    rng = np.random.default_rng(0)
    mean, group, std = rng.normal(15, 5, 900), np.repeat(["a", "b", "c"], 300), np.repeat([1, 1.5, 2.0], 300)
    return mean + std * rng.normal(size=900), kc.Normal(mean, 0.8 * std), group


@pytest.mark.slow
def test_groups_with_a_wrong_spread_are_found_as_surely_as_alone():
    y, predictions, group = too_narrow()
    found = explain(y, predictions, groups=group, draws=499)
    assert {g.pvalue for g in found.groups} == {0.002}
    for g in found.groups:
        rows = group == g.name
        alone = kc.calibration_test(y[rows], predictions[np.flatnonzero(rows)], draws=499)
        assert alone.pvalue == 0.002
        assert g.directions[0].startswith("predictions too narrow (outcomes spread 1.")
    assert found.by_group.verdict.startswith("3 of 3 groups are rejected: ")


@pytest.mark.slow
def test_sharpened_classes_are_found_as_surely_as_alone():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), 900)
    y = kc.Categorical(p).sample(rng)[0]
    sharp = p**1.5 / (p**1.5).sum(axis=1, keepdims=True)
    group = np.repeat(["a", "b", "c"], 300)
    found = explain(y, sharp, groups=group, draws=499)
    for g in found.groups:
        rows = group == g.name
        assert kc.calibration_test(y[rows], sharp[rows], draws=499).pvalue <= 0.004
        assert g.pvalue <= 0.01
        assert "over-confident" in g.directions[0]


def test_all_directions_of_a_group_are_told_the_clearest_first():
    rng = np.random.default_rng(5)
    mean, group = rng.normal(size=600), np.repeat(["fine", "bad"], 300)
    bad = group == "bad"
    y = mean + np.where(bad, 0.6, 0) + np.where(bad, 1.5, 1.0) * rng.normal(size=600)
    found = explain(y, kc.Normal(mean, 1.0), groups=group, draws=199)
    words = found.group("bad").directions
    assert len(words) == 2
    assert any("shifted down" in word for word in words)
    assert any("too narrow" in word for word in words)
    assert all(word in found.summary().replace("\n" + " " * 12, " ") for word in words)
    assert found.group("fine").directions == ()


@pytest.mark.slow
def test_a_level_of_groups_that_overlap_and_are_small():
    """Family-wise level, of which binomial bounds are taken, with data of NumPy alone."""
    found, repetitions = 0, 150
    for repetition in range(repetitions):
        rng = np.random.default_rng([11, repetition])
        p = rng.uniform(size=60)
        y = (rng.random(60) < p).astype(int)
        groups = {"site": np.arange(60) % 4, "low": p < 0.3, "few": np.arange(60) < 5}
        found += bool(rejected(y, kc.Bernoulli(p), groups, 59, repetition))
    assert binom.ppf(0.0005, repetitions, 0.05) <= found <= binom.ppf(0.9995, repetitions, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classes", "numbers", "draws", "quantiles"])
def test_groups_keep_their_level_whatever_the_others_are(kind):
    """One group of four is wrong, the chance that another is rejected is at most the level."""
    false, repetitions = 0, 150
    levels = np.array([0.1, 0.5, 0.9])
    for repetition in range(repetitions):
        rng = np.random.default_rng([12, repetition, len(kind)])
        group, mean = np.repeat(["bad", "a", "b", "c"], [60, 40, 20, 60]), rng.normal(size=180)
        bad = group == "bad"
        z = rng.normal(size=180)
        y = mean + np.where(bad, 1.5, 0) + z
        if kind == "classes":
            p = rng.dirichlet(np.ones(3), 180)
            true = np.where(bad[:, None], p[:, ::-1], p)
            y = (rng.random(180)[:, None] > true.cumsum(axis=1)[:, :2]).sum(axis=1)
            batch = kc.Categorical(p)
        elif kind == "numbers":
            batch = kc.Normal(mean, 1.0)
        elif kind == "draws":
            batch = kc.Samples(mean[:, None] + rng.normal(size=(180, 6)))
        else:
            batch = kc.Quantiles(mean[:, None] + norm.ppf(levels), levels)
        names = rejected(y, batch, group, 99, repetition, 0.1)
        assert "bad" in names or repetition > 20
        false += bool(names - {"bad"})
    assert false <= binom.ppf(0.9995, repetitions, 0.1)


@pytest.mark.slow
def test_groups_keep_their_family_wise_level_at_200_rows():
    found = 0
    for repetition in range(200):
        y, p = one_probability(200, repetition)
        groups = {"site": np.arange(200) % 5, "age": np.digitize(p, [0.1, 0.5])}
        found += bool(rejected(y, kc.Bernoulli(p), groups, 99, repetition))
    assert binom.ppf(0.0005, 200, 0.05) <= found <= binom.ppf(0.9995, 200, 0.05)


@pytest.mark.slow
def test_one_bad_group_of_ten_is_found_and_no_other():
    found, false = 0, 0
    for repetition in range(40):
        rng = np.random.default_rng([7, repetition])
        p, site = rng.uniform(size=400), np.arange(400) % 10
        y = (rng.random(400) < np.where(site == 3, 0.4 * p, p)).astype(int)
        names = rejected(y, kc.Bernoulli(p), site, 199, repetition)
        if repetition == 0:
            result = explain(y, p, groups=site, draws=199)
        found += "3" in names
        false += bool(names - {"3"})
    assert result.groups[0].name == "3"
    assert "class 1 is over-predicted" in result.group(3).sentence
    assert found >= 30, found
    assert false <= binom.ppf(0.9995, 40, 0.05)


def test_groups_whose_rows_have_no_weight():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=40)
    y, kept = (rng.uniform(size=40) < p).astype(int), np.arange(40) % 2
    found = explain(y, p, groups=np.where(kept, "kept", "left out"), weights=kept.astype(float), draws=19)
    left_out = found.groups[-1]
    assert (left_out.name, left_out.gap, left_out.pvalue, left_out.contribution) == ("left out", None, None, 0.0)
    assert "not tested" in str(found.by_group.notes)
    assert "left out" in repr(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_small_groups_are_said_not_to_be_tested():
    y, p = one_probability(30, 8)
    names = ["alone", *["rest"] * 29]
    found = explain(y, p, groups=names, draws=19)
    alone = found.group("alone")
    assert (alone.n, alone.pvalue, alone.skce) == (1, None, None)
    assert found.groups[-1] is alone
    assert "not tested, since fewer than two of their rows count: group alone" in found.by_group.notes
    assert alone.gap == pytest.approx(y[0] - p[0])
    assert found.group("rest").contribution + alone.contribution == pytest.approx(float(found.estimate))
    weighted = explain(y, p, groups=np.arange(30) // 10, weights=np.r_[0, np.ones(29)] * (np.arange(30) != 1), draws=19)
    assert weighted.group(0).pvalue is not None
    singles = explain(y, p, groups=np.arange(30), draws=19)
    assert len(singles.by_group.notes) == 1
    assert "group 4 and 25 more" in singles.by_group.notes[0]
    assert singles.by_group.verdict == "No group was tested."


def test_groups_of_many_kinds():
    y, p = one_probability(12, 9)
    values = ["a", "b", "a", "b"] * 3
    expected = [g.to_dict() for g in explain(y, p, groups=values, draws=19).groups]
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    kinds = [
        np.array(values),
        np.array(values, dtype=object),
        np.array(values)[:, None],
        pandas.Series(values, index=range(5, 17)),
        polars.Series(values),
        {"group": tuple(values)},
        pandas.DataFrame({"group": values}),
        polars.DataFrame({"group": values}),
        pytest.importorskip("pyarrow").table({"group": values}),
    ]
    for kind in kinds:
        assert [g.to_dict() for g in explain(y, p, groups=kind, draws=19).groups] == expected
    mixed = explain(y, p, groups=[1, "1", True, 1.0] * 3, draws=19)
    assert sorted((g.name, g.n) for g in mixed.groups) == [("'1'", 3), ("1", 6), ("True", 3)]
    two = explain(y, p, groups={"a": values, "b": np.arange(12) % 2}, draws=19)
    assert {g.column for g in two.groups} == {"a", "b"}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 9 + [None], r"row 9 of column 'group' is missing: give such rows a name of their own.*'unknown'"),
        ({"age": [1.0] * 8 + [np.nan, 2.0]}, r"row 8 of column 'age' is missing"),
        ({"age": [1.0] * 8 + [np.nan, 2.5]}, r"row 8 of column 'age' is missing"),
        (["a"] * 9, r"column 'group' has 9 values, and there are 10 rows"),
        (np.zeros((10, 2)), r"column 'group' has shape \(10, 2\).*mapping, \{'age': age, 'site': site\}"),
        ("abcdefghij", r"must hold one value for each of the 10 rows, got 'abcdefghij'"),
        (3, "must hold one value for each of the 10 rows, got 3"),
        ({}, "groups holds no column"),
        ([(1, 2)] * 10, r"row 0 of column 'group' is a tuple, \(1, 2\): groups are text, numbers or booleans"),
    ],
)
def test_groups_that_cannot_be_used(groups, message):
    with pytest.raises(InputError, match=message):
        explain(np.arange(10) % 2, np.full(10, 0.5), groups=groups)


@pytest.mark.slow
def test_numbers_are_cut_at_their_quartiles_and_it_is_said():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 700)
    found = checked_groups({"age": age}, 700)
    names = [g.name for g in found.groups]
    starts = [int(g.name.split(" to ")[0]) for g in found.groups]
    assert names[0].startswith("18 to ")
    assert names[-1].endswith(" to 89")
    assert found.notes == (
        f"age was cut at {starts[1]}, {starts[2]}, {starts[3]}; pass ranges of your own to choose others",
    )
    for g, low, high in zip(found.groups, starts, [*(s - 1 for s in starts[1:]), 89], strict=True):
        assert g.name == f"{low} to {high}"
        np.testing.assert_array_equal(g.rows, np.flatnonzero((age >= low) & (age <= high)))
        assert abs(len(g.rows) - 175) < 20
    p = rng.uniform(size=700)
    text = explain((rng.random(700) < p).astype(int), p, groups={"age": age}, draws=19).summary()
    assert "age was cut at" in text
    assert f"age: {names[0]}" in text


def test_numbers_that_are_tied_stay_together():
    dose = np.repeat([0.0, 0.5, 2.25], [70, 20, 10])
    found = checked_groups({"dose": dose}, 100)
    assert [(g.name, len(g.rows)) for g in found.groups] == [("0", 70), ("0.5 to 2.25", 30)]
    assert found.notes == ("dose was cut at 0.5; pass ranges of your own to choose others",)
    one = checked_groups({"dose": np.full(10, 0.5)}, 10)
    assert [(g.name, len(g.rows)) for g in one.groups] == [("0.5", 10)]
    assert one.notes == ("dose holds one number alone: it is one group",)
    near = checked_groups({"x": 1 + 1e-7 * np.arange(40)}, 40)
    assert next(g.name for g in near.groups) == "1 to 1.0000009"
    mixed = checked_groups({"age": [*range(18, 98), "unknown"]}, 81)
    assert [g.name for g in mixed.groups] == ["18 to 37", "38 to 57", "58 to 77", "78 to 97", "unknown"]
    few = checked_groups({"stars": [1, 2, 3.0, 5] * 5}, 20)
    assert [g.name for g in few.groups] == ["1", "2", "3", "5"]
    assert few.notes == ()


def test_texts_that_name_rows_are_refused_with_a_cure():
    with pytest.raises(
        InputError, match=r"column 'id' holds 60 different texts in 60 rows, such as 'row 0'.*many rows"
    ):
        checked_groups({"id": [f"row {k}" for k in range(60)]}, 60)
    assert len(checked_groups({"site": [f"site {k % 25}" for k in range(60)]}, 60).groups) == 25
    assert checked_groups(None, 3).groups == ()


def test_columns_of_a_text_file():
    read = columns_of_text(
        {
            "age": [*map(str, range(18, 58)), "missing"],
            "zip": [f"0{k}" for k in range(41)],
            "stars": ["1", "2", "5"] * 13 + ["1", "2"],
            "dose": ["0.5", "1"] * 20 + ["2.25"],
        }
    )
    assert read["age"][:2] == [18, 19]
    assert read["age"][-1] == "missing"
    assert read["zip"][3] == "03"
    assert read["stars"][:3] == ["1", "2", "5"]
    assert read["dose"][:2] == [0.5, 1]
    assert columns_of_text(None) is None


def test_figures_of_groups_against_their_definition():
    y, p = one_probability(400, 2)
    group = np.where(np.arange(400) < 30, "few", "many")
    found = explain(y, p, groups=group, draws=49).group("few")
    rows = group == "few"
    own_y, own_p = y[rows], p[rows]
    assert found.observed == pytest.approx(own_y.mean())
    assert found.predicted == pytest.approx(own_p.mean())
    assert found.gap == pytest.approx(own_y.mean() - own_p.mean())
    low, high = binomtest(int(own_y.sum()), 30).proportion_ci(0.95, method="exact")
    assert found.gap_interval == pytest.approx((low - own_p.mean(), high - own_p.mean()))
    assert found.unseen == pytest.approx(norm.ppf(0.975) * np.sqrt((own_p * (1 - own_p)).sum()) / 30)
    scores = -np.log(np.where(own_y == 1, own_p, 1 - own_p))
    assert found.score == pytest.approx(scores.mean())
    low, high = found.score_interval
    half = norm.ppf(0.975) * scores.std(ddof=1) / np.sqrt(30)
    assert low + high == pytest.approx(2 * scores.mean())
    assert 0.9 * half < (high - low) / 2 < 1.6 * half
    kernel = kc.SKCE(prediction_kernel=kc.Laplacian(kc.median_lengthscale(kc.Bernoulli(p))))
    assert found.skce == pytest.approx(float(kernel(own_y, own_p)))
    wanted = kc.confidence_interval(own_y, own_p, statistic=kernel, pvalue=found.own_pvalue)
    assert found.root_interval == pytest.approx(wanted.root)


def test_figures_of_numbers_quantiles_vectors_and_weights():
    rng = np.random.default_rng(4)
    mean, half = rng.normal(size=100), np.arange(100) % 2
    y = mean + rng.normal(size=100)
    found = explain(y, kc.Normal(mean, 1.0), groups=half, draws=19).group(0)
    rows = half == 0
    z = (y - mean)[rows]
    assert (found.observed, found.predicted) == pytest.approx((y[rows].mean(), mean[rows].mean()))
    wanted = norm.interval(0.95, z.mean(), z.std(ddof=1) / np.sqrt(50))
    assert found.gap_interval == pytest.approx(wanted)
    assert found.unseen == pytest.approx(norm.ppf(0.975) / np.sqrt(50))
    assert found.score == pytest.approx(kc.statistics.crps(y[rows], kc.Normal(mean[rows], 1.0)))
    levels = np.array([0.1, 0.5, 0.9])
    batch = kc.Quantiles(mean[:, None] + norm.ppf(levels), levels)
    own = explain(y, batch, groups=half, draws=19)
    quantiles = own.group(0)
    above = (y[rows, None] > batch.values[rows]).mean()
    assert (quantiles.observed, quantiles.predicted) == pytest.approx((above, 0.5))
    assert quantiles.score == pytest.approx(
        kc.statistics.weighted_interval_score(y[rows], batch[np.flatnonzero(rows)]).value
    )
    assert own.by_group.score_name == "weighted interval score"
    weighted = explain((y > 0).astype(int), norm.cdf(mean), groups=half, weights=rng.uniform(size=100), draws=19).group(
        0
    )
    assert (weighted.gap_interval, weighted.score_interval) == (None, None)
    assert weighted.root_interval is not None
    assert weighted.unseen > 0


def test_small_groups_are_said_to_show_gross_errors_alone():
    y, p = one_probability(312, 5)
    found = explain(y, p, groups=np.where(np.arange(312) < 12, "west", "east"), draws=19)
    west = found.group("west")
    assert west.few
    assert not found.group("east").few
    words = f"only gross errors would show in group west (12 rows: gaps below {west.unseen:.2g})"
    assert words in " ".join(found.summary().split())
    assert words in found.to_dict()["groups"]["notes"]


def test_a_gap_that_is_said_not_to_show_does_not():
    """What calibrated outcomes reach in about alpha of data sets, by draws of NumPy."""
    y, p = one_probability(30, 7)
    unseen = explain(y, p, groups=["one"] * 30, draws=19).group("one").unseen
    drawn = np.random.default_rng(0).random((4000, 30)) < p
    assert np.mean(np.abs(drawn.mean(axis=1) - p.mean()) > unseen) == pytest.approx(0.05, abs=0.02)


def in_two(n, seed, scale_of_second=1.0, common=1.0):
    """Normal predictions in two groups with other means; outcomes too wide alike, or in the second group."""
    rng = np.random.default_rng([n, seed])
    group = np.arange(n) % 2
    mean, std = rng.normal(group, 1.0), rng.uniform(0.5, 2, n)
    scale = common * np.where(group == 1, scale_of_second, 1.0)
    return mean + std * scale * rng.normal(size=n), kc.Normal(mean, std), group


def difference(y, batch, group, seed=0, draws=199):
    case = Case.of(y, batch)
    return difference_of(case, "site", checked_groups({"site": group}, len(y)).groups, Run(draws=draws, rng=seed))


@pytest.mark.slow
def test_a_miscalibration_that_groups_share_is_no_difference():
    rejected = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        group = np.arange(300) % 3
        p = rng.beta(1 + group, 2)
        shifted = p**2  # of all groups alike, and their predictions differ
        rejected += difference((rng.random(300) < shifted).astype(int), p, group, seed).pvalue <= 0.05
        rejected += difference(*in_two(300, seed, common=1.5), seed).pvalue <= 0.05
    assert rejected <= binom.ppf(0.9995, 120, 0.05)


def test_groups_that_differ_are_found_and_told_in_what():
    found = difference(*in_two(600, 0, scale_of_second=1.6))
    assert found.pvalue <= 0.01
    assert (
        found.in_words(0.05)
        == f"the 2 groups of site differ from each other in their width (p = {found.pvalue:.3g}, approximate)"
    )
    rng = np.random.default_rng(0)
    p, group = rng.uniform(0.05, 0.95, 800), np.arange(800) % 2
    biased = np.where(group == 1, np.clip(p + 0.2, 0, 1), p)
    assert difference((rng.random(800) < biased).astype(int), p, group).signal == "bias"
    flat = np.where(group == 1, 0.5, p)
    found = difference((rng.random(800) < flat).astype(int), p, group)
    assert (found.signal, found.pvalue <= 0.01) == ("slope", True)
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    y, batch, group = in_two(800, 1, scale_of_second=1.6)
    quantiles = kc.Quantiles(batch.mean[:, None] + batch.std[:, None] * norm.ppf(levels), levels)
    assert difference(y, quantiles, group).pvalue <= 0.01


def test_bias_beside_a_common_fit_against_the_score_test_of_a_logistic_regression():
    """The form of the bias is Rao's score statistic of group intercepts, by its definition."""
    rng = np.random.default_rng(2)
    p, own = rng.uniform(0.1, 0.9, 200), np.eye(3)[np.arange(200) % 3]
    hit = rng.random(200) < p
    forms = of_shares(hit, p, own, 5, rng)
    x = np.log(p / (1 - p))
    basis = np.column_stack([np.ones(200), x, *(np.maximum(x - k, 0) for k in np.quantile(x, [0.25, 0.5, 0.75]))])
    q = common_fit(basis, x, hit.astype(float))
    v = q * (1 - q)
    full = np.column_stack([basis, own[:, 1:]])
    information = full.T @ (full * v[:, None])
    score = full.T @ (hit - q)
    a = information[:5, :5]
    b = information[:5, 5:]
    cleared = score[5:] - b.T @ np.linalg.solve(a, score[:5])
    covariance = information[5:, 5:] - b.T @ np.linalg.solve(a, b)
    assert forms[0, 0] == pytest.approx(cleared @ np.linalg.solve(covariance, cleared), rel=1e-6)


def test_bias_and_width_of_numbers_beside_a_common_fit_by_least_squares():
    rng = np.random.default_rng(3)
    where, own = rng.normal(size=(150, 2)), np.eye(3)[np.arange(150) % 3]
    z = 0.3 * where[:, 0] + np.exp(0.5 * where[:, 1]) * rng.normal(size=150)
    a, b = (where - where.mean(axis=0)).T
    basis = np.column_stack([np.ones(150), a, b, a * a, a * b, b * b])

    def less_fit(values):
        return values - basis @ np.linalg.lstsq(basis, values, rcond=None)[0]

    e = less_fit(z)
    width = np.abs(e) - less_fit(np.abs(e))
    e, left = e / np.maximum(width, 0.2 * np.abs(e).mean()), less_fit(own)
    wanted = []
    for values in (e - e.mean(), np.abs(e) - np.abs(e).mean()):
        sums = values @ left
        wanted.append(sums @ np.linalg.pinv(left.T @ left * values.var(), rcond=1e-8) @ sums)
    np.testing.assert_allclose(of_scores(z, where, own, 3, rng)[0], wanted, rtol=1e-8)


def stacked(sides, parts, n, m):
    """Features of some sides as columns that are 0 but at one class of each row, shape (n, m, features)."""
    whole = []
    for side, part in zip(sides, parts, strict=True):
        columns = np.zeros((n, m, part.shape[1]))
        for i in range(n):
            columns[i, side.chosen[i]] = part[i]
        whole.append(columns)
    return np.concatenate(whole, axis=2)


def test_what_groups_add_to_classes_is_the_score_test_of_a_multinomial_regression():
    rng = np.random.default_rng(5)
    n, own = 240, np.eye(3)[np.arange(240) % 3]
    p = rng.dirichlet([2.0, 1.0, 0.7], n)
    y = (rng.random((n, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    model = ClassModel(kc.Categorical(p), y)
    assert (list(model.own), model.in_words) == ([0, 1], "the first choice and classes 0, 1 of 3")
    m = model.q.shape[1]
    design = stacked(model.sides, [side.basis for side in model.sides], n, m)
    start = np.where(model.p > 0, np.log(np.maximum(model.p, 1e-6)), -300)
    intercepts = np.cumsum([0, *(side.basis.shape[1] for side in model.sides)])[:-1]
    penalty = np.where(np.isin(np.arange(design.shape[2]), intercepts), 1e-3, 1.0)

    def loss(beta):
        eta = start + design @ beta
        logs = eta - logsumexp(eta, axis=1, keepdims=True)
        slope = np.einsum("imk,im->k", design, np.exp(logs)) - design[np.arange(n), model.y].sum(axis=0)
        return -logs[np.arange(n), model.y].sum() + (penalty * beta**2).sum() / 2, slope + penalty * beta

    beta = minimize(loss, np.zeros(design.shape[2]), jac=True, method="BFGS", options={"gtol": 1e-7}).x
    eta = start + design @ beta
    np.testing.assert_allclose(model.q, np.exp(eta - logsumexp(eta, axis=1, keepdims=True)), atol=1e-5)

    variances = np.einsum("im,mk->imk", model.q, np.eye(m)) - np.einsum("im,ik->imk", model.q, model.q)
    residuals = np.eye(m)[model.y] - model.q

    def products(a, b):
        return np.einsum("imf,imk,ikg->fg", a, variances, b, optimize=True)

    forms = model.forms(own, 3, rng)
    assert forms.shape == (4, 6) == (4, len(model.names))
    clearing = np.linalg.pinv(products(design, design), hermitian=True)
    for k, side in enumerate(model.sides[:3]):
        for j, features in enumerate((own, own * (side.x - side.x.mean())[:, None])):
            f = stacked([side], [features], n, m)
            shared = products(design, f)
            u = np.einsum("imf,im->f", f, residuals) - shared.T @ clearing @ np.einsum("imf,im->f", design, residuals)
            covariance = products(f, f) - shared.T @ clearing @ shared
            expected = u @ np.linalg.pinv(covariance, rcond=1e-8, hermitian=True) @ u
            assert forms[0, 2 * k + j] == pytest.approx(expected, rel=1e-6)


def rare_classes(seed, wrong, n=900):
    """The first choice is always class 0; in the first of three groups classes 2 and 3 change places, or in all."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    p = np.column_stack([np.full(n, 0.6), 0.4 * rng.dirichlet([1.0 + g for g in (0, 1, 0.5)], n)])
    law = np.where(wrong(group)[:, None], p[:, [0, 1, 3, 2]], p)
    return (rng.random((n, 1)) > law.cumsum(axis=1)[:, :-1]).sum(axis=1), kc.Categorical(p), group


@pytest.mark.slow
def test_rarer_classes_that_change_places_in_one_group_are_found_and_named():
    found = difference(*rare_classes(0, lambda group: group == 0))
    assert found.pvalue <= 0.01
    assert found.signal in ("slope of class 2", "slope of class 3")
    assert found.looks_at == ""
    assert found.signal in found.in_words(0.05)
    rejected = sum(
        difference(*rare_classes(seed, lambda group: group >= 0), seed, 99).pvalue <= 0.05 for seed in range(40)
    )
    assert rejected <= binom.ppf(0.999, 40, 0.05)


def test_what_a_difference_of_many_classes_looks_at_is_said():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.r_[8.0, 4.0, np.full(18, 0.2)], 400)
    y = (rng.random((400, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    found = difference(y, kc.Categorical(p), np.arange(400) % 2)
    assert found.looks_at == "the first choice and classes 0, 1 of 20"
    assert found.in_words(0.05).endswith("approximate; looked at: the first choice and classes 0, 1 of 20)")
    alike = kc.Categorical(np.full((400, 40), 1 / 40))
    assert difference(rng.integers(0, 40, 400), alike, np.arange(400) % 2).looks_at == "the first choice"


@pytest.mark.parametrize("moved", [0, 1])
def test_certain_predictions_show_no_difference_of_groups(moved):
    y = np.random.default_rng(0).integers(0, 3, 300)
    assert difference(y, kc.Categorical(np.eye(3)[(y + moved) % 3]), np.arange(300) % 2).pvalue == 1
    assert difference(y > 1, np.where(y > 1, 1.0 - moved, moved), np.arange(300) % 2).pvalue == 1


@pytest.mark.slow
def test_differences_are_corrected_for_the_choice_of_a_column():
    y, p = one_probability(400, 6)
    rng = np.random.default_rng(0)
    groups = {name: rng.integers(0, 3, 400) for name in "abc"} | {"small": np.arange(400)[::-1] // 395}
    case, read = Case.of(y, p), checked_groups(groups, 400)
    found = by_group(case, read, Run(draws=99)).differences
    own = sorted(d.pvalue for d in found[:3])
    holm = np.minimum(np.maximum.accumulate([3 * own[0], 2 * own[1], own[2]]), 1)
    assert sorted(d.adjusted for d in found[:3]) == pytest.approx(holm)
    assert (found[3].pvalue, found[3].adjusted, [d.columns for d in found]) == (None, None, [3, 3, 3, 1])
    assert "over 3 columns (Holm), approximate" in found[0].in_words(0.05)
    assert found[0].to_dict()["adjusted"] == found[0].adjusted


@pytest.mark.slow
def test_where_a_difference_is_not_tested_it_is_said_why():
    y, p = one_probability(150, 3)
    half = np.arange(150) % 2
    assert difference(y, p, half).in_words(0.05) == (
        "whether groups of site differ was not tested: its law is that of 200 rows and more, and there are 150"
    )
    assert "needs two groups of 10 rows" in difference(y, p, np.arange(150) // 9 // 100).reason
    y, p = one_probability(300, 3)
    half = np.arange(300) % 2
    weighted = by_group(Case.of(y, p, weights=p), checked_groups(half, 300), Run(draws=19))
    assert weighted.differences[0].reason == "it takes no case weights"
    assert "not tested: it takes no case weights" in " ".join(weighted.summary().split())
    plain = by_group(Case.of(y, p), checked_groups({"a": half, "b": half < 1}, 300), Run(draws=19))
    assert [d.column for d in plain.differences] == ["a", "b"]
    assert plain.to_dict()["differences"][0]["groups"] == 2
    assert "no evidence that the 2 groups of a differ" in " ".join(plain.summary().split())


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_evaluate_explain_and_report_say_the_same_of_groups():
    y, p = one_probability(240, 4)
    y = np.where(np.arange(240) < 60, 1 - y, y)
    groups = {"site": np.where(np.arange(240) < 60, "west", "east"), "age": np.arange(240) % 80}
    evaluated = kc.evaluate(y, p, groups=groups, draws=99)
    explained = explain(y, p, groups=groups, draws=99)
    assert evaluated.by_group.verdict == explained.by_group.verdict
    assert [g.pvalue for g in evaluated.by_group.findings] == [g.pvalue for g in explained.groups]
    assert "groups" in evaluated.summary()
    assert "site: west" in evaluated.summary()
    plain = json.loads(json.dumps(evaluated.to_dict(), allow_nan=False))
    assert plain["groups"]["findings"][0]["directions"] == list(evaluated.by_group.findings[0].directions)
    assert evaluated.by_group.notes == ("age was cut at 20, 40, 60; pass ranges of your own to choose others",)
    assert kc.evaluate(y, p, draws=99).by_group is None
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = kc.report(y, p, groups=groups, draws=99).to_html()
    assert evaluated.by_group.verdict in page
    assert evaluated.by_group.test_in_words[1:] in page
    assert "age was cut at 20, 40, 60" in " ".join(page.split()).replace("Age", "age")


@pytest.mark.slow
def test_evaluate_of_a_file_and_the_command_line(tmp_path, capsys):
    rng = np.random.default_rng(0)
    p, age = rng.uniform(size=120), rng.integers(18, 80, 120)
    y = (rng.random(120) < p).astype(int)
    lines = [f"{a:.4f},{b},{c},{'we'[k % 2]}" for k, (a, b, c) in enumerate(zip(p, y, age, strict=True))]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["p,y,age,site", *lines]))
    found = kc.evaluate(path, "p", target="y", groups=["age", "site"], draws=99).by_group
    assert {g.column for g in found.findings} == {"age", "site"}
    assert found.notes[0].startswith("age was cut at")
    assert (
        main(["evaluate", str(path), "--target", "y", "--predictions", "p", "--groups", "age,site", "--draws", "99"])
        == 0
    )
    out = capsys.readouterr().out
    assert "By group" in out
    assert found.notes[0] in " ".join(out.split())
    json_options = ["--json", "--draws", "99", "--predictions", "p", "--target", "y"]
    assert main(["evaluate", str(path), "--groups", "site", *json_options]) == 0
    assert len(json.loads(capsys.readouterr().out)["groups"]["findings"]) == 2
    assert main(["evaluate", str(path), "--groups", "planet", *json_options]) == 2
    assert "planet" in capsys.readouterr().err
    pytest.importorskip("pyarrow")
    assert main(["evaluate", str(tmp_path), "--groups", "site", "--one-pass", *json_options]) == 0
    assert len(json.loads(capsys.readouterr().out)["groups"]["findings"]) == 2


def test_quantiles_with_ties_have_groups_with_conservative_pvalues():
    rng = np.random.default_rng(0)
    rate, levels = rng.uniform(1, 6, 200), np.array([0.1, 0.5, 0.9])
    y = rng.poisson(1.6 * rate).astype(float)
    found = kc.evaluate(
        y, kc.Quantiles(poisson.ppf(levels, rate[:, None]), levels), groups=np.arange(200) % 2, draws=199
    )
    assert found.by_group.law == "conservative"
    assert len(found.by_group.rejected) == 2
    assert all(g.skce is None and 0 < g.gap_interval[0] < g.gap < g.gap_interval[1] for g in found.by_group.findings)
    assert "with conservative p-values" in found.by_group.test_in_words
    assert found.by_group.gap_name == "least share above quantiles, observed - claimed"


def test_the_gap_of_quantiles_with_ties_is_the_least_that_agrees_with_the_claims():
    rng = np.random.default_rng(1)
    rate, levels = rng.uniform(1, 6, 120), np.array([0.1, 0.5, 0.9])
    q = poisson.ppf(levels, rate[:, None])
    for moved, sign in ((3, 1), (0, 0), (-9, -1)):
        y = rng.poisson(rate) + float(moved)
        last = np.array([[max(levels[row == value]) for value in row] for row in q])
        first = np.array([[min(levels[row == value]) for value in row] for row in q])
        low = ((y[:, None] > q) - (1 - last)).mean()
        high = ((y[:, None] >= q) - (1 - first)).mean()
        found = by_group(Case.of(y, kc.Quantiles(q, levels)), checked_groups(["one"] * 120, 120), Run(draws=19))
        assert found.findings[0].gap == pytest.approx(np.clip(0, low, high))
        assert np.sign(found.findings[0].gap) == sign


def agresti_coull(count, n, level):
    z = norm.ppf(0.5 + level / 2)
    share, whole = (count + z * z / 2) / (n + z * z), n + z * z
    half = z * np.sqrt(share * (1 - share) / whole)
    return max(share - half, 0), min(share + half, 1)


def test_the_gap_of_one_quantile_has_the_interval_of_agresti_and_coull():
    rng = np.random.default_rng(2)
    mean = rng.normal(size=40)
    batch = kc.Quantiles(mean[:, None] + 2.0, [0.95])
    for y in (mean + rng.normal(size=40) + 1, mean):  # some above, and none
        found = by_group(Case.of(y, batch), checked_groups(["one"] * 40, 40), Run(draws=19)).findings[0]
        low, high = agresti_coull((y > mean + 2).sum(), 40, 0.95)
        assert found.gap_interval == pytest.approx((low - 0.05, high - 0.05))


def test_the_interval_of_a_gap_with_ties_bounds_both_claims():
    """One level: the least gap is above 0 by the share above the quantile, below 0 by the share at or above it."""
    n, zero = 60, np.zeros(60)
    for above, same, level in ((30, 20, 0.9), (3, 20, 0.1), (10, 40, 0.5), (0, 60, 0.99)):
        y = np.r_[np.full(above, 1.0), np.zeros(same), np.full(n - above - same, -1.0)]
        case = Case.of(y, kc.Quantiles(zero[:, None], [level]))
        found = by_group(case, checked_groups(["one"] * n, n), Run(draws=19)).findings[0]
        (a, b), (c, d) = (np.array(agresti_coull(k, n, 0.95)) - (1 - level) for k in (above, above + same))
        assert found.gap_interval == pytest.approx((max(a, 0) + min(c, 0), max(b, 0) + min(d, 0)))
        assert found.gap_interval[0] <= found.gap <= found.gap_interval[1]


@pytest.mark.slow
@pytest.mark.parametrize("factor", [*(pytest.param(f, marks=pytest.mark.slow) for f in (0.6, 1.6)), 1.0, 3.0])
def test_intervals_of_gaps_with_ties_hold(factor):
    levels, n, missed = np.array([0.1, 0.5, 0.9, 0.99]), 25, 0

    def drawn(rng, size):
        rate = rng.uniform(0.05, 3, size)
        return rng.poisson(factor * rate).astype(float), poisson.ppf(levels, rate[:, None])

    y, q = drawn(np.random.default_rng(0), 100_000)
    last = levels[3 - np.argmax((q[:, :, None] == q[:, None])[:, :, ::-1], axis=2)]
    first = levels[np.argmax(q[:, :, None] == q[:, None], axis=2)]
    low, high = ((y[:, None] > q) - (1 - last)).mean(), ((y[:, None] >= q) - (1 - first)).mean()
    truth = np.clip(0, low, high)
    for seed in range(150):
        y, q = drawn(np.random.default_rng([1, seed]), n)
        lower, upper = sizes_of(Case.of(y, kc.Quantiles(q, levels)), Run(), 0.05).gap_interval
        missed += not lower <= truth <= upper
    assert missed <= binom.ppf(0.999, 150, 0.05)
