"""Tests of predictions of numbers: level by binomial bounds, power, directions, and what they refuse."""

import numpy as np
import pytest
from scipy.stats import binom

import kernelcal as kc
from kernelcal.errors import InputError

REPETITIONS = 300


def normals(rng, n, d):
    if d == 1:
        return kc.Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))
    return kc.MultivariateNormal.diagonal(rng.normal(size=(n, d)), rng.uniform(0.5, 2, (n, d)))


def keeps_level(pvalues, *, used_up=True):
    for level in (0.01, 0.05, 0.1):
        assert (pvalues <= level).sum() <= binom.ppf(0.9995, len(pvalues), level), level
    if used_up:
        assert (pvalues <= 0.1).sum() >= binom.ppf(0.0005, len(pvalues), 0.1)


@pytest.mark.slow
@pytest.mark.slow_cases(3)
@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize("n", [10, *(pytest.param(n, marks=pytest.mark.slow) for n in (30, 100))])
def test_the_exact_test_keeps_its_level(n, d):
    pvalues = []
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([1, n, d, repetition])
        batch = normals(rng, n, d)
        pvalues.append(kc.calibration_test(batch.sample(rng)[0], batch, draws=99, rng=rng).pvalue)
    keeps_level(np.array(pvalues))


@pytest.mark.slow
@pytest.mark.slow_cases(3)
@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize("n", [10, *(pytest.param(n, marks=pytest.mark.slow) for n in (30, 100))])
def test_the_swap_test_keeps_its_level(n, d):
    """A few draws of a law that nobody wrote down: heavy tails, its scale unlike from row to row."""
    pvalues = []
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([2, n, d, repetition])
        scale = np.exp(rng.normal(size=(n, 1, 1)))
        values = rng.normal(size=(n, 1, 1)) + scale * rng.standard_t(3, (n, 6, d))
        values = values[:, :, 0] if d == 1 else values
        result = kc.calibration_test(values[:, 0], kc.Samples(values[:, 1:]), draws=99, rng=rng)
        assert result.null == "exact, the outcome swapped with the draws"
        pvalues.append(result.pvalue)
    keeps_level(np.array(pvalues))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["poisson", pytest.param("rounded draws", marks=pytest.mark.slow)])
def test_counts_and_ties_keep_the_level(family):
    pvalues = []
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([3, repetition])
        rate = np.exp(rng.normal(size=30))
        if family == "poisson":
            batch = kc.Poisson(rate)
            y = batch.sample(rng)[0]
        else:
            values = rng.poisson(rate[:, None], (30, 5)).astype(float)
            y, batch = values[:, 0], kc.Samples(values[:, 1:])
        pvalues.append(kc.calibration_test(y, batch, draws=99, rng=rng).pvalue)
    keeps_level(np.array(pvalues), used_up=False)


AIMLESS = "no single direction: neither one shift nor one width of all predictions explains how outcomes deviate"
CASES = {
    "too narrow": (lambda m, s, z: m + 1.4 * s * z, "dispersion", "predictions too narrow"),
    "too wide": (lambda m, s, z: m + 0.6 * s * z, "dispersion", "predictions too wide"),
    "too low": (lambda m, s, z: m + s * (z + 0.4), "bias", "predictions shifted down"),
    "too high": (lambda m, s, z: m + s * (z - 0.4), "bias", "predictions shifted up"),
    "wide ones too wide": (
        lambda m, s, z: m + z,
        "dispersion by scale",
        "wide predictions are too wide compared with narrow ones",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_directions(case):
    make, name, words = CASES[case]
    rng = np.random.default_rng(0)
    m, s, z = rng.normal(size=300), np.exp(rng.normal(size=300) / 2), rng.normal(size=300)
    result = kc.calibration_test(make(m, s, z), kc.Normal(m, s))
    assert result.pvalue == 0.001
    assert words in "; ".join(result.directions)
    assert {member.name: member.pvalue for member in result.members}[name] == 0.001


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.6, 3])
def test_a_wrong_width_alone_gives_no_other_direction(factor):
    """Wider outcomes make all sums vary more: a shift, or an error of wide predictions, is named in about 5 %."""
    others = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        m, s = rng.normal(50, 10, 300), rng.uniform(1, 9, 300)
        words = kc.calibration_test(m + factor * s * rng.normal(size=300), kc.Normal(m, s), draws=99).directions
        assert any("too narrow (outcomes spread" in sentence for sentence in words)
        others.append(["compared with narrow ones" in "; ".join(words), "predictions shifted" in "; ".join(words)])
    for number in np.sum(others, axis=0):
        assert number <= binom.ppf(0.999, 40, 0.1)  # two scores speak of wide ones


