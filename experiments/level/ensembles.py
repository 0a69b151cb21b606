"""Settings of ensembles, vectors, and densities known through their score function."""

from __future__ import annotations

from functools import partial

import numpy as np
from frame import MANY_ROWS, NOTHING, Setting
from scipy.stats import gennorm

import kernelcal as kc


def members(values):
    """The first value of a row is the outcome, the others are the ensemble: all of one law."""

    def data(rng, n, size):
        found = values(rng, n, size + 1)
        return found[:, 0], kc.Samples(found[:, 1:])

    return data


def bell(rng, n, size):
    return rng.normal(rng.normal(size=(n, 1)), np.exp(rng.uniform(-1, 1, (n, 1))), (n, size))


def rain(rng, n, size):
    """Dry with a probability of the row, else a gamma amount: many ties at 0."""
    dry, amount = rng.uniform(0.2, 1, (n, 1)), rng.gamma(0.7, rng.uniform(1, 10, (n, 1)), (n, size))
    return np.where(rng.random((n, size)) < dry, 0.0, amount)


def heavy(rng, n, size):
    return rng.normal(size=(n, 1)) + rng.standard_t(1.5, (n, size))


def counts(rng, n, size):
    return rng.poisson(rng.uniform(0.1, 2, (n, 1)), (n, size)).astype(float)


ENSEMBLES = {"normal": bell, "rain": rain, "heavy tails": heavy, "rare counts": counts}


def ensemble_settings():
    for name, values in ENSEMBLES.items():
        for size in (1, 2, 5, 10, 50):
            data = partial(members(values), size=size)
            for n in (10, 30):
                yield Setting(
                    "default, ensembles", f"{name}, {size} draws", n, data, kc.calibration_test, repetitions=300
                )
            yield Setting("PIT values, ensembles", f"{name}, {size} draws", 30, data, kc.pit_test, shared=True)
    data = partial(members(rain), size=5)
    for statistic in ("skce", "ckce", "jkce", "ucme"):
        test = partial(kc.calibration_test, statistic=statistic)
        yield Setting("other statistics, ensembles", f"{statistic}, rain, 5 draws", 20, data, test, repetitions=300)
    whole_law = partial(kc.calibration_test, null="exact")
    yield Setting(
        "draws as the whole law", "normal, 5 draws", 30, partial(members(bell), size=5), whole_law, NOTHING, 400
    )


def correlated(rng, n):
    root = rng.normal(size=(n, 2, 2)) + 2 * np.eye(2)
    mean = rng.normal(size=(n, 2))
    y = mean + np.einsum("nij,nj->ni", root, rng.normal(size=(n, 2)))
    return y, kc.MultivariateNormal(mean, root @ root.transpose(0, 2, 1))


def diagonal(rng, n, d):
    mean, std = rng.normal(size=(n, d)), 10.0 ** rng.uniform(-2, 2, (n, d))
    return rng.normal(mean, std), kc.DiagonalNormal(mean, std)


def isotropic(rng, n):
    mean, scale = rng.normal(size=(n, 3)), rng.uniform(0.1, 2, n)
    return mean + scale[:, None] * rng.normal(size=(n, 3)), kc.IsotropicNormal(mean, scale)


def compositions(rng, n):
    concentration = rng.uniform(0.3, 5, (n, 3))
    return np.stack([rng.dirichlet(row) for row in concentration]), kc.Dirichlet(concentration)


def vector_draws(rng, n, size):
    found = rng.normal(size=(n, 1, 2)) + rng.exponential(size=(n, size + 1, 2))
    return found[:, 0], kc.Samples(found[:, 1:])


VECTORS = {
    "MultivariateNormal, 2 numbers": correlated,
    "DiagonalNormal, 2 numbers": partial(diagonal, d=2),
    "DiagonalNormal, 5 numbers": partial(diagonal, d=5),
    "IsotropicNormal, 3 numbers": isotropic,
    "Dirichlet, 3 shares": compositions,
    "Samples, 1 draw": partial(vector_draws, size=1),
    "Samples, 10 draws": partial(vector_draws, size=10),
}


def vector_settings():
    for name, data in VECTORS.items():
        for n in (5, 20):
            yield Setting("default, vectors", name, n, data, kc.calibration_test, repetitions=300)
        for statistic in ("skce", "ucme"):
            test = partial(kc.calibration_test, statistic=statistic)
            yield Setting("other statistics, vectors", f"{statistic}, {name}", 15, data, test, repetitions=200)


def quartic(rng, n, ways=()):
    """Densities proportional to ``exp(-(y - a)^4)``, and how they may be drawn from."""
    a = rng.normal(size=n)
    y = a + gennorm.rvs(4, size=n, random_state=rng)
    given = {}
    if "sampler" in ways:
        given["sampler"] = lambda generator, a: a + gennorm.rvs(4, size=len(a), random_state=generator)
    if "draws" in ways:
        given["draws"] = a[:, None] + gennorm.rvs(4, size=(n, 5), random_state=rng)
    if "density" in ways:
        return y, kc.UnnormalizedDensity(
            lambda y, a: -((y - a) ** 4), a, gradient=lambda y, a: -4 * (y - a) ** 3, **given
        )
    return y, kc.Score(lambda y, a: -4 * (y - a) ** 3, a, **given)


def density_settings():
    for n in (5, 20):
        for ways in (("sampler",), ("draws",), ("density", "sampler"), ("density", "draws")):
            title, data = ", ".join(("score", *ways)), partial(quartic, ways=ways)
            yield Setting("default, densities", title, n, data, kc.calibration_test, repetitions=300)
    for n in (30, 100, 200):
        yield Setting("wild", "kccsd, score", n, quartic, kc.calibration_test, MANY_ROWS, 300)
        block = partial(kc.calibration_test, statistic=kc.KCCSD(estimator="block", block_size=2))
        yield Setting("block", "kccsd, score", n, quartic, block, MANY_ROWS, 300)


SETTINGS = [*ensemble_settings(), *vector_settings(), *density_settings()]
