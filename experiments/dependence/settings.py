"""Calibrated predictions of outcomes that depend on each other: overlapping forecasts and clusters.

Outcomes come from NumPy and SciPy. A setting makes, from a generator, outcomes, predictions and what is said of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import nbinom, norm, poisson

import kernelcal as kc
from kernelcal.dependence import Dependence

Data = tuple[np.ndarray, Any, Dependence]

_WARM = 200


def _autoregression(rng: np.random.Generator, n: int, h: int, phi: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Outcomes of an AR(1), the mean that is known h steps before, and the standard deviation about it."""
    noise, x = rng.normal(size=n + _WARM), np.zeros(n + _WARM)
    for t in range(1, len(x)):
        x[t] = phi * x[t - 1] + noise[t]
    t = np.arange(_WARM, _WARM + n)
    return x[t], phi**h * x[t - h], float(np.sqrt((phi ** (2 * np.arange(h))).sum()))


def _moving(rng: np.random.Generator, n: int, h: int) -> np.ndarray:
    """Standard normal errors that are the mean of h shocks."""
    return np.convolve(rng.normal(size=n + h - 1), np.full(h, h**-0.5), "valid")


def ar_normal(rng: np.random.Generator, n: int, h: int, phi: float = 0.9) -> Data:
    y, mean, sd = _autoregression(rng, n, h, phi)
    return y, kc.Normal(mean, np.full(n, sd)), Dependence.of(n, horizon=h)


def ar_binary(rng: np.random.Generator, n: int, h: int, phi: float = 0.9, bar: float = 0.0) -> Data:
    y, mean, sd = _autoregression(rng, n, h, phi)
    return (y > bar).astype(int), norm.sf((bar - mean) / sd), Dependence.of(n, horizon=h)


def moving_volatile(rng: np.random.Generator, n: int, h: int) -> Data:
    """Widths that follow each other, too, and are known."""
    sd = np.exp(0.7 * _autoregression(rng, n, 1, 0.95)[0] / 3)
    return sd * _moving(rng, n, h), kc.Normal(np.zeros(n), sd), Dependence.of(n, horizon=h)


def moving_student(rng: np.random.Generator, n: int, h: int) -> Data:
    """Heavy tails by a copula."""
    from scipy.stats import t

    mean = 3 * rng.normal(size=n)
    return (
        mean + t.ppf(norm.cdf(_moving(rng, n, h)), 4),
        kc.StudentT(np.full(n, 4.0), mean, np.ones(n)),
        Dependence.of(n, horizon=h),
    )


def moving_counts(rng: np.random.Generator, n: int, h: int, rate: float) -> Data:
    means = rate * np.exp(0.5 * rng.normal(size=n))
    return poisson.ppf(norm.cdf(_moving(rng, n, h)), means), kc.Poisson(means), Dependence.of(n, horizon=h)


def moving_quantiles(rng: np.random.Generator, n: int, h: int) -> Data:
    mean, levels = rng.normal(size=n), [0.05, 0.25, 0.5, 0.75, 0.95]
    quantiles = mean[:, None] + norm.ppf(levels)
    return mean + _moving(rng, n, h), kc.Quantiles(quantiles, levels), Dependence.of(n, horizon=h)


