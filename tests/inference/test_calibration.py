"""The test's result: what fired, in which direction, and what is refused."""

import json
import math

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.statistics import ClassSignals


def calibrated(n, m, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(m), n)
    return kc.Categorical(p).sample(rng)[0], p


def tempered(p, exponent):
    q = p**exponent
    return q / q.sum(axis=1, keepdims=True)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("exponent", "words", "m"),
    [
        (2.0, "over-confident", 5),
        (0.5, "under-confident", 2),
        pytest.param(2.0, "over-confident", 2, marks=pytest.mark.slow),
        pytest.param(0.5, "under-confident", 5, marks=pytest.mark.slow),
    ],
)
def test_direction_of_confidence(exponent, words, m):
    y, p = calibrated(800, m, 1)
    result = kc.calibration_test(y, tempered(p, exponent))
    assert result.pvalue == 0.001
    slope = {2.0: "slope 0.", 0.5: "slope 2"}[exponent]
    assert any(found.startswith(f"{words} ({slope}") for found in result.directions)
    if m == 2:
        assert result.directions == kc.calibration_test(y, tempered(p, exponent)[:, 1]).directions


def test_direction_names_the_class():
    y, p = calibrated(500, 4, 2)
    y[np.random.default_rng(0).random(500) < 0.15] = 3
    names = ["ant", "bee", "cat", "dog"]
    result = kc.calibration_test([names[k] for k in y], p, classes=names)
    assert result.pvalue == 0.001
    assert any("class dog is under-predicted" in words for words in result.directions)
    expected, observed = p[:, 3].sum(), (y == 3).sum()
    assert any(f"({expected:,.1f} expected, {observed:,} observed)" in words for words in result.directions)


@pytest.mark.slow
def test_no_single_direction():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.3, 0.7, 3000)
    truth = np.clip(p + 0.25 * np.sign(np.cos(8 * np.pi * (p - 0.3) / 0.4)), 0, 1)
    y = (rng.random(3000) < truth).astype(int)
    result = kc.calibration_test(y, p)
    assert result.pvalue == 0.001
    assert result.fired.startswith(("kernels at", "bins"))
    assert result.directions[0].startswith("no single direction")


def test_calibrated_says_nothing():
    y, p = calibrated(300, 3, 4)
    result = kc.calibration_test(y, p)
    assert result.pvalue > 0.05
    assert result.directions == ()


def test_prepared_signals_by_hand():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
    y = np.array([0, 1, 1, 0])
    values = ClassSignals().prepare(kc.Categorical(p)).values(y[None])[0]
    counts, expected, variance = np.bincount(y, minlength=3), p.sum(0), (p * (1 - p)).sum(0)
    logs = np.log(np.where(p > 0, p, 1))
    covariances = [np.diag(row) - np.outer(row, row) for row in p]
    along = sum(c @ row for c, row in zip(covariances, logs, strict=True))
    shift = np.linalg.lstsq(sum(covariances), along, rcond=1e-10)[0]
    slope = logs[range(4), y].sum() - (p * logs).sum() - shift @ (counts - expected)
    bias = max(abs(c - e) / math.sqrt(v + 1) for c, e, v in zip(counts, expected, variance, strict=True))
    np.testing.assert_allclose(values[:3], [0, abs(slope), bias], rtol=1e-10)


def test_impossible_label_is_proof_at_any_n():
    p = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    result = kc.calibration_test([2, 1, 2], p)
    assert result.pvalue == 0.001
    assert result.fired == "impossible label"
    assert result.impossible_rows == (0,)
    assert result.directions[0] == "1 of 3 labels had been ruled out (predicted probability 0)"
    assert "row 0: the label 2 had a predicted probability of exactly 0" in result.notes[0]
    assert result.directions
    single = kc.calibration_test([2, 1, 2], p, statistic="skce")
    assert "proof against calibration" in single.notes[0]
    json.dumps(result.to_dict(), allow_nan=False)
    possible = kc.calibration_test([1, 1, 2], p)
    assert possible.impossible_rows == ()
    assert all(m.name != "impossible label" for m in possible.members)


