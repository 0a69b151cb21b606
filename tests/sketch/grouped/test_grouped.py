"""Groups of one pass: the figures of `evaluate`, the tests of sketches of their own rows, and one level for all."""

import json

import numpy as np
import pytest
from scipy.stats import binom, norm

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.predictions import MultivariateNormal
from kernelcal.sketch import GroupColumn, GroupedSketch, Sketch, load_sketch
from kernelcal.sketch.sums import as_numbers

KERNEL, ENGINE = kc.Laplacian(0.3), kc.RandomFourier(12, rng=3)
LEVELS = [0.1, 0.5, 0.9]
SITES = np.array(["north", "south", "east"])


def _one(n, rng):
    p = rng.uniform(size=n)
    return kc.Bernoulli(p**1.5).sample(rng)[0], kc.Bernoulli(p)


def _classes(n, rng):
    p = rng.dirichlet(np.full(4, 0.7), n)
    return kc.Categorical(p).sample(rng)[0], kc.Categorical(p)


def _numbers(n, rng):
    batch = kc.Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))
    return batch.sample(rng)[0] + 0.2, batch


def _vectors(n, rng):
    batch = MultivariateNormal(rng.normal(size=(n, 2)), np.broadcast_to(np.eye(2), (n, 2, 2)))
    return batch.sample(rng)[0], batch


def _quantiles(n, rng):
    y, said = _numbers(n, rng)
    return y, kc.Quantiles(said.mean[:, None] + said.std[:, None] * norm.ppf(LEVELS), LEVELS)


KINDS = {
    "one probability": _one,
    "classes": _classes,
    "numbers": _numbers,
    "vectors": _vectors,
    "quantiles": _quantiles,
}


def _rows(kind, n=150, seed=0):
    rng = np.random.default_rng(seed)
    y, batch = KINDS[kind](n, rng)
    return y, batch, {"site": SITES[rng.integers(3, size=n)], "age": rng.integers(20, 80, n)}


def _part(groups, rows):
    return {name: column[rows] for name, column in groups.items()}


def _like(batch, groups, draws=39, **options):
    return GroupedSketch.like(batch, groups=groups, engine=ENGINE, draws=draws, **options)


def _by_name(found):
    return {(g.column, g.name): g for g in found.findings}


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("kind", KINDS)
def test_the_figures_are_those_of_evaluate(kind):
    y, batch, groups = _rows(kind)
    found = _like(batch, groups).update(y, batch, groups=groups).result().by_group
    expected = kc.evaluate(y, batch, groups=groups, draws=19).by_group
    assert (found.gap_name, found.score_name) == (expected.gap_name, expected.score_name)
    mine, theirs = _by_name(found), _by_name(expected)
    ages = {f"age {g.name}": g for g in expected.findings if g.column == "age"}
    assert len(ages) == 4
    for (column, name), own in mine.items():
        other = theirs.get((column, name)) or next(
            g for g in ages.values() if g.n == own.n and np.isclose(g.gap, own.gap)
        )
        assert own.n == other.n
        for figure in ("gap", "observed", "predicted", "gap_interval", "unseen", "score", "score_interval"):
            a, b = getattr(own, figure), getattr(other, figure)
            assert (a is None) == (b is None), figure
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=figure)


@pytest.mark.parametrize("kind", ["one probability", "classes", "numbers", "quantiles"])
def test_a_group_is_a_sketch_of_its_own_rows(kind):
    y, batch, groups = _rows(kind)
    sketch = _like(batch, groups)
    found = sketch.update(y, batch, groups=groups, first_row=7).result(0.9).by_group
    alone = Sketch(sketch.prediction_kernel, sketch._settings.target_kernel, engine=ENGINE, draws=39)
    for own in found.findings[:4]:
        member = groups["site"] == own.name if own.column == "site" else _in_range(groups["age"], own.name)
        rows = np.flatnonzero(member)
        expected = alone.empty().update(y[rows], batch[rows], rows=7 + rows).result(0.9)
        assert own.skce == pytest.approx(float(expected.estimate), rel=1e-9)
        assert own.own_pvalue == expected.pvalue
        assert own.deviation == pytest.approx(expected.test.members[0].deviation, rel=1e-9)
        assert own.pvalue >= own.own_pvalue
        assert (own.root_interval is None) == (expected.interval is None)
        if expected.interval is not None:
            np.testing.assert_allclose(own.root_interval, expected.interval.root, rtol=1e-9)
        assert set(own.directions) <= set(expected.test.directions)


