"""Batches of every family, over which the contract is tested: a new family adds a line to `build`."""

import numpy as np

from kernelcal.predictions import (
    Beta,
    Binomial,
    DiagonalNormal,
    Dirichlet,
    Gamma,
    IsotropicNormal,
    Laplace,
    LogNormal,
    Mixture,
    MultivariateNormal,
    MultivariatePowerExponential,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
    StudentT,
    Uniform,
    Weibull,
)

N, DRAWS = 4, 4000
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def covariances(rng, n, d):
    root = rng.normal(size=(n, d, d))
    return root @ np.swapaxes(root, 1, 2) + 0.2 * np.eye(d)


def flat_quantiles():
    return Quantiles([[0, 0, 0, 1, 2], [1, 2, 2, 2, 3], [-1, 0, 1, 1, 1], [3, 3, 3, 3, 3]], LEVELS)


def build(rng, n=N):
    own = np.random.default_rng(31)  # of what came later: the others stay as they were
    normal = Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))
    laplace = Laplace(rng.normal(size=n), rng.uniform(0.5, 2, n))
    poisson = Poisson(rng.uniform(0.2, 9, n))
    samples = Samples(rng.normal(size=(n, 7)).round(1))
    diagonal = DiagonalNormal(rng.normal(size=(n, 3)), rng.uniform(0.5, 2, (n, 3)))
    full = MultivariateNormal(rng.normal(size=(n, 3)), covariances(rng, n, 3))
    values = np.sort(rng.normal(size=(n, 5)), axis=1)
    weights = rng.dirichlet([1, 1, 1], n)
    weights[0] = [0.4, 0.0, 0.6]
    return {
        "normal": normal,
        "laplace": laplace,
        "poisson": poisson,
        "negative binomial": NegativeBinomial(rng.uniform(0.2, 9, n), rng.uniform(0.4, 5, n)),
        "student t": StudentT(rng.uniform(5, 30, n), rng.normal(size=n), rng.uniform(0.5, 2, n)),
        "heavy tails": StudentT(np.resize([0.7, 1.0, 1.5, 2.0], n), rng.normal(size=n), rng.uniform(0.5, 2, n)),
        "gamma": Gamma(rng.uniform(0.6, 5, n), rng.uniform(0.4, 3, n)),
        "log-normal": LogNormal(rng.normal(size=n), rng.uniform(0.2, 0.7, n)),
        "beta": Beta(rng.uniform(0.6, 5, n), rng.uniform(0.6, 5, n)),
        "binomial": Binomial(rng.integers(1, 12, n), rng.uniform(0.1, 0.9, n)),
        "uniform": Uniform(rng.normal(size=n), rng.normal(size=n) + 6),
        "dirichlet": Dirichlet(rng.uniform(0.6, 4, (n, 3))),
        "full": full,
        "one covariance": MultivariateNormal(rng.normal(size=(n, 2)), covariances(rng, 1, 2)[0]),
        "diagonal": diagonal,
        "isotropic": IsotropicNormal(rng.normal(size=(n, 3)), rng.uniform(0.5, 2, n)),
        "vectors of one": DiagonalNormal(rng.normal(size=(n, 1)), rng.uniform(0.5, 2, (n, 1))),
        "samples": samples,
        "weighted samples": Samples(rng.normal(size=(n, 6)), rng.integers(0, 3, (n, 6)) + np.eye(6)[np.arange(n) % 6]),
        "vector samples": Samples(rng.normal(size=(n, 5, 2)), rng.random((n, 5))),
        "quantiles": Quantiles(values, LEVELS),
        "linear tails": Quantiles(values, LEVELS, tails="linear"),
        "point masses": flat_quantiles(),
        "mixture": Mixture(weights, [normal, laplace, Normal(rng.normal(size=n) + 4, 0.3)]),
        "mixture of counts": Mixture(weights, [poisson, Poisson(rng.uniform(20, 30, n)), Poisson(np.zeros(n))]),
        "mixture of vectors": Mixture(None, [diagonal, full]),
        "mixture with draws": Mixture([0.5, 0.5], [normal, samples]),
        "power exponential": MultivariatePowerExponential(own.normal(size=(n, 2)), covariances(own, n, 2), 0.7),
        "weibull": Weibull(own.uniform(0.4, 3, n), own.uniform(0.7, 3, n)),
        "mixture of mixtures": Mixture([0.2, 0.8], [Mixture(weights, [normal, laplace, normal]), laplace]),
    }


NAMES = tuple(build(np.random.default_rng(0)))
SCALARS = tuple(name for name, p in build(np.random.default_rng(0)).items() if p.event_shape == ())
NEW = ("uniform", "student t", "heavy tails", "gamma", "log-normal", "beta", "weibull")
DENSITIES = ("normal", "laplace", "quantiles", "linear tails", "mixture", "mixture of mixtures", *NEW)
COUNTS = ("poisson", "negative binomial", "binomial", "mixture of counts")
IN_LIBRARY = (
    "log-normal",
    "normal",
    "laplace",
    "full",
    "one covariance",
    "diagonal",
    "isotropic",
    "mixture",
    "mixture of vectors",
    "power exponential",
)
VECTORS = (
    "power exponential",
    "dirichlet",
    "full",
    "one covariance",
    "diagonal",
    "isotropic",
    "vectors of one",
    "mixture of vectors",
)
WITH_LOG_PROB = (*DENSITIES, *COUNTS, *VECTORS)


def batch(name):
    return build(np.random.default_rng(0))[name]


def drawn(predictions, size=DRAWS, seed=1):
    return predictions.sample(np.random.default_rng(seed), size)


# predictions that are wrong: narrower than those above (else at a quarter of the temperature), and lower
NARROWER = {
    "student t": lambda p: StudentT(p.df, p.loc, p.scale / 2),
    "heavy tails": lambda p: StudentT(p.df, p.loc, p.scale / 2),
    "uniform": lambda p: Uniform(p.mean - p.std, p.mean + p.std),
    "binomial": lambda p: Binomial(p.n * 0 + 20, np.clip(p.p, 0.2, 0.8)),
    "weibull": lambda p: Weibull(p.scale, 2 * p.shape),
}
SHIFTED = {
    "student t": lambda p: StudentT(p.df, p.loc - 1, p.scale),
    "heavy tails": lambda p: StudentT(p.df, p.loc - 1, p.scale),
    "uniform": lambda p: Uniform(p.low - 1, p.high - 1),
    "gamma": lambda p: Gamma(p.concentration, 2 * p.rate),
    "log-normal": lambda p: LogNormal(p.mu - 0.7, p.sigma),
    "weibull": lambda p: Weibull(p.scale / 2, p.shape),
    "beta": lambda p: Beta(p.a / 2, p.b * 2),
    "binomial": lambda p: Binomial(p.n, 0.5 * p.p),
}
