"""Repaired predictions beside other packages, on rows that no map has seen; level, power and price by simulation.

    pip install probmetrics numba netcal betacal venn-abers statsmodels ngboost quantile-forest  # none is needed
    python experiments/recalibration/run.py --data FOLDER           # about an hour; of FOLDER see given.py
    python experiments/recalibration/run.py --part classes          # or numbers, null, test, bar
    python experiments/recalibration/run.py --part classes --resume # goes on where it was stopped
    python experiments/recalibration/run.py --splits 1              # a short one

Writes docs/tables/recalibration_classes.csv (every set, model, size and method: means over splits, half as many of
them with 2,000 rows), recalibration_ranks.csv, recalibration_pool.csv, recalibration_numbers.csv,
recalibration_crps.csv, recalibration_null.csv, recalibration_test.csv and, of these, recalibration_bar.csv. Scores of
single splits are kept beside the scratch files, from where ``--resume`` goes on. Packages that are not installed are
left out and named. For the log score probabilities below 1e-6 count as 1e-6, of every method alike.
"""

from __future__ import annotations

import argparse
import csv
import functools
import sys
import tempfile
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

from given import given_predictions
from methods import methods
from ranking import BAR_HEAD, HEAD, POOL, bar, means, ranks, summary
from sets import LEVELS, class_predictions, number_predictions

SIZES = (100, 500, 2000)
LEAST = 1e-6
FEWEST_TESTED = 50  # rows behind a score
SHUFFLES = 10  # of sets of few rows, whose scores are means over them
FEW = 300  # rows
PARTS = ("classes", "numbers", "null", "test", "bar")
SPLITS = 15  # of classes; a set is judged by their mean
NUMBER_SPLITS = 2
REPEATED = {100: 2, 500: 1, 2000: 0.25}  # of the part null: costs differ the most with few rows
FIXED = "nothing is wrong, and the map is fixed"
methods_of = functools.cache(methods)


def log_losses(p, y):
    return -np.log(np.maximum(p[np.arange(len(y)), y], LEAST))


def briers(p, y):
    return ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1)


def shuffled(n, split):
    """The order as it is, which is random, and of sets of few rows nine more."""
    rng = np.random.default_rng([split, n])
    return [np.arange(n), *(rng.permutation(n) for _ in range(SHUFFLES - 1 if n <= FEW else 0))]


