"""Layouts in which embeddings get predictions and targets."""

import numpy as np
import pytest


@pytest.fixture
def all_layouts():
    """Means and crosses of all pairs, checked to be the same in every layout of rows and columns."""

    def compute(embedding, p, y):
        rows, columns = p.map_arrays(lambda x: x[:, None, ...]), p.map_arrays(lambda x: x[None, ...])
        means, crosses = embedding.mean(rows, y[None]), embedding.cross(rows, columns)
        close = {"rtol": 1e-12, "atol": 1e-15}
        np.testing.assert_allclose(embedding.mean(columns, y[:, None]), means.T, **close)
        np.testing.assert_allclose(embedding.mean(p, y), np.diag(means), **close)
        np.testing.assert_allclose(embedding.mean(p, np.stack([y, y]))[1], np.diag(means), **close)
        np.testing.assert_allclose(embedding.cross(p, p), np.diag(crosses), **close)
        np.testing.assert_allclose(crosses, crosses.T, **close)
        few = rows[:2]
        np.testing.assert_allclose(embedding.cross(few, columns), crosses[:2], **close)
        np.testing.assert_allclose(embedding.cross(columns, few), crosses[:2], **close)
        np.testing.assert_allclose(embedding.mean(few, y[None]), means[:2], **close)
        return means, crosses

    return compute
