"""Masks, weights of nothing and of 1e308, imaginary parts, and lengthscales that no square holds."""

import warnings

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.binning import MedianVarianceBins
from kernelcal.kernels import InverseMultiquadric, PowerExponential, RationalQuadratic, Spectral
from kernelcal.predictions import DiagonalNormal, Mixture

Y, P = np.array([0, 1, 1, 0]), np.array([0.2, 0.7, 0.6, 0.4])
MASK = [0, 0, 0, 1]


def masked(values):
    """Masked in row 3, and what the mask hides is wrong."""
    data = np.array(values)
    data[3] = data[3] * 0 + 999
    return np.ma.array(data, mask=np.broadcast_to(np.reshape(MASK, (4,) + (1,) * (data.ndim - 1)), data.shape))


NORMAL = kc.Normal(np.arange(4.0), 1.0)
DRAWS = np.random.default_rng(0).normal(size=(4, 5))

ASKED = {
    "ece": lambda y, p, w: kc.ece(y, p, weights=w),
    "skce": lambda y, p, w: kc.skce(y, p, weights=w),
    "ckce": lambda y, p, w: kc.ckce(y, p, weights=w),
    "mmce": lambda y, p, w: kc.mmce(y, p, weights=w),
    "evaluate": lambda y, p, w: kc.evaluate(y, p, weights=w, draws=19).pvalue,
    "accuracy": lambda y, p, w: kc.statistics.accuracy(y, p, weights=w),
    "nystrom": lambda y, p, w: kc.skce(y, p, weights=w, engine=kc.Nystrom(3)),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_masked_is_refused_with_its_row_and_an_empty_mask_is_none(name):
    ask, w = ASKED[name], np.array([1.0, 2.0, 1.0, 3.0])
    for arguments in ((Y, P, masked(w)), (Y, masked(P), w), (masked(Y), P, w)):
        with pytest.raises(kc.InputError, match="row 3"):
            ask(*arguments)
    empty = [np.ma.array(x, mask=False) for x in (Y, P, w)]
    assert float(ask(*empty)) == float(ask(Y, P, w))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: kc.Normal(masked(np.arange(4.0)), 1.0), "row 3"),
        (lambda: kc.Normal(np.arange(4.0), masked(np.ones(4))), "row 3"),
        (lambda: kc.Samples(masked(DRAWS)), "row 3"),
        (lambda: kc.Samples(DRAWS, masked(np.ones((4, 5)))), "row 3"),
        (lambda: Mixture(masked(np.full((4, 2), 0.5)), (NORMAL, NORMAL)), "row 3"),
        (lambda: kc.Categorical(masked(np.full((4, 2), 0.5))), "row 3"),
        (lambda: kc.as_predictions(kc.Logits(masked(np.ones((4, 2))))), "row 3"),
        (lambda: NORMAL.quantile(masked(np.full(4, 0.5))), "probabilities in"),
        (lambda: kc.statistics.pinball_loss(np.arange(4.0), NORMAL, levels=masked(np.full(4, 0.5))), "levels"),
        (lambda: kc.binning.EdgeBins(masked([0.0, 0.2, 0.5, 1.0])), "edges"),
        (lambda: kc.FiniteKernel(masked(np.eye(4))), "symmetric"),
        (lambda: kc.skce(np.ma.array(np.arange(4.0), mask=MASK), NORMAL), "row 3"),
    ],
)
def test_masked_parameters_are_refused(make, word):
    with pytest.raises(kc.InputError, match=word):
        make()


@pytest.mark.parametrize("weight", [1e308, 1e-300, 5e-324 * 2**40, 3.0])
def test_equal_weights_of_any_size_change_nothing(weight):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 20)
    y, w = rng.integers(0, 3, 20), np.full(20, weight)
    for function in (kc.ucme, kc.statistics.mce, kc.skce, kc.ece, kc.ckce, kc.mmce, kc.statistics.brier_score):
        assert float(function(y, p, weights=w)) == pytest.approx(float(function(y, p)), rel=1e-12), function
    plain, weighted = (kc.evaluate(y, p, weights=own, draws=49) for own in (None, w))
    assert weighted.pvalue == plain.pvalue
    draws = rng.normal(size=(20, 6))
    given, alike = kc.Samples(draws, np.full((20, 6), weight)), kc.Samples(draws)
    np.testing.assert_allclose(given.mean, alike.mean, rtol=1e-12)


def test_ratios_of_huge_weights_stay():
    rng = np.random.default_rng(1)
    p, w = rng.uniform(size=30), rng.uniform(0.1, 1, 30)
    y = (rng.uniform(size=30) < p).astype(int)
    for factor in (2.0**1020, 2.0**-900):
        assert float(kc.skce(y, p, weights=factor * w)) == float(kc.skce(y, p, weights=w))


RNG = np.random.default_rng(0)
MANY = RNG.uniform(size=200)
HIT = (RNG.uniform(size=200) < MANY).astype(int)
MANY[:150] = 0.5
MEANS, STDS, NUMBERS = RNG.normal(size=200), RNG.uniform(0.5, 2, 200), RNG.normal(size=200)
MEANS[:150], STDS[:150] = 40.0, 9.0