@pytest.mark.slow
def test_a_temperature_alone_names_no_class():
    named = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        q = rng.dirichlet([1, 1, 1, 1], 400)
        y = kc.Categorical(q).sample(rng)[0]
        words = kc.calibration_test(y, q**3 / (q**3).sum(axis=1, keepdims=True), draws=99).directions
        assert any(sentence.startswith("over-confident (slope 0.") for sentence in words)
        named += "class" in "; ".join(words)
    assert named <= binom.ppf(0.999, 40, 0.06)


@pytest.mark.slow
def test_shapes_are_seen_where_moments_are_right():
    """Two modes with the predicted mean and variance, and a shift whose sign follows the mean."""
    rng = np.random.default_rng(1)
    m = rng.uniform(-3, 3, 500)
    modes = m + np.where(rng.random(500) < 0.5, 1, -1) * 0.95 + np.sqrt(1 - 0.95**2) * rng.normal(size=500)
    result = kc.calibration_test(modes, kc.Normal(m, 1.0))
    assert result.pvalue == 0.001
    assert len(result.directions) == 1
    assert result.directions[0].startswith("no clear shift or wrong width: the shape of the predicted distributions")
    assert "fewer outcomes far out and in the middle than predicted, more between" in result.directions[0]
    shifted = m + 0.5 * np.sign(m) + np.sqrt(0.75) * rng.normal(size=500)
    result = kc.calibration_test(shifted, kc.Normal(m, 1.0))
    assert result.pvalue == 0.001
    assert result.directions[0] == "high predictions are shifted down compared with low ones"
    assert "too wide (outcomes spread 0.89 times" in result.directions[1]  # about what the bias explains: root of .75


