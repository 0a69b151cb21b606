"""Do two simulations of 500 data sets agree? Bounds of 3.5 standard errors, one in 2,000 by chance."""

from __future__ import annotations

import numpy as np

BOUND = 3.5
PUBLISHED = 500  # data sets
CHANCE = 4.65e-4  # two-sided, the same bound as a p-value


def mean_agrees(errors, estimates, mean, variance):
    """Mean absolute errors of ours and of theirs: normal bound from the two variances.

    Of theirs the variance of the estimates is known; that of their absolute errors is in the same ratio as ours.
    """
    ratio = errors.var(ddof=1) / estimates.var(ddof=1)
    spread = errors.var(ddof=1) / len(errors) + ratio * variance / PUBLISHED
    return bool(abs(errors.mean() - mean) <= BOUND * np.sqrt(spread))


def variance_agrees(estimates, variance):
    """Variances: normal bound for the logarithm of their ratio, from the kurtosis of the estimates."""
    centred = estimates - estimates.mean()
    kurtosis = (centred**4).mean() / (centred**2).mean() ** 2
    spread = (kurtosis - 1) * (1 / len(estimates) + 1 / PUBLISHED)
    return bool(abs(np.log(estimates.var(ddof=1) / variance)) <= BOUND * np.sqrt(spread))


def rates_agree(count, size, rate):
    """Two binomial proportions: Fisher's exact test."""
    from scipy.stats import fisher_exact

    theirs = round(rate * PUBLISHED)
    table = [[count, size - count], [theirs, PUBLISHED - theirs]]
    return bool(fisher_exact(table).pvalue >= CHANCE)


def at_level(count, size, level=0.05):
    """One binomial proportion against its level."""
    from scipy.stats import binomtest

    return bool(binomtest(count, size, level).pvalue >= CHANCE)
