"""The Gaussian models of Glaser, Widmann, Lindsten, Gretton (2023), Sec. 6; delta 0 is calibrated."""

from __future__ import annotations

import numpy as np

from kernelcal.predictions import IsotropicNormal, Normal


def mgm(rng, n, delta, off=np.ones(5)):  # noqa: B008
    """Mean Gaussian model: the means are off by delta c, with c the vector of ones: all five are."""
    x = rng.standard_normal((n, 5))
    return x + rng.standard_normal((n, 5)), IsotropicNormal(x + delta * off, np.ones(n))


def mgm_first(rng, n, delta):
    """Mean Gaussian model with c the first unit vector, the other one of the paper: one mean of five is off."""
    return mgm(rng, n, delta, np.eye(5)[0])


def lgm(rng, n, delta):
    """Linear Gaussian model: the mean is off by delta."""
    mean = rng.standard_normal((n, 5)) @ np.arange(1.0, 6.0)
    return mean + rng.standard_normal(n), Normal(mean + delta, 1.0)


def hgm(rng, n, delta):
    """Heteroscedastic Gaussian model: too wide near a point of the covariates."""
    x = rng.standard_normal((n, 3))
    mean, squared = x.sum(axis=1), ((x - 2 / 3) ** 2).sum(axis=1)
    variance = 1 + 10 * delta * np.exp(-squared / (2 * 0.8**2))
    return mean + rng.standard_normal(n), Normal(mean, np.sqrt(variance))


def qgm(rng, n, delta):
    """Quadratic Gaussian model: a share delta of the quadratic term is missing."""
    x = rng.uniform(-2, 2, n)
    return 0.1 * x**2 + x + 1 + rng.standard_normal(n), Normal(0.1 * (1 - delta) * x**2 + x + 1, 1.0)


MODELS = {"MGM d=5": mgm, "LGM": lgm, "HGM": hgm, "QGM": qgm, "MGM d=5, c = e1": mgm_first}


def seeded(name, delta, n, repetition):
    """Targets and predictions of one data set: its numbers depend on these arguments alone."""
    seed = [23, list(MODELS).index(name), round(1000 * delta), n, repetition]
    return MODELS[name](np.random.default_rng(seed), n, delta)
