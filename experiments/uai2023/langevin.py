"""Figure 2: SKCE tests of calibrated models whose expectations come from two draws of untuned Markov chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from common import LEVEL, at_level, kernels, wild, write
from models import seeded

import kernelcal as kc
from kernelcal.predictions import Samples, UnnormalizedDensity
from kernelcal.predictions.densities.langevin import langevin_draws
from kernelcal.statistics import KCCSD

MODELS, ROWS, DRAWS, SWAPS = ("LGM", "HGM", "QGM"), 200, 2, 199
STEP_SIZE = 0.1  # for chains that begin at standard normal numbers, whatever is predicted
SAMPLERS = {"10 steps": 10, "30 steps": 30, "100 steps": 100, "exact draws": None}
TESTS = ("SKCE, two draws", "swap, two draws", "KCCSD, no draws")


@dataclass(frozen=True, kw_only=True)
class DrawnSKCE(kc.SKCE):
    """SKCE with the prediction kernel of the predictions, as in the paper, and expectations that are means of draws."""

    draws: Any = None

    def residual_of(self, predictions, target_kernel, weights):
        return super().residual_of(self.draws, target_kernel, weights)


def density(predictions):
    """The normal predictions, forgotten but for the log density up to a constant."""
    return UnnormalizedDensity(
        lambda y, mean, std: -0.5 * ((y - mean) / std) ** 2,
        (predictions.mean, predictions.std),
        gradient=lambda y, mean, std: (mean - y) / std**2,
    )


def draws_of(predictions, steps, seed):
    """Two draws a row: ends of chains, or true draws."""
    if steps is None:
        return Samples(np.moveaxis(predictions.sample([7, seed], DRAWS), 0, 1))
    return langevin_draws(density(predictions), DRAWS, steps=steps, step_size=STEP_SIZE, rng=[7, seed])


def pvalues(model, steps, repetition, n=ROWS):
    """P-values of the tests on one data set."""
    y, predictions = seeded(model, 0.0, n, repetition)
    drawn = draws_of(predictions, steps, repetition)
    ours, target_kernel = kernels(y, predictions, ("exp_w2", "exp_gfd"))
    skce = DrawnSKCE(prediction_kernel=ours["exp_w2"], target_kernel=target_kernel, draws=drawn)
    kccsd = KCCSD(prediction_kernel=ours["exp_gfd"], target_kernel=target_kernel)
    return [
        wild(y, predictions, skce, repetition),
        kc.calibration_test(y, drawn, statistic="skce", draws=SWAPS, rng=repetition).pvalue,
        wild(y, density(predictions), kccsd, repetition),
    ]


def simulate(repetitions, models=MODELS, samplers=SAMPLERS, n=ROWS):
    """One row a model and sampler: rates of rejection."""
    rows = []
    for model in models:
        for name, steps in samplers.items():
            p = np.array([pvalues(model, steps, k, n) for k in range(repetitions)])
            rows.append([model, name, *((p <= LEVEL).mean(axis=0)).tolist()])
            print(*rows[-1], flush=True)
    return rows


def marked(rows, repetitions):
    """Rates as text, those not at the level with a dagger."""
    return [
        [*row[:2], *(f"{x:.2f}" + ("" if at_level(round(x * repetitions), repetitions) else " †") for x in row[2:])]
        for row in rows
    ]


def main(options):
    rows = marked(simulate(options.repetitions), options.repetitions)
    write("langevin", ["calibrated model", "draws", *TESTS], rows)
