"""How much the published CME test depends on its ten test locations, which the paper draws once for all data sets."""

from __future__ import annotations

import warnings

import numpy as np
from common import DIMENSIONS, LEVEL, SIZES, parallel, published, write_table
from error_rates import cme_test
from models import MODELS, seeded

import kernelcal as kc

SETS = 20


def rate(task):
    """Share of data sets that the published test rejects at one set of locations."""
    model, d, n, locations, repetitions = task
    test = cme_test("empirical", "chi2", locations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kc.errors.KernelcalWarning)
        p = [test(*seeded(model, d, n, 10_000 + k), k) for k in range(repetitions)]
    return float(np.mean(np.array(p) <= LEVEL))


def main(options):
    repetitions, lines = (options.repetitions or 500) // 5, []
    for model in MODELS:
        theirs = published(f"tests_{model}_model")
        for d in DIMENSIONS:
            for n in SIZES:
                tasks = [(model, d, n, k, repetitions) for k in range(SETS)]
                rates = np.array(parallel(rate, tasks, options.processes))
                rates = rates if model == "calibrated" else 1 - rates
                known = theirs.get(("CME", d, n))
                numbers = [rates.min(), np.median(rates), rates.max(), known["testerror"] if known else np.nan]
                lines.append([model, d, n, *(f"{x:.3f}" for x in numbers)])
                print(*lines[-1], flush=True)
    write_table("locations", ["model", "d", "n", "least", "median", "largest", "published"], lines)
