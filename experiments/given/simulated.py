"""Outcomes, predictions and columns that were drawn: the data of MCGrad's quick start, written anew, and our own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import kernelcal as kc


@dataclass(frozen=True)
class Setting:
    """Data of one kind: called with a generator it returns outcomes, predictions and columns."""

    name: str
    draw: Callable[[np.random.Generator], tuple[np.ndarray, Any, dict]]


def expit(x):
    return 1 / (1 + np.exp(-x))


def quick_start(n, shift, numbers=0):
    """Predictions between 0.3 and 0.7; the true probability is higher in one country and of one type of content."""

    def draw(rng):
        given = {
            "country": rng.choice(["US", "UK"], n),
            "content": rng.choice(["photo", "video"], n),
            "surface": rng.choice(["feed", "stories"], n),
        }
        given |= {f"number{k}": rng.normal(size=n) for k in range(numbers)}
        p = rng.uniform(0.3, 0.7, n)
        true = p + shift * (0.15 * ((given["country"] == "US") - 0.5) + 0.1 * ((given["content"] == "video") - 0.5))
        return (rng.random(n) < true).astype(int), p, given

    return draw


def logits(n, columns, shift=0.0, slope=1.0):
    """Logits are normal; the true ones are shifted by the sign of the first column, or flatter than predicted."""

    def draw(rng):
        x, logit = rng.normal(size=(n, columns)), rng.normal(size=n)
        true = 1 / (1 + np.exp(-slope * logit - shift * np.sign(x[:, 0])))
        given = {f"x{k}": x[:, k] for k in range(columns)}
        return (rng.random(n) < true).astype(int), 1 / (1 + np.exp(-logit)), given

    return draw


def logits_by(n, columns, true_of):
    """Logits are normal; the true ones are a function of them and of columns of normal numbers."""

    def draw(rng):
        x, logit = rng.normal(size=(n, columns)), rng.normal(size=n)
        given = {f"x{k}": x[:, k] for k in range(columns)}
        return (rng.random(n) < expit(true_of(logit, x))).astype(int), expit(logit), given

    return draw


def sites(n, number, shift):
    """One of several sites, a category, has other frequencies; two columns of numbers say nothing."""

    def draw(rng):
        site, logit = rng.integers(number, size=n), rng.normal(size=n)
        given = {"site": np.char.add("s", site.astype(str)), "x0": rng.normal(size=n), "x1": rng.normal(size=n)}
        return (rng.random(n) < expit(logit + shift * (site == 0))).astype(int), expit(logit), given

    return draw


def normals(n, columns, shift_of=lambda x: 0.0, scale_of=lambda x: 1.0):
    """Normal predictions; outcomes are shifted or wider by a function of columns, in predicted standard deviations."""

    def draw(rng):
        x, mean, std = rng.normal(size=(n, columns)), rng.normal(size=n), rng.uniform(0.5, 2, n)
        y = mean + std * (shift_of(x) + scale_of(x) * rng.normal(size=n))
        return y, kc.Normal(mean, std), {f"x{k}": x[:, k] for k in range(columns)}

    return draw


def classes(n, columns, power_of):
    """Four classes; the law of the outcome is a power of the prediction, by a function of columns."""

    def draw(rng):
        x, p = rng.normal(size=(n, columns)), rng.dirichlet(np.ones(4), n)
        true = p ** power_of(x)[:, None]
        true /= true.sum(axis=1, keepdims=True)
        y = (rng.random((n, 1)) > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
        return y, kc.Categorical(p), {f"x{k}": x[:, k] for k in range(columns)}

    return draw