def scored(repair, p, y, n, split, label):
    """Mean scores of every row, over the orders in which it was not calibrated with; nan where the method failed."""
    total, count = np.zeros((len(y), 2)), np.zeros((len(y), 1))
    for order in shuffled(len(y), split):
        fit, held = order[:n], order[n:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                q = repair(p[fit], y[fit], p[held])
                total[held] += np.stack([log_losses(q, y[held]), briers(q, y[held])], axis=1)
            except Exception as error:  # of any package: told, not hidden
                print(f"{label}: {type(error).__name__}: {error}"[:200])
                total[held] = np.nan
        count[held] += 1
    return total[count[:, 0] > 0] / count[count[:, 0] > 0]


def sizes_of(split, splits):
    """Half of the splits serve 2,000 rows, which are most of a set anyway."""
    return [n for n in SIZES if n < SIZES[-1] or split < (splits + 1) // 2]


def of_set(source, name, model, p, y, split, sizes=SIZES):
    """A line a size and method."""
    lines = []
    for n in sizes:
        if len(y) - n < FEWEST_TESTED or len(np.unique(y[:n])) < p.shape[1]:
            continue  # other packages need a row of every class
        for method, repair in methods_of(p.shape[1]).items():
            own = scored(repair, p, y, n, split, f"{method} on {name}, {model}, {n} rows").mean(axis=0)
            told = [f"{value:.6f}" if np.isfinite(value) else "" for value in own]
            lines.append([source, name, model, str(p.shape[1]), str(split), str(n), method, *told])
    return lines


def of_classes(splits, folder=None, known=()):
    """Lines of every set, model and split, as soon as they are there; those that are known are not made again."""
    known = {tuple(key) for key in known}
    for split in range(splits):
        for source, found in (
            ("fitted", class_predictions(split)),
            ("given", given_predictions(folder, split) if folder else ()),
        ):
            for name, model, p, y in found:
                if (source, name, model, str(split)) not in known:
                    yield of_set(source, name, model, p, y, split, sizes_of(split, splits))
                    print(source, name, model, split, flush=True)


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


def crps_changes(lines):
    """A line a model, kind and size: by how much the CRPS falls, of quantiles the pinball loss, and rises at most."""
    groups, before = {}, {tuple(line[:5]): float(line[6]) for line in lines if line[5] == "identity"}
    for line in lines:
        if line[5] == POOL:
            gains = groups.setdefault((line[1], line[2], int(line[4])), [])
            gains.append(100 * (1 - float(line[6]) / before[tuple(line[:5])]))
    table = [
        [*key, len(gains), *(f"{value:z.1f}" for value in (np.median(gains), min(gains), max(gains)))]
        for key, gains in sorted(groups.items())
    ]
    return ["model", "kind", "n", "sets", "median gain %", "least gain %", "most gain %"], table


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
            costs, used, of_size = [], 0, max(int(sets * REPEATED[n]), 1)
            for seed in range(of_size):
                rng = np.random.default_rng([seed, k, n, 7])
                p = rng.dirichlet(np.full(k, 0.8), n + 1000)
                found = recalibrate(drawn(p[:n], rng), p[:n] if k > 2 else p[:n, 1], test=False)
                used += found.verdict.startswith("Use")
                q = found(p[n:]).probs if k > 2 else found(p[n:, 1]).p
                q = q if k > 2 else np.stack([1 - q, q], axis=1)
                costs.append((p[n:] * np.log(np.maximum(p[n:], 1e-300) / q)).sum(axis=1).mean())
            spread = np.std(costs) / np.sqrt(of_size)
            numbers = [f"{1e3 * np.mean(costs):.2f}", f"{1e3 * spread:.2f}", f"{100 * used / of_size:.0f}"]
            lines.append([k, n, of_size, *numbers])
            print(*lines[-1], flush=True)
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
    for n in (300, 1000):
        lines.append([FIXED, "identity", n, 5 * sets // 2, *level_of_fixed(n, 5 * sets // 2)])
        print(*lines[-1], flush=True)
    return ["setting", "method", "n", "sets", "forward test rejects %", "held-out half rejects %"], lines


def level_of_fixed(n, sets):
    """Shares of calibrated sets that are rejected where no row moves the map: the level of the test itself."""
    low = np.zeros(2)
    for seed in range(sets):
        rng = np.random.default_rng([seed, n, 13])
        p = rng.dirichlet(np.full(3, 0.8), n)
        y = drawn(p, rng)
        forward = recalibrate(y, p, "identity", draws=199, rng=seed).test_after.pvalue
        low += [forward <= 0.05, halves(y, p, seed, "identity") <= 0.05]
    return [f"{100 * share:.1f}" for share in low / sets]


def write(name, head, lines):
    with (outputs.tables() / f"recalibration_{name}.csv").open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *lines])


def written(name):
    with (outputs.tables() / f"recalibration_{name}.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def write_classes(splits, folder, resume):
    """Keep the scores of each set when they are there, so that a run that is stopped loses one set."""
    path = Path(tempfile.gettempdir()) / "kernelcal_experiments" / "recalibration_splits.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = list(csv.reader(path.open(newline=""))) if resume and path.exists() else []
    with path.open("w", newline="") as stream:
        kept = csv.writer(stream, lineterminator="\n")
        kept.writerows(lines)
        for added in of_classes(splits, folder, {(*line[:3], line[4]) for line in lines}):
            lines += added
            kept.writerows(added)
            stream.flush()
    write_ranks(means(lines))


def write_ranks(lines):
    write("classes", HEAD, lines)
    write("ranks", *ranks(lines))
    write("pool", *summary(*ranks(lines)))


def write_bar(folder):
    """Of the tables of the other parts."""
    zeros = None if folder is None else sum((p == 0).any() for _, _, p, _ in given_predictions(folder, 0))
    lines = [list(row.values()) for row in written("classes")]
    write("bar", BAR_HEAD, bar(lines, *map(written, ("null", "test", "crps")), zeros))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--splits", type=int, help=f"{SPLITS} of classes, {NUMBER_SPLITS} of numbers unless told")
    parser.add_argument("--sets", type=int, default=200, help="simulated sets of the parts null and test")
    parser.add_argument("--data", help="folder of published predictions, see given.py")
    parser.add_argument("--resume", action="store_true", help="go on where a run of the part classes was stopped")
    options = parser.parse_args()
    for part in PARTS if options.part is None else (options.part,):
        print(part)
        if part == "classes":
            write_classes(options.splits or SPLITS, options.data, options.resume)
        elif part == "numbers":
            head, lines = of_numbers(options.splits or NUMBER_SPLITS)
            write(part, head, lines)
            write("crps", *crps_changes(lines))
        elif part == "bar":
            write_bar(options.data)
        else:
            write(part, *(of_null if part == "null" else of_test)(options.sets))


if __name__ == "__main__":
    main()
