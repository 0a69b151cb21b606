"""Coverage of 95 % intervals of clinical measures, and level of their exact tests and of the curve's band.

    python experiments/measures/coverage.py                  # 400 data sets a setting: some four minutes on one core
    python experiments/measures/coverage.py --sets 20 --no-write

Writes docs/tables/measures_coverage.csv: for every setting and measure the true value of endlessly many rows, the share
of intervals that hold it, the shares of data sets with the truth below and above, and without an interval; where
predictions are right the share of p-values at most 5 %, too. The exit status is 1 if an interval covers less often than
the 0.05 % point of the binomial law with 0.9, or a p-value rejects more often than the 99.95 % point with 0.05 (of rows
in clusters 0.075).
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy.special import expit, ndtr
from scipy.stats import binom

import kernelcal as kc
from kernelcal.measures import MEASURES, calibration_curve, measure

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "measures_coverage.csv"
ASKED = ("intercept", "slope", "oe", "auroc", "brier", "scaled-brier", "net-benefit", "ece", "ici", "hosmer-lemeshow")
MANY = 200_000
Odds = Callable[[np.random.Generator, int], np.ndarray]
SETTINGS: dict[str, tuple[int, Odds, float, float, int]] = {  # rows, log-odds, true intercept and slope, cluster size
    "50 rows, .3": (50, lambda r, n: -0.9 + r.normal(size=n), 0.0, 1.0, 0),
    "200 rows, .02": (200, lambda r, n: -4.4 + r.normal(size=n), 0.0, 1.0, 0),
    "1,000 rows, .02": (1000, lambda r, n: -4.4 + r.normal(size=n), 0.0, 1.0, 0),
    "200 rows, slope .6": (200, lambda r, n: -0.9 + 1.5 * r.normal(size=n), 0.3, 0.6, 0),
    "100 rows, 4 risks": (100, lambda r, n: r.choice([-2.2, -1.4, -0.4, 0.85], n), 0.0, 1.0, 0),
    "200 rows, 40 clusters": (200, lambda r, n: -0.9 + r.normal(size=n), 0.0, 1.0, 5),
}


def drawn(r: np.random.Generator, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Outcomes, risks and clusters of one data set."""
    n, odds, a, b, size = SETTINGS[name]
    x = odds(r, n)
    if not size:
        return (r.random(n) < expit(a + b * x)).astype(int), expit(x), None
    of = np.arange(n) // size
    latent = np.sqrt(0.5) * r.normal(size=of[-1] + 1)[of] + np.sqrt(0.5) * r.normal(size=n)
    return (ndtr(latent) < expit(a + b * x)).astype(int), expit(x), of


def truth(name: str) -> dict[str, float]:
    """Values of very many rows; of no predictions that are right it is 0 for errors."""
    _, odds, a, b, _ = SETTINGS[name]
    r = np.random.default_rng(0)
    x = odds(r, MANY)
    batch, y = kc.Bernoulli(expit(x)), (r.random(MANY) < expit(a + b * x)).astype(int)
    return {one: float(MEASURES.made(one)(y, batch)) for one in ASKED}


def of_setting(name: str, sets: int) -> list[dict[str, Any]]:
    true, right = truth(name), SETTINGS[name][2:4] == (0.0, 1.0)
    ends, pvalues, curve = np.empty((sets, len(ASKED), 2)), np.empty((sets, len(ASKED))), np.empty(sets)
    for k in range(sets):
        y, p, clusters = drawn(np.random.default_rng([1, k]), name)
        found = measure(y, p, ASKED, clusters=clusters, draws=199, rng=k)
        ends[k] = [one.interval for one in found.values]
        pvalues[k] = [one.pvalue for one in found.values]
        curve[k] = calibration_curve(y, p, clusters=clusters, draws=99, rng=k).pvalue if right else np.nan
    rows = []
    for j, one in enumerate(ASKED):
        low, high = ends[:, j].T
        some = ~np.isnan(low)
        below, above = (true[one] < low)[some], (true[one] > high)[some]
        known = bool(some.any())
        rows.append(
            {
                "setting": name,
                "measure": one,
                "truth": f"{true[one]:.4f}" if known else "",
                "covered": f"{1 - below.mean() - above.mean():.3f}" if known else "",
                "truth below": f"{below.mean():.3f}" if known else "",
                "truth above": f"{above.mean():.3f}" if known else "",
                "no interval": f"{1 - some.mean():.3f}",
                "rejected at 5 %": f"{(pvalues[:, j] <= 0.05).mean():.3f}" if right else "",
                "sets": sets,
            }
        )
    if right:
        usual = dict.fromkeys(rows[0], "")
        level = f"{np.nanmean(np.where(np.isnan(curve), 1.0, curve) <= 0.05):.3f}"
        rows.append({**usual, "setting": name, "measure": "curve", "rejected at 5 %": level, "sets": sets})
    return rows


def wrong(row: dict[str, Any]) -> bool:
    """Whether a share cannot be what it should be."""
    sets = int(row["sets"])
    level = 0.075 if "clusters" in row["setting"] else 0.05
    few = row["covered"] and float(row["covered"]) * sets < binom.ppf(0.0005, sets, 0.9)
    many = row["rejected at 5 %"] and float(row["rejected at 5 %"]) * sets > binom.ppf(0.9995, sets, level)
    return bool(few or many)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    rows = []
    for name in SETTINGS:
        found = of_setting(name, options.sets)
        rows += found
        for row in found:
            print(*row.values(), sep="  ", flush=True)
    if not options.no_write:
        with TABLE.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    bad = [row for row in rows if wrong(row)]
    for row in bad:
        print("not what it should be:", *row.values(), sep="  ")
    return int(bool(bad))


if __name__ == "__main__":
    raise SystemExit(main())
