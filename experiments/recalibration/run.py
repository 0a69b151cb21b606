"""Repaired predictions beside other packages, on rows that no map has seen; level, power and price by simulation.

    pip install probmetrics netcal betacal venn-abers statsmodels  # no dependencies of kernelcal
    python experiments/recalibration/run.py                        # about ten minutes
    python experiments/recalibration/run.py --part classes         # or numbers, null, test
    python experiments/recalibration/run.py --splits 1             # a short one

Writes docs/tables/recalibration_classes.csv (every set, model, split and size), recalibration_ranks.csv,
recalibration_numbers.csv, recalibration_null.csv and recalibration_test.csv. Packages that are not installed are left
out and named. For the log score probabilities below 1e-6 count as 1e-6, of every method alike.
"""

from __future__ import annotations

import argparse
import csv
import functools
import sys
import warnings
from pathlib import Path

import numpy as np

import kernelcal as kc
from kernelcal.predictions import Quantiles, Samples
from kernelcal.recalibration import TemperatureScaling, recalibrate
from kernelcal.recalibration.numbers import loss_rows

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

sys.path.append(str(Path(__file__).resolve().parent))

from methods import methods
from sets import LEVELS, class_predictions, number_predictions

SIZES = (100, 500)
LEAST = 1e-6
FEWEST_TESTED = 150  # rows behind a score
PARTS = ("classes", "numbers", "null", "test")
methods_of = functools.cache(methods)


def log_score(p, y):
    return float(-np.log(np.maximum(p[np.arange(len(y)), y], LEAST)).mean())


def brier(p, y):
    return float(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1).mean())


def of_classes(splits):
    """A line a set, model, split, size and method."""
    lines = []
    for split in range(splits):
        for name, model, p, y in class_predictions(split):
            for n in SIZES:
                if len(y) - n < FEWEST_TESTED or len(np.unique(y[:n])) < p.shape[1]:
                    continue  # other packages need a row of every class
                for method, repair in methods_of(p.shape[1]).items():
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        try:
                            q = repair(p[:n], y[:n], p[n:])
                            scores = [f"{score(q, y[n:]):.5f}" for score in (log_score, brier)]
                        except Exception as error:  # of any package: told, not hidden
                            print(f"{method} on {name}, {model}, {n} rows: {type(error).__name__}: {error}"[:200])
                            scores = ["", ""]
                    lines.append([name, model, p.shape[1], split, n, method, *scores])
            print(name, model, split, flush=True)
    return ["set", "model", "classes", "split", "n", "method", "log score", "Brier score"], lines


def ranks(lines):
    """Mean rank, share of sets on which the pool is better, and gains beside predictions left alone."""
    table = []
    for two in (True, False):
        for n in SIZES:
            found = {}
            for name, model, classes, split, size, method, loss, squares in lines:
                if (int(classes) == 2) == two and int(size) == n:
                    found.setdefault((name, model, split), {})[method] = tuple(
                        float(value or "inf") for value in (loss, squares)
                    )
            names = list(next(iter(found.values())))
            losses = np.array([[one[method] for method in names] for one in found.values()])
            rank = (losses[:, :, None] > losses[:, None]).sum(axis=2) + 1
            pool, alone = names.index("kernelcal auto"), names.index("identity")
            for k, method in enumerate(names):
                gain = 1 - losses[:, k, 0] / losses[:, alone, 0]
                table.append(
                    [
                        "2" if two else "3 to 10",
                        n,
                        len(losses),
                        method,
                        *(f"{rank[:, k, s].mean():.2f}" for s in (0, 1)),
                        f"{100 * np.mean(losses[:, pool, 0] < losses[:, k, 0]):.0f}",
                        f"{100 * np.median(gain):.1f}",
                        f"{100 * gain.min():.0f}",
                        f"{(losses[:, k, 0] - losses[:, alone, 0]).max():.3f}",
                    ]
                )
    head = ["classes", "n", "sets", "method", "mean rank, log score", "mean rank, Brier score"]
    head += ["pool better on %", "median gain %", "worst gain %", "worst loss against identity, nats"]
    return head, table


