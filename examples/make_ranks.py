"""Make the two files of the pages about vectors and about simulation-based inference.

    python examples/make_ranks.py

Needs NumPy alone. ``wind.npz`` has wind at three hours of 150 days, y of shape (150, 3), and ensembles of 15 members,
samples of shape (150, 15, 3): the members of one day go together less from hour to hour than the wind does, and the
last hour is too narrow. ``sbc_ranks.csv`` has ranks among 99 draws of two parameters in 400 simulations, mean and
standard deviation of ten normal numbers: the posterior of the mean is right, and that of the standard deviation
counts every number twice.
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DAYS, MEMBERS, HOURS = 150, 15, 3
SIMULATIONS, DRAWS, NUMBERS = 400, 99, 10


def along(rho):
    """Covariance of hours whose correlation is rho from one to the next."""
    k = np.arange(HOURS)
    return rho ** np.abs(k[:, None] - k)


def wind(rng):
    centre = 8 + 2 * rng.normal(size=(DAYS, 1)) + np.array([0.0, 0.5, 1.0])
    y = centre + 1.5 * rng.multivariate_normal(np.zeros(HOURS), along(0.8), DAYS)
    width = 1.5 * np.array([1.0, 1.0, 0.75])
    samples = centre[:, None] + width * rng.multivariate_normal(np.zeros(HOURS), along(0.4), (DAYS, MEMBERS))
    return y.round(2).astype(np.float32), samples.round(2).astype(np.float32)


def posteriors(rng):
    """Ranks of mu and sigma among draws of their posteriors given ten numbers, which are known."""
    # prior: 1 / sigma^2 is gamma with shape 3 and rate 3; mu given sigma is normal with variance sigma^2
    precision = rng.gamma(3, 1 / 3, SIMULATIONS)
    mu = rng.normal(size=SIMULATIONS) / np.sqrt(precision)
    x = mu[:, None] + rng.normal(size=(SIMULATIONS, NUMBERS)) / np.sqrt(precision)[:, None]
    mean, squares = x.mean(axis=1), ((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    rate = 3 + squares / 2 + NUMBERS / (2 * (NUMBERS + 1)) * mean**2
    shape = 3 + NUMBERS / 2
    drawn = rng.gamma(shape, 1 / rate[:, None], (SIMULATIONS, DRAWS))
    of_mu = NUMBERS * mean[:, None] / (NUMBERS + 1)
    of_mu = of_mu + rng.normal(size=drawn.shape) / np.sqrt((NUMBERS + 1) * drawn)
    twice = 3 + squares + NUMBERS / (2 * NUMBERS + 1) * mean**2
    wrong = rng.gamma(3 + NUMBERS, 1 / twice[:, None], (SIMULATIONS, DRAWS))
    ranks = (of_mu < mu[:, None]).sum(axis=1), (wrong**-0.5 < (precision**-0.5)[:, None]).sum(axis=1)
    return np.stack(ranks, axis=1)


def main():
    y, samples = wind(np.random.default_rng(29))
    np.savez_compressed(HERE / "wind.npz", y=y, samples=samples)
    ranks = posteriors(np.random.default_rng(11))
    lines = [f"{k},{a},{b}" for k, (a, b) in enumerate(ranks)]
    (HERE / "sbc_ranks.csv").write_text("\n".join(["simulation,rank_mu,rank_sigma", *lines]) + "\n")


if __name__ == "__main__":
    main()
