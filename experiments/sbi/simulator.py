"""A simulator with crescents for posteriors: a point of the plane is seen through two noisy numbers.

Two unknowns theta with prior N(0, I). Seen are x_1, the squared distance of theta from 0, and x_2, the difference
theta_2 - theta_1, with noise. The posterior is known up to a constant, and by rejection it can be drawn from exactly.
"""

from __future__ import annotations

import numpy as np

NOISE = np.array([0.5, 1.0])


def seen(theta):
    """What would be seen without noise, shape (..., 2)."""
    return np.stack([(theta**2).sum(axis=-1), theta[..., 1] - theta[..., 0]], axis=-1)


def simulate(rng, n):
    """Pairs (theta, x), each of shape (n, 2)."""
    theta = rng.standard_normal((n, 2))
    return theta, seen(theta) + NOISE * rng.standard_normal((n, 2))


def log_likelihood(theta, x):
    """Log density of x given theta, up to a constant, shape (...)."""
    return -0.5 * (((x - seen(theta)) / NOISE) ** 2).sum(axis=-1)


def log_posterior(theta, x):
    """Log posterior up to a constant a row."""
    return -0.5 * (theta**2).sum(axis=-1) + log_likelihood(theta, x)


def posterior_score(theta, x):
    """Gradient of the log posterior by theta, shape (n, 2)."""
    pull = (x - seen(theta)) / NOISE**2
    return -theta + 2 * pull[:, :1] * theta + pull[:, 1:] * np.array([-1.0, 1.0])


def posterior_draws(rng, x, size, batch=2_000):
    """Draws from the posteriors by rejection from the prior, shape (n, size, 2)."""
    return np.stack([_drawn(rng, row, size, batch) for row in x])


def _drawn(rng, x, size, batch):
    kept = np.empty((0, 2))
    while len(kept) < size:
        theta = _prior(rng, x, batch)
        kept = np.concatenate([kept, theta[np.log(rng.random(batch)) < _radial(theta, x)]])
    return kept[:size]


def _prior(rng, x, batch):
    """Draws from prior and second measurement together, a normal: theta_2 - theta_1 is known, their sum is not."""
    variance = 2 / (2 + NOISE[1] ** 2)  # share of the difference that is signal
    difference = variance * x[1] + np.sqrt(2 * (1 - variance)) * rng.standard_normal(batch)
    total = np.sqrt(2) * rng.standard_normal(batch)
    return np.stack([total - difference, total + difference], axis=-1) / 2


def _radial(theta, x):
    """Log likelihood of the first measurement, at most 0, divided by the largest that it can be."""
    least = min(x[0], 0.0)  # no theta has a negative squared distance
    return -0.5 * (((x[0] - seen(theta)[:, 0]) ** 2) - least**2) / NOISE[0] ** 2
