"""Settings of numbers and counts: light and heavy tails, bounded laws, rare counts, scales over orders of magnitude."""

from __future__ import annotations

from functools import partial

import numpy as np
from frame import Setting

import kernelcal as kc


def normal(rng, n):
    mean, std = 2 * rng.normal(size=n), np.exp(rng.uniform(-1, 1, n))
    return rng.normal(mean, std), kc.Normal(mean, std)


def spread_out(rng, n):
    mean, std = rng.normal(size=n), 10.0 ** rng.uniform(-4, 4, n)
    return rng.normal(mean, std), kc.Normal(mean, std)


def the_same(rng, n):
    return rng.normal(3, 2, n), kc.Normal(np.full(n, 3.0), np.full(n, 2.0))


def far_from_zero(rng, n):
    mean = 1e6 + rng.normal(size=n)
    return rng.normal(mean, 0.1), kc.Normal(mean, np.full(n, 0.1))


def laplace(rng, n):
    loc, scale = rng.normal(size=n), rng.uniform(0.2, 2, n)
    return rng.laplace(loc, scale), kc.Laplace(loc, scale)


def student(rng, n, df):
    loc, scale = rng.normal(size=n), rng.uniform(0.2, 2, n)
    return loc + scale * rng.standard_t(df, n), kc.StudentT(np.full(n, float(df)), loc, scale)


def gamma(rng, n, shape):
    rate = rng.uniform(0.2, 5, n)
    return rng.gamma(shape, 1 / rate), kc.Gamma(np.full(n, shape), rate)


def log_normal(rng, n, sigma):
    mu = rng.normal(size=n)
    return rng.lognormal(mu, sigma), kc.LogNormal(mu, np.full(n, sigma))


def beta(rng, n, low, high):
    a, b = rng.uniform(low, high, (2, n))
    return rng.beta(a, b), kc.Beta(a, b)


def uniform(rng, n):
    low, width = rng.normal(size=n), rng.uniform(0.1, 3, n)
    return rng.uniform(low, low + width), kc.Uniform(low, low + width)


def two_peaks(rng, n):
    """Half of the mass below, half above: no outcome is near the mean."""
    mean, first = rng.normal(size=n), rng.random(n) < 0.5
    parts = (kc.Normal(mean - 3, np.full(n, 0.5)), kc.Normal(mean + 3, np.full(n, 0.5)))
    return rng.normal(mean + np.where(first, -3, 3), 0.5), kc.Mixture(np.full((n, 2), 0.5), parts)


def poisson(rng, n, low, high):
    rate = np.exp(rng.uniform(np.log(low), np.log(high), n))
    return rng.poisson(rate).astype(float), kc.Poisson(rate)


def half_impossible(rng, n):
    """A rate of 0 in half of the rows."""
    rate = np.where(rng.random(n) < 0.5, 0.0, 2.0)
    return rng.poisson(rate).astype(float), kc.Poisson(rate)


def negative_binomial(rng, n, dispersion):
    mean = rng.uniform(0.5, 5, n)
    y = rng.negative_binomial(dispersion, dispersion / (dispersion + mean))
    return y.astype(float), kc.NegativeBinomial(mean, np.full(n, dispersion))


def binomial(rng, n, trials, p):
    p = p(rng, n)
    return rng.binomial(trials, p).astype(float), kc.Binomial(np.full(n, trials), p)


def zero_inflated(rng, n):
    """No count at all with a probability of the row, else a Poisson count."""
    none, rate = rng.uniform(0.3, 0.9, n), rng.uniform(1, 5, n)
    y = np.where(rng.random(n) < none, 0, rng.poisson(rate)).astype(float)
    return y, kc.Mixture(np.column_stack([none, 1 - none]), (kc.Poisson(np.zeros(n)), kc.Poisson(rate)))


