"""Null laws against each other: level and power, accuracy of the saddlepoint, coverage of intervals.

    python experiments/nulls/run.py                      # about 15 minutes on two cores
    python experiments/nulls/run.py --only saddlepoint --repetitions 1000

Writes nulls.csv, saddlepoint.csv and coverage.csv into docs/tables. Every repetition has its own seed, so that
numbers do not depend on the number of processes.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np

import kernelcal as kc
from kernelcal.datasets import m1, m2, m3
from kernelcal.inference import Draws, known_null

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLES = outputs.tables()
TV = kc.TotalVariation()
DRAWS = 199
SIMPLEX = kc.ECE(question="simplex", bins=10)


def binary(rng, n, factor=1.0):
    """Beta(0.7, 0.7) predictions; the log-odds of the truth are `factor` times those predicted."""
    p = rng.beta(0.7, 0.7, n).clip(1e-9, 1 - 1e-9)
    truth = p**factor / (p**factor + (1 - p) ** factor)
    return (rng.random(n) < truth).astype(int), kc.Bernoulli(p)


def many(rng, n, share=0.0):
    """Dirichlet(0.3, ..., 0.3) predictions of 10 classes; a share of the labels is uniform."""
    batch = kc.Categorical(rng.dirichlet(np.full(10, 0.3), n))
    y = batch.sample(rng)[0]
    return np.where(rng.random(n) < share, rng.integers(0, 10, n), y), batch


# setting: (data, kernel)
SETTINGS = {
    "M1": (lambda rng: m1().sample(250, rng), kc.Laplacian(metric=TV)),
    "M2": (lambda rng: m2().sample(250, rng), kc.Laplacian(metric=TV)),
    "M3": (lambda rng: m3().sample(250, rng), kc.Laplacian(metric=TV)),
    "binary, n = 100, calibrated": (lambda rng: binary(rng, 100), kc.Laplacian(metric=TV)),
    "binary, n = 100, log-odds x 0.6": (lambda rng: binary(rng, 100, 0.6), kc.Laplacian(metric=TV)),
    "10 classes, n = 50, calibrated": (lambda rng: many(rng, 50), kc.Laplacian(metric=TV)),
    "10 classes, n = 50, lengthscale 0.1, calibrated": (lambda rng: many(rng, 50), kc.Laplacian(0.1, metric=TV)),
    "10 classes, n = 100, lengthscale 0.1, 40 % uniform labels": (
        lambda rng: many(rng, 100, 0.4),
        kc.Laplacian(0.1, metric=TV),
    ),
}


def tests(kernel):
    """Name, statistic and null of every test."""
    unbiased = kc.SKCE(prediction_kernel=kernel)
    biased = kc.SKCE(prediction_kernel=kernel, estimator="biased")
    pairs = kc.SKCE(prediction_kernel=kernel, estimator="block", block_size=2)
    found = {"exact, default family": ("default", "exact")}
    for null in ("exact", "saddlepoint", "bootstrap", "wild", "gamma", "pearson", "spectrum", "consistency", "bound"):
        found[f"{null}, unbiased SKCE"] = (unbiased, null)
    found["bound, biased SKCE"] = (biased, "bound")
    found["block, SKCE in blocks of 2"] = (pairs, "block")
    found["exact, ECE"] = (SIMPLEX, "exact")
    found["consistency, ECE"] = (SIMPLEX, "consistency")
    return found


def repetition(task):
    setting, number = task
    data, kernel = SETTINGS[setting]
    rng = np.random.default_rng([list(SETTINGS).index(setting), number])
    y, batch = data(rng)
    return [
        kc.calibration_test(y, batch, statistic=statistic, null=null, draws=DRAWS, rng=number).pvalue
        for statistic, null in tests(kernel).values()
    ]


def level_and_power(pool, repetitions):
    names, rows = list(tests(kc.Laplacian())), []
    for setting in SETTINGS:
        tasks = [(setting, number) for number in range(repetitions)]
        pvalues = np.array(list(pool.map(repetition, tasks, chunksize=5)))
        rows.append([setting, *(f"{rate:.3f}" for rate in (pvalues <= 0.05).mean(axis=0))])
        print(*rows[-1], flush=True)
    table = [[name, *(row[k + 1] for row in rows)] for k, name in enumerate(names)]
    write("nulls.csv", ["test", *SETTINGS], table)


LAWS = {
    "binary, n = 300, Beta(0.7, 0.7)": lambda rng: kc.Bernoulli(rng.beta(0.7, 0.7, 300)),
    "binary, n = 1,000, Beta(0.7, 0.7)": lambda rng: kc.Bernoulli(rng.beta(0.7, 0.7, 1000)),
    "binary, n = 1,000, Beta(0.5, 2)": lambda rng: kc.Bernoulli(rng.beta(0.5, 2, 1000)),
    "10 classes, n = 300, Dirichlet(1)": lambda rng: kc.Categorical(rng.dirichlet(np.ones(10), 300)),
}


def saddlepoint(pool, repetitions):
    rows = list(pool.map(accuracy, LAWS))
    write("saddlepoint.csv", ["setting", "draws", "0.05", "0.01", "0.001", "0.0001"], rows)


def accuracy(name, draws=400_000, step=4_000):
    """Ratios of the saddlepoint p-value to that of exact draws, at quantiles of the draws."""
    batch = LAWS[name](np.random.default_rng(7))
    prepared, source = kc.SKCE().prepare(batch), Draws(11, "draws of a test")
    parts = [prepared.values(source.targets(batch, b, b + step))[:, 0] for b in range(0, draws, step)]
    values = np.sort(np.concatenate(parts)) * prepared.total
    law = known_null(prepared).law
    ratios = []
    for level in (0.05, 0.01, 1e-3, 1e-4):
        point = values[round(draws * (1 - level))]
        ratios.append(f"{law.tail(point) / np.mean(values >= point):.3f}")
    row = [name, draws, *ratios]
    print(*row, flush=True)
    return row


KERNEL = kc.Laplacian(0.3)
METHODS = ("bootstrap", "root", "ball")


def true_skce(factor, size=20_000):
    """E k(P, P') d(P) d(P'), twice for the two classes, d the gap between truth and prediction."""
    rng = np.random.default_rng(0)
    p = np.sort(rng.beta(0.7, 0.7, size).clip(1e-9, 1 - 1e-9))
    gap = p**factor / (p**factor + (1 - p) ** factor) - p
    total = 0.0
    for part in np.array_split(np.arange(size), 40):
        kernel = np.exp(-np.abs(p[part, None] - p) / 0.3)
        kernel[np.arange(len(part)), part] = 0
        total += float(gap[part] @ kernel @ gap)
    return 2 * total / (size * (size - 1))


def covered(task):
    n, factor, truth, number = task
    rng = np.random.default_rng([n, round(100 * factor), number])
    y, batch = binary(rng, n, factor)
    statistic = kc.SKCE(prediction_kernel=KERNEL)
    pvalue = kc.calibration_test(y, batch, draws=199, rng=number).pvalue
    found = []
    for method in methods(n):
        interval = kc.confidence_interval(
            y, batch, statistic=statistic, method=method, draws=499, rng=number, pvalue=pvalue
        )
        found.append((interval.lower <= truth <= interval.upper, interval.root[1] - interval.root[0]))
    return found


def methods(n):
    """All of them, and of many rows the one that is their default."""
    return METHODS if n <= 1000 else ("root",)


def coverage(pool, repetitions):
    rows = []
    for n in (300, 1000, 6000):
        for factor in (1.0, 0.9, 0.8, 0.5):
            truth = 0.0 if factor == 1.0 else true_skce(factor)
            tasks = [(n, factor, truth, number) for number in range(2 * repetitions)]
            found = np.array(list(pool.map(covered, tasks, chunksize=5)))
            rates, widths = found[:, :, 0].mean(axis=0), found[:, :, 1].mean(axis=0)
            cells = dict(zip(methods(n), zip(rates, widths, strict=True), strict=True))
            shown = [f"{cells[m][0]:.3f} ({cells[m][1]:.3f})" if m in cells else "" for m in METHODS]
            name = "calibrated" if factor == 1.0 else f"log-odds x {factor}"
            rows.append([n, name, f"{np.sqrt(truth):.4f}", *shown])
            print(*rows[-1], flush=True)
    write("coverage.csv", ["rows", "model", "root of the SKCE", *METHODS], rows)


def write(name, header, rows):
    TABLES.mkdir(parents=True, exist_ok=True)
    with open(TABLES / name, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


PARTS = {"level": level_and_power, "saddlepoint": saddlepoint, "coverage": coverage}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=tuple(PARTS))
    options = parser.parse_args()
    with ProcessPoolExecutor(options.processes) as pool:
        for name, part in PARTS.items():
            if options.only in (None, name):
                start = time.perf_counter()
                part(pool, options.repetitions)
                print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
