"""Signals of numbers against sums written out, with weights, vectors, rows without spread and sentences."""

import numpy as np
import pytest
from scipy.stats import norm

import kernelcal as kc
from kernelcal.statistics import NumberSignals


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_scores_are_these_sums(d, weighted):
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=(12, d)), np.exp(rng.normal(size=(12, d)))
    y, w = rng.normal(size=(2, 12, d)), rng.uniform(0.5, 2, 12) if weighted else np.ones(12)
    logs = np.array([sum(np.log(std[i, k]) for k in range(d)) / d for i in range(12)])
    logs = logs - (w * logs).sum() / w.sum()
    scale = logs / np.sqrt((logs**2).mean())
    if d == 1:
        batch, targets = kc.Normal(mean[:, 0], std[:, 0]), y[:, :, 0]
    else:
        batch, targets = kc.MultivariateNormal.diagonal(mean, std), y
    scores = NumberSignals().prepare(batch, w if weighted else None)
    for b, found in enumerate(scores.values(targets)):
        bias, by, spread, spread_by = np.zeros(d), np.zeros(d), 0.0, 0.0
        for i in range(12):
            z = [(y[b, i, k] - mean[i, k]) / std[i, k] for k in range(d)]
            bias += w[i] * np.array(z)
            by += w[i] * scale[i] * np.array(z)
            spread += w[i] * (sum(v * v for v in z) / d - 1)
            spread_by += w[i] * scale[i] * (sum(v * v for v in z) / d - 1)
        expected = [0, np.abs(bias).max(), abs(spread), np.abs(by).max(), abs(spread_by), 0.0]
        for k in range(d):
            u = norm.cdf([(y[b, i, k] - mean[i, k]) / std[i, k] for i in range(12)])
            shares = [w[u <= value].sum() / w.sum() - value for value in u]
            before = [value - w[u < value].sum() / w.sum() for value in u]
            expected[5] = max(expected[5], np.sqrt(12) * (max(shares) + max(before)))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rows_without_spread_take_no_part():
    draws = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0], [4.0, 4.0, 4.0], [-1.0, 0.0, 4.0]])
    y = np.array([7.0, 2.0, 4.0, 1.0])
    found = NumberSignals().prepare(kc.Samples(draws)).values(y[None])[0]
    some = NumberSignals().prepare(kc.Samples(draws[[1, 3]])).values(y[None, [1, 3]])[0]
    np.testing.assert_allclose(found[1:3], some[1:3], rtol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_sentences_name_the_right_side(sign):
    std = np.repeat([0.5, 2.0], 50)
    batch = kc.Normal(np.zeros(100), std)
    scores = NumberSignals().prepare(batch)
    wide_err = np.where(std > 1, sign * std, -sign * std)
    assert scores.sentence("bias by scale", wide_err) == (
        f"wide predictions are shifted {'down' if sign > 0 else 'up'} compared with narrow ones"
    )
    spread = np.where((std > 1) == (sign > 0), 2 * std, 0.1 * std)
    word = "narrow" if sign > 0 else "wide"
    assert (
        scores.sentence("dispersion by scale", spread) == f"wide predictions are too {word} compared with narrow ones"
    )
    assert scores.sentence("bias", sign * 0.5 * std) == (
        f"predictions shifted {'down' if sign > 0 else 'up'} (outcomes are {'higher' if sign > 0 else 'lower'} by 0.5 "
        "standard deviations on average)"
    )
    vectors = kc.MultivariateNormal.diagonal(np.zeros((100, 2)), np.ones((100, 2)))
    y = np.stack([np.zeros(100), sign * np.ones(100)], axis=1)
    assert "in component 1 " in NumberSignals().prepare(vectors).sentence("bias", y)


def test_swapping_keeps_the_weights():
    rng = np.random.default_rng(0)
    values, w = rng.normal(size=(60, 6)), np.r_[np.zeros(30), np.ones(30)]
    values[:30, 0] += 50  # rows that count nothing
    assert kc.calibration_test(values[:, 0], kc.Samples(values[:, 1:])).pvalue == 0.001
    assert kc.calibration_test(values[:, 0], kc.Samples(values[:, 1:]), weights=w).pvalue > 0.05


def test_what_the_table_says_of_vectors_and_weights():
    rng = np.random.default_rng(0)
    batch = kc.MultivariateNormal.diagonal(rng.normal(size=(200, 3)), np.ones((200, 3)))
    y = batch.sample(rng)[0]
    result = kc.evaluate(y, batch)
    assert result.pit_pvalue == min(1.0, 3 * min(test.pvalue for test in result.pit))
    one, w = kc.Normal(batch.mean[:, 0], 1.0), np.r_[np.zeros(100), np.ones(100)]
    weighted = kc.evaluate(y[:, 0], one, weights=w)
    assert weighted.coverage[0].shares[0] == kc.evaluate(y[100:, 0], one[100:]).coverage[0].shares[0]
    assert "% to " not in weighted.summary().split("coverage of 50% intervals")[1].split("\n")[0]
    assert "% to " in kc.evaluate(y[:, 0], one).summary().split("coverage of 50% intervals")[1].split("\n")[0]


@pytest.mark.slow
def test_a_wrong_width_that_no_root_explains_is_no_suspicion():
    y = 0.3 * np.random.default_rng(0).normal(size=300)
    for std in (0.05, 0.14, 0.7):  # neither the root nor the square is near
        notes = kc.evaluate(y, kc.Normal(np.zeros(300), std)).notes
        assert not any("taken as" in note for note in notes), std
