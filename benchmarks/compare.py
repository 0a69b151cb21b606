"""Measure some jobs into a file, and compare two such files: what became slower by more than noise?

    python benchmarks/compare.py --measure before.json       # on one commit
    python benchmarks/compare.py --measure after.json        # on another, on the same machine
    python benchmarks/compare.py before.json after.json      # a table; exit status 1 where something became slower

The time of the processor is compared, which other work changes less than the clock. Jobs take turns, so that a busy
minute falls on all of them. A job is called slower where the ratio of the medians exceeds 1 by more than 5 % and by
more than three of its standard errors, those of medians from the median deviations of both files.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np

LEAST = 0.05  # slower by less is not told
ERRORS = 3.0
_NORMAL = 1.4826 * math.sqrt(math.pi / 2)  # standard error of a median, from the median deviation, times root n


def jobs():
    """Name and function of what is measured, the data made before."""
    from common import class_data

    import kernelcal as kc

    rng = np.random.default_rng(0)
    y, p = class_data(5_000, 10)
    sharp = p**1.3 / (p**1.3).sum(axis=1, keepdims=True)
    y2, p2 = class_data(20_000, 2)
    y100, p100 = class_data(4_000, 100)
    mean, std = rng.normal(0, 2, 4_000), rng.uniform(0.5, 2, 4_000)
    numbers, outcomes = kc.Normal(mean, std), rng.normal(mean, 1.1 * std)
    kernel = kc.Laplacian(0.5)
    return {
        "skce, 5,000 x 10": lambda: kc.skce(y, p, prediction_kernel=kernel),
        "skce, 4,000 x 100": lambda: kc.skce(y100, p100, prediction_kernel=kernel),
        "skce, 20,000 x 2": lambda: kc.skce(y2, p2, prediction_kernel=kernel),
        "skce of numbers, 4,000": lambda: kc.skce(outcomes, numbers),
        "default test, 5,000 x 10, 199 draws": lambda: kc.calibration_test(y, sharp, draws=199, early_stopping=False),
        "default test of numbers, 4,000, 199 draws": lambda: kc.calibration_test(
            outcomes, numbers, draws=199, early_stopping=False
        ),
        "interval, 5,000 x 10": lambda: kc.confidence_interval(y, p, method="root"),
        "ece, 5,000 x 10": lambda: kc.ece(y, p),
    }


def measure(path, repeats):
    """Write the times of every job, in turns, the first turn left out."""
    from common import machine

    work = jobs()
    seconds = {name: [] for name in work}
    for turn in range(repeats + 1):
        for name, job in work.items():
            start = time.process_time()
            job()
            if turn:
                seconds[name].append(time.process_time() - start)
    path.write_text(json.dumps({"machine": machine(), "seconds": seconds}, indent=1) + "\n")
    for name, times in seconds.items():
        print(f"{name}: {np.median(times):.4f} s")


def spread(times):
    """Median, and its standard error as a share of it."""
    middle = float(np.median(times))
    error = _NORMAL * float(np.median(np.abs(np.asarray(times) - middle))) / math.sqrt(len(times))
    return middle, error / middle if middle > 0 else 0.0


def verdict(before, after):
    """Ratio of the medians, its standard error, and 'slower', 'faster' or 'alike'."""
    (first, one), (second, two) = spread(before), spread(after)
    ratio = second / first
    error = ratio * math.hypot(one, two)
    if ratio - 1 > max(LEAST, ERRORS * error):
        return ratio, error, "slower"
    if 1 / ratio - 1 > max(LEAST, ERRORS * error / ratio**2):
        return ratio, error, "faster"
    return ratio, error, "alike"


def compared(before, after):
    """Lines of the table, and whether something became slower."""
    lines, slower = ["| job | before | after | ratio | |", "|---|---|---|---|---|"], False
    if before["machine"] != after["machine"]:
        lines.insert(0, f"the machines differ: {before['machine']} and {after['machine']}\n")
    for name in before["seconds"]:
        if name not in after["seconds"]:
            lines.append(f"| {name} | | not measured | | |")
            continue
        ratio, error, word = verdict(before["seconds"][name], after["seconds"][name])
        slower |= word == "slower"
        one, two = (float(np.median(found["seconds"][name])) for found in (before, after))
        lines.append(f"| {name} | {one:.4f} s | {two:.4f} s | {ratio:.2f} +- {error:.2f} | {word} |")
    return lines, slower


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="result files: before and after")
    parser.add_argument("--measure", type=Path, help="measure into this file")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args(arguments)
    if options.measure is not None:
        measure(options.measure, options.repeats)
        return 0
    if len(options.files) != 2:
        parser.error("two result files are compared: python benchmarks/compare.py before.json after.json")
    lines, slower = compared(*(json.loads(path.read_text()) for path in options.files))
    print("\n".join(lines))
    return int(slower)


if __name__ == "__main__":
    raise SystemExit(main())
