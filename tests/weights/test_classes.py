"""Case weights: sums over rows and pairs, in every engine, and in the exact test."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError

KERNEL = kc.Laplacian(0.4)


def data(m, n=80):
    rng = np.random.default_rng(m)
    p = rng.dirichlet(np.ones(m), n)
    return kc.Categorical(p).sample(rng)[0], p, rng.uniform(0, 3, n)


def naive(y, p, w, diagonal):
    total, mass = 0.0, 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if i != j or diagonal:
                r = (np.eye(p.shape[1])[y[i]] - p[i]) @ (np.eye(p.shape[1])[y[j]] - p[j])
                total += w[i] * w[j] * np.exp(-np.linalg.norm(p[i] - p[j]) / 0.4) * r
                mass += w[i] * w[j]
    return total / mass


@pytest.mark.parametrize("m", [3, 60])
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_weighted_skce_is_the_weighted_mean_over_pairs(m, estimator):
    y, p, w = data(m)
    expected = naive(y, p, w, estimator == "biased")
    options = {"prediction_kernel": KERNEL, "estimator": estimator, "weights": w}
    assert float(kc.skce(y, p, **options)) == pytest.approx(expected, rel=1e-11)
    assert float(kc.skce(y, p, engine=kc.Nystrom(80), **options)) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("m", [2, 3, 60])
def test_draws_of_every_engine_agree_with_one_call_each(m):
    y, p, w = data(m)
    w = w / w.mean()
    labels = np.stack([y, (y + 1) % m, y[::-1]])
    for engine in (kc.ExactPairs(), kc.Nystrom(80)):
        statistic = kc.SKCE(prediction_kernel=KERNEL, engine=engine)
        values = statistic.prepare(kc.Categorical(p), w).values(labels)[:, 0]
        np.testing.assert_allclose(values, [float(statistic(row, p, weights=w)) for row in labels], rtol=1e-8)


@pytest.mark.slow
def test_equal_weights_change_nothing_and_only_ratios_matter():
    y, p, w = data(4)
    for call in (
        lambda w: float(kc.skce(y, p, weights=w)),
        lambda w: float(kc.ece(y, p, weights=w)),
        lambda w: float(kc.mmce(y, p, weights=w)),
        lambda w: kc.calibration_test(y, p, weights=w, draws=99).pvalue,
        lambda w: kc.calibration_test(y, p, statistic="skce", null="saddlepoint", weights=w).pvalue,
        lambda w: kc.evaluate(y, p, weights=w, draws=99).log_score,
    ):
        assert call(np.full(len(y), 7.0)) == pytest.approx(call(None), rel=1e-12)
        assert call(w) == pytest.approx(call(5 * w), rel=1e-10)


def test_rows_of_weight_zero_count_nothing():
    y, p, _ = data(4)
    w = np.r_[np.ones(60), np.zeros(20)]
    assert float(kc.skce(y, p, weights=w, prediction_kernel=KERNEL)) == pytest.approx(
        float(kc.skce(y[:60], p[:60], prediction_kernel=KERNEL)), rel=1e-12
    )
    result = kc.evaluate(y, p, weights=w, draws=99)
    alone = kc.evaluate(y[:60], p[:60], draws=99)
    for name in ("accuracy", "log_score", "brier_score"):
        assert getattr(result, name) == pytest.approx(getattr(alone, name), rel=1e-12)


@pytest.mark.slow
def test_the_weighted_exact_test_keeps_its_level():
    from scipy.stats import binom

    rejected, repetitions = 0, 200
    for number in range(repetitions):
        rng = np.random.default_rng([5, number])
        p, w = rng.beta(0.7, 0.7, 40), rng.exponential(size=40) ** 2
        y = (rng.random(40) < p).astype(int)
        rejected += kc.calibration_test(y, p, weights=w, draws=99, rng=number).pvalue <= 0.1
    assert rejected <= binom.ppf(0.9995, repetitions, 0.1)
    assert rejected >= binom.ppf(0.0005, repetitions, 0.1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "weights must be 3 numbers, one a row"),
        ([1.0, -2.0, 1.0], "row 1 is -2"),
        ([1.0, np.nan, 1.0], "row 1 is missing"),
        ([0, 0, 0], "all weights are 0"),
        ([0, 0, 1], "at least two rows"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(InputError, match=message):
        kc.skce([0, 1, 1], [0.2, 0.6, 0.9], weights=weights)


def test_laws_without_weights_say_so():
    y, p, w = data(3)
    for null in ("bootstrap", "bound", "gamma"):
        with pytest.raises(InputError, match="takes no case weights"):
            kc.calibration_test(y, p, statistic="skce", null=null, weights=w)
    with pytest.raises(InputError, match="a function takes no weights"):
        kc.calibration_test(y, p, statistic=lambda y, p: 0.0, weights=w)


def test_weights_of_a_file(tmp_path, capsys):
    from kernelcal.cli import main

    path = tmp_path / "a.csv"
    rows = [f"{i % 2},{0.2 + 0.5 * (i % 2)},{1 + i % 3}" for i in range(30)]
    path.write_text("y,p,w\n" + "\n".join(rows))
    assert main(["evaluate", str(path), "--weights", "w", "--draws", "99"]) == 0
    assert "weights w" in capsys.readouterr().out


def test_weighted_bias_is_standardised_by_its_own_variance():
    y, p, w = data(3)
    w = w / w.mean()
    scores = kc.statistics.ClassSignals().prepare(kc.Categorical(p), w)
    gaps = np.array([sum(w[i] * ((y[i] == k) - p[i, k]) for i in range(len(y))) for k in range(3)])
    variance = np.array([sum(w[i] ** 2 * p[i, k] * (1 - p[i, k]) for i in range(len(y))) for k in range(3)])
    np.testing.assert_allclose(scores.bias(y[None])[0], gaps / np.sqrt(variance + 1), rtol=1e-10)
    covariances = [w[i] ** 2 * (np.diag(p[i]) - np.outer(p[i], p[i])) for i in range(len(y))]
    along = sum(c @ np.log(row) for c, row in zip(covariances, p, strict=True))
    slope = sum(w[i] * (np.log(p[i, y[i]]) - p[i] @ np.log(p[i])) for i in range(len(y)))
    slope -= np.linalg.lstsq(sum(covariances), along, rcond=1e-10)[0] @ gaps
    assert scores.slope(y[None])[0] == pytest.approx(slope, rel=1e-8)
