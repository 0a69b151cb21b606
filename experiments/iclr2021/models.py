"""The two models of A.2 and the squared calibration error of the uncalibrated one."""

from __future__ import annotations

import numpy as np
from common import skce

import kernelcal as kc

MODELS = ("calibrated", "uncalibrated")
SIGMA = 0.1


def data_set(model, d, n, rng):
    """Targets and predictions N(c 1_d, 0.1^2 I), c ~ U(0, 1); uncalibrated: the first target is N(0.1, 0.1^2)."""
    c = rng.random(n)
    centre = np.repeat(c[:, None], d, axis=1)
    if model == "uncalibrated":
        centre[:, 0] = 0.1
    y = centre + SIGMA * rng.standard_normal((n, d))
    if d == 1:
        return y[:, 0], kc.Normal(c, SIGMA)
    return y, kc.MultivariateNormal.isotropic(np.repeat(c[:, None], d, axis=1), np.full(n, SIGMA))


def seeded(model, d, n, repetition):
    """One data set; its seed depends on these four alone."""
    return data_set(model, d, n, np.random.default_rng([MODELS.index(model), d, n, repetition]))


def true_skce(model, d, order=60):
    """Squared calibration error in the limit of many rows, by Gauss-Legendre quadrature over c' < c.

    Given c and c' all expectations are those of a Gaussian kernel under normal laws,
    ``E exp(-|Z - Z'|^2 / 2) = a^(-d/2) exp(-|m - m'|^2 / (2 a))`` with a = 1 + 2 sigma^2, and only the first component
    tells truth and prediction apart.
    """
    if model == "calibrated":
        return 0.0
    nodes, weights = np.polynomial.legendre.leggauss(order)
    nodes, weights = (nodes + 1) / 2, weights / 2
    c, w = nodes[:, None], weights[:, None] * nodes[:, None] * weights  # the triangle c' = c u
    other, a = c * nodes, 1 + 2 * SIGMA**2

    def bump(gap):
        return np.exp(-(gap**2) / (2 * a))

    first = 1 - bump(other - 0.1) - bump(c - 0.1) + bump(c - other)
    rest = a ** (-d / 2) * bump(c - other) ** (d - 1)
    return float(2 * (w * np.exp(-np.sqrt(d) * (c - other)) * first * rest).sum())


def simulated_skce(task):
    """Unbiased estimate from one data set of 1,000 rows, of which the paper averages 1,000."""
    d, repetition, *rows = task
    rng = np.random.default_rng([7, d, repetition])
    y, predictions = data_set("uncalibrated", d, rows[0] if rows else 1_000, rng)
    return float(skce()(y, predictions))