COUNTED = {
    "skce": lambda y, p, w: kc.skce(y, p, weights=w),
    "biased": lambda y, p, w: kc.skce(y, p, weights=w, estimator="biased"),
    "jkce": lambda y, p, w: kc.statistics.jkce(y, p, weights=w),
    "ckce": lambda y, p, w: kc.ckce(y, p, weights=w, regularization=0.1),
    "ucme": lambda y, p, w: kc.ucme(y, p, weights=w),
    "nystrom": lambda y, p, w: kc.skce(y, p, weights=w, engine=kc.Nystrom(8)),
}
BINNED = {
    "equal mass": lambda y, p, w: kc.ece(y, p, weights=w, bins=kc.EqualMassBins(5)),
    "median variance": lambda y, p, w: kc.ece(y, p, weights=w, bins=MedianVarianceBins(5), question="simplex"),
}


@pytest.mark.parametrize("tiny", [0.0, 1e-12, 1e-9])
@pytest.mark.parametrize("name", COUNTED)
def test_rows_that_weigh_nothing_choose_nothing(name, tiny):
    w = np.where(np.arange(200) < 150, tiny, 1.0)
    ask = COUNTED[name]
    assert float(ask(HIT, MANY, w)) == pytest.approx(float(ask(HIT[150:], MANY[150:], None)), rel=2e-6)
    if name != "nystrom":  # whose residuals need features
        whole, rest = kc.Normal(MEANS, STDS), kc.Normal(MEANS[150:], STDS[150:])
        expected = float(ask(NUMBERS[150:], rest, None))
        assert float(ask(NUMBERS, whole, w)) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("name", BINNED)
def test_rows_of_weight_0_move_no_edge(name):
    w = np.where(np.arange(200) < 150, 0.0, 1.0)
    expected = BINNED[name](HIT[150:], MANY[150:], None)
    found = BINNED[name](HIT, MANY, w)
    assert float(found) == pytest.approx(float(expected), rel=1e-12)
    held = found.tables[0].weight > 0
    if found.tables[0].bins.lower is not None:
        np.testing.assert_array_equal(found.tables[0].bins.lower[held], expected.tables[0].bins.lower)


@pytest.mark.parametrize("metric", [kc.Euclidean(), kc.TotalVariation()])
def test_whole_weights_are_repeated_rows(metric):
    rng = np.random.default_rng(3)
    p, k = rng.dirichlet([1, 1, 1], 60), rng.integers(0, 5, 60)
    weighted = kc.median_lengthscale(p, metric=metric, weights=k)
    assert weighted == pytest.approx(kc.median_lengthscale(np.repeat(p, k, axis=0), metric=metric), rel=1e-12)
    assert weighted != pytest.approx(kc.median_lengthscale(p, metric=metric), rel=1e-6)
    full = kc.median_lengthscale(p, metric=metric, weights=3 * np.ones(60), include_diagonal=True)
    assert full == kc.median_lengthscale(p, metric=metric, include_diagonal=True)
    normal = kc.Normal(rng.normal(size=60), rng.uniform(0.5, 2, 60))
    expected = np.median(np.repeat(normal.std, k))
    assert kc.kernels.target_lengthscale(normal, k.astype(float)) == pytest.approx(expected, rel=1e-12)


def test_many_weighted_rows_are_drawn_by_their_weights():
    rng = np.random.default_rng(4)
    p = rng.uniform(size=6000)
    w = np.where(p < 0.2, 1.0, 1e-3 * rng.uniform(size=6000))
    assert kc.median_lengthscale(p, weights=w) == pytest.approx(0.2 * (1 - np.sqrt(0.5)), rel=0.1)


def test_imaginary_parts_are_refused():
    for given in (P + 9j, [0.2 + 0j, 0.7, 0.6, 0.4], np.array([0.2 + 1j, 0.7, 0.6, 0.4], dtype=object)):
        with pytest.raises(kc.InputError, match=r"real numbers|must be numbers"):
            kc.skce(Y, given)
    with pytest.raises(kc.InputError, match="weights must be 4 numbers"):
        kc.skce(Y, P, weights=np.ones(4) + 0j)
    for targets in (Y + 0j, np.arange(4) + 1j):
        with pytest.raises(kc.InputError, match="complex"):
            kc.skce(targets, P if targets[1] == 1 else NORMAL)
    for make in (
        lambda: kc.Normal(P + 1j, 1.0),
        lambda: kc.Normal(P, np.ones(4) + 1j),
        lambda: kc.Samples(DRAWS + 1j),
        lambda: kc.Samples(DRAWS, np.ones((4, 5)) + 0j),
        lambda: kc.Logits(P + 1j).probabilities(),
        lambda: kc.Gaussian(1 + 0j),
        lambda: kc.Gaussian(np.complex128(1)),
        lambda: kc.binning.EdgeBins(np.array([0, 0.5 + 1j, 1])),
        lambda: kc.FiniteKernel(np.eye(2) + 1j),
        lambda: NORMAL.quantile(np.array(0.5 + 1j)),
    ):
        with pytest.raises(kc.InputError):
            make()


