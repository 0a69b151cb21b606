"""Clinical measures against other programs, at the edges, and the calibration curve with its band."""

import math
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures import NetBenefit, calibration_curve, clinical_table, measure
from kernelcal.measures.clinical.logistic import fitted_intercepts, fitted_lines

FILE = Path(__file__).parents[2] / "examples" / "biopsies.csv"
# of examples/biopsies.csv: statsmodels 0.15.0 (GLM of the binomial family, with an offset; cov_type="HC1") and
# scikit-learn 1.9.1 (roc_auc_score, brier_score_loss, IsotonicRegression)
FACTS = {
    "calibration intercept": 0.30672325,
    "calibration slope": 0.66976961,
    "c-statistic": 0.8511656746031746,
    "Brier score": 0.15440545734774067,
    "ICI": 0.07080154751420248,
    "E50": 0.0654827586206897,
    "E90": 0.14809354838709676,
}
ROBUST = {"calibration intercept": 0.15513453}


@pytest.fixture(scope="module")
def biopsies():
    table = np.genfromtxt(FILE, delimiter=",", names=True, dtype=None, encoding="utf-8")
    return table["malignant"], table["risk"], table["cells"]


def test_values_are_those_of_other_programs(biopsies):
    y, p, _ = biopsies
    found = measure(y, p, "clinical", draws=99)
    for name, value in FACTS.items():
        assert found[name].value == pytest.approx(value, rel=2e-6), name
    for name, error in ROBUST.items():
        assert np.diff(found[name].interval)[0] / 2 / 1.96 == pytest.approx(error, rel=0.02)


def test_the_isotonic_curve_is_that_of_reliabilitydiag():
    """The manual of the R package, ?summary.reliabilitydiag: raw ensemble, rain at Niamey: S, MCB, DSC, UNC."""
    file = FILE.parents[1] / "tests" / "data" / "niamey_precip" / "precip_Niamey_2016.csv"
    p, y = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(1, 2)).T
    parts = kc.brier_decomposition(y.astype(int), p, bins="isotonic")
    found = (parts.brier, parts.reliability, parts.resolution, parts.uncertainty)
    assert [f"{value:.3g}" for value in map(float, found)] == ["0.266", "0.0661", "0.0441", "0.244"]
    curve = calibration_curve(y.astype(int), p, draws=19)
    at = np.interp(p, curve.predictions, curve.curve)
    assert np.mean((p - y) ** 2) - np.mean((at - y) ** 2) == pytest.approx(float(parts.reliability), abs=1e-12)


def test_slopes_are_those_of_scikit_learn(biopsies):
    linear = pytest.importorskip("sklearn.linear_model")
    y, p, _ = biopsies
    x = np.log(p / (1 - p))
    weights = np.random.default_rng(0).uniform(0.2, 2, len(y))
    model = linear.LogisticRegression(C=1e12, tol=1e-12, max_iter=10_000).fit(x[:, None], y, sample_weight=weights)
    found = measure(y, p, "slope", weights=weights, draws=19)
    assert found["calibration slope"].value == pytest.approx(model.coef_[0, 0], rel=1e-4)


def test_intercepts_solve_their_equation():
    r = np.random.default_rng(1)
    x, w = 3 * r.normal(size=50) - 2, r.uniform(0.1, 3, 50)
    totals = np.array([0.0, 1e-3, 1.0, 20.0, w.sum() - 1e-3, w.sum()])
    a = fitted_intercepts(x, w, totals)
    assert a[0] == -np.inf
    assert a[-1] == np.inf
    assert (w / (1 + np.exp(-x - a[1:-1, None]))).sum(axis=1) == pytest.approx(totals[1:-1], rel=1e-8)


def test_lines_of_outcomes_that_are_separated_or_alike():
    x = np.array([-2.0, -1.0, 1.0, 2.0])
    y = np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]])
    slopes = fitted_lines(x, np.ones(4), y)[:, 1]
    assert slopes[0] == np.inf
    assert slopes[1] == -np.inf
    assert np.isnan(slopes[2:4]).all()
    assert np.isfinite(slopes[4])
    assert np.isnan(fitted_lines(np.ones(4), np.ones(4), y)).all()


@pytest.mark.parametrize("p", [1e-3, 1e-6, 1e-9])
def test_the_slope_of_predictions_that_are_far_too_sure(p):
    """Two predictions, of which 6 % and 90 % have the outcome: the line goes through their log-odds."""
    predictions = np.r_[np.full(50, p), np.full(50, 1 - p)]
    y = np.r_[np.arange(50) < 3, np.arange(50) < 45].astype(int)
    expected = (np.log(9) - np.log(3 / 47)) / (2 * np.log((1 - p) / p))
    assert float(kc.measures.CalibrationSlope()(y, predictions)) == pytest.approx(expected)


