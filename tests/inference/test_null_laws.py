"""Null laws against naive second implementations, published values, and draws."""

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.inference import NULL_LAWS, ChiSquareSum, Draws, known_null
from kernelcal.inference.draws import multinomial_counts
from kernelcal.inference.laws.undrawn import bound_pvalue

TV = kc.TotalVariation()
UNBIASED = ("saddlepoint", "bootstrap", "wild", "gamma", "pearson", "spectrum")


def published():
    rng = np.random.default_rng(1234)
    return rng.dirichlet((3, 2, 5), 100), rng.integers(1, 4, 100) - 1


def test_derived_asymptotic_values(julia):
    facts = julia["derived_asymptotic"]
    p, y = published()
    kernel = kc.Laplacian(1.0, metric=TV)
    for size, values in facts["block_tests"].items():
        statistic = kc.SKCE(prediction_kernel=kernel, estimator="block", block_size=int(size))
        result = kc.calibration_test(y, p, statistic=statistic, null="block")
        assert result.pvalue == pytest.approx(values["p"], rel=1e-9)
        assert result.statistic == pytest.approx(values["estimate"], rel=1e-12)
        assert result.members[0].deviation == pytest.approx(values["z"], rel=1e-12)
    unbiased, biased = (kc.SKCE(prediction_kernel=kernel, estimator=name) for name in ("unbiased", "biased"))
    bound = [kc.calibration_test(y, p, statistic=s, null="bound").pvalue for s in (unbiased, biased)]
    expected = [facts["distribution_free_p_unbiased"], facts["distribution_free_p_biased"]]
    np.testing.assert_allclose(bound, expected, rtol=1e-12)
    drawn = kc.calibration_test(y, p, statistic=unbiased, null="bootstrap", draws=20_000).pvalue
    assert abs(drawn - facts["bootstrap_p_200k"]) < 4 * np.sqrt(0.0066 / 20_000)


def test_bounds_of_the_networks(julia):
    """From the published estimates of eight networks and 10,000 rows to the published bounds."""
    kernel = kc.Laplacian(1.0, metric=TV)
    residual = kc.SKCE(prediction_kernel=kernel).prepare(kc.Categorical(np.eye(10))).residual
    for facts in julia["cifar10"]["models"].values():
        for key, block in (("SKCEb_median", None), ("SKCEuq_median", 10_000), ("SKCEul_median", 2)):
            estimate, theirs = facts["published"][key], facts["published_p"][f"{key}_distribution_free"]
            found = bound_pvalue(estimate, 10_000, kernel.bound() * residual.bound(), block)
            negative = estimate <= 0  # the published p-values of negative estimates are below 1
            assert found == (1.0 if negative else pytest.approx(theirs, rel=1e-12))


@pytest.mark.parametrize(("estimator", "block"), [("biased", None), ("unbiased", None), ("block", 2)])
def test_bounds_of_a_network_by_hand(data_folder, estimator, block):
    file = np.load(data_folder / "netcal_records" / "wideresnet-16-4-cifar-10.npz")
    p, y = file["predictions"].astype(float), (file["ground_truth"] + 1) % 10  # wrong enough for a bound below 1
    p /= p.sum(axis=1, keepdims=True)
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.5, metric=TV), estimator=estimator, block_size=block)
    result = kc.calibration_test(y, p, statistic=statistic, null="bound")
    h = naive_matrix(y, p, 0.5)
    apart = h[~np.eye(625, dtype=bool)].mean()
    estimate = {"biased": h.mean(), "unbiased": apart, "block": h[range(0, 624, 2), range(1, 625, 2)].mean()}[estimator]
    quadratic = np.exp(-312 * max(estimate, 0) ** 2 / 8)  # |h| <= 2, and 312 pairs share no row
    expected = np.exp(-(max(0, np.sqrt(625 * estimate / 2) - 1) ** 2) / 2) if estimator == "biased" else quadratic
    assert result.pvalue == pytest.approx(expected, rel=1e-9)
    assert result.pvalue < 0.95


def test_uniform_bounds(julia):
    wide = 3.2 * kc.Gaussian(1.0)
    assert wide.bound() * (2.7 * kc.Dirac()).bound() == pytest.approx(8.64)
    statistic = kc.SKCE(prediction_kernel=wide, target_kernel=2.7 * kc.Dirac())
    prepared = statistic.prepare(kc.Categorical(np.eye(3)))
    assert wide.bound() * prepared.residual.bound() == pytest.approx(17.28)
    assert (42 * kc.Laplacian(1.0)).bound() == 42
    assert (kc.Linear() + kc.Dirac()).bound() == 2
    assert (kc.Linear() * kc.InverseMultiquadric(1.0, offset=2.0)).bound() == pytest.approx(0.5)
    assert kc.FiniteKernel(np.eye(2) * 5).bound() == 5


