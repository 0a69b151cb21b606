import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy.spatial.distance import cdist, pdist

import kernelcal as kc
from kernelcal.kernels import lengthscales, resolve
from kernelcal.kernels.metrics import Wasserstein
from kernelcal.kernels.points import CrossPairs, Points
from kernelcal.predictions import MultivariateNormal
from kernelcal.randomness import generator_of


def test_median_of_distances_that_are_not_zero(make_data):
    p, _ = make_data(101, 4)
    d = pdist(p)
    assert kc.median_lengthscale(p) == np.median(d[d > 0])
    tv = pdist(p, "cityblock") / 2
    assert kc.median_lengthscale(p, metric=kc.TotalVariation()) == pytest.approx(np.median(tv[tv > 0]), rel=1e-15)


def test_full_matrix_with_its_diagonal(make_data):
    for n in (50, 51):
        p, _ = make_data(n, 3)
        expected = np.median(cdist(p, p))
        assert kc.median_lengthscale(p, include_diagonal=True, max_rows=None) == pytest.approx(expected, rel=1e-15)


@pytest.mark.slow
@given(st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.25, 0.5, 0.9, 1.0]), min_size=2, max_size=40))
@example([0.1] * 4 + [0.25] * 4)
@example([0.5] * 9 + [0.1])
@settings(max_examples=200, deadline=None)
def test_selection_in_bounded_memory_is_the_median(values):
    p = np.array(values)
    keep, lengthscales._KEEP = lengthscales._KEEP, 7
    try:
        d = pdist(p[:, None])
        expected = np.median(d[d > 0]) if np.any(d > 0) else 1.0
        assert kc.median_lengthscale(p, max_rows=None) == expected
        if np.median(cdist(p[:, None], p[:, None])) > 0:
            full = kc.median_lengthscale(p, include_diagonal=True, max_rows=None)
            assert full == np.median(cdist(p[:, None], p[:, None]))
    finally:
        lengthscales._KEEP = keep


@pytest.mark.slow
def test_subsample_is_seeded_and_close():
    p = np.random.default_rng(0).random(5000)
    whole = kc.median_lengthscale(p, max_rows=None)
    assert kc.median_lengthscale(p) == kc.median_lengthscale(p)
    assert kc.median_lengthscale(p) == pytest.approx(whole, rel=0.05)
    assert kc.median_lengthscale(p, rng=1) != kc.median_lengthscale(p)


def test_ties_are_left_out_and_told():
    p = kc.Bernoulli([0.5] * 8 + [0.7, 0.9])
    kernel, notes = resolve(kc.Laplacian(), p)
    assert kernel.lengthscale == pytest.approx(0.2, rel=1e-12)
    assert notes == ("62% of the distances between predictions are 0: the median of the others was used",)
    kernel, notes = resolve(kc.Laplacian(), kc.Bernoulli([0.3] * 5))
    assert kernel.lengthscale == 1.0
    assert "all predictions are equal" in notes[0]


def test_targets_are_never_looked_at():
    p = np.random.default_rng(0).random(30)
    a = kc.skce(np.zeros(30, int), p).options["prediction_kernel"]
    b = kc.skce(np.ones(30, int), p).options["prediction_kernel"]
    assert a == b


def test_zero_median_over_the_full_matrix_is_refused():
    with pytest.raises(kc.errors.InputError, match="include_diagonal=False"):
        kc.median_lengthscale([0.5, 0.5, 0.5, 0.7], include_diagonal=True)


def normals(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2, 3))
    return MultivariateNormal(rng.standard_normal((n, 2)), x @ np.swapaxes(x, 1, 2))


@pytest.mark.slow
def test_metrics_by_pairs_take_fewer_rows():
    batch, metric = normals(320), Wasserstein()
    rows = np.sort(generator_of(0, "rows of a median lengthscale").choice(320, 300, replace=False))
    d = CrossPairs(Points(batch), slice(None), slice(None)).distance(metric)
    whole, part = (np.median(x[np.triu_indices(len(x), 1)]) for x in (d, d[np.ix_(rows, rows)]))
    assert kc.median_lengthscale(batch, metric=metric) == pytest.approx(part, rel=1e-14)
    assert resolve(kc.Laplacian(metric=metric), batch)[0].lengthscale == pytest.approx(part, rel=1e-14)
    assert kc.median_lengthscale(batch, metric=metric, max_rows=None) == pytest.approx(whole, rel=1e-14)
    assert kc.median_lengthscale(batch, metric=metric, max_rows=320) == pytest.approx(whole, rel=1e-14)
    assert whole != part
    moments = np.hstack([batch.mean, batch.std])
    assert kc.median_lengthscale(batch) == pytest.approx(np.median(pdist(moments)), rel=1e-12)  # all rows


def test_distances_by_pairs_are_selected_in_bounded_memory(monkeypatch):
    batch, metric = normals(12)[np.array([*range(12), 0, 0, 1])], Wasserstein()
    d = CrossPairs(Points(batch), slice(None), slice(None)).distance(metric)
    off = d[np.triu_indices(15, 1)]
    for block in (1, 40, lengthscales._BLOCK):
        monkeypatch.setattr(lengthscales, "_KEEP", 7)
        monkeypatch.setattr(lengthscales, "_BLOCK", block)
        assert kc.median_lengthscale(batch, metric=metric) == pytest.approx(np.median(off[off > 0]), rel=1e-12)
        full = kc.median_lengthscale(batch, metric=metric, include_diagonal=True)
        assert full == pytest.approx(np.median(d), rel=1e-12)


def test_equal_predictions_by_pairs_are_told():
    batch = normals(2)[np.array([0, 0, 0, 0, 0, 1])]
    kernel, notes = resolve(kc.Laplacian(metric=Wasserstein()), batch)
    expected = CrossPairs(Points(batch), slice(0, 1), slice(5, 6)).distance(Wasserstein())[0, 0]
    assert kernel.lengthscale == pytest.approx(expected, rel=1e-12)
    assert notes == ("67% of the distances between predictions are 0: the median of the others was used",)
    assert resolve(kc.Laplacian(metric=Wasserstein()), batch[:5])[0].lengthscale == 1.0


def test_an_unknown_word_for_the_rows_is_refused():
    with pytest.raises(kc.errors.InputError, match="max_rows must be a number of at least 2 or None, got 'all'"):
        kc.median_lengthscale([0.1, 0.2], max_rows="all")
    with pytest.raises(kc.errors.InputError, match="max_rows must be a number of at least 2 or None, got 1"):
        kc.median_lengthscale([0.1, 0.2], max_rows=1)
