"""Time of binned errors with many classes, beside published times of CalibrationErrors.jl.

    python benchmarks/binned.py

The Julia times are those published with Widmann, Lindsten, Zachariah (2019) for n = m = 1,000, least of 20 runs, one
thread; their machine is not stated.
"""

from __future__ import annotations

import numpy as np
from common import best, class_data, machine

from kernelcal.binning import MedianVarianceBins, UniformBins
from kernelcal.predictions import Categorical
from kernelcal.statistics import ECE

JULIA = {"uniform": 0.032, "median variance": 0.041}


def errors(concentration):
    """Flat predictions share a cell of the grid; sharp ones have many cells."""
    y, p = class_data(1000, 1000, concentration)
    for name, bins in (("uniform", UniformBins(10)), ("median variance", MedianVarianceBins(10))):
        statistic = ECE(question="simplex", bins=bins)
        seconds, value = best(lambda s=statistic: float(s(y, p)), 20)
        checked = Categorical(p)
        alone, _ = best(lambda s=statistic, c=checked: s.prepare(c).values(y[None]), 20)
        print(f"ECE, {bins}, n = m = 1,000, Dirichlet({concentration}), value {value:.6f}:")
        print(
            f"  {1e3 * seconds:.1f} ms, of which {1e3 * alone:.1f} ms after the checks of the input; "
            f"published Julia time {1e3 * JULIA[name]:.0f} ms"
        )


def draws():
    y, p = class_data(10_000, 10)
    labels = np.random.default_rng(0).integers(0, 10, (999, len(y)), dtype=np.uint8)
    for question in ("top label", "simplex"):
        prepared = ECE(question=question).prepare(Categorical(p))
        seconds, _ = best(lambda q=prepared: q.values(labels), 3)
        print(f"999 draws of ECE, {question}, n = 10,000, m = 10: {seconds:.2f} s")


if __name__ == "__main__":
    print(machine())
    errors(1.0)
    errors(0.003)
    draws()
