"""The calibration mean embedding test: known covariances, levels by binomial bounds, power, and what it refuses."""

import numpy as np
import pytest
from scipy.stats import binom, chi2, f as fisher

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.inference.laws.location_forms import Whitening, known_covariance
from kernelcal.inference.laws.mean_embedding import CME
from kernelcal.kernels import Coordinatewise, Spectral
from kernelcal.kernels.metrics import Wasserstein
from kernelcal.predictions import (
    Categorical,
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    Samples,
)
from kernelcal.statistics import UCME, Locations, draw_locations, normal_locations

RNG = np.random.default_rng(3)
N, D = 7, 2
MEAN, STD = RNG.normal(size=(N, D)), RNG.uniform(0.3, 1.5, (N, D))
ROOT = RNG.normal(size=(N, D, D))
GAUSSIANS = kc.Gaussian(0.5) + 2 * kc.Gaussian(2.0)

# name: predictions, target kernel, whether its covariance has a closed form
COVARIANCES = {
    "bernoulli": (kc.Bernoulli(RNG.random(N)), None, True),
    "categorical": (Categorical(RNG.dirichlet(np.ones(4), N)), None, True),
    "matrix": (Categorical(RNG.dirichlet(np.ones(3), N)), kc.FiniteKernel(np.eye(3) + 0.3), True),
    "normal": (Normal(MEAN[:, 0], STD[:, 0]), kc.Gaussian(0.8), True),
    "places": (Normal(MEAN[:, 0], STD[:, 0]), None, True),
    "places of counts": (Poisson(2 * STD[:, 0]), None, False),
    "places of vectors": (IsotropicNormal(MEAN, STD[:, 0]), None, False),
    "sum": (Normal(MEAN[:, 0], STD[:, 0]), GAUSSIANS, True),
    "product": (Normal(MEAN[:, 0], STD[:, 0]), kc.Gaussian(0.7) * kc.Gaussian(1.0), True),
    "isotropic": (IsotropicNormal(MEAN, STD[:, 0]), kc.Gaussian(1.0), True),
    "diagonal": (DiagonalNormal(MEAN, STD), Coordinatewise(kc.Gaussian(1.0)), True),
    "full": (MultivariateNormal(MEAN, ROOT @ np.swapaxes(ROOT, 1, 2) + 0.3 * np.eye(D)), kc.Gaussian(1.0), True),
    "mixture": (Mixture(None, [Normal(MEAN[:, 0], 0.5), Normal(MEAN[:, 1], STD[:, 1])]), GAUSSIANS, True),
    "poisson": (Poisson(2 * STD[:, 0]), kc.Gaussian(1.0), True),
    "equal counts": (Poisson(2 * STD[:, 0]), kc.Dirac(), True),
    "spectral": (Laplace(MEAN[:, 0], STD[:, 0]), Spectral(kc.Gaussian(1.0)), True),
    "spectral vectors": (DiagonalNormal(MEAN, STD), Spectral(kc.Laplacian(1.0), frequencies=6), True),
    "samples": (Samples(RNG.normal(size=(N, 5))), kc.Laplacian(1.0), True),
    "weighted": (Samples(RNG.normal(size=(N, 5)), RNG.random((N, 5))), None, True),
    "vectors": (Samples(RNG.normal(size=(N, 5, D))), kc.Gaussian(1.0), True),
    "laplace": (Laplace(MEAN[:, 0], STD[:, 0]), kc.Laplacian(1.0), False),
}


def prepared_case(name, locations=4):
    batch, kernel, closed = COVARIANCES[name]
    return batch, UCME(target_kernel=kernel, locations=locations).prepare(batch), closed


@pytest.mark.slow
@pytest.mark.parametrize("name", COVARIANCES)
def test_the_known_covariance_is_that_of_many_draws(name):
    batch, prepared, closed = prepared_case(name)
    found = known_covariance(prepared.functions, prepared.alike)
    assert (found.notes == ()) is closed
    z = prepared.sums(batch.sample(np.random.default_rng(1), 40_000))
    expected = z.T @ z / len(z)
    size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs(z.mean(axis=0) / np.sqrt(np.diag(expected))).max() < 4.5 / np.sqrt(len(z))
    squares = z**2
    error = np.sqrt((squares.T @ squares / len(z) - expected**2) / len(z))  # standard errors of the draws
    slack = 0.0 if closed else 0.05 * size  # of those that a covariance without closed form is computed from
    np.testing.assert_array_less(np.abs(found.matrix - expected), 4 * error + slack)


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "matrix", "samples", "weighted", "vectors"])
def test_the_known_covariance_by_enumeration(name):
    """Sum over rows of the sum over the possible targets of one row."""
    batch, prepared, _ = prepared_case(name)
    expected = np.zeros((4, 4))
    if isinstance(batch, Samples):
        weights = np.full((N, 5), 1 / 5) if batch.weights is None else batch.weights
        sets = [(batch.draws[:, s], weights[:, s]) for s in range(5)]
    else:
        sets = [(np.full(N, k), batch.probabilities[:, k]) for k in range(batch.n_classes)]
    for y, w in sets:
        rows = prepared.rows(y)
        expected += np.einsum("n,nj,nl->jl", w, rows, rows)
    found = known_covariance(prepared.functions, prepared.alike)
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-10, atol=1e-15)
    assert (found.squares >= np.diag(found.matrix) * (1 - 1e-12)).all()  # equal where the mean is 0