def test_slopes_solve_their_equations_however_wrong_the_predictions_are():
    rng = np.random.default_rng(3)
    for _ in range(100):
        n = int(rng.integers(4, 30))
        p, y = np.clip(rng.beta(0.2, 0.2, n), 1e-9, 1 - 1e-9), (rng.random((8, n)) < 0.5).astype(float)
        x, w = np.log(p / (1 - p)), rng.integers(1, 4, n).astype(float)
        lines = fitted_lines(x, w, y)
        known = np.isfinite(lines).all(axis=1)
        rest = w * (y[known] - 1 / (1 + np.exp(-(lines[known, :1] + lines[known, 1:] * x))))
        np.testing.assert_allclose([rest.sum(axis=1), rest @ x], 0.0, atol=1e-5)


def test_rows_of_weight_0_give_no_slope():
    """One prediction alone is seen: no slope; with two seen, that of the rows which count."""
    p, y = np.array([0.3, 0.3, 0.3, 0.7, 0.8]), np.array([1, 0, 0, 1, 0])
    weights = np.array([1.0, 1, 1, 0, 0])
    assert np.isnan(float(kc.measures.CalibrationSlope()(y, p, weights=weights)))
    both, seen = np.tile(p, 2), np.r_[1, 0, 0, 1, 0, 1, 0, 0, 0, 1]
    slope = kc.measures.CalibrationSlope()
    counted = np.where(both < 0.75, 1.0, 0.0)
    expected = float(slope(seen[both < 0.75], both[both < 0.75]))
    assert float(slope(seen, both, weights=counted)) == pytest.approx(expected)


def test_certain_predictions_are_held_and_said():
    p = np.array([0.0, 1.0, 0.3, 0.6, 0.5, 0.2])
    found = measure([0, 1, 1, 0, 1, 0], p, ["slope", "intercept"], draws=49)
    assert any("1e-10" in note for note in found.notes)
    assert math.isfinite(found["calibration slope"].value)


def test_hosmer_lemeshow_tells_both_pvalues(biopsies):
    y, p, _ = biopsies
    found = measure(y, p, "hosmer-lemeshow", draws=199)
    assert any("with 10 degrees of freedom" in note and "needs no such law" in note for note in found.notes)
    assert 0.005 <= found["Hosmer-Lemeshow"].pvalue < 0.03  # the chi-square law says 2e-7: its tail is far too light
    assert found["Hosmer-Lemeshow"].expected == pytest.approx(10, abs=2)


def test_hosmer_lemeshow_of_certain_predictions():
    """Infinite where a certain prediction was wrong, 0 where all were right; no chi-square law of no freedom."""
    p = np.array([0.0, 1, 0, 1, 1, 0])
    wrong, right = (measure(y, p, "hosmer-lemeshow", draws=99) for y in ([0, 1, 0, 1, 1, 1], p.astype(int)))
    assert (wrong["Hosmer-Lemeshow"].value, wrong["Hosmer-Lemeshow"].pvalue) == (np.inf, 0.01)
    assert (right["Hosmer-Lemeshow"].value, right["Hosmer-Lemeshow"].pvalue) == (0, 1)
    assert not any("chi-square" in note for one in (wrong, right) for note in one.notes)
    y, p, weights = [0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], [1, 2, 3, 4]
    assert not any("chi-square" in note for note in measure(y, p, "hosmer-lemeshow", draws=19, weights=weights).notes)


def test_net_benefit_at_other_risks():
    y, p = np.array([1, 0, 1, 0]), np.array([0.9, 0.6, 0.3, 0.1])
    assert NetBenefit(0.5)(y, p) == pytest.approx((1 - 1) / 4)
    assert NetBenefit(0.25)(y, p) == pytest.approx((2 - 1 / 3) / 4)
    with pytest.raises(InputError, match=r"threshold must be a risk between 0 and 1"):
        NetBenefit(1)


def test_the_table_has_events_measures_curve_and_items(biopsies):
    y, p, cells = biopsies
    found = clinical_table(y, p, groups={"cells": cells}, draws=99)
    text = found.summary()
    for said in ("events          189 (37.1 %)", "TRIPOD+AI item 23a", "net benefit, cells small", "Calibration curve"):
        assert said in text
    assert found.to_dict()["curve"]["pvalue"] == found.curve.pvalue
    assert [one.name for one in found.measured.values][:3] == [
        "calibration intercept",
        "calibration slope",
        "observed to expected",
    ]


def test_the_verdict_says_how_risks_are_wrong(biopsies):
    y, p, _ = biopsies
    found = clinical_table(y, p, draws=99)
    assert found.verdict == (
        "The risks are wrong (p = 0.02): more events than predicted; high and low risks too extreme (slope 0.67). "
        "kernelcal recalibrate corrects them by other patients."
    )
    assert found.to_dict()["verdict"] == found.verdict
    r = np.random.default_rng(1)
    few = r.uniform(0.05, 0.6, 60)
    right = clinical_table(r.random(60) < few, few, draws=99)
    assert right.verdict.startswith("No evidence that the risks are wrong (p = ")
    assert "only gross errors would show" in right.verdict
    shy = clinical_table(r.random(2000) < np.repeat([0.05, 0.95], 1000), np.repeat([0.35, 0.65], 1000), draws=99)
    assert "risks not extreme enough" in shy.verdict
    assert "events than predicted" not in shy.verdict


