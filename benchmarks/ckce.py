"""CKCE: exact, random Fourier features, incomplete Cholesky; its bootstrap, and a comparison of models."""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from common import best, class_data, in_new_process

import kernelcal as kc
from kernelcal.statistics.conditional import ConditionalEngine as Engine

CASES = {
    "exact, n = 4,000, m = 10": (kc.ExactPairs(), 4_000, 10),
    "Fourier, D = 100, n = 50,000, m = 10": (kc.RandomFourier(100), 50_000, 10),
    "Fourier, D = 100, n = 50,000, m = 1,000": (kc.RandomFourier(100), 50_000, 1_000),
    "incomplete Cholesky, n = 20,000, m = 10": (kc.IncompleteCholesky(), 20_000, 10),
}


def one(engine: Engine, n: int, m: int, repeat: int) -> None:
    """Print the best of some runs, data made before."""
    y, p = class_data(n, m)
    seconds, value = best(partial(kc.ckce, y, p, engine=engine), repeat)
    print(f"  {seconds:.2f} s, {value.engine}, value {float(value):.6g}", flush=True)


def memory(engine: Engine, n: int, m: int) -> None:
    """Print the peak memory of a process that makes the data and computes the value once, and without computing it."""
    code = f"import sys; sys.path.insert(0, 'benchmarks'); from common import class_data; y, p = class_data({n}, {m}); "
    _, _, data = in_new_process(code + "import kernelcal as kc")
    _, _, peak = in_new_process(code + f"import kernelcal as kc; kc.ckce(y, p, engine=kc.{engine!r})")
    print(f"  peak memory {peak:,.0f} MB, of which data and libraries {data:,.0f} MB", flush=True)


def bootstrap(n: int, engine: Engine) -> None:
    """Print the time of an interval beside that of the estimate."""
    y, p = class_data(n, 10)
    statistic = kc.CKCE(engine=engine)
    own, _ = best(partial(statistic, y, p), 2)
    seconds, _ = best(partial(kc.confidence_interval, y, p, statistic=statistic, pvalue=0.5), 1)
    print(
        f"interval, {type(engine).__name__}, n = {n:,}, 999 draws: {seconds:.2f} s, {seconds / own:.1f} estimates",
        flush=True,
    )


def comparison(n: int) -> None:
    """Print the time of a comparison of four models beside four evaluations."""
    y, p = class_data(n, 10)
    models = {str(power): p**power / (p**power).sum(axis=1, keepdims=True) for power in (0.8, 1.0, 1.2, 1.5)}
    alone, _ = best(lambda: [kc.evaluate(y, q) for q in models.values()], 1)
    seconds, _ = best(partial(kc.compare, y, models), 1)
    print(f"compare, 4 models, n = {n:,}: {seconds:.1f} s, {seconds / alone:.1f} times four evaluations", flush=True)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    for name, case in CASES.items():  # first: a new process counts what this one has held
        print(name, flush=True)
        memory(*case)
    for name, case in CASES.items():
        print(name, flush=True)
        one(*case, repeat)
    dense = np.random.default_rng(0).normal(size=(4_000, 4_000))
    dense = dense @ dense.T + 4_000 * np.eye(4_000)
    seconds, _ = best(partial(np.linalg.cholesky, dense), repeat)
    print(f"numpy.linalg.cholesky of 4,000 x 4,000 values: {seconds:.2f} s", flush=True)
    bootstrap(2_000, kc.ExactPairs())
    bootstrap(10_000, kc.IncompleteCholesky())
    comparison(10_000)


if __name__ == "__main__":
    main()
