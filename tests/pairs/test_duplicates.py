"""Repeated predictions: the same sums from one row for all that are equal."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import kernelcal as kc
from kernelcal.pairs import PairMatrix, duplicates, matrix, scan
from kernelcal.pairs.duplicates import CollapsedForms, groups_of
from kernelcal.pairs.tile_sums import FeatureTiles
from kernelcal.residuals import ClassResidual

KERNELS = (kc.Laplacian(0.3), kc.Gaussian(0.5), 2 * kc.Linear() + kc.Dirac())


def repeated(n, u, m, seed=0):
    """Predictions of n rows, u of them different, among them certain ones; m = 1 stands for one probability."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(max(m, 2)), u)
    p[0] = np.eye(max(m, 2))[0]
    p = p[np.r_[np.arange(u), rng.integers(u, size=n - u)]][rng.permutation(n)]
    return kc.Bernoulli(p[:, 1]) if m == 1 else kc.Categorical(p)


def forms(batch, weights=None, target=None):
    residual = ClassResidual.of(batch, target or kc.Dirac(), weights)
    tiles = FeatureTiles((256, 1024), 1, KERNELS, batch, residual)
    found = CollapsedForms.of_repeated(tiles)
    assert found is not None
    return found, tiles


@pytest.fixture
def never(monkeypatch):
    """A function after which nothing is collapsed or scanned."""

    def leave():
        monkeypatch.setattr(duplicates, "_REPEATED", 10**9)
        monkeypatch.setattr(scan, "_FROM", 10**9)

    return leave


@pytest.mark.parametrize("m", [1, 2, 3, 20])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("target", ["dirac", "finite"])
def test_sums_are_those_of_all_rows(m, weighted, target):
    batch, rng = repeated(300, 11, m), np.random.default_rng(1)
    labels = rng.integers(0, max(m, 2), (9, 300))
    weights = rng.exponential(size=300) if weighted else None
    kernel = kc.FiniteKernel(np.eye(max(m, 2)) + 0.3) if target == "finite" else None
    quick, plain = forms(batch, weights, kernel)
    assert quick.label == "exact pairs of 11 unique predictions"
    scale = 1e-12 * np.abs(plain.batch(labels).off_diagonal).max()
    for sums, expected in (
        (quick.batch(labels), plain.batch(labels)),
        (quick.of(labels[3]), plain.of(labels[3])),
    ):
        np.testing.assert_allclose(sums.off_diagonal, expected.off_diagonal, rtol=1e-12, atol=scale)
        np.testing.assert_allclose(sums.diagonal, expected.diagonal, rtol=1e-12)


@pytest.mark.parametrize("u", [1, 2, 30])
def test_products_are_those_of_all_rows(u):
    batch = repeated(150, u, 1)
    quick, plain = forms(batch)
    k = plain.kernel_rows(slice(None))
    np.testing.assert_array_equal(quick.kernel_rows(slice(3, 8)), k[3:8])
    np.testing.assert_allclose(quick.products.diagonal, np.diag(k), rtol=1e-14)
    np.fill_diagonal(k, 0)
    rng = np.random.default_rng(2)
    columns, v = rng.normal(size=(150, 3)), rng.uniform(size=150)
    for exponent in (1, 2, 4):
        np.testing.assert_allclose(quick.products.apply(columns, exponent), k**exponent @ columns, rtol=0, atol=1e-11)
    m = k * np.sqrt(v)[:, None] * np.sqrt(v)
    assert quick.products.triples(v) == pytest.approx(np.trace(m @ m @ m), rel=1e-12)


def test_powers_of_a_kernel_that_is_not_one_on_the_diagonal():
    batch = repeated(60, 5, 1)
    tiles = FeatureTiles((256, 1024), 1, (kc.kernels.Brownian(),), batch, ClassResidual.of(batch, kc.Dirac()))
    k, columns = np.minimum(batch.p[:, None], batch.p), np.random.default_rng(1).normal(size=(60, 2))
    np.fill_diagonal(k, 0)
    for exponent in (1, 2, 3):
        found = CollapsedForms.of_repeated(tiles).products.apply(columns, exponent)
        np.testing.assert_allclose(found, k**exponent @ columns, rtol=0, atol=1e-13)


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("statistic", ["default", "skce"])
def test_the_exact_test_gives_the_same_pvalue(m, statistic, never):
    batch = repeated(800, 40, m)
    y = repeated(800, 40, m, seed=3).sample(4)[0]
    options = {"statistic": statistic, "early_stopping": False, "draws": 99}
    found = kc.calibration_test(y, batch, **options)
    assert found.engine == "exact pairs of 40 unique predictions"
    never()
    rows = kc.calibration_test(y, batch, **options)
    assert rows.engine in ("exact pairs", "exact pairs of equal labels")
    assert found.pvalue == rows.pvalue
    assert [member.pvalue for member in found.members] == [member.pvalue for member in rows.members]