def test_the_curve_is_isotonic_and_leaves_the_band_where_predictions_are_wrong():
    r = np.random.default_rng(0)
    p = r.uniform(0.05, 0.6, 400)
    right = calibration_curve(r.random(400) < p, p, draws=199)
    wrong = calibration_curve(r.random(400) < p**2, p, draws=199)
    assert (np.diff(right.curve) >= -1e-12).all()
    assert (right.low <= right.high).all()
    assert right.pvalue > 0.05
    assert not right.outside.any()
    assert wrong.pvalue == 0.005
    assert wrong.outside.any()


def test_the_curve_leaves_its_band_exactly_when_its_pvalue_says_so():
    for k in range(40):
        r = np.random.default_rng(k)
        p = r.beta(1, 3, 60)
        found = calibration_curve(r.random(60) < p**1.6, p, draws=39, rng=k)
        assert found.outside.any() == (found.pvalue <= 0.05 + 1e-9)


def test_a_curve_without_a_band_says_why(biopsies):
    y, p, _ = biopsies
    found = calibration_curve(y, p, clusters=np.arange(len(y)) % 3, draws=99)
    assert found.note.startswith("no band: ")
    assert math.isnan(found.pvalue)
    assert found.to_dict()["low"] is None
    assert "no band" in found.summary()


def test_the_curve_is_drawn(biopsies):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    y, p, _ = biopsies
    ax = calibration_curve(y, p, draws=99).plot()
    assert ax.get_xlabel() == "predicted probability"
    pyplot.close(ax.figure)


def expit(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.slow
def test_the_band_keeps_its_level():
    hits = 0
    for k in range(400):
        r = np.random.default_rng([5, k])
        p = r.choice([0.02, 0.1, 0.3, 0.5, 0.9], 50)
        hits += calibration_curve(r.random(50) < p, p, draws=39, rng=k).pvalue <= 0.05
    assert 5 <= hits <= 36  # binomial(400, .05): 20 +- 4 standard deviations


SETTINGS = {  # rows, log-odds of predictions, and the line of the true ones
    "few": (50, lambda r, n: -0.9 + r.normal(size=n), (0.0, 1.0)),
    "too extreme": (200, lambda r, n: -0.9 + 1.5 * r.normal(size=n), (0.3, 0.6)),
    "rare": (1000, lambda r, n: -4.4 + r.normal(size=n), (0.0, 1.0)),
    "ties": (100, lambda r, n: r.choice([-2.2, -1.4, -0.4, 0.85], n), (0.0, 1.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_intervals_hold_the_truth(name):
    n, odds, (a, b) = SETTINGS[name]
    asked = ["intercept", "slope", "oe", "auroc", "brier", "scaled-brier", "net-benefit", "ece"]
    r, tries = np.random.default_rng(1), 150
    x = odds(r, 200_000)
    all_y = (r.random(len(x)) < expit(a + b * x)).astype(int)
    many = kc.Bernoulli(expit(x))
    held = dict.fromkeys(asked, 0)
    truth = {one: float(kc.measures.MEASURES.made(one)(all_y, many)) for one in asked}
    for k in range(tries):
        r = np.random.default_rng([2, k])
        x = odds(r, n)
        found = measure((r.random(n) < expit(a + b * x)).astype(int), expit(x), asked, draws=99, rng=k)
        for one, value in zip(asked, found.values, strict=True):
            low, high = value.interval
            held[one] += math.isnan(low) or low <= truth[one] <= high
    for one, times in held.items():
        assert times >= 131, (one, times)  # 95 % of 150 is 142.5; 4 standard deviations less is 131.8


@pytest.mark.slow
def test_intervals_of_clusters_hold_the_truth():
    asked, held, tries = ["intercept", "slope", "oe", "auroc"], np.zeros(4), 120
    truth = [0.0, 1.0, 1.0]
    for k in range(tries):
        r = np.random.default_rng([6, k])
        of = np.arange(200) // 5
        x = -0.5 + r.normal(size=200)
        g = np.sqrt(0.5) * r.normal(size=40)[of] + np.sqrt(0.5) * r.normal(size=200)
        y = (np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in g]) < expit(x)).astype(int)
        found = measure(y, expit(x), asked, clusters=of, draws=49, rng=k)
        held[:3] += [v.interval[0] <= t <= v.interval[1] for v, t in zip(found.values[:3], truth, strict=True)]
    assert (held[:3] >= 103).all(), held  # 95 % of 120 is 114, 4.5 standard deviations less
