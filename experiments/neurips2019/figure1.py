"""Figure 1: distribution of the estimates on M1, M2 and M3, with their mean and the true error."""

from __future__ import annotations

import numpy as np
from common import (
    BLUE,
    MODELS,
    ORANGE,
    data_set,
    ece_data_dependent,
    ece_uniform,
    panels,
    paper_kernel,
    parallel,
    save,
    skce_estimators,
    write,
)

REPETITIONS = 10_000  # as in the paper
ESTIMATORS = ("ECE uniform", "ECE data-dependent", "SKCE b", "SKCE uq", "SKCE ul")


def estimates(task):
    """All estimates on one data set."""
    y, predictions = data_set(*task)
    eces = {"ECE uniform": ece_uniform(), "ECE data-dependent": ece_data_dependent(10)}
    statistics = {**eces, **skce_estimators(paper_kernel(predictions))}
    return [float(statistics[name](y, predictions)) for name in ESTIMATORS]


def simulate(repetitions, processes):
    """Estimates of every model, each of shape (repetitions, estimators)."""
    tasks = [(model, k) for model in MODELS for k in range(repetitions)]
    values = np.array(parallel(estimates, tasks, processes))
    return dict(zip(MODELS, values.reshape(len(MODELS), repetitions, -1), strict=True))


def true_errors(model, values):
    """The ECE in closed form (J.2.1); the SKCE, as in the paper, by the mean of the unbiased estimates."""
    ece = MODELS[model].expected_calibration_error
    skce = values[:, ESTIMATORS.index("SKCE uq")].mean()
    return [ece if name.startswith("ECE") else skce for name in ESTIMATORS]


def table(results):
    rows = []
    for model, values in results.items():
        errors = values.std(axis=0, ddof=1) / len(values) ** 0.5
        low, high = np.quantile(values, [0.05, 0.95], axis=0)
        for k, (name, true) in enumerate(zip(ESTIMATORS, true_errors(model, values), strict=True)):
            numbers = (values[:, k].mean(), errors[k], low[k], high[k], true)
            rows.append([model, name, *(f"{x:.6f}" for x in numbers)])
    return rows


def draw(results):
    figure, axes = panels(len(results), len(ESTIMATORS), 11.5, 5.6)
    for row, (model, values) in zip(axes, results.items(), strict=True):
        for k, (ax, true) in enumerate(zip(row, true_errors(model, values), strict=True)):
            ax.hist(values[:, k], bins=40, color="#b8cce4")
            ax.axvline(values[:, k].mean(), color=BLUE, label="mean of the estimates")
            ax.axvline(true, color=ORANGE, linestyle="--", label="true error")
            ax.tick_params(labelsize=7)
        row[0].set_ylabel(f"{model}, data sets")
    for ax, name in zip(axes[-1], ESTIMATORS, strict=True):
        ax.set_xlabel(name)
    axes[0][0].legend(fontsize=7)
    save(figure, "figure1.png")


def main(options):
    results = simulate(options.repetitions or REPETITIONS, options.processes)
    header = ["model", "estimator", "mean", "standard error", "5 % quantile", "95 % quantile", "true error"]
    rows = table(results)
    write("figure1.csv", header, rows)
    draw(results)
    for row in rows:
        print(*row)
