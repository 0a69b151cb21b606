"""Level and power of paired tests of two models on rows that depend on each other.

    python experiments/dependence/compare.py                    # 200 data sets a setting: about ten minutes on one core
    python experiments/dependence/compare.py --sets 20 --no-write

Writes docs/tables/dependence_compare.csv: shares rejected at 5 % of CKCE, SKCE and scores as `kernelcal.compare` makes
them of dependent rows, and of the log score (of quantiles the WIS) as if rows were independent. In settings of level
two models err alike, so that no measure differs; in the last five one is too sure. The exit status is 1 if a share of
the former is above the 99.95 % point of the binomial law with 0.075.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom, norm, poisson

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.comparison.figures import by_draws, by_rows, score_rows, score_surprises, shared_law, skce_differences
from kernelcal.comparison.models import shared_ckce, shared_skce
from kernelcal.dependence import Dependence
from kernelcal.inference import Request
from kernelcal.inference.intervals import Along, RowBootstrap
from kernelcal.runs import Run

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "dependence_compare.csv"
MEASURES = ("CKCE", "SKCE", "log score", "CRPS", "WIS")
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])

Data = tuple[np.ndarray, dict[str, Any], Dependence]


def autoregression(rng: np.random.Generator, n: int, phi: float) -> np.ndarray:
    """Standard normal path."""
    return np.sqrt(1 - phi**2) * lfilter([1], [1, -phi], rng.normal(size=n + 300))[300:]


def moving(rng: np.random.Generator, n: int, h: int) -> np.ndarray:
    """Standard normal errors that are the mean of h shocks."""
    return np.convolve(rng.normal(size=n + h - 1), np.full(h, h**-0.5), "valid")


def laws(
    kind: str, x: np.ndarray, own: list[np.ndarray], g: np.ndarray, bold: float
) -> tuple[np.ndarray, dict[str, Any]]:
    """Outcomes of what is known, x, and of errors g; two models that see x with an error of their own.

    The second is too sure by a factor where `bold` is above 1.
    """
    n, seen = len(x), [x + 0.5 * e for e in own]
    if kind == "events":
        return (g < x).astype(int), {"a": norm.cdf(seen[0]), "b": norm.cdf(bold * seen[1])}
    if kind == "classes":
        edges = norm.cdf(np.stack([seen[0] - 0.5, seen[0] + 0.5, bold * seen[1] - 0.5, bold * seen[1] + 0.5]))
        p = [np.stack([lo, hi - lo, 1 - hi], axis=1) for lo, hi in (edges[:2], edges[2:])]
        return (g > x - 0.5).astype(int) + (g > x + 0.5), {"a": p[0], "b": p[1]}
    if kind == "counts":
        means = [2 * np.exp(0.5 * s) for s in (x, seen[0], bold * seen[1])]
        return poisson.ppf(norm.cdf(g), means[0]), {"a": kc.Poisson(means[1]), "b": kc.Poisson(means[2])}
    if kind == "quantiles":
        widths = (1.0, 1 / bold)
        forecasts = [kc.Quantiles(s[:, None] + w * norm.ppf(LEVELS), LEVELS) for s, w in zip(seen, widths, strict=True)]
        return x + g, dict(zip("ab", forecasts, strict=True))
    return x + g, {"a": kc.Normal(seen[0], np.ones(n)), "b": kc.Normal(seen[1], np.full(n, 1 / bold))}


def overlapping(
    rng: np.random.Generator, kind: str, n: int, h: int, phi: float = 0.9, ma: bool = False, bold: float = 1.0
) -> Data:
    """Predictions that follow an autoregression, and errors that are one, cut at h steps, or a moving mean."""
    x, *own = (autoregression(rng, n, phi) for _ in range(3))
    if ma:
        g = moving(rng, n, h)
    else:
        g = lfilter(phi ** np.arange(h), [1], rng.normal(size=n + h))[h:] / np.sqrt((phi ** (2 * np.arange(h))).sum())
    return *laws(kind, x, own, g, bold), Dependence.of(n, horizon=h)


def volatile(rng: np.random.Generator, n: int, h: int) -> Data:
    """Widths that follow each other: rows are not alike."""
    x, *own = (autoregression(rng, n, 0.9) for _ in range(3))
    sd = np.exp(0.7 * autoregression(rng, n, 0.95))
    models = {name: kc.Normal(x + 0.5 * sd * e, sd) for name, e in zip("ab", own, strict=True)}
    return x + sd * moving(rng, n, h), models, Dependence.of(n, horizon=h)


def feedback(rng: np.random.Generator, n: int, h: int) -> Data:
    """Forecasts of an autoregression from its own past, by two models that take it for faster and for slower."""
    y = lfilter([1], [1, -0.8], rng.normal(size=n + 300))
    past, t = y[300 - h : 300 - h + n], y[300 : 300 + n]
    sd = np.sqrt((0.64 ** np.arange(h)).sum())
    noise = [0.5 * autoregression(rng, n, 0.8) for _ in range(2)]
    models = {name: kc.Normal(0.8**h * past + e, np.full(n, sd)) for name, e in zip("ab", noise, strict=True)}
    return t, models, Dependence.of(n, horizon=h)


def several(rng: np.random.Generator, kind: str, series: int, n: int, h: int, gaps: bool = False) -> Data:
    """Several series, a third of whose times may be missing."""
    parts = [overlapping(rng, kind, n, h) for _ in range(series)]
    y = np.concatenate([part[0] for part in parts])
    models = {name: np.concatenate([part[1][name] for part in parts]) for name in "ab"}
    of, time = np.repeat(np.arange(series), n), np.tile(np.arange(n), series)
    kept = np.sort(rng.choice(len(y), 2 * len(y) // 3, replace=False)) if gaps else np.arange(len(y))
    rows = Dependence.of(len(kept), horizon=h, series=of[kept], time=time[kept])
    return y[kept], {name: p[kept] for name, p in models.items()}, rows


def clustered(
    rng: np.random.Generator, kind: str, number: int, size: int, rho: float, unequal: bool = False, bold: float = 1.0
) -> Data:
    sizes = 1 + rng.geometric(1 / size, number) if unequal else np.full(number, size)
    of = np.repeat(np.arange(number), sizes)

    def shared(share: float) -> np.ndarray:
        return np.sqrt(share) * rng.normal(size=number)[of] + np.sqrt(1 - share) * rng.normal(size=len(of))

    x, *own = shared(0.5), shared(rho), shared(rho)
    return *laws(kind, x, own, shared(rho), bold), Dependence.of(len(of), clusters=of)


def few_surprises(rng: np.random.Generator, number: int, size: int, rho: float) -> Data:
    """Clusters of rows of which both models are nearly sure, and err alike."""
    of = np.repeat(np.arange(number), size)
    g = np.sqrt(rho) * rng.normal(size=number)[of] + np.sqrt(1 - rho) * rng.normal(size=len(of))
    rare = [0.01 * np.exp(0.5 * rng.normal(size=number)[of]) for _ in range(2)]
    return (g > norm.ppf(1 - 0.01)).astype(int), dict(zip("ab", rare, strict=True)), Dependence.of(len(of), clusters=of)


LEVEL: dict[str, Callable[[np.random.Generator], Data]] = {
    "events, AR .9, h 8, n 200": partial(overlapping, kind="events", n=200, h=8),
    "events, AR .9, h 24, n 400": partial(overlapping, kind="events", n=400, h=24),
    "events, independent, h 1, n 100": partial(overlapping, kind="events", n=100, h=1, phi=0.0),
    "numbers, AR .9, h 8, n 100": partial(overlapping, kind="numbers", n=100, h=8),
    "numbers, MA, h 24, n 300": partial(overlapping, kind="numbers", n=300, h=24, ma=True),
    "numbers, AR .5, h 2, n 100": partial(overlapping, kind="numbers", n=100, h=2, phi=0.5),
    "numbers, volatility, h 6, n 200": partial(volatile, n=200, h=6),
    "numbers, feedback, h 4, n 200": partial(feedback, n=200, h=4),
    "counts, MA, h 6, n 200": partial(overlapping, kind="counts", n=200, h=6, ma=True),
    "quantiles, MA, h 6, n 200": partial(overlapping, kind="quantiles", n=200, h=6, ma=True),
    "three classes, AR .8, h 4, n 200": partial(overlapping, kind="classes", n=200, h=4, phi=0.8),
    "events, 10 series of 30, h 5": partial(several, kind="events", series=10, n=30, h=5),
    "events, 3 series of 100 with gaps, h 5": partial(several, kind="events", series=3, n=100, h=5, gaps=True),
    "events, 10 x 20, rho .5": partial(clustered, kind="events", number=10, size=20, rho=0.5),
    "events, 200 x 3, rho .8, unequal": partial(clustered, kind="events", number=200, size=3, rho=0.8, unequal=True),
    "numbers, 20 x 10, rho .8": partial(clustered, kind="numbers", number=20, size=10, rho=0.8),
    "numbers, 15 x 10, rho .5, unequal": partial(clustered, kind="numbers", number=15, size=10, rho=0.5, unequal=True),
    "numbers, 40 x 5, rho 0": partial(clustered, kind="numbers", number=40, size=5, rho=0.0),
    "counts, 30 x 6, rho .3, unequal": partial(clustered, kind="counts", number=30, size=6, rho=0.3, unequal=True),
    "quantiles, 30 x 6, rho .5": partial(clustered, kind="quantiles", number=30, size=6, rho=0.5),
    "three classes, 50 x 4, rho .5": partial(clustered, kind="classes", number=50, size=4, rho=0.5),
    "rare events, 50 x 5, rho .5": partial(few_surprises, number=50, size=5, rho=0.5),
}
POWER: dict[str, Callable[[np.random.Generator], Data]] = {
    "second model too sure: events, n 400, h 4": partial(overlapping, kind="events", n=400, h=4, bold=3.0),
    "second model too sure: events, n 400, h 24": partial(overlapping, kind="events", n=400, h=24, bold=3.0),
    "second model too sure: numbers, n 400, h 4": partial(overlapping, kind="numbers", n=400, h=4, bold=1.8),
    "second model too sure: events, 50 x 8, rho .3": partial(
        clustered, kind="events", number=50, size=8, rho=0.3, bold=3.0
    ),
    "second model too sure: numbers, 50 x 8, rho .3": partial(
        clustered, kind="numbers", number=50, size=8, rho=0.3, bold=1.8
    ),
}
SETTINGS = {**LEVEL, **POWER}


def one(name: str, number: int) -> dict[str, float]:
    """P-values of the measures as `kernelcal.compare` makes them, and of the score of independent rows."""
    y, models, rows = SETTINGS[name](np.random.default_rng([22, number]))
    cases = {model: Case.of(y, p) for model, p in models.items()}
    batches = [case.predictions for case in cases.values()]
    skce, ckce = shared_skce(None, batches), shared_ckce(None, batches)
    law, along = shared_law(cases), Along(rows)
    estimates, drawn, surprised, influence = {}, {}, {}, {}
    for model, case in cases.items():
        prepared = ckce.prepare(case.predictions)
        of = RowBootstrap(prepared, case.targets)
        request = Request(case, prepared, Run(draws=99, rng=number))
        estimates[model], drawn[model], influence[model] = of.estimate, of.drawn(request), len(y) * of.linear
        surprised[model] = of.surprised(request, drawn[model], law)
    found = by_draws("CKCE", estimates, drawn, surprised, (along, influence))
    ready = {model: skce.prepare(case.predictions) for model, case in cases.items()}
    found += skce_differences(cases, ready, law, along)
    naive = np.nan
    for measure, scores in score_rows(cases).items():
        found += by_rows(measure, scores, score_surprises(measure, cases), along)
        if measure != "CRPS":
            alone = by_rows(measure, scores)[0].pvalue
            naive = np.nan if alone is None else alone
    return {d.measure: np.nan if d.pvalue is None else d.pvalue for d in found} | {"independent": naive}


def some(name: str, first: int, last: int) -> list[dict[str, float]]:
    return [one(name, number) for number in range(first, last)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=200, help="data sets of every setting")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="settings whose name has these words")
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    lines, above, step = [], [], max(1, options.sets // 8)
    bound = binom.ppf(0.9995, options.sets, 0.075)
    with ProcessPoolExecutor(options.processes) as pool:
        for name in [name for name in SETTINGS if options.only in name]:
            firsts = range(0, options.sets, step)
            parts = pool.map(some, [name] * len(firsts), firsts, [min(f + step, options.sets) for f in firsts])
            p = [found for part in parts for found in part]
            values = {
                measure: np.array([found.get(measure, np.nan) for found in p]) for measure in (*MEASURES, "independent")
            }
            cells = ["" if np.isnan(v).all() else f"{(v <= 0.05).mean():.3f}" for v in values.values()]
            lines.append([name, *cells])
            print(*lines[-1], sep="  ", flush=True)
            if name in LEVEL and max((values[measure] <= 0.05).sum() for measure in MEASURES) > bound:
                above.append(name)
    if not options.no_write:
        header = ["setting", *MEASURES, "score, rows as independent"]
        with open(TABLE, "w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([header, *lines])
    print(f"{len(lines)} settings, {len(above)} above the bound: {above}")
    return 1 if above else 0


if __name__ == "__main__":
    raise SystemExit(main())
