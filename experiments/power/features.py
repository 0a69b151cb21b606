"""Power of the default test of classes over all pairs, with Nystrom features, and with those that hold 99.9 %.

    python experiments/power/features.py              # 60 data sets a line: some minutes on one core
    python experiments/power/features.py --sets 5 --output /tmp/look

The three see the same data sets and the same draws. Written: features.csv, with the shares rejected at 5 % by the
family and by its member of the kernels alone, and in how many data sets the verdict of the family is another one.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

import kernelcal as kc
from kernelcal.inference import DefaultFamily

ENGINES = {"pairs": kc.ExactPairs(), "features": kc.Nystrom(256), "99.9 %": kc.Nystrom(256, share=0.999)}
DRAWS, LEVEL = 99, 0.05
SIZES = ((1500, 3), (2000, 10))


def sharper(p, exponent):
    q = p**exponent
    return q / q.sum(axis=1, keepdims=True)


def waves(p):
    """Outcomes of the first two classes trade places in waves of the first probability, which no mean shows."""
    move = np.minimum(p[:, 0], p[:, 1]) * 0.5 * np.sin(10 * np.pi * p[:, 0])
    q = p.copy()
    q[:, 0] += move
    q[:, 1] -= move
    return q


TRUTHS = {
    "calibrated": lambda p: p,
    "slope 0.93": lambda p: sharper(p, 0.93),
    "slope 1.07": lambda p: sharper(p, 1.07),
    "waves": waves,
    "one class too seldom": lambda p: sharper(p * np.r_[1.2, np.ones(p.shape[1] - 1)], 1.0),
}


def pvalues(n, m, truth, seed):
    """P-values of the family and of its kernels, for every engine: shape (engines, 2)."""
    rng = np.random.default_rng([seed, n, m, *truth.encode()])
    p = rng.dirichlet(np.full(m, 0.7), n)
    y = (TRUTHS[truth](p).cumsum(axis=1)[:, :-1] < rng.uniform(size=(n, 1))).sum(axis=1)
    found = []
    for engine in ENGINES.values():
        test = kc.calibration_test(
            y, p, statistic=DefaultFamily(engine=engine), draws=DRAWS, early_stopping=False, rng=seed
        )
        kernels = next(member.pvalue for member in test.members if member.name.startswith("kernels"))
        found.append((test.pvalue, kernels))
    return np.array(found)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parent)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    rows = []
    for n, m in SIZES:
        for truth in TRUTHS:
            found = np.array([pvalues(n, m, truth, seed) for seed in range(options.sets)]) <= LEVEL
            shares = found.mean(axis=0)
            row = {"rows": n, "classes": m, "truth": truth, "sets": options.sets}
            for k, name in enumerate(ENGINES):
                row[f"family, {name}"], row[f"kernels, {name}"] = (f"{value:.3f}" for value in shares[k])
            row["other verdicts"] = int((found[:, 2, 0] != found[:, 0, 0]).sum())
            rows.append(row)
            print(*row.values(), flush=True)
    with (options.output / "features.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