@pytest.mark.parametrize("n", [1, 4, 40])
def test_certain_and_right_is_p_one(n):
    if n == 1:
        with pytest.raises(InputError, match="at least 2 rows"):
            kc.calibration_test([1], [1.0])
        return
    y = np.arange(n) % 2
    result = kc.calibration_test(y, y.astype(float))
    assert result.pvalue == 1.0
    assert any("the null has no variance" in note for note in result.notes)
    assert "nan" not in result.summary().lower()


def test_any_function_is_a_statistic():
    y, p = calibrated(80, 3, 5)
    seen = []

    def gap(labels, predictions):
        seen.append(labels.dtype)
        return np.abs(np.bincount(labels, minlength=3) - predictions.probs.sum(0)).max()

    result = kc.calibration_test(y, p, statistic=gap, draws=199, early_stopping=False)
    assert result.members[0].name == "gap"
    assert result.statistic == pytest.approx(np.abs(np.bincount(y, minlength=3) - p.sum(0)).max())
    assert len(seen) == 200
    manual = [
        np.abs(np.bincount(row, minlength=3) - p.sum(0)).max()
        for row in kc.inference.Draws(0, "draws of a test").targets(kc.Categorical(p), 0, 199)
    ]
    assert result.pvalue == (1 + sum(t >= result.statistic - 1e-12 for t in manual)) / 200


@pytest.mark.parametrize(
    "estimator", [{"estimator": "biased"}, {"estimator": "block", "block_size": 5}, {"engine": kc.RandomFourier(64)}]
)
def test_every_estimator_is_a_statistic(estimator):
    y, p = calibrated(60, 3, 6)
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), **estimator)
    result = kc.calibration_test(y, p, statistic=statistic, draws=199)
    assert result.statistic == pytest.approx(float(statistic(y, p)), rel=1e-9)
    assert 0 < result.pvalue <= 1


def test_same_seed_same_answer_and_error_is_told():
    y, p = calibrated(50, 3, 8)
    for seed in (lambda: 7, lambda: np.random.default_rng(7)):
        a, b = kc.calibration_test(y, p, rng=seed()), kc.calibration_test(y, p, rng=seed())
        assert a == b
    assert a.monte_carlo_error == pytest.approx(math.sqrt(a.pvalue * (1 - a.pvalue) / (a.draws + 1)))


