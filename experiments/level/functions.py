"""Settings of other functions that give p-values: evaluate, explain, compare, one pass; and of seeds and draws."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
from classes import DATA
from ensembles import ENSEMBLES, members
from frame import MANY_ROWS, NOTHING, Setting
from scalars import LAWS

import kernelcal as kc

BOTH = DATA | LAWS
FEW = (("normal", 1), ("rain", 2), ("rare counts", 5))  # ensembles of few draws


def evaluate_settings():
    for name in ("two, uniform", "two, all 0.02", "3, one ruled out", "Normal", "Poisson, rates about 0.3"):
        yield Setting("evaluate", name, 30, BOTH[name], kc.evaluate, repetitions=200)


def with_seed(data):
    """Data of a seed that a user takes for both: for a generator of the data, and as the seed of the test."""

    def seeded(rng, n):
        seed = int(rng.integers(2**31))
        return *data(np.random.default_rng(seed), n), seed

    return seeded


def with_fresh_seed(data):
    """A seed that has nothing to do with the data."""

    def seeded(rng, n):
        return *data(rng, n), int(rng.integers(2**31))

    return seeded


def with_generator(data):
    """The generator that made the data goes on in the test."""

    def generated(rng, n):
        return *data(rng, n), rng

    return generated


def with_same_seed(y, predictions, rng, function=kc.calibration_test):
    return function(y, predictions, rng=rng)


SEEDS = {"one seed for data and test": with_seed, "one generator": with_generator, "fresh seeds": with_fresh_seed}


def seed_settings():
    for name in ("two, uniform", "10, Dirichlet(0.1)", "Normal", "Poisson, rates 0.01 to 30"):
        data = BOTH[name]
        for title, of in SEEDS.items():
            yield Setting("seeds and draws", f"{title}, {name}", 20, of(data), with_same_seed, repetitions=300)
            if name in LAWS:
                test = partial(with_same_seed, function=kc.pit_test)
                yield Setting("seeds and draws", f"{title}, PIT values, {name}", 20, of(data), test)
        for title, options in (
            ("no early stopping", {"early_stopping": False}),
            ("19 draws", {"draws": 19}),
        ):
            test = partial(kc.calibration_test, **options)
            yield Setting("seeds and draws", f"{title}, {name}", 20, data, test, repetitions=300)


def pit_settings():
    """Values that chance decides where outcomes are few: with seeds of their own, and with the default of all."""
    values = {name: LAWS[name] for name in ("Poisson, rate 0.01", "Poisson, rates about 0.3", "Binomial, 1 trial")}
    values |= {f"{name}, {size} draws": partial(members(ENSEMBLES[name]), size=size) for name, size in FEW}
    for name, data in values.items():
        test = partial(with_same_seed, function=kc.pit_test)
        yield Setting("PIT values, fresh seeds", name, 30, with_fresh_seed(data), test)


def grouped(name, columns):
    """Rows of some groups, by one column or more, which overlap."""

    def data(rng, n):
        y, predictions = BOTH[name](rng, n)
        groups = {f"column {k}": rng.integers(0, 2 + k, n) for k in range(columns)}
        return y, predictions, groups

    return data


def any_group(y, predictions, groups):
    """The smallest p-value of a group, which is corrected for all of them."""
    found = kc.explain(y, predictions, groups=groups, draws=199)
    return min((group.pvalue for group in found.groups if group.pvalue is not None), default=1.0)


def witness(y, predictions, groups):
    return kc.explain(y, predictions, draws=199).witness


def explain_settings():
    for name in ("two, uniform", "two, rare, 0.001 to 0.05", "3, one ruled out", "10, Dirichlet(0.1)", "Normal"):
        for columns in (1, 3):
            title = f"groups of {columns} column{'s' if columns > 1 else ''}, {name}"
            yield Setting("explain", title, 60, grouped(name, columns), any_group, repetitions=300)
        yield Setting("explain", f"witness, {name}", 30, grouped(name, 1), witness, repetitions=300)


def two_models(rng, n, base, slope):
    """Each model sees one of two causes, and is calibrated for what it sees: equally good, and different."""
    causes = rng.uniform(-1, 1, (2, n))
    y = (rng.random(n) < base + slope * causes.sum(axis=0)).astype(int)
    first, second = (kc.Bernoulli(base + slope * cause) for cause in causes)
    return y, {"first": first, "second": second}


def two_forecasts(rng, n):
    """The same for numbers: the sum of two causes and noise."""
    causes = rng.normal(size=(2, n))
    y = causes.sum(axis=0) + rng.normal(size=n)
    return y, {f"sees {k}": kc.Normal(cause, np.full(n, np.sqrt(2))) for k, cause in enumerate(causes)}


def difference(measure):
    """P-value of the difference of two models in a measure."""

    def test(y, models):
        found = kc.compare(y, models, draws=99)
        one = found.difference(measure, *models)
        return SimpleNamespace(pvalue=one.pvalue, notes=(*found.notes, *getattr(one, "notes", ())))

    return test


def compare_settings():
    for measure in ("SKCE", "CKCE", "log score"):
        data = partial(two_models, base=0.5, slope=0.22)
        yield Setting("compare", f"{measure}, causes of an even event", 200, data, difference(measure), MANY_ROWS, 200)
        data = partial(two_models, base=0.01, slope=0.0045)
        yield Setting("compare", f"{measure}, causes of a rare event", 100, data, difference(measure), NOTHING, 200)
    yield Setting("compare", "CRPS, causes of a number", 100, two_forecasts, difference("CRPS"), MANY_ROWS, 200)


def in_one_pass(known):
    def test(y, predictions):
        sketch = kc.Sketch.like(predictions, engine=kc.RandomFourier(32), draws=199)
        half = len(y) // 2
        sketch.update(y[:half], predictions[:half]).update(y[half:], predictions[half:])
        return sketch.result().known if known else sketch.result().pvalue

    return test


def sketch_settings():
    for name in ("two, uniform", "two, all 0.02", "3, one ruled out", "10, Dirichlet(0.1)", "Normal"):
        yield Setting("one pass", name, 30, BOTH[name], in_one_pass(False), repetitions=300)
    for name in ("two, uniform", "3, Dirichlet(1)"):
        for n in (30, 200):
            yield Setting("one pass, known law", name, n, BOTH[name], in_one_pass(True), MANY_ROWS, 300)


SETTINGS = [
    *evaluate_settings(),
    *seed_settings(),
    *pit_settings(),
    *explain_settings(),
    *compare_settings(),
    *sketch_settings(),
]
