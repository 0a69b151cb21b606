"""Paired tests of two models, coverage of the interval of the CKCE, and the level of equivalence tests.

    python experiments/compare/run.py                    # about 8 minutes on one free core
    python experiments/compare/run.py --only coverage --repetitions 1000 --processes 2

Writes compare.csv, compare_coverage.csv and compare_equivalence.csv into docs/tables. Every repetition has its own
seed, so that numbers do not depend on the number of processes.
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
from kernelcal.cases import Case
from kernelcal.comparison.figures import by_draws, by_rows, score_surprises, shared_law, skce_differences
from kernelcal.comparison.models import shared_ckce, shared_skce
from kernelcal.inference import Request, equivalence_test
from kernelcal.inference.intervals import RowBootstrap
from kernelcal.runs import Run
from kernelcal.statistics import CKCE, log_score_rows
from kernelcal.statistics.conditional.engines import incomplete_cholesky

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLES = outputs.tables()
DRAWS = 199
EXACT_UP_TO = 300  # rows; above, an incomplete factor in place of the matrix


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def logits(rng, n, m):
    """Normal logits; of two classes the first is 0."""
    x = 1.5 * rng.normal(size=(n, m))
    return x if m > 2 else np.stack([np.zeros(n), x[:, 1]], axis=1)


def calibrated(rng, n, m):
    """Two calibrated models: the first knows both inputs, the second averages over the one that it does not know."""
    x, shifts = logits(rng, n, m), logits(np.random.default_rng(m), 8, m)
    laws = softmax(x[:, None] + shifts)
    p = laws[np.arange(n), rng.integers(0, 8, n)]
    return kc.Categorical(p).sample(rng)[0], p, laws.mean(axis=1)


def alike(rng, n, m):
    """Two models that are too bold alike: the law is the mean of two, and each model knows one of them."""
    x = [logits(rng, n, m) for _ in range(2)]
    truth = (softmax(x[0]) + softmax(x[1])) / 2
    return kc.Categorical(truth).sample(rng)[0], softmax(1.5 * x[0]), softmax(1.5 * x[1])


def bold(factor):
    """A calibrated model, and one whose log-odds are larger by a factor."""

    def data(rng, n, m):
        p = rng.dirichlet(np.full(m, 0.7), n).clip(1e-9)
        p /= p.sum(axis=1, keepdims=True)
        return kc.Categorical(p).sample(rng)[0], p, sharpened(p, factor)

    return data


def sharpened(p, factor):
    return p**factor / (p**factor).sum(axis=1, keepdims=True)


LEVEL = {"both calibrated, one sharper": calibrated, "both too bold alike": alike}
SETTINGS = {
    **LEVEL,
    **{f"calibrated and log-odds x {factor:g}": bold(factor) for factor in (0.5, 1.5, 2.0, 3.0)},
}


def paired(task):
    """P-values of CKCE, SKCE and log score, as `kernelcal.compare` makes them of two models."""
    setting, m, n, number = task
    rng = np.random.default_rng([list(SETTINGS).index(setting), m, n, number])
    y, *models = SETTINGS[setting](rng, n, m)
    batches = [kc.Bernoulli(p[:, 1]) if m == 2 else kc.Categorical(p) for p in models]
    given = CKCE(engine=kc.ExactPairs() if n <= EXACT_UP_TO else kc.IncompleteCholesky())
    skce, ckce = shared_skce(None, batches), shared_ckce(given, batches)
    cases = {name: Case(y, batch) for name, batch in zip("ab", batches, strict=True)}
    law, estimates, drawn, surprised = shared_law(cases), {}, {}, {}
    for name, case in cases.items():
        prepared = ckce.prepare(case.predictions)
        rows, request = RowBootstrap(prepared, y), Request(case, prepared, Run(draws=DRAWS, rng=number))
        estimates[name], drawn[name] = rows.estimate, rows.drawn(request)
        surprised[name] = rows.surprised(request, drawn[name], law)
    found = by_draws("CKCE", estimates, drawn, surprised)
    found += skce_differences(cases, {name: skce.prepare(case.predictions) for name, case in cases.items()})
    scores = {name: log_score_rows(y, batch) for name, batch in zip("ab", batches, strict=True)}
    found += by_rows("log score", scores, score_surprises("log score", cases))
    return [(d.pvalue, d.difference < 0) for d in found]


def rates(pool, repetitions):
    rows = []
    for m in (2, 5):
        for setting in SETTINGS:
            for n in (100, 300, 1000):
                many = repetitions if n < 1000 and setting in LEVEL else repetitions // 2
                tasks = [(setting, m, n, number) for number in range(many)]
                found = np.array(list(pool.map(paired, tasks, chunksize=5)))
                rejected = (found[:, :, 0] <= 0.05).mean(axis=0)
                rows.append([setting, m, n, many, *(f"{rate:.3f}" for rate in rejected)])
                print(*rows[-1], flush=True)
    header = ["models", "classes", "rows", "repetitions", "CKCE", "SKCE", "log score"]
    write("compare.csv", header, rows)


KERNEL = kc.kernels.Linear() + kc.Gaussian(0.5)
FACTORS = (1.0, 0.5, 2.0, 3.0)


def binary(rng, n, factor):
    """Beta(0.7, 0.7) probabilities, and predictions whose log-odds are larger by a factor."""
    p = rng.beta(0.7, 0.7, n).clip(1e-9, 1 - 1e-9)
    return p, p**factor / (p**factor + (1 - p) ** factor)


def true_ckce(factor, penalty, size=20_000):
    """Squared ridge regression of the gap between truth and prediction, on a large sample without noise."""
    p, q = binary(np.random.default_rng(0), size, factor)
    batch = kc.Categorical(np.stack([1 - q, q], axis=1))
    phi = incomplete_cholesky(KERNEL, batch, None, 1e-10, 200)[0]
    solved = np.linalg.solve(phi @ phi.T / size + penalty * np.eye(len(phi)), phi @ (p - q) / size)
    return 2 * float(solved @ solved)


def covered(task):
    n, factor, truth, number = task
    rng = np.random.default_rng([n, round(100 * factor), number])
    p, q = binary(rng, n, factor)
    y = (rng.random(n) < p).astype(int)
    pvalue = kc.calibration_test(y, q, draws=99, rng=number).pvalue
    statistic = CKCE(prediction_kernel=KERNEL, engine=kc.ExactPairs() if n <= EXACT_UP_TO else kc.IncompleteCholesky())
    found = kc.confidence_interval(y, q, statistic=statistic, draws=499, rng=number, pvalue=pvalue)
    return found.lower <= truth <= found.upper, truth < found.lower, found.upper - found.lower


def coverage(pool, repetitions):
    rows = []
    for n in (100, 300, 1000):
        for factor in FACTORS:
            truth, many = true_ckce(factor, n**-0.25), repetitions if n < 1000 else repetitions // 2
            tasks = [(n, factor, truth, number) for number in range(many)]
            shares = np.array(list(pool.map(covered, tasks, chunksize=5))).mean(axis=0)
            shown = [f"{truth:.5f}", f"{shares[0]:.3f}", f"{shares[1]:.3f}", f"{shares[2]:.4f}"]
            rows.append([n, model_in_words(factor), many, *shown])
            print(*rows[-1], flush=True)
    header = ["rows", "model", "repetitions", "CKCE", "covered", "whole interval above", "mean width"]
    write("compare_coverage.csv", header, rows)


def model_in_words(factor):
    return "calibrated" if factor == 1 else f"log-odds x {factor:g}"


METHODS = ("root", "ball", "bootstrap")
LAPLACIAN = kc.Laplacian(0.3)


def true_skce(factor, size=20_000):
    """``E k(Q, Q') g(Q) g(Q')``, twice for the two classes, g the gap between truth and prediction."""
    p, q = binary(np.random.default_rng(0), size, factor)
    gap, total = p - q, 0.0
    for part in np.array_split(np.arange(size), 40):
        kernel = np.exp(-np.abs(q[part, None] - q) / 0.3)
        kernel[np.arange(len(part)), part] = 0
        total += float(gap[part] @ kernel @ gap)
    return 2 * total / (size * (size - 1))


def within(task):
    """P-values of the hypothesis that the error is at least what it is."""
    n, factor, root, number = task
    rng = np.random.default_rng([n, round(100 * factor), number])
    p, q = binary(rng, n, factor)
    y, statistic = (rng.random(n) < p).astype(int), kc.SKCE(prediction_kernel=LAPLACIAN)
    return [
        equivalence_test(y, q, within=root, statistic=statistic, method=m, draws=DRAWS, rng=number).pvalue
        for m in METHODS
    ]


def equivalence(pool, repetitions):
    rows = []
    for n in (100, 300, 1000):
        for factor in (0.5, 0.8, 1.25, 2.0, 3.0):
            root = float(np.sqrt(true_skce(factor)))
            many = repetitions if n < 1000 else repetitions // 2
            tasks = [(n, factor, root, number) for number in range(many)]
            rejected = (np.array(list(pool.map(within, tasks, chunksize=5))) <= 0.05).mean(axis=0)
            rows.append([n, model_in_words(factor), many, f"{root:.4f}", *(f"{rate:.3f}" for rate in rejected)])
            print(*rows[-1], flush=True)
    write("compare_equivalence.csv", ["rows", "model", "repetitions", "root of the SKCE", *METHODS], rows)


def write(name, header, rows):
    TABLES.mkdir(parents=True, exist_ok=True)
    with open(TABLES / name, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


PARTS = {"paired": rates, "coverage": coverage, "equivalence": equivalence}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--processes", type=int, default=1)
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
