"""KCCSD: published values, a naive second implementation by automatic differentiation, and Stein's identity."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.inference import NULL_LAWS
from kernelcal.kernels import MMD, Coordinatewise, FisherDivergence, KernelFisherDivergence, Wasserstein
from kernelcal.predictions import (
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    Normal,
    Score,
    UnnormalizedDensity,
)
from kernelcal.residuals import SteinResidual
from kernelcal.statistics import KCCSD, kccsd
from kernelcal.statistics.pairwise.stein import median_distance, normal_of

ALL = slice(None)
KERNELS = {
    "gaussian": kc.Gaussian(0.8),
    "multiquadric": kc.InverseMultiquadric(1.1),
    "other multiquadric": kc.InverseMultiquadric(0.7, beta=-0.3, offset=1.4),
    "rational": kc.kernels.RationalQuadratic(0.9, alpha=1.7),
    "matern": kc.Matern52(1.2),
    "sum": kc.Gaussian(0.5) + 2.0 * kc.Matern52(2.0),
    "product": kc.InverseMultiquadric(1.5) * kc.Matern52(1.3),
}


def numbers(n=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))


def vectors(n=9, d=3, seed=0):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n, d, d))
    cov = roots @ np.swapaxes(roots, 1, 2) + 0.5 * np.eye(d)
    return rng.normal(size=(n, d)), MultivariateNormal(rng.normal(size=(n, d)), cov)


# values of the published code


@pytest.fixture(scope="module")
def reference(data_folder):
    folder = data_folder / "reference"
    cases = json.loads((folder / "kccsd_reference.json").read_text())["cases"]
    return {name: (cases[name], np.load(folder / f"kccsd_case_{name}.npz")) for name in "AB"}


def kernels(case, arrays):
    facts = case["params"]
    base = IsotropicNormal(arrays["base_mean"][None], arrays["base_scale"][None])
    ground = kc.Gaussian(facts["ell"])
    metrics = {
        "exp_mmd": MMD(ground),
        "exp_w2": Wasserstein(),
        "exp_gfd": FisherDivergence(base),
        "exp_kgfd": KernelFisherDivergence(ground, base),
    }
    prediction = {name: kc.Gaussian(facts["sigma_p"], metric=metric) for name, metric in metrics.items()}
    scale = facts["sigma_y"]
    return prediction, {"gaussian": kc.Gaussian(scale), "imq": kc.InverseMultiquadric(scale)}


@pytest.mark.parametrize("name", ["A", "B"])
@pytest.mark.parametrize("metric", ["exp_mmd", "exp_w2", "exp_gfd", "exp_kgfd"])
@pytest.mark.parametrize("target", ["gaussian", "imq"])
def test_published_values(reference, name, metric, target):
    case, arrays = reference[name]
    prediction, targets = kernels(case, arrays)
    y, batch = arrays["y"], IsotropicNormal(arrays["mu"], arrays["sigma"])
    options = {"prediction_kernel": prediction[metric], "target_kernel": targets[target]}
    facts, key = case[f"kccsd_{target}_y"][metric], f"kccsd_{target}_y:{metric}"
    assert float(kccsd(y, batch, **options)) == pytest.approx(facts["kccsd"], abs=1e-10)
    biased = kccsd(y, batch, estimator="biased", **options)
    assert float(biased) == pytest.approx(facts["v_statistic_numpy"], abs=1e-10)
    matrix = KCCSD(**options).prepare(batch).matrix(y)
    np.testing.assert_allclose(matrix.dense(), arrays[f"H_kccsd_{target}_y_{metric}"], atol=1e-10)
    some = kccsd(y, batch, estimator="incomplete", superdiagonals=3, **options)
    assert float(some) == pytest.approx(case["incomplete"][key]["R3_kccsd"], abs=1e-10)
    # one superdiagonal of the published code is the linear estimator: pairs that share no row
    blocks = KCCSD(estimator="block", block_size=2, **options).prepare(batch).block_values(y)
    assert blocks.mean() == pytest.approx(case["incomplete"][key]["R1_linear_kccsd"], abs=1e-10)
    quantile = stats.norm.ppf(0.95) * np.sqrt((blocks**2).mean() / len(blocks))
    assert quantile == pytest.approx(case["incomplete"][key]["R1_quantile_numpy"], abs=1e-10)


@pytest.mark.parametrize("name", ["A", "B"])
def test_published_wild_bootstrap(reference, name):
    case, arrays = reference[name]
    prediction, targets = kernels(case, arrays)
    y, batch, signs = arrays["y"], IsotropicNormal(arrays["mu"], arrays["sigma"]), arrays["W"].T.astype(float)
    n = len(y)
    for key, facts in case["bootstrap"].items():
        statistic = {"kccsd": KCCSD, "skce": kc.SKCE}[key.split("_")[0]]
        options = {"prediction_kernel": prediction[key.split(":")[1]], "target_kernel": targets[key.split("_")[1]]}
        matrix = statistic(**options).prepare(batch).matrix(y)
        drawn = NULL_LAWS["wild"]().with_signs(matrix, signs) / n
        expected = [facts["q90"], facts["q95"], facts["q99"]]
        np.testing.assert_allclose(np.quantile(drawn, [0.9, 0.95, 0.99]), expected, atol=1e-10)
        observed = NULL_LAWS["wild"]().with_signs(matrix, np.ones((n, 1)))[0] / n
        assert observed == pytest.approx(facts["stat"], abs=1e-10)
        above = (drawn >= observed - 1e-12).sum()
        ties = (np.abs(signs.sum(axis=0)) == n).sum()  # all signs equal: we count them, there rounding decides
        counted = round(facts["p_value_plus1"] * (len(drawn) + 1)) - 1
        assert above - ties <= counted <= above
        assert facts["p_value_plus1"] == pytest.approx((1 + counted) / (len(drawn) + 1), abs=1e-10)


def test_published_incomplete_skce(reference):
    for case, arrays in reference.values():
        prediction, targets = kernels(case, arrays)
        y, batch = arrays["y"], IsotropicNormal(arrays["mu"], arrays["sigma"])
        for metric, kernel in prediction.items():
            options = {"prediction_kernel": kernel, "target_kernel": targets["gaussian"]}
            facts = case["incomplete"][f"skce_gaussian_y:{metric}"]
            three = kc.skce(y, batch, estimator="incomplete", superdiagonals=3, **options)
            assert float(three) == pytest.approx(facts["R3_kccsd"], abs=1e-10)


def test_published_values_from_base_points(data_folder):
    """Case E: distances between scores at eleven points, for the family and for its score alone."""
    folder = data_folder / "reference"
    case = json.loads((folder / "kccsd_reference.json").read_text())["cases"]["E_sample_based"]
    arrays, facts = np.load(folder / "kccsd_case_E.npz"), case["params"]
    mean, std, points = arrays["mu"], arrays["sigma"], arrays["base_particles"]
    score = Score(lambda y, m, s: (m - y) / s[:, None] ** 2, (mean, std), event_shape=2)
    metrics = {
        "gfd": FisherDivergence(points),
        "kgfd": KernelFisherDivergence(kc.Gaussian(facts["ell"]), points),
    }
    targets = {"gauss": kc.Gaussian(facts["sigma_y"]), "imq": kc.InverseMultiquadric(facts["sigma_y"])}
    for batch in (IsotropicNormal(mean, std), score):
        for name, metric in metrics.items():
            kernel = kc.Gaussian(facts["sigma_p"], metric=metric)
            for target, kernel_y in targets.items():
                value = kccsd(arrays["y"], batch, prediction_kernel=kernel, target_kernel=kernel_y)
                assert float(value) == pytest.approx(case[f"kccsd_disc_{name}_{target}_y"]["kccsd"], abs=1e-10)


# a second implementation


def stein_matrix(kernel, y, scores, matrix=None):
    """Inner products pair by pair, derivatives of the kernel by JAX: nothing is shared with the package."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    value, first, second = kernel, jax.grad(kernel, 1), jax.jacfwd(jax.grad(kernel, 0), 1)
    mixed = jax.jit(lambda a, b: (value(a, b), jax.grad(kernel, 0)(a, b), first(a, b), second(a, b)))
    b = np.eye(y.shape[1]) if matrix is None else matrix
    h = np.empty((len(y), len(y)))
    for i in range(len(y)):
        for j in range(len(y)):
            other = y[j] + 1e-9 * (i == j)  # roots have no derivative at 0
            value_ij, by_y, by_z, both = (np.asarray(x) for x in mixed(y[i], other))
            h[i, j] = value_ij * scores[i] @ b @ scores[j] + np.trace(b @ both)
            h[i, j] += scores[i] @ b @ by_z + scores[j] @ b @ by_y
    return h


