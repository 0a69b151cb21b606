"""Level of the exact test over a grid of sizes, classes and lengthscales, and its power on the models of 2019.

    python experiments/level/run.py                 # 500 repetitions: some minutes on two cores
    python experiments/level/run.py --repetitions 2000

Writes docs/tables/level.csv and docs/tables/power.csv. Every repetition has its own seed, so that numbers do not
depend on the number of processes. The bound is the 99.95 % point of the binomial law at the nominal level.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy.stats import binom

import kernelcal as kc

TABLES = Path(__file__).resolve().parents[2] / "docs" / "tables"
SIZES, CLASSES, LEVELS = (10, 30, 100), (2, 10, 100), (0.01, 0.05, 0.1)
SCALES = {"narrow (median / 32)": (1 / 32,), "wide (2 median)": (2.0,), "default family": (1 / 32, 1 / 8, 1 / 2, 2.0)}
DRAWS = 199


def calibrated(rng, n, m):
    """Binary predictions Beta(0.7, 0.7), or M1 of Widmann et al. 2019: Dirichlet(0.1, ..., 0.1)."""
    if m == 2:
        return kc.Bernoulli(rng.beta(0.7, 0.7, n))
    return kc.Categorical(rng.dirichlet(np.full(m, 0.1), n))


def level_repetition(task):
    n, m, scale, repetition = task
    rng = np.random.default_rng([n, m, repetition])
    batch = calibrated(rng, n, m)
    if scale == "default family":
        statistic = kc.DefaultFamily()
    else:  # one kernel alone, at a multiple of the median
        median = kc.median_lengthscale(batch)
        statistic = kc.SKCE(prediction_kernel=kc.Laplacian(median * SCALES[scale][0]))
    y = batch.sample(rng)[0]
    return kc.calibration_test(y, batch, statistic=statistic, draws=DRAWS, rng=rng).pvalue


def power_repetition(task):
    model, repetition = task
    rng = np.random.default_rng([250, repetition])
    batch = calibrated(rng, 250, 10)
    y = batch.sample(rng)[0]
    if model == "M2":
        y = np.where(rng.random(250) < 0.5, y, 0)
    elif model == "M3":
        y = rng.integers(0, 10, 250)
    elif model == "class 0 with probability 0.1":
        y = np.where(rng.random(250) < 0.1, 0, y)
    elif model == "over-confident, temperature 1.3":
        batch = tempered(batch, 1.3)
    elif model == "under-confident, temperature 0.75":
        batch = tempered(batch, 0.75)
    return kc.calibration_test(y, batch, draws=DRAWS, rng=rng).pvalue


def tempered(batch, exponent):
    q = batch.probs**exponent
    return kc.Categorical(q / q.sum(axis=1, keepdims=True))


def write(name, header, rows):
    TABLES.mkdir(parents=True, exist_ok=True)
    with open(TABLES / name, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--power-repetitions", type=int, default=200)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    count, rows, broken = options.repetitions, [], 0
    bounds = [binom.ppf(0.9995, count, level) / count for level in LEVELS]
    with ProcessPoolExecutor(options.processes) as pool:
        for n, m, scale in itertools.product(SIZES, CLASSES, SCALES):
            pvalues = np.array(list(pool.map(level_repetition, [(n, m, scale, k) for k in range(count)], chunksize=10)))
            rates = [(pvalues <= level).mean() for level in LEVELS]
            broken += sum(rate > bound for rate, bound in zip(rates, bounds, strict=True))
            rows.append([n, m, scale, *(f"{rate:.3f}" for rate in rates)])
            print(*rows[-1], flush=True)
        rows.append(["", "", "bound", *(f"{bound:.3f}" for bound in bounds)])
        write("level.csv", ["n", "classes", "lengthscale", *(f"level {level:g}" for level in LEVELS)], rows)
        powers = []
        for model in (
            "M1",
            "M2",
            "M3",
            "class 0 with probability 0.1",
            "over-confident, temperature 1.3",
            "under-confident, temperature 0.75",
        ):
            tasks = [(model, k) for k in range(options.power_repetitions)]
            pvalues = np.array(list(pool.map(power_repetition, tasks, chunksize=5)))
            powers.append([model, *(f"{(pvalues <= level).mean():.3f}" for level in LEVELS)])
            print(*powers[-1], flush=True)
        write("power.csv", ["model", *(f"level {level:g}" for level in LEVELS)], powers)
    print(f"{broken} rejection rates above their binomial bound ({count} repetitions, {DRAWS} draws)")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
