"""Debiased ECE: against the published formula, its expectation, and closed forms in place of draws."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures.cited import DebiasedECE


def rows(n=200, seed=0, power=1.5):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return (rng.uniform(size=n) < p**power).astype(int), p


def published(y, p, bins):
    """unbiased_square_ce of Kumar, Liang, Ma (2019), bin by bin."""
    total = 0.0
    for own in np.array_split(np.argsort(p), bins):
        gap, mean = p[own].mean() - y[own].mean(), y[own].mean()
        if len(own) >= 2:
            total += len(own) / len(p) * (gap**2 - mean * (1 - mean) / (len(own) - 1))
    return np.sign(total) * np.sqrt(abs(total))


@pytest.mark.parametrize(("seed", "power"), [(0, 1.5), (1, 1.0), (2, 1.0), (3, 3.0)])
def test_it_is_the_published_formula(seed, power):
    y, p = rows(seed=seed, power=power)
    assert float(DebiasedECE(bins=10)(y, p)) == pytest.approx(published(y, p, 10), rel=1e-10)


def test_bins_of_one_row_each_tell_nothing():
    assert np.isnan(float(DebiasedECE()([0, 1, 0], [0.2, 0.4, 0.6])))
    found = kc.measures.measure([0, 1, 0], [0.2, 0.4, 0.6], "debiased-ece", draws=19).values[0]
    assert (found.pvalue, np.isnan(found.interval[0])) == (1, True)


def test_equal_weights_are_none_and_copies_are_not_rows():
    y, p = rows()
    assert float(DebiasedECE()(y, p, weights=np.full(200, 3.0))) == pytest.approx(float(DebiasedECE()(y, p)))
    doubled = np.where(np.arange(200) < 100, 2.0, 1.0)
    assert float(DebiasedECE()(y, p, weights=doubled)) != pytest.approx(float(DebiasedECE()(y, p)))


def test_its_square_is_unbiased():
    """Outcomes of a law that is known: the mean over many sets is the squared error of the bins."""
    rng = np.random.default_rng(4)
    p = rng.uniform(size=300)
    truth, index = p**2, kc.EqualMassBins(10).assign(p[:, None]).index
    expected = np.mean([(p[index == k].mean() - truth[index == k].mean()) ** 2 for k in range(10)])
    # frequencies of unequal probabilities vary less than p (1 - p) / n_b: what is subtracted is a little too much
    within = np.mean([truth[index == k].var(ddof=1) / 30 for k in range(10)])
    prepared = DebiasedECE(bins=10).prepare(kc.Bernoulli(p))
    values = prepared.measured((rng.uniform(size=(4000, 300)) < truth).astype(int))
    square = np.sign(values) * values**2
    assert square.mean() == pytest.approx(expected - within, abs=4 * square.std() / np.sqrt(4000))


def test_the_l1_norm_subtracts_the_mean_of_normal_draws():
    y, p = rows(150, seed=5)
    index = kc.EqualMassBins(6).assign(p[:, None]).index
    share, mean = (np.bincount(index, x) / np.bincount(index) for x in (y, p))
    mass, rng = np.bincount(index) / 150, np.random.default_rng(6)
    drawn = rng.normal(share, np.sqrt(share * (1 - share) / np.bincount(index)), size=(200_000, 6))
    plain = mass @ np.abs(share - mean)
    expected = 2 * plain - (np.abs(drawn - mean) @ mass).mean()
    assert float(DebiasedECE(bins=6, norm="l1")(y, p)) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_noise_holds_the_distance_to_the_true_error_of_the_bins(norm):
    rng = np.random.default_rng(7)
    p = rng.uniform(size=400)
    truth, measure = np.clip(p + 0.1, 0, 1), DebiasedECE(bins=8, norm=norm)
    prepared, index = measure.prepare(kc.Bernoulli(p)), kc.EqualMassBins(8).assign(p[:, None]).index
    gap = np.bincount(index, truth - p) / np.bincount(index)
    expected = (
        np.average(np.abs(gap), weights=np.bincount(index))
        if norm == "l1"
        else np.sqrt(np.average(gap**2, weights=np.bincount(index)))
    )
    held = 0
    for _ in range(60):
        y = (rng.uniform(size=400) < truth).astype(int)
        q = np.quantile(prepared.noise(y, rng.choice([-1.0, 1.0], size=(199, 400))), 0.95)
        held += abs(prepared.measured(y[None])[0] + prepared.apart(y) - expected) <= q
    assert held >= 54  # of 60 at 95 %: binomial bound


def test_refusals():
    with pytest.raises(InputError, match="norm must be 'l2' or 'l1', got 'max'"):
        DebiasedECE(norm="max")
    with pytest.raises(InputError, match="bins must be a whole number"):
        DebiasedECE(bins=0)
