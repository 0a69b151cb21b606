"""Level of the test of dependent rows, beside the one that takes rows as independent.

    python experiments/dependence/run.py                    # 200 data sets a setting: about ten minutes on two cores
    python experiments/dependence/run.py --sets 20 --no-write

Writes docs/tables/dependence.csv: shares rejected at 5 % and 1 %, of the thinned or flipped test that is told beside it
at 5 %, and of the test of independent rows at 5 %. The exit status is 1 if a share at 5 % is above the 99.95 % point of
the binomial law with 0.075.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy.stats import binom
from settings import CLUSTERS, OVERLAPS

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.inference import DefaultFamily, Dependent
from kernelcal.inference.test import default_law, tested
from kernelcal.runs import Run

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "dependence.csv"
SETTINGS = {**OVERLAPS, **CLUSTERS}
_BESIDE = re.compile(
    r"(?:whatever the dependence inside .*?: p = |flipped signs of clusters.*?[:,] (?:p = )?)([0-9.e-]+)"
)


def one(name: str, number: int) -> tuple[float, float, float]:
    """P-values of a data set: of dependent rows, of the test beside it, of independent rows; nan where refused."""
    y, predictions, rows = SETTINGS[name](np.random.default_rng([20, number]))
    case, run = Case.of(y, predictions), Run(draws=199, rng=number)
    family = DefaultFamily()
    law = default_law(case.predictions, family)
    try:
        found = tested(case, family, Dependent(rows, law), run)
    except kc.InputError:
        return np.nan, np.nan, np.nan
    beside = [float(match[1]) for note in found.notes if (match := _BESIDE.search(note))]
    return found.pvalue, beside[0] if beside else np.nan, tested(case, family, law, run).pvalue


def some(name: str, first: int, last: int) -> list[tuple[float, float, float]]:
    return [one(name, number) for number in range(first, last)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=200, help="data sets of every setting")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    lines, above = [], []
    step = max(1, options.sets // 8)
    with ProcessPoolExecutor(options.processes) as pool:
        for name in SETTINGS:
            firsts = range(0, options.sets, step)
            parts = pool.map(some, [name] * len(firsts), firsts, [min(f + step, options.sets) for f in firsts])
            p = np.array([pair for part in parts for pair in part])
            kept = p[~np.isnan(p[:, 0])]
            share = [(kept[:, 0] <= a).mean() for a in (0.05, 0.01)]
            told = kept[~np.isnan(kept[:, 1]), 1]
            beside = f"{(told <= 0.05).mean():.3f}" if len(told) else ""
            line = [name, f"{share[0]:.3f}", f"{share[1]:.3f}", beside, f"{(kept[:, 2] <= 0.05).mean():.3f}"]
            lines.append([*line, str(len(p) - len(kept))])
            print(*lines[-1], sep="  ", flush=True)
            if (kept[:, 0] <= 0.05).sum() > binom.ppf(0.9995, len(kept), 0.075):
                above.append(name)
    if not options.no_write:
        header = ["setting", "at 5 %", "at 1 %", "thinned or flipped", "rows as independent", "refused"]
        with open(TABLE, "w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([header, *lines])
    print(f"{len(lines)} settings, {len(above)} above the bound: {above}")
    return 1 if above else 0


if __name__ == "__main__":
    raise SystemExit(main())
