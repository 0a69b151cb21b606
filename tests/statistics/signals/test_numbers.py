"""Signals of numbers against sums written out, with weights, vectors, rows without spread and sentences."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

import kernelcal as kc
from kernelcal.statistics import NumberSignals


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_scores_are_these_sums(d, weighted):
    rng = np.random.default_rng(0)
    n = 14
    mean, std = rng.normal(size=(n, d)), np.exp(rng.normal(size=(n, d)))
    y, w = rng.normal(size=(2, n, d)), rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    if d == 1:
        batch, targets = kc.Normal(mean[:, 0], std[:, 0]), y[:, :, 0]
    else:
        batch, targets = kc.MultivariateNormal.diagonal(mean, std), y
    scores = NumberSignals().prepare(batch, w if weighted else None)
    for b, found in enumerate(scores.values(targets)):
        sums, by, squares, expected_squares, share2 = np.zeros((3, d)), np.zeros(2), 0.0, 0.0, 0.0
        places = []
        for k in range(d):
            z = [(y[b, i, k] - mean[i, k]) / std[i, k] for i in range(n)]
            x = [[1.0] * n]
            for values in (mean[:, k], np.log(std[:, k])):
                low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
                scaled = [min(max((v - middle) / (high - low) * 1.3489795, -6), 6) for v in values]
                average = sum(w[i] * scaled[i] for i in range(n)) / sum(w)
                x.append([v - average for v in scaled])
            for j in range(3):
                sums[j, k] = sum(w[i] * z[i] * x[j][i] for i in range(n))
            x = np.array(x).T
            slope = np.linalg.solve(x.T @ np.diag(w) @ x, x.T @ (w * z))
            hat = x @ np.linalg.solve(x.T @ np.diag(w) @ x, x.T)
            rest = z - x @ slope
            for i in range(n):
                squares += w[i] * rest[i] ** 2
                share = w[i] * (1 - w[i] * hat[i, i])
                expected_squares += share
                share2 += w[i] * share
                by += w[i] * rest[i] ** 2 * x[i, 1:] / d
            places.append(norm.cdf(z))
        freedom = expected_squares**2 / share2
        dispersion = abs((squares / expected_squares) ** (1 / 3) - (1 - 2 / (9 * freedom)))
        bias = np.abs(sums).max(axis=1)
        if d > 1:  # independent components: whitening is standardising, and the distance is chi-square
            away = ((y[b] - mean) / std) ** 2
            places.append(chi2.cdf(away.sum(axis=1), d))
        pit = 0.0
        for u in places:
            for k in range(1, 5):
                basis = np.polynomial.legendre.Legendre.basis(k)
                pit += (2 * k + 1) * sum(w[i] * basis(2 * u[i] - 1) for i in range(n)) ** 2 / len(places)
        cells = 0.0
        for u in places:  # 8 cells, the fewest
            counts = [sum(w[i] for i in range(n) if min(int(8 * u[i]), 7) == c) for c in range(8)]
            cells += sum((count - sum(w) / 8) ** 2 for count in counts) / (sum(w**2) * 7 / 64)
        expected = [0, bias[0], dispersion, bias[1], bias[2], abs(by[0]), abs(by[1]), pit, cells]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_dispersion_has_its_mean_under_calibration():
    rng = np.random.default_rng(0)
    batch, w = kc.Normal(rng.normal(size=8), np.exp(rng.normal(size=8))), rng.uniform(0.2, 2, 8)
    signals = NumberSignals().prepare(batch, w)
    z = rng.normal(size=(60_000, 8))
    rest = signals._explained(z[:, :, None])[1][:, :, 0]
    total, freedom = signals.freedom
    assert (w * rest**2).sum(axis=1).mean() == pytest.approx(total, rel=0.01)
    assert 3 < freedom < 5


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_of_places_are_a_chi_square(weighted):
    """Row by row and cell by cell; laws with jumps have none."""
    rng = np.random.default_rng(3)
    mean, std = rng.normal(size=70), np.exp(rng.normal(size=70))
    w = rng.uniform(0.2, 2, 70) if weighted else np.ones(70)
    signals = NumberSignals().prepare(kc.Normal(mean, std), w if weighted else None)
    assert signals.cells == round(2 * 70**0.4) == 11
    targets = mean + std * rng.normal(size=(3, 70))
    found = signals.values(targets)[:, signals.names.index("PIT cells")]
    for y, value in zip(targets, found, strict=True):
        counts = [0.0] * 11
        for u, weight in zip(norm.cdf((y - mean) / std), w, strict=True):
            counts[int(u * 11)] += weight
        variance = sum(weight**2 for weight in w) * (1 / 11) * (10 / 11)
        assert value == pytest.approx(sum((c - w.sum() / 11) ** 2 for c in counts) / variance, rel=1e-9)
    assert "PIT cells" not in NumberSignals().prepare(kc.Poisson(std)).names
    assert "PIT cells" not in NumberSignals().prepare(kc.Samples(rng.normal(size=(70, 5)))).names
    assert [NumberSignals().prepare(kc.Normal(np.zeros(n), 1.0)).cells for n in (2, 100_000)] == [8, 64]


def test_groups_of_what_is_ranked():
    signals = NumberSignals().prepare(kc.Normal([0.0, 1.0], [1.0, 2.0]))
    named = [tuple(signals.names[k] for k in group) for group in signals.merge.groups]
    assert named[:3] == [("impossible target",), ("bias",), ("dispersion",)]
    assert named[3] == ("bias by location", "bias by scale", "dispersion by location", "dispersion by scale")
    assert named[4:] == [("PIT",), ("PIT cells",)]
    assert signals.merge.weights == (1, 1.2, 1.2, 0.8, 1.4, 0.8)
    counts = NumberSignals().prepare(kc.Poisson([1.0, 2.0]))
    assert counts.merge.weights == (1, 1.2, 1.2, 0.8, 1.4)
    family = kc.DefaultFamily().prepare(kc.Normal([0.0, 1.0, 3.0], [1.0, 2.0, 1.0]))
    assert [family.names[k] for k in family.merge.groups[-1]] == ["PIT cells", *family.kernels.names]
    assert family.merge.weights == signals.merge.weights
    assert len(family.kernels.names) == 2
    vectors = kc.DefaultFamily().prepare(kc.MultivariateNormal.diagonal(np.eye(3), np.ones((3, 3))))
    assert [len(group) for group in vectors.merge.groups] == [1, 1, 1, 4, 1, 3, 2]


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