def written_out(name):
    """The kernels of the table as formulae."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    square = lambda a, b: ((a - b) ** 2).sum()  # noqa: E731
    gaussian = lambda s: lambda a, b: jnp.exp(-square(a, b) / (2 * s**2))  # noqa: E731
    multiquadric = lambda s, c, p: lambda a, b: (c**2 + square(a, b) / s**2) ** p  # noqa: E731

    def matern(s):
        def kernel(a, b):
            t = jnp.sqrt(5 * square(a, b)) / s
            return (1 + t + t**2 / 3) * jnp.exp(-t)

        return kernel

    return {
        "gaussian": gaussian(0.8),
        "multiquadric": multiquadric(1.1, 1.0, -0.5),
        "other multiquadric": multiquadric(0.7, 1.4, -0.3),
        "rational": lambda a, b: (1 + square(a, b) / (2 * 1.7 * 0.9**2)) ** -1.7,
        "matern": matern(1.2),
        "sum": lambda a, b: gaussian(0.5)(a, b) + 2 * matern(2.0)(a, b),
        "product": lambda a, b: multiquadric(1.5, 1.0, -0.5)(a, b) * matern(1.3)(a, b),
    }[name]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shape", ["numbers", "vectors", "matrix"])
@pytest.mark.quick_cases(3)
def test_inner_products_equal_those_by_differentiation(name, shape):
    y, batch = numbers(6) if shape == "numbers" else vectors(6)
    rng = np.random.default_rng(5)
    root = rng.normal(size=(3, 2))
    matrix = root @ root.T if shape == "matrix" else None
    weights = rng.uniform(0.5, 2, 6) if shape == "matrix" else None
    scores = batch.score(y)
    expected = stein_matrix(written_out(name), y.reshape(6, -1), scores.reshape(6, -1), matrix)
    if weights is not None:
        expected *= np.outer(weights, weights)
    inner = SteinResidual.of(batch, KERNELS[name], weights, matrix).inner(y)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(inner.block(ALL, ALL), expected, rtol=1e-7, atol=1e-7 * scale)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(inner.block(ALL, ALL)[off], expected[off], rtol=1e-10, atol=1e-12 * scale)
    np.testing.assert_allclose(inner.block(slice(1, 4), np.array([5, 0])), expected[1:4][:, [5, 0]], rtol=1e-7)
    pairs = inner.aligned(slice(0, 3), slice(3, 6))
    np.testing.assert_allclose(pairs, expected[[0, 1, 2], [3, 4, 5]], rtol=1e-10, atol=1e-12 * scale)
    own = inner.aligned(ALL, ALL)
    np.testing.assert_allclose(own, np.diag(inner.block(ALL, ALL)), rtol=1e-10, atol=1e-12 * scale)


def test_a_pair_by_hand():
    """Gaussian, two numbers: l = exp(-1/2), s = (-1, 0.5), d = y - y' = 1."""
    batch = Normal([1.0, 1.5], [1.0, 1.0])
    y = np.array([2.0, 1.0])
    value = np.exp(-0.5) * (-1 * 0.5 + (1 - 1) + (-1 - 0.5) * 1.0)
    inner = SteinResidual.of(batch, kc.Gaussian(1.0)).inner(y)
    assert inner.block(ALL, ALL)[0, 1] == pytest.approx(value, rel=1e-14)
    assert inner.aligned(ALL, ALL) == pytest.approx([1 + 1, 0.25 + 1], rel=1e-14)


