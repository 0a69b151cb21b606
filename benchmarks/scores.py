"""KCCSD test with 500 wild-bootstrap draws, d = 5: seconds and memory, beside a dense NumPy computation."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from real_targets import timed

import kernelcal as kc
from kernelcal.kernels import KernelFisherDivergence
from kernelcal.predictions import IsotropicNormal
from kernelcal.statistics import KCCSD

DIMENSION, DRAWS = 5, 500


def predictions(n: int) -> tuple[np.ndarray, IsotropicNormal]:
    """Isotropic normals of five numbers."""
    rng = np.random.default_rng(0)
    batch = IsotropicNormal(rng.normal(size=(n, DIMENSION)), np.ones(n))
    return batch.sample(rng)[0], batch


def dense(y: np.ndarray, mean: np.ndarray, target: float, ground: float, outer: float) -> np.ndarray:
    """Wild-bootstrap values from whole n x n arrays, base measure N(0, I), unit variances."""
    n, d = y.shape
    squared = ((y[:, None] - y[None]) ** 2).sum(-1)
    kernel = np.exp(-squared / (2 * target**2))
    score = mean - y
    difference = y[:, None] - y[None]
    cross = np.einsum("ijk,ijk->ij", score[:, None] - score[None], difference) / target**2
    stein = kernel * (score @ score.T + cross + d / target**2 - squared / target**4)
    factor = (ground**2 / (ground**2 + 2)) ** (d / 2)
    divergence = factor * ((mean[:, None] - mean[None]) ** 2).sum(-1)
    h = np.exp(-divergence / (2 * outer**2)) * stein
    np.fill_diagonal(h, 0)
    signs = 2.0 * np.random.default_rng(1).integers(0, 2, (n, DRAWS)) - 1
    return np.einsum("nb,nb->b", signs, h @ signs) / (n * (n - 1))


def figures(name: str, function: Callable[[], object], repeat: int) -> None:
    """Print the time of the first call, the best of some more, and memory."""
    start = time.perf_counter()
    function()
    first = time.perf_counter() - start
    seconds, extra = timed(function, repeat)
    print(f"{name}: {seconds:.3f} s (first call {first:.2f} s), {extra:.0f} MB extra", flush=True)


def at(n: int, repeat: int) -> None:
    """Print the figures for so many rows."""
    y, batch = predictions(n)
    metric = KernelFisherDivergence(kc.Gaussian(1.0), base="standard")
    fixed = KCCSD(prediction_kernel=kc.Gaussian(1.0, metric=metric), target_kernel=kc.Gaussian(1.0))
    median = KCCSD(prediction_kernel=kc.Gaussian(metric=metric), target_kernel=kc.Gaussian())
    options = {"null": "wild", "draws": DRAWS, "early_stopping": False}
    for name, statistic in (("median heuristic", median), ("fixed bandwidths", fixed)):
        test = partial(kc.calibration_test, y, batch, statistic=statistic, **options)
        figures(f"n = {n:,}, {name}", test, repeat)
    figures(f"n = {n:,}, dense NumPy arrays", partial(dense, y, batch.mean, 1.0, 1.0, 1.0), 1)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    for n in (2_000, 4_000):
        at(n, repeat)


if __name__ == "__main__":
    main()
