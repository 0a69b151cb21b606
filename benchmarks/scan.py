"""Exact sums over all pairs of one probability, and of repeated predictions: seconds, memory, growth, ratios.

python benchmarks/scan.py [--quick]
"""

from __future__ import annotations

import argparse

import numpy as np
from common import best, in_new_process, machine

import kernelcal as kc
from kernelcal.pairs import ExactPairs, scan
from kernelcal.pairs.tile_sums import FeatureTiles
from kernelcal.residuals import ClassResidual

DRAWS = 999
DATA = """
import numpy as np, kernelcal as kc
p = np.random.default_rng(0).uniform(size={n})
y = (np.random.default_rng(1).uniform(size={n}) < p).astype(int)
"""
JOBS = {
    "data alone": "",
    "SKCE": "print(kc.skce(y, p).engine)",
    "SKCE, Matern52": "print(kc.skce(y, p, prediction_kernel=kc.Matern52()).engine)",
    "saddlepoint": "kc.calibration_test(y, p, statistic='skce', null='saddlepoint')",
    "root interval": "kc.confidence_interval(y, p, method='root', pvalue=0.01)",
    "exact test of one kernel": "kc.calibration_test(y, p, statistic='skce', early_stopping=False)",
    "default test": "kc.calibration_test(y, p, early_stopping=False)",
    "evaluate": "kc.evaluate(y, p, early_stopping=False)",
}


def whole(n, names):
    """Seconds and memory of whole processes, the making of the data and imports included."""
    found = {}
    for name in names:
        _, seconds, peak = in_new_process(DATA.format(n=n) + JOBS[name])
        found[name] = seconds
        print(f"{name}, n = {n:,}: {seconds:.2f} s, {peak:,.0f} MB (whole process)", flush=True)
    return found


def growth(smaller, larger):
    """Print how much longer four times as many rows take, without imports and data."""
    for name in set(smaller) & set(larger) - {"data alone"}:
        few, many = (times[name] - times["data alone"] for times in (smaller, larger))
        print(f"{name}: four times as many rows take {many / few:.1f} times as long", flush=True)


def against_tiles(n=20_000, draws=32):
    """One set of targets and a draw, by a scan and by tiles of pairs, in one run."""
    p = np.random.default_rng(0).uniform(size=n)
    batch = kc.Bernoulli(p)
    labels = batch.sample(1, draws)
    residual = ClassResidual.of(batch, kc.Dirac())
    for kernel in (kc.Laplacian(0.3), kc.Matern52(0.3)):
        scan = ExactPairs().prepare([kernel], batch, residual)
        tiles = FeatureTiles((256, 1024), None, (kernel,), batch, residual)
        for name, method, sets in (("one set of targets", "of", labels[0]), (f"{draws} draws", "batch", labels)):
            ours, a = best(lambda forms=scan, method=method, sets=sets: getattr(forms, method)(sets), 5)
            theirs, b = best(lambda forms=tiles, method=method, sets=sets: getattr(forms, method)(sets), 2)
            error = np.abs(a.off_diagonal - b.off_diagonal).max() / n**2
            print(
                f"{type(kernel).__name__}, n = {n:,}, {name}: scan {ours * 1e3:.1f} ms, tiles {theirs * 1e3:.0f} ms "
                f"({theirs / ours:.0f} times as long), differing by {error:.0e} a pair",
                flush=True,
            )


def repeated(n=20_000, unique=100, m=10):
    """Predictions of ten classes that repeat, collapsed and row by row."""
    rng = np.random.default_rng(0)
    batch = kc.Categorical(rng.dirichlet(np.ones(m), unique)[rng.integers(unique, size=n)])
    labels = batch.sample(1, 8)
    residual = ClassResidual.of(batch, kc.Dirac())
    few = ExactPairs().prepare([kc.Laplacian(0.3)], batch, residual)
    rows = FeatureTiles((256, 1024), None, (kc.Laplacian(0.3),), batch, residual)
    ours, _ = best(lambda: few.batch(labels), 3)
    theirs, _ = best(lambda: rows.batch(labels), 1)
    print(f"{few.label} among {n:,}, 8 draws: {ours * 1e3:.1f} ms, all rows {theirs / ours:.0f} times as long")


def crossover():
    """Rows from which on a scan is quicker than one tile."""
    for n in (500, 1_000, 2_000, 4_000):
        batch = kc.Bernoulli(np.random.default_rng(0).uniform(size=n))
        residual, labels = ClassResidual.of(batch, kc.Dirac()), batch.sample(1, 99)
        tiles = FeatureTiles((256, 1024), None, (kc.Laplacian(0.3),), batch, residual)
        forms = scan.ScanForms(tiles, np.asarray(batch.p))
        parts = []
        for method, sets in (("of", labels[0]), ("batch", labels)):
            ours, theirs = (best(lambda f=f, m=method, s=sets: getattr(f, m)(s), 7)[0] for f in (forms, tiles))
            parts.append(f"{method} {theirs / ours:.1f}")
        print(f"n = {n:,}: time of tiles over that of a scan: {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    quick = parser.parse_args().quick
    print(machine())
    crossover()
    against_tiles()
    repeated()
    names = list(JOBS)[:5] if quick else list(JOBS)
    million = whole(1_000_000, names)
    growth(million, whole(4_000_000, names[:5]))
    whole(10_000_000, ["data alone", "SKCE"])