def _in_range(ages, name):
    first, *rest = name.replace(" to below ", " ").replace("below ", "0 ").replace(" and above", " 1000").split()
    return (ages >= float(first)) & (ages < float(rest[0]))


def test_all_rows_are_as_without_groups():
    y, batch, groups = _rows("one probability")
    sketch = _like(batch, groups)
    found = sketch.update(y, batch, groups=groups).result()
    plain = Sketch(sketch.prediction_kernel, engine=ENGINE, draws=39).update(y, batch).result()
    assert found.pvalue == plain.pvalue
    assert float(found.estimate) == pytest.approx(float(plain.estimate), rel=1e-9)
    assert found.verdict == plain.verdict
    assert plain.by_group is None
    assert "By group" in str(found)
    assert found.to_dict()["groups"]["verdict"] == found.by_group.verdict


def test_pvalues_are_those_of_a_step_down_by_hand():
    """Westfall and Young, written out: ranks of every group among all draws, the smallest one over the groups left."""
    y, batch, groups = _rows("one probability", n=120)
    sketch = _like(batch, groups).update(y, batch, groups=groups)
    values = {}
    for column, parts in sketch._groups.items():
        for name, sums in parts.items():
            sums = as_numbers(sums, sketch._settings, sketch._subject)
            s, diagonal = sums["totals"], sums["diagonal"]
            values[column, name] = np.array([(s[:, b] ** 2).sum() - diagonal[b] for b in range(40)])
    ranks = {key: np.array([(x >= v - 1e-12).sum() for v in x]) for key, x in values.items()}
    far = {key: (x - x.mean()) / x.std() for key, x in values.items()}
    left, expected, largest = sorted(values, key=lambda k: (ranks[k][0], -far[k][0])), {}, 0.0
    while left:
        first = left[0]
        extreme = 0
        for b in range(40):
            best = min((ranks[k][b], -far[k][b]) for k in left)
            extreme += best <= (ranks[first][0], -far[first][0] + 1e-9)
        largest = max(largest, extreme / 40)
        expected[first] = largest
        left = left[1:]
    found = _by_name(sketch.result().by_group)
    assert {key: g.pvalue for key, g in found.items()} == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param("one probability", marks=pytest.mark.slow), "classes", "numbers"])
def test_parts_in_any_order_are_as_one_batch(kind, tmp_path):
    y, batch, groups = _rows(kind)
    empty = _like(batch, groups)
    whole = empty.empty().update(y, batch, groups=groups).result().by_group
    parts = [slice(90, 150), slice(0, 20), slice(20, 90)]
    total = sum(
        empty.empty().update(y[rows], batch[rows], groups=_part(groups, rows), first_row=rows.start) for rows in parts
    )
    total.save(tmp_path / "a.npz")
    for sketch in (total, load_sketch(tmp_path / "a.npz"), GroupedSketch.from_bytes(total.to_bytes())):
        found = sketch.result().by_group
        assert found.verdict == whole.verdict
        for one, other in zip(found.findings, whole.findings, strict=True):
            assert (one.name, one.n, one.pvalue, one.directions) == (
                other.name,
                other.n,
                other.pvalue,
                other.directions,
            )
            assert one.skce == pytest.approx(other.skce, rel=1e-9)
    shuffled = np.random.default_rng(1).permutation(150)
    found = empty.empty().update(y[shuffled], batch[shuffled], groups=_part(groups, shuffled), rows=shuffled).result()
    assert [g.pvalue for g in found.by_group.findings] == [g.pvalue for g in whole.findings]


