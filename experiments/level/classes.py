"""Settings of class predictions: two to a hundred classes, rare events, certain classifiers, ties; lenses, weights."""

from __future__ import annotations

from functools import partial

import numpy as np
from frame import Setting, labels

import kernelcal as kc

TWO = {
    "uniform": lambda rng, n: rng.random(n),
    "Beta(0.7, 0.7)": lambda rng, n: rng.beta(0.7, 0.7, n),
    "Beta(0.1, 0.1)": lambda rng, n: rng.beta(0.1, 0.1, n),
    "rare, 0.001 to 0.05": lambda rng, n: np.exp(rng.uniform(np.log(0.001), np.log(0.05), n)),
    "all 0.02": lambda rng, n: np.full(n, 0.02),
    "all 0.5": lambda rng, n: np.full(n, 0.5),
    "0.999 or 0.001": lambda rng, n: np.where(rng.random(n) < 0.5, 0.999, 0.001),
    "three values": lambda rng, n: rng.choice([0.1, 0.5, 0.9], n),
    "one decimal, 0 and 1 among them": lambda rng, n: rng.random(n).round(1),
    "a third exactly 0 or 1": lambda rng, n: np.where(rng.random(n) < 1 / 3, rng.integers(0, 2, n), rng.random(n)),
}


def softmax(z):
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def one_rare(rng, n):
    rare, p = rng.uniform(0.001, 0.02, n), rng.beta(2, 2, n)
    return np.column_stack([rare, (1 - rare) * p, (1 - rare) * (1 - p)])


def with_zeros(rng, n):
    """A class of each row is ruled out."""
    p = rng.dirichlet(np.ones(3), n)
    p[np.arange(n), rng.integers(0, 3, n)] = 0
    return p / p.sum(axis=1, keepdims=True)


def sure(rng, n):
    p = np.full((n, 10), 0.001 / 9)
    p[np.arange(n), rng.integers(0, 10, n)] = 0.999
    return p


MANY = {
    "3, Dirichlet(1)": lambda rng, n: rng.dirichlet(np.ones(3), n),
    "3, one rare": one_rare,
    "3, four different rows": lambda rng, n: rng.dirichlet(np.ones(3), 4)[rng.integers(0, 4, n)],
    "3, one ruled out": with_zeros,
    "10, Dirichlet(0.1)": lambda rng, n: rng.dirichlet(np.full(10, 0.1), n),
    "10, shares 1, 1/2, 1/3, ...": lambda rng, n: softmax(rng.normal(size=(n, 10)) - 2 * np.log(np.arange(1, 11))),
    "10, first choice 0.999": sure,
    "100, Dirichlet(0.1)": lambda rng, n: rng.dirichlet(np.full(100, 0.1), n),
    "100, nearly flat": lambda rng, n: softmax(0.3 * rng.normal(size=(n, 100))),
}


def two(make):
    """Outcomes and predictions of two classes."""

    def data(rng, n):
        p = make(rng, n)
        return (rng.random(n) < p).astype(int), kc.Bernoulli(p)

    return data


def many(make):
    """Outcomes and predictions of several classes."""

    def data(rng, n):
        p = make(rng, n)
        return labels(rng, p), kc.Categorical(p)

    return data


DATA = {f"two, {name}": two(make) for name, make in TWO.items()} | {name: many(make) for name, make in MANY.items()}


def size_of_gaps(y, predictions):
    """A statistic of one's own: the largest distance of a class's frequency from its mean probability."""
    frequencies = (y[:, None] == np.arange(predictions.n_classes)).mean(axis=0)
    return float(np.abs(frequencies - predictions.probabilities.mean(axis=0)).max())


def at(factor):
    """One kernel alone, at a multiple of the median distance."""

    def test(y, predictions):
        median = kc.median_lengthscale(predictions)
        return kc.calibration_test(y, predictions, statistic=kc.SKCE(prediction_kernel=kc.Laplacian(median * factor)))

    return test


