"""Miscalibrated classes, tests of others made exact by redrawing labels, and the members of the default family alone.

Binary predictions are Beta(1.2, 1.2), n = 400; with x the log odds, "slope a, shift b" means that events happen with
log odds a x + b. Three and ten classes are Dirichlet(0.5) and Dirichlet(0.2), n = 300. Every statistic is a function of
the probabilities, shape (n, m), and of many sets of labels, shape (B, n); of three and more classes those about one
probability look at the first choice.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from common import DRAWS
from scipy.special import expit, logit, xlogy

import kernelcal as kc

ROWS, ROWS_OF_SEVERAL = 400, 300
FACTORS = (2**-5, 2**-3, 2**-1, 2.0)


# alternatives


def one(truth, predicted=lambda p: p):
    """Events with probability truth(p) where predicted(p) is said."""

    def made(rng):
        p = np.clip(rng.beta(1.2, 1.2, ROWS), 1e-6, 1 - 1e-6)
        return (rng.random(ROWS) < np.clip(truth(p), 0, 1)).astype(int), kc.Bernoulli(predicted(p))

    return made


def several(truth, m):
    """Labels from truth(p) where p is said."""

    def made(rng):
        p = rng.dirichlet(np.full(m, 0.5 if m == 3 else 0.2), ROWS_OF_SEVERAL)
        p = np.clip(p, 1e-7, None)
        p /= p.sum(axis=1, keepdims=True)
        below = truth(p).cumsum(axis=1)
        y = (rng.random((ROWS_OF_SEVERAL, 1)) * below[:, -1:] > below).sum(axis=1)
        return y, kc.Categorical(p)

    return made


def line(slope, shift=0.0):
    return lambda p: expit(slope * logit(p) + shift)


def same(p):
    return p


def tempered(exponent, p):
    q = p**exponent
    return q / q.sum(axis=1, keepdims=True)


def rarer(p):
    q = p * np.r_[0.6, np.ones(p.shape[1] - 1)]
    return q / q.sum(axis=1, keepdims=True)


def noisy(p):
    return 0.92 * p + 0.08 / p.shape[1]


def confused(p):
    """A third of the labels of the first two classes are exchanged."""
    q = p.copy()
    q[:, 0], q[:, 1] = 0.75 * p[:, 0] + 0.25 * p[:, 1], 0.25 * p[:, 0] + 0.75 * p[:, 1]
    return q


def wrong_middle(p):
    """The first choice is right less often by 0.2 where its confidence is .5 to .75."""
    rows, top, q = np.arange(len(p)), p.argmax(axis=1), p.copy()
    c = p[rows, top]
    less = np.where((c > 0.5) & (c < 0.75), 0.2, 0.0)
    q *= (1 + less / (1 - c))[:, None]
    q[rows, top] = c - less
    return q


def by_class(p):
    """Every class has a temperature of its own."""
    q = p ** np.linspace(0.75, 1.3, p.shape[1])
    return q / q.sum(axis=1, keepdims=True)


SEVERAL = {
    "calibrated": same,
    "temperature 1.25": partial(tempered, 1 / 1.25),
    "temperature 0.8": partial(tempered, 1 / 0.8),
    "one class over-predicted": rarer,
    "labels with noise": noisy,
    "two classes confused": confused,
    "first choice wrong at .5 to .75": wrong_middle,
    "a temperature for each class": by_class,
}
ALTERNATIVES = {
    "calibrated": one(same),
    "slope 1 / 1.4": one(line(1 / 1.4)),
    "slope 1 / 0.75": one(line(1 / 0.75)),
    "shift .3": one(line(1, 0.3)),
    "two waves, p + .12 sin(4 pi p)": one(lambda p: p + 0.12 * np.sin(4 * np.pi * p)),
    "five waves, p + .15 sin(10 pi p)": one(lambda p: p + 0.15 * np.sin(10 * np.pi * p)),
    "p - .15 above .8": one(lambda p: np.where(p > 0.8, p - 0.15, p)),
    "p + .2 within .1 of .5": one(lambda p: np.where(np.abs(p - 0.5) < 0.1, p + 0.2, p)),
    "said: slope 1.3, shift -.25": one(same, line(1.3, -0.25)),
    "p^1.3": one(lambda p: p**1.3),
    **{f"{name}, {m} classes": several(truth, m) for m in (3, 10) for name, truth in SEVERAL.items()},
}


# statistics of others


def asked(p, labels):
    """Probability and outcome of one question: the event, or of several classes whether the first choice is right."""
    if p.shape[1] == 2:
        return p[:, 1], labels.astype(float)
    top = p.argmax(axis=1)
    return p.max(axis=1), (labels == top).astype(float)


def spiegelhalter(p, labels):
    """|Z| up to a constant: the Brier score less its expectation (Spiegelhalter 1986)."""
    weights, rows = 1 - 2 * p, np.arange(len(p))
    return np.abs(weights[rows, labels].sum(axis=1) - (weights * p).sum())


def hosmer_lemeshow(p, labels, bins=10):
    """Chi-square over bins of equally many rows (Hosmer, Lemeshow 1980)."""
    c, y = asked(p, labels)
    parts = np.array_split(np.argsort(c, kind="stable"), bins)
    return sum((y[:, i] - c[i]).sum(axis=1) ** 2 / (c[i] * (1 - c[i])).sum() for i in parts)


def equal_width(p, labels, bins=10):
    """Chi-square over equally wide bins."""
    c, y = asked(p, labels)
    cell = np.minimum((c * bins).astype(int), bins - 1)
    parts = [np.flatnonzero(cell == k) for k in np.unique(cell)]
    return sum((y[:, i] - c[i]).sum(axis=1) ** 2 / (c[i] * (1 - c[i])).sum() for i in parts)


def cox(p, labels, steps=6):
    """Likelihood ratio of intercept and slope (Cox 1958), by Newton steps for all sets at once."""
    c, y = asked(p, labels)
    c = np.clip(c, 1e-9, 1 - 1e-9)
    x = logit(c)
    a, b = np.ones(len(y)), np.zeros(len(y))
    for _ in range(steps):
        q = expit(a[:, None] * x + b[:, None])
        v, r = q * (1 - q) + 1e-12, y - q
        i0, i1, i2 = v.sum(axis=1), v @ x, v @ x**2
        g0, g1 = r.sum(axis=1), r @ x
        size = i0 * i2 - i1**2
        a, b = a + np.clip((i0 * g1 - i1 * g0) / size, -1, 1), b + np.clip((i2 * g0 - i1 * g1) / size, -1, 1)
    q = np.clip(expit(a[:, None] * x + b[:, None]), 1e-300, 1 - 1e-16)
    return (xlogy(y, q) + xlogy(1 - y, 1 - q)).sum(axis=1) - (xlogy(y, c) + xlogy(1 - y, 1 - c)).sum(axis=1)


def cumulative(p, labels, spread):
    """Cumulative differences: largest absolute value, or largest less smallest (Arrieta-Ibarra et al. 2022)."""
    c, y = asked(p, labels)
    order = np.argsort(c, kind="stable")
    walk = np.cumsum(y[:, order] - c[order], axis=1)
    walk = np.concatenate([np.zeros((len(y), 1)), walk], axis=1)
    return walk.max(axis=1) - walk.min(axis=1) if spread else np.abs(walk).max(axis=1)


def t_cal(p, labels):
    """Debiased plug-in over 2, 4, ..., 32 bins, each standardised, the largest (Lee et al. 2023, adaptive)."""
    c, y = asked(p, labels)
    found = []
    for bins in (2, 4, 8, 16, 32):
        parts = np.array_split(np.argsort(c, kind="stable"), bins)
        value, variance = 0.0, 0.0
        for i in parts:
            r, v = y[:, i] - c[i], c[i] * (1 - c[i])
            value = value + (r.sum(axis=1) ** 2 - (r**2).sum(axis=1)) / len(i)
            variance += 2 * (v.sum() ** 2 - (v**2).sum()) / len(i) ** 2
        found.append(value / np.sqrt(variance))
    return np.max(found, axis=0)


@lru_cache(maxsize=2)
def redrawn(key, seed):
    return kc.inference.Draws(seed, "power of classes").targets(key.predictions, 0, DRAWS).astype(np.int64)


class Key:
    """The same predictions have the same draws for all tests."""

    def __init__(self, predictions):
        self.predictions = predictions

    def __hash__(self):
        return id(self.predictions)

    def __eq__(self, other):
        return self.predictions is other.predictions


def exact(statistic):
    """Rank of the observed value among those of redrawn labels."""

    def test(y, predictions, seed):
        labels = np.concatenate([np.asarray(y)[None], redrawn(Key(predictions), seed)])
        values = statistic(np.asarray(predictions.probabilities), labels)
        return float((values >= values[0] - 1e-9 * values.std()).mean())

    return test


# members of the default family, and the family that was


def member(name):
    def test(y, predictions, seed):
        signals = kc.statistics.ClassSignals().prepare(predictions)
        labels = np.concatenate([np.asarray(y)[None], redrawn(Key(predictions), seed)])
        values = signals.values(labels)[:, signals.names.index(name)]
        return float((values >= values[0] - 1e-9 * values.std()).mean())

    return test


@lru_cache(maxsize=2)
def kernels(key, y, seed):
    """Unbiased SKCE at four lengthscales, of the observed labels and of the redrawn ones."""
    labels = np.concatenate([np.frombuffer(y, dtype=np.int64)[None], redrawn(key, seed)])
    base = kc.median_lengthscale(key.predictions)
    values = [
        kc.SKCE(prediction_kernel=kc.Laplacian(factor * base)).prepare(key.predictions).values(labels)[:, 0]
        for factor in FACTORS
    ]
    return np.stack(values, axis=1)


def kernel(column, y, predictions, seed):
    values = kernels(Key(predictions), np.asarray(y, dtype=np.int64).tobytes(), seed)[:, column]
    return float((values >= values[0]).mean())


def earlier(y, predictions, seed):
    """Six members: kernels at four lengthscales, bias, and the slope that is not cleared."""
    p = np.asarray(predictions.probabilities)
    labels = np.concatenate([np.asarray(y)[None], redrawn(Key(predictions), seed)])
    logs, rows = np.log(p), np.arange(len(p))
    slope = np.abs(logs[rows, labels].sum(axis=1) - (p * logs).sum())
    bias = np.abs(kc.statistics.ClassSignals().prepare(predictions).bias(labels)).max(axis=1)
    alone = kernels(Key(predictions), np.asarray(y, dtype=np.int64).tobytes(), seed)
    return kc.inference.DrawnValues.of(np.column_stack([slope, bias, alone])).pvalue


OTHERS = {"earlier family": earlier}
SINGLES = {
    "slope": member("slope"),
    "bias": member("bias"),
    "bins": member("bins"),
    **{f"kernel at {factor:g} median": partial(kernel, k) for k, factor in enumerate(FACTORS)},
    "Spiegelhalter": exact(spiegelhalter),
    "Hosmer-Lemeshow": exact(hosmer_lemeshow),
    "ten equally wide bins": exact(equal_width),
    "Cox likelihood ratio": exact(cox),
    "ECCE, maximum": exact(partial(cumulative, spread=False)),
    "ECCE, range": exact(partial(cumulative, spread=True)),
    "T-Cal": exact(t_cal),
}
