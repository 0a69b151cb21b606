"""Reliability: bins, intervals and bands, against plain loops, and what the bands promise."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.inference import class_reliability, reliability, simplex_calibration
from kernelcal.statistics.binned.bands import NullBand

FILE = Path(__file__).resolve().parents[1] / "data" / "cases.json"


def case(name):
    found = next(c for c in json.loads(FILE.read_text())["cases"] if c["id"] == name)
    return found["input"], found["expected"]


def data(n=200, m=3, seed=0, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(m), n)
    y = kc.Categorical(p).sample(rng)[0]
    return y, p**power / (p**power).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("question", ["class-wise", "top label by class", "top label"])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_count_for_all_parts_gives_the_bands_of_one_a_part(monkeypatch, question, weighted):
    y, p = data(n=300, m=4)
    weights = np.random.default_rng(1).uniform(0.5, 2, 300) if weighted else None
    own = [part.band for part in class_reliability(y, p, question=question, weights=weights, draws=99).parts]
    curves = sys.modules["kernelcal.inference.reliability_curves"]
    monkeypatch.setattr(curves, "_CELLS", 0)
    other = [part.band for part in class_reliability(y, p, question=question, weights=weights, draws=99).parts]
    for one, two in zip(own, other, strict=True):
        np.testing.assert_allclose(one.low, two.low, rtol=1e-12)
        np.testing.assert_allclose(one.pointwise_high, two.pointwise_high, rtol=1e-12)
        assert one.known


def naive(events, p, bins, weights=None):
    """Counts, mean predictions, frequencies, intervals and ECE in plain loops; p in bins closed on the right."""
    w, rows, gap = np.ones(len(p)) if weights is None else weights, [], 0.0
    for k in range(bins):
        inside = [i for i in range(len(p)) if k / bins < p[i] <= (k + 1) / bins or (k == 0 and p[i] == 0)]
        if not inside:
            rows.append((0, None, None, None, None))
            continue
        total = sum(w[i] for i in inside)
        mean, frequency = sum(w[i] * p[i] for i in inside) / total, sum(w[i] * events[i] for i in inside) / total
        size = total**2 / sum(w[i] ** 2 for i in inside)
        low = stats.beta.ppf(0.05, frequency * size, (1 - frequency) * size + 1) if frequency > 0 else 0.0
        high = stats.beta.ppf(0.95, frequency * size + 1, (1 - frequency) * size) if frequency < 1 else 1.0
        rows.append((len(inside), mean, frequency, low, high))
        gap += total * abs(mean - frequency)
    return rows, gap / sum(w)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("question", ["top label", "class 1"])
def test_bins_are_those_of_plain_loops(question, weighted):
    y, p = data()
    w = np.random.default_rng(1).exponential(size=200) if weighted else None
    asked = question if question == "top label" else kc.OneClass(1)
    found = reliability(y, p, question=asked, bins=8, confidence_level=0.9, draws=99, weights=w)
    events, own = (p.argmax(axis=1) == y, p.max(axis=1)) if question == "top label" else (y == 1, p[:, 1])
    rows, ece = naive(events.astype(float), own, 8, w)
    columns = found.table.count, found.table.mean_prediction, found.table.frequency, *found.interval
    for k, expected in enumerate(rows):
        for column, value in zip(columns, expected, strict=True):
            assert np.isnan(column[k]) if value is None else column[k] == pytest.approx(value)
    assert (
        float(found.ece) == pytest.approx(ece) == pytest.approx(float(kc.ece(y, p, question=asked, bins=8, weights=w)))
    )
    assert found.frequency == pytest.approx(np.average(events, weights=w))
    assert found.mean_prediction == pytest.approx(np.average(own, weights=w))


def test_the_bands_of_equal_predictions_are_those_of_the_binomial_law():
    p = np.repeat([0.1, 0.6], 50)
    found = reliability(np.repeat([0, 1], 50), p, question="positive class", bins=2, confidence_level=0.9, draws=1999)
    for k, q in enumerate((0.1, 0.6)):
        tails = [min(stats.binom.cdf(x, 50, q), stats.binom.sf(x - 1, 50, q)) for x in range(51)]
        wide = [x for x in range(51) if tails[x] >= 0.05 / 2]  # two bins: about half the level each
        assert abs(found.band.low[k] * 50 - wide[0]) <= 1
        assert abs(found.band.high[k] * 50 - wide[-1]) <= 1
        assert found.band.low[k] <= found.band.pointwise_low[k] <= q <= found.band.pointwise_high[k]


def test_draws_that_are_made_again_lie_inside_as_often_as_they_must():
    y, p = data(120)
    found = reliability(y, p, bins=6, confidence_level=0.9, draws=199, rng=4)
    labels = kc.inference.Draws(4, "draws of the band of a curve").targets(kc.Categorical(p), 0, 199)
    hits, own = labels == p.argmax(axis=1), p.max(axis=1)
    index = np.ceil(own * 6).astype(int) - 1
    filled = np.unique(index)
    frequency = np.stack([hits[:, index == k].mean(axis=1) for k in filled], axis=1)
    slack = 1e-9
    inside = (frequency >= found.band.low[filled] - slack) & (frequency <= found.band.high[filled] + slack)
    assert 180 <= inside.all(axis=1).sum() <= 190  # at most 20 = 0.1 * 200 lie outside, ties apart


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("few rows", "classes")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rare events", "weights", *SLOW])
def test_calibrated_models_lie_inside_as_often_as_promised(kind):
    rng = np.random.default_rng(len(kind))
    n = 25 if kind == "few rows" else 80
    p = rng.dirichlet([0.2, 0.3, 3.0] if kind == "rare events" else [1, 1, 1], n)
    w = rng.exponential(size=n) if kind == "weights" else None
    targets, out = kc.Categorical(p).sample(rng, 150), 0
    for k, y in enumerate(targets):
        if kind == "classes":
            wise = class_reliability(y, p, bins=4, confidence_level=0.9, draws=59, rng=k)
            out += any(part.outside.any() for part in wise.parts)
        else:
            question = kc.OneClass(0) if kind == "rare events" else None
            found = reliability(y, p, question=question, bins=5, confidence_level=0.9, draws=59, rng=k, weights=w)
            out += bool(found.outside.any())
    assert out <= stats.binom(150, 0.1).ppf(0.999)


def test_over_confidence_is_outside():
    found = reliability(*data(600, power=3.0))
    assert found.outside[-1]
    assert found.table.frequency[-1] < found.band.low[-1]
    assert found.to_dict()["outside"][-1] is True


def test_bins_without_rows_are_kept_apart():
    given, expected = case("empty-bins-shape")
    found = reliability(given["y"], given["p1"], question="positive class", bins=given["n_bins"])
    said = found.to_dict()
    assert said["count"] == expected["counts"]
    assert said["mean_prediction"] == pytest.approx(expected["mean_p"])
    assert said["frequency"] == pytest.approx(expected["freq"])
    assert said["null_band"]["low"][1] is said["low"][1] is None
    pytest.importorskip("matplotlib").use("agg")
    ax = found.plot()
    assert ax.get_title(loc="left").endswith(", 3 rows\n1 of 3 bins empty, not drawn")
    assert ax.lines[0].get_xdata().tolist() == pytest.approx([0.2, 0.85])


def test_fifty_points_show_counts_and_intervals():
    given, expected = case("fifty-points")
    rng = np.random.default_rng(0)
    p = np.append(rng.uniform(0.5, 1, given["n"] - 1), 0.45)
    y = np.append(rng.random(given["n"] - 1) < p[:-1], True).astype(int)
    found = reliability(y, p, question="positive class", bins=given["n_bins"])
    assert found.table.count[4] == 1
    assert [end[4] for end in found.interval] == pytest.approx(expected["interval_1_of_1_95"])
    pytest.importorskip("matplotlib").use("agg")
    ax = found.plot()
    assert [text.get_text() for text in ax.texts] == [f"{count}" for count in found.table.count if count]
    assert "95 % interval of the observed frequency (Clopper-Pearson)" in ax.get_legend_handles_labels()[1]


def test_one_row_and_one_bin():
    found = reliability([1], [0.3], question="positive class", bins=1)
    assert found.band.low == [0]
    assert found.band.high == [1]
    assert not found.outside.any()
    assert reliability([1], [0.01], question="positive class", bins=1).outside.tolist() == [True]


def test_certain_predictions():
    assert reliability([1, 0], [1.0, 0.0], question="positive class", bins=2).outside.tolist() == [False, False]
    assert reliability([0, 0], [1.0, 0.0], question="positive class", bins=2).outside.tolist() == [False, True]


@pytest.mark.slow
def test_classes_come_worst_first_and_twelve_at_most():
    y, p = data(300, 14)
    wise = class_reliability(y, p, bins=4, draws=39)
    errors = [float(kc.ece(y, p, question=kc.OneClass(k), bins=4)) for k in range(14)]
    assert [float(part.ece) for part in wise.parts] == pytest.approx(errors)
    assert float(wise.ece) == pytest.approx(np.mean(errors))
    assert [float(part.ece) for part in wise.worst()] == pytest.approx(sorted(errors, reverse=True)[:12])
    pytest.importorskip("matplotlib").use("agg")
    axes = wise.plot()
    assert len(axes) == 12
    assert axes[0].figure.get_suptitle().endswith("the 12 worst of 14 (2 left out)")
    assert axes[0].get_title(loc="left").startswith(wise.worst()[0].question)
    assert len(wise.plot(axes[:3])) == 3


def test_bands_do_not_depend_on_the_batches(monkeypatch):
    y, p = data(50)
    whole = class_reliability(y, p, bins=4, draws=39).to_dict()
    monkeypatch.setattr(sys.modules["kernelcal.inference.reliability_curves"], "_NUMBERS", 50 * 7)
    assert class_reliability(y, p, bins=4, draws=39).to_dict() == whole


def test_results_print_and_are_plain_values():
    y, p = data()
    for found in (reliability(y, p), class_reliability(y, p), simplex_calibration(y, p)):
        json.dumps(found.to_dict(), allow_nan=False)
        assert "<table>" in found._repr_html_()
        assert "ECE" in repr(found)
    assert "all bins at once" in repr(reliability(y, p))
    assert "all bins of all classes" in repr(class_reliability(y, p).parts[0])


def test_other_binnings_and_libraries():
    torch = pytest.importorskip("torch")
    y, p = data()
    for bins in (kc.EqualMassBins(5), kc.binning.MedianVarianceBins(20)):
        found = reliability(y, torch.tensor(p), bins=bins)
        assert found.to_dict() == reliability(y, p, bins=bins).to_dict()
        assert found.table.count.sum() == 200


def test_simplex_gaps_against_plain_loops():
    y, p = data(90, power=1.7)
    found = simplex_calibration(y, p, bins=kc.binning.MedianVarianceBins(20), confidence_level=0.9, draws=99, rng=2)
    index = kc.binning.MedianVarianceBins(20).assign(p).index

    def gaps(labels):
        result = []
        for k in range(index.max() + 1):
            rows = np.flatnonzero(index == k)
            total = sum((np.eye(3)[labels[i]] - p[i] for i in rows), np.zeros(3))
            result.append((total @ total) / sum(1 - p[i] @ p[i] for i in rows))
        return result

    part = kc.ECE(question="simplex", bins=kc.binning.MedianVarianceBins(20)).prepare(kc.Categorical(p)).parts[0]
    assert sys.modules["kernelcal.inference.simplex"]._gaps(part, y[None])[0] == pytest.approx(gaps(y))
    drawn = kc.inference.Draws(2, "draws of the band of a triangle").targets(kc.Categorical(p), 0, 99)
    critical = sorted(max(gaps(labels)) for labels in drawn)[-10]  # 10 = 0.1 * 100
    assert found.outside.tolist() == [gap > critical + 1e-9 for gap in gaps(y)]
    for k in range(index.max() + 1):
        assert found.table.frequency[k] == pytest.approx(np.eye(3)[y[index == k]].mean(axis=0))


def test_simplex_gaps_are_inside_as_often_as_promised():
    rng = np.random.default_rng(6)
    p = rng.dirichlet([0.3, 0.5, 2], 60)
    targets = kc.Categorical(p).sample(rng, 150)
    found = (simplex_calibration(y, p, confidence_level=0.9, draws=59, rng=k) for k, y in enumerate(targets))
    out = sum(one.outside.any() for one in found)
    assert out <= stats.binom(150, 0.1).ppf(0.999)


def test_a_triangle_of_many_rows_draws_two_thousand():
    y, p = data(2500)
    found = simplex_calibration(y, p, draws=19)
    assert len(found.points) == 2000
    assert found.outcomes.tolist() == simplex_calibration(y, p, draws=19).outcomes.tolist()
    pytest.importorskip("matplotlib").use("agg")
    assert "2,500 rows (2,000 of them drawn)" in found.plot().get_title(loc="left")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, p: reliability(y, p, question="simplex"), "question='simplex' is about all classes at once: use"),
        (lambda y, p: reliability(y, p, question="class-wise"), "this question has 3: use .*class_reliability"),
        (lambda y, p: reliability(y, p, draws=5), "a band of confidence_level 0.95 needs at least 19 draws, got 5"),
        (lambda y, p: reliability(y, p, bins=0), "bins must be a whole number"),
        (lambda y, p: simplex_calibration(y % 2, p[:, 0]), "three corners, and the predictions have 2 classes: merge"),
        (lambda y, p: reliability(y * 1.5, kc.Normal(y * 1.0, 1.0)), "predicted class probabilities, got Normal"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call(*data())


def test_bins_without_rows_take_no_memory_in_the_draws(monkeypatch):
    """Bands of 40 rows in 3,000 bins: those of the bins with rows alone."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=40)
    y = (rng.uniform(size=40) < p).astype(int)
    widths = []
    whole = NullBand.of

    def noted(law, depth, *rest):
        widths.append(depth.shape[1])
        return whole(law, depth, *rest)

    monkeypatch.setattr(NullBand, "of", noted)
    found = reliability(y, p, question="positive class", bins=3000)
    filled = found.table.weight > 0
    assert widths == [filled.sum()]
    assert np.isnan(found.band.low[~filled]).all()
    assert np.isfinite(found.band.low[filled]).all()
    assert not found.outside[~filled].any()


