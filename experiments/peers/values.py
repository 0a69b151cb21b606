"""Values that several packages give for the same data: calibration errors, scores, slopes, areas.

    pip install scikit-learn torchmetrics netcal MAPIE uncertainty-toolbox probcal  # no dependencies of kernelcal
    python experiments/peers/values.py                                              # some seconds

Writes docs/tables/peers_values.csv: of every measure the value of kernelcal and of the other package, their difference,
and the seconds of each (the fastest of five). Where two packages mean different things by one name, `why` says it; any
other difference above what its line allows is a fault, and the exit status is 1. Packages that are not installed are
left out and named.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import sys
import warnings
from pathlib import Path

import numpy as np

import kernelcal as kc
from kernelcal.measures import AUROC, ICI, CalibrationIntercept, CalibrationSlope, HosmerLemeshow

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs
from timing import fastest

TABLE = outputs.tables() / "peers_values.csv"
ROWS = 5000
EQUAL = 1e-9
LEVELS = np.linspace(0.01, 0.99, 99)


def binary():
    """Over-confident probabilities of one event."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.7, 1.4, ROWS)
    return (rng.uniform(size=ROWS) < 0.1 + 0.7 * p).astype(int), p


def classes():
    """Ten classes, predictions sharper than they should be."""
    rng = np.random.default_rng(2)
    q = rng.dirichlet(np.full(10, 0.3), ROWS)
    y = (rng.uniform(size=(ROWS, 1)) > q.cumsum(axis=1)).sum(axis=1).clip(max=9)
    sharp = q**1.4
    return y, sharp / sharp.sum(axis=1, keepdims=True)


def numbers():
    """Normal laws that are too narrow."""
    rng = np.random.default_rng(3)
    mean, std = rng.normal(size=ROWS), rng.uniform(0.5, 1.5, ROWS)
    return mean + 1.2 * std * rng.normal(size=ROWS), kc.Normal(mean, std)


def scikit(name):
    def value(y, p):
        return getattr(importlib.import_module("sklearn.metrics"), name)(y, p)

    return value


def torchmetrics(name, **options):
    def value(y, p):
        torch = importlib.import_module("torch")
        metric = getattr(importlib.import_module("torchmetrics.classification"), name)(**options)
        return float(metric(torch.as_tensor(p), torch.as_tensor(y)))

    return value


def torch_crps(y, laws):
    torch = importlib.import_module("torch")
    metric = importlib.import_module("torchmetrics.regression").ContinuousRankedProbabilityScore()
    return float(metric(torch.as_tensor(laws.draws), torch.as_tensor(y)))


def netcal(name, *arguments):
    def value(y, p):
        metric = getattr(importlib.import_module("netcal.metrics"), name)(*arguments)
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            return float(metric.measure(p, y))

    return value


def mapie(name, **options):
    def value(y, p):
        return float(getattr(importlib.import_module("mapie.metrics.calibration"), name)(y, p, **options))

    return value


def toolbox(name, **options):
    def value(y, laws):
        with contextlib.redirect_stdout(io.StringIO()):
            found = getattr(importlib.import_module("uncertainty_toolbox"), name)(laws.mean, laws.std, y, **options)
        return float(found)

    return value


def probcal(name, **options):
    def value(y, p):
        found = getattr(importlib.import_module("probcal.metrics"), name)(y, p, **options)
        return float(getattr(found, "statistic", found))

    return value


def shares_within(y, laws):
    """Mean gap of the shares of rows inside central intervals of the toolbox's 100 levels, by our claimed levels."""
    claimed = np.abs(2 * np.asarray(laws.cdf(y)) - 1)
    levels = np.linspace(0, 1, 100)
    return float(np.mean([abs((claimed <= level).mean() - level) for level in levels]))


def draws(y, laws):
    members = np.random.default_rng(4).normal(size=(ROWS, 50)) * np.asarray(laws.std)[:, None]
    return y, kc.Samples(members + np.asarray(laws.mean)[:, None])


def top_mmce(y, p):
    """With the kernel of Kumar and others, and each row paired with itself too."""
    return float(kc.mmce(y, p))


def narrow_skce(y, p):
    return float(kc.skce(y, p, prediction_kernel=kc.Laplacian(0.2)))


