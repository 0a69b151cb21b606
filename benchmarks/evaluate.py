"""Time and memory of the whole main job, each in a process of its own.

python benchmarks/evaluate.py            # 10,000 x 10 csv
python benchmarks/evaluate.py --large    # also 50,000 x 1,000 float32 npz: two minutes
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from common import class_data, in_new_process, machine


def sharpened(p, exponent=1.3):
    """Over-confident predictions: the test has to make all its draws."""
    q = p**exponent
    return q / q.sum(axis=1, keepdims=True)


def run(path, what):
    code = f"from kernelcal.cli import main; main(['evaluate', {str(path)!r}])"
    text, seconds, peak = in_new_process(code)
    lines = [line for line in text.splitlines() if line.startswith(("p-value", "engines", "seconds"))]
    print(f"{what}: {seconds:.1f} s, peak {peak:.0f} MB\n  " + "\n  ".join(lines), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for name, exponent in (("calibrated", 1.0), ("over-confident", 1.3)):
            y, p = class_data(10_000, 10)
            path = Path(folder) / f"{name}.csv"
            header = "label," + ",".join(f"p{k}" for k in range(10))
            rows = np.column_stack([y, sharpened(p, exponent)])
            np.savetxt(path, rows, fmt=["%d"] + ["%.9g"] * 10, delimiter=",", header=header, comments="")
            run(path, f"evaluate, 10,000 x 10 csv, {name}")
        if options.large:
            y, p = class_data(50_000, 1000, 0.1, np.float32)
            path = Path(folder) / "large.npz"
            np.savez(path, probabilities=sharpened(p, np.float32(1.3)), labels=y)
            del p
            run(path, "evaluate, 50,000 x 1,000 float32 npz, over-confident")


if __name__ == "__main__":
    main()
