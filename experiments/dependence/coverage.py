"""Coverage of intervals, and level of equivalence tests, of rows that depend on each other.

    python experiments/dependence/coverage.py                    # 400 data sets a setting: about an hour on one core
    python experiments/dependence/coverage.py --sets 20 --match normal --no-write

Writes docs/tables/dependence_coverage.csv: for every setting the true root of the SKCE and shares of 95 % intervals
that hold the truth. The truth is that of independent rows of the same law: an SKCE of 24,000 such rows, a mean CKCE of
200 sets of as many. The exit status is 1 if the default interval of a setting with 30 or more clusters or stretches
covers less often than the 0.05 % point of the binomial law with 0.92.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import binom, norm, poisson

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.inference.intervals import INTERVAL_METHODS, OPERATOR_METHODS, interval_of, mean_of_units
from kernelcal.inference.intervals.confidence import spread_of
from kernelcal.inference.test import default_statistic, law_of, tested
from kernelcal.runs import Run
from kernelcal.statistics import CKCE

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "dependence_coverage.csv"
DRAWS, LEVEL = 399, 0.95
_SLOWER = 200  # data sets of a setting for the methods that draw
METHODS = ("root", "bootstrap", "ball")
Marginal = tuple[np.ndarray, np.ndarray, float]  # location that is known, standard normal noise, spread of the noise


def clusters(rng: np.random.Generator, number: int, size: int, rho: float, like: float, unequal: bool = False) -> Any:
    """Noise of correlation rho in clusters; `like`: share of the predictions' variance between clusters."""
    of = np.repeat(np.arange(number), 1 + rng.geometric(1 / size, number) if unequal else size)
    shared, own = rng.normal(size=(2, number)), rng.normal(size=(2, len(of)))
    x, g = (np.sqrt(s) * a[of] + np.sqrt(1 - s) * b for s, a, b in zip((like, rho), shared, own, strict=True))
    return x, g, {"clusters": of}


def overlapping(rng: np.random.Generator, n: int, h: int, phi: float) -> Any:
    """An autoregression of variance 2 forecast h steps ahead: what is known, and the error in its own units."""
    noise, x = rng.normal(size=n + 300), np.zeros(n + 300)
    for t in range(1, len(x)):
        x[t] = phi * x[t - 1] + noise[t]
    t = np.arange(300, 300 + n)
    known, sd = phi**h * x[t - h], np.sqrt((phi ** (2 * np.arange(h))).sum())
    spread = np.sqrt(1 / (1 - phi**2) - sd**2)
    return known / spread, (x[t] - known) / sd, {"horizon": h}


def moving(rng: np.random.Generator, n: int, h: int) -> Any:
    """Errors that are the mean of h shocks, of predictions that are independent of each other."""
    return rng.normal(size=n), np.convolve(rng.normal(size=n + h - 1), np.full(h, h**-0.5), "valid"), {"horizon": h}


