"""Level of the default test of quantile forecasts over laws, levels and sizes, and its power beside other tests.

    python experiments/level/quantiles.py                 # 400 repetitions: about half an hour on one core
    python experiments/level/quantiles.py --repetitions 100

Writes docs/tables/quantile_power.csv, and prints the largest rate of rejection beside its bound: docs/tables/level.csv
has the rates at 20 and 100 rows, since run.py takes these laws and levels too. Forecasts are the true quantiles of laws
of SciPy that differ from row to row; nothing of the test is used to make them. The bound is the 99.95 % point of the
binomial law at the nominal level, of which no setting may be above.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy import stats

import kernelcal as kc

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLES = outputs.tables()
DRAWS = 199
HUB = (0.01, 0.025, *np.arange(1, 20) / 20, 0.975, 0.99)
LEVELS = {
    1: (0.05,),
    2: (0.05, 0.95),
    3: (0.1, 0.5, 0.9),
    5: (0.1, 0.25, 0.5, 0.75, 0.9),
    9: tuple(np.arange(1, 10) / 10),
    23: HUB,
}
SIZES = (20, 100, 300, 1000)


def two_humps():
    return stats.rv_histogram(np.histogram([-2, -1.5, -1, 1, 1.5, 2], bins=[-2, -1.5, -1, 1, 1.5, 2]), density=False)


def parameters(rng, n):
    """Location and scale of every row."""
    return rng.normal(size=n), np.exp(rng.normal(0, 0.4, n))


def location_scale(law):
    def made(rng, n):
        loc, scale = parameters(rng, n)
        return lambda u: loc + scale * law.ppf(u)

    return made


def poisson(rng, n):
    rate = np.full(n, 3.0)
    return lambda u: stats.poisson.ppf(u, rate)


def negative_binomial(rng, n):
    mean = np.exp(rng.normal(1.5, 0.7, n))
    return lambda u: stats.nbinom.ppf(u, 2.0, 2.0 / (2.0 + mean))


def zero_inflated(rng, n):
    scale = np.exp(rng.normal(0, 0.5, n))
    return lambda u: np.where(u <= 0.4, 0.0, stats.gamma.ppf(np.clip((u - 0.4) / 0.6, 0, 1), 2.0, scale=scale))


def rounded(rng, n):
    loc, scale = parameters(rng, n)
    return lambda u: np.round(loc + scale * stats.norm.ppf(u))


def rare(rng, n):
    p = rng.uniform(0.05, 0.6, n)
    return lambda u: stats.binom.ppf(u, 1, p)


CONTINUOUS = {
    "normal": location_scale(stats.norm()),
    "t, 3 degrees": location_scale(stats.t(3)),
    "gamma": location_scale(stats.gamma(2)),
    "lognormal": location_scale(stats.lognorm(1)),
    "exponential": location_scale(stats.expon()),
    "beta": location_scale(stats.beta(0.5, 0.5)),
    "two humps": location_scale(two_humps()),
    "uniform": location_scale(stats.uniform()),
}
TIED = {
    "Poisson(3)": poisson,
    "negative binomial": negative_binomial,
    "zero-inflated gamma": zero_inflated,
    "rounded normal": rounded,
    "0 or 1": rare,
}
LAWS = CONTINUOUS | TIED


def quantiles(law, levels):
    return np.stack([np.asarray(law(np.float64(level))) for level in levels], axis=1)


def level_repetition(task):
    """P-value of true quantiles: generalised inverses of the distribution function at uniform numbers."""
    name, number, n, repetition = task
    rng = np.random.default_rng([n, number, repetition, 7])
    law, levels = LAWS[name](rng, n), LEVELS[number]
    y = law(rng.random(n))
    return kc.calibration_test(y, kc.Quantiles(quantiles(law, levels), levels), draws=DRAWS, rng=rng).pvalue


# y = change(quantile function at u, u, row's location and scale)
def _normal(change, number, n):
    def made(rng):
        loc, scale = parameters(rng, n)
        y, q = change(rng, loc, scale, n)
        return y, quantiles(q, LEVELS[number]), LEVELS[number]

    return made


def spread(factor):
    def change(rng, loc, scale, n):
        return loc + factor * scale * rng.normal(size=n), lambda u: loc + scale * stats.norm.ppf(u)

    return change


def shift(size):
    def change(rng, loc, scale, n):
        return loc + scale * (size + rng.normal(size=n)), lambda u: loc + scale * stats.norm.ppf(u)

    return change


def by_scale(size):
    def change(rng, loc, scale, n):
        return (
            loc + scale * (size * np.sign(np.log(scale)) + rng.normal(size=n)),
            lambda u: loc + scale * stats.norm.ppf(u),
        )

    return change


def slope(factor):
    def change(rng, loc, scale, n):
        return factor * loc + scale * rng.normal(size=n), lambda u: loc + scale * stats.norm.ppf(u)

    return change


def one_wrong(rng, loc, scale, n):
    def q(u):
        return loc + scale * (stats.norm.ppf(u) + 0.25 * (abs(u - 0.3) < 1e-9) * 0.9)

    return loc + scale * rng.normal(size=n), q


def _poisson(rate, number, n, heavy=False):
    def made(rng):
        levels = LEVELS[number]
        y = rng.poisson(rate, n) if not heavy else rng.negative_binomial(6, 6 / 9, n)
        return y.astype(float), np.tile(stats.poisson.ppf(levels, 3.0), (n, 1)), levels

    return made


POWER = {
    "n = 50, 5 levels, too narrow 1.3": _normal(spread(1.3), 5, 50),
    "n = 50, 5 levels, too wide 0.75": _normal(spread(0.75), 5, 50),
    "n = 200, 9 levels, too narrow 1.3": _normal(spread(1.3), 9, 200),
    "n = 200, 9 levels, too wide 0.75": _normal(spread(0.75), 9, 200),
    "n = 200, 9 levels, shift 0.3": _normal(shift(0.3), 9, 200),
    "n = 200, 9 levels, shift 0.25 by scale": _normal(by_scale(0.25), 9, 200),
    "n = 200, 9 levels, slope 0.75": _normal(slope(0.75), 9, 200),
    "n = 200, 9 levels, one wrong": _normal(one_wrong, 9, 200),
    "n = 300, 23 levels, Poisson 3 for 3.4": _poisson(3.4, 23, 300),
    "n = 300, 23 levels, Poisson 3 for 2.6": _poisson(2.6, 23, 300),
    "n = 300, 23 levels, Poisson for negative binomial": _poisson(3.0, 23, 300, heavy=True),
    "n = 1000, 5 levels, Poisson 3 for 3.4": _poisson(3.4, 5, 1000),
}


def holm_of_binomials(y, q, levels):
    """Smallest of the exact binomial p-values of both sides of every level, times their number."""
    n, p = len(y), []
    for k, level in enumerate(levels):
        p.append(stats.binom.sf((y < q[:, k]).sum() - 1, n, level))
        p.append(stats.binom.cdf((y <= q[:, k]).sum(), n, level))
    return min(1.0, len(p) * min(p))


def chi_square(y, q, levels):
    """Numbers of outcomes in the cells; an outcome that equals a quantile counts to the cell on its left."""
    counts = np.bincount((q < y[:, None]).sum(axis=1), minlength=len(levels) + 1)
    expected = len(y) * np.diff(levels, prepend=0.0, append=1.0)
    return stats.chisquare(counts, expected).pvalue


def power_repetition(task):
    name, repetition = task
    rng = np.random.default_rng([250, repetition])
    y, q, levels = POWER[name](rng)
    own = kc.calibration_test(y, kc.Quantiles(q, levels), draws=DRAWS, rng=rng).pvalue
    return own, holm_of_binomials(y, q, levels), chi_square(y, q, levels)


def write(name, header, rows):
    TABLES.mkdir(parents=True, exist_ok=True)
    with open(TABLES / name, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def level(pool, repetitions):
    """Rows (law, levels, n, share rejected at 5 %, bound), every setting by repetitions of its own."""
    rows = []
    for name, number, n in itertools.product(LAWS, LEVELS, SIZES):
        tasks = [(name, number, n, repetition) for repetition in range(repetitions)]
        rejected = np.mean(np.array(list(pool.map(level_repetition, tasks, chunksize=25))) <= 0.05)
        bound = stats.binom.ppf(0.9995, repetitions, 0.05) / repetitions
        rows.append((name, number, n, f"{rejected:.4f}", f"{bound:.4f}"))
    return rows


def power(pool, repetitions):
    rows = []
    for name in POWER:
        tasks = [(name, repetition) for repetition in range(repetitions)]
        found = np.array(list(pool.map(power_repetition, tasks, chunksize=25))) <= 0.05
        rows.append((name, *(f"{share:.3f}" for share in found.mean(axis=0))))
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repetitions", type=int, default=400)
    options.add_argument("--processes", type=int, default=os.cpu_count())
    given = options.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:
        shares = power(pool, given.repetitions)
        write("quantile_power.csv", ("setting", "default test", "Holm of binomials", "chi-square of cells"), shares)
        rows = level(pool, given.repetitions)
    worst = max(float(row[3]) - float(row[4]) for row in rows)
    print(f"{len(rows)} settings, largest share {max(float(row[3]) for row in rows):.3f}, above bound by {worst:+.4f}")
    for row in shares:
        print(*row, sep="  ")


if __name__ == "__main__":
    main()
