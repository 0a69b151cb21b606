"""The logistic recalibration against SciPy's optimiser and numerical derivatives."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

import kernelcal as kc
from kernelcal.statistics import ClassSignals
from kernelcal.statistics.signals.class_words import recalibrated


def data(m, n=300, exponent=0.6, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.r_[2.0, np.full(m - 1, 0.5)], n)
    q = p**exponent
    q /= q.sum(axis=1, keepdims=True)
    y = (rng.random((n, 1)) > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return p, y, rng.uniform(0.5, 2, n)


def penalised(theta, p, y, w, classes):
    b = np.zeros(p.shape[1])
    b[classes] = theta[1:]
    likelihood = w @ log_softmax(theta[0] * np.log(p) + b, axis=1)[np.arange(len(y)), y]
    return -likelihood + (theta[0] - 1) ** 2 / 32 + (theta[1:] ** 2).sum() / 128


def curvature(theta, *data, step=1e-4):
    """Second differences."""
    moves = step * np.eye(len(theta))
    return np.array(
        [
            [sum(s * t * penalised(theta + s * a + t * b, *data) for s in (1, -1) for t in (1, -1)) for b in moves]
            for a in moves
        ]
    ) / (4 * step**2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [2, 4])
def test_the_fit_is_the_maximum(m, weighted):
    p, y, w = data(m)
    classes = np.arange(1, m)
    found = recalibrated(kc.Categorical(p), y, w if weighted else None, classes)
    own = w if weighted else np.ones(len(y))
    best = minimize(penalised, np.r_[1.0, np.zeros(m - 1)], (p, y, own, classes), method="BFGS", tol=1e-9)
    assert found.slope == pytest.approx(best.x[0], abs=1e-4)
    if not weighted:
        error = np.sqrt(np.linalg.inv(curvature(best.x, p, y, own, classes))[0, 0])
        assert 0.99 * error <= found.error <= 1.2 * error  # that of the model, or of the rows if larger


def test_weights_that_repeat_rows_change_the_error_and_not_the_slope():
    """Rows of weight 2 are as sure as others: only ratios of weights matter."""
    p, y, _ = data(3)
    once, twice = (recalibrated(kc.Categorical(p), y, np.full(len(y), w), np.array([1, 2])) for w in (100.0, 200.0))
    assert twice.slope == pytest.approx(once.slope, abs=1e-3)
    assert twice.error == pytest.approx(once.error, rel=1e-2)


@pytest.mark.slow
def test_the_interval_covers_the_slope():
    """200 data sets: 95 % intervals hold the slope as often as the binomial law allows."""
    inside = 0
    for seed in range(200):
        p, y, _ = data(3, n=200, seed=seed)
        fit = recalibrated(kc.Categorical(p), y, None, np.array([1, 2]))
        inside += abs(fit.slope - 0.6) <= 1.96 * fit.error
    assert 177 <= inside <= 199  # binomial, .95, 1 in 1,000 on either side


@pytest.mark.parametrize("p", [np.array([0.1, 0.2, 0.8, 0.9] * 5), np.full(20, 0.3)])
def test_separated_labels_and_equal_predictions_end(p):
    y = (p > 0.5).astype(int)
    fit = recalibrated(kc.Categorical(np.stack([1 - p, p], axis=1)), y, None, np.array([1]))
    assert np.isfinite([fit.slope, fit.error]).all()
    assert fit.error > 0.3


def test_impossible_labels_and_certain_rows_take_no_part():
    p, y, _ = data(3)
    more = np.r_[p, [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]]
    found = recalibrated(kc.Categorical(more), np.r_[y, 0, 0], None, np.array([1, 2]))
    assert found.slope == pytest.approx(recalibrated(kc.Categorical(p), y, None, np.array([1, 2])).slope, abs=1e-6)


def test_many_classes_have_intercepts_for_those_that_deviate_most():
    p, y, _ = data(50, n=600, exponent=1.0)
    y[:60] = 7
    signals = ClassSignals().prepare(kc.Categorical(p))
    chosen = signals.words._intercepts(y)
    assert len(chosen) == 32
    assert 7 in chosen
    assert int(p.sum(axis=0).argmax()) not in chosen
