"""Level by binomial bounds and power, in short; the whole grid is experiments/level."""

import numpy as np
import pytest
from scipy.stats import binom

import kernelcal as kc


def level_case(n, m, factor, repetitions, draws=199, seed=0):
    """P-values of calibrated data: M1 of the 2019 paper (Dirichlet 0.1) or binary Beta(0.7, 0.7)."""
    pvalues = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, n, m, repetition])
        if m == 2:
            batch = kc.Bernoulli(rng.beta(0.7, 0.7, n))
        else:
            batch = kc.Categorical(rng.dirichlet(np.full(m, 0.1), n))
        y = batch.sample(rng)[0]
        statistic = kc.DefaultFamily() if factor is None else kc.DefaultFamily(factors=(factor,))
        result = kc.calibration_test(y, batch, statistic=statistic, draws=draws, rng=rng)
        pvalues.append(result.pvalue)
    return np.array(pvalues)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "m", "factor"),
    [
        (10, 2, None),
        (30, 2, 1 / 32),
        pytest.param(30, 10, None, marks=pytest.mark.slow),
        pytest.param(10, 10, 2.0, marks=pytest.mark.slow),
        pytest.param(30, 100, 1 / 32, marks=pytest.mark.slow),
    ],
)
def test_the_exact_test_keeps_its_level(n, m, factor):
    pvalues = level_case(n, m, factor, 500)
    for level in (0.01, 0.05, 0.1):
        assert (pvalues <= level).sum() <= binom.ppf(0.9995, 500, level), level
    if m != 2 or n > 10:  # nearly continuous: the level is used up, not only kept
        assert (pvalues <= 0.1).sum() >= binom.ppf(0.0005, 500, 0.1)


def models(rng):
    """Predictions of M1 with labels of M2, M3, and with labels replaced by class 0."""
    p = rng.dirichlet(np.full(10, 0.1), 250)
    y = kc.Categorical(p).sample(rng)[0]
    m2 = np.where(rng.random(250) < 0.5, y, 0)
    m3 = rng.integers(0, 10, 250)
    return p, m2, m3, np.where(rng.random(250) < 0.1, 0, y)


@pytest.mark.slow
def test_power_on_the_models_of_2019():
    contaminated = 0
    for repetition in range(40):
        p, m2, m3, replaced = models(np.random.default_rng([1, repetition]))
        assert kc.calibration_test(m2, p, draws=199, rng=repetition).pvalue <= 0.05
        assert kc.calibration_test(m3, p, draws=199, rng=repetition).pvalue <= 0.05
        contaminated += kc.calibration_test(replaced, p, draws=199, rng=repetition).pvalue <= 0.05
    assert contaminated >= 38


@pytest.mark.slow
def test_features_keep_the_level_and_the_power():
    engine = kc.Nystrom(64)
    family, rejected, level = kc.DefaultFamily(engine=engine), 0, 0
    for repetition in range(100):
        rng = np.random.default_rng([2, repetition])
        p = rng.dirichlet(np.full(10, 0.1), 300)
        y = kc.Categorical(p).sample(rng)[0]
        q = p**1.3
        q /= q.sum(axis=1, keepdims=True)
        rejected += kc.calibration_test(y, q, statistic=family, draws=199, rng=rng).pvalue <= 0.05
        level += kc.calibration_test(y, p, statistic=family, draws=199, rng=rng).pvalue <= 0.05
    assert level <= binom.ppf(0.9995, 100, 0.05)
    assert rejected >= 70  # design: .88 with exact pairs
