"""Level and power given columns, beside MCGrad's multicalibration error on its own simulated data.

    python experiments/given/run.py                      # some six minutes on one core
    python experiments/given/run.py --repetitions 20 --match "300 rows, 3"

Writes docs/tables/given.csv. MCGrad (``pip install mcgrad``) is asked where it can be imported, else its columns are
empty. The data are those of its quick start, written anew: three columns of two categories that shift the true
probability and that the prediction ignores, by a share of the shift that is published there; and with four columns of
numbers beside them that say nothing. Further settings are those of the documentation: a logit shift that cancels over
the sign of one column, and predictions that are too sharp whatever the columns say.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from simulated import Setting, logits, quick_start

import kernelcal as kc

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "given.csv"
LEVEL, DRAWS, SIGMAS = 0.05, 199, 5.0


SETTINGS = [
    *(
        Setting(f"quick start, {n} rows, {3 + numbers} columns, {share:g} of the shift", quick_start(n, share, numbers))
        for n, numbers in ((300, 0), (300, 4), (1000, 0))
        for share in ((0, 0.5, 1) if n == 300 else (0, 0.5))
    ),
    *(Setting(f"sign of a column, 400 rows, {d} columns", logits(400, d, shift=0.7)) for d in (2, 10)),
    *(Setting(f"stronger sign of a column, 400 rows, {d} columns", logits(400, d, shift=1.0)) for d in (2, 10)),
    *(Setting(f"calibrated, 400 rows, {d} columns", logits(400, d)) for d in (2, 10)),
    *(Setting(f"too sharp, 400 rows, {d} columns", logits(400, d, slope=0.7)) for d in (2, 10)),
]


def asked(setting, number):
    """Which tests reject one data set."""
    y, p, given = setting.draw(np.random.default_rng([sum(map(ord, setting.name)), number]))
    with_x = kc.calibration_test(y, p, given=given, draws=DRAWS, rng=number)
    without = kc.calibration_test(y, p, draws=DRAWS, rng=number)
    peer = multicalibration(y, p, given)
    places = bool(with_x.given.rejected)
    return {"given": with_x.pvalue <= LEVEL, "place_named": places, "without": without.pvalue <= LEVEL, **peer}


def multicalibration(y, p, given):
    """What MCGrad says with its defaults: its p-value below the level, and more sigmas than it advises to act on."""
    try:
        import pandas as pd
        from mcgrad.metrics import MulticalibrationError
    except ImportError:
        return {}
    found = MulticalibrationError(
        pd.DataFrame({"label": y, "score": p, **given}),
        "label",
        "score",
        categorical_segment_columns=[name for name, column in given.items() if column.dtype.kind == "U"],
        numerical_segment_columns=[name for name, column in given.items() if column.dtype.kind == "f"],
    )
    sigmas = float(found.mce_sigma)
    return {"mcgrad_pvalue": float(found.mce_pvalue) <= LEVEL, "mcgrad_sigma": sigmas > SIGMAS}


COLUMNS = ("given", "place_named", "without", "mcgrad_pvalue", "mcgrad_sigma")


def main():
    """Run all settings, say and write how often each test rejects."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repetitions", type=int, default=200, metavar="N")
    options.add_argument("--match", default="", metavar="TEXT", help="settings whose name holds it")
    said = options.parse_args()
    rows = []
    for setting in SETTINGS:
        if said.match not in setting.name:
            continue
        found = [asked(setting, number) for number in range(said.repetitions)]
        rates = {name: np.mean([f[name] for f in found]) if name in found[0] else None for name in COLUMNS}
        rows.append([setting.name, *("" if rate is None else f"{rate:.3f}" for rate in rates.values())])
        print(*rows[-1], sep=", ", flush=True)
    if not said.match:
        with TABLE.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([["setting", *COLUMNS], *rows])


if __name__ == "__main__":
    main()
