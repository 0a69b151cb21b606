"""Climatologies: what happened in the other rows, by loops over rows."""

import tracemalloc

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.measures import climatology, skill
from kernelcal.statistics import brier_score, crps, crps_rows


def forecasts(n=300, seed=0):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=n)
    return centre + rng.normal(size=n), kc.Normal(centre, np.ones(n))


def test_the_climatology_is_what_happened_in_all_other_rows():
    y, batch = forecasts(12)
    rows = crps_rows(y, climatology(y, batch))
    for i in range(12):
        assert rows[i] == pytest.approx(crps([y[i]], kc.Samples(np.delete(y, i)[None])))
    assert skill(y, batch).rows[0].baseline == pytest.approx(rows.mean())
    labels = np.array([0, 1] * 6)
    within = climatology(y, batch, groups=labels)
    assert crps_rows(y, within)[0] == pytest.approx(crps([y[0]], kc.Samples(y[2::2][None])))
    uneven = climatology(y, batch, groups=np.arange(12) < 4)
    assert crps_rows(y, uneven)[1] == pytest.approx(crps([y[1]], kc.Samples(y[[0, 2, 3]][None])))


def test_rows_of_one_cluster_are_no_other_rows():
    y, batch = forecasts(12)
    dates = np.arange(12) // 3
    found = climatology(y, batch, apart=dates)
    assert crps_rows(y, found)[4] == pytest.approx(crps([y[4]], kc.Samples(np.delete(y, [3, 4, 5])[None])))
    assert skill(y, batch, clusters=dates).rows[0].baseline == pytest.approx(crps_rows(y, found).mean())


def test_climatologies_of_classes_and_quantiles():
    z, p = np.array([0, 1, 1, 0, 1]), np.full(5, 0.5)
    batch = climatology(z, kc.Bernoulli(p))
    np.testing.assert_allclose(np.asarray(batch.probabilities)[:, 1], [3 / 4, 2 / 4, 2 / 4, 3 / 4, 2 / 4])
    assert skill(z, p).skill == pytest.approx(1 - 0.25 / brier_score(z, kc.Bernoulli(batch.probabilities[:, 1])))
    y, normal = forecasts(40)
    levels = np.array([0.1, 0.5, 0.9])
    quantiles = kc.Quantiles(normal.quantile(levels[:, None]).T, levels)
    found = climatology(y, quantiles)
    np.testing.assert_allclose(np.asarray(found.values)[3], np.quantile(np.delete(y, 3), levels))
    assert skill(y, quantiles).measure == "weighted interval score"


def test_many_rows_have_a_climatology_of_a_thousand_quantiles():
    y, batch = forecasts(1200)
    assert climatology(y, batch).draws.shape == (1200, 1000)
    assert crps(y, climatology(y, batch)) == pytest.approx(crps(y, kc.Samples(np.tile(y, (1200, 1)))), rel=3e-3)


def test_other_rows_of_many_clusters_are_not_held_at_once():
    events = np.random.default_rng(0).random(2000) < 0.3
    tracemalloc.start()
    found = climatology(events, kc.Bernoulli(np.full(2000, 0.3)), apart=np.arange(2000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.probs[:, 1] == pytest.approx((events.sum() - events) / 1999)
    assert peak < 4e6  # all at once are 2,000 times 1,999 numbers
