"""Speed and memory of the unbiased SKCE, as ratios in one run.

    python benchmarks/skce.py

Compares with a dense NumPy implementation (n x n arrays), with one matrix product P P', and, where a compiler and
the reference loop are present, with a fused C++ loop that does the same sum.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from common import best, class_data, machine, peak_memory

import kernelcal as kc

FUSED = Path(__file__).resolve().parents[2] / "shared" / "limit" / "fused.cpp"
KERNEL = kc.Laplacian(0.5)


def dense(y, p):
    """Textbook NumPy: three n x n arrays."""
    squares = (p * p).sum(axis=1)
    distance = np.sqrt(np.maximum(squares[:, None] + squares - 2 * p @ p.T, 0))
    r = np.eye(p.shape[1])[y] - p
    h = np.exp(-distance / KERNEL.lengthscale) * (r @ r.T)
    return (h.sum() - np.trace(h)) / (len(p) * (len(p) - 1))


def ours(y, p):
    return float(kc.skce(y, p, prediction_kernel=KERNEL))


def fused_loop():
    """Compile the reference loop; None where that is not possible."""
    if not FUSED.exists() or not shutil.which("g++"):
        return None
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # else its threads go on in circles while ours are measured
    library = Path(tempfile.mkdtemp()) / "libfused.so"
    flags = ["-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, str(FUSED), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).full_small
    function.restype = ctypes.c_double

    def run(y, p):
        n, m = p.shape
        labels = y.astype(np.int32)
        pointers = (ctypes.c_void_p(p.ctypes.data), ctypes.c_void_p(labels.ctypes.data))
        sizes = (ctypes.c_long(n), ctypes.c_long(m), ctypes.c_double(-1 / KERNEL.lengthscale), ctypes.c_long(512))
        return function(*pointers, *sizes) / (n * (n - 1))

    return run


def small_problem():
    y, p = class_data(10_000, 10)
    kc.skce(y[:100], p[:100], prediction_kernel=KERNEL)
    before = peak_memory()
    seconds, value = best(lambda: ours(y, p), 7)
    extra = peak_memory() - before
    first, expected = best(lambda: dense(y, p), 1)
    warm, _ = best(lambda: dense(y, p), 3)
    print(
        f"n = 10,000, m = 10: {seconds:.3f} s, {extra:.0f} MB extra; values differ by {abs(value / expected - 1):.1e}"
    )
    print(f"  dense, first call: {first:.2f} s, {first / seconds:.0f} times as long")
    print(f"  dense, later calls, memory given out already: {warm:.2f} s, {warm / seconds:.0f} times as long")
    fused = fused_loop()
    if fused is None:
        print("  no compiler or no reference loop: the ratio to a fused C++ loop is not shown")
        return
    for m in (2, 10, 100):
        y, p = class_data(10_240, m)
        ours_seconds, value = best(lambda y=y, p=p: ours(y, p), 5)
        fused_seconds, expected = best(lambda y=y, p=p: fused(y, p), 5)
        print(
            f"  n = 10,240, m = {m}: ours {ours_seconds:.3f} s, fused C++ loop {fused_seconds:.3f} s: "
            f"{fused_seconds / ours_seconds:.0%} of its speed; values differ by {abs(value / expected - 1):.1e}"
        )


def many_classes():
    y, p = class_data(10_000, 1000, 0.05)
    product, _ = best(lambda: float((p @ p.T)[0, 0]), 5)
    seconds, _ = best(lambda: ours(y, p), 5)
    exponentials, _ = best(lambda: float(np.exp(-np.sqrt(np.ones((1000, 1000)))).sum()), 5)
    exponentials *= 50  # n^2 / 2 of them
    print(
        f"n = 10,000, m = 1,000: {seconds:.2f} s; one product P P' {product:.2f} s, exponentials {exponentials:.2f} s"
    )
    print(f"  {seconds / product:.2f} products")


if __name__ == "__main__":
    print(machine())
    small_problem()
    many_classes()
