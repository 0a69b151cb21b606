"""What both parts share: kernels and tests of the paper, comparison with published rates, tables."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import kernelcal as kc
from kernelcal.kernels import FisherDivergence, KernelFisherDivergence, ground_lengthscale
from kernelcal.kernels.divergences.mmd import MMD
from kernelcal.kernels.metrics import Wasserstein
from kernelcal.statistics.pairwise.stein import median_distance

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLES = outputs.tables()
SHARED = Path(__file__).resolve().parents[3] / "shared"  # published values lie beside the repository
LEVEL, DRAWS = 0.05, 500
CHANCE = 4.65e-4  # p-value below which two rates disagree: 3.5 standard errors of a normal law, two-sided


def metric(name, ground):
    """Distance between predictions; the base measure of the Fisher divergences is the standard normal."""
    if name == "exp_gfd":
        return FisherDivergence("standard")
    if name == "exp_kgfd":
        return KernelFisherDivergence(kc.Gaussian(ground), "standard")
    return Wasserstein() if name == "exp_w2" else MMD(kc.Gaussian(ground))


def kernels(y, predictions, names):
    """Prediction kernels ``exp(-D^2 / (2 s^2))``, all lengthscales being medians, and the Gaussian of the targets."""
    ground = ground_lengthscale(predictions) if {"exp_kgfd", "exp_mmd"} & set(names) else None
    return {name: kc.Gaussian(metric=metric(name, ground)) for name in names}, kc.Gaussian(median_distance(y))


def wild(y, predictions, statistic, seed):
    """P-value of the wild bootstrap."""
    return kc.calibration_test(y, predictions, statistic=statistic, null="wild", draws=DRAWS, rng=seed).pvalue


def published():
    """Rates of the authors' code and data sets, keyed by (model, test, kernel, delta, n); empty where they are absent.

    The paper shows its rates as pictures and prints none. These were computed with its published code
    (github.com/pierreglaser/kccsd), on data sets of its own.
    """
    path = SHARED / "reference" / "kccsd_rates.json"
    rows = json.loads(path.read_text()) if path.exists() else []
    keys = ("data", "test", "kernel", "delta", "n")
    return {tuple(row[key] for key in keys): (row["rejection_rate"], row["reps"]) for row in rows}


def rates_agree(count, size, rate, repetitions):
    """Whether two shares of data sets may have one law: Fisher's exact test. None where no count could disagree."""
    theirs = round(rate * repetitions)
    if min(_fisher(extreme, size, theirs, repetitions) for extreme in (0, size)) >= CHANCE:
        return None
    return bool(_fisher(count, size, theirs, repetitions) >= CHANCE)


def _fisher(count, size, theirs, repetitions):
    from scipy.stats import fisher_exact

    return fisher_exact([[count, size - count], [theirs, repetitions - theirs]]).pvalue


def at_level(count, size):
    """Whether a share of rejections may have the level as its law: exact binomial test. None where none could not."""
    from scipy.stats import binomtest

    if binomtest(size, size, LEVEL).pvalue >= CHANCE:
        return None
    return bool(binomtest(count, size, LEVEL).pvalue >= CHANCE)


def write(name, header, rows):
    """Write a table that the documentation shows."""
    TABLES.mkdir(parents=True, exist_ok=True)
    with open(TABLES / f"uai2023_{name}.csv", "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
