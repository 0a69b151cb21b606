"""Scans: equal to dense sums for every kernel, in every order, with ties, weights, and lengthscales of any size."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import kernelcal as kc
from kernelcal.kernels import Brownian
from kernelcal.pairs import PairMatrix, matrix, scan, tree
from kernelcal.pairs.scan import Scan, ScanForms, line_of
from kernelcal.pairs.tile_sums import FeatureTiles
from kernelcal.pairs.tree import Branch, branches_of, power_of
from kernelcal.residuals import ClassResidual


def distance(x):
    return np.abs(x[:, None] - x)


def matern(x, scale, nu):
    s = np.sqrt(2 * nu) * distance(x) / scale
    return (1 + s + (s**2 / 3 if nu == 2.5 else 0)) * np.exp(-s)


def smaller(x):
    return np.minimum(x[:, None], x)


KERNELS = {
    "Laplacian": (kc.Laplacian(0.2), lambda x: np.exp(-distance(x) / 0.2)),
    "Laplacian, narrow": (kc.Laplacian(1e-9), lambda x: np.exp(-distance(x) / 1e-9)),
    "Laplacian, wide": (kc.Laplacian(1e9), lambda x: np.exp(-distance(x) / 1e9)),
    "total variation": (kc.Laplacian(0.2, metric=kc.TotalVariation()), lambda x: np.exp(-distance(x) / 0.2)),
    "Matern32": (kc.Matern32(0.05), lambda x: matern(x, 0.05, 1.5)),
    "Matern32, narrow": (kc.Matern32(1e-7), lambda x: matern(x, 1e-7, 1.5)),
    "Matern52": (kc.Matern52(0.3), lambda x: matern(x, 0.3, 2.5)),
    "Matern52, narrow": (kc.Matern52(1e-7), lambda x: matern(x, 1e-7, 2.5)),
    "Matern52, wide": (kc.Matern52(1e7), lambda x: matern(x, 1e7, 2.5)),
    "Brownian": (Brownian(), smaller),
    "multiple": (3 * kc.Laplacian(0.5), lambda x: 3 * np.exp(-distance(x) / 0.5)),
    "sum": (
        0.5 * kc.Laplacian(0.1) + kc.Matern52(0.4) + 2 * Brownian(),
        lambda x: 0.5 * np.exp(-distance(x) / 0.1) + matern(x, 0.4, 2.5) + 2 * smaller(x),
    ),
    "product": (
        kc.Matern32(0.3) * kc.Laplacian(0.2) * Brownian(),
        lambda x: matern(x, 0.3, 1.5) * np.exp(-distance(x) / 0.2) * smaller(x),
    ),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)


def points(n, seed=0):
    """Ties, exact 0 and 1, points closer than the smallest lengthscale, in any order."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    x[: n // 4] = rng.choice(x, n // 4)
    x[n // 4 : n // 3] = rng.choice([0.0, 1.0], n // 3 - n // 4)
    x[-n // 8 :] = x[n // 2] + 1e-9 * rng.uniform(size=len(x[-n // 8 :]))
    return rng.permutation(np.clip(x, 0, 1))


def forms(kernels, x, weights=None, target=None):
    batch = kc.Bernoulli(x)
    residual = ClassResidual.of(batch, target or kc.Dirac(), weights)
    tiles = FeatureTiles((256, 1024), 1, tuple(kernels), batch, residual)
    return ScanForms(tiles, line_of(kernels, batch)), tiles


def scan_of(name, x):
    return Scan(branches_of(KERNELS[name][0]), x), KERNELS[name][1](x)


@every_kernel
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.quick_cases(9)
def test_the_value_is_that_of_all_pairs(name, weighted):
    x, rng = points(2000), np.random.default_rng(1)
    weights = rng.exponential(size=2000) if weighted else None
    y = (rng.uniform(size=2000) < x**2).astype(int)
    kernel, formula = KERNELS[name]
    r = np.sqrt(2) * (y - x) * (1 if weights is None else weights)
    h = formula(x) * r[:, None] * r
    sums = forms([kernel], x, weights)[0].of(y)
    scale = 1e-12 * np.abs(h).sum()
    assert sums.off_diagonal == pytest.approx(h.sum() - np.trace(h), rel=0, abs=scale)
    assert sums.diagonal == pytest.approx(np.trace(h), rel=1e-12)


@every_kernel
@pytest.mark.parametrize("exponent", [1, 2, 3, 4])
def test_sums_of_rows_and_of_their_powers(name, exponent):
    x = points(600)
    columns = np.random.default_rng(2).normal(size=(600, 3))
    scan, dense = scan_of(name, x)
    np.fill_diagonal(dense, 0)
    scale = 1e-12 * (dense**exponent @ np.abs(columns)) + 1e-300
    assert (np.abs(scan.apply(columns, exponent) - dense**exponent @ columns) <= scale).all()


@every_kernel
def test_triples_of_different_rows(name):
    x = points(40)
    v = np.random.default_rng(3).uniform(size=40)
    scan, dense = scan_of(name, x)
    np.fill_diagonal(dense, 0)
    naive = sum(
        dense[i, j] * dense[j, k] * dense[k, i] * v[i] * v[j] * v[k]
        for i in range(40)
        for j in range(40)
        for k in range(40)
    )
    assert scan.triples(v) == pytest.approx(naive, rel=1e-12)
    np.testing.assert_allclose(scan.diagonal, np.diag(KERNELS[name][1](x)), rtol=1e-14)


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=70), st.floats(-12, 12), st.integers(0, 2**32 - 1))
def test_any_points_and_any_lengthscale(x, exponent, seed):
    x, f = np.array(x), np.random.default_rng(seed).normal(size=(len(x), 1))
    for kernel, formula in (
        (kc.Laplacian(10**exponent), lambda x: np.exp(-distance(x) / 10**exponent)),
        (kc.Matern52(10**exponent), lambda x: matern(x, 10**exponent, 2.5)),
        (Brownian(), smaller),
    ):
        dense = formula(x)
        np.fill_diagonal(dense, 0)
        scan = Scan(branches_of(kernel), x)
        # distances themselves carry rounding, which a narrow lengthscale magnifies up to where the kernel vanishes
        scale = 1e-13 * (1 + 1e-2 / 10**exponent) * float((np.abs(f.T) @ dense @ np.abs(f))[0, 0]) + 1e-300
        assert scan.pairs(f) == pytest.approx(float((f.T @ dense @ f)[0, 0]), rel=0, abs=max(scale, 1e-15))
        np.testing.assert_allclose(scan.apply(f), dense @ f, rtol=0, atol=max(scale, 1e-14) * 10)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 500])
