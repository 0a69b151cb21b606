"""Features: the kernels they approximate, and the same sums one by one and in batches."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.kernels.points import CrossPairs, Points
from kernelcal.pairs import features, totals
from kernelcal.residuals import ClassResidual

SPECTRAL = [
    kc.Laplacian(0.5),
    kc.Laplacian(0.5, metric=kc.TotalVariation()),
    kc.Gaussian(0.5, metric=kc.Hellinger()),
    kc.Matern32(0.5),
    kc.Matern52(0.5),
    kc.kernels.RationalQuadratic(0.5, alpha=0.8),
    kc.InverseMultiquadric(0.5, beta=-0.4, offset=1.5),
]


def gram(kernel, batch):
    return kernel.evaluate(CrossPairs(Points(batch), slice(None), slice(None)))


@pytest.mark.quick_cases(6)
@pytest.mark.parametrize("kernel", SPECTRAL, ids=lambda k: f"{type(k).__name__}-{type(k.metric).__name__}")
def test_random_fourier_features_are_unbiased_for_their_kernel(kernel, make_data):
    batch = kc.Categorical(make_data(15, 3)[0])
    exact = gram(kernel, batch)
    size, repeats = 4000, 40
    values = []
    for seed in range(repeats):
        phi, _ = kc.RandomFourier(size, rng=seed).maps([kernel], batch)
        values.append(phi(slice(None)) @ phi(slice(None)).T)
    error = np.mean(values, axis=0) - exact
    spread = np.std(values, axis=0) / np.sqrt(repeats)
    assert np.abs(error).max() < 5 * spread.max() + 1e-12
    assert spread.max() < 0.004  # tight enough that another kernel would be noticed


@pytest.mark.parametrize(
    "kernel",
    [*SPECTRAL, kc.Linear(), kc.kernels.PowerExponential(0.5, power=0.5), kc.Dirac()],
    ids=lambda k: type(k).__name__,
)
def test_all_rows_as_landmarks_give_the_kernel(kernel, make_data):
    batch = kc.Categorical(make_data(40, 3)[0])
    phi, sizes = kc.Nystrom(40).maps([kernel], batch)
    features_ = phi(slice(None))
    assert features_.shape[1] == sizes[0]
    np.testing.assert_allclose(features_ @ features_.T, gram(kernel, batch), atol=1e-7)


@pytest.mark.parametrize("share", [0.99, 0.999])
def test_a_share_keeps_the_fewest_directions_that_hold_it_but_32(share, make_data):
    batch = kc.Categorical(make_data(60, 3)[0])
    kernels = [kc.Laplacian(0.1), kc.Laplacian(1.0)]
    phi, sizes = kc.Nystrom(60, share=share).maps(kernels, batch)
    for kernel, features_ in zip(kernels, np.split(phi(slice(None)), [sizes[0]], axis=1), strict=True):
        squares = np.sort(np.linalg.eigvalsh(gram(kernel, batch)) ** 2)[::-1]
        wanted = max(int(np.argmax(np.cumsum(squares) >= share * squares.sum() * (1 - 1e-12))) + 1, 32)
        assert features_.shape[1] == wanted
        kept = np.linalg.eigvalsh(features_ @ features_.T) ** 2
        assert kept.sum() == pytest.approx(squares[:wanted].sum(), rel=1e-6)
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("n", [2 * 2048, 2 * 2584, 2 * 4181])  # multiples of the golden ratio fall in step with some
@pytest.mark.parametrize("weighted", [False, True])
def test_a_share_sees_rows_that_come_in_a_rhythm_or_are_few(weighted, n, first, make_data):
    """Every second row says the same: the rows between are not told apart where only that one direction is kept.

    Half of the landmarks are among these rows, far more than 32 directions could hold by chance.
    """
    p = np.tile(np.full(4, 0.25), (n, 1))
    p[first::2] = make_data(n // 2, 4)[0]
    batch, kernel, engine = kc.Categorical(p), kc.Laplacian(0.5), kc.Nystrom(240, share=0.999)
    if weighted:  # rows that weigh nothing are not looked at
        engine, batch = (
            engine.counting(np.r_[np.ones(n), np.zeros(20 * n)]),
            kc.Categorical(np.r_[p, p[first - 1 : first or None].repeat(20 * n, axis=0)]),
        )
    phi = engine.maps([kernel], batch)[0](slice(0, n))
    of_all = kc.Nystrom(240).maps([kernel], kc.Categorical(p))[0](slice(None))
    assert 32 <= phi.shape[1] < of_all.shape[1] / 2
    kept, whole = (float((x[first::2] ** 2).sum()) for x in (phi, of_all))
    assert kept > 0.9 * whole


def test_what_a_share_leaves_out_is_small_beside_the_noise(make_data):
    p, _ = make_data(400, 4, seed=3)
    rng = np.random.default_rng(0)
    draws = (rng.random((300, 400, 1)) > np.cumsum(p, axis=1)).sum(axis=2).clip(max=3)
    values = []
    for share in (1.0, 0.999):
        statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.5), engine=kc.Nystrom(100, share=share))
        values.append(statistic.prepare(kc.Categorical(p)).values(draws)[:, 0])
    left_out = np.std(values[0] - values[1]) / np.std(values[0])
    assert 0.005 < left_out < 2 * np.sqrt(0.001)
    assert abs(np.mean(values[0] - values[1])) < 4 * np.std(values[0]) * left_out / np.sqrt(300)  # and no bias


def test_landmarks_cover_all_distinct_values_of_one_probability():
    p = np.repeat([0.1, 0.35, 0.9], [50, 3, 1])
    phi, sizes = kc.Nystrom(3).maps([kc.Laplacian(0.2)], kc.Bernoulli(p))
    assert sizes == [3]
    np.testing.assert_allclose(
        phi(slice(None)) @ phi(slice(None)).T, gram(kc.Laplacian(0.2), kc.Bernoulli(p)), atol=1e-12
    )


@pytest.mark.parametrize("target", ["dirac", "finite"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [3, totals.DENSE_UP_TO + 3])
def test_single_precision_loses_no_digits_of_rows_that_are_nearly_certain(m, weighted, target, monkeypatch):
    """Features of thousands of labels less their means are nearly 0: one in a hundred of the spread was rounding."""
    rng = np.random.default_rng(3)
    n = 6000
    p = rng.dirichlet(np.ones(m), n) * 1e-3 * rng.random((n, 1))
    p[np.arange(n), rng.integers(0, m, n)] += 1 - p.sum(axis=1)
    batch, weights = kc.Categorical(p), rng.uniform(0.5, 2, n) if weighted else None
    draws = np.asarray(batch.sample(rng=4, size=40))
    kernel = (
        kc.Dirac() if target == "dirac" else kc.FiniteKernel(np.exp(-np.abs(np.subtract.outer(range(m), range(m)))))
    )
    found = []
    for single_from in (0, n * n):
        monkeypatch.setattr(features, "_SINGLE_FROM", single_from)
        forms = kc.Nystrom(50).prepare([kc.Laplacian(0.5)], batch, ClassResidual.of(batch, kernel, weights))
        found.append(forms.batch(draws).off_diagonal[:, 0])
    assert 0 < np.abs(found[0] - found[1]).max() < 2e-6 * found[1].std()


@pytest.mark.parametrize("engine", [kc.Nystrom(12), kc.RandomFourier(20)], ids=["nystrom", "fourier"])
@pytest.mark.parametrize("m", [2, 5, totals.DENSE_UP_TO + 3])
@pytest.mark.parametrize("target", ["dirac", "finite"])
@pytest.mark.parametrize("small_chunks", [False, True])
@pytest.mark.slow
def test_batches_equal_the_dense_sums_of_the_feature_kernel(
    engine, m, target, small_chunks, monkeypatch, naive, make_data
):
    if small_chunks:
        monkeypatch.setattr(features, "_CHUNK_BYTES", 2000)
        monkeypatch.setattr(features, "_KEEP_BYTES", 0)
    p, _ = make_data(60, m)
    batch, kernels = kc.Categorical(p), [kc.Laplacian(0.2), kc.Gaussian(0.7)]
    a = np.eye(m) if target == "dirac" else np.eye(m) + 0.5
    residual = ClassResidual.of(batch, kc.Dirac() if target == "dirac" else kc.FiniteKernel(a))
    labels = batch.sample(0, 4)
    sums = engine.prepare(kernels, batch, residual).batch(labels)
    phi, sizes = engine.maps(kernels, batch)
    whole = phi(slice(None))
    parts = [whole[:, : sizes[0]], whole[:, sizes[0] :]]
    for s, part in enumerate(parts):
        k = part @ part.T
        for b, y in enumerate(labels):
            assert sums.off_diagonal[b, s] == pytest.approx(naive.unbiased(k, p, y, a) * 60 * 59, rel=1e-9, abs=1e-9)
            total = sums.off_diagonal[b, s] + sums.diagonal[b, s]
            assert total == pytest.approx(naive.biased(k, p, y, a) * 3600, rel=1e-9)
    one = engine.prepare(kernels[:1], batch, residual).of(labels[2])
    assert float(one.off_diagonal) == pytest.approx(sums.off_diagonal[2, 0], rel=1e-9)


@pytest.mark.parametrize("engine", [kc.Nystrom(10), kc.RandomFourier(30)], ids=["nystrom", "fourier"])
def test_every_library_gets_the_same_number(engine, backend, make_data):
    p, y = make_data(30, 3)
    expected = float(kc.skce(y, p, prediction_kernel=kc.Laplacian(0.4), engine=engine))
    assert float(kc.skce(y, backend(p), prediction_kernel=kc.Laplacian(0.4), engine=engine)) == pytest.approx(
        expected, rel=1e-9
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kc.Nystrom(0), "landmarks must be at least 1, a whole number such as 200, got 0"),
        (lambda: kc.Nystrom(9, share=0), "share must be above 0 and at most 1, such as 0.999, got 0"),
        (lambda: kc.RandomFourier(-1), "frequencies must be at least 1, a whole number such as 256, got -1"),
        (lambda: kc.RandomFourier(2.5), "frequencies must be at least 1, a whole number such as 256, got 2.5"),
        (lambda: run(kc.kernels.PowerExponential(0.3)), "not available for PowerExponential: use kernelcal.Nystrom"),
        (lambda: run(kc.Gaussian(0.3, metric=kc.TotalVariation())), "need an L2 metric"),
        (lambda: run(kc.Laplacian(0.3) + kc.Linear()), "single profile, not Sum: use kernelcal.Nystrom"),
    ],
)
def test_what_has_no_features_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def run(kernel):
    return kc.skce([0, 1, 2], np.eye(3), prediction_kernel=kernel, engine=kc.RandomFourier(8))
