"""Figures 10 and 11: how often the tests err at 5 %, those of the paper beside ours."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from common import (
    DIMENSIONS,
    KERNEL,
    LEVEL,
    SIZES,
    TARGET_KERNEL,
    parallel,
    published,
    skce,
    write_numbers,
    write_table,
)
from models import MODELS, SIGMA, seeded

import kernelcal as kc
from comparison import at_level, rates_agree
from kernelcal.inference.laws.mean_embedding import CME
from kernelcal.statistics import UCME, normal_locations

DRAWS, BOOTSTRAPS = 199, 1_000
LOCATIONS = 10
FEW = {256: 100, 1_024: 20}  # data sets of the tests that redraw all pairs, for so many rows


def block_test(size, ddof):
    """P-value of the block test of J blocks, whose variance is divided by J - 1 (ddof 1) or by J (ddof 0)."""

    def pvalue(y, predictions, seed):
        from scipy.special import ndtr

        n = len(predictions)
        block = 2 if size == "2" else math.isqrt(n)
        result = kc.calibration_test(y, predictions, statistic=skce("block", block), null="block")
        blocks = n // block
        return result.pvalue if ddof else float(ndtr(-result.members[0].deviation * math.sqrt(blocks / (blocks - 1))))

    return pvalue


def bootstrap_test(y, predictions, seed):
    return kc.calibration_test(y, predictions, statistic=skce(), null="bootstrap", draws=BOOTSTRAPS, rng=seed).pvalue


def exact_test(y, predictions, seed):
    return kc.calibration_test(y, predictions, statistic=skce(), draws=DRAWS, rng=seed).pvalue


def default_test(y, predictions, seed):
    return kc.calibration_test(y, predictions, draws=DRAWS, rng=seed).pvalue


def cme_test(covariance, reference, locations=None):
    """P-value of the CME test at locations drawn as in A.2: new ones for every data set, or those of one seed."""

    def pvalue(y, predictions, seed):
        at = normal_locations(predictions, LOCATIONS, std=SIGMA, rng=[11, seed if locations is None else locations])
        statistic = UCME(prediction_kernel=KERNEL, target_kernel=TARGET_KERNEL, locations=at)
        law = CME(covariance=covariance, reference=reference)
        return kc.calibration_test(y, predictions, statistic=statistic, null=law, draws=DRAWS, rng=seed).pvalue

    return pvalue


@dataclass(frozen=True)
class Test:
    """A test, its published name if it is one of the paper, and whether it redraws all pairs."""

    pvalue: Callable
    published: str = ""
    slow: bool = False


TESTS = {
    "blocks of 2": Test(block_test("2", 1), "SKCE (B = 2)"),
    "blocks of √n": Test(block_test("√n", 1), "SKCE (B = √n)"),
    "bootstrap, 1,000 draws": Test(bootstrap_test, "SKCE (B = n)"),
    "CME, empirical covariance, chi2": Test(cme_test("empirical", "chi2"), "CME"),
    "blocks of 2, ddof 0": Test(block_test("2", 0)),
    "blocks of √n, ddof 0": Test(block_test("√n", 0)),
    "CME, known covariance, chi2": Test(cme_test("known", "chi2")),
    "CME, known covariance, exact": Test(cme_test("known", "exact")),
    "exact, same SKCE": Test(exact_test, slow=True),
    "exact, default family": Test(default_test, slow=True),
}


def pvalues(task, tests=None):
    """P-values of the tests on one data set; NaN where a slow one is left out."""
    model, d, n, repetition = task
    y, predictions = seeded(model, d, n, repetition)
    chosen = [TESTS[name] for name in (tests or TESTS)]
    skipped = repetition >= FEW.get(n, repetition + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kc.errors.KernelcalWarning)  # few blocks, few rows: that is the experiment
        return [math.nan if test.slow and skipped else test.pvalue(y, predictions, repetition) for test in chosen]


def simulate(repetitions, processes, sizes=None):
    """P-values by (model, d, n), each of shape (repetitions, tests)."""
    cells = [(model, d, n) for model in MODELS for d in DIMENSIONS for n in sizes or SIZES]
    tasks = [(*cell, k) for cell in cells for k in range(repetitions)]
    values = np.array(parallel(pvalues, tasks, processes)).reshape(len(cells), repetitions, -1)
    return dict(zip(cells, values, strict=True))


def errors(model, p):
    """Number of wrong decisions and of data sets: rejections if calibrated, else no rejections."""
    p = p[~np.isnan(p)]
    rejected = int((p <= LEVEL).sum())
    return (rejected if model == "calibrated" else len(p) - rejected), len(p)


def compared(results, tests=None):
    """One row a model, dimension, size and test: our rate, theirs, whether they agree, whether the level is kept."""
    rows = []
    for (model, d, n), values in results.items():
        theirs = published(f"tests_{model}_model")
        for name, p in zip(tests or TESTS, values.T, strict=True):
            count, size = errors(model, p)
            row = theirs.get((TESTS[name].published, d, n))
            rate = row["testerror"] if row else ""
            agrees = rates_agree(count, size, rate) if row else ""
            level = at_level(count, size) if model == "calibrated" else ""
            rows.append([model, d, n, name, size, count / size, rate, agrees, level])
    return rows


def pivoted(rows):
    """A line a model, dimension and test, a column a size: our rate, and the published one behind a stroke."""
    lines, sizes = [], dict.fromkeys(row[2] for row in rows)
    for model, d, name in dict.fromkeys((row[0], row[1], row[3]) for row in rows):
        cells = [row for row in rows if (row[0], row[1], row[3]) == (model, d, name)]
        shown = [_cell(row) for row in cells]
        compared_cells = [row for row in cells if row[7] != ""]
        within = f"{sum(row[7] for row in compared_cells)} of {len(compared_cells)}" if compared_cells else ""
        lines.append([model, d, name, *shown, within])
    return ["model", "d", "test", *(f"n = {n:,}" for n in sizes), "within the bound"], lines


def _cell(row):
    rate, theirs, agrees, level = row[5:]
    text = f"{rate:.3f}"
    if theirs != "":
        return f"{text} / {theirs:.3f}" + ("" if agrees else " \\*")
    return text + (" †" if level is False else "")


def main(options):
    rows = compared(simulate(options.repetitions or 500, options.processes))
    names = ("data sets", "error rate", "published", "within", "at the level")
    write_numbers("error_rates", ["model", "d", "n", "test", *names], rows)
    for model in MODELS:
        header, lines = pivoted([row for row in rows if row[0] == model])
        write_table(f"{'level' if model == 'calibrated' else 'power'}", header[1:], [line[1:] for line in lines])
    for row in rows:
        print(*row)
