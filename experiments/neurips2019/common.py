"""What the figures share: models, kernel, estimators, networks, published values, tables and pictures."""

from __future__ import annotations

import csv
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from matplotlib.figure import Figure

import kernelcal as kc
from kernelcal import datasets
from kernelcal.binning import MedianVarianceBins, UniformBins
from kernelcal.statistics import ECE

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

HERE = outputs.folder(Path(__file__).parent)
SHARED = Path(__file__).resolve().parents[3] / "shared"  # real data and published values lie beside the repository
MODELS = {"M1": datasets.m1(), "M2": datasets.m2(), "M3": datasets.m3()}
ROWS, DRAWS = 250, 999
PUBLISHED_NAMES = {
    "ECE uniform": "ECE_uniform",
    "ECE data-dependent": "ECE_dynamic",
    "SKCE b": "SKCEb_median",
    "SKCE uq": "SKCEuq_median",
    "SKCE ul": "SKCEul_median",
}
ORANGE, BLUE, GREY = "#d95f02", "#1f5fa8", "#777777"


def data_set(model, repetition, n=ROWS):
    """One data set of a model; its seed depends on the model and the repetition alone."""
    return MODELS[model].sample(n, np.random.default_rng([list(MODELS).index(model), repetition]))


def paper_kernel(predictions):
    """exp(-TV / nu), nu the median over the full matrix of distances with its zero diagonal."""
    tv = kc.TotalVariation()
    nu = kc.median_lengthscale(predictions, metric=tv, include_diagonal=True, max_rows=None)
    return kc.Laplacian(nu, metric=tv)


def ece_uniform():
    return ECE(question="simplex", bins=UniformBins(10), distance="total variation")


def ece_data_dependent(min_size):
    return ECE(question="simplex", bins=MedianVarianceBins(min_size), distance="total variation")


def skce_estimators(kernel, threads=1):
    """The three estimators of Table 1, by the paper's names."""
    shared = {"prediction_kernel": kernel, "engine": kc.ExactPairs(threads=threads)}
    return {
        "SKCE b": kc.SKCE(estimator="biased", **shared),
        "SKCE uq": kc.SKCE(estimator="unbiased", **shared),
        "SKCE ul": kc.SKCE(estimator="block", block_size=2, **shared),
    }


def parallel(function, tasks, processes):
    """Results of independent tasks, in their order."""
    if processes == 1:
        return list(map(function, tasks))
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(function, tasks, chunksize=5))


def networks():
    """Files of the eight networks by name; none where the data are absent."""
    return {file.stem: file for file in sorted((SHARED / "data" / "cifar10_networks").glob("*.npz"))}


def load(file):
    with np.load(file) as z:
        return z["labels"], kc.Categorical(z["probabilities"])


def published():
    """Values that belong to the paper (its repository CalibrationPaper), or nothing where they are absent."""
    path = SHARED / "reference" / "julia_facts.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write(name, header, rows):
    with open(HERE / name, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def save(figure, name):
    figure.savefig(HERE / name, dpi=90, metadata=outputs.metadata())


def panels(rows, columns, width, height, **options):
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def dots(ours, theirs, units, name, limits=None):
    """One panel a column, in its unit: our value a dot, the published one a ring, for every row."""
    figure, axes = panels(1, len(units), 1.5 + 1.2 * len(units), 3.2, sharey=True)
    for ax, (column, unit) in zip(axes[0], units.items(), strict=True):
        known = [row for row in ours if column in theirs.get(row, {})]
        ring = {"s": 60, "facecolors": "none", "edgecolors": ORANGE, "label": "published"}
        ax.scatter([ours[row][column] / unit for row in ours], list(ours), s=14, color=BLUE, label="kernelcal")
        ax.scatter([theirs[row][column] / unit for row in known], known, **ring)
        ax.set_xlabel(column if unit == 1 else f"{column}\nin {unit:g}", fontsize=8)
        ax.tick_params(labelsize=8)
        ax.grid(axis="y", color="#dddddd", linewidth=0.6)
        if limits:
            ax.set_xlim(*limits)
    axes[0][0].invert_yaxis()
    axes[0][0].legend(fontsize=7)
    save(figure, name)
