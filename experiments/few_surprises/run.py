"""Do intervals, equivalence tests and comparisons hold where few outcomes are surprising?

    python experiments/few_surprises/run.py                      # about 25 minutes on one core
    python experiments/few_surprises/run.py --repetitions 100 --only paired --match "10 classes"

Writes few_surprises.csv and few_surprises_paired.csv into docs/tables, and docs/images/few_surprises.png. Every
repetition has its own seed.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import binom
from settings import ONE, TWO

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.comparison.figures import by_draws, by_rows, score_rows, score_surprises, shared_law, skce_differences
from kernelcal.comparison.models import shared_ckce, shared_skce
from kernelcal.inference.intervals import Request, RowBootstrap
from kernelcal.inference.intervals.confidence import method_of, spread_of
from kernelcal.runs import Run
from kernelcal.statistics import CKCE

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

DOCS = outputs.tables().parent
DRAWS = 199
LEVEL, COVERAGE = 0.05, 0.95


def asked(task):
    """P-value at the true error, whether the interval lies below or above it, the width of the root's interval."""
    name, method, number = task
    setting = ONE[name]
    data = setting.draw(np.random.default_rng([list(ONE).index(name), number]), setting.n)
    case = Case.of(data.y, data.predictions, weights=data.weights).in_numpy
    squared = data.truth**2
    if method == "sketch":
        return in_one_pass(data, setting, squared)
    chosen = method_of(method, setting.statistic, weighted=data.weights is not None)
    found = spread_of(chosen, setting.statistic, case, Run(draws=DRAWS, rng=number))
    lower, upper = found.ends(COVERAGE)
    if lower > squared and chosen.tested and untested(data, number):
        lower = 0.0
    reach = np.sqrt(max(upper, 0.0)) - np.sqrt(max(lower, 0.0))
    return found.above(squared) if squared > 0 else 1.0, upper < squared, lower > squared, reach


def untested(data, number):
    """Whether the exact test does not reject, so that the lower end is 0."""
    pvalue = kc.calibration_test(data.y, data.predictions, weights=data.weights, draws=DRAWS, rng=number).pvalue
    return pvalue > 1 - COVERAGE


def in_one_pass(data, setting, squared):
    """A sketch has an interval of two sides alone: its upper end at 90 % is that of an equivalence test at 5 %."""
    sketch = kc.Sketch(prediction_kernel=setting.statistic.prediction_kernel, draws=DRAWS)
    sketch.update(data.y, data.predictions)
    wide, narrow = (sketch.result(confidence_level=level).interval for level in (COVERAGE, 1 - 2 * LEVEL))
    pvalue = 0.0 if narrow.upper < squared else 1.0
    return pvalue, wide.upper < squared, wide.lower > squared, np.sqrt(wide.upper) - np.sqrt(wide.lower)


def one_model(pool, repetitions, match):
    rows = []
    for name, setting in ONE.items():
        for method in setting.methods if match in name else ():
            many = repetitions if method in ("root", "block") or setting.old else repetitions // 2
            found = np.array(list(pool.map(asked, [(name, method, k) for k in range(many)], chunksize=10)))
            rejected, below, above = (found[:, 0] <= LEVEL).mean(), found[:, 1].mean(), found[:, 2].mean()
            shown = [f"{x:.3f}" for x in (rejected, 1 - below - above, below, above)]
            rows.append([name, method, many, *shown, f"{found[:, 3].mean():.4f}"])
            print(*rows[-1], sep="; ", flush=True)
    header = ["setting", "method", "repetitions", "type I error at the bound", "covered", "interval below", "above"]
    write("few_surprises.csv", [*header, "mean width of the root"], rows)
    return rows


