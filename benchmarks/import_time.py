"""Time to import kernelcal, beside NumPy alone, each in fresh interpreters.

python benchmarks/import_time.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from common import machine

CODE = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def seconds(module, repeats=15):
    runs = [
        subprocess.run([sys.executable, "-c", CODE.format(module)], capture_output=True, text=True, check=True)
        for _ in range(repeats)
    ]
    return statistics.median(float(run.stdout) for run in runs)


if __name__ == "__main__":
    print(machine())
    ours, numpy = seconds("kernelcal"), seconds("numpy")
    print(f"import kernelcal {ours:.3f} s, import numpy alone {numpy:.3f} s")
