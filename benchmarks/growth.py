"""How the time grows with rows, classes, draws and features: measured points, slopes, and a picture.

    python benchmarks/growth.py                      # half a minute of one processor; prints the points
    python benchmarks/growth.py --table docs/tables/performance_growth.csv --picture docs/images/performance_growth.png
    python benchmarks/growth.py --drawn docs/tables/performance_growth.csv --picture docs/images/performance_growth.png

Time of the processor on one thread, best of three (of two where a call takes more than a second).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from common import class_data, machine

import kernelcal as kc

KERNEL = kc.Laplacian(0.5)
PAIRS = kc.ExactPairs(threads=1)


def sharp(p):
    return p**1.3 / (p**1.3).sum(axis=1, keepdims=True)


def estimate(n, m):
    y, p = class_data(n, m, 0.3 if m < 1000 else 0.05)
    return lambda: kc.skce(y, p, prediction_kernel=KERNEL, engine=PAIRS)


def line(n):
    p = np.random.default_rng(0).uniform(size=n)
    y = (np.random.default_rng(1).uniform(size=n) < p).astype(int)
    return lambda: kc.skce(y, p, prediction_kernel=KERNEL, engine=PAIRS)


def drawn(n, m=10, draws=999, **options):
    y, p = class_data(n, m)
    p = sharp(p)
    return lambda: kc.calibration_test(y, p, draws=draws, early_stopping=False, **options)


def drawn_numbers(n):
    rng = np.random.default_rng(0)
    mean, std = rng.normal(0, 2, n), rng.uniform(0.5, 2, n)
    y, predictions = rng.normal(mean, 1.2 * std), kc.Normal(mean, std)
    return lambda: kc.calibration_test(y, predictions, early_stopping=False)


def features(size):
    statistic = kc.SKCE(prediction_kernel=KERNEL, engine=kc.RandomFourier(size))
    return drawn(5_000, draws=199, statistic=statistic)


ROWS = (1_000, 2_000, 4_000, 8_000, 16_000)
CURVES = {
    "rows": {
        "SKCE, all pairs, 10 classes": (lambda n: estimate(n, 10), ROWS),
        "SKCE, one probability": (line, (1_000, 10_000, 100_000, 1_000_000)),
        "default test, 10 classes, 999 draws": (drawn, (500, *ROWS)),
        "default test of numbers, 999 draws": (drawn_numbers, (500, *ROWS)),
    },
    "classes": {"SKCE, all pairs, 4,000 rows": (lambda m: estimate(4_000, m), (3, 10, 30, 100, 300, 1_000))},
    "draws": {"default test, 5,000 x 10": (lambda draws: drawn(5_000, draws=draws), (99, 199, 499, 999, 1_999))},
    "features": {"SKCE by random Fourier features, 5,000 x 10, 199 draws": (features, (32, 64, 128, 256, 512, 1_024))},
}


def seconds(function):
    """Best time of the processor, of several calls after one that is not counted."""
    found, start = [], time.process_time()
    function()
    first = time.process_time() - start
    for _ in range(3 if first < 1 else 1):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found) if first < 1 else min(*found, first)


def points():
    """Axis, curve, size and seconds of every point."""
    for axis, curves in CURVES.items():
        for name, (make, sizes) in curves.items():
            for size in sizes:
                yield axis, name, size, seconds(make(size))


def slope(sizes, times):
    """Growth between the two last points: 1 where twice as much takes twice as long."""
    return float(np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2]))


def draw(rows, path):
    """One panel an axis, on logarithmic scales."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    for panel, (axis, curves) in zip(panels.ravel(), CURVES.items(), strict=True):
        for name in curves:
            found = [(size, t) for own, curve, size, t in rows if (own, curve) == (axis, name)]
            sizes, times = map(list, zip(*found, strict=True))
            panel.loglog(sizes, times, marker="o", label=f"{name}: slope {slope(sizes, times):.2f}")
        panel.set_xlabel(axis)
        panel.set_ylabel("seconds of one processor")
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    figure.savefig(path, dpi=110)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--drawn", type=Path, help="a table that was measured before: nothing is measured")
    options = parser.parse_args(arguments)
    if options.drawn is not None:
        with options.drawn.open(newline="") as file:
            measured = [(axis, name, int(size), float(t)) for axis, name, size, t in list(csv.reader(file))[1:]]
        draw(measured, options.picture)
        return
    print(machine())
    rows = []
    for found in points():
        rows.append(found)
        print(*found[:3], f"{found[3]:.4f} s", flush=True)
    if options.table is not None:
        with options.table.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(("grows", "what", "size", "seconds of one processor"))
            table.writerows((*found[:3], f"{found[3]:.4f}") for found in rows)
    if options.picture is not None:
        draw(rows, options.picture)


if __name__ == "__main__":
    main()
