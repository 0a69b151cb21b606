"""Estimates and the exact test on one NVIDIA GPU, in single and double precision, beside the processor.

    python benchmarks/gpu.py                 # at most five minutes, unattended; writes gpu.json beside what it prints
    python benchmarks/gpu.py --minutes 2 --output result.json

Needs PyTorch with CUDA. Without a GPU it says so and ends with status 0. Every size is tried until the time is up or
the memory of the card is full, which is said in the table; what was measured before stands in the file.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from common import class_data, machine

import kernelcal as kc

SIZES = ((10_240, 10), (10_240, 100), (10_240, 1000), (40_960, 10), (40_960, 100), (102_400, 10))
KERNEL = kc.Laplacian(0.5)
REPEATS = 3


def card():
    """PyTorch and the name of the GPU, or why there is none."""
    try:
        import torch
    except ImportError:
        return None, "PyTorch is not installed: pip install torch"
    if not torch.cuda.is_available():
        return None, "PyTorch finds no NVIDIA GPU"
    return torch, torch.cuda.get_device_name(0)


def timed(torch, function):
    """Best seconds of some calls, waiting for the card, after one that is not counted; and the value."""
    value, seconds = function(), []
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        value = function()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds), value


def estimate(y, p):
    return float(kc.skce(y, p, prediction_kernel=KERNEL))


def test(y, p):
    return kc.calibration_test(y, p, draws=99, early_stopping=False).pvalue


def row(torch, name, n, m, function, y, p):
    """One line: the processor in float64, the card in float64 and float32, and how far the values are apart."""
    function(y[:300], p[:300])  # what is loaded on first use is not counted
    start = time.perf_counter()
    expected = function(y, p)
    found = {"what": name, "rows": n, "classes": m, "processor float64": time.perf_counter() - start}
    for kind in ("float64", "float32"):
        try:
            there = torch.as_tensor(p, dtype=getattr(torch, kind), device="cuda")
            torch.cuda.reset_peak_memory_stats()
            seconds, value = timed(torch, lambda there=there: function(y, there))
        except torch.cuda.OutOfMemoryError:
            found[f"card {kind}"] = None
            torch.cuda.empty_cache()
            continue
        found[f"card {kind}"] = seconds
        found[f"memory {kind}, MB"] = torch.cuda.max_memory_allocated() / 2**20
        found[f"off {kind}"] = abs(value - expected) / abs(expected)
        del there
    return found


def shown(found):
    """A line of the table."""
    cells = []
    for kind in ("float64", "float32"):
        seconds = found.get(f"card {kind}")
        if seconds is None:
            cells.append("memory is full")
            continue
        ratio, off = found["processor float64"] / seconds, found[f"off {kind}"]
        cells.append(f"{seconds:.4f} s, {ratio:.0f} times as fast, off by {off:.0e}")
    return f"| {found['what']}, {found['rows']:,} x {found['classes']} | {found['processor float64']:.3f} s | " + (
        " | ".join(cells) + " |"
    )


def measured(torch, name, until):
    """All lines, as far as the time goes."""
    print(f"| {name} | processor, float64 | card, float64 | card, float32 |\n|---|---|---|---|", flush=True)
    for what, function in (("SKCE", estimate), ("default test, 99 draws", test)):
        longest = 0.0
        for n, m in SIZES:
            if time.perf_counter() + 2 * longest > until:
                print(f"| {what}, {n:,} x {m} | not measured: the time is up | | |", flush=True)
                continue
            start = time.perf_counter()
            y, p = class_data(n, m, 0.3 if m < 1000 else 0.05)
            found = row(torch, what, n, m, function, y, p)
            longest = max(longest, time.perf_counter() - start)
            print(shown(found), flush=True)
            yield found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--output", type=Path, default=Path("gpu.json"))
    options = parser.parse_args(arguments)
    torch, name = card()
    if torch is None:
        print(f"{name}: nothing was measured")
        return 0
    print(f"{machine()}; {name}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    rows = []
    for found in measured(torch, name, time.perf_counter() + 60 * options.minutes - 30):
        rows.append(found)
        known = {"machine": machine(), "card": name, "torch": torch.__version__, "numpy": np.__version__}
        options.output.write_text(json.dumps({**known, "rows": rows}, indent=1) + "\n")
    print(f"written to {options.output}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