@pytest.mark.parametrize("name", KERNELS)
def test_the_matrix_is_positive_semi_definite(name):
    y, batch = vectors(40)
    h = SteinResidual.of(batch, KERNELS[name]).inner(y).block(ALL, ALL)
    assert np.linalg.eigvalsh(h)[0] > -1e-10 * np.abs(h).max()


@pytest.mark.parametrize("name", KERNELS)
def test_far_targets_and_large_offsets(name):
    """Neither a common offset of targets nor rows that lie apart cost digits."""
    y, batch = vectors(12)
    moved = MultivariateNormal(batch.mean + 1e5, batch.cov)
    near = SteinResidual.of(batch, KERNELS[name]).inner(y).block(ALL, ALL)
    far = SteinResidual.of(moved, KERNELS[name]).inner(y + 1e5).block(ALL, ALL)
    np.testing.assert_allclose(far, near, rtol=1e-7, atol=1e-8 * np.abs(near).max())
    y[3] += 1e6
    apart = SteinResidual.of(batch, KERNELS[name]).inner(y).block(ALL, ALL)
    kept = np.delete(np.arange(12), 3)
    np.testing.assert_allclose(apart[np.ix_(kept, kept)], near[np.ix_(kept, kept)], rtol=1e-9, atol=1e-10)
    assert np.isfinite(apart).all()


# Stein's identity


def quartic(y, a):
    return -4 * (y - a) ** 3


def densities():
    """Families of one number with unnormalised densities, and kinks between which they are smooth."""
    normal, laplace = Normal([0.3], [1.2]), Laplace([-0.4], [0.7])
    mixture = Mixture([0.3, 0.7], [normal, laplace])
    return {
        "normal": (normal, lambda y: np.exp(normal.log_prob(y)), [0.3]),
        "laplace": (laplace, lambda y: np.exp(laplace.log_prob(y)), [-0.4]),
        "mixture": (mixture, lambda y: np.exp(mixture.log_prob(y)), [-0.4]),
        "score": (Score(quartic, np.array([0.5])), lambda y: np.exp(-((y - 0.5) ** 4)), [0.5]),
        "log density": (
            UnnormalizedDensity(lambda y, a: -((y - a) ** 4), np.array([0.5]), gradient=quartic),
            lambda y: np.exp(-((y - 0.5) ** 4)),
            [0.5],
        ),
    }


def quadrature(kinks):
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.unique(np.concatenate([np.linspace(-30, 30, 121), kinks]))
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


@pytest.mark.parametrize("family", densities())
@pytest.mark.parametrize("name", KERNELS)
def test_features_have_mean_zero_under_the_prediction(family, name):
    """E h((P, Y), (P', y')) = 0 for Y ~ P whatever P' and y' are; the scale is that of E |h|."""
    predictions, density, kinks = densities()[family]
    y, weights = quadrature(kinks)
    weights = weights * density(y)
    many = predictions.map_arrays(lambda x: np.repeat(x, len(y), axis=0))
    scores = np.append(many.score(y), [0.8, -1.3])
    fixed = Score(lambda y, s: s, scores)  # the rows of the quadrature, and two other rows with any score
    inner = SteinResidual.of(fixed, KERNELS[name]).inner(np.append(y, [1.0, -2.0]))
    values = inner.block(slice(0, len(y)), slice(len(y), None))
    size = weights @ np.abs(values)
    np.testing.assert_array_less(np.abs(weights @ values), 1e-9 * size)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("matrix", [None, np.array([[2.0, 0.6], [0.6, 0.5]])], ids=["identity", "matrix"])