@pytest.mark.parametrize("name", ["normal", "sum", "product"])
def test_the_known_covariance_by_quadrature(name):
    batch, prepared, _ = prepared_case(name)
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    expected = np.zeros((4, 4))
    for x, w in zip(nodes, weights / weights.sum(), strict=True):
        rows = prepared.rows(batch.mean + batch.std * x)
        expected += w * rows.T @ rows
    found = known_covariance(prepared.functions, prepared.alike)
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-7, atol=1e-12)


def test_the_known_covariance_with_an_integrator():
    batch = kc.Laplace(np.linspace(-1, 1, N), np.linspace(0.5, 1.5, N))
    settings = {"prediction_kernel": kc.Laplacian(1.0), "locations": 4}
    covariances = [
        known_covariance(prepared.functions, prepared.alike)
        for prepared in (
            UCME(target_kernel=kc.Gaussian(1.0), integrator=kc.kernels.GaussLegendre(400), **settings).prepare(batch),
            UCME(target_kernel=Spectral(kc.Gaussian(1.0), frequencies=64), **settings).prepare(batch),
        )
    ]
    assert covariances[0].notes == ()
    np.testing.assert_allclose(covariances[0].matrix, covariances[1].matrix, rtol=1e-3, atol=1e-5)


def test_the_spectral_covariance_is_that_of_the_kernel():
    batch = COVARIANCES["normal"][0]
    at = draw_locations(batch, 4)
    kernels = Spectral(kc.Gaussian(1.0), frequencies=40), kc.Gaussian(1.0)
    near, exact = (UCME(target_kernel=kernel, locations=at).prepare(batch) for kernel in kernels)
    found = known_covariance(near.functions, near.alike).matrix
    np.testing.assert_allclose(found, known_covariance(exact.functions, exact.alike).matrix, rtol=2e-3, atol=1e-5)


def test_parts_of_rows_change_nothing(monkeypatch):
    from kernelcal.inference.laws import location_forms

    for name in ("matrix", "isotropic", "spectral", "spectral vectors"):
        _, prepared, _ = prepared_case(name)
        whole = known_covariance(prepared.functions, prepared.alike).matrix
        with monkeypatch.context() as patch:
            patch.setattr(location_forms, "_NUMBERS", 33)
            np.testing.assert_allclose(known_covariance(prepared.functions, prepared.alike).matrix, whole, rtol=1e-10)


# --- the quadratic forms -------------------------------------------------------------------------------------------


def test_the_pseudo_inverse_of_a_regular_matrix():
    a = RNG.normal(size=(4, 6)) * np.array([1e-6, 1.0, 10.0, 1e4])[:, None]
    matrix, z = a @ a.T, RNG.normal(size=(3, 4)) * np.array([1e-6, 1.0, 10.0, 1e4])
    whitening = Whitening.of(matrix, np.diag(matrix))
    assert whitening.rank == 4
    np.testing.assert_allclose(whitening.squares(z), [v @ np.linalg.solve(matrix, v) for v in z], rtol=1e-9)


def test_the_pseudo_inverse_of_a_singular_matrix():
    a = RNG.normal(size=(4, 2))
    matrix, inside = a @ a.T, (a @ RNG.normal(size=(2, 3))).T
    whitening = Whitening.of(matrix, np.diag(matrix))
    assert whitening.rank == 2
    expected = [v @ np.linalg.pinv(matrix) @ v for v in inside]
    np.testing.assert_allclose(whitening.squares(inside), expected, rtol=1e-9)
    outside = inside + np.linalg.svd(matrix)[0][:, -1]
    assert (whitening.squares(outside) > 1e6).all()
    assert (whitening.squares(outside, leaving=False) < 100).all()


