"""Maximum mean calibration error against its definition."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError


def naive(y, p, unbiased):
    n, total = len(y), 0.0
    c, t = p.max(1), p.argmax(1) == y
    for i in range(n):
        for j in range(n):
            if i != j or not unbiased:
                total += (t[i] - c[i]) * (t[j] - c[j]) * np.exp(-abs(c[i] - c[j]) / 0.4)
    return total / (n * (n - 1) if unbiased else n * n)


@pytest.mark.parametrize("m", [2, 5])
def test_value(m):
    rng = np.random.default_rng(m)
    p = rng.dirichlet(np.ones(m), 30)
    y = rng.integers(0, m, 30)
    assert float(kc.mmce(y, p)) ** 2 == pytest.approx(naive(y, p, False), rel=1e-11)
    assert float(kc.mmce(y, p, estimator="unbiased")) == pytest.approx(max(naive(y, p, True), 0) ** 0.5, rel=1e-11)
    squared = kc.skce(*kc.TopLabel()(y, p), prediction_kernel=kc.Laplacian(0.4), estimator="biased")
    assert 2 * float(kc.mmce(y, p)) ** 2 == pytest.approx(float(squared), rel=1e-12)  # no factor of two classes


def test_as_a_statistic_it_has_the_p_value_of_its_square():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 100)
    y = rng.integers(0, 3, 100)
    one = kc.calibration_test(y, p, statistic="mmce", draws=199)
    squared = kc.SKCE(prediction_kernel=kc.Laplacian(0.4), estimator="biased")
    seen = kc.calibration_test(y, p, statistic=kc.statistics.Through(squared, (kc.TopLabel(),)), draws=199)
    assert one.pvalue == seen.pvalue
    assert one.statistic == pytest.approx(float(kc.mmce(y, p)), rel=1e-12)
    hit, confidence = kc.TopLabel()(y, p)
    again = kc.Bernoulli(confidence.p, question="top label")
    assert float(kc.mmce(hit, again)) == pytest.approx(float(kc.mmce(y, p)), rel=1e-12)


def test_blocks_are_refused():
    with pytest.raises(InputError, match="mmce has no option 'bins'; its options are prediction_kernel, estimator"):
        kc.mmce([0, 1], [0.2, 0.7], bins=10)
    with pytest.raises(InputError, match="for blocks use SKCE with TopLabel"):
        kc.MMCE(estimator="block")
