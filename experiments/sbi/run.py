"""Simulation-based inference: are posteriors of a mixture density network calibrated?

    python experiments/sbi/run.py                    # 20 held-out data sets: about five minutes on one core
    python experiments/sbi/run.py --repetitions 2    # prints, and writes nothing

A network is trained on 50,000 simulations with early stopping; its standard deviations are multiplied by 0.7; another
is trained on 300 simulations without stopping. The exact posterior of the simulator stands beside them. Held-out data
sets have 500 rows. Writes docs/tables/sbi.csv and docs/images/sbi.png.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import torch
from network import train
from picture import draw
from questions import LEVELS, coverages, estimated_posterior, exact_posterior, pvalues
from simulator import simulate

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

DOCS = outputs.tables().parent
MANY, FEW, ROWS, REPETITIONS, LEVEL, FACTOR = 50_000, 300, 500, 20, 0.05, 0.7


def posteriors(many=MANY, few=FEW, epochs=200):
    """The networks by name."""
    theta, x = (torch.tensor(values) for values in simulate(np.random.default_rng(1), many))
    trained = train(theta, x, seed=1, epochs=epochs)
    overfitted = train(theta[:few], x[:few], seed=1, patience=0)
    return {"trained": trained, "narrowed": trained.narrower(FACTOR), "overfitted": overfitted}


def data(networks, repetition, n=ROWS):
    """Held-out theta, and what every posterior says about them."""
    rng = np.random.default_rng([2, repetition])
    theta, x = simulate(rng, n)
    knowns = {"exact": exact_posterior(x, rng)}
    return theta, knowns | {name: estimated_posterior(q, x, repetition) for name, q in networks.items()}


def asked(networks, repetition, n=ROWS):
    """P-values and coverages of every posterior on one data set."""
    theta, knowns = data(networks, repetition, n)
    return {name: (pvalues(theta, known), coverages(theta, known)) for name, known in knowns.items()}


def table(found):
    """Rows of the table: shares of data sets rejected and p-values of the first, then mean coverage."""
    names, trained = list(found[0]), found[0]["trained"]
    rows = [[test, *(_rejected([one[name][0][test] for one in found]) for name in names)] for test in trained[0]]
    for way in trained[1]:
        for k, level in enumerate(LEVELS):
            cells = (_covered([one[name][1].get(way) for one in found], k) for name in names)
            rows.append([f"{level:.0%} region, {way}", *cells])
    return [["", *names], *rows]


def _rejected(values):
    if values[0] is None:
        return ""
    return f"{np.mean(np.array(values) <= LEVEL):.2f} (p = {values[0]:.3f})"


def _covered(values, k):
    if values[0] is None:
        return ""
    over = np.mean([one.verdict[k] == "over-confident" for one in values])
    return f"{np.mean([one.shares[k] for one in values]):.3f} ({over:.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    networks = posteriors()
    rows = table([asked(networks, repetition) for repetition in range(options.repetitions)])
    for row in rows:
        print(*row, sep=" | ")
    if options.repetitions == REPETITIONS:
        with open(DOCS / "tables" / "sbi.csv", "w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows(rows)
        draw(DOCS / "images" / "sbi.png", networks, *data(networks, 0))


if __name__ == "__main__":
    main()