@pytest.mark.parametrize("family", ["full", "diagonal", "mixture"])
def test_features_of_vectors_have_mean_zero_under_the_prediction(name, matrix, family):
    full = MultivariateNormal([[0.3, -0.2]], [[[1.0, 0.4], [0.4, 0.6]]])
    diagonal = DiagonalNormal([[-0.5, 0.4]], [[0.8, 1.1]])
    batch = {"full": full, "diagonal": diagonal, "mixture": Mixture([0.4, 0.6], [full, diagonal])}[family]
    line = np.linspace(-9, 9, 181)  # the trapezoidal rule is exact for smooth functions that vanish at the ends
    y = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.exp(batch.map_arrays(lambda x: np.repeat(x, len(y), axis=0)).log_prob(y)) * 0.1**2
    assert weights.sum() == pytest.approx(1, abs=1e-10)
    scores = np.vstack([batch.map_arrays(lambda x: np.repeat(x, len(y), axis=0)).score(y), [[0.8, -1.3]]])
    residual = SteinResidual.of(Score(lambda y, s: s, scores, event_shape=2), KERNELS[name], None, matrix)
    values = residual.inner(np.vstack([y, [[0.7, -0.3]]])).block(slice(0, len(y)), slice(len(y), None))[:, 0]
    rough = name in ("matern", "sum", "product")  # third derivatives jump, and the rule is exact no more
    assert abs(weights @ values) < (3e-5 if rough else 1e-9) * (weights @ np.abs(values))


# the statistic


def test_estimators_equal_sums_over_the_matrix():
    y, batch = vectors(23)
    weights = np.random.default_rng(1).uniform(0.2, 2, 23)
    own = weights / weights.mean()
    options = {"prediction_kernel": kc.Laplacian(1.3), "target_kernel": kc.Matern52(1.1)}
    h = KCCSD(**options).prepare(batch).matrix(y).dense()
    off = h - np.diag(np.diag(h))
    w = np.outer(own, own)
    blocks = [slice(k, k + 5) for k in range(0, 20, 5)]
    pairs = [(i, i + r) for r in range(1, 5) for i in range(23 - r)]
    expected = {
        "unbiased": (off * w).sum() / (w.sum() - (own**2).sum()),
        "biased": (h * w).sum() / w.sum(),
        "block": sum((off * w)[b, b].sum() for b in blocks) / sum(w[b, b].sum() - np.trace(w[b, b]) for b in blocks),
        "incomplete": sum((h * w)[i, j] for i, j in pairs) / sum(w[i, j] for i, j in pairs),
    }
    more = {"block": {"block_size": 5}, "incomplete": {"superdiagonals": 4}}
    for estimator, value in expected.items():
        statistic = KCCSD(estimator=estimator, **more.get(estimator, {}), **options)
        assert float(statistic(y, batch, weights=weights)) == pytest.approx(value, rel=1e-11)
        values = statistic.prepare(batch, own).values(np.stack([y, y + 0.1, y]))[:, 0]
        assert values[[0, 2]] == pytest.approx([value, value], rel=1e-11)
        assert abs(values[1] / value - 1) > 1e-4


def test_tiles_and_threads_change_nothing():
    y, batch = vectors(150)
    statistic = {"prediction_kernel": kc.Gaussian(1.3), "target_kernel": kc.InverseMultiquadric(1.1)}
    expected = float(kccsd(y, batch, **statistic))
    for engine in (kc.ExactPairs(rows=7, columns=31), kc.ExactPairs(threads=1), kc.ExactPairs(rows=64, columns=64)):
        assert float(kccsd(y, batch, engine=engine, **statistic)) == pytest.approx(expected, rel=1e-11)


def test_the_pair_matrix_is_symmetric_and_its_forms_are_products():
    """Forms are made of the entries above the diagonal, in strips; here of all entries at once."""
    n = 700
    y, batch = vectors(n, d=2)
    matrix = KCCSD(prediction_kernel=kc.Gaussian(1.3), target_kernel=kc.Gaussian(1.0)).prepare(batch).matrix(y)
    columns = np.random.default_rng(0).normal(size=(n, 5))
    computed = matrix.quadratic(columns), matrix.quadratic(columns, diagonal=False)
    h = matrix.dense()
    expected = np.einsum("ib,ij,jb->b", columns, h, columns)
    scale = np.abs(h).sum()
    np.testing.assert_allclose(computed[0], expected, atol=1e-12 * scale)
    np.testing.assert_allclose(computed[1], expected - np.diag(h) @ columns**2, atol=1e-12 * scale)
    np.testing.assert_allclose(matrix.quadratic(columns), expected, atol=1e-12 * scale)  # once it is kept


def test_skce_and_kccsd_see_the_same_pairs():
    """Proposition 3.1: KCCSD is the SKCE of the Stein kernel, whose expectations under predictions are zero."""
    batch = numbers(40)[1]
    skce = kc.SKCE(prediction_kernel=kc.Gaussian(0.7)).prepare(batch)
    ours = KCCSD(prediction_kernel=kc.Gaussian(0.7)).prepare(batch)
    np.testing.assert_array_equal(skce.forms.kernel_rows(ALL), ours.forms.kernel_rows(ALL))
    assert skce.target_kernel == kc.kernels.PIT()
    assert ours.target_kernel == kc.Gaussian(np.median(batch.std))


def test_every_library_and_its_gradient(backend):
    y, batch = vectors(14)
    options = {"prediction_kernel": kc.Gaussian(1.3, metric=Wasserstein()), "target_kernel": kc.Matern52(1.0)}
    batch = DiagonalNormal(batch.mean, batch.std)
    value = kccsd(y, batch.map_arrays(backend), **options).value
    assert type(value) is type(backend(np.zeros(2))[0])
    assert float(to_numpy(value)) == pytest.approx(float(kccsd(y, batch, **options)), rel=1e-10)


