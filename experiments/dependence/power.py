"""Power of the test of dependent rows, beside one that knows the correlations and one that takes rows as independent.

    python experiments/dependence/power.py                    # 100 data sets a setting: some minutes on one core
    python experiments/dependence/power.py --sets 20 --no-write

Writes docs/tables/dependence_power.csv: shares rejected at 5 % of data sets whose predictions are wrong. Where rows
are in fact independent, the test that takes them as such is exact, and the difference is what the option costs; where
they are not, that test is invalid. The exit status is 1 if `horizon=` loses more than 5 points on independent rows, but
for chance: the shares are of the same data sets.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy.stats import norm, poisson

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.dependence import Coupling, Dependence, SharedPart, Stretches
from kernelcal.inference import DefaultFamily, Dependent
from kernelcal.inference.laws.law import Outcome, Problem
from kernelcal.inference.test import default_law, tested
from kernelcal.runs import Run

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "dependence_power.csv"
_BESIDE = re.compile(r"whatever the dependence inside [0-9]+ steps: p = ([0-9.e-]+)")

Data = tuple[np.ndarray, Any, Dependence, Coupling]


class Oracle(Dependent):
    """The redrawn test with the correlations that the data were made with."""

    coupling: Coupling

    def test(self, problem: Problem) -> Outcome:
        return self._outcome(problem, problem.prepared, self.coupling)[0]


def latent(rng: np.random.Generator, n: int, h: int) -> np.ndarray:
    """Normal numbers with the correlations 1 - k / h; independent ones where h is 1."""
    return np.convolve(rng.normal(size=n + h - 1), np.full(h, h**-0.5), "valid")


def shared(rng: np.random.Generator, of: np.ndarray, rho: float) -> np.ndarray:
    return np.sqrt(rho) * rng.normal(size=of.max() + 1)[of] + np.sqrt(1 - rho) * rng.normal(size=len(of))


def outcomes(rng: np.random.Generator, g: np.ndarray, kind: str) -> tuple[np.ndarray, Any]:
    """Outcomes of latent numbers, and predictions that are wrong."""
    n, x = len(g), rng.normal(size=len(g))
    if kind == "events, slope":
        p = norm.cdf(1.5 * x)
        log_odds = np.log(p / (1 - p))
        return (norm.cdf(g) < 1 / (1 + np.exp(-0.6 * log_odds))).astype(int), p
    if kind == "events, shift":
        return (norm.cdf(g) < norm.cdf(x + 0.25)).astype(int), norm.cdf(x)
    if kind == "numbers, slope":
        return 0.8 * x + g, kc.Normal(x, np.ones(n))
    if kind == "numbers, width":
        return x + 1.2 * g, kc.Normal(x, np.ones(n))
    if kind == "counts, shift":
        mean = 2 * np.exp(0.5 * x)
        return poisson.ppf(norm.cdf(g), 1.2 * mean), kc.Poisson(mean)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    return x + 1.25 * g, kc.Quantiles(x[:, None] + norm.ppf(levels), levels)


def overlapping(rng: np.random.Generator, kind: str, n: int, h: int, said: int) -> Data:
    rows = Dependence.of(n, horizon=said)
    lags = np.arange(1, said)
    true = np.where(lags < h, 1 - lags / h, 0.0)
    return *outcomes(rng, latent(rng, n, h), kind), rows, Stretches(rows, true)


def clustered(rng: np.random.Generator, kind: str, number: int, size: int, rho: float) -> Data:
    of = np.repeat(np.arange(number), size)
    rows = Dependence.of(len(of), clusters=of)
    return *outcomes(rng, shared(rng, of, rho), kind), rows, SharedPart(rows, rho)


KINDS = ("events, slope", "events, shift", "numbers, slope", "numbers, width", "counts, shift", "quantiles, width")
INDEPENDENT: dict[str, Callable[[np.random.Generator], Data]] = {
    f"{kind}, n 200, independent, horizon {h}": partial(overlapping, kind=kind, n=200, h=1, said=h)
    for kind, h in [(kind, 8) for kind in KINDS] + [("events, slope", 2), ("events, slope", 20), ("numbers, width", 20)]
}
OVERLAPS: dict[str, Callable[[np.random.Generator], Data]] = {
    f"{kind}, n 200, h {h}": partial(overlapping, kind=kind, n=200, h=h, said=h)
    for kind, h in [(kind, 8) for kind in KINDS] + [("events, slope", 3), ("numbers, width", 3)]
}
CLUSTERS: dict[str, Callable[[np.random.Generator], Data]] = {
    f"{kind}, {number} x {size}, rho {rho:g}": partial(clustered, kind=kind, number=number, size=size, rho=rho)
    for kind, number, size, rho in [
        *((kind, 20, 10, rho) for kind in KINDS[:1] + KINDS[2:4] for rho in (0.0, 0.3)),
        ("events, slope", 50, 4, 0.0),
        ("events, slope", 50, 4, 0.6),
        ("events, shift", 50, 4, 0.0),
        ("events, shift", 50, 4, 0.3),
        ("counts, shift", 50, 4, 0.0),
        ("counts, shift", 50, 4, 0.3),
    ]
}
SETTINGS = {**INDEPENDENT, **OVERLAPS, **CLUSTERS}


def one(name: str, number: int) -> tuple[float, float, float, float]:
    """P-values of a data set: redrawn, by the true correlations, thinned (nan where there is none), independent."""
    y, predictions, rows, coupling = SETTINGS[name](np.random.default_rng([21, number]))
    case, run, family = Case.of(y, predictions), Run(draws=199, rng=number), DefaultFamily()
    law = default_law(case.predictions, family)
    oracle = Oracle(rows, law)
    object.__setattr__(oracle, "coupling", coupling)
    found = tested(case, family, Dependent(rows, law), run)
    beside = [float(match[1]) for note in found.notes if (match := _BESIDE.search(note))]
    return (
        found.pvalue,
        tested(case, family, oracle, run).pvalue,
        beside[0] if beside else np.nan,
        tested(case, family, law, run).pvalue,
    )


def some(name: str, first: int, last: int) -> list[tuple[float, float, float, float]]:
    return [one(name, number) for number in range(first, last)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=100, help="data sets of every setting")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="settings whose name has these words")
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    lines, lost, step = [], [], max(1, options.sets // 8)
    with ProcessPoolExecutor(options.processes) as pool:
        for name in [name for name in SETTINGS if options.only in name]:
            firsts = range(0, options.sets, step)
            parts = pool.map(some, [name] * len(firsts), firsts, [min(f + step, options.sets) for f in firsts])
            p = np.array([row for part in parts for row in part])
            shares = [f"{(p[:, k] <= 0.05).mean():.3f}" if not np.isnan(p[:, k]).all() else "" for k in range(4)]
            lines.append([name, *shares])
            print(*lines[-1], sep="  ", flush=True)
            gap = (p[:, 3] <= 0.05).astype(float) - (p[:, 0] <= 0.05)
            if name in INDEPENDENT and gap.mean() > 0.05 + 2 * gap.std() / len(gap) ** 0.5:
                lost.append(name)
    if not options.no_write:
        header = ["setting", "redrawn alike", "by the true correlations", "thinned", "rows as independent"]
        with open(TABLE, "w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([header, *lines])
    print(f"{len(lines)} settings, {len(lost)} in which horizon= loses more than 5 points: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
