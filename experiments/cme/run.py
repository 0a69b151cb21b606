"""Level and power of the calibration mean embedding test: known against empirical covariance.

    python experiments/cme/run.py                          # 500 repetitions: about two minutes on one core
    python experiments/cme/run.py --sizes 16 --dimensions 1

Synthetic models of Widmann, Lindsten, Zachariah (2021), App. A.2: predictions N(c 1_d, 0.1^2 I) with c uniform on
(0, 1); calibrated targets, or targets whose first coordinate has mean 0.1 whatever was predicted. Kernel
exp(-W2) exp(-|y - y'|^2 / 2) and ten test locations as in the paper, drawn anew for every data set. Writes
docs/tables/cme.csv, of another grid one in a scratch folder.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import binom

import kernelcal as kc
from kernelcal.inference.laws.mean_embedding import CME
from kernelcal.kernels.metrics import Wasserstein
from kernelcal.predictions import IsotropicNormal, Normal
from kernelcal.statistics import UCME, normal_locations

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "cme.csv"
SIZES, DIMENSIONS, LEVEL, DRAWS = (10, 16, 30, 64, 100, 256), (1, 10), 0.05, 199
LAWS = {
    "known, exact": CME(),
    "known, chi2": CME(reference="chi2"),
    "published chi2": CME("empirical", "chi2"),
    "Hotelling's F": CME("empirical", "hotelling"),
    "UCME, exact": "exact",
}


def data(n, d, repetition, calibrated):
    rng = np.random.default_rng([n, d, repetition])
    c = rng.random(n)
    batch = Normal(c, 0.1) if d == 1 else IsotropicNormal(np.repeat(c[:, None], d, axis=1), 0.1)
    kernel = kc.Laplacian(1.0, metric=Wasserstein())
    at = normal_locations(batch, 10, rng=rng)
    statistic = UCME(prediction_kernel=kernel, target_kernel=kc.Gaussian(1.0), locations=at)
    y = batch.sample(rng)[0]
    if not calibrated:
        first = (slice(None),) if d == 1 else (slice(None), 0)
        y[first] += 0.1 - batch.mean[first]
    return batch, y, statistic


def rates(n, d, repetitions, calibrated):
    """Share of data sets that every law rejects; None where it is not defined."""
    rejected = dict.fromkeys(LAWS, 0)
    for repetition in range(repetitions):
        batch, y, statistic = data(n, d, repetition, calibrated)
        for name, law in LAWS.items():
            if name == "Hotelling's F" and n <= 10:
                rejected[name] = None
                continue
            result = kc.calibration_test(y, batch, statistic=statistic, null=law, draws=DRAWS, rng=repetition)
            rejected[name] += result.pvalue <= LEVEL
    return ["" if count is None else f"{count / repetitions:.3f}" for count in rejected.values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--power-repetitions", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--dimensions", type=int, nargs="+", default=DIMENSIONS)
    options = parser.parse_args()
    rows = []
    for model, count in (("calibrated", options.repetitions), ("uncalibrated", options.power_repetitions)):
        for d in options.dimensions:
            for n in options.sizes:
                rows.append([model, d, n, *rates(n, d, count, model == "calibrated")])
                print(*rows[-1], sep=", ", flush=True)
    low, high = (binom.ppf(q, options.repetitions, LEVEL) / options.repetitions for q in (0.0005, 0.9995))
    print(f"chance alone: {low:.3f} to {high:.3f}")
    with open(TABLE, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([["model", "d", "n", *LAWS], *rows])


if __name__ == "__main__":
    main()