EVENT, TEN, REAL = binary(), classes(), numbers()
MEMBERS = draws(*REAL)
LINES = (  # data, measure, ours, package, theirs, allowed difference, why they differ
    (EVENT, "ECE, 15 bins of equal width", kc.ece, "torchmetrics", torchmetrics("BinaryCalibrationError"), 1e-6, ""),
    (EVENT, "ECE, 15 bins of equal width", kc.ece, "netcal", netcal("ECE", 15), 1e-9, ""),
    (EVENT, "ECE, 15 bins of equal width", kc.ece, "probcal", probcal("ece", strategy="width"), 1e-9, ""),
    (
        EVENT,
        "ECE, 15 bins of equal mass",
        lambda y, p: kc.ece(y, p, bins=kc.EqualMassBins(15)),
        "probcal",
        probcal("ece", strategy="mass"),
        1e-3,
        "",
    ),
    (
        EVENT,
        "MCE, 15 bins of equal width",
        kc.mce,
        "torchmetrics",
        torchmetrics("BinaryCalibrationError", norm="max"),
        1e-6,
        "",
    ),
    (EVENT, "MCE, 15 bins of equal width", kc.mce, "netcal", netcal("MCE", 15), 1e-9, ""),
    (EVENT, "Brier score", kc.measures.Brier(), "scikit-learn", scikit("brier_score_loss"), EQUAL, ""),
    (EVENT, "log score", kc.log_score, "scikit-learn", scikit("log_loss"), EQUAL, ""),
    (EVENT, "AUROC", AUROC(), "scikit-learn", scikit("roc_auc_score"), EQUAL, ""),
    (EVENT, "AUROC", AUROC(), "torchmetrics", torchmetrics("BinaryAUROC"), 1e-6, ""),
    (EVENT, "calibration slope", CalibrationSlope(), "probcal", probcal("calibration_slope"), 1e-6, ""),
    (EVENT, "calibration intercept", CalibrationIntercept(), "probcal", probcal("calibration_intercept"), 1e-6, ""),
    (EVENT, "Hosmer-Lemeshow statistic", HosmerLemeshow(), "probcal", probcal("hosmer_lemeshow"), 1e-6, ""),
    (EVENT, "integrated calibration index", ICI(), "probcal", probcal("ici"), 1e-2, ""),
    (TEN, "MMCE of the top label", top_mmce, "netcal", netcal("MMCE"), 1e-9, ""),
    (EVENT, "SKCE, kernel of width 0.2", narrow_skce, "probcal", probcal("skce", bandwidth=0.2), 1e-9, ""),
    (
        TEN,
        "ECE, top label, 15 bins",
        kc.ece,
        "torchmetrics",
        torchmetrics("MulticlassCalibrationError", num_classes=10),
        1e-6,
        "",
    ),
    (TEN, "ECE, top label, 15 bins", kc.ece, "netcal", netcal("ECE", 15), 1e-9, ""),
    (TEN, "log score", kc.log_score, "scikit-learn", scikit("log_loss"), EQUAL, ""),
    (REAL, "CRPS of normal laws", kc.crps, "uncertainty-toolbox", toolbox("crps_gaussian", scaled=True), EQUAL, ""),
    (
        REAL,
        "log score of normal laws",
        kc.negative_log_likelihood,
        "uncertainty-toolbox",
        toolbox("nll_gaussian", scaled=True),
        EQUAL,
        "",
    ),
    (
        REAL,
        "mean gap of central intervals",
        shares_within,
        "uncertainty-toolbox",
        toolbox("mean_absolute_calibration_error"),
        1e-9,
        "",
    ),
    (MEMBERS, "CRPS of ensembles", kc.crps, "torchmetrics", torch_crps, 1e-5, ""),
)


def main() -> int:
    warnings.simplefilter("ignore")
    lines, wrong = [], 0
    for (y, p), name, ours, package, theirs, allowed, why in LINES:
        try:
            their_value, their_seconds = fastest(theirs, y, p)
        except ImportError:
            print(f"{package} is not installed: {name} is left out")
            continue
        value, seconds = fastest(ours, y, p)
        apart = abs(value - their_value)
        if apart > allowed and not why:
            wrong += 1
        found = [f"{value:.8g}", f"{their_value:.8g}", f"{apart:.1e}", f"{seconds:.4f}", f"{their_seconds:.4f}", why]
        lines.append([name, package, *found])
        print(*lines[-1], sep="\t")
    with TABLE.open("w", newline="") as stream:
        head = ["measure", "package", "kernelcal", "theirs", "difference", "seconds", "their seconds", "why"]
        csv.writer(stream, lineterminator="\n").writerows([head, *lines])
    print(f"{wrong} differ by more than they may" if wrong else "all differences are within what is allowed")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
