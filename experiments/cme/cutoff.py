"""Which eigenvalues of the known covariance count: level and power of the chi-square reference by the cutoff.

    python experiments/cme/cutoff.py        # half a minute on one core

Models of run.py. Alternatives: targets too far from the mean by a factor, shifted, of heavy tails, sloping.
"""

from __future__ import annotations

import numpy as np
from run import data
from scipy.stats import chi2

from kernelcal.inference.laws.location_forms import KnownForm

CUTOFFS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)


def heavy(y, mean):
    rng = np.random.default_rng(int(1e6 * abs(y.flat[0])))
    scale = np.where(rng.random(len(y)) < 0.1, 2.5, 0.4)
    return mean + (y - mean) * scale.reshape(-1, *(1,) * (y.ndim - 1))


MODELS = {
    "calibrated": lambda y, mean: y,
    "spread 1.3": lambda y, mean: mean + 1.3 * (y - mean),
    "shift 0.03": lambda y, mean: y + 0.03,
    "heavy tails": heavy,
    "slope 0.15": lambda y, mean: y + 0.15 * (mean - 0.5),
}


def rates(n, d, repetitions, model):
    """Share of rejections at 5 % for every cutoff."""
    rejected = np.zeros(len(CUTOFFS))
    for repetition in range(repetitions):
        batch, y, statistic = data(n, d, 10_000 + repetition, calibrated=True)
        form = KnownForm(statistic.prepare(batch))
        whitening = form.whitening
        z = form.prepared.sums(MODELS[model](y, batch.mean)[None])[0]
        squares = ((z / whitening.scale) @ whitening.vectors) ** 2
        for k, cutoff in enumerate(CUTOFFS):
            kept = whitening.values > cutoff * whitening.values[-1]
            rejected[k] += chi2.sf((squares[kept] / whitening.values[kept]).sum(), kept.sum()) <= 0.05
    return rejected / repetitions


def main():
    print("model, d, n,", ", ".join(f"{cutoff:g}" for cutoff in CUTOFFS))
    cases = [("calibrated", 1, n, 3000) for n in (10, 16, 30)] + [("calibrated", 10, 16, 3000)]
    cases += [(model, d, 64, 400) for model in list(MODELS)[1:] for d in (1, 10)]
    for model, d, n, repetitions in cases:
        print(f"{model}, {d}, {n},", ", ".join(f"{rate:.3f}" for rate in rates(n, d, repetitions, model)), flush=True)


if __name__ == "__main__":
    main()
