"""On paper: hours and bytes of a sketch over a billion rows and a hundred billion, by classes and workers.

    python benchmarks/cluster.py                          # measures a row and a state, and multiplies
    python benchmarks/cluster.py --output docs/tables/performance_cluster.csv

Measured here: the time of the processor of a row (65,536 rows in memory, one thread) and the size of a saved state,
with 100 random Fourier features, 199 draws and no second moments. Reading files and starting workers are not in it.
Every worker sends its state once; states are added two by two, so that nobody receives more of them than the logarithm
of the workers.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import csv
import math
import tempfile
import time
from pathlib import Path

import numpy as np
from common import class_data, machine

import kernelcal as kc
from kernelcal.sketch import Sketch

CLASSES, WORKERS, ROWS = (1, 10, 100), (1, 16, 256, 4096), (10**9, 10**11)
FEATURES, DRAWS, BATCH, BATCHES = 100, 199, 65_536, 5  # as large as those of files


def measured(classes):
    """Seconds of a row, of the quickest of some batches, and bytes of a state."""
    y, p = class_data(BATCH, max(classes, 2), 1.0)
    batch = kc.Bernoulli(p[:, 1].copy()) if classes == 1 else kc.Categorical(p)
    sketch = Sketch(kc.Laplacian(0.3), engine=kc.RandomFourier(FEATURES), draws=DRAWS, second_moments=False)
    times = [time.process_time() for _ in range(BATCHES + 1) if sketch.update(y, batch)]  # the first pays for tables
    seconds = min(np.diff(times)) / BATCH
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        sketch.save(path)
        return seconds, path.stat().st_size


def duration(seconds):
    """A time in words."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds:.3g} s"


def amount(size):
    """Bytes in words."""
    unit = min(int(math.log10(max(size, 1)) // 3), 4)
    return f"{size / 1000**unit:.3g} {('bytes', 'kB', 'MB', 'GB', 'TB')[unit]}"


def lines():
    for classes in CLASSES:
        seconds, state = measured(classes)
        name = "one probability" if classes == 1 else f"{classes} classes"
        for rows in ROWS:
            for workers in WORKERS:
                yield {
                    "predictions": name,
                    "microseconds a row": f"{1e6 * seconds:.1f}",
                    "rows": f"{rows:.0e}".replace("+", ""),
                    "workers": workers,
                    "time": duration(rows * seconds / workers),
                    "a state": amount(state),
                    "sent by all workers": amount(workers * state) if workers > 1 else "nothing",
                    "rows themselves": amount(rows * 8 * (classes + 1)),
                }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    print(machine())
    found = list(lines())
    for line in found:
        print(" | ".join(map(str, line.values())))
    if options.output is not None:
        with options.output.open("w", newline="") as file:
            table = csv.DictWriter(file, list(found[0]))
            table.writeheader()
            table.writerows(found)


if __name__ == "__main__":
    main()