@pytest.mark.parametrize("kernel", [kc.Gaussian(0.9), kc.InverseMultiquadric(1.2), kc.Matern52(1.0)], ids=str)
def test_gradients_flow(kernel):
    torch = pytest.importorskip("torch")
    y, batch = numbers(12)
    options = {"prediction_kernel": kc.Gaussian(1.3), "target_kernel": kernel}
    mean, std = (torch.tensor(x, requires_grad=True) for x in (batch.mean, batch.std))
    kccsd(y, Normal(mean, std), **options).value.backward()
    for k, gradient in enumerate((mean.grad, std.grad)):
        for i in (0, 5):
            moved = [
                [x + s * 1e-6 * (np.arange(12) == i) if j == k else x for j, x in enumerate((batch.mean, batch.std))]
                for s in (1, -1)
            ]
            up, down = (float(kccsd(y, Normal(*arrays), **options)) for arrays in moved)
            assert float(gradient[i]) == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [kc.Gaussian(0.9), kc.Matern52(1.0)], ids=str)
def test_programs_compiled_by_jax(kernel):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    y, batch = numbers(12)
    options = {"prediction_kernel": kc.Gaussian(1.3), "target_kernel": kernel}
    std = jax.numpy.asarray(batch.std)
    value = lambda mean: kccsd(y, Normal(mean, std), **options).value  # noqa: E731
    compiled, plain = (f(jax.numpy.asarray(batch.mean)) for f in (jax.jit(jax.value_and_grad(value)), jax.grad(value)))
    assert float(compiled[0]) == pytest.approx(float(kccsd(y, batch, **options)), rel=1e-11)
    np.testing.assert_allclose(compiled[1], plain, rtol=1e-9, atol=1e-12)
    assert np.abs(np.asarray(plain)).max() > 1e-3


def test_gradients_flow_through_densities_of_pytorch():
    torch = pytest.importorskip("torch")
    y, batch = numbers(12)
    mean = torch.tensor(batch.mean, requires_grad=True)
    options = {
        "prediction_kernel": kc.Gaussian(1.0, metric=FisherDivergence("standard", size=5)),
        "target_kernel": kc.Gaussian(1.0),
    }
    value = kccsd(y, UnnormalizedDensity(lambda y, m: -((y - m) ** 4) / 4, mean), **options).value
    value.backward()
    found = []
    for s in (1, -1):
        density = Score(lambda y, m: -((y - m) ** 3), batch.mean + s * 1e-6 * (np.arange(12) == 3))
        found.append(float(kccsd(y, density, **options)))
    assert float(mean.grad[3]) == pytest.approx((found[0] - found[1]) / 2e-6, rel=1e-5)


# predictions known through their score function


def test_scores_alone_give_what_the_family_gives():
    y, batch = vectors(60)
    mean, cov = batch.mean, batch.cov
    score = Score(lambda y, m, c: np.linalg.solve(c, (m - y)[..., None])[..., 0], (mean, cov), event_shape=3)
    for metric in (FisherDivergence(np.random.default_rng(0).normal(size=(7, 3))),):
        options = {"prediction_kernel": kc.Gaussian(1.1, metric=metric), "target_kernel": kc.InverseMultiquadric(1.0)}
        for more in (
            {},
            {"estimator": "biased"},
            {"estimator": "incomplete", "superdiagonals": 2},
            {"estimator": "block", "block_size": 3},
            {"matrix": [1.0, 2.0, 0.5]},
        ):
            ours, theirs = (float(kccsd(y, p, **options, **more)) for p in (score, batch))
            assert ours == pytest.approx(theirs, rel=1e-10)
        results = [
            kc.calibration_test(y, p, statistic=KCCSD(**options), null="wild", draws=199) for p in (score, batch)
        ]
        assert results[0].pvalue == results[1].pvalue


def test_a_density_alone_is_tested_by_default():
    rng = np.random.default_rng(2)
    mean = rng.normal(size=120)
    y = mean + rng.normal(size=120)
    good = Score(lambda y, m: m - y, mean)
    result = kc.calibration_test(y, good, draws=199)
    assert result.null == "wild bootstrap with random signs"
    assert [member.name for member in result.members] == ["KCCSD"]
    assert result.fired == ""
    assert result.pvalue > 0.05
    assert any("median distance between the observed targets" in note for note in result.notes)
    assert any(
        "compares score functions where a normal with the targets' moments lies" in note for note in result.notes
    )
    narrow = Score(lambda y, m: 4 * (m - y), mean)
    rejected = kc.calibration_test(y, narrow, draws=199)
    assert (rejected.pvalue, rejected.fired) == (1 / 200, "KCCSD")
    same = kc.calibration_test(y, narrow, statistic="kccsd", draws=199)
    assert same.pvalue == 1 / 200
    blocks = KCCSD(estimator="block", block_size=2)
    assert kc.calibration_test(y, narrow, statistic=blocks).null == "normal law of the block values"
    some = KCCSD(estimator="incomplete", superdiagonals=60)
    assert kc.calibration_test(y, narrow, statistic=some, draws=199).pvalue < 0.05


