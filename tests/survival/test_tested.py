"""Tests of survival predictions: how p-values are joined, and what directions are measured beside."""

import numpy as np
import pytest

from kernelcal.predictions import Gamma
from kernelcal.runs import Run
from kernelcal.survival import Survival, residual_features
from kernelcal.survival.tested import _beside_number, _horizons, _result


def seen_rows(n=40, seed=0, **more):
    rng = np.random.default_rng(seed)
    rate, ends = np.exp(0.5 * rng.normal(size=n)), rng.exponential(2.0, size=n)
    times = rng.exponential(size=n) / rate
    return Survival(Gamma(1.0, rate), np.minimum(times, ends), times <= ends, ends, **more)


@pytest.mark.parametrize("seed", range(4))
def test_of_equal_smallest_pvalues_the_next_decides(seed):
    """P is the share of redraws whose two smallest shares are, in this order, at most those of the outcomes."""
    seen = seen_rows()
    values = np.random.default_rng(seed).integers(0, 6, (5, 40)).astype(float)
    found = _result(seen, Run(draws=39), "redraw", values, np.zeros((3, 40)), np.zeros(40))
    shares = [[np.mean(row >= one) for one in row] for row in values]
    pairs = [tuple(sorted(column)[:2]) for column in zip(*shares, strict=True)]
    assert found.pvalue == pytest.approx(np.mean([pair <= pairs[0] for pair in pairs]))
    assert [one.pvalue for one in found.members] == pytest.approx([row[0] for row in shares])
    own = [(row[0] - row[1:].mean()) / row[1:].std() for row in values]
    assert [one.deviation for one in found.members] == pytest.approx(own)


@pytest.mark.parametrize("clusters", [None, np.arange(40) // 4])
def test_lateness_is_measured_beside_the_number_of_events(clusters):
    """Residuals of sums by unit after regression on their numbers, over their root of squares."""
    seen = seen_rows(clusters=clusters)
    risk = np.linspace(-1, 1, 40)
    factor = seen.event.sum() / seen.hazard.sum()
    features = residual_features(factor * seen.hazard, seen.event)
    units = np.arange(40) if clusters is None else clusters
    sums = np.array([[x[units == k].sum() for k in np.unique(units)] for x in (features[:, 0], features[:, 1])])
    high = np.array([(risk * features[:, 0])[units == k].sum() for k in np.unique(units)])
    expected = []
    for one in (sums[1], high):
        slope = np.linalg.lstsq(sums[0][:, None], one, rcond=None)[0][0]
        rest = one - slope * sums[0]
        expected.append(rest.sum() / np.linalg.norm(rest))
    assert _beside_number(seen, risk) == pytest.approx(expected)


def test_horizons_are_where_a_quarter_a_half_and_three_quarters_of_the_events_are_expected():
    """Of exponential times of rate r, watched until c, ``1 - exp(-r min(t, c))`` of a row."""
    seen = seen_rows(200)
    rate, ends = np.asarray(seen.law.rate), seen.censoring_time
    found, whole = _horizons(seen, rate * ends), np.sum(-np.expm1(-rate * ends))
    grid = np.linspace(0, 5, 50_001)
    come = np.array([np.sum(-np.expm1(-rate * np.minimum(at, ends))) for at in grid[::10]])
    at = [grid[::10][np.argmax(come >= share * whole)] for share in (0.25, 0.5, 0.75)]
    assert found == tuple(float(f"{one:.2g}") for one in at)
