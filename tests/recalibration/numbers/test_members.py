"""Maps of ensembles and quantiles beside naive second implementations."""

import numpy as np
import pytest
from scipy import optimize

from kernelcal.cases import Case
from kernelcal.predictions import Quantiles
from kernelcal.recalibration.numbers import loss_rows
from kernelcal.recalibration.numbers.members import Levels, Stretched, crps_of_members

LEVELS = np.array([0.1, 0.3, 0.6, 0.9])
SCORES = np.array([-1.2816, -0.5244, 0.2533, 1.2816])


def quantiles_of(n=60, seed=0):
    """Too narrow and too low: in a unit far from 1, where a slope without it is wrong."""
    rng = np.random.default_rng(seed)
    m, s = 300 * rng.normal(size=n), 100 * rng.uniform(0.5, 2, n)
    return Case.of(m + 90 + 1.8 * s * rng.normal(size=n), Quantiles(m[:, None] + s[:, None] * SCORES, LEVELS)), rng


def pinball(y, q):
    off = y[:, None] - q
    return np.maximum(LEVELS * off, (LEVELS - 1) * off).mean(axis=1)


def middle_of(q):
    return q[:, 1] + (q[:, 2] - q[:, 1]) * (0.5 - 0.3) / (0.6 - 0.3)


def test_the_crps_of_members_is_a_mean_over_pairs():
    draws, y = np.random.default_rng(0).normal(size=(7, 5)), np.arange(7.0)
    half = np.abs(draws[:, :, None] - draws[:, None]).mean(axis=(1, 2)) / 2
    value, spread = crps_of_members(draws, y)
    np.testing.assert_allclose(spread, half)
    np.testing.assert_allclose(value, np.abs(draws - y[:, None]).mean(axis=1) - half)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_shift_and_one_factor_minimise_the_pinball_loss_with_its_ridge(weighted):
    case, rng = quantiles_of()
    y, q = case.targets, np.asarray(case.predictions.values)
    w = rng.uniform(0.3, 3, 60) if weighted else np.ones(60)
    w /= w.mean()
    middle, number = middle_of(q)[:, None], w.sum() ** 2 / (w**2).sum()
    unit = np.average(np.abs(y - middle[:, 0]), weights=w)
    np.testing.assert_allclose(loss_rows(case)[0], pinball(y, q))

    def loss(theta):
        moved = middle + theta[0] * unit + np.exp(theta[1]) * (q - middle)
        return np.average(pinball(y, moved), weights=w) / unit + theta[1] ** 2 / number

    made = Stretched.fit(case, w, number)
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 5000, "maxfev": 5000}
    best = min(
        (optimize.minimize(loss, begin, method="Nelder-Mead", options=options) for begin in ([0, 0], [0.3, 0.6])),
        key=lambda one: one.fun,
    )
    assert loss([made.shift / unit, made.stretch]) == pytest.approx(best.fun, abs=5e-4)
    assert loss([0, 0]) > best.fun + 0.02
    moved = middle + made.shift + np.exp(made.stretch) * (q - middle)
    np.testing.assert_allclose(made(case.predictions).values, moved)


def test_every_level_is_moved_by_the_quantile_of_its_errors():
    """In widths of rows; with equal weights Hazen's quantiles, and whole weights count middles of so many rows."""
    case, _ = quantiles_of()
    q = np.asarray(case.predictions.values)
    width = q[:, -1] - q[:, 0]
    errors = (case.targets[:, None] - q) / width[:, None]
    made = Levels.fit(case, np.ones(60), 60.0)
    expected = [np.quantile(column, level, method="hazen") for column, level in zip(errors.T, LEVELS, strict=True)]
    np.testing.assert_allclose(made.shifts, expected)
    np.testing.assert_allclose(made(case.predictions).values, np.sort(q + width[:, None] * made.shifts, axis=1))
    weights = np.arange(60) % 3 + 1.0
    found = Levels.fit(case, weights, 50.0).shifts
    for column, level, shift in zip(errors.T, LEVELS, found, strict=True):
        order, places, upto = np.argsort(column), [], 0.0
        for row in order:
            places.append((upto + weights[row] / 2) / weights.sum())
            upto += weights[row]
        assert shift == pytest.approx(np.interp(level, places, column[order]))
