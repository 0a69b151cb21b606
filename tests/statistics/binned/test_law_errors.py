"""Binned errors of counts and of general targets, against sums written out."""

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.errors import InputError


def groups(mean, bins):
    """Rows by the ranks of their means, as many in every bin; equal means have one rank, the middle of theirs."""
    rank = stats.rankdata(mean, method="average")
    return np.ceil(bins * (rank - 0.5) / len(mean)).astype(int)


COUNTS = np.random.default_rng(0)
RATE = COUNTS.uniform(0.5, 6, 40)
Y = COUNTS.poisson(RATE * 1.2)


@pytest.mark.parametrize("distance", ["total variation", "l1", "euclidean", "squared", "max"])
@pytest.mark.parametrize("norm", ["mean", "max"])
def test_counts_are_compared_as_infinitely_many_classes(distance, norm):
    """Theorem G.1: norms of P(Y = . | bin) - mean predicted law over all counts."""
    k = np.arange(80)
    pmf = stats.poisson.pmf(k, RATE[:, None])
    bin_of, total, own = groups(RATE, 4), 0.0, []
    for b in np.unique(bin_of):
        rows = bin_of == b
        gap = np.abs((Y[rows][:, None] == k).mean(axis=0) - pmf[rows].mean(axis=0))
        value = {
            "total variation": gap.sum() / 2,
            "l1": gap.sum(),
            "euclidean": np.sqrt((gap**2).sum()),
            "squared": (gap**2).sum(),
            "max": gap.max(),
        }[distance]
        own.append(value)
        total += rows.mean() * value
    found = kc.ECE(bins=4, distance=distance, norm=norm)(Y, kc.Poisson(RATE))
    assert float(found) == pytest.approx(max(own) if norm == "max" else total, rel=1e-8)
    assert found.bins_used == 4


def test_corrected_error_of_counts_leaves_out_rows_with_themselves():
    k = np.arange(80)
    r = (Y[:, None] == k) - stats.poisson.pmf(k, RATE[:, None])
    bin_of = groups(RATE, 3)
    total = 0.0
    for b in np.unique(bin_of):
        own = r[bin_of == b]
        total += ((own.sum(axis=0) ** 2).sum() - (own**2).sum()) / len(own)
    found = kc.ECE(bins=3, distance="squared", estimator="corrected")(Y, kc.Poisson(RATE))
    assert float(found) == pytest.approx(total / 40, rel=1e-8)


def test_numbers_are_compared_by_mean_embeddings():
    rng = np.random.default_rng(1)
    mean, std = rng.normal(size=30), rng.uniform(0.5, 2, 30)
    y = rng.normal(mean, 1.5 * std)
    u = stats.norm.cdf((y - mean) / std)
    j = np.arange(1, 33)
    features = np.sqrt(2) * np.cos(np.pi * u[:, None] * j) / (np.pi * j)
    bin_of, total, squared, noise = groups(mean, 3), 0.0, 0.0, 0.0
    for b in np.unique(bin_of):
        own = features[bin_of == b]
        gap = (own.mean(axis=0) ** 2).sum()
        total += len(own) / 30 * np.sqrt(gap)
        squared += len(own) / 30 * gap
        noise += (own**2).sum() / len(own) / 30
    predictions = kc.Normal(mean, std)
    assert float(kc.ece(y, predictions, bins=3, distance="mmd")) == pytest.approx(total, rel=1e-9)
    assert float(kc.ece(y, predictions, bins=3, distance="squared mmd")) == pytest.approx(squared, rel=1e-9)
    corrected = kc.ece(y, predictions, bins=3, distance="squared mmd", estimator="corrected")
    assert float(corrected) == pytest.approx(squared - noise, rel=1e-9)


def test_weights_and_vectors():
    w = np.linspace(0.1, 2, 40)
    whole = kc.ECE(bins=1)(Y, kc.Poisson(RATE), weights=w)
    k = np.arange(80)
    gap = w @ ((Y[:, None] == k) - stats.poisson.pmf(k, RATE[:, None])) / w.sum()
    assert float(whole) == pytest.approx(np.abs(gap).sum() / 2, rel=1e-8)
    rng = np.random.default_rng(2)
    mean = rng.normal(size=(20, 2))
    vectors = kc.MultivariateNormal(mean, np.stack([np.eye(2)] * 20))
    found = kc.ece(mean + rng.normal(size=(20, 2)), vectors, bins=2, distance="mmd")
    assert 0 < float(found) < 1


def test_mmd_of_classes_is_euclidean():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(3), 50), rng.integers(0, 3, 50)
    for one, other in (("mmd", "euclidean"), ("squared mmd", "squared")):
        options = {"question": "simplex", "bins": 3}
        assert float(kc.ece(y, p, distance=one, **options)) == float(kc.ece(y, p, distance=other, **options))


def test_an_exact_test_takes_it_and_finds_what_is_wrong():
    rng = np.random.default_rng(3)
    rate = rng.uniform(1, 5, 300)
    predictions = kc.Poisson(rate)
    assert kc.calibration_test(rng.poisson(rate), predictions, statistic=kc.ECE(bins=5), draws=99).pvalue > 0.05
    assert kc.calibration_test(rng.poisson(1.4 * rate), predictions, statistic=kc.ECE(bins=5), draws=99).pvalue == 0.01


def test_what_cannot_be_compared_is_refused_with_the_way_out():
    with pytest.raises(InputError, match="pass distance='mmd' or 'squared mmd'"):
        kc.ece([0.0, 1.0], kc.Normal([0.0, 1.0], 1.0))
    with pytest.raises(InputError, match="question='top label' is for classes"):
        kc.ece([0, 1], kc.Poisson([1.0, 2.0]), question="top label")
    with pytest.raises(InputError, match="use distance='mmd'"):
        kc.ece(np.zeros(40, int), kc.Poisson(np.full(40, 1e8)))