def naive_matrix(y, p, lengthscale):
    r = np.eye(p.shape[1])[y] - p
    k = np.exp(-0.5 * np.abs(p[:, None] - p[None]).sum(-1) / lengthscale)
    return k * (r @ r.T)


def test_bootstraps_equal_a_loop_over_draws():
    p, y = published()
    p, y, n = p[:25], y[:25], 25
    h = naive_matrix(y, p, 0.3)
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3, metric=TV))
    matrix = statistic.prepare(kc.Categorical(p)).matrix(y)
    np.testing.assert_allclose(matrix.dense(), h, atol=1e-14)
    uniforms = Draws(3, "draws of a test").uniforms(0, 4, n)
    arcones, wild = NULL_LAWS["bootstrap"]().values(matrix, uniforms), NULL_LAWS["wild"]().values(matrix, uniforms)
    for b in range(4):
        rows = (uniforms[b] * n).astype(int)
        total = 0.0
        for i in range(n):
            for j in range(i + 1, n):
                total += h[rows[i], rows[j]] - h[rows[i]].mean() - h[:, rows[j]].mean() + h.mean()
        assert arcones[b] == pytest.approx(2 * total / n, rel=1e-10)
        w = np.where(uniforms[b] < 0.5, -1, 1)
        assert wild[b] == pytest.approx((w @ h @ w - np.trace(h)) / (n - 1), rel=1e-10)
    counts = multinomial_counts(uniforms)
    assert counts.shape == (n, 4)
    np.testing.assert_array_equal(counts.sum(axis=0), n)


def test_fits_equal_their_moments():
    p, y = published()
    h = naive_matrix(y, p, 0.3)
    n, h0 = 100, naive_matrix(y, p, 0.3)
    np.fill_diagonal(h0, 0)
    value, variance = h0.sum() / (n - 1), 2 * (h0**2).sum() / (n * (n - 1))
    mean = np.diag(h).mean()
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3, metric=TV))
    run = lambda null: kc.calibration_test(y, p, statistic=statistic, null=null).pvalue  # noqa: E731
    assert run("gamma") == pytest.approx(stats.gamma.sf(value + mean, mean**2 / variance, scale=variance / mean))
    third = 8 * np.trace(h0 @ h0 @ h0) / (n * (n - 1) * (n - 2))
    assert run("pearson") == pytest.approx(
        stats.pearson3.sf(value, third / variance**1.5, scale=variance**0.5), rel=0.02
    )
    centre = np.eye(n) - 1 / n
    eigenvalues = np.linalg.eigvalsh(centre @ h @ centre) / n
    z = np.random.default_rng(0).standard_normal((20_000, n)) ** 2 - 1
    assert run("spectrum") == pytest.approx((z @ eigenvalues >= value).mean(), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["binary", "classes", "target kernel", "weights"])
def test_known_moments_equal_those_of_draws(kind):
    rng = np.random.default_rng(0)
    n, weights, target = 40, None, kc.Dirac()
    batch = kc.Bernoulli(rng.beta(0.4, 2, n)) if kind == "binary" else kc.Categorical(rng.dirichlet([0.5] * 4, n))
    if kind == "target kernel":
        target = kc.FiniteKernel(np.array([[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 1.0]]))
    if kind == "weights":
        weights = rng.uniform(0.2, 2, n)
    prepared = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), target_kernel=target).prepare(batch, weights)
    null = known_null(prepared)
    values = prepared.values(Draws(1, "draws of a test").targets(batch, 0, 60_000))[:, 0] * prepared.total
    skewness = stats.skew(values)
    assert null.exact
    assert abs(values.mean()) < 4 * np.sqrt(null.variance / 60_000)
    assert values.var() == pytest.approx(null.variance, rel=0.03)
    assert skewness == pytest.approx(null.skewness, rel=0.08)


@pytest.mark.slow
def test_leading_eigenvalues_agree_with_all(monkeypatch):
    import sys

    module = sys.modules["kernelcal.inference.laws.null_moments"]
    rng = np.random.default_rng(0)
    for batch in (kc.Bernoulli(rng.beta(0.7, 0.7, 1200)), kc.Categorical(rng.dirichlet(np.full(4, 0.5), 300))):
        prepared = kc.SKCE().prepare(batch)
        whole = known_null(prepared)
        monkeypatch.setattr(module, "_DENSE_UP_TO", 700)
        leading = known_null(prepared)
        monkeypatch.undo()
        assert whole.exact
        assert leading.exact == isinstance(batch, kc.Bernoulli)  # a scan takes no moments from the subsample
        assert leading.variance == pytest.approx(whole.variance, rel=1e-12)
        assert leading.skewness == pytest.approx(whole.skewness, rel=0.2)  # from a subsample
        for deviations in (1, 3, 8, 15):
            x = deviations * np.sqrt(whole.variance)
            assert leading.law.tail(x) == pytest.approx(whole.law.tail(x), rel=0.05)


