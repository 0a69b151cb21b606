"""What the benchmarks share: data, best of several runs, and memory of a process of its own."""

from __future__ import annotations

import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np


def best(function, repeats=5):
    """Shortest wall time of several runs, in seconds, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def class_data(n, m, concentration=0.3, dtype=np.float64, seed=0):
    """Dirichlet predictions and labels drawn from them."""
    rng = np.random.default_rng(seed)
    p = rng.standard_gamma(concentration, (n, m), dtype=dtype) + np.finfo(dtype).tiny
    p /= p.sum(axis=1, keepdims=True)
    y = np.empty(n, dtype=np.int64)
    for start in range(0, n, 1000):
        part = np.cumsum(p[start : start + 1000], axis=1, dtype=np.float64)
        y[start : start + 1000] = (part < rng.random((len(part), 1)) * part[:, -1:]).sum(axis=1)
    return y, p


def peak_memory():
    """Largest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_new_process(code):
    """Run code in a fresh interpreter; returns its output, wall seconds and peak memory in MB."""
    wrapped = f"{code}\nimport resource; print('PEAK', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    start = time.perf_counter()
    out = subprocess.run([sys.executable, "-c", wrapped], capture_output=True, text=True, check=True).stdout
    seconds = time.perf_counter() - start
    text, peak = out.rsplit("PEAK", 1)
    return text.strip(), seconds, float(peak)


def machine():
    """One line about where this runs."""
    import os

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), platform.machine())
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}"