def test_imaginary_parts_of_other_libraries_are_refused():
    torch = pytest.importorskip("torch")
    p = torch.tensor(P)
    for make in (
        lambda: kc.skce(Y, p + 9j),
        lambda: kc.Categorical(torch.stack([1 - p, p], 1) + 1j),
        lambda: kc.Logits(p + 1j).probabilities(),
        lambda: kc.Normal(p + 1j, torch.ones(4)),
        lambda: kc.Normal(p, torch.tensor(1 + 1j)),
        lambda: kc.skce(Y, p, weights=torch.ones(4) + 1j),
        lambda: kc.skce(torch.tensor(Y) + 0j, p),
    ):
        with pytest.raises(kc.InputError, match=r"real numbers|must be numbers|complex|weights must be"):
            make()
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(kc.InputError, match="real numbers"):
        kc.skce(Y, jnp.asarray(P) + 1j)


PROFILES = (
    *(kc.Gaussian, kc.Laplacian, kc.Matern32, kc.Matern52),
    *(PowerExponential, InverseMultiquadric, RationalQuadratic),
)


@pytest.mark.parametrize("profile", PROFILES)
def test_lengthscales_give_a_value_or_a_refusal(profile):
    for size in (1e-200, 1e200, 1e-160, 5e-324):
        with pytest.raises(kc.InputError, match=r"lengthscale must lie between 1e-75 and 1e\+75, got .* unit"):
            profile(size)
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet([1, 1, 1], 20), rng.integers(0, 3, 20)
    numbers = DiagonalNormal(rng.normal(size=(20, 2)), np.full((20, 2), 0.5))
    subjects = [(y, p), (y, p.astype(np.float32)), (y % 2, p[:, 0]), (y % 2, p[:, 0].astype(np.float32))]
    engines = [kc.ExactPairs(), kc.Nystrom(8)] + [kc.RandomFourier(16)] * (profile is not PowerExponential)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for size in (1e-75, 1e75, 1e-45, 1e45):
            for targets, predictions in subjects:
                for engine in engines:
                    found = float(kc.skce(targets, predictions, prediction_kernel=profile(size), engine=engine))
                    assert np.isfinite(found)
                exact = float(kc.skce(targets, predictions, prediction_kernel=profile(size)))
                one = kc.Gaussian(1e75) if size > 1 else None
                limit = 0.0 if one is None else float(kc.skce(targets, predictions, prediction_kernel=one))
                assert exact == pytest.approx(limit, abs=1e-6)
            target = kc.skce(rng.normal(size=(20, 2)), numbers, target_kernel=Spectral(kc.Gaussian(size), 16))
            assert np.isfinite(float(target))


def test_lengthscales_in_single_precision_elsewhere():
    torch = pytest.importorskip("torch")
    p = torch.tensor(np.random.default_rng(0).dirichlet([1, 1, 1], 20)).float()
    y = np.arange(20) % 3
    for profile in PROFILES:
        for size in (1e-75, 1e75):
            assert np.isfinite(float(kc.skce(y, p, prediction_kernel=profile(size))))


@pytest.mark.parametrize("p", [np.full(60, 5e-301), np.where(np.arange(60) < 30, 5e-301, 3e-300), np.full(60, 5e-324)])
def test_probabilities_whose_squares_are_0(p):
    for y in (np.zeros(60, dtype=int), np.r_[1, np.zeros(59, dtype=int)]):
        found = kc.Sketch.like(p, draws=19).update(y, p).result()
        assert 0 < found.pvalue <= 1
        assert found.known is None or 0 < found.known.pvalue <= 1
        statistic = kc.SKCE(prediction_kernel=kc.Gaussian())
        for null in ("saddlepoint", "pearson", "gamma", "spectrum"):
            assert 0 < kc.calibration_test(y, p, statistic=statistic, null=null).pvalue <= 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, bool, np.float16])
def test_small_types_do_not_overflow(dtype):
    rng = np.random.default_rng(0)
    n = 400
    p = rng.uniform(size=n)
    y = (rng.uniform(size=n) < p).astype(int)
    assert float(kc.skce(y.astype(dtype), p)) == float(kc.skce(y, p))
    assert kc.statistics.brier_score(y.astype(dtype), p) == kc.statistics.brier_score(y, p)
    assert float(kc.ece(y, p, weights=np.ones(n, dtype=dtype))) == pytest.approx(float(kc.ece(y, p)), rel=1e-12)
    counts = rng.integers(0, 2 if dtype is bool else 100, n)
    poisson = kc.predictions.Poisson(np.full(n, 50.0))
    assert kc.statistics.crps(counts.astype(dtype), poisson) == kc.statistics.crps(counts, poisson)


def test_minus_zero_is_zero():
    p = np.array([0.0, 0.25, 0.25, 1.0])
    assert float(kc.skce(Y, np.where(p == 0, -0.0, p))) == float(kc.skce(Y, p))
    assert float(kc.ece(Y, np.where(p == 0, -0.0, p))) == float(kc.ece(Y, p))
    assert kc.as_predictions(kc.LogProbs([-0.0, 0.0])).impossible(np.array([0, 0])).all()
