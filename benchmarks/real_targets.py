"""SKCE and bootstrap test of predictions of numbers: seconds and memory, beside a dense NumPy computation."""

from __future__ import annotations

import argparse
import time
import tracemalloc

import numpy as np

import kernelcal as kc


def predictions(n: int, d: int) -> tuple[np.ndarray, kc.Normal]:
    """Normals of one number, or of d numbers with a diagonal covariance."""
    rng = np.random.default_rng(0)
    if d == 1:
        batch = kc.Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))
    else:
        batch = kc.MultivariateNormal.diagonal(rng.normal(size=(n, d)), rng.uniform(0.5, 2, (n, d)))
    return batch.sample(rng)[0], batch


def dense(y: np.ndarray, m: np.ndarray, s: np.ndarray, lengthscale: float, target: float) -> float:
    """Unbiased SKCE of scalar normals with whole n x n arrays."""

    def mean(difference: np.ndarray, variance: np.ndarray) -> np.ndarray:
        total = target**2 + variance
        return target / np.sqrt(total) * np.exp(-0.5 * difference**2 / total)

    k = np.exp(-np.hypot(np.subtract.outer(m, m), np.subtract.outer(s, s)) / lengthscale)
    v = s * s
    r = np.exp(-0.5 * np.subtract.outer(y, y) ** 2 / target**2) + mean(np.subtract.outer(m, m), np.add.outer(v, v))
    one = mean(np.subtract.outer(m, y), v[:, None])
    h = k * (r - one - one.T)
    np.fill_diagonal(h, 0)
    return float(h.sum() / (len(y) * (len(y) - 1)))


def timed(function, repeat: int) -> tuple[float, float]:
    """Least seconds of some runs, and peak extra memory in MB of one more."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return min(seconds), peak / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    for n, d in ((10_000, 1), (10_000, 10)):
        y, batch = predictions(n, d)
        statistic = kc.SKCE(prediction_kernel=kc.Laplacian(1.0), target_kernel=kc.Gaussian(1.0))
        seconds, memory = timed(lambda s=statistic, y=y, b=batch: s(y, b), repeat)
        print(f"SKCE unbiased, n = {n:,}, d = {d}: {seconds:.2f} s, {memory:.0f} MB extra")
    y, batch = predictions(4_000, 1)
    ours, _ = timed(lambda: float(statistic(y, batch)), repeat)
    whole, memory = timed(lambda: dense(y, batch.mean, batch.std, 1.0, 1.0), repeat)
    print(f"SKCE n = 4,000: {ours:.3f} s, dense NumPy {whole:.3f} s with {memory:.0f} MB, ratio {whole / ours:.1f}")
    for d in (1, 10):
        y, batch = predictions(1_024, d)
        run = lambda y=y, b=batch: kc.calibration_test(y, b, statistic=statistic, null="bootstrap", draws=1_000)  # noqa: E731
        seconds, memory = timed(run, max(repeat, 5))
        print(f"bootstrap test, 1,000 draws, n = 1,024, d = {d}: {seconds:.3f} s, {memory:.0f} MB extra")
    for n in (1_000, 10_000, 100_000):
        y, batch = predictions(n, 1)
        run = lambda y=y, b=batch: kc.calibration_test(y, b, early_stopping=False)  # noqa: E731
        seconds, memory = timed(run, 1)
        print(f"default test, 999 draws, n = {n:,}, d = 1: {seconds:.1f} s, {memory:.0f} MB extra")


if __name__ == "__main__":
    main()