def of_numbers(splits):
    """A line a set, model, kind, split and size: CRPS and log score before and after."""
    kinds = {
        "normal": lambda arrays: kc.Normal(*arrays),
        "members": lambda arrays: Samples(arrays[0]),
        "quantiles": lambda arrays: Quantiles(arrays[0], list(LEVELS)),
    }
    lines = []
    for split in range(splits):
        for name, model, kind, arrays, y in number_predictions(split):
            for n in SIZES:
                if len(y) - n < FEWEST_TESTED:
                    continue
                first, rest = (kinds[kind]([a[part] for a in arrays]) for part in (slice(n), slice(n, None)))
                found = recalibrate(y[:n], first, test=False)
                made = {"identity": rest, "kernelcal auto": found(rest)}
                if kind == "normal":
                    made["kernelcal TemperatureScaling"] = TemperatureScaling().fit(y[:n], first).transform(rest)
                    made.update(by_netcal(arrays, y, n))
                for method, batch in made.items():
                    loss, crps = (np.mean(rows) for rows in loss_rows(kc.cases.Case.of(y[n:], batch)))
                    lines.append(
                        [name, model, kind, split, n, method, f"{crps:.5g}", f"{loss:.5g}" if kind == "normal" else ""]
                    )
    return ["set", "model", "kind", "split", "n", "method", "CRPS or pinball loss", "log score"], lines


def by_netcal(arrays, y, n):
    try:
        from netcal.regression import VarianceScaling
    except ImportError as error:
        print(f"netcal.regression is left out: {error}")
        return {}
    mean, std = arrays
    scaled = VarianceScaling().fit((mean[:n], std[:n]), y[:n]).transform((mean[n:], std[n:]))
    return {"netcal VarianceScaling": kc.Normal(mean[n:], np.asarray(scaled).ravel())}


def drawn(p, rng):
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(0, p.shape[1] - 1)


def of_null(sets):
    """What the pool costs where nothing is wrong: mean divergence of its output from the truth."""
    lines = []
    for k in (2, 3, 5):
        for n in SIZES:
            costs, used = [], 0
            for seed in range(sets):
                rng = np.random.default_rng([seed, k, n, 7])
                p = rng.dirichlet(np.full(k, 0.8), n + 1000)
                found = recalibrate(drawn(p[:n], rng), p[:n] if k > 2 else p[:n, 1], test=False)
                used += found.verdict.startswith("Use")
                q = found(p[n:]).probs if k > 2 else found(p[n:, 1]).p
                q = q if k > 2 else np.stack([1 - q, q], axis=1)
                costs.append((p[n:] * np.log(np.maximum(p[n:], 1e-300) / q)).sum(axis=1).mean())
            spread = np.std(costs) / np.sqrt(sets)
            lines.append([k, n, sets, f"{1e3 * np.mean(costs):.2f}", f"{1e3 * spread:.2f}", f"{100 * used / sets:.0f}"])
    return ["classes", "n", "sets", "divergence, 1e-3 nats", "standard error", "told to use the map %"], lines


def halves(y, p, seed, method):
    """P-value of the usual way: a map fitted to one half, tested on the other."""
    order = np.random.default_rng([seed, 3]).permutation(len(y))
    fit, held = np.array_split(order, 2)
    made = recalibrate(y[fit], p[fit], method, test=False, rng=seed)
    return kc.calibration_test(y[held], made(p[held]), draws=199, rng=seed).pvalue


def of_test(sets):
    """Shares of sets that the forward test rejects at 5 %, beside a held-out half: a right family, and a wrong one."""
    lines = []
    for setting, wrong in (("one temperature is right", 0.0), ("a shift is left by it", 0.7)):
        for method in ("temperature", "auto"):
            for n in (300, 1000):
                if method == "auto" and (wrong or n == 1000):
                    continue  # the pool repairs a shift, and nothing is left
                low = np.zeros(2)
                for seed in range(sets):
                    rng = np.random.default_rng([seed, n, 11])
                    x = 1.5 * rng.normal(size=n)
                    y = (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int)
                    p = 1 / (1 + np.exp(-(2 * x + wrong)))
                    forward = recalibrate(y, p, method, draws=199, rng=seed).test_after.pvalue
                    low += [forward <= 0.05, halves(y, p, seed, method) <= 0.05]
                lines.append([setting, method, n, sets, *(f"{100 * share:.1f}" for share in low / sets)])
                print(*lines[-1], flush=True)
    return ["setting", "method", "n", "sets", "forward test rejects %", "held-out half rejects %"], lines


def write(name, head, lines):
    with (outputs.tables() / f"recalibration_{name}.csv").open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--sets", type=int, default=200)
    options = parser.parse_args()
    for part in PARTS if options.part is None else (options.part,):
        print(part)
        if part in ("classes", "numbers"):
            head, lines = (of_classes if part == "classes" else of_numbers)(options.splits)
        else:
            head, lines = (of_null if part == "null" else of_test)(options.sets)
        write(part, head, lines)
        if part == "classes":
            write("ranks", *ranks(lines))


if __name__ == "__main__":
    main()