@pytest.mark.slow
def test_fine_structure_of_the_density_is_seen():
    """Density ``phi(z) (1 + 0.95 cos(w z))`` of wavelength 1 standard deviation: finer than polynomials see."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        z = rng.normal(size=4000)
        z = z[rng.random(4000) < (1 + 0.95 * np.cos(2 * np.pi * z)) / 2][:600]
        m, s = rng.normal(size=600), rng.uniform(0.5, 2, 600)
        assert kc.calibration_test(m + s * z, kc.Normal(m, s), rng=seed).pvalue < 0.05


@pytest.mark.slow
def test_swapping_allows_for_missing_members():
    pvalues = []
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([4, repetition])
        values, there = rng.standard_t(3, (20, 7)), rng.random((20, 6)) < 0.6
        there[:, 0] = True
        batch = kc.Samples(np.where(there, values[:, 1:], 99.0), there)
        pvalues.append(kc.calibration_test(values[:, 0], batch, draws=99, rng=rng).pvalue)
    keeps_level(np.array(pvalues))


def test_unequal_weights_have_no_swap_test():
    rng = np.random.default_rng(0)
    batch = kc.Samples(rng.normal(size=(50, 6)), rng.uniform(size=(50, 6)))
    y = rng.normal(size=50)
    with pytest.raises(InputError, match="exchangeable only if all draws are equally likely"):
        kc.calibration_test(y, batch)
    for name, statistic in (("exact", "default"), ("cme", "ucme")):
        notes = kc.calibration_test(y, batch, null=name, statistic=statistic, draws=99).notes
        assert any("takes the 6 draws of a row as the whole predicted distribution" in note for note in notes)
    mixture = kc.Mixture(None, [kc.Samples(rng.normal(size=(50, 6)))] * 2)
    assert any("takes the 6 draws" in note for note in kc.calibration_test(y, mixture, draws=99).notes)


def test_swap_finds_a_narrow_ensemble():
    rng = np.random.default_rng(0)
    m = rng.normal(size=300)
    draws = m[:, None] + rng.normal(size=(300, 15))
    assert kc.calibration_test(m + rng.normal(size=300), kc.Samples(draws)).pvalue > 0.05
    result = kc.calibration_test(m + 1.5 * rng.normal(size=300), kc.Samples(draws))
    assert result.pvalue == 0.001
    assert "predictions too narrow" in result.directions[0]


def test_swap_does_not_depend_on_which_member_is_the_outcome():
    """The pooled statistic of player 0 is the same wherever the player stands in the pool."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 6))
    for statistic in (kc.DefaultFamily(), kc.SKCE()):
        one = statistic.prepare(kc.Samples(values)).values(values[None, :, 0])
        other = statistic.prepare(kc.Samples(values[:, ::-1])).values(values[None, :, 0])
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_draws_do_not_depend_on_batches(monkeypatch):
    from kernelcal.inference.laws import exact

    rng = np.random.default_rng(0)
    batch = normals(rng, 50, 3)
    y = batch.sample(rng)[0] + 0.3
    whole = kc.calibration_test(y, batch, draws=199, early_stopping=False)
    monkeypatch.setattr(exact, "_MEMORY", 2**16)
    parts = kc.calibration_test(y, batch, draws=199, early_stopping=False)
    assert whole.pvalue == parts.pvalue
    assert [m.value for m in whole.members] == pytest.approx([m.value for m in parts.members], rel=1e-9)


@pytest.mark.parametrize(
    "engine", [kc.ExactPairs(), kc.Nystrom(30), kc.ExactPairs(rows=7, columns=5, threads=1)], ids=str
)
def test_engines_agree(engine):
    rng = np.random.default_rng(0)
    batch = normals(rng, 30, 1)
    y = batch.sample(rng)[0] + 0.2
    target = kc.kernels.Spectral(kc.Gaussian(1.0), frequencies=6)
    values = kc.SKCE(prediction_kernel=kc.Laplacian(1.0), target_kernel=target, engine=engine).prepare(batch)
    base = kc.SKCE(prediction_kernel=kc.Laplacian(1.0), target_kernel=target).prepare(batch)
    many = np.stack([y, batch.sample(rng)[0]])
    np.testing.assert_allclose(values.values(many), base.values(many), rtol=1e-6)
    assert float(values.estimate(y)) == pytest.approx(float(base.values(y[None])[0, 0]), rel=1e-6)