def test_samplers_make_exact_tests_and_draws_make_swaps():
    rng = np.random.default_rng(3)
    mean = rng.normal(size=50)
    y = mean + rng.normal(size=50)
    function = lambda y, m: m - y  # noqa: E731
    sampled = Score(function, mean, sampler=lambda rng, m: m + rng.normal(size=m.shape))
    result = kc.calibration_test(y, sampled, draws=99)
    assert result.null == "exact, targets redrawn from the predictions"
    assert result.pvalue > 0.05
    wide = Score(lambda y, m: (m - y) / 9, mean, sampler=lambda rng, m: m + 3 * rng.normal(size=m.shape))
    assert kc.calibration_test(y, wide, draws=99).pvalue < 0.05
    drawn = Score(function, mean, draws=mean[:, None] + rng.normal(size=(50, 30)))
    result = kc.calibration_test(y, drawn, draws=99)
    assert result.null == "exact, the outcome swapped with the draws"
    assert result.pvalue > 0.05
    with pytest.raises(InputError, match="use null='swap', which uses the draws"):
        kc.calibration_test(y, drawn, null="exact")


def test_wild_bootstrap_of_superdiagonals_equals_a_loop():
    y, batch = numbers(15)
    statistic = KCCSD(estimator="incomplete", superdiagonals=3, prediction_kernel=kc.Gaussian(1.0))
    matrix = statistic.prepare(batch).taken(y)
    h = KCCSD(prediction_kernel=kc.Gaussian(1.0)).prepare(batch).matrix(y).dense()
    signs = np.where(np.random.default_rng(0).random((15, 6)) < 0.5, -1.0, 1.0)
    pairs = [(i, i + r) for r in (1, 2, 3) for i in range(15 - r)]
    expected = [15 * np.mean([w[i] * w[j] * h[i, j] for i, j in pairs]) for w in signs.T]
    np.testing.assert_allclose(NULL_LAWS["wild"]().with_signs(matrix, signs), expected, rtol=1e-12)
    result = kc.calibration_test(y, batch, statistic=statistic, null="wild", draws=99)
    assert result.statistic == pytest.approx(np.mean([h[i, j] for i, j in pairs]), rel=1e-11)


def test_batches_of_signs_change_nothing(monkeypatch):
    y, batch = numbers(70)
    told = []
    run = lambda: kc.calibration_test(  # noqa: E731
        y, batch, statistic="kccsd", null="wild", draws=60, progress=lambda done, total: told.append((done, total))
    )
    whole = run()
    monkeypatch.setattr(sys.modules["kernelcal.inference.laws.resampled"], "_BYTES", 8 * 70 * 25)
    parts = run()
    assert told == [(60, 60), (25, 60), (50, 60), (60, 60)]
    assert (whole.pvalue, whole.draws) == (parts.pvalue, parts.draws)
    assert whole.statistic == pytest.approx(parts.statistic, rel=1e-12)
    assert whole.statistic == pytest.approx(float(kccsd(y, batch)), rel=1e-12)


@pytest.mark.parametrize("null", ["exact", "wild", "bootstrap", "gamma", "pearson", "spectrum", "consistency"])
def test_null_laws_serve_it(null):
    rng = np.random.default_rng(4)
    batch = Normal(rng.normal(size=80), 1.0)
    y = batch.sample(rng)[0]
    result = kc.calibration_test(y, batch, statistic="kccsd", null=null, draws=99)
    assert 0.01 < result.pvalue <= 1
    wrong = Normal(batch.mean, 0.45)
    assert kc.calibration_test(y, wrong, statistic="kccsd", null=null, draws=99).pvalue <= 0.05


def test_bounds_and_known_spectra_do_not_serve_it():
    y, batch = numbers(60)
    with pytest.raises(InputError, match="Stein residuals have no bound, since scores have none: use null='wild'"):
        kc.calibration_test(y, batch, statistic="kccsd", null="bound")
    with pytest.raises(InputError, match="null='saddlepoint' serves class predictions"):
        kc.calibration_test(y, batch, statistic="kccsd", null="saddlepoint")
    with pytest.raises(
        InputError, match=r"null='gamma' needs statistic=kernelcal.statistics.KCCSD.estimator='unbiased'"
    ):
        kc.calibration_test(y, batch, statistic=KCCSD(estimator="biased"), null="gamma")
    with pytest.raises(InputError, match=r"null='wild' is the law of .*SKCE.* or of KCCSD, not of ECE"):
        kc.calibration_test([0, 1], [0.2, 0.7], statistic="ece", null="wild")


@pytest.mark.slow
def test_rejections_of_calibrated_and_of_shifted_models():
    """Level within its binomial bound, and power, by the wild bootstrap (mean Gaussian model of the paper, d = 2)."""
    rejected = {0.0: 0, 0.6: 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(60, 2))
        y = x + rng.normal(size=(60, 2))
        for shift in rejected:
            statistic = KCCSD(prediction_kernel=kc.Gaussian(2.0, metric=Wasserstein()), target_kernel=kc.Gaussian(2.0))
            batch = IsotropicNormal(x + np.array([shift, 0.0]), np.ones(60))
            result = kc.calibration_test(y, batch, statistic=statistic, null="wild", draws=199, rng=seed)
            rejected[shift] += result.pvalue <= 0.05
    assert rejected[0.0] <= stats.binom.ppf(0.999, 60, 0.05)
    assert rejected[0.6] >= 54


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 5])
def test_scores_alone_keep_the_level_though_targets_choose_the_kernels(d):
    rng, rejected, size = np.random.default_rng(d), 0, 200
    for _ in range(size):
        mean = rng.normal(size=(30, d))
        batch = Score(lambda y, m: m - y, mean, event_shape=d)
        rejected += kc.calibration_test(mean + rng.normal(size=mean.shape), batch, draws=99).pvalue <= 0.05
    assert rejected <= stats.binom.isf(1e-4, size, 0.05)


