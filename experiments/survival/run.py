"""Level and power of the tests of survival, beside D-calibration with its usual law.

    python experiments/survival/run.py                    # half an hour on a core
    python experiments/survival/run.py --sets 20 --no-write
    python experiments/survival/run.py --rows 500         # these lines alone, the others stay

Weibull times of shape 1.5 whose scales differ from row to row (standard deviation of the log hazard .5), exponential
censoring. What is wrong: the hazard times 1.25 or .8; times that are less spread than predicted (cumulative hazard to
the power 1.3); risks too extreme (slope .4 of 1). "Censoring by risk" is calibrated, and high risks are censored later.

Writes docs/tables/survival.csv: shares rejected at 5 % by the test with censoring times known and imputed, with flipped
signs, by bets, by D-calibration with chi-square law and with redrawn law. The exit status is 1 if the first or the bets
reject calibrated predictions more often than the 99.95 % point of the binomial law with 5 %.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import binom, chi2

from kernelcal.predictions import Weibull
from kernelcal.runs import Run
from kernelcal.survival import Survival, asked_survival, bets

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "survival.csv"
SHAPE = 1.5
RATES = {0: 0.0, 30: 0.42, 60: 1.7}  # of censoring, which make about so many per cent
WRONG = ("nothing", "hazard x 1.25", "hazard x .8", "shape", "risks too extreme", "nothing, censoring by risk")
NAMES = ("known", "imputed", "flips", "bets", "chi-square", "D redrawn")


def data(name: str, n: int, rate: float, rng: np.random.Generator) -> tuple[Survival, np.ndarray]:
    """What was seen, and the censoring times."""
    x = rng.normal(size=n)
    risk, hazard = np.exp(0.5 * x), rng.exponential(size=n)
    if name == "hazard x 1.25":
        hazard = hazard / 1.25
    elif name == "hazard x .8":
        hazard = hazard / 0.8
    elif name == "shape":
        hazard = hazard ** (1 / 1.3)
    elif name == "risks too extreme":
        hazard = hazard * np.exp(0.3 * x)
    scale = risk ** (-1 / SHAPE)
    times = scale * hazard ** (1 / SHAPE)
    ends = rng.exponential(size=n) / rate if rate else np.full(n, np.inf)
    if name.endswith("by risk"):
        ends = ends * np.exp(0.7 * x)
    return Survival(Weibull(scale, SHAPE), np.minimum(times, ends), times <= ends), ends


def one(name: str, n: int, rate: float, seed: int) -> tuple[float, ...]:
    """P-values of one data set, and the share censored."""
    seen, ends = data(name, n, rate, np.random.default_rng([7, seed, n]))
    run = Run(draws=199, rng=seed)
    known = asked_survival(Survival(seen.law, seen.time, seen.event, ends), run)
    imputed, flips = asked_survival(seen, run), asked_survival(seen, run, "flips")
    value, _, redrawn = known.d_calibration
    bet = bets(seen.hazard, seen.event, known.ranks).pvalue
    p = (known.test.pvalue, imputed.test.pvalue, flips.test.pvalue, bet, float(chi2.sf(value, 9)), redrawn)
    return (*p, 1 - float(seen.event.mean()))


def write(lines: list[list], rows: int | None) -> None:
    """Write the table; of some settings alone the other lines stay."""
    header, old = ["wrong", "rows", "% censored", *NAMES, "sets"], []
    if rows is not None and TABLE.exists():
        with open(TABLE, newline="") as stream:
            old = [line for line in list(csv.reader(stream))[1:] if int(line[1]) != rows]
    with open(TABLE, "w", newline="") as stream:
        whole = sorted([*old, *lines], key=lambda line: int(line[1]))
        csv.writer(stream, lineterminator="\n").writerows([header, *whole])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--sets",
        type=int,
        help="data sets of every setting; default 400 of 100 rows; of 500 rows 60, and 300 where nothing is wrong",
    )
    parser.add_argument("--rows", type=int, choices=(100, 500), help="settings with so many rows alone")
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    lines, above = [], []
    for n, usual in ((100, 400), (500, 60)):
        if options.rows not in (None, n):
            continue
        for name in WRONG:
            sets = options.sets or (max(usual, 300) if name.startswith("nothing") else usual)
            for percent, rate in RATES.items():
                if name.endswith("by risk") and not rate:
                    continue
                found = np.array([one(name, n, rate, seed) for seed in range(sets)])
                shares = (found[:, :-1] <= 0.05).mean(axis=0)
                line = [name, n, f"{100 * found[:, -1].mean():.0f}", *(f"{s:.3f}" for s in shares), sets]
                lines.append(line)
                print(*line, sep="  ", flush=True)
                most = binom.ppf(0.9995, sets, 0.05) / sets
                if name.startswith("nothing") and max(shares[0], shares[3]) > most:
                    above.append((name, n, percent))
    if not options.no_write:
        write(lines, options.rows)
    print(f"{len(lines)} settings, above the bound: {above}")
    return 1 if above else 0


if __name__ == "__main__":
    raise SystemExit(main())