def moving_classes(rng: np.random.Generator, n: int, h: int) -> Data:
    p = rng.dirichlet([1.0, 1.0, 1.0], n)
    y = (norm.cdf(_moving(rng, n, h))[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return y, kc.Categorical(p), Dependence.of(n, horizon=h)


def several_series(rng: np.random.Generator, series: int, n: int, h: int) -> Data:
    parts = [_autoregression(rng, n, h, 0.8) for _ in range(series)]
    y, mean, sd = (np.concatenate([np.broadcast_to(part[k], n) for part in parts]) for k in range(3))
    return y, kc.Normal(mean, sd), Dependence.of(series * n, horizon=h, series=np.repeat(np.arange(series), n))


def with_gaps(rng: np.random.Generator, n: int, h: int) -> Data:
    """A third of the times were not kept."""
    y, mean, sd = _autoregression(rng, 2 * n, h, 0.9)
    kept = np.sort(rng.choice(2 * n, n, replace=False))
    return y[kept], kc.Normal(mean[kept], np.full(n, sd)), Dependence.of(n, horizon=h, time=kept)


def _sizes(rng: np.random.Generator, clusters: int, size: int, unequal: bool) -> np.ndarray:
    if not unequal:
        return np.full(clusters, size)
    return 1 + rng.geometric(1 / size, clusters)


def _latent(rng: np.random.Generator, of: np.ndarray, rho: float) -> np.ndarray:
    shared = rng.normal(size=of.max() + 1)[of]
    return np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.normal(size=len(of))


def clusters(
    rng: np.random.Generator, family: str, number: int, size: int, rho: float, unequal: bool = False, like: float = 0.0
) -> Data:
    """Clusters with a shared part of correlation rho; `like`: share of the predictions' variance between clusters."""
    of = np.repeat(np.arange(number), _sizes(rng, number, size, unequal))
    n, g = len(of), _latent(rng, of, rho)
    x = np.sqrt(like) * rng.normal(size=number)[of] + np.sqrt(1 - like) * rng.normal(size=n)
    rows = Dependence.of(n, clusters=of)
    if family == "binary":
        p = norm.cdf(x)
        return (g > norm.ppf(1 - p)).astype(int), p, rows
    if family == "rare":
        p = 0.05 * np.exp(0.5 * x)
        return (g > norm.ppf(1 - p)).astype(int), p, rows
    if family == "normal":
        sd = np.exp(0.5 * rng.normal(size=n))
        return x + sd * g, kc.Normal(x, sd), rows
    if family == "counts":
        mean = np.exp(0.5 * x)
        return nbinom.ppf(norm.cdf(g), 2, 2 / (2 + mean)), kc.NegativeBinomial(mean, 2.0), rows
    quantiles = x[:, None] + norm.ppf([0.1, 0.5, 0.9])
    return x + g, kc.Quantiles(quantiles, [0.1, 0.5, 0.9]), rows


def random_slopes(rng: np.random.Generator, number: int, size: int) -> Data:
    """Clusters differ in how outcomes follow a covariate that the model averages over: each row's law is right."""
    of = np.repeat(np.arange(number), size)
    n, x = len(of), rng.normal(size=len(of))
    slope = 0.7 * rng.normal(size=number)[of]
    sd = np.sqrt(1 + (0.7 * x) ** 2)
    return x + slope * x + rng.normal(size=n), kc.Normal(x, sd), Dependence.of(n, clusters=of)


def autoregression_inside(rng: np.random.Generator, number: int, size: int) -> Data:
    parts = [_autoregression(rng, size, 1, 0.7)[0] * np.sqrt(1 - 0.49) for _ in range(number)]
    of, x = np.repeat(np.arange(number), size), rng.normal(size=number * size)
    return x + np.concatenate(parts), kc.Normal(x, np.ones(len(x))), Dependence.of(len(x), clusters=of)


OVERLAPS: dict[str, Callable[[np.random.Generator], Data]] = {
    "AR .9, h 8, n 100": partial(ar_normal, n=100, h=8),
    "AR .9, h 24, n 400": partial(ar_normal, n=400, h=24),
    "AR .5, h 4, n 100": partial(ar_normal, n=100, h=4, phi=0.5),
    "AR .9, h 2, n 400": partial(ar_normal, n=400, h=2),
    "AR -.6, h 3, n 200": partial(ar_normal, n=200, h=3, phi=-0.6),
    "events, AR .9, h 8, n 200": partial(ar_binary, n=200, h=8),
    "events, AR .95, h 8, n 400": partial(ar_binary, n=400, h=8, phi=0.95),
    "rarer events, AR .9, h 4, n 400": partial(ar_binary, n=400, h=4, bar=3.0),
    "MA with volatility, h 6, n 200": partial(moving_volatile, n=200, h=6),
    "MA, Student 4, h 6, n 200": partial(moving_student, n=200, h=6),
    "MA, Poisson 3, h 6, n 200": partial(moving_counts, n=200, h=6, rate=3.0),
    "MA, Poisson .3, h 4, n 300": partial(moving_counts, n=300, h=4, rate=0.3),
    "MA, quantiles, h 6, n 200": partial(moving_quantiles, n=200, h=6),
    "MA, three classes, h 4, n 200": partial(moving_classes, n=200, h=4),
    "10 series of 40, AR .8, h 5": partial(several_series, series=10, n=40, h=5),
    "AR .9 with gaps, h 8, n 200": partial(with_gaps, n=200, h=8),
}

CLUSTERS: dict[str, Callable[[np.random.Generator], Data]] = {
    f"{family}, {number} x {size}, rho {rho}{', unequal' if unequal else ''}{', alike' if like else ''}": partial(
        clusters, family=family, number=number, size=size, rho=rho, unequal=unequal, like=like
    )
    for family, number, size, rho, unequal, like in (
        ("binary", 20, 10, 0.1, False, 0.0),
        ("binary", 20, 10, 0.3, False, 0.5),
        ("binary", 30, 10, 0.6, False, 0.5),
        ("binary", 200, 3, 0.8, True, 0.5),
        ("binary", 50, 8, 0.3, True, 1.0),
        ("rare", 60, 10, 0.3, False, 0.5),
        ("normal", 20, 10, 0.3, False, 0.0),
        ("normal", 12, 20, 0.5, False, 0.5),
        ("normal", 50, 6, 0.6, True, 0.5),
        ("normal", 100, 5, 0.0, False, 0.5),
        ("counts", 30, 10, 0.4, True, 0.5),
        ("quantiles", 30, 10, 0.4, False, 0.5),
        ("normal", 7, 30, 0.3, False, 0.0),
    )
}
CLUSTERS |= {
    "normal, random slopes, 30 x 10": partial(random_slopes, number=30, size=10),
    "normal, random slopes, 100 x 6": partial(random_slopes, number=100, size=6),
    "normal, AR .7 inside, 30 x 10": partial(autoregression_inside, number=30, size=10),
}
