"""T-Cal: against the binned error it is made of, the variance it divides by, and errors that only fine bins see."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures.cited import TCal


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return (rng.uniform(size=n) < p**1.5).astype(int), p


def debiased(y, p, bins):
    """Pairs of different rows in one bin, counted one by one."""
    place, r = np.minimum((p * bins).astype(int), bins - 1), y - p
    total = sum(
        r[i] * r[j] / np.sum(place == place[i])
        for i in range(len(p))
        for j in range(len(p))
        if i != j and place[i] == place[j]
    )
    return total / len(p)


@pytest.mark.parametrize("bins", [2, 8, 32])
def test_one_scale_is_the_debiased_error_of_its_bins(bins):
    y, p = rows()
    assert float(TCal(bins=bins)(y, p)) == pytest.approx(debiased(y, p, bins), rel=1e-10)
    corrected = kc.ECE(question="positive class", bins=bins, distance="squared", estimator="corrected")
    assert float(TCal(bins=bins)(y, p)) == pytest.approx(float(corrected(y, p)), rel=1e-10)


def test_scales_are_divided_by_their_spread_under_calibration():
    y, p = rows()
    part = TCal().prepare(kc.Bernoulli(p)).parts[0][1]
    assert part.scales == (2, 4, 8, 16, 32)
    drawn = (np.random.default_rng(1).uniform(size=(20_000, 120)) < p).astype(int)
    scaled = part.by_scale(drawn)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=0.04)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=0.03)
    assert float(TCal()(y, p)) == pytest.approx(part.by_scale(y[None]).max())


def test_errors_that_cancel_in_wide_bins_are_seen():
    rng = np.random.default_rng(2)
    p = rng.uniform(0.25, 0.75, size=2000)
    y = (rng.uniform(size=2000) < p + 0.2 * np.sign(np.sin(2 * np.pi * 16 * p))).astype(int)
    assert kc.calibration_test(y, p, statistic=TCal(), draws=199).pvalue == 1 / 200
    assert kc.calibration_test(y, p, statistic=TCal(bins=4), draws=199).pvalue > 0.05
    assert TCal()(y, p).options["bins"].startswith("32 of [2, 4, 8")


def test_few_rows_and_refusals():
    assert np.isfinite(float(TCal()([0, 1], [0.3, 0.6])))
    with pytest.raises(InputError, match="bins must be a whole number"):
        TCal(bins=0.5)
