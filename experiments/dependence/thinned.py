"""Level and power of the test of clusters whose outcomes cannot be redrawn, beside keeping one row of each.

    python experiments/dependence/thinned.py                  # 100 data sets a setting
    python experiments/dependence/thinned.py --sets 20 --match vectors --no-write

Writes docs/tables/dependence_thinned.csv: shares rejected at 5 % where outcomes are calibrated and where predictions
are wrong, of sets of rows no two of which are of one cluster, of the first row of every cluster, and of all rows taken
as independent. The exit status is 1 if a calibrated setting is rejected more often than the 99.95 % point of the
binomial law with 0.05.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy.stats import binom, norm

import kernelcal as kc

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "dependence_thinned.csv"
DESIGNS = {
    "20 x 10, rho .3": ([10] * 20, 0.3),
    "50 x 5, rho .8": ([5] * 50, 0.8),
    "one of 60, 60 of 2, rho .8": ([60] + [2] * 60, 0.8),
}
SETTINGS = {
    f"{kind}, {design}": (kind, design)
    for kind, designs in (
        ("three classes", DESIGNS),
        ("vectors", list(DESIGNS)[1:]),
        ("ensembles", list(DESIGNS)[1:]),
    )
    for design in designs
}


def drawn(setting: str, wrong: bool, rng: np.random.Generator) -> tuple[np.ndarray, Any, np.ndarray]:
    """Outcomes that share a part with those of their cluster, predictions and clusters."""
    kind, design = SETTINGS[setting]
    sizes, rho = DESIGNS[design]
    of = np.repeat(np.arange(len(sizes)), sizes)
    n = len(of)
    shared, own = rng.normal(size=(2, len(sizes))), rng.normal(size=(2, n))
    g = np.sqrt(rho) * shared[:, of] + np.sqrt(1 - rho) * own
    if kind == "three classes":
        p = rng.dirichlet([1.0, 1.0, 1.0], n)
        y = (norm.cdf(g[0])[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
        p = p**1.6 if wrong else p
        return y, kc.Categorical(p / p.sum(axis=1, keepdims=True)), of
    mean = rng.normal(size=(2, n))
    if kind == "vectors":
        scale = np.full((n, 2), 0.85 if wrong else 1.0)
        return (mean + g).T, kc.MultivariateNormal.diagonal(mean.T, scale), of
    spread = 0.75 if wrong else 1.0
    return mean[0] + g[0], kc.Samples(mean[0][:, None] + spread * rng.normal(size=(n, 15))), of


def one(setting: str, wrong: bool, number: int) -> tuple[bool, ...]:
    """Whether it is rejected at 5 %: by sets of rows, by the first rows, by all rows."""
    y, batch, of = drawn(setting, wrong, np.random.default_rng([31, number]))
    first = np.unique(of, return_index=True)[1]
    options = {"draws": 399, "rng": number}
    found = (
        kc.calibration_test(y, batch, clusters=of, **options),
        kc.calibration_test(y[first], batch[first], **options),
        kc.calibration_test(y, batch, **options),
    )
    return tuple(result.pvalue <= 0.05 for result in found)


def some(setting: str, wrong: bool, first: int, last: int) -> list[tuple[bool, ...]]:
    return [one(setting, wrong, number) for number in range(first, last)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=100, help="data sets of every setting")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--match", default="")
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    lines, above = [], []
    step = max(1, options.sets // 8)
    firsts = range(0, options.sets, step)
    lasts = [min(first + step, options.sets) for first in firsts]
    with ProcessPoolExecutor(options.processes) as pool:
        for setting in (name for name in SETTINGS if options.match in name):
            shares = []
            for wrong in (False, True):
                parts = pool.map(some, [setting] * len(firsts), [wrong] * len(firsts), firsts, lasts)
                shares.append(np.mean([one for part in parts for one in part], axis=0))
            lines.append([setting, *(f"{share:.3f}" for share in np.concatenate(shares))])
            print(*lines[-1], sep="  ", flush=True)
            if shares[0][0] * options.sets > binom.ppf(0.9995, options.sets, 0.05):
                above.append(setting)
    if not options.no_write:
        ways = ("sets of rows", "first rows", "all rows as independent")
        header = ["setting", *(f"{way}, {state}" for state in ("calibrated", "wrong") for way in ways)]
        with open(TABLE, "w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([header, *lines])
    print(f"{len(lines)} settings, {len(above)} above the bound: {above}")
    return 1 if above else 0


if __name__ == "__main__":
    raise SystemExit(main())
