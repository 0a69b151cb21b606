"""Directions of one pass: the truth is told, calibrated models are not accused, and words are those of `evaluate`."""

import re

import numpy as np
import pytest
from scipy.stats import binom, norm

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.predictions import MultivariateNormal, Poisson
from kernelcal.sketch import Sketch
from kernelcal.sketch.directions import (
    _cleared_slope,
    _third_cumulants,
    direction_numbers,
    direction_sums,
    directions_of,
)
from kernelcal.sketch.subject import Subject
from kernelcal.sketch.sums import added

LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]


def _probabilities(slope=1.0, shift=0.0, n=2000, seed=0):
    """Events of probability q, and what a model says that sees their log odds through a slope and a shift."""
    rng = np.random.default_rng(seed)
    q = rng.beta(2, 2, n)
    odds = slope * np.log(q / (1 - q)) + shift
    return (rng.random(n) < q).astype(int), kc.Bernoulli(1 / (1 + np.exp(-odds)))


def _classes(slope=1.0, shift=(0, 0, 0, 0), n=2000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0] * 4, n)
    said = np.exp(slope * np.log(p) + np.array(shift))
    return kc.Categorical(p).sample(rng)[0], kc.Categorical(said / said.sum(axis=1, keepdims=True))


def _first_choice(slope, seed=0):
    return kc.TopLabel()(*_classes(slope, seed=seed))


