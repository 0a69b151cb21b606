"""What people have: distributions of scipy, PyTorch and NumPyro, pairs of arrays, ensembles, lists."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    DiagonalNormal,
    Dirichlet,
    Gamma,
    Laplace,
    LogNormal,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
    StudentT,
    Weibull,
)

RNG = np.random.default_rng(0)
N = 4
LOC, SCALE = RNG.normal(size=N), RNG.uniform(0.5, 3, N)
SIZE, P = RNG.uniform(0.5, 9, N), RNG.uniform(0.1, 0.9, N)
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
Y = RNG.normal(size=(6, N))
K = np.arange(6.0)[:, None] * np.ones(N)


# scipy.stats


@pytest.mark.parametrize(
    ("theirs", "family"),
    [
        (stats.norm(LOC, SCALE), Normal),
        (stats.norm(LOC, scale=SCALE), Normal),
        (stats.norm(loc=LOC), Normal),
        (stats.norm(scale=SCALE), Normal),
        (stats.laplace(LOC, SCALE), Laplace),
        (stats.poisson(SCALE), Poisson),
        (stats.poisson(mu=SCALE, loc=0), Poisson),
        (stats.nbinom(SIZE, P), NegativeBinomial),
        (stats.nbinom(3, p=P), NegativeBinomial),
        (stats.t(SIZE + 2, LOC, SCALE), StudentT),
        (stats.t(df=4, loc=LOC), StudentT),
        (stats.gamma(SIZE, scale=SCALE), Gamma),
        (stats.gamma(SIZE, 0, SCALE), Gamma),
        (stats.gamma(a=2.0, scale=SCALE), Gamma),
        (stats.erlang(np.array([1, 2, 3, 4]), scale=SCALE), Gamma),
        (stats.expon(scale=SCALE), Gamma),
        (stats.chi2(SIZE, scale=SCALE), Gamma),
        (stats.lognorm(SCALE / 3, scale=np.exp(LOC)), LogNormal),
        (stats.lognorm(s=SCALE / 3), LogNormal),
        (stats.weibull_min(SCALE + 0.5, scale=SIZE), Weibull),
        (stats.beta(SIZE, SCALE), Beta),
        (stats.beta(SIZE, b=2), Beta),
        (stats.binom(np.array([1, 5, 9, 20]), P), Binomial),
        (stats.binom(7, p=P, loc=0), Binomial),
    ],
)
def test_frozen_distributions_of_scipy(theirs, family):
    batch = kc.as_predictions(theirs)
    assert type(batch) is family
    assert len(batch) == N
    np.testing.assert_allclose(batch.mean, theirs.mean() * np.ones(N), rtol=1e-12)
    np.testing.assert_allclose(batch.std, theirs.std() * np.ones(N), rtol=1e-12)
    y = K if batch.counts else theirs.rvs((6, N), random_state=0) if family in (Gamma, LogNormal, Beta, Weibull) else Y
    expected = theirs.logpmf(y) if batch.counts else theirs.logpdf(y)
    np.testing.assert_allclose(batch.log_prob(y), expected, rtol=1e-9)


def test_laws_of_scipy_without_a_variance():
    for theirs in (stats.cauchy(LOC, SCALE), stats.t(1.5, LOC, SCALE), stats.t(np.array([0.5, 1, 2, 3]))):
        batch = kc.as_predictions(theirs)
        assert type(batch) is StudentT
        np.testing.assert_allclose(batch.log_prob(Y), theirs.logpdf(Y), rtol=1e-9)


def test_shares_of_scipy_stack():
    batch = kc.as_predictions([stats.dirichlet([1.0, 2.0]), stats.dirichlet([3.0, 0.5])])
    assert (type(batch), batch.concentration.tolist()) == (Dirichlet, [[1.0, 2.0], [3.0, 0.5]])
    y = np.array([[0.2, 0.8], [0.6, 0.4]])
    expected = [stats.dirichlet([1.0, 2.0]).logpdf(y[0]), stats.dirichlet([3.0, 0.5]).logpdf(y[1])]
    np.testing.assert_allclose(batch.log_prob(y), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        (
            stats.gamma(2.0, loc=1.0),
            r"gamma with loc=1.0 and scale=1.0 is not of .* Gamma: .*\(y - loc\) / scale",
        ),
        (stats.lognorm(1.0, loc=[0.0, 2.0]), "lognorm with loc=.* is not of the family LogNormal"),
        (stats.beta(1, 2, loc=0, scale=3), "beta with loc=0 and scale=3 is not of the family Beta"),
        (stats.expon(5.0), "expon with loc=5.0 .*Gamma"),
        (stats.binom(3, 0.5, loc=2), "binom with loc=2 counts from loc, not from 0"),
        (stats.t(-1.0), "df in row 0 is -1, expected a positive number"),
        (stats.binom(2.5, 0.5), "the number of trials in row 0 is 2.5, expected a whole number"),
    ],
)
def test_laws_of_scipy_that_are_not_of_the_family(theirs, message):
    with pytest.raises(InputError, match=message):
        kc.as_predictions(theirs)


def test_a_law_of_a_user_is_none_of_scipy():
    own = type("norm_gen", (stats.rv_continuous,), {"_pdf": lambda self, x: np.exp(-x), "__module__": "user"})(
        name="norm"
    )
    with pytest.raises(InputError, match="cannot read the distribution norm"):
        kc.as_predictions(own())


def test_a_family_of_a_user_is_read_by_what_it_says():
    from kernelcal.predictions.foreign import SCIPY, Reading

    class Gumbel(Laplace):
        readings = (Reading(SCIPY, ("gumbel_l",), (), lambda: (0.0, 1.0)),)

    batch = kc.as_predictions(stats.gumbel_l(LOC, SCALE))
    assert (type(batch), batch.loc.tolist(), batch.scale.tolist()) == (Gumbel, LOC.tolist(), SCALE.tolist())


def test_a_single_distribution_is_one_row():
    assert len(kc.as_predictions(stats.norm(0, 2))) == 1
    vector = kc.as_predictions(stats.multivariate_normal([1.0, 2.0], COV))
    assert type(vector) is MultivariateNormal
    expected = stats.multivariate_normal([1.0, 2.0], COV).logpdf([0.0, 1.0])
    np.testing.assert_allclose(vector.log_prob([[0.0, 1.0]]), [expected], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(stats, "make_distribution"), reason="scipy before 1.15")
def test_new_distributions_of_scipy():
    batch = kc.as_predictions(stats.Normal(mu=LOC, sigma=SCALE))
    np.testing.assert_array_equal(batch.mean, LOC)
    np.testing.assert_array_equal(batch.std, SCALE)
    assert kc.as_predictions(stats.Normal()).std.tolist() == [1.0]
    shifted = kc.as_predictions(3 - 2 * stats.Normal(mu=1, sigma=2))
    assert (shifted.mean.tolist(), shifted.std.tolist()) == ([1.0], [4.0])
    laplace = kc.as_predictions(2 * stats.make_distribution(stats.laplace)() + 1)
    assert (type(laplace), laplace.loc.tolist(), laplace.scale.tolist()) == (Laplace, [1.0], [2.0])
    make, positive = stats.make_distribution, np.abs(Y) % 1
    for theirs, family, y in (
        (make(stats.gamma)(a=SIZE), Gamma, positive),
        (3 * make(stats.gamma)(a=SIZE), Gamma, positive),
        (make(stats.expon)(), Gamma, positive[:, :1]),
        (make(stats.chi2)(df=SIZE), Gamma, positive),
        (make(stats.t)(df=SIZE), StudentT, Y),
        (2 - 3 * make(stats.t)(df=SIZE), StudentT, Y),
        (make(stats.cauchy)() * 2 + 1, StudentT, Y[:, :1]),
        (make(stats.lognorm)(s=SCALE), LogNormal, positive),
        (make(stats.lognorm)(s=SCALE) * 2, LogNormal, positive),
        (make(stats.beta)(a=SIZE, b=SCALE), Beta, positive),
        (make(stats.arcsine)(), Beta, positive[:, :1]),
    ):
        batch = kc.as_predictions(theirs)
        assert type(batch) is family
        np.testing.assert_allclose(batch.log_prob(y), theirs.logpdf(y), rtol=1e-9, atol=1e-12)
    for wrong in (make(stats.gamma)(a=SIZE) + 1, -make(stats.gamma)(a=SIZE), 2 * make(stats.beta)(a=SIZE, b=SCALE)):
        with pytest.raises(InputError, match="is not of the family"):
            kc.as_predictions(wrong)
    parts = [stats.Normal(mu=0, sigma=1), stats.Normal(mu=3, sigma=2)]
    mixture = kc.as_predictions(stats.Mixture(parts, weights=[0.25, 0.75]))
    np.testing.assert_allclose(mixture.cdf([1.0]), [stats.Mixture(parts, weights=[0.25, 0.75]).cdf(1.0)], rtol=1e-12)


@pytest.mark.skipif(not hasattr(stats, "Binomial"), reason="discrete distributions came with scipy 1.16")
def test_new_counts_of_scipy():
    poisson = stats.make_distribution(stats.poisson)(mu=SCALE)
    np.testing.assert_array_equal(kc.as_predictions(poisson).rate, SCALE)
    hits = kc.as_predictions(stats.Binomial(n=np.array([1, 5, 9, 20]), p=P))
    assert (type(hits), hits.n.tolist(), hits.p.tolist()) == (Binomial, [1, 5, 9, 20], P.tolist())
    counts = stats.make_distribution(stats.nbinom)(n=SIZE, p=P)
    np.testing.assert_allclose(kc.as_predictions(counts).mean, stats.nbinom(SIZE, P).mean(), rtol=1e-12)


def test_reading_scipy_objects_imports_nothing_more():
    code = (
        "import sys, kernelcal; kernelcal.as_predictions([0.5]); "
        "print([m for m in ('scipy.stats', 'torch', 'numpyro') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


# PyTorch


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def tensors(torch, *arrays):
    return tuple(torch.tensor(x) for x in arrays)


@pytest.mark.slow
def test_distributions_of_torch(torch):
    d = torch.distributions
    loc, scale, size, p = tensors(torch, LOC, SCALE, SIZE, P)
    cases = [
        (d.Normal(loc, scale), Normal, Y),
        (d.Laplace(loc, scale), Laplace, Y),
        (d.Poisson(scale), Poisson, K),
        (d.NegativeBinomial(size, probs=p), NegativeBinomial, K),
        (d.NegativeBinomial(size, logits=torch.logit(p)), NegativeBinomial, K),
        (d.StudentT(size + 2, loc, scale), StudentT, Y),
        (d.Gamma(size, scale), Gamma, np.abs(Y)),
        (d.Exponential(scale), Gamma, np.abs(Y)),
        (d.Chi2(size), Gamma, np.abs(Y)),
        (d.LogNormal(loc, scale), LogNormal, np.abs(Y)),
        (d.Beta(size, scale), Beta, np.abs(Y) % 1),
        (d.Binomial(7, p), Binomial, K),
        (d.Binomial(torch.tensor([5.0, 6.0, 7.0, 8.0]), logits=torch.logit(p)), Binomial, K),
        (d.TransformedDistribution(d.StudentT(size + 2), d.AffineTransform(loc, -scale)), StudentT, Y),
        (d.TransformedDistribution(d.Gamma(size, scale), [d.AffineTransform(0.0, 2.0)]), Gamma, np.abs(Y)),
        (d.Bernoulli(p), Bernoulli, np.array([[1.0, 0.0, 1.0, 1.0]])),
        (d.Categorical(torch.tensor(RNG.dirichlet(np.ones(3), N))), Categorical, np.array([[1, 0, 2, 1]])),
    ]
    for theirs, family, y in cases:
        batch = kc.as_predictions(theirs)
        assert type(batch) is family
        found = np.stack([to_numpy(batch.log_prob(row)) for row in y])
        np.testing.assert_allclose(found, theirs.log_prob(torch.tensor(y)), rtol=1e-6, atol=1e-6)
        if family not in (Bernoulli, Categorical) and type(theirs) is not d.TransformedDistribution:
            np.testing.assert_allclose(batch.mean, theirs.mean, rtol=1e-6)
            np.testing.assert_allclose(batch.std, theirs.stddev, rtol=1e-6)


@pytest.mark.slow
def test_vectors_of_torch(torch):
    d = torch.distributions
    mean, std = RNG.normal(size=(N, 2)), RNG.uniform(0.5, 2, (N, 2))
    y = torch.tensor(RNG.normal(size=(N, 2)))
    diagonal = d.Independent(d.Normal(*tensors(torch, mean, std)), 1)
    full = d.MultivariateNormal(torch.tensor(mean), torch.tensor(COV))
    for theirs, family in ((diagonal, DiagonalNormal), (full, MultivariateNormal)):
        batch = kc.as_predictions(theirs)
        assert type(batch) is family
        np.testing.assert_allclose(batch.log_prob(y), theirs.log_prob(y), rtol=1e-9)
    shares = d.Dirichlet(torch.tensor(RNG.uniform(0.5, 3, (N, 3))))
    y = torch.tensor(RNG.dirichlet(np.ones(3), N))
    assert type(kc.as_predictions(shares)) is Dirichlet
    np.testing.assert_allclose(kc.as_predictions(shares).log_prob(y), shares.log_prob(y), rtol=1e-9)
    np.testing.assert_allclose(kc.as_predictions(shares).mean, shares.mean, rtol=1e-12)
    rows = d.Independent(d.Normal(*tensors(torch, LOC, SCALE)), 0)
    assert type(kc.as_predictions(rows)) is Normal


def test_mixtures_of_torch(torch):
    d = torch.distributions
    weights, loc, scale = tensors(
        torch, RNG.dirichlet(np.ones(3), N), RNG.normal(size=(N, 3)), RNG.uniform(1, 2, (N, 3))
    )
    theirs = d.MixtureSameFamily(d.Categorical(weights), d.Normal(loc, scale))
    batch = kc.as_predictions(theirs)
    assert (type(batch), len(batch.components)) == (Mixture, 3)
    y = torch.tensor(Y[0])
    np.testing.assert_allclose(batch.log_prob(y), theirs.log_prob(y), rtol=1e-10)
    centres, factors = torch.randn(2, 3, dtype=torch.float64), torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
    vectors = d.MixtureSameFamily(d.Categorical(torch.ones(2).double()), d.MultivariateNormal(centres, factors))
    point = torch.zeros(3, dtype=torch.float64)
    np.testing.assert_allclose(kc.as_predictions(vectors).log_prob(point[None]), [vectors.log_prob(point)], rtol=1e-10)


def test_gradients_flow_through_a_distribution_of_torch(torch):
    loc = torch.tensor(LOC, requires_grad=True)
    kc.as_predictions(torch.distributions.Normal(loc, 1.0)).log_prob(torch.tensor(Y[0])).sum().backward()
    np.testing.assert_allclose(loc.grad, Y[0] - LOC)


# NumPyro, by distributions that look like its own


def numpyro(name, module="continuous", batch_shape=(), **attributes):
    """An object with class name, module and attributes of a NumPyro distribution."""
    methods = {"__module__": f"numpyro.distributions.{module}", "log_prob": lambda self, y: None}
    made = type(name, (), methods)()
    made.__dict__.update(attributes, batch_shape=batch_shape)
    return made


def test_distributions_of_numpyro():
    jnp = pytest.importorskip("jax").numpy
    loc, scale = jnp.asarray(LOC), jnp.asarray(SCALE)
    normal = kc.as_predictions(numpyro("Normal", batch_shape=(N,), loc=loc, scale=2.0))
    np.testing.assert_allclose(normal.mean, LOC, rtol=1e-6)
    np.testing.assert_array_equal(normal.std, np.full(N, 2.0))
    laplace = kc.as_predictions(numpyro("Laplace", batch_shape=(N,), loc=jnp.zeros((1,)), scale=scale))
    np.testing.assert_array_equal(laplace.loc, np.zeros(N))
    assert len(kc.as_predictions(numpyro("Normal", loc=0.0, scale=1.0))) == 1
    vector = numpyro("MultivariateNormal", batch_shape=(N,), loc=np.zeros((1, 2)), covariance_matrix=COV)
    assert kc.as_predictions(vector).cov.shape == (N, 2, 2)
    assert type(kc.as_predictions(numpyro("Poisson", "discrete", (N,), rate=scale))) is Poisson


@pytest.mark.parametrize(
    ("name", "attributes", "family", "theirs"),
    [
        ("StudentT", {"df": 5.0, "loc": LOC, "scale": SCALE}, StudentT, stats.t(5, LOC, SCALE)),
        ("Cauchy", {"loc": LOC, "scale": SCALE}, StudentT, stats.cauchy(LOC, SCALE)),
        ("Gamma", {"concentration": SIZE, "rate": SCALE}, Gamma, stats.gamma(SIZE, scale=1 / SCALE)),
        ("Exponential", {"rate": SCALE}, Gamma, stats.expon(scale=1 / SCALE)),
        ("LogNormal", {"loc": LOC, "scale": SCALE}, LogNormal, stats.lognorm(SCALE, scale=np.exp(LOC))),
        ("Beta", {"concentration1": SIZE, "concentration0": SCALE}, Beta, stats.beta(SIZE, SCALE)),
        ("BinomialProbs", {"total_count": 7, "probs": P}, Binomial, stats.binom(7, P)),
        ("BinomialLogits", {"total_count": 7, "probs": P}, Binomial, stats.binom(7, P)),
    ],
)
def test_families_of_numpyro(name, attributes, family, theirs):
    batch = kc.as_predictions(numpyro(name, batch_shape=(N,), **attributes))
    assert type(batch) is family
    y = K if batch.counts else np.abs(Y) % 1
    expected = theirs.logpmf(y) if batch.counts else theirs.logpdf(y)
    np.testing.assert_allclose(batch.log_prob(y), expected, rtol=1e-9, atol=1e-12)
    base = numpyro(name, batch_shape=(N,), **attributes)
    expanded = numpyro("ExpandedDistribution", "distribution", (N,), base_dist=base)
    np.testing.assert_array_equal(kc.as_predictions(expanded).centre, batch.centre)


@pytest.mark.parametrize(
    "name", ["NegativeBinomialProbs", "NegativeBinomialLogits", "NegativeBinomial2", "GammaPoisson"]
)
def test_negative_binomial_distributions_of_numpyro_are_gamma_poisson(name):
    batch = kc.as_predictions(numpyro(name, "conjugate", (N,), concentration=SIZE, rate=1 / P - 1))
    np.testing.assert_allclose(batch.mean, SIZE * P / (1 - P), rtol=1e-12)
    np.testing.assert_allclose(batch.log_prob(K), stats.nbinom(SIZE, 1 - P).logpmf(K), rtol=1e-9)


def test_classes_of_numpyro():
    probs = RNG.dirichlet(np.ones(3), N)
    assert type(kc.as_predictions(numpyro("BernoulliLogits", "discrete", (N,), probs=P))) is Bernoulli
    batch = kc.as_predictions(numpyro("CategoricalProbs", "discrete", (N,), probs=probs), classes=["a", "b", "c"])
    assert batch.classes == ("a", "b", "c")
    np.testing.assert_array_equal(batch.probs, probs)


def test_structure_of_numpyro():
    base = numpyro("Normal", batch_shape=(), loc=1.0, scale=2.0)
    expanded = numpyro("ExpandedDistribution", "distribution", (N,), base_dist=base)
    assert kc.as_predictions(expanded).mean.tolist() == [1.0] * N
    wide = numpyro("Normal", batch_shape=(N, 3), loc=np.zeros((N, 3)), scale=np.ones(3))
    vectors = numpyro("Independent", "distribution", (N,), base_dist=wide, reinterpreted_batch_ndims=1)
    assert kc.as_predictions(vectors).event_shape == (3,)
    mixing = SimpleNamespace(probs=np.array([0.2, 0.3, 0.5]))
    mixture = numpyro("MixtureSameFamily", "mixtures", (N,), mixing_distribution=mixing, component_distribution=wide)
    assert kc.as_predictions(mixture).weights.shape == (N, 3)
    parts = [numpyro("Normal", loc=0.0, scale=1.0), numpyro("Laplace", loc=4.0, scale=1.0)]
    mixing = SimpleNamespace(probs=np.array([0.25, 0.75]))
    general = numpyro("MixtureGeneral", "mixtures", (), mixing_distribution=mixing, component_distributions=parts)
    batch = kc.as_predictions(general)
    assert [type(c) for c in batch.components] == [Normal, Laplace]
    assert batch.mean.tolist() == [3.0]


# what is not read


def test_unknown_distributions_are_refused_with_a_list(torch):
    known = (
        r"cannot read the distribution truncnorm of scipy.stats.*These are read: scipy.stats .*laplace, Laplace, .*"
        r"nbinom, .*norm, .*torch.distributions and numpyro.distributions .*Normal, .*sample_axis=0\)"
    )
    with pytest.raises(InputError, match=known):
        kc.as_predictions(stats.truncnorm(0.0, 1.0))
    with pytest.raises(InputError, match=r"cannot read the distribution Gumbel of torch"):
        kc.as_predictions(torch.distributions.Gumbel(1.0, 1.0))
    # a class of a user that inherits from a library may mean anything
    own = type("Normal", (torch.distributions.Normal,), {"__module__": "user"})
    with pytest.raises(InputError, match="cannot read the distribution Normal of user"):
        kc.as_predictions(own(torch.zeros(2), 1.0))
    with pytest.raises(InputError, match=r"cannot read the distribution gumbel_r of scipy.stats"):
        kc.as_predictions([stats.gumbel_r(3), stats.gumbel_r(4)])
    if hasattr(stats, "Mixture"):
        odd = stats.Mixture([stats.Normal(), stats.make_distribution(stats.gumbel_r)()])
        with pytest.raises(InputError, match="cannot read the distribution Mixture"):
            kc.as_predictions(odd)
        with pytest.raises(InputError, match="cannot read the distribution ShiftedScaledDistribution"):
            kc.as_predictions(2 * stats.make_distribution(stats.gumbel_r)())


def test_distributions_that_need_one_more_word(torch):
    d = torch.distributions
    with pytest.raises(
        InputError, match=r"scipy.stats.norm has no parameters: pass it with them, such as norm\(loc, scale"
    ):
        kc.as_predictions(stats.norm)
    with pytest.raises(InputError, match="poisson with loc=1 counts from loc, not from 0: subtract loc"):
        kc.as_predictions(stats.poisson(2.0, loc=1))
    with pytest.raises(
        InputError, match=r"one axis, the rows; this one has shape \(2, 3\): .*Independent\(distribution, 1\)"
    ):
        kc.as_predictions(d.Normal(torch.zeros(2, 3), 1.0))
    with pytest.raises(InputError, match=r"Gamma with loc=1.0 .*is not of the family Gamma"):
        kc.as_predictions(d.TransformedDistribution(d.Gamma(torch.ones(2), 1.0), d.AffineTransform(1.0, 2.0)))
    with pytest.raises(InputError, match="cannot read the distribution TransformedDistribution"):
        kc.as_predictions(d.TransformedDistribution(d.Normal(torch.ones(2), 1.0), d.SigmoidTransform()))
    with pytest.raises(InputError, match=r"Independent\(Laplace\) with 1 axes cannot be read"):
        kc.as_predictions(d.Independent(d.Laplace(torch.zeros(2, 3), 1.0), 1))


# pairs, ensembles and lists


def test_a_pair_of_arrays_is_read_as_means_and_standard_deviations(backend):
    batch = kc.as_predictions((backend(LOC), backend(SCALE)))
    assert type(batch) is Normal
    np.testing.assert_array_equal(to_numpy(batch.std), SCALE)
    assert batch.notes == ("the pair of arrays was read as means and standard deviations",)
    wide = kc.as_predictions((backend(np.zeros((N, 2))), backend(np.ones((N, 2)))))
    assert (type(wide), wide.notes) == (DiagonalNormal, batch.notes)
    column = kc.as_predictions((backend(LOC[:, None]), backend(SCALE[:, None])))
    assert (type(column), column.mean.shape) == (Normal, (N,))


def test_pairs_of_columns_and_of_sklearn():
    pandas = pytest.importorskip("pandas")
    assert type(kc.as_predictions((pandas.Series(LOC), pandas.Series(SCALE)))) is Normal
    processes = pytest.importorskip("sklearn.gaussian_process")
    x = np.linspace(0, 1, 6)[:, None]
    model = processes.GaussianProcessRegressor(optimizer=None).fit(x, x[:, 0])
    assert type(kc.as_predictions(model.predict(x + 0.05, return_std=True))) is Normal
    with pytest.raises(InputError, match=r"got \(6,\) and \(6, 6\): for covariances use"):
        kc.as_predictions(model.predict(x, return_cov=True))


def test_lists_of_rows_stay_probabilities():
    assert type(kc.as_predictions(([0.2, 0.8], [0.5, 0.5]))) is Categorical
    assert type(kc.as_predictions([np.array([0.2, 0.8]), np.array([0.5, 0.5])])) is Categorical
    assert type(kc.as_predictions((np.array([0.2, 0.8]),) * 3)) is Categorical
    assert type(kc.as_predictions((0.2, 0.8))) is Bernoulli


def test_ensembles_of_every_layout(backend):
    draws = RNG.normal(size=(N, 7, 2))
    for axis, layout in (
        (1, draws),
        (0, draws.transpose(1, 0, 2)),
        (2, draws.transpose(0, 2, 1)),
        (-1, draws.transpose(0, 2, 1)),
    ):
        batch = kc.as_predictions(backend(np.ascontiguousarray(layout)), sample_axis=axis)
        assert type(batch) is Samples
        np.testing.assert_array_equal(to_numpy(batch.draws), draws)
    np.testing.assert_array_equal(
        to_numpy(kc.as_predictions(backend(draws[..., 0].T.copy()), sample_axis=0).draws), draws[..., 0]
    )


def test_frames_hold_members_in_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(RNG.normal(size=(N, 5)))
    np.testing.assert_array_equal(kc.as_predictions(frame, sample_axis=1).draws, frame.to_numpy())


def test_lists_are_stacked(torch):
    batch = kc.as_predictions([stats.norm(m, s) for m, s in zip(LOC, SCALE, strict=True)])
    np.testing.assert_array_equal(batch.mean, LOC)
    np.testing.assert_array_equal(batch.std, SCALE)
    vectors = kc.as_predictions([stats.multivariate_normal(m, COV) for m in np.eye(2)])
    np.testing.assert_array_equal(vectors.mean, np.eye(2))
    np.testing.assert_array_equal(vectors.factor[1], np.linalg.cholesky(COV))
    tensors_ = kc.as_predictions(tuple(torch.distributions.Normal(torch.tensor(m), 1.0) for m in LOC))
    np.testing.assert_allclose(tensors_.mean, LOC)
    ours = kc.as_predictions(
        [Quantiles([[1.0, 2.0]], [0.2, 0.8]), Quantiles([[4.0, 3.0]], [0.2, 0.8], crossing="sort")]
    )
    assert ours.at(0.2).tolist() == [1.0, 3.0]
    assert len(ours.notes) == 1
    classes = kc.as_predictions([Categorical([[0.2, 0.8]], classes=["no", "yes"])] * 2)
    assert (classes.classes, len(classes)) == (("no", "yes"), 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: [stats.norm(), stats.laplace()],
            "element 0 is Normal and element 1 is Laplace: evaluate the families apart",
        ),
        (
            lambda: [stats.norm(), stats.norm(LOC, SCALE)],
            r"element 1 has 4 rows: pass one batch .*Mixture\(None, batches\)",
        ),
        (
            lambda: [Quantiles([[1.0, 2.0]], [0.2, 0.8]), Quantiles([[1.0, 2.0]], [0.2, 0.9])],
            "element 1 cannot be stacked with element 0: Quantiles of other shapes, levels or classes",
        ),
        (
            lambda: [Samples([[1.0, 2.0]]), Samples([[1.0]])],
            r"Samples of other shapes.*\[\(1, 1\)\], before \[\(1, 2\)\]",
        ),
        (
            lambda: (LOC, SCALE[:2]),
            r"a tuple of two arrays is read as means and standard deviations of one shape, .*\(2,\)",
        ),
        (lambda: (LOC, -SCALE), "the standard deviation in row 0 is -.*, expected a positive number"),
        (
            lambda: object(),
            "cannot read predictions from object: .* or a distribution of scipy.stats, PyTorch or NumPyro",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        kc.as_predictions(make())


@pytest.mark.parametrize(
    ("options", "x", "message"),
    [
        (
            {"classes": ["a", "b"]},
            stats.norm(),
            "classes names the classes of class probabilities, and Normal predicts",
        ),
        ({"normalize": True}, stats.norm(), "normalize=True is for arrays and frames"),
        ({"sample_axis": 0}, stats.norm(), "sample_axis says which axis of an array holds draws"),
        ({"sample_axis": 0}, LOC, r"sample_axis=0 does not fit an array of shape \(4,\)"),
        ({"sample_axis": 3}, Y, r"sample_axis=3 does not fit an array of shape \(6, 4\)"),
        ({"sample_axis": 0, "classes": [1, 2]}, Y, "classes names the classes of class probabilities, and Samples"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, x, message):
    with pytest.raises(InputError, match=message):
        kc.as_predictions(x, **options)