@pytest.mark.slow
def test_saddlepoint_and_interval_are_those_of_all_rows(never):
    batch = repeated(3000, 25, 1)
    y = (np.random.default_rng(5).uniform(size=3000) < 0.9 * batch.p + 0.05).astype(int)
    statistic = kc.SKCE(prediction_kernel=kc.Gaussian(0.2))

    def results():
        test = kc.calibration_test(y, batch, statistic=statistic, null="saddlepoint")
        return test, kc.confidence_interval(y, batch, statistic=statistic, method="root", pvalue=0.01)

    test, interval = results()
    assert test.engine == "exact pairs of 25 unique predictions"
    never()
    plain, other = results()
    assert np.log(test.pvalue) == pytest.approx(np.log(plain.pvalue), rel=1e-2)
    for end in ("estimate", "lower", "upper"):
        assert getattr(interval, end) == pytest.approx(getattr(other, end), rel=1e-9)


@given(st.integers(1, 6), st.integers(1, 60), st.integers(1, 5), st.booleans(), st.integers(0, 2**32 - 1))
def test_groups_are_rows_with_equal_predictions(u, n, m, single, seed):
    batch = repeated(max(n, u), u, m, seed)
    if single:
        batch = batch.map_arrays(lambda x: x.astype(np.float32))
    p = batch.probabilities
    groups, unique = groups_of(batch), np.unique(p, axis=0)
    if 4 * len(unique) > len(p):
        assert groups is None
        return
    assert len(groups) == len(unique)
    np.testing.assert_array_equal(p[groups.first][groups.member], p)


def test_zeros_of_both_signs_are_equal():
    p = np.tile([[0.0, 1.0], [-0.0, 1.0]], (10, 1))
    assert len(groups_of(kc.Categorical(p))) == 1


def test_many_rows_are_sampled_first(monkeypatch):
    n = 40_000
    few, many = repeated(n, 9_000, 3), kc.Categorical(np.random.default_rng(6).dirichlet(np.ones(3), n))
    asked = []
    codes = duplicates._codes
    monkeypatch.setattr(duplicates, "_codes", lambda batch: asked.append(len(batch)) or codes(batch))
    assert len(groups_of(few)) == 9_000
    assert groups_of(many) is None
    assert asked[1] == n
    assert max(asked[0], asked[2]) <= 5_000


def test_equal_codes_of_different_predictions_are_not_joined(monkeypatch):
    batch = repeated(100, 5, 3)
    monkeypatch.setattr(duplicates, "_codes", lambda batch: np.zeros(len(batch), dtype=np.uint64))
    assert groups_of(batch) is None


def test_what_is_not_collapsed():
    rng = np.random.default_rng(7)
    p = rng.dirichlet(np.ones(3), 30)
    y = rng.integers(0, 3, 120)
    assert kc.skce(y, np.repeat(p, 4, axis=0)).engine == "exact pairs of 30 unique predictions"
    assert kc.skce(y[:119], np.repeat(p, 4, axis=0)[:119]).engine == "exact pairs"
    assert kc.skce(y, np.tile(p[:1], (120, 1))).engine == "exact pairs of 1 unique prediction"
    torch = pytest.importorskip("torch")
    assert kc.skce(y, torch.tensor(np.repeat(p, 4, axis=0))).engine == "exact pairs"
    repeated_normal = kc.Normal(np.zeros(40), np.ones(40))
    assert kc.skce(rng.normal(size=40), repeated_normal).engine == "exact pairs"


def test_residuals_of_groups_have_no_rows():
    quick, _ = forms(repeated(100, 5, 3))
    with pytest.raises(kc.errors.InputError, match="added up for all rows at once"):
        quick.residual[:3]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [1, 3, 20])
def test_rows_are_summed_without_a_walk_over_pairs(m, weighted, monkeypatch):
    monkeypatch.setattr(matrix, "KEPT_UP_TO", 100)
    monkeypatch.setattr(matrix, "_AT_ONCE", 5000)  # some products of features at a time
    monkeypatch.setattr(PairMatrix, "_of_pairs", None)
    batch = repeated(900, 12, m, seed=4)
    weights = np.random.default_rng(1).exponential(size=900) if weighted else None
    y, p = batch.sample(2, 1)[0], batch.table()
    target = kc.FiniteKernel([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.5]]) if m == 3 else kc.Dirac()
    a = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.5]]) if m == 3 else np.eye(p.shape[1])
    estimator = kc.SKCE(prediction_kernel=kc.Laplacian(0.3, metric=kc.TotalVariation()), target_kernel=target)
    found = estimator.prepare(batch, weights=weights).matrix(y)
    assert isinstance(found.forms, CollapsedForms)
    assert not found.by_pairs
    r = (np.eye(p.shape[1])[y] - p) * (1 if weights is None else weights[:, None])
    h = np.exp(-np.abs(p[:, None] - p).sum(axis=-1) / 2 / 0.3) * (r @ a @ r.T)
    expected = np.diag(h), h.sum(axis=1), (h**2).sum(axis=1) - np.diag(h) ** 2
    for sums, dense in zip((found.diagonal, found.row_sums, found.row_squares), expected, strict=True):
        np.testing.assert_allclose(sums, dense, rtol=0, atol=1e-12 * np.abs(h).sum(axis=1).max())


def test_many_features_of_few_rows_are_walked_over():
    """Where there are more pairs of features than of rows products take longer."""
    batch = repeated(3000, 12, 200)
    found = kc.SKCE(prediction_kernel=kc.Laplacian(0.3)).prepare(batch).matrix(batch.sample(2, 1)[0])
    assert isinstance(found.forms, CollapsedForms)
    assert found.by_pairs
