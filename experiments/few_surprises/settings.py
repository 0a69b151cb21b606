"""Settings in which few outcomes are surprising, and some where many are: generators of NumPy alone, and true errors.

A setting of one model draws outcomes, predictions and what else there is, and knows the true root of the error. One of
two models draws models that err by equally much, so that each difference found is found falsely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import poisson

import kernelcal as kc

WIDTH = 0.3
KERNEL = kc.Laplacian(WIDTH)
ROOT = ("root", "ball", "bootstrap")


@dataclass(frozen=True)
class Data:
    """Outcomes, predictions, the true root of the SKCE, case weights."""

    y: np.ndarray
    predictions: Any
    truth: float
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class Setting:
    """A generator, the methods that are asked, and the statistic."""

    draw: Callable[[np.random.Generator, int], Data]
    n: int
    methods: tuple[str, ...] = ROOT
    statistic: Any = field(default_factory=lambda: kc.SKCE(prediction_kernel=KERNEL))
    old: bool = False  # whether the intervals held before: their widths are compared


def constant(p, truth):
    """One risk for all rows, which is another one."""

    def draw(rng, n):
        return Data((rng.random(n) < truth).astype(int), np.full(n, p), np.sqrt(2) * abs(truth - p))

    return draw


def true_root(p, gap):
    """Root of ``2 E k(p, p') gap gap'`` over many predictions that stand for their law.

    In ascending order the sum over all that lie below follows from that of the point before.
    """
    order = np.argsort(p)
    shrunk, gap = np.exp(-np.diff(p[order]) / WIDTH).tolist(), gap[order].tolist()
    below = total = 0.0
    for factor, before, own in zip(shrunk, gap, gap[1:], strict=False):
        below = factor * (below + before)
        total += own * below
    return float(np.sqrt(2 * (2 * total + sum(g * g for g in gap))) / len(p))


def spread(law, risk):
    """Risks of a law, and true risks that are a function of them."""
    many = law(np.random.default_rng(99), 3000)
    truth = true_root(many, risk(many) - many)

    def draw(rng, n):
        p = law(rng, n)
        return Data((rng.random(n) < risk(p)).astype(int), p, truth)

    return draw


def rare(b, factor=1.0, shift=0.0):
    return spread(lambda rng, n: rng.beta(1, b, n), lambda p: np.minimum(factor * p + shift, 1))


def uniform(shift):
    return spread(lambda rng, n: rng.uniform(0, 1 - shift, n), lambda p: p + shift)


def sure(shift):
    return spread(lambda rng, n: 1 - 0.99 * rng.beta(0.5, 100, n), lambda p: np.maximum(p - shift, 0))


def one_sided(rng, n):
    """Risks near 0 and 1 by halves; only those near 0 are wrong."""
    p = np.where(np.arange(n) < n // 2, 0.02, 0.98)
    y = (rng.random(n) < np.where(p < 0.5, 0.15, 0.98)).astype(int)
    near, far = 1.0, np.exp(-0.96 / WIDTH)
    gap = np.array([0.13, 0.0])
    return Data(y, p, float(np.sqrt(2 * gap @ np.array([[near, far], [far, near]]) @ gap) / 2))


def classes(m, confidence, accuracy, *, to_one=False):
    """The first class gets the confidence, the others share the rest; errors go to all of them or to the second."""
    p = np.full(m, (1 - confidence) / (m - 1))
    p[0] = confidence
    truth = np.full(m, 0.0 if to_one else (1 - accuracy) / (m - 1))
    truth[0] = accuracy
    truth[1] = 1 - accuracy if to_one else truth[1]

    def draw(rng, n):
        return Data(rng.choice(m, n, p=truth), np.tile(p, (n, 1)), float(np.linalg.norm(truth - p)))

    return draw


def tops(m, confidence, accuracy):
    """The same with the confident class drawn anew for every row."""
    q, own = (1 - confidence) / (m - 1), (1 - accuracy) / (m - 1)
    gap = accuracy - confidence, own - q
    same = gap[0] ** 2 + (m - 1) * gap[1] ** 2
    apart = 2 * gap[0] * gap[1] + (m - 2) * gap[1] ** 2
    far = np.exp(-np.sqrt(2) * (confidence - q) / WIDTH)
    truth = float(np.sqrt((same + (m - 1) * far * apart) / m))

    def draw(rng, n):
        top = rng.integers(m, size=n)
        p = np.full((n, m), q)
        p[np.arange(n), top] = confidence
        other = (top + rng.integers(1, m, n)) % m
        return Data(np.where(rng.random(n) < accuracy, top, other), p, truth)

    return draw


def mixed_up(m, share):
    """Dirichlet predictions; a share of the outcomes is of the first class whatever was predicted."""
    many = np.random.default_rng(99).dirichlet(np.ones(m), 3000)
    gap = share * (np.eye(m)[0] - many)
    kernel = np.exp(-cdist(many, many) / WIDTH)
    truth = float(np.sqrt((gap * (kernel @ gap)).sum()) / len(many))

    def draw(rng, n):
        p = rng.dirichlet(np.ones(m), n)
        y = (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, m - 1)
        return Data(np.where(rng.random(n) < share, 0, y), p, truth)

    return draw


def weighted(p, truth, weights):
    """One risk, and rows that count by weights of their own."""
    one = constant(p, truth)

    def draw(rng, n):
        found = one(rng, n)
        return Data(found.y, found.predictions, found.truth, weights(rng, n))

    return draw


def lumpy(rng, n):
    return np.where(rng.random(n) < 0.2, 5.0, 1.0)


def smooth(rng, n):
    return np.exp(0.8 * rng.normal(size=n))


def counts(mean, truth):
    """Poisson counts of another mean; a Gaussian kernel of width 1 between counts."""
    k = np.arange(60)
    gap = poisson.pmf(k, truth) - poisson.pmf(k, mean)
    root = float(np.sqrt(gap @ np.exp(-((k[:, None] - k) ** 2) / 2) @ gap))

    def draw(rng, n):
        return Data(rng.poisson(truth, n).astype(float), kc.Poisson(np.full(n, mean)), root)

    return draw


def normal(outliers, size, shift=0.0):
    """Normal predictions, and a share of outcomes that lies far off; a Gaussian kernel of width 1 between outcomes."""
    z = np.linspace(-9, size + 9, 4001)

    def density(centre):
        return np.exp(-((z - centre) ** 2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])

    gap = (1 - outliers) * density(shift) + outliers * density(size) - density(0.0)
    root = float(np.sqrt(gap @ np.exp(-((z[:, None] - z) ** 2) / 2) @ gap))

    def draw(rng, n):
        y = rng.normal(size=n) + np.where(rng.random(n) < outliers, size, shift)
        return Data(y, kc.Normal(np.zeros(n), np.ones(n)), root)

    return draw


def of_numbers(features=False):
    target = kc.kernels.Spectral(kc.Gaussian(1.0), 24) if features else kc.Gaussian(1.0)
    return kc.SKCE(prediction_kernel=kc.Gaussian(1.0), target_kernel=target)


def blocks(size):
    return kc.SKCE(prediction_kernel=KERNEL, estimator="block", block_size=size)


ONE = {
    "2 classes, p = .02, truth .0554, n = 30": Setting(constant(0.02, 0.0554), 30),
    "2 classes, p = .03, truth .09, n = 30": Setting(constant(0.03, 0.09), 30),
    "2 classes, p = .03, truth .08, n = 30": Setting(constant(0.03, 0.08), 30),
    "2 classes, p = .02, truth .2, n = 10": Setting(constant(0.02, 0.2), 10),
    "2 classes, p = .05, truth .1, n = 10": Setting(constant(0.05, 0.1), 10),
    "2 classes, p = .01, truth .03, n = 100": Setting(constant(0.01, 0.03), 100),
    "2 classes, p = .02, truth .06, n = 100": Setting(constant(0.02, 0.06), 100),
    "2 classes, p = .2, truth .1, n = 50": Setting(constant(0.2, 0.1), 50),
    "2 classes, p = .001, truth .01, n = 300": Setting(constant(0.001, 0.01), 300),
    "2 classes, p = .001, truth .004, n = 1,000": Setting(constant(0.001, 0.004), 1000, ("root", "ball")),
    "2 classes, Beta(1, 60) x 3, n = 30": Setting(rare(60, 3.0), 30),
    "2 classes, Beta(1, 60) + .05, n = 100": Setting(rare(60, 1.0, 0.05), 100),
    "2 classes, Beta(1, 60) calibrated, n = 100": Setting(rare(60), 100),
    "2 classes, Beta(1, 300) x 3, n = 300": Setting(rare(300, 3.0), 300, ("root", "bootstrap")),
    "2 classes, Beta(1, 300) + .01, n = 1,000": Setting(rare(300, 1.0, 0.01), 1000, ("root",)),
    "2 classes, .999 sure, right .985, n = 100": Setting(constant(0.999, 0.985), 100),
    "2 classes, .999 sure, right .979, n = 200": Setting(constant(0.999, 0.979), 200),
    "2 classes, nearly sure, right .03 less, n = 60": Setting(sure(0.03), 60),
    "2 classes, nearly sure, right .01 less, n = 300": Setting(sure(0.01), 300, ("root", "bootstrap")),
    "2 classes, wrong on one side, n = 30": Setting(one_sided, 30),
    "2 classes, uniform + .1, n = 50": Setting(uniform(0.1), 50, old=True),
    "2 classes, uniform + .1, n = 100": Setting(uniform(0.1), 100, old=True),
    "2 classes, uniform + .1, n = 300": Setting(uniform(0.1), 300, ("root", "bootstrap"), old=True),
    "2 classes, uniform + .1, n = 1,000": Setting(uniform(0.1), 1000, ("root",), old=True),
    "2 classes, uniform calibrated, n = 50": Setting(uniform(0.0), 50, old=True),
    "3 classes, .99 sure, right .93, n = 30": Setting(classes(3, 0.99, 0.93), 30),
    "3 classes, Dirichlet, a fifth of the first, n = 50": Setting(mixed_up(3, 0.2), 50, old=True),
    "5 classes, a rare one twice as often, n = 100": Setting(classes(5, 0.96, 0.92, to_one=True), 100),
    "10 classes, .999 sure, right .93, n = 100": Setting(classes(10, 0.999, 0.93), 100),
    "10 classes, .999 sure of any, right .93, n = 100": Setting(tops(10, 0.999, 0.93), 100),
    "10 classes, .99 sure of any, right .96, n = 300": Setting(tops(10, 0.99, 0.96), 300, ("root", "bootstrap")),
    "10 classes, Dirichlet, a tenth of the first, n = 100": Setting(mixed_up(10, 0.1), 100, old=True),
    "100 classes, .99 sure, right .95, n = 100": Setting(classes(100, 0.99, 0.95), 100, ("root", "bootstrap")),
    "100 classes, .999 sure of any, right .98, n = 300": Setting(tops(100, 0.999, 0.98), 300, ("root",)),
    "weights 1 and 5, p = .03, truth .09, n = 60": Setting(weighted(0.03, 0.09, lumpy), 60, ("bootstrap",)),
    "log-normal weights, p = .03, truth .09, n = 60": Setting(weighted(0.03, 0.09, smooth), 60, ("bootstrap",)),
    "log-normal weights, p = .5, truth .6, n = 100": Setting(weighted(0.5, 0.6, smooth), 100, ("bootstrap",), old=True),
    "counts, Poisson .02, truth .06, n = 50": Setting(counts(0.02, 0.06), 50, statistic=of_numbers(features=True)),
    "counts, Poisson .01, truth .03, n = 100": Setting(counts(0.01, 0.03), 100, statistic=of_numbers()),
    "counts, Poisson .05, truth .15, n = 30": Setting(counts(0.05, 0.15), 30, statistic=of_numbers()),
    "counts, Poisson 3, truth 3.6, n = 50": Setting(counts(3.0, 3.6), 50, statistic=of_numbers(), old=True),
    "numbers, outliers of 5 %, n = 30": Setting(normal(0.05, 8.0), 30, statistic=of_numbers()),
    "numbers, outliers of 2 %, n = 100": Setting(normal(0.02, 8.0), 100, statistic=of_numbers()),
    "numbers, shift .3 sd, n = 50": Setting(normal(0.0, 0.0, 0.3), 50, statistic=of_numbers(), old=True),
    "numbers, shift .2 sd, n = 10": Setting(normal(0.0, 0.0, 0.2), 10, statistic=of_numbers()),
    "blocks of 2, p = .03, truth .09, n = 100": Setting(constant(0.03, 0.09), 100, ("block",), blocks(2)),
    "blocks of 10, p = .03, truth .09, n = 300": Setting(constant(0.03, 0.09), 300, ("block",), blocks(10)),
    "blocks of 10, uniform + .1, n = 1,000": Setting(uniform(0.1), 1000, ("block",), blocks(10), old=True),
    "blocks of 20, .999 sure, right .985, n = 100": Setting(constant(0.999, 0.985), 100, ("block",), blocks(20)),
    "one pass, p = .03, truth .09, n = 30": Setting(constant(0.03, 0.09), 30, ("sketch",)),
    "one pass, p = .01, truth .03, n = 100": Setting(constant(0.01, 0.03), 100, ("sketch",)),
    "one pass, uniform + .1, n = 1,000": Setting(uniform(0.1), 1000, ("sketch",), old=True),
}


@dataclass(frozen=True)
class Two:
    """A generator of outcomes and of models that err by equally much, and how many rows."""

    draw: Callable[[np.random.Generator, int], tuple[np.ndarray, list[Any]]]
    n: int
    measures: tuple[str, ...] = ("CKCE", "SKCE", "log score")
    size: int | None = None  # rows of a block, where the SKCE is compared over blocks


def swapped(first, second, truth=lambda a, b: (a + b) / 2):
    """In a random half of the rows the models change places: what one has the other has as often."""

    def draw(rng, n):
        a, b = first(rng, n), second(rng, n)
        change = rng.random(n) < 0.5
        law = truth(a, b)
        if a.ndim == 1:
            y = (rng.random(n) < law).astype(int)
            return y, [np.where(change, a, b), np.where(change, b, a)]
        y = (rng.random((n, 1)) > np.cumsum(law, axis=1)).sum(axis=1).clip(0, a.shape[1] - 1)
        change = change[:, None]
        return y, [np.where(change, a, b), np.where(change, b, a)]

    return draw


def level(value):
    return lambda rng, n: np.full(n, value)


def top(m, confidence):
    def draw(rng, n):
        p = np.full((n, m), (1 - confidence) / (m - 1))
        p[:, 0] = confidence
        return p

    return draw


def softmax(m, power):
    def draw(rng, n):
        x = np.exp(power * rng.normal(size=(n, m)))
        return x / x.sum(axis=1, keepdims=True)

    return draw


def nearly_sure(rng, n):
    """Two models .002 apart near certainty; the truth lies half way."""
    c = np.minimum(1 - 0.99 * rng.beta(0.5, 100, n), 1 - 1e-4)
    d = np.clip(c - 0.002, 1e-4, 1)
    return (rng.random(n) < (c + d) / 2).astype(int), [c, d]


def half_way(p, q):
    """Two constant risks, and the truth half way."""

    def draw(rng, n):
        return (rng.random(n) < (p + q) / 2).astype(int), [np.full(n, p), np.full(n, q)]

    return draw


def same_score(p, q):
    """Two constant risks, and the truth at which their log scores have the same mean."""
    odds = np.log(p / q), np.log((1 - p) / (1 - q))
    truth = -odds[1] / (odds[0] - odds[1])

    def draw(rng, n):
        return (rng.random(n) < truth).astype(int), [np.full(n, p), np.full(n, q)]

    return draw


def five_normals(rng, n):
    """Five models of numbers whose forecasts miss the outcome alike."""
    y = rng.normal(size=n)
    return y, [kc.Normal(y + rng.normal(size=n), np.ones(n)) for _ in range(5)]


ERRORS = ("CKCE", "SKCE")
TWO = {
    "nearly sure, .002 apart, n = 60": Two(nearly_sure, 60, ERRORS),
    "nearly sure, .002 apart, n = 100": Two(nearly_sure, 100, ERRORS),
    "risks .01 and .05, truth .03, n = 100": Two(half_way(0.01, 0.05), 100, ("SKCE",)),
    "risks .02 and .04, truth .03, n = 30": Two(half_way(0.02, 0.04), 30, ("SKCE",)),
    "risks .01 and .05 of the same log score, n = 100": Two(same_score(0.01, 0.05), 100, ("log score",)),
    "risks .002 and .02 of the same log score, n = 60": Two(same_score(0.002, 0.02), 60, ("log score",)),
    "risks .01 and .03 change places, n = 30": Two(swapped(level(0.01), level(0.03)), 30),
    "risks .005 and .02 change places, n = 100": Two(swapped(level(0.005), level(0.02)), 100),
    "risks .001 and .01 change places, n = 300": Two(swapped(level(0.001), level(0.01)), 300),
    "Beta risks of mean .005 and .016 change places, n = 60": Two(
        swapped(lambda rng, n: rng.beta(0.5, 100, n) + 1e-5, lambda rng, n: rng.beta(0.5, 30, n) + 1e-5), 60
    ),
    "uniform risks change places, n = 50": Two(
        swapped(lambda rng, n: rng.uniform(size=n), lambda rng, n: rng.uniform(size=n)), 50
    ),
    "3 classes, .99 and .95 sure change places, n = 50": Two(swapped(top(3, 0.99), top(3, 0.95)), 50),
    "10 classes, .999 and .98 sure change places, n = 100": Two(swapped(top(10, 0.999), top(10, 0.98)), 100),
    "10 classes, bold, change places, n = 100": Two(swapped(softmax(10, 2.0), softmax(10, 2.0)), 100),
    "100 classes, .99 and .97 sure change places, n = 100": Two(
        swapped(top(100, 0.99), top(100, 0.97)), 100, ("SKCE", "log score")
    ),
    "five models of numbers, n = 10": Two(five_normals, 10, ("CRPS",)),
    "five models of numbers, n = 30": Two(five_normals, 30, ("CRPS",)),
    "blocks of 66, risks .0001 and .0005, truth .0003, n = 2,000": Two(half_way(0.0001, 0.0005), 2000, ("SKCE",), 66),
    "blocks of 66, risks .0005 and .0025, truth .0015, n = 2,000": Two(half_way(0.0005, 0.0025), 2000, ("SKCE",), 66),
    "blocks of 66, risks .001 and .01 change places, n = 2,000": Two(
        swapped(level(0.001), level(0.01)), 2000, ("SKCE",), 66
    ),
    "blocks of 66, uniform risks change places, n = 2,000": Two(
        swapped(lambda rng, n: rng.uniform(size=n), lambda rng, n: rng.uniform(size=n)), 2000, ("SKCE",), 66
    ),
    "blocks of 33, 10 classes, .9999 and .999 sure change places, n = 1,000": Two(
        swapped(top(10, 0.9999), top(10, 0.999)), 1000, ("SKCE",), 33
    ),
}
