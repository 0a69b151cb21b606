"""Power of the default test on the models of 2019, and on predictions that are too sharp or not sharp enough.

    python experiments/level/power.py       # a minute

Writes docs/tables/power.csv: 250 rows, 10 classes, 200 data sets, 199 draws.
"""

from __future__ import annotations

import argparse

import numpy as np
from frame import LEVELS, labels
from rates import write

import kernelcal as kc

OVER, UNDER = "over-confident, temperature 1.3", "under-confident, temperature 0.75"
MODELS = ("M1", "M2", "M3", "class 0 with probability 0.1", OVER, UNDER)


def data(rng, model):
    """Labels and predictions: M1 is calibrated, all others are not."""
    p = rng.dirichlet(np.full(10, 0.1), 250)
    y = labels(rng, p)
    if model == "M2":
        y = np.where(rng.random(250) < 0.5, y, 0)
    elif model == "M3":
        y = rng.integers(0, 10, 250)
    elif model.startswith("class 0"):
        y = np.where(rng.random(250) < 0.1, 0, y)
    elif model in (OVER, UNDER):
        p = p ** {OVER: 1.3, UNDER: 0.75}[model]
        p /= p.sum(axis=1, keepdims=True)
    return y, p


def pvalue(model, repetition):
    y, p = data(np.random.default_rng([250, repetition]), model)
    return kc.calibration_test(y, p, draws=199).pvalue


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=200)
    options = parser.parse_args()
    rows = [["model", *(f"level {level:g}" for level in LEVELS)]]
    for model in MODELS:
        pvalues = np.array([pvalue(model, k) for k in range(options.repetitions)])
        rows.append([model, *(f"{(pvalues <= level).mean():.3f}" for level in LEVELS)])
        print(*rows[-1], flush=True)
    write("power.csv", rows)


if __name__ == "__main__":
    main()