@pytest.mark.parametrize("width", [1, 3, 8, 2048])
def test_strands_of_any_shape(n, width, monkeypatch):
    monkeypatch.setattr(tree, "_STRANDS", width)
    x, rng = points(n, seed=n), np.random.default_rng(n)
    labels = rng.integers(0, 2, (19, n), dtype=np.uint8)
    kernels = [KERNELS[name][0] for name in ("Laplacian", "sum", "Matern32")]
    weights = rng.exponential(size=n)
    quick, plain = (one.batch(labels) for one in forms(kernels, x, weights))
    scale = 1e-12 * (weights.sum() ** 2) * 8
    np.testing.assert_allclose(quick.off_diagonal, plain.off_diagonal, rtol=0, atol=scale)
    np.testing.assert_allclose(quick.diagonal, plain.diagonal, rtol=1e-12)


@every_kernel
@pytest.mark.quick_cases(4)
def test_draws_are_those_of_tiles(name):
    x = points(2000)
    labels = kc.Bernoulli(x).sample(0, 40)
    quick, plain = (one.batch(labels) for one in forms([KERNELS[name][0], kc.Laplacian(0.3)], x))
    scale = 1e-12 * np.abs(KERNELS[name][1](x)).sum()
    np.testing.assert_allclose(quick.off_diagonal, plain.off_diagonal, rtol=1e-12, atol=scale)
    np.testing.assert_allclose(quick.diagonal, plain.diagonal, rtol=1e-12)