def _normal(up=0.0, width=1.0, n=2000, seed=0, noise=None):
    """Outcomes about a mean; the model says it is higher by `up` and `width` times as wide."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n), rng.uniform(0.5, 2, n)
    y = mean + std * (rng.normal(size=n) if noise is None else noise(rng, n))
    return y, kc.Normal(mean + up, std * width)


def _quantiles(up=0.0, width=1.0, n=2000, seed=0):
    y, said = _normal(up, width, n, seed)
    return y, kc.Quantiles(said.mean[:, None] + said.std[:, None] * norm.ppf(LEVELS), LEVELS)


def _vectors(shift=(0.0, 0.0), width=1.0, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    mean, cov = rng.normal(size=(n, 2)), np.array([[1.0, 0.6], [0.6, 1.0]])
    y = mean + rng.multivariate_normal(np.zeros(2), cov, n)
    return y, MultivariateNormal(mean + np.array(shift), np.broadcast_to(width**2 * cov, (n, 2, 2)))


def _counts(factor=1.0, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    rate = rng.uniform(1, 9, n)
    return rng.poisson(rate), Poisson(rate * factor)


def _skewed(rng, n):
    return rng.exponential(size=n) - 1


TRUTHS = {  # what was done, what must be said, and what must not
    "over-confident": (lambda s: _probabilities(1.6, seed=s), r"^over-confident$", "under|class"),
    "under-confident": (
        lambda s: _probabilities(0.6, seed=s),
        r"^under-confident$",
        "over|class",
    ),
    "too often": (lambda s: _probabilities(1.0, 0.4, seed=s), r"^class 1 is over-predicted", "confident|under"),
    "too seldom": (lambda s: _probabilities(1.0, -0.4, seed=s), r"^class 1 is under-predicted", "confident|over"),
    "classes, over-confident": (lambda s: _classes(1.5, seed=s), r"^over-confident$", "under|class"),
    "classes, under-confident": (lambda s: _classes(0.6, seed=s), r"^under-confident$", "over|class"),
    "classes, biased": (
        lambda s: _classes(1.0, (0.5, 0, 0, -0.4), seed=s),
        r"class 3 is under-predicted .*class 0 is over-predicted",
        "confident|class 0 is under|class 3 is over",
    ),
    "first choice, too sure": (lambda s: _first_choice(1.5, s), r"^over-confident: class 1 is over-pred", "under|; "),
    "first choice, not sure enough": (
        lambda s: _first_choice(0.6, s),
        r"^under-confident: class 1 is under",
        "over|; ",
    ),
    "too high": (lambda s: _normal(0.3, seed=s), r"shifted up \(outcomes are lower by", "down|narrow|wide|shape"),
    "too low": (lambda s: _normal(-0.3, seed=s), r"shifted down \(outcomes are higher by", "up |narrow|wide|shape"),
    "too narrow": (lambda s: _normal(0, 0.7, seed=s), r"^predictions too narrow", "too wide|shift|shape"),
    "too wide": (lambda s: _normal(0, 1.4, seed=s), r"^predictions too wide", "narrow|shift|shape"),
    "of another shape": (lambda s: _normal(noise=_skewed, seed=s), r"^no clear shift .*skewed to the right", "left"),
    "counts too low": (lambda s: _counts(0.85, seed=s), r"shifted down \(outcomes are higher", "shifted up|too wide"),
    "one component": (lambda s: _vectors((0, -0.3), seed=s), r"shifted down in component 1", "component 0|up|wide"),
    "vectors too narrow": (lambda s: _vectors(width=0.75, seed=s), r"^predictions too narrow", "shift|too wide"),
    "quantiles too high": (lambda s: _quantiles(0.3, seed=s), r"^outcomes lie below the quantiles", "above|narrow"),
    "quantiles too low": (lambda s: _quantiles(-0.3, seed=s), r"^outcomes lie above the quantiles", "below the q|wide"),
    "quantiles too narrow": (lambda s: _quantiles(0, 0.6, seed=s), r"intervals too narrow", "too wide|quantiles more"),
    "quantiles too wide": (lambda s: _quantiles(0, 1.6, seed=s), r"intervals too wide", "too narrow|quantiles more"),
}


def _numbers_of(y, predictions):
    return direction_numbers(direction_sums(Case.of(y, predictions)))


def _found(y, predictions, features=32, draws=99):
    sketch = Sketch.like(predictions[:500], engine=kc.RandomFourier(features), draws=draws, second_moments=False)
    return sketch.update(y, predictions).result()


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.quick_cases(7)
def test_the_truth_is_told(name):
    make, said, not_said = TRUTHS[name]
    found = _found(*make(3))
    words = "; ".join(found.test.directions)
    assert found.rejected
    assert re.search(said, words), words
    assert not re.search(not_said, words), words
    assert words in found.verdict


CALIBRATED = {
    "probabilities": _probabilities,
    "classes": _classes,
    "numbers": _normal,
    "counts": _counts,
    "vectors": _vectors,
    "quantiles": _quantiles,
}


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("name", CALIBRATED)
def test_nothing_is_said_of_a_calibrated_model(name):
    found = _found(*CALIBRATED[name](seed=1))
    assert not found.rejected
    assert found.test.directions == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classes, biased", "first choice, too sure", "too narrow", "quantiles too wide"])
def test_the_words_are_those_of_evaluate(name):
    y, predictions = TRUTHS[name][0](3)
    found, expected = _found(y, predictions).test.directions, kc.evaluate(y, predictions, draws=99).test.directions
    plain = [re.sub(r"\d[\d.,]*", "#", words) for words in expected]  # without the numbers, some of which are rough
    assert [re.sub(r"\d[\d.,]*", "#", words) for words in found] == plain[: len(found)]


def test_a_model_that_is_wrong_in_no_one_direction_is_told_so():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 4000)
    y = (rng.random(4000) < p + 0.2 * np.cos(4 * np.pi * (p - 0.5) / 0.6)).astype(int)
    found = _found(y, kc.Bernoulli(p), features=128)
    assert found.rejected
    assert found.test.directions[0].startswith("no single direction: how frequencies deviate")


def test_what_was_ruled_out_is_proof_and_told_first():
    y, predictions = _probabilities(seed=1)
    p = np.where(np.arange(len(y)) < 3, 0.0, predictions.p)
    y[:3] = 1
    found = _found(y, kc.Bernoulli(p))
    assert found.pvalue == 0.01
    assert found.test.fired == "impossible label"
    assert found.verdict.startswith(
        "Calibration is rejected (p = 0.01, exact test): 3 of 2,000 labels had been ruled out (predicted probability 0)"
    )
    assert "confident" not in found.verdict  # a wrong zero says nothing of the other rows


def test_few_far_rows_make_no_shift_and_no_width():
    y, predictions = _normal(seed=1)
    y[:80] += 30
    assert _found(y, predictions, features=128).test.directions == (
        "outcomes lie far above the predictions in 80 of 2,000 rows, the others show no such shift",
        "outcomes lie far outside the predictions in 80 of 2,000 rows, the others are no wider than predicted",
    )


def test_laws_without_a_standard_deviation_are_told_by_places():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=2000)
    found = _found(mean + 0.4 + rng.standard_cauchy(2000), kc.predictions.StudentT(np.ones(2000), mean, np.ones(2000)))
    assert re.search(
        r"shifted down \(outcomes are higher: the typical one lies at the predicted 55 % quantile, not at the median",
        found.verdict,
    )


@pytest.mark.parametrize("make", [_probabilities, _classes])
def test_a_shift_of_log_odds_leaves_no_slope_and_hides_none(make):
    """The second order takes off what the first one leaves: 40 shifted models have a mean slope of 0, not of -3."""
    shift = 0.8 if make is _probabilities else (0.8, 0, 0, 0)
    slopes = {}
    for slope in (0.75, 1.0, 1.3):
        rows = (_numbers_of(*make(slope, shift, seed=seed)) for seed in range(40))
        slopes[slope] = float(np.mean([_cleared_slope({**sums, "n": np.array(2000.0)}, shifted=True) for sums in rows]))
    assert abs(slopes[1.0]) < 1.2
    assert slopes[0.75] > 2.5
    assert slopes[1.3] < -3


@pytest.mark.parametrize("make", [_probabilities, _classes])
def test_the_slope_is_the_efficient_score_of_rows_in_a_loop(make):
    """Second implementation: residuals of a regression, row by row, of the score on the classes."""
    y, predictions = make(1.3, n=300)
    p = np.asarray(predictions.probabilities)
    m, sums = p.shape[1], {**_numbers_of(y, predictions), "n": np.array(300.0)}
    basis = np.array([np.diag(row) - np.outer(row, row) for row in p])
    among = basis.sum(axis=0)[1:, 1:]
    along = np.array([(v @ np.log(row))[1:] for v, row in zip(basis, p, strict=True)]).sum(axis=0)
    weights = np.linalg.solve(among, along)
    terms = [(np.eye(m)[k] - row) @ (np.log(row) - np.append(0, weights)) for k, row in zip(y, p, strict=True)]
    modelled = sum(
        (np.log(row) - np.append(0, weights)) @ v @ (np.log(row) - np.append(0, weights))
        for v, row in zip(basis, p, strict=True)
    )
    error = np.sqrt(max(modelled, np.sum(np.square(terms)) - np.sum(terms) ** 2 / 300))
    assert _cleared_slope(sums, shifted=False) == pytest.approx(np.sum(terms) / error, rel=1e-3)
    np.testing.assert_allclose(sums["counts"][3], ((np.eye(m)[y] - p) ** 2).sum(axis=0), rtol=1e-9)


def test_third_cumulants_are_those_of_rows_in_a_loop():
    y, predictions = _classes(n=50)
    third, sharp = np.zeros((4, 4, 4)), np.zeros((4, 4))
    for row in predictions.probs:
        for j in range(4):
            away, log = np.eye(4)[j] - row, np.log(row[j]) - row @ np.log(row)
            third += row[j] * np.einsum("k,l,q->klq", away, away, away)
            sharp += row[j] * log * np.outer(away, away)
    found = _third_cumulants(_numbers_of(y, predictions))
    np.testing.assert_allclose(found[0], third, atol=1e-4)
    np.testing.assert_allclose(found[1], sharp, atol=1e-3)


def _outcomes_vary_more(seed):
    """Half of the rows claim 2 %, half 98 %, and all are one half: over-confident, and no class too often."""
    rng = np.random.default_rng(seed)
    return (rng.random(400) < 0.5).astype(int), kc.Bernoulli(np.repeat([0.02, 0.98], 200))


FALSE = {  # what no direction may claim more often than the level
    "outcomes that vary more": (_outcomes_vary_more, "class|under"),
    "outcomes that spread more": (lambda seed: _normal(0, 0.5, n=300, seed=seed), "shifted|too wide"),
    "components that hang together": (lambda seed: _vectors((0.4, 0.4), n=300, seed=seed), "narrow|wide"),
    "a shift": (lambda seed: _normal(0.5, n=300, seed=seed), "narrow|wide|down"),
    "a shift of classes": (lambda seed: _classes(1, (1.0, 0, 0, 0), n=300, seed=seed), "class 0 is under"),
    "quantiles too narrow": (lambda seed: _quantiles(0, 0.5, n=300, seed=seed), "below the q|above the q|too wide"),
}


@pytest.mark.parametrize("name", FALSE)
@pytest.mark.slow
def test_false_directions_are_as_rare_as_the_level(name):
    """What is said of 300 models that are all wrong: in one of 20 at most something that is not so."""
    make, false = FALSE[name]
    y, predictions = make(0)
    subject = Subject.of(predictions, Sketch.like(predictions, engine=kc.RandomFourier(2), draws=1)._settings)
    said = []
    for seed in range(300):
        y, predictions = make(seed)
        sums = _numbers_of(y, predictions) | {"n": np.array(float(len(y))), "impossible": np.array(0.0)}
        said.append("; ".join(directions_of(sums, subject, 0.05)))
    assert sum(bool(re.search(false, words)) for words in said) <= binom.ppf(1 - 1e-4, 300, 0.05)
    assert sum("no " not in words for words in said) > 250


@pytest.mark.parametrize("name", CALIBRATED)
def test_sums_of_parts_are_those_of_all_rows(name):
    y, predictions = CALIBRATED[name](n=60, seed=1)
    whole = added({}, direction_sums(Case.of(y, predictions)))
    parts = [direction_sums(Case.of(y[rows], predictions[rows])) for rows in (slice(0, 17), slice(17, 60))]
    for key, value in added(*parts).items():
        np.testing.assert_array_equal(value, whole[key], err_msg=key)