def test_the_table_says_what_the_result_says():
    y, p = calibrated(200, 3, 9)
    result = kc.calibration_test(y, tempered(p, 3))
    text = result.summary()
    for part in ("p-value", "0.001", "over-confident", "slope", "bins", "kernels at", "exact pairs", "999 draws"):
        assert part in text
    assert "<table>" in result._repr_html_()
    assert result.to_dict()["members"][0]["name"] == "slope"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0}, "draws must be a positive whole number, got 0"),
        ({"draws": 9.5}, "draws must be a positive whole number"),
        ({"null": "bootstrap"}, "null='bootstrap' is the law of kernelcal.SKCE"),
        ({"null": "boot"}, "null must be one of 'exact', 'swap', 'saddlepoint'"),
        ({"lens": "top label"}, "lens must be a lens such as kernelcal.TopLabel"),
        ({"statistic": "ace"}, "'ece', 'mce', 'mmce', 'kccsd', 'pit', a Statistic or a function, got 'ace'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        kc.calibration_test([0, 1], [0.4, 0.6], **options)


def test_too_few_draws_to_reject_is_told():
    result = kc.calibration_test([0, 1, 1], [0.4, 0.6, 0.7], draws=10)
    assert any("10 draws cannot give a p-value below 0.091: use 999 or more" in note for note in result.notes)


def test_a_statistic_without_a_value_is_refused():
    with pytest.raises(InputError, match="statistic 'hole' is NaN for some targets"):
        kc.calibration_test([0, 1, 1], [0.4, 0.6, 0.7], statistic=hole)


def hole(y, predictions):
    return float("nan") if y.sum() == 1 else 0.0


def test_one_impossible_label_does_not_hide_the_direction():
    y, p = calibrated(500, 3, 11)
    q = tempered(p, 0.5)
    q[0] = [0.0, 0.5, 0.5]
    y[0] = 0
    result = kc.calibration_test(y, q)
    assert result.fired == "impossible label"
    assert any(words.startswith("under-confident (slope 1.") for words in result.directions)
    assert next(m for m in result.members if m.name == "slope").pvalue == 0.001


def test_what_was_ruled_out_is_said_in_words_of_every_kind():
    """Three labels of 200, a number outside a uniform law, and outcomes outside the quantiles of the levels 0 and 1."""
    rng = np.random.default_rng(5)
    y, p = (rng.random(200) < 0.5).astype(int), np.full(200, 0.5)
    p[:3] = 1 - y[:3]
    assert kc.calibration_test(y, p).directions == ("3 of 200 labels had been ruled out (predicted probability 0)",)
    outside = np.r_[rng.random(99), 1.5], kc.predictions.Uniform(np.zeros(100), 1.0)
    assert (
        kc.calibration_test(*outside).directions[0] == "1 of 100 targets had been ruled out (predicted probability 0)"
    )
    ends = kc.Quantiles(np.tile([0.0, 0.5, 1.0], (100, 1)), [0.0, 0.5, 1.0])
    found = kc.calibration_test(np.r_[rng.random(98), 1.5, -3.0], ends).directions[0]
    assert found == "2 of 100 targets had been ruled out (predicted probability 0)"
    assert not any("ruled out" in words for words in kc.calibration_test(y, np.full(200, 0.9)).directions)


def test_member_pvalues_count_the_observed_row():
    y, p = calibrated(40, 3, 12)
    result = kc.calibration_test(y, p, draws=99, early_stopping=False)
    scores = ClassSignals().prepare(kc.Categorical(p))
    drawn = kc.inference.Draws(0, "draws of a test").targets(kc.Categorical(p), 0, 99)
    slopes = scores.values(np.concatenate([y[None], drawn]))[:, 1]
    assert result.members[0].pvalue == (slopes >= slopes[0] - 1e-12).sum() / 100


def test_a_single_statistic_says_that_it_does_not_see_impossible_labels():
    y, p = np.array([1, 0, 1, 0]), np.array([0.0, 0.4, 0.9, 0.2])
    note = kc.calibration_test(y, p, statistic="skce").notes[0]
    assert "this p-value does not count it" in note
    assert "does not count it" not in kc.calibration_test(y, p).notes[0]


def test_families_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="needs a profile with a lengthscale"):
        kc.DefaultFamily(kernel=kc.Laplacian() + kc.Gaussian())
    with pytest.raises(InputError, match="one or more positive numbers"):
        kc.DefaultFamily(factors=())
    with pytest.raises(InputError, match="'many' must return one number, got ndarray"):
        kc.calibration_test([0, 1], [0.5, 0.5], statistic=many)


def many(y, predictions):
    return np.array([1.0, 2.0])


def test_infinite_statistics_give_no_warning():
    result = kc.calibration_test([1, 1, 1], [0.4, 0.6, 0.7], statistic=lambda y, p: np.inf if y.all() else 0.0)
    assert 0 < result.pvalue < 0.4


def test_a_constant_statistic_is_told_as_such():
    result = kc.calibration_test([1, 0, 1], [0.4, 0.6, 0.7], statistic=lambda y, p: 3.0)
    assert result.pvalue == 1
    assert any("no draw differs from the data" in note for note in result.notes)
