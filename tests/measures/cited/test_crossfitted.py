"""Cross-fitted errors: against the loss they come from, the folds, and lower bounds."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures.cited import CrossFittedError


def rows(n=120, seed=0, power=1.5):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 40, n) / 40
    return (rng.uniform(size=n) < p**power).astype(int), p


def naive(y, p, folds, loss):
    """Isotonic fits one by one; the loss ``h(g) + h'(g) (y - g)`` with ``h = -|g - p|`` is 0 for g = p."""
    order = sorted(range(len(p)), key=lambda i: (p[i], i))
    fold = np.empty(len(p), dtype=int)
    fold[order] = np.arange(len(p)) % folds
    total = 0.0
    for k in range(folds):
        train, held = fold != k, fold == k
        knots = np.unique(p[train])
        means = [y[train][p[train] == v].mean() for v in knots]
        fit = isotonic_regression(means, weights=[np.sum(p[train] == v) for v in knots]).x
        g = np.interp(p[held], knots, fit)
        if loss == "brier":
            total += np.sum((y[held] - p[held]) ** 2 - (y[held] - g) ** 2)
        else:
            total -= np.sum(-np.abs(g - p[held]) - np.sign(g - p[held]) * (y[held] - g))
    return total / len(p)


@pytest.mark.parametrize("loss", ["l1", "brier"])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_loss_that_is_saved(seed, loss):
    y, p = rows(seed=seed)
    assert float(CrossFittedError(loss=loss)(y, p)) == pytest.approx(naive(y, p, 5, loss), rel=1e-10)


def test_a_constant_fit_sees_the_shift_alone():
    y, p = np.array([1, 1, 0, 1, 1, 1, 1, 0]), np.full(8, 0.5)
    assert float(CrossFittedError(folds=2, fit="constant")(y, p)) == pytest.approx(np.mean(y - p))


def test_it_bounds_the_error_from_below_and_is_0_on_average_under_calibration():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=1000)
    prepared = CrossFittedError().prepare(kc.Bernoulli(p))
    off = prepared.measured((rng.uniform(size=(60, 1000)) < p**2).astype(int))
    assert 0.14 < off.mean() < np.mean(p - p**2)
    calibrated = prepared.measured((rng.uniform(size=(60, 1000)) < p).astype(int))
    assert abs(calibrated.mean()) < 4 * calibrated.std() / np.sqrt(60)


def test_influences_are_those_of_a_mean():
    y, p = rows(seed=4)
    w = np.linspace(0.5, 1.5, len(p))
    prepared = CrossFittedError().prepare(kc.Bernoulli(p), w)
    assert w @ prepared.influences(y) == pytest.approx(0, abs=1e-12)
    assert prepared.noise(y, np.ones((2, len(p)))) is None


def test_refusals():
    with pytest.raises(InputError, match="needs at least 10 rows, got 4: take fewer folds"):
        CrossFittedError()([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(InputError, match="folds must be at least 2, got 1"):
        CrossFittedError(folds=1)
    with pytest.raises(InputError, match="fit must be 'isotonic' or 'constant'"):
        CrossFittedError(fit="beta")
