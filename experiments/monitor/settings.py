"""Streams for the monitor: outcomes and predictions of n rows, calibrated, or wrong in a way that is told."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit, ndtri

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
    "rare events": (rare, 1, 1000),
    "three classes": (classes, 1, 1000),
    "ten classes": (ten_classes, 1, 1000),
    "counts": (counts, 1, 1000),
    "quantile forecasts": (quantiles, 1, 1000),
    "ensembles of ten": (ensembles, 1, 1000),
    "overlapping, horizon 3": (overlapping, AHEAD, 1000),
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


# Changes by which the interval of the change point was not chosen: other laws, other sizes, other patterns.


def skewed(rng, n, slope=1.0, above=0.0):
    """Unlikely events; `above` a probability of one half outcomes happen less often."""
    score = rng.normal(-1, 1.5, n)
    p = expit(score)
    return happened(rng, expit(slope * score - above * (p > 0.5))), kc.Bernoulli(p)


def softmax(rng, n, power=1.0):
    """Five classes of logits that are normal."""
    scores = rng.normal(0, 1.5, (n, 5))
    p, q = (np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) for x in (power * scores, scores))
    return (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, 4), kc.Categorical(p)


def heavy(rng, n, factor=1.0, sided=0.0):
    """Student's t with five degrees of freedom, off by `sided` to the side on which it lies."""
    m, s = rng.uniform(-3, 3, n), rng.lognormal(0, 0.5, n)
    return m + s * (factor * rng.standard_t(5, n) + sided * np.sign(m)), kc.StudentT(np.full(n, 5.0), m, s)


def many_counts(rng, n, factor=1.0):
    rate = rng.gamma(4, 2, n)
    return rng.poisson(factor * rate), kc.Poisson(rate)


def nine_quantiles(rng, n, shift=0.0):
    m, levels = rng.normal(size=n), np.arange(1, 10) / 10
    return m + shift + rng.normal(size=n), kc.Quantiles(m[:, None] + ndtri(levels), levels)


def twenty_members(rng, n, factor=1.0):
    m, s = rng.normal(size=n), rng.uniform(0.5, 2, n)
    return m + factor * s * rng.normal(size=n), kc.Samples(m[:, None] + s[:, None] * rng.normal(size=(n, 20)))


CHANGED = {  # generator, what changes
    "two classes, slope 0.6": (skewed, {"slope": 0.6}),
    "two classes, slope 0.8": (skewed, {"slope": 0.8}),
    "two classes, wrong above one half": (skewed, {"above": 1.2}),
    "five classes, logits 1.6 times too large": (softmax, {"power": 1.6}),
    "Student's t, 1.4 times as wide": (heavy, {"factor": 1.4}),
    "Student's t, off by 0.4 to its side": (heavy, {"sided": 0.4}),
    "counts, 1.15 times as many": (many_counts, {"factor": 1.15}),
    "nine quantiles, shift 0.3": (nine_quantiles, {"shift": 0.3}),
    "ensembles of 20, 1.3 times as wide": (twenty_members, {"factor": 1.3}),
}