# ---- rows that depend on each other


def shared(seed, clusters=40, size=5):
    rng = np.random.default_rng([5, seed])
    of, p = np.repeat(np.arange(clusters), size), rng.beta(2, 3, clusters * size)
    latent = np.sqrt(0.5) * rng.normal(size=clusters)[of] + np.sqrt(0.5) * rng.normal(size=len(of))
    return (stats.norm.cdf(latent) < p).astype(int), p, of


OPTIONS = {"question": "positive class", "bins": 5, "draws": 199}


def test_intervals_and_bands_allow_for_clusters():
    y, p, of = shared(1)
    alone, found = reliability(y, p, **OPTIONS), reliability(y, p, clusters=of, **OPTIONS)
    middle = found.table.count > 20
    widths = [np.diff(one.interval, axis=0)[0] for one in (alone, found)]
    assert (widths[1] > widths[0])[middle].all()
    assert (found.band.high - found.band.low > alone.band.high - alone.band.low)[middle].all()
    assert class_reliability(y, p, bins=5, draws=199, clusters=of).parts[0].band.draws == 199
    with pytest.raises(InputError, match="clusters must hold one value for each of the 200 rows"):
        reliability(y, p, clusters=[1, 2, 3])


@pytest.mark.slow
def test_bands_of_clusters_hold_all_bins_as_often_as_promised():
    outside = sum(
        reliability(*shared(k)[:2], clusters=shared(k)[2], rng=k, **OPTIONS).outside.any() for k in range(200)
    )
    assert outside <= stats.binom.ppf(0.999, 200, 0.05)