def test_without_any_variance():
    whitening = Whitening.of(np.diag([1e-20, 0.0]), np.array([1.0, 0.0]))
    assert whitening.rank == 0
    np.testing.assert_array_equal(whitening.squares(np.array([[0.0, 0.0], [1e-15, 0.0]])), [0.0, 0.0])
    assert whitening.squares(np.array([[0.01, 0.0]]))[0] > 1e6


def test_it_is_the_definition_by_hand():
    """One location: z and V are numbers. p = 0.2, 0.7, outcomes 1, 0, location (0.5, 1)."""
    statistic = UCME(prediction_kernel=kc.Gaussian(1.0), locations=Locations([0.5], [1]))
    k = np.exp([-0.045, -0.02])
    z, v = k @ [0.8, -0.7], (k**2) @ [0.16, 0.21]
    result = kc.calibration_test([1, 0], [0.2, 0.7], statistic=statistic, null=CME(reference="chi2"))
    assert result.statistic == pytest.approx(z * z / v, rel=1e-12)
    assert result.pvalue == pytest.approx(chi2.sf(z * z / v, 1), rel=1e-10)
    assert result.members[0].name == "CME"
    assert result.fired == ("CME" if result.pvalue <= 0.05 else "")


def test_it_is_the_definition_of_the_paper():
    batch, prepared, _ = prepared_case("isotropic", locations=3)
    y = batch.sample(np.random.default_rng(2))[0]
    rows = prepared.rows(y)
    q = N * rows.mean(0) @ np.linalg.solve(np.cov(rows, rowvar=False), rows.mean(0))
    statistic = UCME(target_kernel=kc.Gaussian(1.0), locations=3)
    for reference, pvalue in (
        ("chi2", chi2.sf(q, 3)),
        ("hotelling", fisher.sf((N - 3) * q / (3 * (N - 1)), 3, N - 3)),
    ):
        result = kc.calibration_test(y, batch, statistic=statistic, null=CME("empirical", reference))
        assert result.statistic == pytest.approx(q, rel=1e-8)
        assert result.pvalue == pytest.approx(pvalue, rel=1e-7)


def test_case_weights():
    """A row of weight 0 counts for nothing; z and V have weights once and twice."""
    batch, _, _ = prepared_case("categorical")
    y, w = batch.sample(np.random.default_rng(2))[0], np.array([1, 2, 0, 1, 3, 1, 1.0])
    statistic = UCME(prediction_kernel=kc.Laplacian(0.5), locations=draw_locations(batch, 3))
    found = kc.calibration_test(y, batch, statistic=statistic, null=CME(reference="chi2"), weights=w)
    rows, v = statistic.prepare(batch).rows(y), np.zeros((3, 3))
    for i in np.flatnonzero(w):
        one = statistic.prepare(batch[[i]])
        v += w[i] ** 2 * known_covariance(one.functions, one.alike).matrix
    z = (w[:, None] * rows).sum(0)
    assert found.statistic == pytest.approx(z @ np.linalg.solve(v, z), rel=1e-9)


def test_equal_locations_lower_the_rank():
    batch = COVARIANCES["normal"][0]
    at = Locations(batch[[0, 0, 1]], [0.3, 0.3, 1.0])
    twice, once = at, Locations(batch[[0, 1]], [0.3, 1.0])
    results = [
        kc.calibration_test(MEAN[:, 0] + 0.4, batch, statistic=UCME(locations=l), null=CME(reference="chi2"))
        for l in (twice, once)
    ]
    assert results[0].pvalue == pytest.approx(results[1].pvalue, rel=1e-8)
    assert "chi-square with 2 degrees of freedom, from 3 test locations" in results[0].notes
    assert "chi-square with 2 degrees of freedom, from 2 test locations" in results[1].notes


@pytest.mark.parametrize("reference", ["exact", "chi2"])
def test_certain_predictions(reference):
    """Nothing can deviate, so anything that does is impossible, and nothing else is evidence."""
    p = np.eye(3)[[0, 1, 2, 1]]
    right = kc.calibration_test([0, 1, 2, 1], p, statistic=UCME(), null=CME(reference=reference), draws=99)
    wrong = kc.calibration_test([0, 1, 2, 0], p, statistic=UCME(), null=CME(reference=reference), draws=99)
    assert right.pvalue == 1
    assert any("the null has no variance" in note for note in right.notes)
    assert wrong.pvalue == (0.01 if reference == "exact" else np.finfo(float).tiny)
    assert wrong.impossible_rows == (3,)