def compared(task):
    """Smallest corrected p-value of each measure."""
    name, number = task
    setting = TWO[name]
    y, models = setting.draw(np.random.default_rng([1000 + list(TWO).index(name), number]), setting.n)
    cases = {str(k): Case.of(y, model).in_numpy for k, model in enumerate(models)}
    batches = [case.predictions for case in cases.values()]
    found = []
    if "CKCE" in setting.measures:
        ckce, law, run = shared_ckce(CKCE(), batches), shared_law(cases), Run(draws=DRAWS, rng=number)
        estimates, drawn, surprised = {}, {}, {}
        for key, case in cases.items():
            prepared = ckce.prepare(case.predictions)
            rows, request = RowBootstrap(prepared, case.targets), Request(case, prepared, run)
            estimates[key], drawn[key] = rows.estimate, rows.drawn(request)
            surprised[key] = rows.surprised(request, drawn[key], law)
        found += by_draws("CKCE", estimates, drawn, surprised)
    if "SKCE" in setting.measures:
        skce = shared_skce(None, batches)
        if setting.size is not None:
            skce = replace(skce, estimator="block", block_size=setting.size)
        found += skce_differences(cases, {key: skce.prepare(case.predictions) for key, case in cases.items()})
    for measure, rows in score_rows(cases).items():
        if measure in setting.measures:
            found += by_rows(measure, rows, score_surprises(measure, cases))
    return [min(d.adjusted for d in found if d.measure == measure) for measure in setting.measures]


def two_models(pool, repetitions, match):
    rows = []
    for name, setting in TWO.items():
        if match not in name:
            continue
        pvalues = np.array(list(pool.map(compared, [(name, k) for k in range(repetitions)], chunksize=10)))
        for measure, own in zip(setting.measures, pvalues.T, strict=True):
            rows.append([name, measure, repetitions, f"{(own <= LEVEL).mean():.3f}", f"{(own <= 0.001).mean():.4f}"])
            print(*rows[-1], sep="; ", flush=True)
    write("few_surprises_paired.csv", ["setting", "measure", "repetitions", "rejected at 5 %", "at 0.1 %"], rows)
    return rows


def write(name, header, rows):
    """Write a table; rows of a table that is there already and that were not made again stay."""
    path, made = DOCS / "tables" / name, {tuple(row[:2]): row for row in rows}
    if path.exists():
        with open(path) as stream:
            old = list(csv.reader(stream))[1:]
        rows = [made.pop(tuple(row[:2]), row) for row in old] + list(made.values())
    with open(path, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def picture():
    """Draw the type I errors of the tables in one picture."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2))
    shown = [("few_surprises.csv", 1, 3), ("few_surprises_paired.csv", 1, 3)]
    for ax, (name, kind, column) in zip(axes, shown, strict=True):
        with open(DOCS / "tables" / name) as stream:
            rows = list(csv.reader(stream))[1:]
        kinds = list(dict.fromkeys(row[kind] for row in rows))
        for place, own in enumerate(kinds):
            values = sorted(float(row[column]) for row in rows if row[kind] == own)
            ax.plot(place + np.linspace(-0.3, 0.3, len(values)), values, "o", ms=4, alpha=0.7)
        ax.axhline(LEVEL, color="0.3", lw=0.8)
        ax.axhline(0.07, color="0.3", lw=0.8, ls=":")
        ax.set_xticks(range(len(kinds)), kinds)
        ax.set_ylim(-0.004, 0.1)
    axes[0].set_ylabel("rejected at 5 %")
    axes[0].set_title("Equivalence at the bound", fontsize=10)
    axes[1].set_title("Models that err alike", fontsize=10)
    figure.tight_layout()
    figure.savefig(DOCS / "images" / "few_surprises.png", dpi=150)


def summary(one, two):
    """The worst of everything, and how far chance alone would go."""
    worst = max(one, key=lambda row: float(row[3]))
    least = min(one, key=lambda row: float(row[4]))
    pair = max(two, key=lambda row: float(row[3]))
    print("worst type I error:", *worst[:4], "| least coverage:", *least[:3], least[4], "| worst pair:", *pair)
    for many in (int(worst[2]), int(pair[2])):
        print(f"chance alone, of {many} repetitions at .05, up to {binom.ppf(0.999, many, LEVEL) / many:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=600)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", choices=("one", "paired", "picture"))
    parser.add_argument("--match", default="", help="only settings whose name holds these words")
    options = parser.parse_args()
    start = time.perf_counter()
    with ProcessPoolExecutor(options.processes) as pool:
        one = one_model(pool, options.repetitions, options.match) if options.only in (None, "one") else []
        two = two_models(pool, options.repetitions // 2, options.match) if options.only in (None, "paired") else []
    picture()
    if one and two:
        summary(one, two)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
