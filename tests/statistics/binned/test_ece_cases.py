"""Values that others published or asked for."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.binning import EqualMassBins, MedianVarianceBins, UniformBins
from kernelcal.errors import InputError
from kernelcal.statistics import ECE, brier_decomposition, brier_score, ece

POSITIVE = {"question": "positive class"}


@pytest.fixture(scope="module")
def case():
    path = Path(__file__).resolve().parents[2] / "data" / "cases.json"
    cases = {c["id"]: c for c in json.loads(path.read_text())["cases"]}
    return lambda name: (cases[name]["input"], cases[name]["expected"])


def confidences(given):
    return kc.Bernoulli(np.array(given["confidence"], dtype=float), question="top label")


def test_one_and_095_share_the_last_bin(case):
    given, expected = case("edge-conf-one")
    assert float(ece(given["y"], given["p"], bins=10, **POSITIVE)) == pytest.approx(expected["ece"], abs=1e-12)


def test_certain_and_right(case):
    given, expected = case("edge-perfect-01")
    p = np.array(given["p"], dtype=float)
    for question in ("positive class", "top label"):
        assert float(ece(given["y"], p, bins=15, question=question)) == expected["ece"]
    result = kc.calibration_test(given["y"], p, statistic=ECE(), draws=99)
    assert result.pvalue == 1
    assert any("no variance" in note for note in result.notes)


def test_certain_and_wrong(case):
    given, expected = case("edge-all-wrong-at-one")
    assert float(ece(given["correct"], confidences(given), bins=10)) == expected["ece"]
    assert kc.calibration_test(given["correct"], confidences(given), statistic=ECE(), draws=99).pvalue == 0.01


def test_no_row_is_left_out(case):
    _, expected = case("last-bin-skipped")
    p = kc.Bernoulli(np.arange(1, 831) / 830, question="top label")
    for bins in (EqualMassBins(8), UniformBins(15), MedianVarianceBins(100)):
        value = ece(np.ones(830, dtype=int), p, bins=bins)
        assert value.tables[0].count.sum() == expected["rows_used"]
        assert float(value) == pytest.approx(expected["ece_equal_mass_any_binning"], abs=1e-8)


def test_more_bins_than_rows(case):
    given, expected = case("bins-exceed-n")
    value = ece(given["correct"], confidences(given), bins=EqualMassBins(given["n_bins"]))
    assert len(value.tables[0]) == expected["effective_bins"]
    assert float(value) == pytest.approx(expected["ece"], abs=1e-12)


def test_bins_are_weighted_by_their_rows(case):
    given, expected = case("unequal-bin-weights")
    p = np.concatenate([np.full(g["n"], g["p"]) for g in given["groups"]])
    y = np.concatenate([np.arange(g["n"]) < g["positives"] for g in given["groups"]])
    assert float(ece(y, p, bins=10, **POSITIVE)) == pytest.approx(expected["ece"], abs=1e-8)


def test_ties_stay_together(case):
    given, expected = case("constant-quantile")
    value = ece(given["y"], given["p"], bins=EqualMassBins(given["n_bins"]), **POSITIVE)
    assert float(value) == pytest.approx(expected["ece"], abs=1e-12)
    assert value.tables[0].count.tolist() == [10]
    # one group of equal predictions: the exact test is a binomial one, here one-sided by the distance |gap|
    result = kc.calibration_test(given["y"], given["p"], statistic=ECE(**POSITIVE), draws=9999)
    assert result.pvalue == pytest.approx(expected["exact_binomial_p"], abs=4 * math.sqrt(8.6e-4 / 9999) + 1e-4)


def test_bins_mean_bins(case):
    given, expected = case("n-bins-meaning")
    value = ece(given["y"], given["p"], bins=given["n_bins"], **POSITIVE)
    assert float(value) == pytest.approx(expected["ece_2_bins"], abs=1e-12)
    table = value.tables[0]
    assert table.count.tolist() == [2, 3]
    np.testing.assert_allclose(np.abs(table.mean_prediction - table.frequency), [0.25, 0.316667], atol=1e-6)
    shown = repr(value)
    for part in ("0 to 0.5", "0.5 to 1", "0.2500", "0.6833"):
        assert part in shown


def test_both_conventions_of_two_classes_are_named(case):
    given, expected = case("binary-vs-toplabel")
    for question, key in (("positive class", "ece_positive_class"), ("top label", "ece_top_label")):
        value = ece(given["y"], given["p1"], bins=given["n_bins"], question=question)
        assert float(value) == pytest.approx(expected[key], abs=1e-12)
        assert value.name == f"ECE, {question}"


def test_columns_of_one(case):
    given, expected = case("n-by-1")
    y = np.array(given["y"])[:, 0]
    assert float(ece(y, np.array(given["p"]), bins=10, **POSITIVE)) == pytest.approx(expected["ece_10"], abs=1e-12)


def test_two_columns(case):
    given, expected = case("two-columns")
    with pytest.raises(InputError, match=expected["raise_"]):
        ece(given["y"], given["P"])
    assert float(ece(given["y"], [[0.2, 0.8], *given["P"][1:]])) == pytest.approx(0.3, abs=1e-12)


def test_a_class_that_does_not_occur(case):
    given, expected = case("missing-class")
    for bins in (1, 10):
        assert float(ece(given["y"], given["P"], bins=bins)) == pytest.approx(expected["ece_top_label_one_bin"])


def test_labels_that_are_words(case):
    given, expected = case("string-labels")
    with pytest.raises(InputError, match="classes="):
        ece(given["y"], given["p1"])
    value = ece(given["y"], given["p1"], classes=["eggs", "spam"], bins=10, **POSITIVE)
    assert float(value) == pytest.approx(expected["with_positive_spam"]["ece_10"], abs=1e-12)


def test_case_weights(case):
    given, expected = case("case-weights")
    value = ece(given["y"], given["p1"], weights=given["weight"], bins=10, **POSITIVE)
    assert float(value) == pytest.approx(expected["weighted_ece"], abs=1e-8)
    table = value.tables[0]
    held = table.frequency[table.count > 0]
    assert held == pytest.approx([expected["weighted_freq_at_0_1"], expected["weighted_freq_at_0_5"]], abs=1e-8)
    plain = ece(given["y"], given["p1"], bins=10, **POSITIVE)
    assert float(plain) == pytest.approx(expected["unweighted_ece"], abs=1e-12)


def test_class_wise_reports_the_vector_and_says_mean(case):
    given, expected = case("classwise-definition")
    value = ece(given["y"], given["P"], question="class-wise", bins=given["n_bins"])
    assert value.parts == pytest.approx(expected["per_class"], abs=1e-12)
    assert float(value) == pytest.approx(expected["mean_over_K"], abs=1e-8)
    assert "mean over 3 classes" in repr(value)


def test_empty_bins_stay(case):
    given, expected = case("empty-bins-shape")
    table = ece(given["y"], given["p1"], bins=given["n_bins"], **POSITIVE).tables[0]
    plain = table.to_dict()
    assert plain["count"] == expected["counts"]
    for key, wanted in (("mean_prediction", "mean_p"), ("frequency", "freq")):
        assert [x is None for x in plain[key]] == [x is None for x in expected[wanted]]
        filled = [x for x in plain[key] if x is not None]
        assert filled == pytest.approx([x for x in expected[wanted] if x is not None])
    assert plain["low"][1] is plain["high"][1] is None
    assert "-  -" in repr(table)
    assert table._repr_html_().count("<tr>") == 4


def test_intervals_of_small_bins(case):
    given, expected = case("fifty-points")
    p = np.append(np.linspace(0.51, 1, given["n"] - 1), 0.45)
    y = np.append(np.arange(given["n"] - 1) % 2, 1)
    table = ece(y, p, bins=given["n_bins"], **POSITIVE).tables[0]
    low, high = table.interval
    assert table.count[4] == 1
    assert [low[4], high[4]] == pytest.approx(expected["interval_1_of_1_95"])
    assert "1  0.4500     1.0000  0.0250 to 1.0000" in repr(table)
    for b in np.flatnonzero(table.count):  # the definition: either tail of the binomial law holds 2.5 %
        hits, rows = round(float(table.frequency[b] * table.count[b])), int(table.count[b])
        tail = lambda q, ks, rows=rows: sum(math.comb(rows, k) * q**k * (1 - q) ** (rows - k) for k in ks)  # noqa: E731
        if hits > 0:
            assert tail(low[b], range(hits, rows + 1)) == pytest.approx(0.025)
        if hits < rows:
            assert tail(high[b], range(hits + 1)) == pytest.approx(0.025)


def test_intervals_with_equal_weights_are_those_without():
    y, p = [1, 0, 1, 1], [0.4, 0.4, 0.4, 0.9]
    plain = ece(y, p, **POSITIVE).tables[0].interval
    weighted = ece(y, p, weights=[3, 3, 3, 3], **POSITIVE).tables[0].interval
    np.testing.assert_allclose(plain, weighted)
    uneven = ece(y, p, weights=[9, 1, 1, 1], **POSITIVE).tables[0].interval
    held = ~np.isnan(plain[0])
    assert np.all((uneven[1] - uneven[0])[held][0] > (plain[1] - plain[0])[held][0])  # fewer effective rows


def test_decomposition_refuses_distinct_forecasts(case):
    given, expected = case("brier-split-unique")
    with pytest.raises(InputError, match=r"4 of 4 predictions are distinct.*bins=10.*'isotonic'"):
        brier_decomposition(given["y"], given["p1"])
    for bins in (2, EqualMassBins(2), "isotonic"):
        parts = brier_decomposition(given["y"], given["p1"], bins=bins)
        assert parts.brier == pytest.approx(expected["brier"], abs=1e-12)


def test_decomposition_by_hand():
    # p = .2: shares 0, 1/2 ... two groups: (.2; 1 of 4), (.7; 3 of 4)
    y, p = [0, 0, 0, 1, 1, 1, 1, 0], [0.2] * 4 + [0.7] * 4
    parts = brier_decomposition(y, p)
    assert parts.reliability == pytest.approx((0.05**2 + 0.05**2) / 2)
    assert parts.resolution == pytest.approx(0.25**2)
    assert (parts.uncertainty, parts.within) == pytest.approx((0.25, 0))
    assert parts.groups == "2 distinct predictions"
    assert "reliability" in repr(parts)
    assert "resolution" in parts._repr_html_()
    assert parts.to_dict()["n"] == 8


@pytest.mark.parametrize("bins", [1, 7, EqualMassBins(5), MedianVarianceBins(9), "isotonic"])
def test_decomposition_adds_up(bins):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p**2
    parts = brier_decomposition(y, p, bins=bins)
    assert parts.brier == pytest.approx(float(brier_score(y, p)), rel=1e-12)
    whole = parts.reliability - parts.resolution + parts.uncertainty + parts.within
    assert whole == pytest.approx(parts.brier, rel=1e-12)
    assert min(parts.reliability, parts.resolution) >= 0


def test_isotonic_by_pooling_neighbours():
    y, p = [0, 1, 0, 1], [0.1, 0.35, 0.62, 0.88]  # the middle two are pooled at 1/2
    parts = brier_decomposition(y, p, bins="isotonic")
    assert parts.reliability == pytest.approx(0.207825 - 0.125)
    assert parts.resolution == pytest.approx(0.25 - 0.125)


@pytest.mark.parametrize(
    ("y", "p", "bins", "message"),
    [
        ([0, 1, 2], np.ones((3, 3)) / 3, 5, r"for two classes, the predictions have 3: ask about one class"),
        ([0, 1], [0.1, 0.9], "isotone", r"bins must be None, a number, a binning .* or 'isotonic', got 'isotone'"),
        ([0, 1], [0.1, 0.9], 0, r"bins must be a whole number"),
    ],
)
def test_decomposition_messages(y, p, bins, message):
    with pytest.raises(InputError, match=message):
        brier_decomposition(y, p, bins=bins)


def test_julia_trivial(julia):
    for fact in julia["ece_trivial"]["cases"]:
        if "predictions" in fact:
            p, y = np.array(fact["predictions"], dtype=float), np.array(fact["labels_1based"]) - 1
        else:
            p, y = np.array(fact["predictions_binary"], dtype=float), fact["targets"]
        assert float(ece(y, p, question="simplex", bins=10)) == fact["expected"]


@pytest.mark.parametrize("section", ["uniform_binning_partition", "median_variance_partition"])
def test_julia_means_and_proportions(julia, section):
    for fact in julia[section]["cases"]:
        binning = UniformBins(fact["nbins"]) if "nbins" in fact else MedianVarianceBins(fact["minsize"])
        labels = np.array(fact["labels_1based"]) - 1
        table = ece(labels, fact["predictions"], question="simplex", bins=binning).tables[0]
        for held in fact["bins"]:
            b = table.bins.index[held["rows_1based"][0] - 1]
            assert table.count[b] == held["n"]
            np.testing.assert_allclose(table.mean_prediction[b], held["mean_prediction"], atol=1e-15)
            np.testing.assert_allclose(table.frequency[b], held["target_proportions"], atol=1e-15)


def halved(p, rows, least):
    """Rows of every bin: halved at the median of the coordinate of largest variance while both parts keep enough."""
    if len(rows) < 2 * least:
        return [rows]
    k = int(np.argmax([np.var(p[rows, j]) for j in range(p.shape[1])]))
    ordered = sorted(p[row, k] for row in rows)
    half = len(ordered) // 2
    median = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
    low, high = [row for row in rows if p[row, k] < median], [row for row in rows if p[row, k] >= median]
    if min(len(low), len(high)) < least:
        return [rows]
    return halved(p, low, least) + halved(p, high, least)


@pytest.mark.parametrize("network", ["lenet-5-cifar-10", "wideresnet-16-4-cifar-10"])
def test_networks_bin_by_bin(data_folder, network):
    """Both binnings of the CIFAR-10 networks in plain loops; experiments/published has the published values."""
    with np.load(data_folder / "netcal_records" / f"{network}.npz") as file:
        p, y = file["predictions"].astype(float), file["ground_truth"]
    p /= p.sum(axis=1, keepdims=True)
    cells = {}
    for i, row in enumerate(p):
        cells.setdefault(tuple(max(1, math.ceil(10 * x)) for x in row), []).append(i)
    for bins, expected in ((10, list(cells.values())), (MedianVarianceBins(40), halved(p, list(range(len(p))), 40))):
        total = 0.0
        for rows in expected:
            gaps = [abs(p[rows, k].mean() - (y[rows] == k).mean()) for k in range(10)]
            total += len(rows) / len(p) * sum(gaps) / 2
        found = ece(y, p, question="simplex", bins=bins)
        assert float(found) == pytest.approx(total, rel=1e-12)
        assert len(found.tables[0]) == len(expected) > 5