def test_ensembles_without_spread():
    """All draws and the outcome are equal: rounding is no evidence."""
    draws = np.repeat(RNG.normal(size=(8, 1)), 4, axis=1)
    result = kc.calibration_test(draws[:, 0], Samples(draws), statistic=UCME(), null=CME(reference="chi2"))
    assert result.pvalue == 1


# --- levels and power: App. A.2 of Widmann et al. (2021) -----------------------------------------------------------


def synthetic(n, d, seed):
    """Predictions N(c 1_d, 0.1^2 I), their calibrated targets, and the statistic at ten locations of the paper."""
    rng = np.random.default_rng(seed)
    c = rng.random(n)
    batch = Normal(c, 0.1) if d == 1 else IsotropicNormal(np.repeat(c[:, None], d, axis=1), 0.1)
    statistic = UCME(
        prediction_kernel=kc.Laplacian(1.0, metric=Wasserstein()),
        target_kernel=kc.Gaussian(1.0),
        locations=normal_locations(batch, 10, rng=rng),
    )
    return batch, batch.sample(rng)[0], statistic


def pvalues(n, d, laws, repetitions, draws=99, move=None):
    found = np.empty((repetitions, len(laws)))
    for k in range(repetitions):
        batch, y, statistic = synthetic(n, d, [n, d, k])
        y = y if move is None else move(y, batch)
        for column, law in enumerate(laws):
            result = kc.calibration_test(y, batch, statistic=statistic, null=law, draws=draws, rng=k)
            found[k, column] = result.pvalue
    return found.T


def keeps_level(p, *, used_up=True):
    for level in (0.01, 0.05, 0.1):
        assert (p <= level).sum() <= binom.ppf(0.9995, len(p), level), level
    if used_up:
        assert (p <= 0.1).sum() >= binom.ppf(0.0005, len(p), 0.1)


@pytest.mark.slow
def test_levels_where_the_published_test_rejects_nearly_everything():
    laws = CME(), CME(reference="chi2"), CME("empirical", "chi2"), CME("empirical", "hotelling")
    exact, known, published, hotelling = pvalues(16, 1, laws, 500)
    keeps_level(exact)
    assert (known <= 0.05).mean() <= 0.08
    assert (published <= 0.05).mean() > 0.8  # 0.882 in the paper
    assert 0.15 < (hotelling <= 0.05).mean() < 0.3


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize("n", [10, 30, 100])
def test_the_exact_reference_keeps_its_level(n, d):
    (p,) = pvalues(n, d, [CME()], 200)
    keeps_level(p)


@pytest.mark.slow
def test_the_published_statistic_keeps_its_level_with_exact_draws():
    (p,) = pvalues(16, 1, [CME("empirical", "exact")], 100)
    keeps_level(p)


@pytest.mark.slow
def test_the_value_itself_keeps_its_level_with_exact_draws():
    (p,) = pvalues(16, 1, ["exact"], 300)
    keeps_level(p)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("d", [1, 10])
def test_power_on_the_uncalibrated_model(d):
    """The first coordinate has mean 0.1 whatever was predicted; the published test has power with 16 rows."""

    def move(y, batch):
        moved = y.copy()
        first = (slice(None),) if d == 1 else (slice(None), 0)
        moved[first] += 0.1 - batch.mean[first]
        return moved

    exact, known = pvalues(16, d, [CME(), CME(reference="chi2")], 40, draws=199, move=move)
    assert (exact <= 0.05).sum() >= 39
    assert (known <= 0.05).sum() >= 39


@pytest.mark.slow
@pytest.mark.parametrize("law", [CME(), None])
def test_ensembles_keep_the_level_by_swapping(law):
    """Five draws of a law that nobody wrote down: the members are no law for the outcome, but exchangeable with it."""
    found = []
    for k in range(200):
        rng = np.random.default_rng([4, k])
        values = rng.normal(size=(30, 1)) + np.exp(rng.normal(size=(30, 1))) * rng.standard_t(3, (30, 6))
        result = kc.calibration_test(values[:, 0], Samples(values[:, 1:]), statistic=UCME(), null=law, draws=99, rng=k)
        found.append(result.pvalue)
    keeps_level(np.array(found))


@pytest.mark.slow
def test_classes_keep_the_level_and_show_power():
    level, power = [], []
    for k in range(200):
        rng = np.random.default_rng([5, k])
        p = rng.dirichlet(np.ones(3), 60)
        y = Categorical(p).sample(rng)[0]
        sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
        level.append(kc.calibration_test(y, p, statistic=UCME(), null=CME(), draws=99, rng=k).pvalue)
        if k < 20:
            power.append(kc.calibration_test(y, sharp, statistic=UCME(), null=CME(), draws=99, rng=k).pvalue)
    keeps_level(np.array(level))
    assert (np.array(power) <= 0.05).sum() >= 18


