"""Signals of classes: by matrix products for one probability, by look-ups for several."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.statistics import ClassSignals


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_one_probability_are_those_of_two_classes_and_of_loops(weighted):
    rng = np.random.default_rng(0)
    p = np.r_[0.0, 1.0, 1.0, 0.0, rng.uniform(size=46)]
    w = rng.exponential(size=50) if weighted else None
    labels = rng.integers(0, 2, (7, 50))
    one = ClassSignals().prepare(kc.Bernoulli(p), w)
    two = ClassSignals().prepare(kc.Categorical(np.stack([1 - p, p], axis=1)), w)
    np.testing.assert_allclose(one.values(labels), two.values(labels), rtol=1e-12)
    weights = np.ones(50) if w is None else w
    for y, found in zip(labels, one.values(labels), strict=True):
        impossible, slope, bias = 0, 0.0, 0.0
        for i in range(50):
            both = np.array([1 - p[i], p[i]])
            logs = np.log(np.where(both > 0, both, 1))
            impossible += both[y[i]] == 0
            slope += weights[i] * (logs[y[i]] - both @ logs)
            bias += weights[i] * (y[i] - p[i])
        spread = np.sqrt((weights**2 * p * (1 - p)).sum() + 1)
        np.testing.assert_allclose(found, [impossible, abs(slope), abs(bias) / spread], rtol=1e-12)
