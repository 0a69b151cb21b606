"""A report on 10,000 rows and ten classes, over-confident, with groups: seconds and size of the page."""

import argparse
import os
import time

import numpy as np
from common import class_data, machine, peak_memory

from kernelcal.reporting import report


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=10)
    options = parser.parse_args()
    y, p = class_data(options.rows, options.classes)
    sharper = p**1.3 / (p**1.3).sum(axis=1, keepdims=True)
    groups = {"site": np.arange(options.rows) % 5}
    print(machine())
    start, busy = time.perf_counter(), time.process_time()
    found = report(y, sharper, groups=groups)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    size = len(found.to_html().encode()) / 1e6
    print(f"{options.rows:,} x {options.classes}: {seconds:.1f} s on the clock, {busy:.1f} s of the processor")
    print(f"page {size:.2f} MB, peak memory {peak_memory():.0f} MB, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
