"""Section 5.2: a model that is wrong in one fixed way, and inputs whose law moves."""

from __future__ import annotations

import numpy as np

import kernelcal as kc

ROWS, TRIALS, SCALE = 1000, 20, 0.25
MANY = 200  # trials beside the reference, whose 20 leave a standard error of a quarter of the standard deviation
LOCATIONS = np.linspace(-1, 1, 25)


def truth(x):
    """P(Y = 1 | x)."""
    return 1 / (1 + np.exp(-x))


def model(x):
    """What is predicted: five times too steep."""
    return truth(5 * x)


def inputs(location, n, rng):
    """Normal numbers of standard deviation 0.25, truncated to [-1, 1]."""
    from scipy.stats import truncnorm

    low, high = ((end - location) / SCALE for end in (-1, 1))
    return truncnorm.rvs(low, high, loc=location, scale=SCALE, size=n, random_state=rng)


def data_set(location, trial, n=ROWS, predict=model):
    """Targets and predictions of one trial; its seed depends on the location and the trial alone.

    Both probabilities are written down, so that L1 is that of the simplex: twice the gap of one of them.
    """
    rng = np.random.default_rng([round(1000 * (location + 1)), trial])
    x = inputs(location, n, rng)
    y = (rng.uniform(size=n) < truth(x)).astype(int)
    p = predict(x)
    return y, kc.Categorical(np.stack([1 - p, p], axis=1))


def simulate(statistics, trials=TRIALS, locations=LOCATIONS):
    """Values of shape (locations, trials, statistics)."""
    return np.array(
        [[[float(s(*data)) for s in statistics] for data in (data_set(a, k) for k in range(trials))] for a in locations]
    )


def spread(values):
    """Largest mean over smallest mean of all locations, one number a statistic."""
    means = values.mean(axis=1)
    return means.max(axis=0) / means.min(axis=0)


def summarised(values, names, locations=LOCATIONS):
    """A line a location: mean and standard deviation over the trials of every statistic."""
    header = ["alpha", *(f"{name} {what}" for name in names for what in ("mean", "sd"))]
    moments = np.stack([values.mean(axis=1), values.std(axis=1, ddof=1)], axis=2).reshape(len(values), -1)
    return header, [[f"{a:.4f}", *(f"{v:.4f}" for v in row)] for a, row in zip(locations, moments, strict=True)]


def beside_reference(statistics, columns, reference, trials=MANY):
    """A line a location of the reference: our mean (sd) / its mean, for the named columns of it."""
    values = simulate(statistics.values(), trials, list(reference))
    lines = []
    for (location, theirs), own in zip(reference.items(), values, strict=True):
        cells = zip(own.mean(axis=0), own.std(axis=0, ddof=1), [theirs[c] for c in columns], strict=True)
        lines.append([f"{location:+.1f}", *(f"{mean:.3f} ({sd:.3f}) / {known:.3f}" for mean, sd, known in cells)])
    return ["alpha", *statistics], lines
