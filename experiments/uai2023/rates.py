"""Figure 1: how often KCCSD and SKCE reject at 5 %, beside rates that were computed with the authors' code."""

from __future__ import annotations

import numpy as np
from common import LEVEL, at_level, kernels, published, rates_agree, wild, write
from models import seeded

import kernelcal as kc
from kernelcal.statistics import KCCSD

SIZES = (25, 50, 100, 200)
DELTAS = {"MGM d=5": (0.0, 0.1, 0.3), "LGM": (0.0, 0.2), "HGM": (0.0, 0.3, 1.0), "QGM": (0.0, 0.5, 1.0)}
STATISTICS = {"kccsd": KCCSD, "skce": kc.SKCE}
TESTS = [("kccsd", k) for k in ("exp_gfd", "exp_kgfd", "exp_w2", "exp_mmd")] + [("skce", "exp_w2"), ("skce", "exp_mmd")]


def pvalues(cell):
    """P-values of all tests on one data set."""
    y, predictions = seeded(*cell)
    ours, target_kernel = kernels(y, predictions, sorted({kernel for _, kernel in TESTS}))
    engine = kc.ExactPairs(threads=1)
    return [
        wild(
            y,
            predictions,
            STATISTICS[test](prediction_kernel=ours[kernel], target_kernel=target_kernel, engine=engine),
            cell[-1],
        )
        for test, kernel in TESTS
    ]


def simulate(repetitions, sizes=SIZES, deltas=DELTAS):
    """Numbers of rejections of all tests, keyed by (model, delta, n)."""
    rejections = {}
    for model, chosen in deltas.items():
        for delta in chosen:
            for n in sizes:
                p = np.array([pvalues((model, delta, n, k)) for k in range(repetitions)])
                rejections[model, delta, n] = (p <= LEVEL).sum(axis=0).tolist()
                print(model, delta, n, rejections[model, delta, n], flush=True)
    return rejections


def compared(rejections, repetitions):
    """One row a cell and test: our rate, theirs, whether they agree, and whether the level is kept."""
    theirs, rows = published(), []
    for (model, delta, n), counts in rejections.items():
        for (test, kernel), count in zip(TESTS, counts, strict=True):
            rate = theirs.get((model, test, kernel, delta, n))
            agrees = rates_agree(count, repetitions, *rate) if rate else ""
            level = at_level(count, repetitions) if delta == 0 else ""
            rows.append([model, delta, n, test, kernel, count / repetitions, rate[0] if rate else "", agrees, level])
    return rows


def pivoted(rows):
    """A line a model, delta and test, a column a number of rows: our rate, then that of the authors' code."""
    sizes = list(dict.fromkeys(row[2] for row in rows))
    lines = {}
    for model, delta, _, test, kernel, *cell in rows:
        lines.setdefault((model, delta, test.upper(), kernel.replace("_", " ")), []).append(_shown(*cell))
    return ["model", "delta", "test", "kernel", *(f"n = {n}" for n in sizes)], [[*k, *v] for k, v in lines.items()]


def _shown(rate, theirs, agrees, level):
    text = f"{rate:.2f}" + (" †" if level is False else "")
    return text if theirs == "" else f"{text} / {theirs:.2f}" + (" \\*" if agrees is False else "")


def verdict(rows):
    """Sentences of the check, and whether it failed: a check that could not fail says so and counts as none."""
    both = [row[7] for row in rows if row[7] != ""]
    level = [row[8] for row in rows if row[8] != ""]
    words = []
    for name, found in (
        ("rates of the authors' code agree with ours", both),
        ("calibrated models at the level", level),
    ):
        told = [answer for answer in found if answer is not None]
        words.append(f"{sum(told)} of {len(told)} {name}")
        if len(told) < len(found):
            words.append(f"{len(found) - len(told)} were not checked: so few data sets cannot disagree")
    return words, any(answer is False for answer in both + level)


def main(options):
    rows = compared(simulate(options.repetitions), options.repetitions)
    header, lines = pivoted([row for row in rows if row[1] == 0])
    write("level", [header[0], *header[2:]], [[line[0], *line[2:]] for line in lines])
    write("power", *pivoted([row for row in rows if row[1] != 0]))
    words, failed = verdict(rows)
    print("\n".join(words))
    return 1 if failed else 0