# --- results, options, messages ------------------------------------------------------------------------------------


def test_the_result_says_which_law():
    batch, y, statistic = synthetic(60, 1, 0)
    labels = {
        CME(): "known covariance at the test locations, targets redrawn from the predictions",
        CME(reference="chi2"): "known covariance at the test locations, chi-square",
        CME("empirical", "chi2"): "empirical covariance at the test locations, chi-square",
        CME("empirical", "hotelling"): "empirical covariance at the test locations, Hotelling's F",
    }
    for law, label in labels.items():
        result = kc.calibration_test(y, batch, statistic=statistic, null=law, draws=99)
        assert result.null == label
        assert result.engine == "10 test locations"
        assert (result.draws > 0) is (law.reference == "exact")
        assert any("rejects calibrated models far too often" in note for note in result.notes) is (
            law.covariance == "empirical"
        )
    few, _, _ = synthetic(10, 1, 0)
    result = kc.calibration_test(few.mean, few, statistic=statistic, null=CME(reference="chi2"))
    assert any("this law is that of many rows, and there are 10" in note for note in result.notes)
    result = kc.calibration_test(few.mean, few, statistic=statistic, null=CME())
    assert not any("this law is that of many rows" in note for note in result.notes)


def test_the_names_of_statistic_and_law():
    batch, y, _ = synthetic(30, 1, 0)
    by_name = kc.calibration_test(y, batch, statistic="ucme", null="cme", draws=99)
    assert by_name == kc.calibration_test(y, batch, statistic=UCME(), null=CME(), draws=99)
    value = kc.calibration_test(y, batch, statistic="ucme", null="exact", draws=99)
    assert value.members[0].name == "UCME"
    assert value.statistic == pytest.approx(float(kc.ucme(y, batch)), rel=1e-12)


def test_the_same_data_give_the_same_pvalue_in_every_library(backend):
    batch, y, statistic = synthetic(20, 1, 1)
    expected = kc.calibration_test(y, batch, statistic=statistic, null=CME(), draws=99)
    q = statistic.locations.predictions.map_arrays(backend)
    moved = UCME(
        prediction_kernel=statistic.prediction_kernel,
        target_kernel=statistic.target_kernel,
        locations=Locations(q, statistic.locations.targets),
    )
    found = kc.calibration_test(y, batch.map_arrays(backend), statistic=moved, null=CME(), draws=99)
    assert (found.pvalue, found.statistic) == (expected.pvalue, expected.statistic)


def test_a_covariance_from_draws_is_noted():
    batch, kernel, _ = COVARIANCES["laplace"]
    result = kc.calibration_test(MEAN[:, 0], batch, statistic=UCME(target_kernel=kernel), null=CME(), draws=99)
    note = "has no closed form for this target kernel: it was taken from 2000 seeded draws a row"
    assert any(note in text for text in result.notes)


MESSAGES = [
    ({"covariance": "sample"}, "covariance must be 'known' or 'empirical', got 'sample'"),
    ({"reference": "f"}, "reference must be 'exact', 'chi2' or 'hotelling', got 'f'"),
    ({"reference": "hotelling"}, "'hotelling' is the law of an empirical covariance: use 'exact' or 'chi2'"),
]


@pytest.mark.parametrize(("options", "message"), MESSAGES, ids=lambda x: str(x)[:30])
def test_settings_that_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        CME(**options)


def test_data_that_are_refused():
    batch, y, statistic = synthetic(10, 1, 0)
    with pytest.raises(InputError, match=r"null='cme' is the law of kernelcal\.UCME\(\), not of SKCE: pass"):
        kc.calibration_test(y, batch, statistic="skce", null=CME())
    with pytest.raises(InputError, match="needs more rows than test locations, got 10 rows and 10 loc"):
        kc.calibration_test(y, batch, statistic=statistic, null=CME("empirical", "hotelling"))
    with pytest.raises(InputError, match=r"an empirical covariance takes no case weights: use CME\(\)"):
        kc.calibration_test(y, batch, statistic=statistic, null=CME("empirical"), weights=np.ones(10))
    with pytest.raises(InputError, match=r"an empirical covariance needs at least 2 rows, got 1: use CME\(\)"):
        kc.calibration_test(y[:1], batch[:1], statistic=statistic, null=CME("empirical"))