@pytest.mark.parametrize("draws", [1, 7, 16, 50])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_no_number_and_batches_only_rounding(draws, threads, monkeypatch):
    x = points(300)
    labels = kc.Bernoulli(x).sample(0, draws)
    reference = forms([kc.Matern32(0.2)], x)[0].batch(labels).off_diagonal
    other = forms([kc.Matern32(0.2)], x)[0]
    other.threads = threads
    np.testing.assert_array_equal(other.batch(labels).off_diagonal, reference)
    monkeypatch.setattr(scan, "_DRAWS", 4)
    np.testing.assert_allclose(other.batch(labels).off_diagonal, reference, rtol=0, atol=1e-12 * 300**2)


def test_the_target_kernel_enters():
    x = points(200)
    labels = kc.Bernoulli(x).sample(0, 3)
    target = kc.FiniteKernel([[2.0, 0.5], [0.5, 1.0]])
    quick, plain = (one.batch(labels) for one in forms([kc.Laplacian(0.2)], x, target=target))
    np.testing.assert_allclose(quick.off_diagonal, plain.off_diagonal, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("target", [kc.Dirac(), kc.FiniteKernel([[2.0, 0.5], [0.5, 1.0]])], ids=["dirac", "finite"])
@pytest.mark.parametrize("metric", [kc.Euclidean(), kc.TotalVariation()], ids=["euclidean", "total variation"])
@pytest.mark.quick_cases(3)
def test_two_classes_are_a_line(metric, target, weighted):
    x, rng = points(1200), np.random.default_rng(2)
    x = x / (x + (1 - x))  # divided by its sum, as most rows are
    p = np.stack([1 - x, x], axis=1)
    p /= p.sum(axis=1, keepdims=True)
    weights = rng.exponential(size=1200) if weighted else None
    batch = kc.Categorical(p)
    a = np.eye(2) if target == kc.Dirac() else np.array([[2.0, 0.5], [0.5, 1.0]])
    labels = np.stack([(rng.uniform(size=1200) < x).astype(int) for _ in range(3)])
    for kernel in (
        kc.Laplacian(0.2, metric=metric),
        kc.Matern32(0.3, metric=metric) + 2 * kc.Laplacian(1.0, metric=metric),
    ):
        engine = kc.ExactPairs()
        found = engine.prepare([kernel], batch, ClassResidual.of(batch, target, weights))
        assert found.label == "exact scan"
        differences = p[:, None] - p
        d = np.sqrt((differences**2).sum(-1)) if metric == kc.Euclidean() else np.abs(differences).sum(-1) / 2
        s = np.sqrt(3) * d / 0.3
        values = np.exp(-d / 0.2) if isinstance(kernel, kc.Laplacian) else (1 + s) * np.exp(-s) + 2 * np.exp(-d)
        sums = found.batch(labels)
        for k, y in enumerate(labels):
            r = (np.eye(2)[y] - p) * (1 if weights is None else weights[:, None])
            h = values * (r @ a @ r.T)
            scale = 1e-12 * np.abs(h).sum()
            assert sums.off_diagonal[k, 0] == pytest.approx(h.sum() - np.trace(h), rel=0, abs=scale)
            assert sums.diagonal[k, 0] == pytest.approx(np.trace(h), rel=1e-11)
            one = found.of(y)
            assert one.off_diagonal == pytest.approx(sums.off_diagonal[k, 0], rel=0, abs=scale)


@pytest.mark.parametrize("target", [kc.Dirac(), kc.FiniteKernel([[2.0, 0.5], [0.5, 1.0]])], ids=["dirac", "finite"])
def test_rows_of_two_classes_are_summed_without_a_walk_over_pairs(target, monkeypatch):
    monkeypatch.setattr(matrix, "KEPT_UP_TO", 100)
    monkeypatch.setattr(PairMatrix, "_of_pairs", None)  # nobody calls it
    x = points(1200)
    p, y = np.stack([1 - x, x], axis=1), kc.Bernoulli(x).sample(5, 1)[0]
    found = kc.SKCE(prediction_kernel=kc.Matern52(0.2), target_kernel=target).prepare(kc.Categorical(p)).matrix(y)
    assert not found.by_pairs
    s = np.sqrt(5) * np.sqrt(2) * np.abs(x[:, None] - x) / 0.2
    a = np.eye(2) if target == kc.Dirac() else np.array([[2.0, 0.5], [0.5, 1.0]])
    r = np.eye(2)[y] - p
    h = (1 + s + s**2 / 3) * np.exp(-s) * (r @ a @ r.T)
    np.testing.assert_allclose(found.diagonal, np.diag(h), rtol=1e-12)
    np.testing.assert_allclose(found.row_sums, h.sum(axis=1), rtol=0, atol=1e-12 * np.abs(h).sum(axis=1).max())
    np.testing.assert_allclose(found.row_squares, (h**2).sum(axis=1) - np.diag(h) ** 2, rtol=1e-10)
    assert found.square_sum == pytest.approx((h**2).sum() - (np.diag(h) ** 2).sum(), rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["saddlepoint", "exact"])
def test_two_classes_have_the_pvalue_of_tiles(law, without_scan):
    x = points(1100)
    y = (np.random.default_rng(4).uniform(size=1100) < 0.1 + 0.85 * x).astype(int)
    p = np.stack([1 - x, x], axis=1)
    options = {"statistic": "skce", "null": law, **({"draws": 99} if law == "exact" else {})}
    found, interval = kc.calibration_test(y, p, **options), kc.confidence_interval(y, p, draws=99)
    without_scan()
    assert found.pvalue == pytest.approx(kc.calibration_test(y, p, **options).pvalue, rel=1e-6)
    assert interval.upper == pytest.approx(kc.confidence_interval(y, p, draws=99).upper, rel=1e-9)


@pytest.fixture
def without_scan(monkeypatch):
    """A function that makes the tiles do the work."""
    return lambda: monkeypatch.setattr(scan, "_FROM", 10**9)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("statistic", ["default", "skce", kc.MMCE()], ids=["default", "skce", "mmce"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_exact_test_gives_the_same_pvalue(statistic, weighted, without_scan):
    rng = np.random.default_rng(4)
    x = points(1500)
    y = (rng.uniform(size=1500) < 0.1 + 0.85 * x).astype(int)
    options = {"statistic": statistic, "early_stopping": False, "draws": 199}
    options["weights"] = rng.uniform(0.5, 2, 1500) if weighted else None
    found = kc.calibration_test(y, x, **options)
    assert found.engine == "exact scan"
    without_scan()
    tiles = kc.calibration_test(y, x, **options)
    assert tiles.engine == "exact pairs"
    assert found.pvalue == tiles.pvalue
    for one, other in zip(found.members, tiles.members, strict=True):
        assert (one.name, one.pvalue) == (other.name, other.pvalue)
        assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "weighted"),
    [
        *((name, True) for name in ("Laplacian", "Matern52", "Brownian", "sum")),
        ("Laplacian", False),
        *(pytest.param(name, False, marks=pytest.mark.slow) for name in ("Matern52", "Brownian", "sum")),
    ],
)
def test_moments_of_the_known_null(name, weighted):
    from kernelcal.inference.laws.null_moments import known_null

    x = points(1600)
    w = np.random.default_rng(5).uniform(0.5, 2, 1600) if weighted else np.ones(1600)
    prepared = kc.SKCE(prediction_kernel=KERNELS[name][0]).prepare(kc.Bernoulli(x), w if weighted else None)
    null = known_null(prepared)
    k = KERNELS[name][1](x)
    np.fill_diagonal(k, 0)
    v = 2 * w**2 * x * (1 - x)
    m = k * np.sqrt(v)[:, None] * np.sqrt(v)
    third, fourth = 2**1.5 * w**3 * x * (1 - x) * (1 - 2 * x), 4 * w**4 * x * (1 - x) * (1 - 3 * x * (1 - x))
    variance = 2 * (m**2).sum()
    assert null.exact
    assert null.variance == pytest.approx(variance, rel=1e-11)
    assert null.third == pytest.approx(8 * np.trace(m @ m @ m) + 4 * third @ k**3 @ third, rel=1e-11)
    assert null.lumps == pytest.approx(8 * fourth @ k**4 @ fourth / variance**2, rel=1e-11)
    largest = np.linalg.eigvalsh(m)[-1]
    assert null.law.weights.max() == pytest.approx(largest, rel=1e-4)


@pytest.mark.slow
def test_moments_of_the_known_null_are_those_of_draws():
    from kernelcal.inference.laws.null_moments import known_null

    x = points(2000)
    prepared = kc.SKCE(prediction_kernel=kc.Laplacian(0.2)).prepare(kc.Bernoulli(x))
    null = known_null(prepared)
    drawn = prepared.forms.batch(kc.Bernoulli(x).sample(7, 5_000)).off_diagonal[:, 0]
    assert drawn.var() == pytest.approx(null.variance, rel=0.15)
    assert ((drawn - drawn.mean()) ** 3).mean() == pytest.approx(null.third, rel=0.5)


@pytest.mark.slow
def test_the_law_is_that_of_the_whole_spectrum(monkeypatch):
    module = sys.modules["kernelcal.inference.laws.null_moments"]
    prepared = kc.SKCE(prediction_kernel=kc.Laplacian(0.2)).prepare(kc.Bernoulli(points(1600)))
    quick = module.known_null(prepared)
    monkeypatch.setattr(module, "_DENSE_UP_TO", 1600)
    whole = module.known_null(prepared)
    for deviations in (0.5, 2, 5):
        point = deviations * whole.variance**0.5
        assert quick.law.tail(point) == pytest.approx(whole.law.tail(point), rel=5e-3)


def test_the_interval_is_that_of_tiles(without_scan):
    x, rng = points(2500), np.random.default_rng(6)
    y = (rng.uniform(size=2500) < x**2).astype(int)
    found = kc.confidence_interval(y, x, method="root", pvalue=0.01)
    without_scan()
    tiles = kc.confidence_interval(y, x, method="root", pvalue=0.01)
    for end in ("estimate", "lower", "upper"):
        assert getattr(found, end) == pytest.approx(getattr(tiles, end), rel=1e-10)


@pytest.mark.parametrize("lens", [kc.TopLabel(), kc.OneClass(1), kc.ClassWise()], ids=str)
def test_lenses_scan(lens):
    p = np.random.default_rng(7).dirichlet(np.ones(3), 1200)
    y = kc.Categorical(p).sample(8)[0]
    assert kc.calibration_test(y, p, lens=lens, draws=19).engine == "exact scan"


def test_the_way_is_chosen_by_rows_kernel_and_library():
    x = points(1200)

    def label(x, y, **options):
        return kc.skce(y, x, **options).engine

    y = kc.Bernoulli(x).sample(0)[0]
    assert label(x, y) == "exact scan"
    assert label(x[:900], y[:900]) == "exact pairs"
    assert label(x, y, prediction_kernel=kc.Gaussian(0.2)) == "exact pairs"
    assert label(x, y, prediction_kernel=kc.Laplacian(0.2, metric=kc.Hellinger())) == "exact pairs"
    two = np.stack([1 - x, x], axis=1)
    assert label(two, y) == "exact scan"
    assert label(two, y, prediction_kernel=kc.Laplacian(0.2, metric=kc.Hellinger())) == "exact pairs"
    assert label(two.astype(np.float32), y) == "exact pairs"
    assert label(two + np.array([1e-7, 0]), y) == "exact pairs"  # within what is tolerated, and no line
    assert label(np.stack([1 - x, x / 2, x / 2], axis=1), y) == "exact pairs"
    torch = pytest.importorskip("torch")
    assert label(torch.tensor(x), y) == "exact pairs"


def test_blocks_of_rows_scan():
    x = points(3000)
    y = kc.Bernoulli(x).sample(0)[0]
    options = {"estimator": "block", "block_size": 1500, "prediction_kernel": kc.Laplacian(0.2)}
    whole = kc.skce(y, x, **options)
    halves = [
        float(kc.skce(y[part], x[part], prediction_kernel=kc.Laplacian(0.2)))
        for part in (slice(1500), slice(1500, None))
    ]
    assert whole.engine == "blocks of 1,500 rows, exact scan"
    assert float(whole) == pytest.approx(np.mean(halves), rel=1e-12)


def test_float32_is_seen_in_float64():
    x = points(1500).astype(np.float32)
    y = kc.Bernoulli(x).sample(0)[0]
    single = float(kc.skce(y, x, prediction_kernel=kc.Laplacian(0.2)))
    assert single == pytest.approx(
        float(kc.skce(y, x.astype(np.float64), prediction_kernel=kc.Laplacian(0.2))), abs=1e-9
    )


def test_rows_of_the_kernel():
    x = points(1100)
    quick = forms([kc.Laplacian(0.2), kc.Laplacian(0.5)], x)[0]
    np.testing.assert_allclose(
        quick.kernel_rows(slice(5, 9), slice(3, 70)), np.exp(-distance(x) / 0.2)[5:9, 3:70], rtol=1e-13
    )


def test_products_of_branches():
    first, second = Branch(0, 3.0, (1.0, 1.0)), Branch(1, 5.0, (2.0, 0.0, 1.0))
    t = np.linspace(0, 2, 9)
    np.testing.assert_allclose((first * second).values(t), first.values(t) * second.values(t), rtol=1e-14)
    assert (first * second).power == 1
    cube = power_of((first, second), 3)
    expected = (first.values(t) + 0.3 * second.values(t)) ** 3  # at x = 0.3
    np.testing.assert_allclose(sum(0.3**b.power * b.values(t) for b in cube), expected, rtol=1e-13)


def test_the_cumulative_differences_are_the_brownian_kernel():
    """Integral of the squared cumulative difference, as a sum over the steps between sorted probabilities."""
    x, rng = points(400), np.random.default_rng(9)
    y = (rng.uniform(size=400) < 0.8 * x).astype(int)
    order = np.argsort(x)
    remaining = np.cumsum((y - x)[order][::-1])[::-1] / 400
    integral = 2 * float((remaining**2 * np.diff(x[order], prepend=0)).sum())
    found = kc.skce(y, x, prediction_kernel=Brownian(), estimator="biased")
    assert float(found) == pytest.approx(integral, rel=1e-12)


def test_brownian_refuses_several_probabilities():
    with pytest.raises(kc.errors.InputError, match="Brownian compares points of one number, here they have 3"):
        kc.skce([0, 1], [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], prediction_kernel=Brownian())
    with pytest.raises(kc.errors.InputError, match="Brownian is a kernel between probabilities"):
        kc.skce([0.1, 0.2], kc.Samples([[0.1, 0.9], [0.3, 0.2]]), target_kernel=Brownian())


@pytest.mark.parametrize("draws", [1, 5])
def test_scores_of_one_probability_are_those_of_two_classes(draws):
    from kernelcal.statistics.signals.classes import ClassSignals, PreparedClassSignals

    x, rng = points(500), np.random.default_rng(10)
    labels = rng.integers(0, 2, (draws, 500))
    for weights in (None, rng.exponential(size=500)):
        quick = ClassSignals().prepare(kc.Bernoulli(x), weights)
        plain = PreparedClassSignals(kc.Categorical(np.stack([1 - x, x], axis=1)), weights)
        np.testing.assert_allclose(quick.values(labels), plain.values(labels), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(quick.counts(labels), plain.counts(labels), rtol=1e-12)


def test_labels_of_one_probability_are_drawn_as_of_two_classes():
    x = points(500)
    u = np.random.default_rng(11).uniform(size=(20, 500))
    u[0], u[1] = 1 - x, np.nextafter(1 - x, 0)
    for p in (x, x.astype(np.float32)):
        two = replace(kc.Categorical([[0.5, 0.5]]), probs=np.stack([1 - p, p], axis=1))
        np.testing.assert_array_equal(
            kc.Bernoulli(p).draw(np.clip(u, 0, 1 - 1e-16)), two.draw(np.clip(u, 0, 1 - 1e-16))
        )
