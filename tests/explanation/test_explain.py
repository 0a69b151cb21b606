"""Where a model is wrong: witness, contributions and groups against naive second implementations, and their levels."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.explanation import explain, witness as witnesses
from kernelcal.inference import Draws
from kernelcal.predictions import MultivariateNormal, Score
from kernelcal.runs import Run

FILE = Path(__file__).resolve().parents[1] / "data" / "cases.json"
CASES = {case["id"]: case for case in json.loads(FILE.read_text())["cases"]}


def one_probability(n, seed, excess=0.0, low=0.7):
    """Uniform probabilities; above `low` events are rarer than predicted by `excess`."""
    rng = np.random.default_rng([n, seed])
    p = rng.uniform(size=n)
    y = (rng.random(n) < np.where(p > low, p - excess, p)).astype(int)
    return y, p


def several_classes(n, m, seed, temperature=1.0):
    rng = np.random.default_rng([n, m, seed])
    p = rng.dirichlet(np.full(m, 0.5), n)
    true = p ** (1 / temperature)
    y = kc.Categorical(true / true.sum(axis=1, keepdims=True)).sample(rng)[0]
    return y, p


def naive_witness(y, p, lengthscale, draws, seed):
    """Field, sd, mass, suprema of one probability by loops over grid points."""
    grid = np.linspace(p.min(), p.max(), 101)
    drawn = Draws(seed, "draws of an explanation").targets(kc.Bernoulli(p), 0, draws)
    field, sd, mass, suprema = [], [], [], np.zeros(draws)
    for q in grid:
        k = np.exp(-np.abs(q - p) / lengthscale)
        field.append(np.mean(k * (y - p)))
        sd.append(math.sqrt(np.sum(k**2 * p * (1 - p))) / len(p))
        mass.append(k.mean())
        suprema = np.maximum(suprema, np.abs((k * (drawn - p)).mean(axis=1)) / sd[-1])
    return grid, *map(np.array, (field, sd, mass)), suprema


def test_the_witness_of_one_probability_against_loops():
    y, p = one_probability(120, 0, 0.3)
    found = explain(y, p, draws=199, rng=5).witness
    lengthscale = kc.median_lengthscale(kc.Bernoulli(p)) / 4
    grid, field, sd, mass, suprema = naive_witness(y, p, lengthscale, 199, 5)
    np.testing.assert_allclose(found.position[:, 0], grid)
    np.testing.assert_allclose(found.field[:, 0], field, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.sd[:, 0], sd, rtol=1e-9)
    np.testing.assert_allclose(found.gap[:, 0], field / mass, rtol=1e-9, atol=1e-15)
    observed = np.max(np.abs(field) / sd)
    assert found.pvalue == (1 + np.sum(suprema >= observed)) / 200
    assert found.critical == pytest.approx(np.sort(suprema)[::-1][9])  # the 10th largest of 199: 10 / 200 = 5 %
    np.testing.assert_allclose(found.band[:, 0], found.critical * sd, rtol=1e-9)
    np.testing.assert_allclose(found.gap_band[:, 0], found.critical * sd / mass, rtol=1e-9)
    np.testing.assert_array_equal(found.outside[:, 0], np.abs(field) > found.critical * sd)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_witness_of_classes_against_loops(weighted):
    y, p = several_classes(60, 3, 1)
    w = np.random.default_rng(0).uniform(0.2, 2, 60) if weighted else None
    own = np.ones(60) if w is None else w / w.mean()
    found = explain(y, p, weights=w, witness_kernel=kc.Gaussian(0.3), draws=39).witness
    assert found.rows.tolist() == list(range(60))
    assert found.names == ("0", "1", "2")
    drawn = np.concatenate([y[None], Draws(0, "draws of an explanation").targets(kc.Categorical(p), 0, 39)])
    largest = np.zeros(40)
    for i in range(60):
        k = own * np.exp(-((p[i] - p) ** 2).sum(axis=1) / (2 * 0.3**2))
        for c in range(3):
            sd = np.sqrt(np.sum(k**2 * p[:, c] * (1 - p[:, c]))) / 60
            values = ((drawn == c) - p[:, c]) @ k / 60
            largest = np.maximum(largest, np.abs(values) / sd)
            assert found.field[i, c] == pytest.approx(values[0], abs=1e-14)
            assert found.sd[i, c] == pytest.approx(sd)
    assert found.pvalue == np.mean(largest >= largest[0] - 1e-12)
    assert found.critical == pytest.approx(np.sort(largest[1:])[-2])


def test_the_witness_of_numbers_against_loops():
    rng = np.random.default_rng(3)
    mean, std = rng.normal(size=50), rng.uniform(0.5, 2, 50)
    y = mean + std * rng.normal(size=50)
    kernel = kc.Laplacian(0.7)
    found = explain(y, kc.Normal(mean, std), witness_kernel=kernel, draws=39).witness
    z = (y - mean) / std
    for i in range(50):
        k = np.exp(-np.hypot(mean[i] - mean, std[i] - std) / 0.7)
        assert found.field[i] == pytest.approx([np.mean(k * z), np.mean(k * (z**2 - 1))])
        assert found.sd[i] == pytest.approx(np.sqrt([np.sum(k**2), 2 * np.sum(k**2)]) / 50)
    np.testing.assert_allclose(found.position, np.stack([mean, mean], axis=1))


def test_the_witness_of_weighted_numbers_of_which_some_have_no_spread():
    rng = np.random.default_rng(3)
    mean, w = rng.normal(size=40), rng.uniform(0, 2, 40)
    std = np.where(np.arange(40) % 5 == 0, 0.0, 1.5)
    y = np.where(std > 0, mean + 2 * rng.normal(size=40), mean)
    draws, kernel = np.stack([mean - std, mean + std], axis=1), kc.Laplacian(0.7, metric=kc.Wasserstein())
    found = explain(y, kc.Samples(draws), weights=w, witness_kernel=kernel, draws=39).witness
    # draws of ensembles: the pool of three values has the moments that standardise
    pool = np.concatenate([draws, y[:, None]], axis=1)
    spread = np.where(std > 0, pool.std(axis=1), 0)
    z = np.divide(y - pool.mean(axis=1), spread, out=np.zeros(40), where=spread > 0)
    v, w = (spread > 0) * 1.0, w / w.mean()
    k = np.exp(-np.sqrt(((np.sort(pool)[:, None] - np.sort(pool)) ** 2).mean(axis=2)) / 0.7)
    np.testing.assert_allclose(found.field[:, 0], k @ (w * z) / 40, atol=1e-12)
    np.testing.assert_allclose(found.field[:, 1], k @ (w * (z**2 - v)) / 40, atol=1e-12)
    np.testing.assert_allclose(found.sd**2, np.outer(k**2 @ (w**2 * v), [1, 2]) / 1600, atol=1e-12)


@pytest.mark.slow
def test_contributions_of_rows_classes_and_groups_sum_to_the_error():
    y, p = several_classes(80, 4, 2, 1.5)
    w = np.random.default_rng(1).uniform(0, 2, 80)
    groups = {"site": np.arange(80) % 3, "half": np.arange(80) < 40}
    kernel = kc.Laplacian(0.5)
    found = explain(y, p, weights=w, groups=groups, statistic=kc.SKCE(prediction_kernel=kernel), draws=19)
    r = np.eye(4)[y] - p
    expected, classes, total = np.zeros(80), np.zeros(4), w.sum() ** 2 - (w**2).sum()
    for i in range(80):
        for j in range(80):
            if i != j:
                k = w[i] * w[j] * math.exp(-math.dist(p[i], p[j]) / 0.5) / total
                expected[i] += k * float(r[i] @ r[j])
                classes += k * r[i] * r[j]
    np.testing.assert_allclose(found.contributions, expected, atol=1e-12)
    skce = float(kc.skce(y, p, weights=w, prediction_kernel=kernel))
    assert found.contributions.sum() == pytest.approx(skce)
    assert float(found.estimate) == pytest.approx(skce)
    for share in found.classes:
        k = int(share.name)
        assert share.contribution == pytest.approx(classes[k])
        assert share.predicted == pytest.approx(np.average(p[:, k], weights=w))
        assert share.observed == pytest.approx(np.average(y == k, weights=w))
    assert [c.contribution for c in found.classes] == pytest.approx(sorted(classes, reverse=True))
    for column in groups:
        assert sum(g.contribution for g in found.groups if g.column == column) == pytest.approx(skce)
    third = found.group(2, "site")
    assert third.contribution == pytest.approx(expected[2::3].sum())
    own = kc.skce(y[2::3], p[2::3], weights=w[2::3], prediction_kernel=kernel)
    assert third.skce == pytest.approx(float(own))
    assert third.gap == pytest.approx(np.average((p.argmax(1) == y)[2::3] - p.max(1)[2::3], weights=w[2::3]))
    order = np.argsort(-expected)[: len(found.rows)]
    assert [row.row for row in found.rows] == order.tolist()


@pytest.mark.parametrize("engine", [kc.Nystrom(10), kc.RandomFourier(30), kc.ExactPairs(rows=7, columns=5, threads=1)])
def test_contributions_sum_to_the_error_with_every_engine(engine):
    y, p = several_classes(60, 3, 2)
    found = explain(y, p, groups=np.arange(60) % 2, statistic=kc.SKCE(engine=engine), draws=19)
    for parts in (found.contributions, [c.contribution for c in found.classes], [g.contribution for g in found.groups]):
        assert sum(parts) == pytest.approx(float(found.estimate))


def test_rows_of_weight_0_are_as_if_they_were_not_there():
    y, p = one_probability(60, 4)
    w = np.r_[np.ones(40), np.zeros(20)]
    kernels = {"statistic": kc.SKCE(prediction_kernel=kc.Laplacian(0.2)), "draws": 19}
    whole, part = explain(y, p, weights=w, **kernels), explain(y[:40], p[:40], **kernels)
    np.testing.assert_allclose(whole.contributions[:40], part.contributions, atol=1e-14)
    np.testing.assert_array_equal(whole.contributions[40:], 0)


def test_the_rank_of_the_band():
    assert Run(confidence_level=0.95, draws=999).outside == 50
    assert Run(confidence_level=0.9, draws=99).outside == 10  # 0.1 is a little less than a tenth in floats
    assert Run(confidence_level=0.95, draws=19).outside == 1
    few = r"a band of confidence_level 0\.95 needs at least 19 draws, got 18: better 999"
    with pytest.raises(InputError, match=few):
        _ = Run(confidence_level=0.95, draws=18).outside
    with pytest.raises(InputError, match=few):
        explain([0, 1], [0.2, 0.7], draws=18)


def share_outside(n, repetitions, data, draws=99, **options):
    outside = 0
    for repetition in range(repetitions):
        y, predictions = data(n, repetition)
        found = explain(y, predictions, draws=draws, rng=repetition, **options)
        left = bool(found.witness.outside.any())
        assert left == (found.witness.pvalue <= found.alpha)
        assert left == bool(found.regions)
        outside += left
    return outside


@pytest.mark.slow
@pytest.mark.parametrize(("n", "repetitions"), [(200, 300), pytest.param(2000, 24, marks=pytest.mark.slow)])
def test_the_band_covers_calibrated_models_simultaneously(n, repetitions):
    outside = share_outside(n, repetitions, one_probability)
    assert binom.ppf(0.0005, repetitions, 0.05) <= outside <= binom.ppf(0.9995, repetitions, 0.05)


@pytest.mark.slow
def test_the_band_covers_several_classes_and_numbers():
    classes = share_outside(50, 150, lambda n, seed: several_classes(n, 3, seed))

    def counts(n, seed):
        rng = np.random.default_rng([n, seed, 9])
        batch = kc.Poisson(rng.uniform(0.2, 5, n))
        return batch.sample(rng)[0], batch

    numbers = share_outside(40, 100, counts, alpha=0.1, draws=49)
    assert binom.ppf(0.0005, 150, 0.05) <= classes <= binom.ppf(0.9995, 150, 0.05)
    assert binom.ppf(0.0005, 100, 0.1) <= numbers <= binom.ppf(0.9995, 100, 0.1)


@pytest.mark.slow
def test_the_swap_keeps_the_level_with_few_draws():
    def ensemble(n, seed):
        rng = np.random.default_rng([n, seed, 8])
        values = rng.normal(size=(n, 1)) + rng.exponential(size=(n, 5))
        return values[:, 0], kc.Samples(values[:, 1:])

    left = rejected = 0
    for repetition in range(120):
        y, batch = ensemble(60, repetition)
        found = explain(y, batch, groups=np.arange(60) % 3, draws=59, rng=repetition, alpha=0.1)
        left += bool(found.regions)
        rejected += bool(found.rejected)
    low, high = binom.ppf(0.0005, 120, 0.1), binom.ppf(0.9995, 120, 0.1)
    assert low <= left <= high
    assert low <= rejected <= high


@pytest.mark.slow
def test_a_model_wrong_above_07_is_wrong_there():
    inside = []
    for repetition in range(12):
        y, p = one_probability(1000, repetition, 0.25)
        found = explain(y, p, draws=199, rng=repetition)
        assert found.regions
        region = max(found.regions, key=lambda r: r.places)
        inside.append((region.low, region.high))
        assert not region.above
        assert region.low > 0.5
        assert region.sentence.startswith(f"between {region.low:.3g} and {region.high:.3g} events are rarer")
        assert " (gap -0." in region.sentence
        assert not found.witness.outside[found.witness.position[:, 0] < 0.5].any()
    low, high = np.mean(inside, axis=0)
    assert 0.62 < low < 0.75
    assert high > 0.95


@pytest.mark.parametrize(
    ("p", "share", "words"),
    [
        (0.8, 0.95, "more frequent than predicted (gap +0.15)"),
        (0.8, 0.5, "rarer than predicted (gap -0.3)"),
        (0.3, 0.6, "more frequent than predicted (gap +0.3)"),
        (0.3, 0.05, "rarer than predicted (gap -0.25)"),
    ],
)
def test_words_for_one_prediction(p, share, words):
    y = np.arange(200) < 200 * share
    found = explain(y, np.full(200, p), draws=99)
    assert found.findings == (f"at {p} events are {words}",)


def test_words_for_classes_lenses_and_numbers():
    y, p = several_classes(400, 3, 5, 2.5)
    names = np.array(["cat", "dog", "owl"])
    found = explain(names[y], kc.Categorical(p, classes=names), draws=99)
    assert "is more frequent than predicted where it was given " in found.findings[0]
    assert any("is rarer than predicted where it was given 0." in words for words in found.findings)
    assert [words.split()[1] for words in found.findings] == sorted(words.split()[1] for words in found.findings)
    assert "of 200 predictions looked at" in found.findings[0]
    top = explain(names[y], kc.Categorical(p, classes=names), lens=kc.TopLabel(), draws=99)
    assert "right first choices are rarer than predicted: over-confident" in top.findings[0]
    assert top.question == "top label"
    one = explain(names[y], kc.Categorical(p, classes=names), lens=kc.OneClass("owl"), draws=99)
    assert "class owl is" in one.findings[0]
    rng = np.random.default_rng(0)
    mean = rng.normal(size=300)
    shifted = explain(mean + 1 + rng.normal(size=300), kc.Normal(mean, 1), draws=99)
    assert "outcomes are higher than predicted" in shifted.findings[0]
    wide = explain(mean + 0.3 * rng.normal(size=300), kc.Normal(mean, 1), draws=99, groups=mean > 0)
    assert "predictions are too wide" in wide.findings[0]
    assert "outcomes spread 0." in wide.findings[0]
    assert "predictions too wide" in wide.group(True).sentence


def test_two_columns_are_read_as_one_probability():
    y, p = one_probability(150, 6, 0.3)
    kernel = kc.Laplacian(0.2, metric=kc.TotalVariation())
    one = explain(y, p, witness_kernel=kernel, draws=99)
    two = explain(y, np.stack([1 - p, p], axis=1), witness_kernel=kernel, draws=99)
    np.testing.assert_allclose(one.witness.field, two.witness.field, atol=1e-14)
    assert one.findings == two.findings
    assert [c.contribution for c in two.classes] == pytest.approx([float(two.estimate) / 2] * 2)


@pytest.mark.slow
def test_draws_and_tiles_change_nothing(monkeypatch):
    y, p = several_classes(90, 3, 7, 2.0)
    plain = explain(y, p, groups=np.arange(90) % 4, draws=59)
    monkeypatch.setattr(witnesses, "_NUMBERS", 500)
    monkeypatch.setattr(witnesses, "_KEPT", 0)
    monkeypatch.setattr("kernelcal.inference.laws.exact._MEMORY", 20_000)
    tiled = explain(y, p, groups=np.arange(90) % 4, draws=59)
    np.testing.assert_allclose(plain.witness.field, tiled.witness.field, atol=1e-14)
    assert plain.witness.critical == pytest.approx(tiled.witness.critical)
    assert plain.witness.pvalue == tiled.witness.pvalue
    assert [g.pvalue for g in plain.groups] == [g.pvalue for g in tiled.groups]


def test_ties_count_against_rejection():
    y = np.array([1, 0] * 10)
    found = explain(y, np.full(20, 0.5), groups=np.arange(20) // 10, draws=99)
    assert found.witness.pvalue == 1  # no draw is nearer to one half
    assert not found.regions
    assert {g.pvalue for g in found.groups} == {1.0}


def test_a_group_is_rejected_with_words_where_p_is_just_the_level():
    y, p = np.zeros(200, dtype=int), np.full(200, 0.6)
    found = explain(y, p, groups=np.arange(200) % 2, draws=9, alpha=0.1)
    assert [g.pvalue for g in found.rejected] == [0.1, 0.1]
    assert all(g.directions for g in found.rejected)


def test_certain_predictions():
    y = np.array([1, 0] * 20)
    right = explain(y, y.astype(float), groups=y, draws=99)
    assert right.witness.pvalue == 1
    assert not right.findings
    assert all(g.deviation == 0 and g.pvalue == 1 for g in right.groups)
    wrong = y.copy()
    wrong[0] = 0
    found = explain(wrong, y.astype(float), draws=99)
    assert found.witness.pvalue == 0.01
    assert found.witness.outside.all()  # nothing may vary anywhere
    assert "had a predicted probability of exactly 0" in found.notes[0]
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("kernel", [kc.Laplacian(3e-4), kc.Gaussian(0.01)], ids=str)
def test_places_far_from_all_rows_spoil_nothing(kernel):
    # at some places of the grid the kernel is above 0 and its square is not: the variance there was rounded to 0
    rng = np.random.default_rng(0)
    p = np.where(rng.uniform(size=400) < 0.5, 0.2, 0.8) + 1e-3 * rng.uniform(-1, 1, size=400)
    p[:20] = 0.0  # rows that cannot vary are near, those that can are far
    y = (rng.uniform(size=400) < np.where(p > 0.1, 0.5, p)).astype(int)
    witness = explain(y, p, witness_kernel=kernel, draws=99).witness
    assert np.isfinite(witness.critical)
    assert witness.pvalue == 0.01
    assert witness.outside.any()
    assert witness.field[62, 0] == 0  # at one half


def test_what_cannot_be_explained():
    y, p = one_probability(20, 1)
    with pytest.raises(InputError, match=r"must have estimator='unbiased', got 'biased'"):
        explain(y, p, statistic=kc.SKCE(estimator="biased"))
    with pytest.raises(InputError, match="statistic must be an SKCE"):
        explain(y, p, statistic="skce")
    with pytest.raises(InputError, match="witness_kernel must be a kernel"):
        explain(y, p, witness_kernel=0.1)
    with pytest.raises(InputError, match="at least 2 rows"):
        explain([1], [0.5])
    with pytest.raises(InputError, match=r"a band of confidence_level 0\.95 needs at least 19 draws, got 18"):
        explain(y, p, draws=18)
    with pytest.raises(InputError, match="outcome and draws are exchangeable only"):
        explain(np.zeros(3), kc.Samples(np.zeros((3, 2)), weights=[[0.2, 0.8]] * 3))
    with pytest.raises(InputError, match=r"Score says how densities slope.*kernelcal.evaluate, or pass draws"):
        explain(np.zeros(3), Score(lambda x: -x, n=3))
    found = explain(y, p, draws=19)
    with pytest.raises(InputError, match="there is no group 'x': the groups are none, since none were given"):
        found.group("x")
    two = explain(y, p, groups={"a": y, "b": y}, draws=19)
    with pytest.raises(InputError, match="the columns 'a', 'b' all have a group 1: name the column too"):
        two.group(1)
    assert two.group(1, "b").column == "b"


def test_vectors_have_no_witness_but_groups():
    rng = np.random.default_rng(2)
    mean = rng.normal(size=(60, 2))
    y = mean + rng.normal(size=(60, 2)) + (np.arange(60) < 30)[:, None]
    found = explain(y, MultivariateNormal.isotropic(mean, np.ones(60)), groups=np.arange(60) < 30, draws=99)
    assert found.witness is None
    assert [g.name for g in found.rejected] == ["True"]
    assert "targets are vectors: there is no witness" in found.notes[-1]
    plain = explain(y, MultivariateNormal.isotropic(mean, np.ones(60)), draws=99)
    assert plain.findings == ()
    json.dumps(found.to_dict(), allow_nan=False)


def test_other_target_kernels_join_classes():
    y, p = several_classes(40, 3, 3)
    found = explain(y, p, statistic=kc.SKCE(target_kernel=kc.Laplacian(1.0)), draws=19)
    assert found.classes == ()
    assert "the error is not split by class" in found.notes[-1]
    assert found.contributions.sum() == pytest.approx(float(found.estimate))


def test_very_many_classes():
    y, p = several_classes(30, 40, 3)
    found = explain(y, p, draws=19)
    assert len(found.witness.names) == 20
    assert found.notes == ("the witness looks at the 20 classes of 40 that are predicted most",)
    assert "the first 10 of 40 classes add most" in repr(found)


def test_hostile_names_are_escaped():
    y, p = one_probability(40, 2)
    hostile = "<script>alert(1)</script>"
    found = explain(y, p, groups={hostile: [hostile] * 39 + ["&"]}, draws=19)
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    assert hostile in found.summary()
    y = np.array([hostile, "b", "c"])[np.arange(30) % 3]
    p = np.full((30, 3), [0.01, 0.01, 0.98])
    named = explain(y, kc.Categorical(p, classes=[hostile, "b", "c"]), draws=19)
    assert named.regions
    assert "<script>" not in named._repr_html_()


@pytest.mark.slow
def test_prints_and_plain_values():
    y, p = one_probability(300, 3, 0.3)
    progress = []
    found = explain(y, p, groups={"site": np.arange(300) % 12}, draws=99, progress=lambda *a: progress.append(a))
    assert progress[-1] == (99, 99)
    text = repr(found)
    for words in ("Where is the model wrong?", "witness, p-value", "95% at all places together", "By group"):
        assert words in text
    assert "the first 10 of 12 groups" in text
    assert "Rows that add most" in text
    assert len(found.rows) == 10
    assert all(row.happened == "0" or float(row.predicted) < 0.7 for row in found.rows)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(plain["groups"]["findings"]) == 12
    assert plain["findings"] == list(found.findings)
    assert len(plain["witness"]["band"]) == 101
    assert "values outside the 95% band" in repr(found.witness)


def test_other_libraries_and_float32():
    torch = pytest.importorskip("torch")
    y, p = one_probability(60, 5, 0.3)
    plain = explain(y, p, draws=39)
    moved = explain(torch.tensor(y), torch.tensor(p, requires_grad=True), draws=39)
    np.testing.assert_allclose(plain.witness.field, moved.witness.field)
    single = explain(y, p.astype(np.float32), draws=39)
    np.testing.assert_allclose(plain.contributions, single.contributions, atol=1e-7)


def test_sources_that_cancel_are_told_apart():
    given, expected = CASES["mixed-sources"]["input"], CASES["mixed-sources"]["expected"]
    sizes = [g["n"] for g in given["groups"].values()]
    names = np.repeat(list(given["groups"]), sizes)
    p = np.concatenate([np.full(g["n"], g["conf"]) for g in given["groups"].values()])
    y = np.concatenate([np.arange(g["n"]) < g["right"] for g in given["groups"].values()]).astype(int)
    found = explain(y, p, groups=names)
    for name, gap in expected["per_group_gap"].items():
        assert found.group(name).gap == pytest.approx(-gap)  # the case subtracts the frequency from the confidence
        assert found.group(name).pvalue == 0.001
    assert sum(g.gap * g.n for g in found.groups) == pytest.approx(expected["pooled_signed"], abs=1e-9)
    assert [(r.above, round(r.gap, 1)) for r in found.regions] == [(True, 0.5), (False, -0.4)]


def test_yes_no_mass_is_refused_unless_normalising_is_asked_for():
    rows = [[0.109507695, 0.27473107], [0.3, 0.1]]
    with pytest.raises(InputError, match=r"row 0 sums to 0\.384239, expected 1"):
        explain([1, 0], rows)
    found = explain([1, 0], rows, normalize=True, draws=19)
    assert found.witness.position[-1, 0] == pytest.approx(0.715000919)
    assert found.notes[0].startswith("every row was divided by its sum, as asked")


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_numbers_of_which_no_row_adds(n):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        found = kc.explain(rng.normal(size=n), kc.Normal(rng.normal(size=n), np.ones(n)), draws=19)
        assert all(row.contribution > 0 for row in found.rows)


def test_numbers_without_moments_are_placed_by_their_centres():
    """Laws without a mean have no place "nan", and a mixture of them is not taken for one without spread."""
    centre = np.linspace(-3, 3, 120)
    y = centre + np.random.default_rng(0).standard_t(0.9, 120) + 2 * (centre > 0)
    heavy = kc.StudentT(0.9, centre, 1.0)
    text = str(kc.explain(y, heavy, draws=199))
    assert "outcomes are higher than predicted where the predicted mean is 0.832" in text
    assert "nan" not in text
    found = kc.explain(y, kc.Mixture([0.5, 0.5], [heavy, kc.StudentT(0.9, centre, 1.2)]), draws=199)
    assert np.isfinite(found.witness.critical)
    assert (found.witness.sd > 0).all()
    assert found.witness.pvalue < 0.05