@pytest.mark.parametrize("estimator", ["unbiased", "biased", "block"])
@pytest.mark.parametrize("weighted", [False, True])
def test_estimators_against_loops(estimator, weighted):
    rng = np.random.default_rng(0)
    batch, n = normals(rng, 13, 1), 13
    y, w = batch.sample(rng)[0], rng.uniform(0.5, 2, 13) if weighted else np.ones(13)
    size = {"block_size": 4} if estimator == "block" else {}
    statistic = kc.SKCE(
        prediction_kernel=kc.Laplacian(0.8), target_kernel=kc.Gaussian(1.2), estimator=estimator, **size
    )
    total = weight = 0.0
    for i in range(n):
        for j in range(n):
            inside = estimator != "block" or (i // 4 == j // 4 and max(i, j) < 12)
            if inside and (i != j or estimator == "biased"):
                total += w[i] * w[j] * pair(batch, y, i, j)
                weight += w[i] * w[j]
    given = {"weights": w} if weighted else {}
    assert float(statistic(y, batch, **given)) == pytest.approx(total / weight, rel=1e-12)
    own = w / w.mean() if weighted else None
    drawn = statistic.prepare(batch, own).values(np.stack([y, y + 1]))
    assert drawn[0, 0] == pytest.approx(total / weight, rel=1e-12)


def pair(batch, y, i, j):
    """Kernel value times inner product of residuals of two rows, from the densities of sums of normals."""
    m, s = batch.mean, batch.std

    def e(difference, variance):
        return 1.2 / np.sqrt(1.44 + variance) * np.exp(-(difference**2) / (2 * (1.44 + variance)))

    inner = (
        e(y[i] - y[j], 0)
        - e(m[i] - y[j], s[i] ** 2)
        - e(m[j] - y[i], s[j] ** 2)
        + e(m[i] - m[j], s[i] ** 2 + s[j] ** 2)
    )
    return np.exp(-np.hypot(m[i] - m[j], s[i] - s[j]) / 0.8) * inner


def test_published_values(julia):
    for case in julia["skce_normal"]["cases"]:
        p = np.array(case["predictions"], dtype=float)
        target = kc.Gaussian(2.0 if "0.5(y-z)" in case["kernel"] else 1.0)
        value = kc.skce(case["targets"], kc.Normal(*p.T), prediction_kernel=kc.Laplacian(1.0), target_kernel=target)
        assert float(value) == pytest.approx(case["expected"], rel=1e-12)


@pytest.mark.parametrize("library", ["torch", pytest.param("jax", marks=pytest.mark.slow)])
def test_gradients_flow(library):
    xp = pytest.importorskip({"torch": "torch", "jax": "jax.numpy"}[library])
    rng = np.random.default_rng(0)
    m, s, y = rng.normal(size=8), rng.uniform(0.5, 2, 8), rng.normal(size=8)
    options = {"prediction_kernel": kc.Gaussian(1.0), "target_kernel": kc.Gaussian(1.0)}

    def value(scale):
        return kc.skce(y, kc.Normal(m, s * scale), **options)

    slope = (float(value(1 + 1e-5)) - float(value(1 - 1e-5))) / 2e-5
    if library == "torch":
        t = xp.tensor(1.0, dtype=xp.float64, requires_grad=True)
        kc.skce(y, kc.Normal(xp.tensor(m), xp.tensor(s) * t), **options).value.backward()
        assert float(t.grad) == pytest.approx(slope, rel=1e-5)
    else:
        import jax

        def f(scale):
            return kc.skce(y, kc.Normal(xp.asarray(m), xp.asarray(s) * scale), **options).value

        assert float(jax.grad(f)(1.0)) == pytest.approx(slope, rel=1e-2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda y, p: kc.calibration_test(y, p, null="swap"), "null='swap' needs predictions that are draws"),
        (
            lambda y, p: kc.calibration_test(y, p, lens=kc.TopLabel()),
            "a lens asks about classes, and Normal predicts numbers",
        ),
        (lambda y, p: kc.calibration_test(y, p, lens=kc.ClassWise()), "a lens asks about classes"),
        (
            lambda y, p: kc.calibration_test(y, p, statistic="skce", null="saddlepoint"),
            "null='saddlepoint' serves class predictions, got Normal: use null='exact'",
        ),
        (
            lambda y, p: kc.calibration_test(y, p, statistic="ece"),
            "ECE asks about classes and counts",
        ),
        (lambda y, p: kc.ece(y, p), "pass distance='mmd' or 'squared mmd'"),
        (lambda y, p: kc.calibration_test(y[:3], p), "there are 3 targets but 4 rows of predictions"),
        (lambda y, p: kc.skce(list("abcd"), p), "the targets must be numbers for these predictions"),
        (lambda y, p: kc.skce([1, 2, np.nan, 3], p), r"the target in row 2 is missing \(NaN\)"),
        (lambda y, p: kc.skce([[1, 2]] * 4, p), r"targets must have shape \(4,\) for these predictions, got \(4, 2\)"),
        (lambda y, p: kc.skce(y, kc.Poisson([1.0] * 4)), "expected a whole number from 0, since Poisson counts"),
    ],
)
def test_refusals(make, message):
    y, p = np.array([0.5, 1.0, 2.0, -1.0]), kc.Normal([0.0, 1.0, 2.0, 0.0], 1.0)
    with pytest.raises(InputError, match=message):
        make(y, p)


