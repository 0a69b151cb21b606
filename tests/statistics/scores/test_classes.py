"""Proper scores and binned errors against scikit-learn and by hand."""

import math

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.statistics import accuracy, brier_score, log_score


def data(m=4, n=200):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(m), n)
    return kc.Categorical(p).sample(rng)[0], p


def test_scores_agree_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    y, p = data()
    assert accuracy(y, p) == metrics.accuracy_score(y, p.argmax(1))
    assert log_score(y, p) == pytest.approx(metrics.log_loss(y, p), rel=1e-12)
    q = p[:, 1] / (p[:, 0] + p[:, 1])
    z = (y == 1).astype(int)
    assert brier_score(z, q) == pytest.approx(metrics.brier_score_loss(z, q), rel=1e-12)
    assert log_score(z, q) == pytest.approx(metrics.log_loss(z, q), rel=1e-12)


def test_brier_over_classes_is_twice_that_of_one_probability():
    y, p = data(2)
    assert brier_score(y, p) == pytest.approx(((np.eye(2)[y] - p) ** 2).sum(1).mean(), rel=1e-12)
    assert brier_score(y, p) == pytest.approx(2 * brier_score(y, p[:, 1]), rel=1e-12)


def test_log_score_of_an_impossible_label_is_infinite():
    assert math.isinf(log_score([0, 1], [[0.5, 0.5], [1.0, 0.0]]))


@pytest.mark.parametrize("bins", [1, 3, 10, 15])
def test_ece_against_a_plain_loop(bins):
    y, p = data()
    confidence, hit = p.max(1), p.argmax(1) == y
    total = 0.0
    for k in range(bins):
        inside = [
            i for i in range(len(y)) if (k / bins < confidence[i] <= (k + 1) / bins) or (k == 0 and confidence[i] == 0)
        ]
        if inside:
            total += (
                len(inside) / len(y) * abs(np.mean([confidence[i] for i in inside]) - np.mean([hit[i] for i in inside]))
            )
    assert float(kc.ece(y, p, bins=bins)) == pytest.approx(total, rel=1e-12)


def test_ece_edges_zero_and_one_are_in_a_bin():
    assert float(kc.ece([1, 0], [0.95, 1.0], question="positive class", bins=10)) == pytest.approx(0.475)
    assert float(kc.ece([0, 1, 0, 1], [0, 1, 0, 1], question="positive class")) == 0.0
    assert float(kc.ece([0] * 5, [1.0] * 5, bins=10, question="positive class")) == 1.0


def test_ece_bins_are_closed_on_the_right():
    # 0.2 belongs to (0.1, 0.2], with 0.15: the gaps +0.2 and -0.85 partly cancel there
    value = kc.ece([0, 1], [0.2, 0.15], question="positive class", bins=10)
    assert float(value) == pytest.approx(abs(0.2 - 0.85) / 2)
    assert float(kc.ece([0, 1], [0.2, 0.25], question="positive class", bins=10)) == pytest.approx((0.2 + 0.75) / 2)