def family(name: str, x: np.ndarray, g: np.ndarray, wrong: float) -> tuple[np.ndarray, Any]:
    """Outcomes of what is known, x, and noise, g; predictions that are wrong to some degree."""
    if name == "binary":
        return (g > norm.isf(norm.cdf(x))).astype(int), kc.Bernoulli(norm.cdf(x * (1 + 2 * wrong)))
    if name == "rare":
        p = norm.cdf(0.5 * x - 2.0)
        return (g > norm.isf(p)).astype(int), kc.Bernoulli(p * (1 - wrong))
    if name == "normal":
        return x + g, kc.Normal(x * (1 - wrong), np.ones(len(x)))
    if name == "narrow":
        return x + g, kc.Normal(x, np.full(len(x), 1 - wrong))
    if name == "counts":
        mean = 3 * np.exp(0.4 * x)
        return poisson.ppf(norm.cdf(g), mean), kc.Poisson(mean * np.exp(wrong * 0.5))
    if name == "quantiles":
        levels = [0.1, 0.3, 0.5, 0.7, 0.9]
        return x + g, kc.Quantiles(x[:, None] + wrong + norm.ppf(levels), levels)
    p = np.exp(np.stack([x, -x, 0 * x], axis=1))
    p /= p.sum(axis=1, keepdims=True)
    said = p ** (1 + 2 * wrong)
    y = (norm.cdf(g)[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return y, kc.Categorical(said / said.sum(axis=1, keepdims=True))


DESIGNS: dict[str, Callable[[np.random.Generator], Any]] = {
    "30 x 10, rho .4": partial(clusters, number=30, size=10, rho=0.4, like=0.5),
    "60 x 5, rho .8": partial(clusters, number=60, size=5, rho=0.8, like=0.0),
    "30 x 20, rho .8, alike": partial(clusters, number=30, size=20, rho=0.8, like=1.0),
    "50 unequal, rho .3": partial(clusters, number=50, size=8, rho=0.3, like=0.5, unequal=True),
    "AR .9, h 8, n 480": partial(overlapping, n=480, h=8, phi=0.9),
    "AR .9, h 4, n 160": partial(overlapping, n=160, h=4, phi=0.9),
    "AR .7, h 6, n 240": partial(overlapping, n=240, h=6, phi=0.7),
    "MA, h 8, n 240": partial(moving, n=240, h=8),
    "AR .97, h 4, n 240": partial(overlapping, n=240, h=4, phi=0.97),
    "12 x 10, rho .4": partial(clusters, number=12, size=10, rho=0.4, like=0.5),
}
FEW = ("12 x 10, rho .4",)  # fewer than 30 clusters, for which nothing is promised
WRONG = {"binary": 0.4, "rare": 0.5, "normal": 0.4, "narrow": 0.5, "counts": 1.0, "quantiles": 0.5, "classes": 0.4}
SETTINGS = {
    f"{name}, {design}{', wrong' if wrong else ''}": (name, design, WRONG[name] if wrong else 0.0)
    for name, design in [
        ("binary", "30 x 10, rho .4"),
        ("binary", "50 unequal, rho .3"),
        ("binary", "AR .9, h 8, n 480"),
        ("binary", "12 x 10, rho .4"),
        ("rare", "30 x 10, rho .4"),
        ("rare", "MA, h 8, n 240"),
        ("classes", "30 x 20, rho .8, alike"),
        ("classes", "AR .9, h 4, n 160"),
        ("normal", "60 x 5, rho .8"),
        ("normal", "AR .97, h 4, n 240"),
        ("narrow", "AR .7, h 6, n 240"),
        ("counts", "50 unequal, rho .3"),
        ("quantiles", "MA, h 8, n 240"),
    ]
    for wrong in (False, True)
}


def statistics(name: str) -> tuple[kc.SKCE, CKCE | None]:
    """Kernels that no data change."""
    if name in ("binary", "rare", "classes"):
        return kc.SKCE(prediction_kernel=kc.Laplacian(0.3)), CKCE(
            prediction_kernel=kc.Gaussian(0.4), regularization=0.1
        )
    target = {"quantiles": None, "counts": kc.Gaussian(2.0)}.get(name, kc.Gaussian(1.0))
    kernel = kc.Laplacian(1.0) if name != "counts" else kc.Laplacian(0.5)
    return kc.SKCE(prediction_kernel=kernel, target_kernel=target), None


def drawn(name: str, design: str, wrong: float, rng: np.random.Generator) -> tuple[Case, Any]:
    """A data set, and the same number of independent rows of the same law."""
    x, g, said = DESIGNS[design](rng)
    y, batch = family(name, x, g, wrong)
    return Case.of(y, batch, **said).in_numpy


def independent(name: str, n: int, wrong: float, rng: np.random.Generator) -> Case:
    y, batch = family(name, rng.normal(size=n), rng.normal(size=n), wrong)
    return Case.of(y, batch).in_numpy


def scores(case: Case) -> np.ndarray:
    """A score of every row: squared error of the mean or of the probability, absolute error of a middle quantile."""
    batch, y = case.predictions, case.targets
    if hasattr(batch, "table"):
        return np.square(np.eye(batch.table().shape[1])[np.asarray(y).astype(int)] - batch.table()).sum(axis=1)
    if isinstance(batch, kc.Quantiles):
        return np.abs(y - np.asarray(batch.values)[:, 2])
    return np.square(y - np.asarray(batch.mean))


@cache
def truth(name: str, design: str, wrong: float) -> tuple[float, float, float]:
    """SKCE, CKCE of as many independent rows, and mean score."""
    skce, ckce = statistics(name)
    many = [independent(name, 6_000, wrong, np.random.default_rng([7, k])) for k in range(4)]
    squared = float(np.mean([float(skce.estimated(case).value) for case in many])) if wrong else 0.0
    score = float(np.mean([scores(case).mean() for case in many]))
    if ckce is None or not wrong:
        return squared, 0.0, score
    n = len(drawn(name, design, wrong, np.random.default_rng(0)))
    corrected = CKCE(prediction_kernel=ckce.prediction_kernel, regularization=0.1, estimator="corrected")
    sets = [independent(name, n, wrong, np.random.default_rng([8, k])) for k in range(200)]
    return squared, float(np.mean([float(corrected.estimated(case).value) for case in sets])), score


def holds(ends: tuple[float, float], wanted: float) -> float:
    return float(max(ends[0], 0.0) <= wanted <= max(ends[1], 0.0))


def one(setting: str, number: int) -> dict[str, float]:
    """What holds the truth in a data set; nan where there is nothing."""
    name, design, wrong = SETTINGS[setting]
    case = drawn(name, design, wrong, np.random.default_rng([11, number]))
    (skce, ckce), run = statistics(name), Run(draws=DRAWS, rng=number)
    squared, conditional, score = truth(name, design, wrong)
    found: dict[str, float] = {}

    @cache
    def rejected() -> bool:
        asked = default_statistic(case.predictions)
        return tested(case, asked, law_of(case, asked), run).pvalue <= 1 - LEVEL

    def covered(spread: Any, wanted: float) -> float:
        low, high = spread.ends(LEVEL)
        return holds((low, high), wanted) if high < wanted or low <= wanted else float(not rejected())

    for method in METHODS[: None if number < _SLOWER else 1]:
        spread = spread_of(INTERVAL_METHODS[method], skce, case, run)
        found[method] = covered(spread, squared)
        if method == "root":
            found["equivalence"] = float(squared > 0 and spread.above(squared) <= 0.05)
            low, high = (np.sqrt(max(end, 0.0)) for end in spread.ends(LEVEL))
            found["width"] = high - low
    if ckce is not None and number < _SLOWER:
        found["ckce"] = covered(spread_of(OPERATOR_METHODS["bootstrap"], ckce, case, run), conditional)
    low, high = mean_of_units(scores(case), case).ends(LEVEL)
    found["score"] = float(low <= score <= high)
    plain = Case.of(case.targets, case.predictions).in_numpy
    naive = interval_of(plain, skce, run, method=INTERVAL_METHODS["root"], pvalue=0.001)
    found["rows as independent"] = holds((naive.lower, naive.upper), squared)
    row = scores(case)
    found["score, independent"] = float(abs(row.mean() - score) <= 1.96 * row.std(ddof=1) / len(row) ** 0.5)
    return found


def held(setting: str, number: int) -> dict[str, float]:
    """What a data set gives; nothing where its clusters count like too few."""
    try:
        return one(setting, number)
    except kc.InputError as refused:
        if "of equal size" in str(refused):
            return {}
        raise


def some(setting: str, first: int, last: int) -> list[dict[str, float]]:
    return [held(setting, number) for number in range(first, last)]


COLUMNS = (
    "root",
    "bootstrap",
    "ball",
    "ckce",
    "score",
    "equivalence",
    "width",
    "rows as independent",
    "score, independent",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=400, help="data sets of every setting")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--match", default="")
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    lines, below = [], []
    step = max(1, options.sets // 8)
    with ProcessPoolExecutor(options.processes) as pool:
        for setting in (name for name in SETTINGS if options.match in name):
            firsts = range(0, options.sets, step)
            parts = pool.map(some, [setting] * len(firsts), firsts, [min(f + step, options.sets) for f in firsts])
            found = [one for part in parts for one in part]
            every, found = len(found), [one for one in found if one]
            squared = truth(*SETTINGS[setting])[0]
            shares = [
                np.mean([one[name] for one in found if name in one]) if name in found[0] else None for name in COLUMNS
            ]
            shown = ("" if one is None else f"{one:.3f}" for one in shares)
            lines.append([setting, f"{squared**0.5:.3f}", *shown, str(every - len(found))])
            print(*lines[-1], sep="; ", flush=True)
            covered = sum(one["root"] for one in found)
            if SETTINGS[setting][1] not in FEW and covered < binom.ppf(0.0005, len(found), 0.92):
                below.append(setting)
    if not options.no_write:
        header = ["setting", "root of the SKCE", *COLUMNS[:4], "mean score", "equivalence, rejected at the truth"]
        header += ["mean width of the root", "rows as independent", "mean score, rows as independent", "refused"]
        with open(TABLE, "w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([header, *lines])
    print(f"{len(lines)} settings, {len(below)} below the bound: {below}")
    return 1 if below else 0


if __name__ == "__main__":
    raise SystemExit(main())
