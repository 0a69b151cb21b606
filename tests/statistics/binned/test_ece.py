"""Binned errors against a naive second implementation, and their properties."""

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import kernelcal as kc
from kernelcal.binning import Binning, Bins, EqualMassBins, MedianVarianceBins, UniformBins
from kernelcal.lenses import ClassWise, OneClass, TopK, TopLabel
from kernelcal.statistics import ECE, CallableStatistic, ece, mce

DISTANCES = {
    "total variation": lambda a, b: sum(abs(x - z) for x, z in zip(a, b, strict=True)) / 2,
    "l1": lambda a, b: sum(abs(x - z) for x, z in zip(a, b, strict=True)),
    "euclidean": lambda a, b: sum((x - z) ** 2 for x, z in zip(a, b, strict=True)) ** 0.5,
    "squared": lambda a, b: sum((x - z) ** 2 for x, z in zip(a, b, strict=True)),
    "max": lambda a, b: max(abs(x - z) for x, z in zip(a, b, strict=True)),
}


def naive(p, y, bins, distance="total variation", norm="mean", weights=None):
    """Dictionary of bins and loops; p is a list of rows, y a list of one-hot rows (or of 0/1 in one column)."""
    weights = [1.0] * len(p) if weights is None else weights
    held = {}
    for row, target, w in zip(p, y, weights, strict=True):
        cell = tuple(1 if x == 0 else int(np.ceil(bins * x)) for x in row)
        held.setdefault(cell, []).append((row, target, w))
    total, terms = sum(weights), []
    for rows in held.values():
        own = sum(w for _, _, w in rows)
        mean = [sum(w * row[k] for row, _, w in rows) / own for k in range(len(p[0]))]
        share = [sum(w * target[k] for _, target, w in rows) / own for k in range(len(p[0]))]
        terms.append((own / total, distance(mean, share) if callable(distance) else DISTANCES[distance](mean, share)))
    return max(d for _, d in terms) if norm == "max" else sum(w * d for w, d in terms)


def gap(a, b):
    return abs(a[0] - b[0])