@pytest.mark.slow
def test_saddlepoint_against_exact_draws():
    batch = kc.Bernoulli(np.random.default_rng(7).beta(0.7, 0.7, 300))
    prepared = kc.SKCE().prepare(batch)
    values = np.sort(prepared.values(Draws(11, "draws of a test").targets(batch, 0, 40_000))[:, 0]) * prepared.total
    law = known_null(prepared).law
    for level, within in ((0.05, 0.1), (0.01, 0.15), (1e-3, 0.53)):  # 3 standard errors of the draws and 5 %
        point = values[round(40_000 * (1 - level))]
        assert law.tail(point) == pytest.approx(np.mean(values >= point), rel=within)
    points = np.linspace(0.01, 45, 400) * np.sqrt(law.variance)
    tails = np.array([law.tail(x) for x in points])
    assert np.all(np.diff(tails) < 0)
    assert tails[-1] < 1e-12


def test_chi_square_sums_against_scipy():
    one = ChiSquareSum(np.ones(5))
    for x in (1.0, 5.0, 12.0, 60.0):
        assert one.tail(x) == pytest.approx(stats.chi2.sf(x, 5), rel=0.02)
    assert one.tail(-1.0) == 1.0
    fitted = ChiSquareSum.matched(np.empty(0), 0.0, 2.0, 3.0)
    assert fitted.tail(4.0) == pytest.approx(stats.pearson3.sf(4.0, 3 / 2**1.5, scale=2**0.5), rel=0.02)
    assert ChiSquareSum.matched(np.empty(0), 0.0, 1.0, 0.0).tail(2.0) == pytest.approx(stats.norm.sf(2.0), rel=1e-9)


@pytest.mark.slow
def test_every_law_is_never_zero_and_rejects_a_wrong_model():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    y = np.zeros(200, dtype=int)
    for null in (*UNBIASED, "exact", "consistency"):
        result = kc.calibration_test(y, p, statistic="skce", null=null, draws=199)
        assert 0 < result.pvalue <= 0.01, null
        assert result.null == NULL_LAWS[null]().label
    block = kc.SKCE(estimator="block", block_size=2)
    assert 0 < kc.calibration_test(y, p, statistic=block, null="block").pvalue < 0.01


@pytest.mark.parametrize("m", [2, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("null", "block", "band", "repetitions"),
    [
        ("bootstrap", None, 0.15, 100),
        ("saddlepoint", None, 0.15, 100),
        ("block", 2, 0.1, 400),  # as published; more data sets, since 100 alone move the largest of ten excesses by 0.1
        ("block", 5, 0.1, 400),
        ("block", 10, 0.1, 400),
        ("bound", None, 0.0, 100),
        ("bound", 2, 0.0, 100),
    ],
)
@pytest.mark.quick_cases(2)
def test_bands_of_the_julia_tests(julia, m, null, block, band, repetitions):
    assert "ecdf-alpha<0.1" in julia["statistical_checks"]["bands"]["AsymptoticBlock B=2,5,10"]
    more = {} if block is None else {"estimator": "block", "block_size": block}
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(10.0), **more)
    pvalues, wrong = np.empty(repetitions), np.empty(repetitions)
    for number in range(repetitions):
        rng = np.random.default_rng([9, m, number])
        batch = kc.Categorical(rng.dirichlet(np.ones(m), 100))
        run = lambda y: kc.calibration_test(y, batch, statistic=statistic, null=null, draws=199).pvalue  # noqa: B023, E731
        pvalues[number] = run(batch.sample(rng)[0])
        wrong[number] = run(np.zeros(100, dtype=int)) if number < 50 else 0.0
    levels = np.arange(0.05, 0.96, 0.1)
    assert max(np.mean(pvalues <= a) - a for a in levels) < band
    if null != "bound":
        assert wrong.max() < 0.01


