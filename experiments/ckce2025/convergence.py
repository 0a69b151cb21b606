"""Relative errors of the low-rank forms of CKCE, against frequencies, rank and tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from common import networks, write
from simulation import data_set

from kernelcal import IncompleteCholesky, RandomFourier
from kernelcal.statistics import CKCE, brier_score

FREQUENCIES, SEEDS = (10, 20, 50, 100, 200, 500, 1000), 20
RANKS = (1, 2, 4, 8, 16, 32, 64, 128)
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
NETWORK, ROWS = "resnet18", 2000


def subjects():
    """Data sets by name."""
    found = {"simulated": data_set(-0.5, 0)}
    if known := networks():
        labels, predictions = known[NETWORK]
        found["network"] = (labels[:ROWS], predictions[:ROWS])
    return found


def fourier_errors(y, predictions, sizes=FREQUENCIES, seeds=SEEDS):
    """Relative errors, shape (sizes, seeds)."""
    fixed = CKCE().resolved(predictions)
    exact = float(fixed(y, predictions))
    found = [[float(replace(fixed, engine=RandomFourier(d, k))(y, predictions)) for k in range(seeds)] for d in sizes]
    return np.array(found) / exact - 1


def slope(sizes, errors):
    """Slope of the root mean square error over the seeds against the number of frequencies, both as logarithms."""
    return float(np.polyfit(np.log(sizes), np.log((errors**2).mean(axis=1)) / 2, 1)[0])


def cholesky_errors(y, predictions, options):
    """Relative errors, one for each dictionary of options of `IncompleteCholesky`."""
    fixed = CKCE().resolved(predictions)
    exact = float(fixed(y, predictions))
    engines = [IncompleteCholesky(**chosen) for chosen in options]
    return [abs(float(replace(fixed, engine=engine)(y, predictions)) / exact - 1) for engine in engines]


def bounds(y, predictions, tolerances=TOLERANCES):
    """Stated bound of the error, ``3 tolerance tr(K) tr(R) / (lambda n)^2``, relative to the exact value."""
    fixed, n = CKCE().resolved(predictions), len(y)
    trace = (np.asarray(predictions.probabilities) ** 2).sum() + n  # of kernel (8): p.p + 1
    errors = n * brier_score(y, predictions)  # tr(R) with the Kronecker kernel
    scale = 3 * trace * errors / (fixed.regularization * n) ** 2 / float(fixed(y, predictions))
    return [t * scale for t in tolerances]


def lines_of(name, y, predictions):
    """A line a method and size: root mean square error over the seeds, largest error, bound."""
    errors = fourier_errors(y, predictions)
    for d, row in zip(FREQUENCIES, errors, strict=True):
        yield [name, "frequencies", d, f"{np.sqrt((row**2).mean()):.3e}", f"{abs(row).max():.3e}", ""]
    print(f"{name}: slope against the number of frequencies {slope(FREQUENCIES, errors):.2f}")
    by_rank = [{"rank": r, "tolerance": 1e-15} for r in RANKS]
    for r, error in zip(RANKS, cholesky_errors(y, predictions, by_rank), strict=True):
        yield [name, "rank", r, f"{error:.3e}", f"{error:.3e}", ""]
    by_tolerance = cholesky_errors(y, predictions, [{"tolerance": t} for t in TOLERANCES])
    for t, error, bound in zip(TOLERANCES, by_tolerance, bounds(y, predictions), strict=True):
        yield [name, "tolerance", f"{t:g}", f"{error:.3e}", f"{error:.3e}", f"{bound:.3e}"]


def main(options):
    rows = [line for name, data in subjects().items() for line in lines_of(name, *data)]
    write("convergence", ["data", "against", "size", "error", "largest error", "bound"], rows)
