"""Probabilities on the edges of equal-width bins: edges are numbers k / B, however they are written."""

from decimal import Decimal

import numpy as np
import pytest

import kernelcal as kc

COUNTS = range(1, 201)


def written(bins: int) -> np.ndarray:
    """The numbers k / B that end, as people write them."""
    exact = [Decimal(k) / Decimal(bins) for k in range(bins + 1)]
    return np.array([float(str(x)) for x in exact])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_edge_lies_in_the_bin_that_it_closes(dtype):
    for bins in COUNTS:
        right = np.maximum(np.arange(bins + 1) - 1, 0)
        left = np.minimum(np.arange(bins + 1), bins - 1)
        for p in (np.linspace(0, 1, bins + 1), np.arange(bins + 1) / bins, written(bins)):
            column = p.astype(dtype)[:, None]
            np.testing.assert_array_equal(kc.UniformBins(bins).assign(column).index, right, err_msg=f"{bins}")
            found = kc.UniformBins(bins, closed="left").assign(column).index
            np.testing.assert_array_equal(found, left, err_msg=f"{bins}")


def test_half_precision_has_its_own_edges():
    for bins in (10, 15, 25, 50):
        p = (np.arange(bins + 1) / bins).astype(np.float16)[:, None]
        np.testing.assert_array_equal(kc.UniformBins(bins).assign(p).index, np.maximum(np.arange(bins + 1) - 1, 0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_all_other_values_lie_where_a_search_puts_them(dtype):
    p = np.random.default_rng(0).random(4000).astype(dtype)
    for bins in (1, 2, 7, 15, 50, 99, 100):
        edges = (np.arange(bins + 1) / bins).astype(dtype)
        away = np.abs(p[:, None].astype(np.float64) - edges).min(axis=1) > 4 * np.spacing(p).astype(np.float64)
        found = kc.UniformBins(bins).assign(p[:, None]).index
        np.testing.assert_array_equal(found[away], np.searchsorted(edges[1:-1], p[away]))


@pytest.mark.parametrize("bins", [25, 35, 50, 55, 70, 75, 95, 98, 100])
def test_values_beside_an_edge_stay_beside_it(bins):
    edges = np.arange(1, bins) / bins
    for factor, shift in ((1 - 1e-14, 0), (1 + 1e-14, 1)):
        found = kc.UniformBins(bins).assign((edges * factor)[:, None]).index
        np.testing.assert_array_equal(found, np.arange(bins - 1) + shift)


def test_the_binned_error_is_that_of_given_edges():
    y = np.r_[np.ones(40), np.zeros(110)].astype(int)
    p = np.repeat([0.14, 0.13, 0.15], 50)
    given = kc.binning.EdgeBins(np.arange(51) / 50)
    asked = {"question": "positive class"}
    assert float(kc.ece(y, p, bins=50, **asked)) == pytest.approx(0.22667, abs=5e-6)
    assert float(kc.ece(y, p, bins=50, **asked)) == float(kc.ece(y, p, bins=given, **asked))


@pytest.mark.parametrize("edge", [0.14, 0.28, 0.56])
def test_passes_over_parts_and_cells_of_a_simplex_bin_alike(edge):
    p = np.array([edge, edge + 0.005, 0.9])
    index = kc.UniformBins(50).assign(p[:, None]).index
    cells = kc.UniformBins(50).assign(np.column_stack([1 - p, p, 0 * p])).index
    assert index[0] == round(50 * edge) - 1 == index[1] - 1
    assert len(set(cells.tolist())) == 3
    sketch = kc.Sketch(kc.Laplacian(0.3), draws=19, bins=50).update([0, 1, 1], p)
    weights = [table.weight for error in sketch.result().eces for table in error.tables if "positive" in error.name]
    assert weights[0][round(50 * edge) - 1] == 1