def test_any_function_of_numbers_becomes_an_exact_test():
    rng = np.random.default_rng(0)
    batch = normals(rng, 100, 1)

    def largest_gap(y, predictions):
        assert y.dtype == np.float64
        return np.abs(predictions.standardised(y)).max()

    y = batch.sample(rng)[0]
    assert kc.calibration_test(y, batch, statistic=largest_gap, draws=99).pvalue > 0.05
    y[3] += 20
    assert kc.calibration_test(y, batch, statistic=largest_gap, draws=99).pvalue == 0.01


@pytest.mark.parametrize("null", ["exact", "bootstrap", "wild", "gamma", "pearson", "spectrum", "bound", "consistency"])
@pytest.mark.parametrize("d", [1, 3])
def test_every_law_of_the_skce_serves_numbers(null, d):
    rng = np.random.default_rng(0)
    batch = normals(rng, 60, d)
    result = kc.calibration_test(batch.sample(rng)[0], batch, statistic="skce", null=null, draws=99)
    assert result.pvalue > 0.01
    wrong = kc.calibration_test(batch.sample(rng)[0] + 3, batch, statistic="skce", null=null, draws=99)
    assert wrong.pvalue <= (0.05 if null != "bound" else 1)


def test_block_law_serves_numbers():
    rng = np.random.default_rng(0)
    batch = normals(rng, 200, 3)
    blocks = kc.SKCE(estimator="block", block_size=2)
    assert kc.calibration_test(batch.sample(rng)[0], batch, statistic=blocks, null="block").pvalue > 0.01
    assert kc.calibration_test(batch.sample(rng)[0] + 2, batch, statistic=blocks, null="block").pvalue < 0.01


def test_intervals_of_numbers():
    rng = np.random.default_rng(0)
    batch = normals(rng, 200, 1)
    low, high = kc.confidence_interval(batch.sample(rng)[0] + 1, batch).root
    assert 0 < low < high
    draws = batch.sample(rng, 10).T
    assert kc.confidence_interval(batch.sample(rng)[0], kc.Samples(draws)).root[0] == 0


def test_no_place_in_the_pool_tells_who_is_the_outcome():
    """A statistic of one member by its place would reject calibrated ensembles if the outcome stood last."""
    rng = np.random.default_rng(0)
    for shape in ((50, 6), (50, 6, 2)):
        values = rng.normal(size=shape)

        def last(y, predictions):
            return -np.mean((y - predictions.draws[:, -1]) ** 2)

        result = kc.calibration_test(values[:, 0], kc.Samples(values[:, 1:]), statistic=last, draws=99)
        assert result.pvalue > 0.01


def test_vectors_that_were_ruled_out_are_named():
    """Shares that do not sum to 1, and only what a corrected PIT test shows is put into words."""
    predictions = kc.Dirichlet([[1.0, 1.0], [2.0, 2.0]])
    result = kc.evaluate([[0.5, 0.6], [0.5, 0.5]], predictions, draws=19)
    assert "row 0: the prediction had ruled out the target (0.5, 0.6). Such a target is proof" in str(result)
    assert min(test.pvalue for test in result.pit) < 0.05 < result.pit_pvalue
    assert f"p = {result.pit_pvalue:.4g}\n" in result.summary()
