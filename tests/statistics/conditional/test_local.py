"""Conditional mean discrepancies against the matrices as they are written."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.statistics import ECMMD, ecmmd, mcmd

RNG = np.random.default_rng(0)
P, Y = RNG.dirichlet(np.ones(3), 12), RNG.integers(0, 3, 12)


def naive(k, r_inner, regularization):
    n = len(k)
    w = np.linalg.inv(k + regularization * n * np.eye(n))
    return k @ w @ r_inner @ w @ k


def test_classes():
    d = np.linalg.norm(P[:, None] - P[None], axis=2)
    r = np.eye(3)[Y] - P
    whole = naive(np.exp(-(d**2) / 0.5), r @ r.T, 0.1)
    settings = {"prediction_kernel": kc.Gaussian(0.5), "regularization": 0.1}
    assert float(ecmmd(Y, P, **settings)) == pytest.approx(np.trace(whole) / 12, rel=1e-10)
    np.testing.assert_allclose(mcmd(Y, P, **settings), np.sqrt(np.diag(whole)), rtol=1e-9)
    np.testing.assert_allclose(mcmd(Y, P, at=P[:4], **settings), np.sqrt(np.diag(whole))[:4], rtol=1e-9)


def test_lambda_follows_the_rows():
    own, said = ecmmd(Y, P, prediction_kernel=kc.Gaussian(0.5)), 12**-0.25 / 10
    assert float(own) == float(ecmmd(Y, P, prediction_kernel=kc.Gaussian(0.5), regularization=said))


def test_numbers_without_features():
    mean, y = RNG.normal(size=9), RNG.normal(size=9)
    predictions = kc.Normal(mean, 1.0)
    d2 = (mean[:, None] - mean) ** 2
    k = np.exp(-d2 / 2)
    expected_point = np.exp(-((y[:, None] - y) ** 2) / 2)
    expected_mean = np.sqrt(1 / 2) * np.exp(-((mean[:, None] - y) ** 2) / 4)
    expected_cross = np.sqrt(1 / 3) * np.exp(-d2 / 6)
    inner = expected_point - expected_mean - expected_mean.T + expected_cross
    found = ecmmd(
        y, predictions, prediction_kernel=kc.Gaussian(1.0), target_kernel=kc.Gaussian(1.0), regularization=0.05
    )
    assert float(found) == pytest.approx(np.trace(naive(k, inner, 0.05)) / 9, rel=1e-7)


def test_an_exact_test_takes_it():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=150)
    y = rng.random(150) < p
    assert kc.calibration_test(y, p, statistic=ECMMD(), draws=99).pvalue > 0.05
    assert kc.calibration_test(rng.random(150) < p**2, p, statistic=ECMMD(), draws=99).pvalue == 0.01


def test_what_it_refuses():
    with pytest.raises(InputError, match="ECMMD takes no case weights"):
        ECMMD()(Y, P, weights=np.ones(12) + np.arange(12))
    with pytest.raises(InputError, match="ECMMD needs at least 2 rows, got 1"):
        ecmmd(Y[:1], P[:1])
    with pytest.raises(InputError, match="at must be predictions of the same kind, Categorical"):
        mcmd(Y, P, at=[0.5])
    with pytest.raises(InputError, match="regularization"):
        ECMMD(regularization=0)
    with pytest.raises(InputError, match="prediction_kernel must be a kernel"):
        ECMMD(prediction_kernel=3)
