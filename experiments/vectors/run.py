"""Vectors: power and level of ranks by pre-ranks beside the default test; levels of tests of ranks alone.

    python experiments/vectors/run.py             # 400 and 200 data sets a setting: about ten minutes on one core
    python experiments/vectors/run.py --sets 20   # prints, and writes into a scratch folder

Writes docs/tables/vectors_power.csv (shares rejected at 5 %) and docs/tables/vectors_level.csv. The exit status is 1 if
a level is above 5 % by more than chance allows (binomial, one in a thousand).
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy.stats import binom

import kernelcal as kc
from kernelcal.ranks import pit_values_test, posterior_test, rank_test, vectors_test

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLES = outputs.tables()
ROWS, MEMBERS, SIZE = 200, 20, 3
TRUE = 0.3 * np.ones((SIZE, SIZE)) + 0.7 * np.eye(SIZE)
WRONG = {
    "calibrated": {},
    "too narrow, 0.85 times": {"factor": 0.85},
    "shifted by 0.15": {"shift": 0.15},
    "correlation 0 in place of 0.3": {"correlation": 0.0},
    "correlation 0.6 in place of 0.3": {"correlation": 0.6},
    "Student's t, 4 degrees of freedom, same covariance": {"freedom": 4},
}
NAMES = ("mean", "spread", "dependence", "variogram", "band depth", "TARP")


def forecasts(rng, wrong, n=ROWS, members=MEMBERS):
    """Outcomes about known centres, and draws whose law is wrong."""
    centre = rng.normal(size=(n, SIZE))
    y = centre + rng.multivariate_normal(np.zeros(SIZE), TRUE, n)
    rho = wrong.get("correlation", 0.3)
    predicted = rho * np.ones((SIZE, SIZE)) + (1 - rho) * np.eye(SIZE)
    draws = rng.multivariate_normal(np.zeros(SIZE), predicted, (n, members))
    if "freedom" in wrong:
        freedom = wrong["freedom"]
        draws *= np.sqrt((freedom - 2) / rng.chisquare(freedom, (n, members, 1)))
    return y, kc.Samples(centre[:, None] + wrong.get("factor", 1.0) * draws + wrong.get("shift", 0.0))


def power(sets):
    """Shares rejected, one line a fault; the members by their own p-values."""
    lines = []
    for name, wrong in WRONG.items():
        rejected = []
        for k in range(sets):
            y, draws = forecasts(np.random.default_rng([k, len(name)]), wrong)
            found = vectors_test(y, draws, draws=199, rng=k)
            own = {member.name: member.pvalue <= 0.05 for member in found.members}
            default = kc.calibration_test(y, draws, draws=199, rng=k).pvalue
            rejected.append([default <= 0.05, found.pvalue <= 0.05, *(own[x] for x in NAMES)])
        shares = np.mean(rejected, axis=0)
        lines.append([name, *(f"{share:.2f}" for share in shares)])
        print(*lines[-1], sep="\t", flush=True)
    return [["predictions", "default test", "pre-ranks together", *NAMES], *lines]


def ranks(n, draws_per_rank, columns=1):
    return lambda rng, seed: (
        rank_test(rng.integers(0, draws_per_rank + 1, (n, columns)), draws_per_rank, draws=99, rng=seed).pvalue
    )


def clustered(rng, seed):
    """Simulations in pairs whose ranks are alike."""
    each = np.repeat(rng.integers(0, 10, 60), 2)
    return rank_test(each, 9, clusters=np.repeat(np.arange(60), 2), draws=199, rng=seed).pvalue


def values(rng, seed):
    return pit_values_test(rng.random((50, 2)), draws=99, rng=seed).pvalue


def posteriors(rng, seed):
    """Correlated parameters, whole numbers that are often equal, and reference points."""
    x = np.round(2 * rng.multivariate_normal(np.zeros(2), [[1, 0.8], [0.8, 1]], (60, 10)))
    return posterior_test(x[:, 0], x[:, 1:], draws=99, rng=seed).pvalue


def vectors(n, members, *, whole=False, weighted=False, paired=False):
    def test(rng, seed):
        x = rng.normal(size=(n, members + 1, SIZE))
        x = np.round(x) if whole else x
        if paired:
            x[1::2, 0] = x[::2, 0]
        more = {"weights": rng.exponential(size=n)} if weighted else {}
        more |= {"clusters": np.repeat(np.arange(n // 2), 2)} if paired else {}
        return vectors_test(x[:, 0], kc.Samples(x[:, 1:]), draws=199 if paired else 99, rng=seed, **more).pvalue

    return test


def from_law(rng, seed):
    mean = rng.normal(size=(40, 2))
    law = kc.MultivariateNormal(mean, [[1.0, 0.5], [0.5, 2.0]])
    return vectors_test(law.sample(rng)[0], law, draws=99, rng=seed).pvalue


LEVELS = {
    "ranks, 30 simulations, L = 9": ranks(30, 9),
    "ranks, 30 simulations, L = 1": ranks(30, 1),
    "ranks, 200 simulations, L = 99, 5 parameters, Holm": ranks(200, 99, 5),
    "ranks, 60 pairs of simulations with one rank, clusters": clustered,
    "PIT values, 50 rows, 2 columns, Holm": values,
    "posteriors, 60 simulations, 9 draws, whole numbers, Holm": posteriors,
    "vectors, 30 rows, 9 draws": vectors(30, 9),
    "vectors, 30 rows, 2 draws": vectors(30, 2),
    "vectors, 30 rows, 9 draws, whole numbers": vectors(30, 9, whole=True),
    "vectors, 50 rows, 9 draws, exponential weights": vectors(50, 9, weighted=True),
    "vectors, 30 pairs of rows with one outcome, clusters": vectors(60, 9, paired=True),
    "vectors, 40 rows of a normal law, 100 draws made": from_law,
}


def levels(sets):
    """Shares of calibrated data sets that are rejected."""
    lines, high = [], []
    for name, test in LEVELS.items():
        p = np.array([test(np.random.default_rng([k, 7]), k) for k in range(sets)])
        shares = [float((p <= a).mean()) for a in (0.05, 0.2)]
        lines.append([name, *(f"{share:.3f}" for share in shares)])
        high += [
            name for a, share in zip((0.05, 0.2), shares, strict=True) if binom.sf(sets * share - 1, sets, a) < 1e-3
        ]
        print(*lines[-1], sep="\t", flush=True)
    return [["setting", "rejected at 5 %", "at 20 %"], *lines], high


def write(name, lines):
    with (TABLES / name).open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=400, help="data sets of a level; half as many of a power")
    sets = parser.parse_args().sets
    write("vectors_power.csv", power(max(sets // 2, 1)))
    lines, high = levels(sets)
    write("vectors_level.csv", lines)
    if high:
        sys.exit(f"above their level: {', '.join(high)}")


if __name__ == "__main__":
    main()