def test_messages():
    p, y = published()
    for null in UNBIASED:
        with pytest.raises(InputError, match=f"null='{null}' needs statistic=.*got estimator='biased'"):
            kc.calibration_test(y, p, statistic=kc.SKCE(estimator="biased"), null=null)
    with pytest.raises(InputError, match=r"is the law of .*not of ECE"):
        kc.calibration_test(y, p, statistic="ece", null="saddlepoint")
    with pytest.raises(InputError, match="needs at least 2 blocks, got 1"):
        kc.calibration_test(y, p, statistic=kc.SKCE(estimator="block", block_size=60), null="block")
    certain = kc.calibration_test([0, 1], [[1.0, 0], [0, 1]], statistic="skce", null="saddlepoint")
    assert certain.pvalue == 1
    assert "no variance" in certain.notes[0]
    assert "this law is that of many rows, and there are 2: null='exact' holds for few" in certain.notes
    assert not any("many rows" in note for note in kc.calibration_test(y[:40], p[:40], draws=99).notes)
    assert not any("many rows" in note for note in kc.calibration_test(y, p, statistic="skce", null="wild").notes)
    blocks = kc.SKCE(estimator="block", block_size=2)
    equal = kc.calibration_test(np.ones(80, dtype=int), np.full(80, 0.3), statistic=blocks, null="block")
    assert equal.pvalue == 1
    assert "all block values are equal: no spread to compare with; use null='exact'" in equal.notes


def test_consistency_resampling_keeps_the_lengthscale_of_the_data():
    p, y = published()
    batch = kc.Categorical(p)
    family = kc.DefaultFamily().resolved(batch)
    assert family.kernel.scale == kc.median_lengthscale(batch)
    by_name = kc.calibration_test(y, p, statistic=kc.DefaultFamily(), null="consistency", draws=19)
    assert by_name.pvalue == kc.calibration_test(y, p, statistic=family, null="consistency", draws=19).pvalue


def test_consistency_resampling_rejects_calibrated_models_by_the_binned_error():
    rng = np.random.default_rng(2)
    batch = kc.Categorical(rng.dirichlet(np.full(10, 0.1), 250))
    y = batch.sample(rng)[0]
    statistic = kc.ECE(question="simplex", bins=10)
    assert kc.calibration_test(y, batch, statistic=statistic, null="consistency", draws=99).pvalue == 0.01
    assert kc.calibration_test(y, batch, statistic=statistic, draws=99).pvalue > 0.05


def test_exact_test_of_a_sum_is_the_binomial_test():
    y, p = np.r_[np.ones(60), np.zeros(40)].astype(int), np.full(100, 0.5)  # cases.json, test-simple-exact
    gap = lambda labels, predictions: abs(int(labels.sum()) - 50)  # noqa: E731
    result = kc.calibration_test(y, p, statistic=gap, draws=9999)
    assert float(kc.ece(y, p)) == pytest.approx(0.1)
    assert abs(result.pvalue - 0.056887934) < 4 * np.sqrt(0.0569 * 0.9431 / 9999)


@pytest.mark.slow
def test_many_rows_show_a_small_effect_beside_a_small_p_value():
    y = np.r_[np.ones(501_500), np.zeros(498_500)].astype(int)  # cases.json, hl-large-n
    p = np.full(len(y), 0.5)
    gap = lambda labels, predictions: abs(int(labels.sum()) - 500_000)  # noqa: E731
    assert kc.calibration_test(y, p, statistic=gap, draws=99).pvalue <= 0.02
    assert float(kc.ece(y, p)) == pytest.approx(0.0015)


def test_bound_of_a_negative_estimate_is_one():
    p = np.full((20, 2), 0.5)
    y = np.arange(20) % 2  # balanced labels: the unbiased estimate is negative
    for more in ({}, {"estimator": "block", "block_size": 2}):
        result = kc.calibration_test(y, p, statistic=kc.SKCE(prediction_kernel=kc.Laplacian(1.0), **more), null="bound")
        assert result.statistic < 0
        assert result.pvalue == 1


def test_wrong_labels_of_the_julia_trend_test(julia):
    assert "p<1e-6" in julia["statistical_checks"]["binary_trend"]["all_labels_2"]
    p = np.random.default_rng(0).dirichlet([1, 1], 500)
    y = np.ones(500, dtype=int)
    kernel = kc.Laplacian(1 / 3)
    unbiased, biased = (kc.SKCE(prediction_kernel=kernel, estimator=name) for name in ("unbiased", "biased"))
    assert kc.calibration_test(y, p, statistic=unbiased, null="saddlepoint").pvalue < 1e-6
    assert kc.calibration_test(y, p, statistic=biased, null="bound").pvalue < 1e-6
    assert kc.calibration_test(y, p, statistic=unbiased, null="bound").pvalue < 0.4
    for size in (2, 10, 50):
        blocks = kc.SKCE(prediction_kernel=kernel, estimator="block", block_size=size)
        assert kc.calibration_test(y, p, statistic=blocks, null="block").pvalue < 1e-6
