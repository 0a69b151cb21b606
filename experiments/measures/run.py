"""Level and power of the measures that papers cite, by their exact p-values, beside the default test.

    python experiments/measures/run.py             # 200 data sets a setting: about ten minutes on one core
    python experiments/measures/run.py --sets 20   # into a scratch folder

Writes docs/tables/measures.csv: of three calibrated settings and three alternatives the share of data sets of 400 rows
that each measure, and the default test, rejects at 5 %. All measures of a data set are ranked in the same 199 draws.
The exit status is 1 if a share of a calibrated setting is above the 99.95 % point of the binomial law with 5 %.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from scipy.stats import binom

import kernelcal as kc
from kernelcal.measures import FIELDS, MEASURES, measure

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "measures.csv"
ROWS, DRAWS = 400, 199
NAMES = tuple(name for name in FIELDS["cited"] if name != "cutoff")  # which is the Kuiper error


def uniform(rng):
    return rng.uniform(size=ROWS)


def logit_slope(p, slope):
    odds = p**slope
    return odds / (odds + (1 - p) ** slope)


SETTINGS = {
    "calibrated, uniform": (uniform, lambda p: p),
    "calibrated, rare events": (lambda rng: rng.beta(0.5, 10, ROWS), lambda p: p),
    "calibrated, sixteen values": (lambda rng: rng.integers(1, 17, ROWS) / 17, lambda p: p),
    "over-confident, slope 0.75": (uniform, lambda p: logit_slope(p, 0.75)),
    "wrong from 0.4 to 0.6 only, by 0.2": (uniform, lambda p: p - 0.2 * (np.abs(p - 0.5) < 0.1)),
    "wrong by 0.15 to both sides in turn, 16 times": (
        lambda rng: rng.uniform(0.2, 0.8, ROWS),
        lambda p: p + 0.15 * np.sign(np.sin(2 * np.pi * (p - 0.2) / 0.6 * 8)),
    ),
}


def pvalues(name: str, number: int) -> list[float]:
    """P-values of a data set: of every measure, and of the default test."""
    predictions, truth = SETTINGS[name]
    rng = np.random.default_rng([31, number])
    p = predictions(rng)
    y = (rng.uniform(size=ROWS) < truth(p)).astype(int)
    found = measure(y, p, list(NAMES), draws=DRAWS, rng=number)
    own = [found[MEASURES.made(one).name].pvalue for one in NAMES]
    return [*own, kc.calibration_test(y, p, draws=DRAWS, rng=number).pvalue]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=200, help="data sets of every setting")
    options = parser.parse_args()
    lines, wrong = [], []
    for name in SETTINGS:
        p = np.array([pvalues(name, number) for number in range(options.sets)])
        share = (p <= 0.05).mean(axis=0)
        lines.append([name, *(f"{one:.3f}" for one in share)])
        print(*lines[-1], sep="\t", flush=True)
        if name.startswith("calibrated") and share.max() * options.sets > binom.ppf(0.9995, options.sets, 0.05):
            wrong.append(name)
    with TABLE.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([["setting", *NAMES, "default test"], *lines])
    print(f"above the bound: {', '.join(wrong) or 'none'}")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
