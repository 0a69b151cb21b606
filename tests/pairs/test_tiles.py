"""Tiles equal a dense implementation for every kernel, metric, library, tile size and thread count."""

from dataclasses import replace

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.pairs import tile_sums as same_label, tiles
from kernelcal.residuals import ClassResidual

PROFILES = {
    "Laplacian": (kc.Laplacian(0.4), lambda d: np.exp(-d / 0.4)),
    "Gaussian": (kc.Gaussian(0.4), lambda d: np.exp(-(d**2) / 0.32)),
    "PowerExponential": (kc.kernels.PowerExponential(0.4, power=0.7), lambda d: np.exp(-((d / 0.4) ** 0.7))),
    "Matern32": (kc.Matern32(0.4), lambda d: (1 + np.sqrt(3) * d / 0.4) * np.exp(-np.sqrt(3) * d / 0.4)),
    "Matern52": (
        kc.Matern52(0.4),
        lambda d: (1 + np.sqrt(5) * d / 0.4 + 5 * d**2 / (3 * 0.16)) * np.exp(-np.sqrt(5) * d / 0.4),
    ),
    "InverseMultiquadric": (kc.InverseMultiquadric(0.4), lambda d: (1 + d**2 / 0.16) ** -0.5),
    "RationalQuadratic": (kc.kernels.RationalQuadratic(0.4), lambda d: (1 + d**2 / 0.32) ** -1.0),
}
METRICS = {"Euclidean": kc.Euclidean(), "TotalVariation": kc.TotalVariation(), "Hellinger": kc.Hellinger()}
TARGETS = {"dirac": (kc.Dirac(), None), "finite": (kc.FiniteKernel(np.eye(4) + 0.3), np.eye(4) + 0.3)}
pytestmark = pytest.mark.filterwarnings("ignore:.*not known to be positive definite:kernelcal.errors.KernelcalWarning")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.quick_cases(42)
def test_every_kernel_metric_and_library(profile, metric, estimator, backend, naive, make_data):
    p, y = make_data(45, 4)
    kernel, formula = PROFILES[profile]
    k = formula(naive.distance(p, metric))
    for target, matrix in TARGETS.values():
        expected = getattr(naive, estimator)(k, p, y, matrix)
        value = kc.skce(
            y,
            backend(p),
            prediction_kernel=replace(kernel, metric=METRICS[metric]),
            target_kernel=target,
            estimator=estimator,
            engine=kc.ExactPairs(rows=16, columns=20),
        )
        # a close pair 1e-9 apart: roots magnify its rounding, and Hellinger's once more
        assert float(value) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (kc.Linear(), lambda p, d: p @ p.T),
        (kc.Dirac(), lambda p, d: (d == 0) * 1.0),
        (
            2 * kc.Laplacian(0.3) + kc.Linear() * kc.Gaussian(1.0),
            lambda p, d: 2 * np.exp(-d / 0.3) + p @ p.T * np.exp(-(d**2) / 2),
        ),
        (
            kc.Laplacian(0.3) * kc.Matern32(0.5),
            lambda p, d: np.exp(-d / 0.3) * (1 + np.sqrt(3) * d / 0.5) * np.exp(-np.sqrt(3) * d / 0.5),
        ),
    ],
    ids=["linear", "dirac", "sum", "product"],
)
def test_algebra_in_every_library(kernel, formula, backend, naive, make_data):
    p, y = make_data(40, 4)
    k = formula(p, naive.distance(p, "Euclidean"))
    for estimator in ("unbiased", "biased"):
        value = float(kc.skce(y, backend(p), prediction_kernel=kernel, estimator=estimator))
        assert value == pytest.approx(getattr(naive, estimator)(k, p, y), rel=1e-12)


@pytest.mark.parametrize("rows", [1, 7, 64, 1000])
@pytest.mark.parametrize("columns", [1, 13, 1000])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_tiles_and_threads_change_nothing(rows, columns, threads, naive, make_data):
    if rows * columns < 10 and threads == 5:
        pytest.skip("tiny tiles are slow and tested with fewer threads")
    p, y = make_data(70, 4)
    expected = naive.unbiased(np.exp(-naive.distance(p, "Euclidean") / 0.4), p, y)
    engine = kc.ExactPairs(rows=rows, columns=columns, threads=threads)
    value = float(kc.skce(y, p, prediction_kernel=kc.Laplacian(0.4), engine=engine))
    assert value == pytest.approx(expected, rel=1e-12)
    serial = replace(engine, threads=1)
    assert value == float(kc.skce(y, p, prediction_kernel=kc.Laplacian(0.4), engine=serial))


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("rows", [3, 17, 300])
@pytest.mark.parametrize("columns", [5, 300])
def test_many_classes_share_one_gram_product(rows, columns, naive, make_data):
    p, y = make_data(60, tiles.WIDE_FROM + 5)
    for metric in METRICS:
        k = np.exp(-naive.distance(p, metric) / 0.4)
        kernel = kc.Laplacian(0.4, metric=METRICS[metric])
        value = float(kc.skce(y, p, prediction_kernel=kernel, engine=kc.ExactPairs(rows=rows, columns=columns)))
        assert value == pytest.approx(naive.unbiased(k, p, y), rel=1e-12)


