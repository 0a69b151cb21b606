"""Figures 6 to 9: mean absolute error and variance of the estimators, beside the published values."""

from __future__ import annotations

import math

import numpy as np
from common import (
    BLUE,
    DIMENSIONS,
    GREEN,
    GREY,
    ORANGE,
    SIZES,
    panels,
    parallel,
    published,
    save,
    skce,
    write_numbers,
    write_table,
)
from matplotlib.ticker import NullFormatter
from models import MODELS, seeded, simulated_skce, true_skce

from comparison import mean_agrees, variance_agrees

ESTIMATORS = ("SKCE", "SKCE (B = 2)", "SKCE (B = √n)", "SKCE (B = n)")  # the published names
SHORT = dict(zip(ESTIMATORS, ("biased", "B = 2", "B = √n", "B = n"), strict=True))


def estimator(name, n):
    if name == "SKCE":
        return skce("biased")
    if name == "SKCE (B = n)":
        return skce("unbiased")
    return skce("block", 2 if name == "SKCE (B = 2)" else math.isqrt(n))


def estimates(task):
    """All estimates on one data set."""
    model, d, n, repetition = task
    y, predictions = seeded(model, d, n, repetition)
    return [float(estimator(name, n)(y, predictions)) for name in ESTIMATORS]


def simulate(repetitions, processes, sizes=None):
    """Estimates by (model, d, n), each of shape (repetitions, estimators)."""
    cells = [(model, d, n) for model in MODELS for d in DIMENSIONS for n in sizes or SIZES]
    tasks = [(*cell, k) for cell in cells for k in range(repetitions)]
    values = np.array(parallel(estimates, tasks, processes)).reshape(len(cells), repetitions, -1)
    return dict(zip(cells, values, strict=True))


def compared(results):
    """One row a model, dimension, size and estimator: ours, theirs, and whether they agree."""
    rows = []
    for (model, d, n), values in results.items():
        theirs, truth = published(f"errors_{model}_model"), true_skce(model, d)
        for name, column in zip(ESTIMATORS, values.T, strict=True):
            errors, row = np.abs(column - truth), theirs.get((name, d, n))
            ours = [errors.mean(), column.var(ddof=1)]
            known = [row["meanerror"], row["variance"]] if row else ["", ""]
            agree = [mean_agrees(errors, column, *known), variance_agrees(column, known[1])] if row else ["", ""]
            rows.append([model, d, n, name, ours[0], known[0], agree[0], ours[1], known[1], agree[1]])
    return rows


def pivoted(rows, first):
    """A line a model, dimension and estimator, a column a size: ours / published, and how many sizes agree."""
    lines, sizes = [], dict.fromkeys(row[2] for row in rows)
    for model, d, name in dict.fromkeys((row[0], row[1], row[3]) for row in rows):
        cells = [row for row in rows if (row[0], row[1], row[3]) == (model, d, name)]
        shown = [f"{row[first]:.2e} / {row[first + 1]:.2e}" + ("" if row[first + 2] else " \\*") for row in cells]
        within = f"{sum(row[first + 2] for row in cells)} of {len(cells)}"
        lines.append([model, d, SHORT[name], *shown, within])
    return ["model", "d", "estimator", *(f"n = {n:,}" for n in sizes), "within the bound"], lines


def draw(rows):
    figure, axes = panels(2, 4, 11.5, 5.2, sharex=True)
    colours = dict(zip(ESTIMATORS, (GREEN, ORANGE, GREY, BLUE), strict=True))
    for row, (first, label) in zip(axes, ((4, "mean absolute error"), (7, "variance")), strict=True):
        row[0].set_ylabel(label)
        for ax, (model, d) in zip(row, ((m, d) for m in MODELS for d in DIMENSIONS), strict=False):
            for name, colour in colours.items():
                cells = [r for r in rows if (r[0], r[1], r[3]) == (model, d, name)]
                n = [r[2] for r in cells]
                ax.loglog(n, [r[first] for r in cells], color=colour, label=SHORT[name], base=2)
                ring = {"marker": "o", "linestyle": "none", "markerfacecolor": "none", "color": colour}
                ax.loglog(n, [r[first + 1] or np.nan for r in cells], base=2, **ring)
            ax.set_yscale("log", base=10)
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.set_title(f"{model}, d = {d}", fontsize=9)
            ax.tick_params(labelsize=7)
    for ax in axes[1]:
        ax.set_xlabel("rows")
    axes[0][0].legend(fontsize=7)
    save(figure, "estimates")


def ground_truth(repetitions, processes):
    """Quadrature beside the mean of simulated estimates, as the paper takes it."""
    lines = []
    for d in DIMENSIONS:
        values = np.array(parallel(simulated_skce, [(d, k) for k in range(repetitions)], processes))
        error = values.std(ddof=1) / math.sqrt(repetitions)
        numbers = (true_skce("uncalibrated", d), values.mean(), error)
        lines.append([d, *(f"{x:.6f}" for x in numbers), f"{(values.mean() - numbers[0]) / error:.2f}"])
    return lines


def main(options):
    repetitions = options.repetitions or 500
    truth = ground_truth(2 * repetitions, options.processes)
    write_table("truth", ["d", "quadrature", "simulated", "standard error", "difference in standard errors"], truth)
    rows = compared(simulate(repetitions, options.processes))
    names = ("mean error", "published", "within", "variance", "published", "within")
    write_numbers("estimates", ["model", "d", "n", "estimator", *names], rows)
    write_table("mean_error", *pivoted(rows, 4))
    write_table("variance", *pivoted(rows, 7))
    draw(rows)
    for row in rows:
        print(*row)