def weighted(weights, **options):
    """Case weights, drawn beside the predictions."""

    def data_of(name):
        def data(rng, n):
            return *DATA[name](rng, n), weights(rng, n)

        return data

    def test(y, predictions, w):
        return kc.calibration_test(y, predictions, weights=w, **options)

    return data_of, test


WEIGHTS = {
    "equal": lambda rng, n: np.full(n, 2.5),
    "heavy tails": lambda rng, n: rng.pareto(1.1, n) + 0.01,
    "half of them 0": lambda rng, n: np.where(np.arange(n) % 2, rng.random(n), 0.0),
}
LENSES = {
    "top label": kc.TopLabel(),
    "class 1": kc.OneClass(1),
    "first two places": kc.TopK(2),
    "two groups": kc.Groups([0, 1, 1]),
    "every class, Holm": kc.ClassWise(),
    "every class, ranked together": kc.ClassWise(joint="full"),
}
SOME = ("two, uniform", "two, all 0.02", "3, one ruled out", "10, Dirichlet(0.1)")


def default_settings():
    for name, data in DATA.items():
        classes = "two classes" if name in (f"two, {key}" for key in TWO) else "several classes"
        plain = name.removeprefix("two, ")
        for n in (2, 5, 10, 30, 100) if classes == "two classes" else (2, 10, 30, 100):
            repetitions = 200 if name.startswith("100,") and n == 100 else 500
            yield Setting(f"default, {classes}", plain, n, data, kc.calibration_test, repetitions=repetitions)
    for name in ("two, Beta(0.7, 0.7)", "two, rare, 0.001 to 0.05", "10, Dirichlet(0.1)"):
        yield Setting("default, 1,000 rows", name, 1_000, DATA[name], kc.calibration_test, repetitions=100)


def kernel_settings():
    for name in ("two, Beta(0.7, 0.7)", "10, Dirichlet(0.1)", "100, Dirichlet(0.1)"):
        for scale, factor in (("narrow", 1 / 32), ("wide", 2.0)):
            for n in (10, 30, 100):
                yield Setting("one kernel, narrow or wide", f"{scale}, {name}", n, DATA[name], at(factor))


def statistic_settings():
    names = ("skce", "skce-block", "ece", "mce", "ckce", "jkce", "mmce", "ucme")
    for name in SOME:
        for n, statistic in zip((10, 40, 5, 30, 20, 12, 50, 25), names, strict=True):
            test = partial(kc.calibration_test, statistic=statistic)
            yield Setting("other statistics, classes", f"{statistic}, {name}", n, DATA[name], test)
        own = partial(kc.calibration_test, statistic=size_of_gaps)
        yield Setting("other statistics, classes", f"own function, {name}", 20, DATA[name], own)


def lens_settings():
    for name in ("3, Dirichlet(1)", "3, one rare"):
        for lens, given in LENSES.items():
            for n, options in ((30, {}), (12, {"statistic": "ece"})):
                title = f"{lens}, {options.get('statistic', 'default')}, {name}"
                test = partial(kc.calibration_test, lens=given, **options)
                yield Setting("lenses", title, n, DATA[name], test, repetitions=300)


def weight_settings():
    for label, weights in WEIGHTS.items():
        for name, statistic in (("two, uniform", "default"), ("two, all 0.02", "default"), ("3, one rare", "skce")):
            data_of, test = weighted(weights, statistic=statistic)
            yield Setting("case weights", f"{label}, {statistic}, {name}", 30, data_of(name), test)
        data_of, test = weighted(weights, statistic="ece")
        yield Setting("case weights", f"{label}, ece, two, uniform", 10, data_of("two, uniform"), test)


SETTINGS = [
    *default_settings(),
    *kernel_settings(),
    *statistic_settings(),
    *lens_settings(),
    *weight_settings(),
]