def test_bernoulli_is_two_classes_at_another_scale(backend, naive, make_data):
    p, y = make_data(50, 2)
    k = np.exp(-naive.distance(p, "Euclidean") / 0.4)
    value = float(kc.skce(y, backend(p[:, 1]), prediction_kernel=kc.Laplacian(0.4 / np.sqrt(2))))
    assert value == pytest.approx(naive.unbiased(k, p, y), rel=1e-12)


def test_read_only_arrays_are_not_written(make_data):
    p, y = make_data(30, 3)
    p.setflags(write=False)
    y.setflags(write=False)
    before = p.copy()
    kc.skce(y, p)
    kc.calibration_test(y, p, draws=19)
    np.testing.assert_array_equal(p, before)


def forms(kernels, p, engine=None, target=None):
    batch = kc.Categorical(p)
    residual = ClassResidual.of(batch, target or kc.Dirac())
    return (engine or kc.ExactPairs(rows=16, columns=24)).prepare(kernels, batch, residual)


@pytest.mark.slow
@pytest.mark.parametrize("m", [2, 4, 60])
def test_batches_of_labels_equal_one_by_one(m, naive, make_data):
    p, _ = make_data(50, m)
    labels = np.random.default_rng(1).integers(0, m, (6, 50))
    kernels = [kc.Laplacian(0.1), kc.Laplacian(1.0), kc.Gaussian(0.5)]
    d = naive.distance(p, "Euclidean")
    grams = [np.exp(-d / 0.1), np.exp(-d), np.exp(-(d**2) / 0.5)]
    sums = forms(kernels, p).batch(labels)
    for b, y in enumerate(labels):
        for s, k in enumerate(grams):
            off = naive.unbiased(k, p, y) * 50 * 49
            assert sums.off_diagonal[b, s] == pytest.approx(off, rel=1e-11, abs=1e-11)
            assert sums.off_diagonal[b, s] + sums.diagonal[b, s] == pytest.approx(
                naive.biased(k, p, y) * 2500, rel=1e-11
            )


@pytest.mark.parametrize("at_once", [1, 5, 10**6])
def test_same_label_trick_equals_the_product(at_once, monkeypatch, make_data):
    monkeypatch.setattr(same_label, "_PAIRS_AT_ONCE", at_once)
    p, _ = make_data(80, 60)
    batch, kernels = kc.Categorical(p), [kc.Laplacian(0.1), kc.Laplacian(1.0)]
    labels = batch.sample(0, 8)
    assert forms(kernels, p)._same_label is not None
    quick = forms(kernels, p).batch(labels)
    monkeypatch.setattr(same_label, "_BUDGET", 0)
    plain = forms(kernels, p).batch(labels)
    np.testing.assert_allclose(quick.off_diagonal, plain.off_diagonal, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(quick.diagonal, plain.diagonal, rtol=1e-12)
    one = forms(kernels, p)._same_label
    assert one is None


def test_the_target_kernel_enters_batches(naive, make_data):
    p, _ = make_data(40, 4)
    a = np.eye(4) + 0.3
    labels = np.random.default_rng(1).integers(0, 4, (3, 40))
    sums = forms([kc.Laplacian(0.3)], p, target=kc.FiniteKernel(a)).batch(labels)
    k = np.exp(-naive.distance(p, "Euclidean") / 0.3)
    for b, y in enumerate(labels):
        assert sums.off_diagonal[b, 0] == pytest.approx(naive.unbiased(k, p, y, a) * 40 * 39, rel=1e-11)


def test_float32_accumulates_in_float64(naive, make_data):
    p, y = make_data(600, 5, duplicates=False)
    single = p.astype(np.float32)
    exact = naive_fast(single.astype(np.float64), y)
    assert float(kc.skce(y, single, prediction_kernel=kc.Laplacian(0.4))) == pytest.approx(exact, abs=3e-8)


def naive_fast(p, y):
    d = np.sqrt(((p[:, None] - p[None]) ** 2).sum(-1))
    r = np.eye(p.shape[1])[y] - p
    h = np.exp(-d / 0.4) * (r @ r.T)
    return (h.sum() - np.trace(h)) / (len(p) * (len(p) - 1))


def test_no_n_by_n_array_is_made():
    import tracemalloc

    p = np.random.default_rng(0).dirichlet(np.ones(4), 6000)
    y = np.zeros(6000, int)
    tracemalloc.start()
    kc.skce(y, p, prediction_kernel=kc.Laplacian(0.4))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 6000**2


def test_a_tile_has_rows_and_columns():
    with pytest.raises(kc.errors.InputError, match="at least one row and column, got 0 x 5"):
        kc.ExactPairs(rows=0, columns=5)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("rows", "columns", "threads"), [(5, 64, 2), (64, 9, 3), (1000, 1000, 1)])