@pytest.mark.slow
def test_proportions_of_modes_far_apart_are_not_seen():
    """The blindness that the docs speak of: the scores of both mixtures agree where the targets lie."""
    rng = np.random.default_rng(0)
    n = 200
    parts = [Normal(np.full(n, -10.0), 1.0), Normal(np.full(n, 10.0), 1.0)]
    y = Mixture([0.5, 0.5], parts).sample(rng)[0]
    wrong = Mixture([0.9, 0.1], parts)
    statistic = KCCSD(target_kernel=kc.Gaussian(1.0))
    assert kc.calibration_test(y, wrong, statistic=statistic, null="wild", draws=199).pvalue > 0.05
    assert kc.calibration_test(y, wrong, statistic=kc.SKCE(target_kernel=kc.Gaussian(1.0)), draws=199).pvalue < 0.05


@pytest.mark.slow
def test_what_targets_tell_where_scores_do_not():
    y = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    assert median_distance(y) == 5.0
    assert median_distance(np.zeros(4)) == 1.0
    many = np.random.default_rng(0).normal(size=3000)
    assert median_distance(many) == pytest.approx(np.median(np.abs(np.subtract.outer(many, many))), rel=0.05)
    np.testing.assert_allclose(normal_of(y).mean, [[1.0, 4 / 3]])
    np.testing.assert_allclose(normal_of(np.array([1.0, 3.0])).std, [1.0])
    assert normal_of(np.ones(3)).std == [1.0]
    score = Score(lambda y, m: m - y, y, event_shape=2)
    statistic, notes = KCCSD(target_kernel=2.0 * kc.Gaussian() + kc.Matern52(3.0)).seeing(y, score)
    assert statistic.target_kernel == 2.0 * kc.Gaussian(5.0) + kc.Matern52(3.0)
    assert len(notes) == 2
    given = KCCSD(prediction_kernel=kc.Gaussian(1.0), target_kernel=kc.Gaussian(1.0))
    assert given.seeing(y, score) == (given, ())
    described = Score(lambda y, m: m - y, y, event_shape=2, draws=y[:, None] + np.array([[-1.0, 1.0], [1.0, -1.0]]))
    for untouched in (described, IsotropicNormal(y, np.ones(3))):
        assert KCCSD().seeing(y, untouched) == (KCCSD(), ())  # exact tests never look at the targets
    assert kc.SKCE().seeing(y, score) == (kc.SKCE(), ())


def test_base_measures_are_those_of_the_whole_batch():
    """Blocks are parts of the batch: the metric must not choose another base measure in each."""
    y, batch = numbers(300)
    statistic = KCCSD(prediction_kernel=kc.Gaussian(1.0, metric=FisherDivergence()), target_kernel=kc.Gaussian(1.0))
    h = statistic.prepare(batch).matrix(y).dense()
    np.fill_diagonal(h, 0)
    blocks = replace(statistic, estimator="block", block_size=100).prepare(batch).block_values(y)
    expected = [h[k : k + 100, k : k + 100].sum() / (100 * 99) for k in (0, 100, 200)]
    np.testing.assert_allclose(blocks, expected, rtol=1e-11)


# what is refused


def broken(y, a):
    with np.errstate(divide="ignore", invalid="ignore"):
        return (a - y) / (a - a[3])  # the score of row 3 is NaN or infinite


@pytest.mark.parametrize("call", [kccsd, kc.calibration_test], ids=["estimate", "test"])
def test_scores_that_are_no_numbers_are_refused(call):
    rng = np.random.default_rng(0)
    a = rng.normal(size=30)
    kernel = kc.Gaussian(1.0, metric=FisherDivergence(np.array([0.0])))
    bad = Score(lambda y, a, keep: np.where(keep, a - y, np.nan), (a, np.arange(30) != 7))
    infinite = UnnormalizedDensity(lambda y, a: np.where(y > -1, a * y, -np.inf), a, gradient=lambda y, a: a + 0 * y)
    y = np.abs(rng.normal(size=30))
    y[11] = -2.0
    options = (
        {"statistic": KCCSD(prediction_kernel=kernel)} if call is kc.calibration_test else {"prediction_kernel": kernel}
    )
    with pytest.raises(InputError, match=r"the score of UnnormalizedDensity in row 11 is infinite at the target -2"):
        call(y, infinite, **options)
    kernel = kc.Gaussian(1.0, metric=_Constant())
    options = (
        {"statistic": KCCSD(prediction_kernel=kernel)} if call is kc.calibration_test else {"prediction_kernel": kernel}
    )
    with pytest.raises(InputError, match=r"the score of Score in row 7 is NaN at the target"):
        call(y, bad, **options)


class _Constant(kc.kernels.Metric):
    """All predictions are equal, or their distance is not a number."""

    order = 2

    def __init__(self, value=0.0):
        self.value = value

    def coordinates(self, predictions):
        return np.full((len(predictions), 1), self.value)

    def largest_exponent(self, predictions):
        return 2.0