def test_groups_grow_as_they_come_and_stay_few():
    y, batch, groups = _rows("one probability")
    sketch = GroupedSketch(KERNEL, groups="site", engine=ENGINE, draws=9)
    sketch.update(y[:50], batch[:50], groups=groups["site"][:50])  # an array has no name
    more = np.where(np.arange(100) % 2, "west", groups["site"][50:])
    by = sketch.update(y[50:], batch[50:], groups={"site": more, "other": more}).result().by_group
    assert {g.name for g in by.findings} == {*SITES, "west"}
    with pytest.raises(InputError, match=r"column 'site' has more than 50 groups.*pool_groups=20 \(--pool-groups 20\)"):
        sketch.update(y, batch, groups=[f"row {k}" for k in range(150)])
    assert sketch.n == 150


def test_rare_values_are_pooled_by_name():
    y, batch, groups = _rows("one probability")
    names = np.where(np.arange(150) < 60, "a", np.where(np.arange(150) < 100, "b", [f"id{k}" for k in range(150)]))
    by = _like(batch, {"name": names}, pool=2).update(y, batch, groups={"name": names}).result().by_group
    assert {g.name: g.n for g in by.findings} == {"a": 60, "b": 40, "all others": 50}
    assert "the 2 values that are most frequent" in by.notes[0]
    for pool in (0, 50, True, "3"):
        with pytest.raises(InputError, match="pool_groups must be a whole number from 1 to 49"):
            _like(batch, groups, pool=pool)


def test_numbers_are_cut_once():
    y, batch, groups = _rows("one probability")
    sketch = _like(batch[:80], _part(groups, slice(80)))
    cuts = sketch.columns[1].cuts
    assert len(cuts) == 3
    by = sketch.update(y, batch, groups=groups).result().by_group
    ages = [g for g in by.findings if g.column == "age"]
    assert {g.name for g in ages} == {
        f"below {cuts[0]:g}",
        f"{cuts[0]:g} to below {cuts[1]:g}",
        f"{cuts[1]:g} to below {cuts[2]:g}",
        f"{cuts[2]:g} and above",
    }
    assert {g.name: g.n for g in ages}[f"below {cuts[0]:g}"] == (groups["age"] < cuts[0]).sum()
    assert any(note.startswith("age was cut at") for note in by.notes)
    assert GroupColumn("age", cuts).groups_of(["007", "unknown", "19.5"]) == ["007", "unknown", f"below {cuts[0]:g}"]
    plain = GroupedSketch(KERNEL, groups=["age"], engine=ENGINE)
    with pytest.raises(InputError, match=r"holds measured numbers, such as .*GroupedSketch.like"):
        plain.update(y, batch, groups={"age": groups["age"]})


def test_what_does_not_fit_is_refused():
    y, batch, groups = _rows("one probability")
    sketch = _like(batch, groups).update(y, batch, groups=groups)
    with pytest.raises(InputError, match=r"rows of this sketch have groups \(site, age\): give groups="):
        sketch.update(y, batch)
    with pytest.raises(InputError, match="groups has no column 'age'"):
        sketch.update(y, batch, groups={"site": groups["site"]})
    with pytest.raises(InputError, match="row 3 of column 'site' is missing"):
        sketch.update(y, batch, groups={**groups, "site": [None if k == 3 else "a" for k in range(150)]})
    with pytest.raises(InputError, match="column 'site' has 3 values"):
        sketch.update(y, batch, groups={**groups, "site": SITES})
    with pytest.raises(InputError, match="the groups of the sketches differ in columns"):
        sketch.merge(_like(batch, {"site": groups["site"]}))
    with pytest.raises(InputError, match="got Sketch, which holds no groups"):
        sketch.merge(Sketch(KERNEL))
    with pytest.raises(InputError, match="row 0 was given twice"):
        sketch.update(y, batch, groups=groups, first_row=0)
    with pytest.raises(InputError, match="does not travel as arrays"):
        sketch.arrays()
    with pytest.raises(InputError, match="does not travel as arrays"):
        sketch.with_arrays({})
    with pytest.raises(InputError, match="needs the groups of these rows"):
        GroupedSketch.like(batch)
    with pytest.raises(InputError, match="groups must name one column or several different ones"):
        GroupedSketch(KERNEL, groups=["a", "a"])
    assert sketch.n == 150
    assert sum(g.n for g in sketch.result().by_group.findings) == 300