@pytest.mark.parametrize("norm", ["mean", "max"])
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("m", [3, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_simplex_equals_naive(make_data, distance, norm, m, weighted):
    p, y = make_data(80, m)
    w = np.random.default_rng(5).random(80) + 0.1 if weighted else None
    expected = naive(p.tolist(), np.eye(m)[y].tolist(), 4, distance, norm, w)
    statistic = ECE(question="simplex", bins=4, distance=distance, norm=norm)
    assert float(statistic(y, p, weights=w)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("distance", DISTANCES)
def test_one_probability_equals_naive(distance):
    rng = np.random.default_rng(0)
    p, y, w = np.round(rng.random(150), 2), rng.integers(0, 2, 150), rng.random(150)
    own = (lambda a, b: gap(a, b) ** 2) if distance == "squared" else gap
    for norm in ("mean", "max"):
        expected = naive(p[:, None].tolist(), y[:, None].tolist(), 10, own, norm, w)
        got = ece(y, p, question="positive class", bins=10, distance=distance, norm=norm, weights=w)
        assert float(got) == pytest.approx(expected, rel=1e-12)


def test_questions_equal_naive(make_data):
    p, y = make_data(90, 4)
    top = p.argmax(axis=1)
    confidence, hit = p.max(axis=1)[:, None].tolist(), (top == y)[:, None].astype(int).tolist()
    assert float(ece(y, p, bins=6)) == pytest.approx(naive(confidence, hit, 6, gap), rel=1e-12)
    each = [naive(p[:, [k]].tolist(), (y == k)[:, None].astype(int).tolist(), 6, gap) for k in range(4)]
    class_wise = ece(y, p, bins=6, question="class-wise")
    assert class_wise.parts == pytest.approx(each, rel=1e-12)
    assert float(class_wise) == pytest.approx(np.mean(each), rel=1e-12)
    assert float(ece(y, p, bins=6, question=OneClass(2))) == pytest.approx(each[2], rel=1e-12)
    found = [
        naive(p[top == k].max(axis=1)[:, None].tolist(), (y == k)[top == k][:, None].astype(int).tolist(), 6, gap)
        for k in np.unique(top)
    ]
    assert float(ece(y, p, bins=6, question="top label by class")) == pytest.approx(np.mean(found), rel=1e-12)


def test_a_lens_of_several_classes_is_binned_on_its_simplex(make_data):
    p, y = make_data(60, 5)
    place, seen = TopK(2)(y, p)
    through = ece(y, p, question=TopK(2), bins=3)
    assert through.name == "ECE, top 2 and the rest"
    assert float(through) == float(ece(place, seen, question="simplex", bins=3))
    # the top label of the merged classes is another question, and says so
    assert ece(place, seen, bins=3).name == "ECE, top label of top 2 and the rest"


def test_question_that_a_lens_has_asked_is_kept():
    p, hit = np.array([0.2, 0.2, 0.8, 0.8]), np.array([1, 1, 1, 1])
    confidence = kc.Bernoulli(p, question="top label")
    for question in (None, "top label", "positive class"):  # never max(p, 1 - p)
        assert float(ece(hit, confidence, question=question, bins=10)) == pytest.approx(0.5)
    assert float(ece(hit, p, bins=10)) == pytest.approx(0.5)  # one column: the positive class
    assert float(ece(hit, p, question="top label", bins=10)) == pytest.approx(0.3)  # whose first choice may be "no"
    other = kc.Bernoulli(p, question="class b against the rest")
    assert ece(hit, other, bins=10).name == "ECE, class b against the rest"
    assert float(ece(hit, other, bins=10)) == pytest.approx(0.5)
    top = ece(hit, other, question="top label", bins=10)
    assert top.name == "ECE, top label of class b against the rest"
    assert float(top) == pytest.approx(0.3)


def test_names_and_options_that_reports_use(make_data):
    p, y = make_data(50, 3)
    plain = ece(y, p, question="top label")
    assert (plain.name, plain.options["bins"]) == ("ECE, top label", "15 equal-width bins")
    assert mce(y, p).name == "MCE, top label"
    assert ece(y, p, bins=EqualMassBins(4)).options["bins"] == "4 equal-mass bins"
    assert float(mce(y, p, bins=4)) == float(ECE(bins=4, norm="max")(y, p)) >= float(ece(y, p, bins=4))
    wise = ece(y, p, question="class-wise")
    assert "the value is the mean over 3 classes" in repr(wise)
    assert "class 2 against the rest" in repr(wise)
    assert "bins that hold rows" in repr(ece(y, p, question="simplex"))
    assert ECE(distance=lambda a, b: np.zeros(len(a)))(y, p).options["distance"] == "<lambda>"


def test_custom_distance_gets_means_and_frequencies(make_data):
    p, y = make_data(50, 3)

    def half_l1(mean, frequency):
        assert mean.shape == frequency.shape
        return np.abs(mean - frequency).sum(axis=1) / 2

    for question in ("simplex", "top label"):
        factor = 1 if question == "simplex" else 2  # one column holds half of what two would
        own = factor * float(ece(y, p, question=question, bins=4, distance=half_l1))
        assert own == pytest.approx(float(ece(y, p, question=question, bins=4)), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("question", ["simplex", "positive class"])
def test_corrected_is_the_sum_over_pairs_of_different_rows(question, weighted):
    rng = np.random.default_rng(2)
    p1 = rng.random(40)
    p, y = np.stack([1 - p1, p1], axis=1), rng.integers(0, 2, 40)
    w = rng.integers(1, 5, 40) if weighted else np.ones(40)
    residual = p - np.eye(2)[y] if question == "simplex" else (p1 - y)[:, None]
    cells = [tuple(int(np.ceil(5 * x)) for x in (row if question == "simplex" else row[1:])) for row in p]
    total = 0.0
    for i in range(40):
        for j in range(40):
            if i != j and cells[i] == cells[j]:
                own = sum(w[k] for k in range(40) if cells[k] == cells[i])
                total += w[i] * w[j] * residual[i] @ residual[j] / own
    got = ece(
        y, p, question=question, bins=5, distance="squared", estimator="corrected", weights=w if weighted else None
    )
    assert got.estimator == "binned, corrected"
    assert float(got) == pytest.approx(total / w.sum(), rel=1e-11)


def test_corrected_may_be_negative_and_is_zero_on_average():
    p = np.full(2000, 0.5)
    y = np.tile([0, 1], 1000)
    assert float(ece(y, p, question="positive class", distance="squared", estimator="corrected")) == pytest.approx(
        -0.25 / 2000
    )
    draws = np.random.default_rng(0).integers(0, 2, (4000, 50))
    prepared = ECE(question="positive class", distance="squared", estimator="corrected").prepare(kc.Bernoulli(p[:50]))
    values = prepared.values(draws)[:, 0]
    assert values.min() < 0
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(4000)


data = st.integers(5, 40).flatmap(
    lambda n: st.tuples(
        arrays(float, n, elements=st.sampled_from([0, 0.05, 0.1, 0.25, 0.3, 0.5, 0.77, 0.9, 1.0])),
        arrays(np.int64, n, elements=st.integers(0, 1)),
        arrays(np.int64, n, elements=st.integers(1, 4)),
    )
)

BINNINGS = [UniformBins(10), UniformBins(3, closed="left"), EqualMassBins(4), MedianVarianceBins(2)]


@pytest.mark.parametrize(
    ("question", "binning"),
    [
        *(pytest.param("positive class", bins, id=f"positive class-{bins}") for bins in BINNINGS),
        *(
            pytest.param(question, bins, id=f"{question}-{bins}", marks=() if bins is quick else pytest.mark.slow)
            for question, quick in (("top label", BINNINGS[2]), ("class-wise", BINNINGS[0]))
            for bins in BINNINGS
        ),
    ],
)
@given(data=data, seed=st.integers(0, 99))
@pytest.mark.slow
def test_properties(binning, question, data, seed):
    p, y, w = data
    statistic = ECE(question=question, bins=binning)
    value = statistic(y, p)
    assert 0 <= float(value) <= 1
    for table in value.tables:
        assert table.count.sum() == len(p)
        assert table.weight.sum() == pytest.approx(len(p))
    order = np.random.default_rng(seed).permutation(len(p))
    assert float(statistic(y[order], p[order])) == pytest.approx(float(value), abs=1e-12)
    assert float(statistic(y, p, weights=np.full(len(p), 0.3))) == pytest.approx(float(value), abs=1e-12)
    if not isinstance(binning, MedianVarianceBins):  # whose bins are made of rows
        repeated = statistic(np.repeat(y, w), np.repeat(p, w))
        assert float(statistic(y, p, weights=w)) == pytest.approx(float(repeated), abs=1e-12)


@pytest.mark.parametrize("m", [3, 30])
def test_binnings_of_others_may_have_empty_bins(m, make_data):
    class ByFirst(Binning):
        def assign(self, p, weights=None):
            return Bins(2 * (p[:, 0] > 0.1).astype(int) + 1, 5)

        def __str__(self):
            return "two bins and three empty ones"

    p, y = make_data(70, m)
    one_hot, total = np.eye(m)[y], 0.0
    for rows in (p[:, 0] > 0.1, p[:, 0] <= 0.1):
        total += rows.mean() * np.abs(p[rows].mean(axis=0) - one_hot[rows].mean(axis=0)).sum() / 2
    value = ece(y, p, question="simplex", bins=ByFirst())
    assert float(value) == pytest.approx(total, rel=1e-12)
    assert value.tables[0].count[[0, 2, 4]].tolist() == [0, 0, 0]
    assert "two bins and three empty ones" in repr(value)


def test_rows_of_weight_zero_count_nothing():
    y, p = [1, 0, 1], [0.9, 0.2, 0.5]
    for bins in (10, EqualMassBins(3)):
        left_out = ece(y, p, weights=[1, 1, 0], bins=bins, question="positive class")
        assert float(left_out) == pytest.approx(0.15)
        assert float(mce(y, p, weights=[1, 1, 0], bins=bins, question="positive class")) == pytest.approx(0.2)
        assert None in left_out.tables[0].to_dict()["frequency"]


@pytest.mark.parametrize(
    "statistic",
    [
        ECE(),
        ECE(question="simplex", bins=3),
        ECE(question="class-wise", norm="max"),
        ECE(question="simplex", bins=MedianVarianceBins(5), distance="squared", estimator="corrected"),
        ECE(bins=EqualMassBins(5), distance="squared"),
        ECE(distance=lambda a, b: np.abs(a - b).max(axis=1)),
        ECE(question="top label by class", bins=3),
    ],
)
@pytest.mark.parametrize("m", [2, 4])
def test_exact_test_equals_one_call_a_draw(statistic, m, make_data):
    p, y = make_data(60, m)
    fast = kc.calibration_test(y, p, statistic=statistic, draws=99, early_stopping=False)
    slow = kc.calibration_test(
        y, p, statistic=CallableStatistic(lambda y, p: float(statistic(y, p))), draws=99, early_stopping=False
    )
    assert fast.pvalue == slow.pvalue
    assert fast.statistic == pytest.approx(float(statistic(y, p)), rel=1e-12)


def test_values_of_many_draws_do_not_depend_on_the_batch(make_data, monkeypatch):
    p, _ = make_data(40, 5)
    labels = np.random.default_rng(0).integers(0, 5, (30, 40)).astype(np.uint8)
    w = np.random.default_rng(1).random(40)
    prepared = ECE(question="simplex", bins=4).prepare(kc.Categorical(p), w / w.mean())
    whole = prepared.values(labels)
    monkeypatch.setattr("kernelcal.statistics.binned.binned_error._NUMBERS", 1)
    np.testing.assert_array_equal(whole, prepared.values(labels))
    np.testing.assert_array_equal(whole[7], prepared.values(labels[7:8])[0])


def test_lens_and_class_wise_tests(make_data):
    p, y = make_data(80, 3)
    through = kc.calibration_test(y, p, statistic=ECE(), lens=TopLabel(), draws=99)
    hit, confidence = TopLabel()(y, p)
    assert through.statistic == pytest.approx(float(ece(hit, confidence)))
    assert through.statistic == pytest.approx(float(ece(y, p)))
    joint = kc.calibration_test(y, p, statistic=ECE(), lens=ClassWise("full"), draws=99)
    each = ece(y, p, question="class-wise")
    assert sorted(m.value for m in joint.members) == pytest.approx(sorted(each.parts))


def test_level_of_the_exact_test():
    rng, rejections = np.random.default_rng(7), 0
    for _ in range(100):
        p = rng.dirichlet(np.ones(3), 60)
        y = kc.Categorical(p).sample(rng)[0]
        rejections += kc.calibration_test(y, p, statistic=ECE(bins=5), draws=19).pvalue <= 0.05
    assert rejections <= 12  # P(Binomial(100, 0.05) > 12) = 0.001


def test_estimates_can_be_pickled_and_written(make_data):
    import json

    p, y = make_data(30, 3)
    for question in ("top label", "class-wise", "simplex"):
        value = ece(y, p, question=question)
        again = pickle.loads(pickle.dumps(value))
        assert float(again) == float(value)
        assert json.loads(json.dumps(value.to_dict()))["value"] == float(value)
        assert again._repr_html_() == value._repr_html_()


def test_backends_give_the_same(backend, make_data):
    p, y = make_data(40, 3)
    assert float(ece(y, backend(p), question="simplex", bins=4)) == float(ece(y, p, question="simplex", bins=4))