def test_every_kernel_and_metric_in_other_tiles(profile, metric, rows, columns, threads, naive, make_data):
    p, y = make_data(45, 4)
    kernel, formula = PROFILES[profile]
    expected = naive.unbiased(formula(naive.distance(p, metric)), p, y)
    engine = kc.ExactPairs(rows=rows, columns=columns, threads=threads)
    value = kc.skce(y, p, prediction_kernel=replace(kernel, metric=METRICS[metric]), engine=engine)
    assert float(value) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def ready_for(name):
    """Predictions of one way to sum over pairs, with the label of its engine."""
    rng = np.random.default_rng(3)
    probabilities, x = rng.dirichlet(np.ones(3), 1200), rng.normal(size=60)
    return {
        "tiles": (kc.Categorical(probabilities[:70]), "exact pairs"),
        "single precision": (kc.Categorical(probabilities[:70].astype(np.float32)), "exact pairs"),
        "unique rows": (kc.Categorical(np.repeat(probabilities[:12], 10, axis=0)), "unique predictions"),
        "scan": (kc.Bernoulli(probabilities[:, 0]), "exact scan"),
        "inner products": (kc.Normal(x, np.exp(x)), "exact pairs"),
    }[name]


@pytest.mark.parametrize("name", ["tiles", "single precision", "unique rows", "scan", "inner products"])
def test_other_kernels_share_what_is_found_and_change_no_sum(name):
    batch, label = ready_for(name)
    ready = kc.SKCE(prediction_kernel=kc.Laplacian(0.4)).prepare(batch)
    targets = batch.sample(0, 6)
    ready.estimate(targets[0])
    kernels = [kc.Laplacian(0.1), kc.Laplacian(1.0)]
    again = ready.statistic.engine.again(ready.forms, kernels)
    anew = ready.statistic.engine.prepare(kernels, batch, ready.residual)
    assert again.label == anew.label
    assert label in again.label
    for found, expected in zip(vars(again.batch(targets)).values(), vars(anew.batch(targets)).values(), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert getattr(again, "tiles", again).found is getattr(ready.forms, "tiles", ready.forms).found


def test_equal_rows_are_looked_for_once(monkeypatch):
    batch, _ = ready_for("unique rows")
    ready = kc.SKCE(prediction_kernel=kc.Laplacian(0.4)).prepare(batch)
    monkeypatch.setattr("kernelcal.pairs.duplicates._codes", None)  # would be called to look for them
    again = ready.statistic.engine.again(ready.forms, [kc.Gaussian(0.2)])
    assert again.groups is ready.forms.groups


@pytest.mark.parametrize(
    ("told", "rows"), [("1024K\n", 192), ("2048K\n", 256), ("512K\n", 128), ("32M", 192), (None, 192)]
)
def test_a_tile_is_as_large_as_the_cache_allows(told, rows, tmp_path, monkeypatch):
    from kernelcal.pairs import engines

    file = tmp_path / "size"
    if told is not None:
        file.write_text(told)
    monkeypatch.setattr(engines, "_CACHE", str(file))
    engines.tile_shape.cache_clear()
    try:
        assert engines.tile_shape() == (rows, 512)
        batch = ready_for("tiles")[0]
        forms = kc.ExactPairs(columns=100).prepare([kc.Laplacian(0.3)], batch, ClassResidual.of(batch, kc.Dirac()))
        assert forms.shape == (rows, 100)
    finally:
        engines.tile_shape.cache_clear()


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_rows_of_many_rows_are_those_of_the_dense_matrix(weighted, make_data, monkeypatch):
    p, y = make_data(301, 4)
    weights = np.random.default_rng(1).exponential(size=301) if weighted else None
    monkeypatch.setattr("kernelcal.pairs.matrix.KEPT_UP_TO", 0)
    monkeypatch.setattr("kernelcal.pairs.matrix._STRIP", 301 * 20)  # strips of 20 rows, and one of a single row
    monkeypatch.setattr("kernelcal.pairs.matrix._COLUMNS", 64)
    matrix = kc.SKCE(prediction_kernel=kc.Laplacian(0.4)).prepare(kc.Categorical(p), weights).matrix(y)
    r = (np.eye(4)[y] - p) * (1 if weights is None else weights[:, None])
    h = np.exp(-np.sqrt(((p[:, None] - p) ** 2).sum(axis=2)) / 0.4) * (r @ r.T)
    own = np.diag(h)
    np.testing.assert_allclose(matrix.diagonal, own, rtol=1e-12)
    np.testing.assert_allclose(matrix.row_sums, h.sum(axis=1), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(matrix.row_squares, (h**2).sum(axis=1) - own**2, rtol=1e-10)


def test_the_matrix_of_the_same_targets_is_made_once():
    batch, _ = ready_for("tiles")
    ready, targets = kc.SKCE(prediction_kernel=kc.Laplacian(0.4)).prepare(batch), batch.sample(0, 2)
    first = ready.matrix(targets[0])
    other = targets[1]
    kept = targets[0].copy()
    matrix = ready.matrix(kept)
    assert ready.matrix(kept) is matrix
    assert matrix is not first
    np.testing.assert_array_equal(matrix.row_sums, first.row_sums)
    assert not np.array_equal(ready.matrix(other).row_sums, first.row_sums)