def test_a_group_of_one_row_is_told_and_not_tested():
    y, batch, groups = _rows("one probability")
    sites = np.where(np.arange(150) == 5, "lone", groups["site"])
    by = _like(batch, {"site": sites}).update(y, batch, groups={"site": sites}).result().by_group
    assert (by.findings[-1].name, by.findings[-1].pvalue, by.findings[-1].skce) == ("lone", None, None)
    assert "not tested, since fewer than two of their rows count: site lone" in by.notes


def test_what_was_ruled_out_is_proof_in_its_group_alone():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.2, 0.8, 200)
    y = (rng.random(200) < p).astype(int)
    p[7], y[7] = 0.0, 1
    half = np.where(np.arange(200) < 100, "first", "second")
    sketch = GroupedSketch(KERNEL, groups="half", engine=ENGINE, draws=99)
    found = _by_name(sketch.update(y, p, groups=half).result().by_group)
    assert found["half", "first"].pvalue == 0.01
    assert found["half", "first"].directions[0].startswith("1 of 100 labels had been ruled out")
    assert found["half", "first"].fired == "impossible label"
    assert found["half", "second"].pvalue > 0.05


def test_files_that_contradict_themselves_are_refused(tmp_path):
    y, batch, groups = _rows("one probability")
    path = tmp_path / "a.npz"
    _like(batch, groups).update(y, batch, groups=groups).save(path)
    with np.load(path) as file:
        whole = dict(file)
    with pytest.raises(InputError, match=r"it is what evaluate --save wrote with --groups.*load_sketch"):
        Sketch.load(path)
    name = next(key for key in whole if key.endswith(" labels"))
    np.savez(path, **{**whole, name: whole[name] + 1})
    with pytest.raises(InputError, match="altered after it was written"):
        load_sketch(path)
    head = json.loads(str(whole["settings"]))
    np.savez(path, **{**whole, "settings": np.array(json.dumps({**head, "columns": []}))})
    with pytest.raises(InputError, match="altered after it was written"):
        load_sketch(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match="is not a sketch"):
        load_sketch(path)
    sketch = _like(batch, groups).update(y, batch, groups=groups)
    sketch._groups["site"].pop("east")
    sketch.save(path)
    with pytest.raises(InputError, match="the groups of site have other rows than all of them together"):
        load_sketch(path)


def test_many_classes_hold_no_second_moments_of_groups():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(9), 120)
    y, batch, site = kc.Categorical(p).sample(rng)[0], kc.Categorical(p), SITES[np.arange(120) % 3]
    sketch = GroupedSketch(KERNEL, groups="site", engine=kc.RandomFourier(60), draws=3).update(y, batch, groups=site)
    found = sketch.result()
    assert found.interval is not None
    assert all(g.root_interval is None and g.gap_interval is not None for g in found.by_group.findings)
    plain = Sketch(KERNEL, engine=kc.RandomFourier(60), draws=3).update(y, batch).result()
    assert found.interval.root == pytest.approx(plain.interval.root)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_any_calibrated_group_is_rejected_as_rarely_as_the_level(runs):
    """Two columns that share rows; the rows of one site are wrong, and all other groups of that column are right."""
    rng, false, any_of_right = np.random.default_rng(0), 0, 0
    for run in range(runs):
        p, site, half = rng.uniform(size=90), SITES[rng.integers(3, size=90)], rng.integers(2, size=90)
        sketch = GroupedSketch(KERNEL, groups=["site", "half"], engine=kc.RandomFourier(6), draws=19, rng=run)
        groups = {"site": site, "half": half}
        wrong = (rng.random(90) < np.where(site == "south", p**3, p)).astype(int)
        right = (rng.random(90) < p).astype(int)
        by = sketch.empty().update(wrong, p, groups=groups).result(alpha=0.1).by_group
        false += any(g.name in ("north", "east") for g in by.rejected)
        any_of_right += bool(sketch.update(right, p, groups=groups).result(alpha=0.1).by_group.rejected)
    assert false <= binom.ppf(1 - 1e-4, runs, 0.1)
    assert any_of_right <= binom.ppf(1 - 1e-4, runs, 0.1)
