"""Settings of null laws other than the exact one: bounds and the known law of test locations, and laws of many rows."""

from __future__ import annotations

from functools import partial

from classes import DATA, WEIGHTS, weighted
from frame import MANY_ROWS, NOTHING, Setting
from scalars import LAWS

import kernelcal as kc
from kernelcal.inference import CME

BLOCKS = kc.SKCE(estimator="block", block_size=2)
ASYMPTOTIC = ("saddlepoint", "bootstrap", "wild", "gamma", "pearson", "spectrum")
HERE = ("two, uniform", "two, rare, 0.001 to 0.05", "two, three values", "3, Dirichlet(1)", "10, Dirichlet(0.1)")


def exact_settings():
    for name in HERE:
        for label, statistic in (("unbiased", kc.SKCE()), ("biased", kc.SKCE(estimator="biased")), ("block", BLOCKS)):
            test = partial(kc.calibration_test, statistic=statistic, null="bound")
            yield Setting("laws without draws, every n", f"bound, {label}, {name}", 20, DATA[name], test)
    for name in ("Normal", "Poisson, rates 0.01 to 30"):
        test = partial(kc.calibration_test, statistic="skce", null="bound")
        yield Setting("laws without draws, every n", f"bound, {name}", 20, LAWS[name], test)
        test = partial(kc.calibration_test, statistic="ucme", null="cme")
        yield Setting("test locations, known covariance", f"exact, {name}", 20, LAWS[name], test, repetitions=300)
    for name in HERE:
        test = partial(kc.calibration_test, statistic="ucme", null="cme")
        yield Setting("test locations, known covariance", f"exact, {name}", 20, DATA[name], test, repetitions=300)


def asymptotic_settings():
    for name in HERE:
        for n in (30, 100, 300):
            for null in ASYMPTOTIC:
                test = partial(kc.calibration_test, statistic="skce", null=null)
                repetitions = 200 if n == 300 or null in ("bootstrap", "wild") else 500
                yield Setting(f"{null}", name, n, DATA[name], test, MANY_ROWS, repetitions)
        test = partial(kc.calibration_test, statistic=BLOCKS, null="block")
        yield Setting("block", name, 200, DATA[name], test, MANY_ROWS)
        test = partial(kc.calibration_test, statistic="ucme", null=CME(reference="chi2"))
        yield Setting("test locations, chi-square", name, 200, DATA[name], test, MANY_ROWS, 300)
    for name in ("Normal", "StudentT, 3 degrees of freedom", "Poisson, rates 0.01 to 30"):
        for null in ASYMPTOTIC:
            if null == "saddlepoint":  # for classes alone
                continue
            test = partial(kc.calibration_test, statistic="skce", null=null)
            yield Setting(f"{null}", name, 100, LAWS[name], test, MANY_ROWS, 200)
    for label, weights in WEIGHTS.items():
        data_of, test = weighted(weights, statistic="skce", null="saddlepoint")
        yield Setting("saddlepoint", f"weights {label}, two, uniform", 100, data_of("two, uniform"), test, MANY_ROWS)


def told_settings():
    consistency = partial(kc.calibration_test, statistic="ece", null="consistency", draws=99)
    yield Setting("consistency", "ece, two, uniform", 30, DATA["two, uniform"], consistency, NOTHING, 100)
    published = partial(kc.calibration_test, statistic="ucme", null=CME("empirical", "chi2"))
    yield Setting("test locations, empirical covariance", "two, uniform", 64, DATA["two, uniform"], published, NOTHING)


SETTINGS = [*exact_settings(), *asymptotic_settings(), *told_settings()]
