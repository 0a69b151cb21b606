"""What the parts share: kernel of the paper, models of A.2, published values, tables and pictures."""

from __future__ import annotations

import csv
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core
os.environ.setdefault("OMP_NUM_THREADS", "1")

from matplotlib.figure import Figure

import kernelcal as kc
from kernelcal.kernels.metrics import Wasserstein

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

HERE = outputs.folder(Path(__file__).parent)
DOCS = outputs.tables().parent
SHARED = Path(__file__).resolve().parents[3] / "shared"  # published values lie beside the repository
KERNEL = kc.Laplacian(1.0, metric=Wasserstein())  # exp(-W2)
TARGET_KERNEL = kc.Gaussian(1.0)  # exp(-|y - y'|^2 / 2)
LEVEL = 0.05
SIZES, DIMENSIONS = (4, 16, 64, 256, 1024), (1, 10)
ORANGE, BLUE, GREEN, GREY = "#d95f02", "#1f5fa8", "#1b9e77", "#777777"


def skce(estimator="unbiased", block_size=None, kernel=KERNEL):
    """SKCE with the kernel of the paper; one thread, since every process has its own core."""
    return kc.SKCE(
        prediction_kernel=kernel,
        target_kernel=TARGET_KERNEL,
        estimator=estimator,
        block_size=block_size,
        engine=kc.ExactPairs(threads=1),
    )


def parallel(function, tasks, processes):
    """Results of independent tasks, in their order."""
    if processes == 1:
        return list(map(function, tasks))
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(function, tasks, chunksize=5))


def published(table):
    """Rows of a table of A.2 (repository Calibration_ICLR2021), keyed by (name, d, n); empty where absent."""
    path = SHARED / "reference" / "julia_facts.json"
    rows = json.loads(path.read_text())["iclr_synthetic"][table] if path.exists() else []
    return {(row.get("estimator") or row["test"], int(row["dim"]), int(row["nsamples"])): row for row in rows}


def write(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def write_numbers(name, header, rows):
    """Write every number of a part beside it."""
    write(HERE / f"{name}.csv", header, rows)


def write_table(name, header, rows):
    """Write a table that the documentation shows."""
    write(DOCS / "tables" / f"iclr2021_{name}.csv", header, rows)


def save(figure, name):
    """Write a picture that the documentation shows."""
    path = DOCS / "images" / f"iclr2021_{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata=outputs.metadata())


def panels(rows, columns, width, height, **options):
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)