@pytest.mark.parametrize("null", ["wild", "bootstrap", "gamma", "pearson", "spectrum", "block", "exact"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_not_a_number_is_never_not_rejected(null):
    y, batch = numbers(30)
    more = {"estimator": "block", "block_size": 2} if null == "block" else {}
    statistic = KCCSD(prediction_kernel=kc.Gaussian(1.0, metric=_Constant(np.nan)), **more)
    with pytest.raises(InputError, match=r"KCCSD is nan and cannot be compared|'KCCSD' is NaN for some targets"):
        kc.calibration_test(y, batch, statistic=statistic, null=null, draws=99)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_sums_that_overflow_are_refused():
    y = np.linspace(0, 1, 30)
    huge = Score(lambda y, a: 1e60 * (a - y), np.zeros(30))
    kernel = 1e200 * kc.Gaussian(1.0, metric=_Constant())
    with pytest.raises(InputError, match=r"KCCSD is .* and cannot be compared with its law"):
        kc.calibration_test(y, huge, statistic=KCCSD(prediction_kernel=kernel))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: kccsd([0.0, 1.0], numbers(2)[1], target_kernel=kc.Laplacian(1.0)),
            "a target kernel that is twice differ",
        ),
        (
            lambda: kccsd([0.0, 1.0], numbers(2)[1], target_kernel=kc.Matern32(1.0) + kc.Gaussian(1.0)),
            "twice differentiable",
        ),
        (
            lambda: kccsd([0.0, 1.0], numbers(2)[1], target_kernel=Coordinatewise(kc.Matern32(1.0))),
            "twice differentiable",
        ),
        (
            lambda: kccsd([0.0, 1.0], numbers(2)[1], target_kernel=kc.Gaussian(1.0, metric=Wasserstein())),
            "Wasserstein compares predictions, not targets",
        ),
        (lambda: kccsd([0, 1], [0.2, 0.7]), "KCCSD needs densities of numbers or vectors.*got Bernoulli: use SKCE"),
        (lambda: kccsd([0.0, 1.0], kc.Samples(np.eye(2))), "Samples has no smooth density, and so no score"),
        (
            lambda: kccsd(*vectors(4), matrix=np.eye(2)),
            r"matrix must be a symmetric matrix.*\(3, 3\).*got shape \(2, 2\)",
        ),
        (lambda: kccsd(*vectors(4), matrix=-np.ones(3)), "matrix must be positive semi-definite and not zero"),
        (lambda: kccsd(*vectors(4), matrix=np.zeros(3)), "matrix must be positive semi-definite and not zero"),
        (lambda: KCCSD(estimator="incomplete"), "superdiagonals belongs to estimator='incomplete', which needs it"),
        (lambda: KCCSD(superdiagonals=3), "superdiagonals belongs to estimator='incomplete'"),
        (
            lambda: KCCSD(estimator="incomplete", superdiagonals=0),
            "superdiagonals must be a whole number, at least 1, got 0",
        ),
        (
            lambda: kccsd(*numbers(3), estimator="incomplete", superdiagonals=3),
            "the incomplete estimator needs at least 4 rows, got 3",
        ),
        (lambda: kccsd(*numbers(3), integrator=None), "kccsd has no option 'integrator'; its options are"),
        (lambda: kccsd(*numbers(3), prediction_kernel="median"), "prediction_kernel must be a kernel"),
        (
            lambda: kccsd(*numbers(3), engine=kc.Nystrom()),
            "Stein residuals have no features, which Nystrom needs: use ExactPairs",
        ),
        (
            lambda: kc.SKCE(estimator="incomplete", superdiagonals=2, engine=kc.Nystrom()),
            "estimator='incomplete' is made of exact pairs, got engine=Nystrom",
        ),
        (
            lambda: kc.confidence_interval(*numbers(9), statistic=kc.SKCE(estimator="incomplete", superdiagonals=2)),
            "estimator='incomplete'",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_results_say_what_was_done():
    y, batch = vectors(9)
    estimate = kccsd(y, batch, estimator="incomplete", superdiagonals=2, matrix=[1.0, 2.0, 1.0])
    text = repr(estimate)
    assert "KCCSD" in text
    assert "superdiagonals" in text
    assert "2 superdiagonals, exact pairs" in text
    assert "(1.0, 2.0, 1.0)" in text
    assert KCCSD(matrix=np.eye(2)) == KCCSD(matrix=[[1, 0], [0, 1]])
    assert hash(KCCSD(matrix=np.eye(2))) == hash(KCCSD(matrix=np.eye(2)))
    resolved = KCCSD().resolved(batch)
    assert isinstance(resolved.prediction_kernel.lengthscale, float)
    assert float(resolved(y, batch)) == pytest.approx(float(kccsd(y, batch)))


def test_a_function_that_gives_no_numbers_is_named_before_the_base_points():
    y, nothing = np.zeros(4), Score(lambda y, a: a * np.nan, np.zeros(4))
    half_line = UnnormalizedDensity(
        lambda y, a: np.where(y > 0, -y, -np.inf), np.zeros(4), gradient=lambda y, a: -np.ones_like(y)
    )
    for call in (kccsd, kc.calibration_test, kc.evaluate):
        with pytest.raises(InputError, match="the score of Score in row 0 is NaN at the target"):
            call(y, nothing)
        with pytest.raises(InputError, match=r"in row 2 is infinite at the target.*lies outside the support"):
            call(np.array([1.0, 2.0, -1.0, 3.0]), half_line)
