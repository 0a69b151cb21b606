"""Draws of a sketch, which turn the places of rows by groups, beside draws that are independent: level, power, spread.

    python experiments/turns/run.py                   # about ten minutes on two cores
    python experiments/turns/run.py --repetitions 50

Writes docs/tables/turns.csv. Level and power are shares of p-values of at most 5 % where outcomes are drawn from the
predictions, and where from others. The spread is the variance of p-values of the same rows for other seeds, as a
multiple of p (1 - p) / B, which independent draws have, on average over data sets. Independent labels are drawn by
NumPy, and their statistic is computed here: squared sums of cosines times residuals, less the diagonal.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np

import kernelcal as kc

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

FEATURES, LEVEL, SEEDS = 8, 0.05, 40
KERNEL, ENGINE = kc.Laplacian(0.3), kc.RandomFourier(FEATURES, rng=1)
SETTINGS = [
    (kind, rows, draws)
    for kind in ("half", "any", "rare", "ten", "sure")
    for rows in (30, 500)
    for draws in (19, 99, 199)
]


def predictions(kind, rows, rng):
    """Probabilities of two, four or ten classes."""
    if kind == "ten":
        return rng.dirichlet(np.ones(10), rows)
    if kind == "sure":
        return (1 - 1e-6) * rng.dirichlet(np.full(4, 0.05), rows) + 1e-6 / 4  # nothing is ruled out
    one = {"half": np.full(rows, 0.5), "any": rng.uniform(size=rows), "rare": np.full(rows, 0.02)}[kind]
    return np.stack([1 - one, one], axis=1)


def outcomes(p, rng, shift):
    """Labels of laws that are the predictions, or shifted by a share of another law."""
    n, m = p.shape
    law = (1 - shift) * p + shift * np.eye(m)[np.full(n, m - 1)]
    return (rng.random(n)[:, None] > np.cumsum(law, axis=1)).sum(axis=1).clip(max=m - 1)


def by_turns(y, p, draws, seed):
    """P-value of the sketch."""
    sketch = kc.Sketch(KERNEL, engine=ENGINE, draws=draws, rng=seed, second_moments=False)
    return sketch.update(y, kc.Categorical(p)).result().pvalue


def independent(y, p, draws, rng):
    """P-value by labels that are drawn one by one."""
    n, m = p.shape
    waves, shifts, _ = ENGINE.waves(KERNEL, m)
    phi = np.cos(p @ waves + shifts)
    labels = np.concatenate([y[None], (rng.random((draws, n, 1)) > np.cumsum(p, axis=1)).sum(axis=2).clip(max=m - 1)])
    residuals = np.eye(m)[labels] - p
    sums = np.einsum("nd,bnk->bdk", phi, residuals)
    found = (sums**2).sum(axis=(1, 2)) - np.einsum("n,bnk->b", (phi**2).sum(axis=1), residuals**2)
    return (1 + (found[1:] >= found[0] - 1e-9).sum()) / (draws + 1)


def measured(task):
    """Rates and spread of one setting."""
    (kind, rows, draws), repetitions, number = task
    rng = np.random.default_rng((5, number))
    rates, spread, expected = np.zeros((2, 2)), [], []
    for run in range(repetitions):
        p = predictions(kind, rows, rng)
        for wrong, shift in enumerate((0.0, 0.05 if rows > 100 else 0.2)):
            y = outcomes(p, rng, shift)
            rates[wrong] += by_turns(y, p, draws, run) <= LEVEL + 1e-9, independent(y, p, draws, rng) <= LEVEL + 1e-9
        if run < repetitions // 10:
            y = outcomes(p, rng, 0.0)
            values = np.array([by_turns(y, p, draws, seed) for seed in range(SEEDS)])
            spread.append(values.var(ddof=1))
            expected.append(values.mean() * (1 - values.mean()) / draws)
    kept = np.array(expected) > 0  # where every draw ties with what was observed nothing varies
    ratio = np.sum(np.array(spread)[kept]) / np.sum(np.array(expected)[kept]) if kept.any() else np.nan
    (level, level_independent), (power, power_independent) = rates / repetitions
    return {
        "predictions": kind,
        "rows": rows,
        "draws": draws,
        "level": f"{level:.3f}",
        "level, independent draws": f"{level_independent:.3f}",
        "power": f"{power:.3f}",
        "power, independent draws": f"{power_independent:.3f}",
        "spread": f"{ratio:.2f}",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=400)
    options = parser.parse_args()
    tasks = [(setting, options.repetitions, number) for number, setting in enumerate(SETTINGS)]
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(measured, tasks))
    with (outputs.tables() / "turns.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(rows)} settings; level at most {max(float(row['level']) for row in rows)}")


if __name__ == "__main__":
    main()
