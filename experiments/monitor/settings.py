"""Streams for the monitor: outcomes and predictions of n rows, calibrated, or wrong in a way that is told."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

import kernelcal as kc

LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
SCORES = np.array([-1.2816, -0.6745, 0.0, 0.6745, 1.2816])
AHEAD = 3  # steps that the overlapping forecasts look ahead


def happened(rng, p):
    return rng.random(len(p)) < p


def binary(rng, n, slope=1.0, shift=0.0, wave=0.0, shape=(1.0, 1.0)):
    p = np.clip(rng.beta(*shape, n), 1e-9, 1 - 1e-9)
    truth = expit(slope * logit(p) + shift) + wave * np.sin(8 * np.pi * p)
    return happened(rng, truth), kc.Bernoulli(p)


def rare(rng, n):
    return binary(rng, n, shape=(0.5, 20.0))


def classes(rng, n, number=3, noise=0.0):
    p = rng.dirichlet(np.full(number, 0.5), n)
    q = (1 - noise) * p + noise / number
    return (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, number - 1), kc.Categorical(p)


def ten_classes(rng, n, noise=0.0):
    return classes(rng, n, 10, noise)


def normal(rng, n, factor=1.0, bias=0.0, waves=1.0):
    m, s = 2 * rng.normal(size=n), rng.uniform(0.5, 2, n)
    return m + s * (bias * np.sin(waves * m) + factor * rng.normal(size=n)), kc.Normal(m, s)


def counts(rng, n):
    rate = rng.uniform(0.5, 6, n)
    return rng.poisson(rate), kc.Poisson(rate)


def quantiles(rng, n, factor=1.0):
    y, batch = normal(rng, n, factor)
    return y, kc.Quantiles(batch.mean[:, None] + batch.std[:, None] * SCORES, LEVELS)


def ensembles(rng, n, factor=1.0, bias=0.0):
    m = 2 * rng.normal(size=n)
    members = m[:, None] + rng.normal(size=(n, 10))
    return m + bias * np.sin(m) + factor * rng.normal(size=n), kc.Samples(members)


def overlapping(rng, n):
    """Forecasts three steps ahead of sums of three shocks: errors less than three rows apart depend on each other."""
    shocks = rng.normal(size=n + AHEAD - 1)
    return np.convolve(shocks, np.ones(AHEAD), "valid"), kc.Normal(np.zeros(n), np.full(n, np.sqrt(AHEAD)))


def clustered(rng, n, size=10):
    """Rows of subjects, ten of each in a row, which share one uniform number: each row is calibrated by itself."""
    p = np.repeat(rng.uniform(size=-(-n // size)), size)[:n]
    return np.repeat(rng.random(-(-n // size)), size)[:n] < p, kc.Bernoulli(p)


CALIBRATED = {  # generator, horizon of the monitor, streams
    "two classes": (binary, 1, 1000),
    "numbers": (normal, 1, 1000),
    "rare events": (rare, 1, 200),
    "three classes": (classes, 1, 200),
    "ten classes": (ten_classes, 1, 200),
    "counts": (counts, 1, 200),
    "quantile forecasts": (quantiles, 1, 200),
    "ensembles of ten": (ensembles, 1, 200),
    "overlapping, horizon 3": (overlapping, AHEAD, 200),
}
BROKEN = {  # the guarantee does not hold: told, not bounded
    "overlapping, horizon left out": (overlapping, 1, 100),
    "clusters of ten": (clustered, 1, 100),
}
WRONG = {
    "two classes, slope 0.7": lambda rng, n: binary(rng, n, 0.7),
    "two classes, slope 0.5": lambda rng, n: binary(rng, n, 0.5),
    "two classes, shift 0.3": lambda rng, n: binary(rng, n, 1.0, 0.3),
    "two classes, waves": lambda rng, n: binary(rng, n, wave=0.12),
    "ten classes, noise 0.1": lambda rng, n: ten_classes(rng, n, 0.1),
    "numbers, 1.2 times as wide": lambda rng, n: normal(rng, n, 1.2),
    "numbers, 0.85 times as wide": lambda rng, n: normal(rng, n, 0.85),
    "numbers, conditional bias": lambda rng, n: normal(rng, n, bias=0.4),
    "numbers, conditional bias, fast waves": lambda rng, n: normal(rng, n, bias=0.4, waves=2.0),
    "quantiles, 1.25 times as wide": lambda rng, n: quantiles(rng, n, 1.25),
    "ensembles, conditional bias": lambda rng, n: ensembles(rng, n, bias=0.5),
}
CHANGES = {  # before and after the change
    "slope 0.5": (binary, lambda rng, n: binary(rng, n, 0.5)),
    "slope 0.7": (binary, lambda rng, n: binary(rng, n, 0.7)),
    "shift 0.5": (binary, lambda rng, n: binary(rng, n, 1.0, 0.5)),
    "calibrated, cases get harder": (
        lambda rng, n: binary(rng, n, shape=(0.3, 0.3)),
        lambda rng, n: binary(rng, n, shape=(2.0, 2.0)),
    ),
}