NUMBERS = {
    "Normal": normal,
    "Normal, std 1e-4 to 1e4": spread_out,
    "Normal, one law for all rows": the_same,
    "Normal, means of 1e6": far_from_zero,
    "Laplace": laplace,
    "StudentT, 1.5 degrees of freedom": partial(student, df=1.5),
    "StudentT, 3 degrees of freedom": partial(student, df=3),
    "Gamma, shape 0.3": partial(gamma, shape=0.3),
    "Gamma, shape 4": partial(gamma, shape=4.0),
    "LogNormal, sigma 0.5": partial(log_normal, sigma=0.5),
    "LogNormal, sigma 2": partial(log_normal, sigma=2.0),
    "Beta, both below 1": partial(beta, low=0.2, high=0.8),
    "Beta, both above 1": partial(beta, low=1.5, high=8),
    "Uniform": uniform,
    "mixture of two normals": two_peaks,
}
COUNTS = {
    "Poisson, rate 0.01": partial(poisson, low=0.01, high=0.0100001),
    "Poisson, rates about 0.3": partial(poisson, low=0.2, high=0.5),
    "Poisson, rates about 4": partial(poisson, low=2, high=8),
    "Poisson, rates about 30": partial(poisson, low=20, high=45),
    "Poisson, rates 0.01 to 30": partial(poisson, low=0.01, high=30),
    "Poisson, rates 0 and 2": half_impossible,
    "NegativeBinomial, dispersion 0.1": partial(negative_binomial, dispersion=0.1),
    "NegativeBinomial, dispersion 2": partial(negative_binomial, dispersion=2.0),
    "Binomial, 1 trial": partial(binomial, trials=1, p=lambda rng, n: rng.random(n)),
    "Binomial, 20 trials": partial(binomial, trials=20, p=lambda rng, n: rng.random(n)),
    "Binomial, 5 trials, 0 and 1 among p": partial(
        binomial, trials=5, p=lambda rng, n: rng.choice([0, 0.01, 0.6, 1], n)
    ),
    "zero-inflated Poisson": zero_inflated,
}
LAWS = NUMBERS | COUNTS


def second_moment(y, predictions):
    """A statistic of one's own: squared standardised residuals, far from 1 on average."""
    return abs(float((((y - predictions.mean) / predictions.std) ** 2).mean()) - 1)


def settings():
    for kind, laws in (("numbers", NUMBERS), ("counts", COUNTS)):
        for name, data in laws.items():
            for n, repetitions in ((2, 300), (10, 500), (40, 300)):
                yield Setting(f"default, {kind}", name, n, data, kc.calibration_test, repetitions=repetitions)
            for n in (5, 50):
                yield Setting(f"PIT values, {kind}", name, n, data, kc.pit_test, shared=True)
    for name in ("Normal", "Poisson, rates 0.01 to 30"):
        yield Setting("default, numbers, 200 rows", name, 200, LAWS[name], kc.calibration_test, repetitions=200)
        yield Setting("PIT values, 500 rows", name, 500, LAWS[name], kc.pit_test, repetitions=300, shared=True)


def statistic_settings():
    for name in ("Normal", "StudentT, 3 degrees of freedom", "LogNormal, sigma 2", "Poisson, rates 0.01 to 30"):
        for n, statistic in zip((10, 40, 20, 12, 25), ("skce", "skce-block", "ckce", "jkce", "ucme"), strict=True):
            test = partial(kc.calibration_test, statistic=statistic)
            yield Setting("other statistics, numbers", f"{statistic}, {name}", n, LAWS[name], test, repetitions=300)
        own = partial(kc.calibration_test, statistic=second_moment)
        yield Setting("other statistics, numbers", f"own function, {name}", 20, LAWS[name], own, repetitions=300)
    for name in ("Normal", "StudentT, 3 degrees of freedom"):
        stein = partial(kc.calibration_test, statistic="kccsd")
        yield Setting("other statistics, numbers", f"kccsd, {name}", 20, LAWS[name], stein, repetitions=300)


def weight_settings():
    for name in ("Normal", "Poisson, rates about 0.3"):
        for label, draw in (("heavy tails", lambda rng, n: rng.pareto(1.1, n) + 0.01), ("half of them 0", _half)):

            def data(rng, n, law=LAWS[name], draw=draw):
                return *law(rng, n), draw(rng, n)

            def test(y, predictions, weights):
                return kc.calibration_test(y, predictions, weights=weights)

            yield Setting("case weights, numbers", f"{label}, {name}", 20, data, test, repetitions=300)


def _half(rng, n):
    return np.where(np.arange(n) % 2, rng.random(n), 0.0)


SETTINGS = [*settings(), *statistic_settings(), *weight_settings()]
