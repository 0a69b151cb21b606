"""Dirichlet models: closed forms against quadrature, simulation and the paper's special cases; law of the draws."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import betaln, gamma

from kernelcal.datasets import DirichletModel, m1, m2, m3
from kernelcal.errors import InputError

MODELS = {
    "m1": m1(),
    "m2": m2(),
    "m3": m3(),
    "skewed": DirichletModel([0.3, 2.0, 5.0], [0.5, 0.5, 0.0], 0.7),
    "two classes": DirichletModel([0.4, 1.3], [0.2, 0.8], 0.3),
    "flat": DirichletModel(np.ones(4), [0.1, 0.2, 0.3, 0.4], 1.0),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def mean_distance_by_quadrature(a, rest, centre):
    """E |centre - G| for G ~ Beta(a, rest), as an integral of distribution functions."""
    law = stats.beta(a, rest)
    below = integrate.quad(law.cdf, 0, centre, epsabs=1e-12, limit=200)[0]
    return below + integrate.quad(law.sf, centre, 1, epsabs=1e-12, limit=200)[0]


@pytest.mark.quick_cases(3)
@each_model
def test_expected_calibration_error_by_quadrature(model):
    total = model.alpha.sum()
    distances = [mean_distance_by_quadrature(a, total - a, b) for a, b in zip(model.alpha, model.beta, strict=True)]
    assert model.expected_calibration_error == pytest.approx(model.pi * sum(distances) / 2, abs=1e-9)


@each_model
@pytest.mark.slow
def test_mean_total_variation_by_quadrature(model):
    total = model.alpha.sum()

    def mean_difference(a):  # E |G - G'| = 2 int F (1 - F)
        law = stats.beta(a, total - a)
        return 2 * integrate.quad(lambda x: law.cdf(x) * law.sf(x), 0, 1, epsabs=1e-12, limit=200)[0]

    expected = sum(mean_difference(a) for a in model.alpha) / 2
    assert model.mean_total_variation == pytest.approx(expected, abs=1e-9)


@each_model
def test_closed_forms_by_simulation(model):
    p = model.sample(40_000, rng=5)[1].probs
    distances = model.pi * np.abs(model.beta - p).sum(axis=1) / 2
    pairs = np.abs(p[::2] - p[1::2]).sum(axis=1) / 2
    for draws, expected in (
        (distances, model.expected_calibration_error),
        (pairs, model.mean_total_variation),
    ):
        assert abs(draws.mean() - expected) <= 4.5 * draws.std() / len(draws) ** 0.5 + 1e-15


@pytest.mark.parametrize("a", [0.05, 0.1, 1.0, 3.7])
@pytest.mark.parametrize("m", [2, 10, 100])
def test_special_cases_printed_in_the_paper(a, m):
    corner = DirichletModel(np.full(m, a), np.eye(m)[m - 1], 0.4)
    assert corner.expected_calibration_error == pytest.approx(0.4 * (m - 1) / m, rel=1e-12)
    centre = DirichletModel(np.full(m, a), np.full(m, 1 / m), 0.4)
    log = a * ((m - 1) * np.log(m - 1) - m * np.log(m)) - np.log(a) - betaln(a, (m - 1) * a)
    expected = 0.4 * np.exp(log)
    assert centre.expected_calibration_error == pytest.approx(expected, rel=1e-11)


def test_limits_of_many_classes():
    many, a = 20_000, 0.1
    assert m2(many).expected_calibration_error == pytest.approx(0.5, rel=1e-4)
    assert m3(many).expected_calibration_error == pytest.approx(np.exp(-a) * a ** (a - 1) / gamma(a), rel=1e-4)


def test_values_of_the_three_models():
    assert m1().expected_calibration_error == 0
    assert m2().expected_calibration_error == pytest.approx(0.45, rel=1e-13)
    assert 0.7 < m3().expected_calibration_error < 0.9
    assert [model.n_classes for model in (m1(3), m2(4), m3(5))] == [3, 4, 5]
    np.testing.assert_array_equal(m1(3).alpha, [0.1, 0.1, 0.1])


@pytest.mark.parametrize("alpha", [1e6, 1e12])
def test_closed_forms_keep_their_digits_for_large_alpha(alpha):
    # central limit: the gap to the mean is normal, and the gap of two draws sqrt(2) times as large
    model = DirichletModel(np.full(10, alpha), None, 1.0)
    normal = 5 * np.sqrt(2 / np.pi * 0.1 * 0.9 / (10 * alpha))
    assert model.mean_total_variation == pytest.approx(np.sqrt(2) * normal, rel=1e-6)
    assert model.expected_calibration_error == pytest.approx(normal, rel=1e-6, abs=1e-10)


@each_model
def test_law_of_the_predictions(model):
    p = model.sample(4000, rng=11)[1].probs
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
    total = model.alpha.sum()
    pvalues = [stats.kstest(p[:, k], stats.beta(a, total - a).cdf).pvalue for k, a in enumerate(model.alpha)]
    assert min(pvalues) > 1e-4


@each_model
def test_law_of_the_labels_given_the_predictions(model):
    y, predictions = model.sample(20_000, rng=2)
    m = model.n_classes
    law = model.pi * model.beta + (1 - model.pi) * predictions.probs
    gaps = np.eye(m)[y] - law
    # martingale differences: mean zero, alone and weighted by any function of the predictions
    for weight in (np.ones(len(y)), predictions.probs[:, 0], predictions.probs.max(axis=1) ** 2):
        weighted = gaps * weight[:, None]
        assert (np.abs(weighted.sum(axis=0)) <= 4.5 * np.sqrt((weighted**2).sum(axis=0)) + 1e-9).all()


def test_extreme_shares():
    y, _ = DirichletModel([1.0, 1.0, 1.0], [0, 0, 1], 1.0).sample(200, rng=0)
    assert (y == 2).all()
    y, predictions = m1(3).sample(500, rng=0)  # nearly certain predictions, and labels that follow them
    assert (y == predictions.top_labels()).mean() > 0.8


def test_same_seed_same_data_and_generators_move_on():
    (y, p), (again, q) = m2().sample(20, rng=3), m2().sample(20, rng=3)
    np.testing.assert_array_equal(y, again)
    np.testing.assert_array_equal(p.probs, q.probs)
    rng = np.random.default_rng(3)
    (first, _), (second, _) = m2().sample(20, rng), m2().sample(20, rng)
    np.testing.assert_array_equal(first, m2().sample(20, np.random.default_rng(3))[0])
    assert (first != second).any()


@pytest.mark.parametrize("alpha", [1e-300, 1e-5, 1e-3])
def test_tiny_alpha_gives_corners_and_no_missing_values(alpha):
    p = DirichletModel(np.full(3, alpha)).sample(3000, rng=0)[1].probs
    assert np.isfinite(p).all()
    assert (p.max(axis=1) > 1 - 1e-9).mean() > 0.9
    assert stats.chisquare(np.bincount(p.argmax(axis=1), minlength=3)).pvalue > 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, -1.0],), "alpha must be positive"),
        (([0.1, 0.0],), "alpha must be positive"),
        (([0.1, np.nan],), "alpha must be positive"),
        (([0.1, np.inf],), "alpha must be positive .* and finite"),
        (([0.1],), "at least 2"),
        ((0.1,), "one value a class"),
        ((["a", "b"],), "alpha must be numbers"),
        (([1, 1], [0.5, 0.6]), "divide it by its sum 1.1"),
        (([1, 1], [1.5, -0.5]), "beta must be probabilities"),
        (([1, 1], [0.5, np.nan]), "beta must be probabilities"),
        (([1, 1], [0.2, 0.3, 0.5]), "got 2 and 3 values"),
        (([1, 1], None, 1.1), "pi must be a share between 0"),
        (([1, 1], None, np.nan), "pi must be a share"),
        (([1, 1], None, "0.5"), "pi must be a share"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        DirichletModel(*arguments)


@pytest.mark.parametrize("n", [0, -3, 2.5, "many"])
def test_bad_number_of_rows_is_refused(n):
    with pytest.raises(InputError, match="positive whole number"):
        m1().sample(n)


@pytest.mark.parametrize("m", [1, 0, 2.0, None])
@pytest.mark.parametrize("model", [m1, m2, m3])
def test_bad_number_of_classes_is_refused(model, m):
    with pytest.raises(InputError, match="at least 2"):
        model(m)


def test_parameters_are_copies_that_cannot_be_changed():
    alpha = np.ones(3)
    model = DirichletModel(alpha)
    alpha[0] = 7
    assert model.alpha[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        model.alpha[0] = 7
    with pytest.raises(AttributeError):
        model.pi = 1.0


def test_import_is_light():
    code = "import sys, kernelcal.datasets; print([m for m in sys.modules if m.startswith('scipy.special')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
