"""Figure 2: empirical test error against the level, for the tests of the paper and for ours."""

from __future__ import annotations

import numpy as np
from common import DRAWS, MODELS, data_set, ece_uniform, panels, paper_kernel, parallel, save, skce_estimators, write

import kernelcal as kc

REPETITIONS = 200  # the paper has 10,000
# name: statistic, null, colour, line; D are bounds, A asymptotic, C is consistency resampling
TESTS = {
    "D_b": ("SKCE b", "bound", "#c7b8dd", "-"),
    "D_uq": ("SKCE uq", "bound", "#9e86c4", "-"),
    "D_ul": ("SKCE ul", "bound", "#6a4fa3", ":"),
    "A_uq": ("SKCE uq", "bootstrap", "#1b9e77", "-"),
    "A_ul": ("SKCE ul", "block", "#e6ab02", "-"),
    "C": ("ECE", "consistency", "#d95f02", "-"),
    "exact": ("SKCE uq", "exact", "#1f5fa8", "-"),
    "saddlepoint": ("SKCE uq", "saddlepoint", "#5fb3e6", "--"),
}
LEVELS = (0.01, 0.05, 0.1, 0.5)


def pvalues(task, tests=tuple(TESTS)):
    """P-values of the tests on one data set."""
    model, repetition = task
    y, predictions = data_set(model, repetition)
    statistics = {"ECE": ece_uniform(), **skce_estimators(paper_kernel(predictions))}
    settings = {"draws": DRAWS, "rng": repetition, "early_stopping": False}
    return [
        kc.calibration_test(y, predictions, statistic=statistics[name], null=null, **settings).pvalue
        for name, null, *_ in map(TESTS.get, tests)
    ]


def simulate(repetitions, processes):
    """P-values of every model, each of shape (repetitions, tests)."""
    tasks = [(model, k) for model in MODELS for k in range(repetitions)]
    values = np.array(parallel(pvalues, tasks, processes))
    return dict(zip(MODELS, values.reshape(len(MODELS), repetitions, -1), strict=True))


def error_rate(model, p, level):
    """Share of wrong decisions: rejections of M1, no rejections of M2 and M3."""
    rejected = (p <= level).mean(axis=0)
    return rejected if model == "M1" else 1 - rejected


def draw(results):
    figure, axes = panels(1, 3, 10, 3.6, sharey=True)
    levels = np.linspace(0, 1, 201)
    for ax, (model, p) in zip(axes[0], results.items(), strict=True):
        errors = np.array([error_rate(model, p, level) for level in levels])
        for k, (name, (_, _, colour, line)) in enumerate(TESTS.items()):
            ax.plot(levels, errors[:, k], color=colour, linestyle=line, label=name)
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle="--")
        ax.set_xlabel(f"significance level, {model}")
    axes[0][0].set_ylabel("empirical test error")
    axes[0][1].legend(fontsize=8, loc="center left", bbox_to_anchor=(0.15, 0.4))
    save(figure, "figure2.png")


def main(options):
    results = simulate(options.repetitions or REPETITIONS, options.processes)
    rows = []
    for model, p in results.items():
        errors = np.array([error_rate(model, p, level) for level in LEVELS])
        rows += [[model, name, *(f"{x:.3f}" for x in errors[:, k])] for k, name in enumerate(TESTS)]
    write("figure2.csv", ["model", "test", *(f"error at level {level:g}" for level in LEVELS)], rows)
    draw(results)
    for row in rows:
        print(*row)
