"""A.1: ordinary least squares for a nonlinear problem with unequal noise: quantiles look right, the model is not."""

from __future__ import annotations

import numpy as np
from common import BLUE, GREEN, GREY, LEVEL, ORANGE, panels, parallel, save, skce, write_numbers, write_table

import kernelcal as kc
from kernelcal.inference import pit_test
from kernelcal.statistics.outcomes.quantile_curves import quantile_calibration
from kernelcal.statistics.outcomes.transform import pit

TRAINING, VALIDATION = 100, 50
DRAWS, BOOTSTRAPS = 999, 100_000
TESTS = ("bootstrap, 100,000 draws", "exact, same SKCE", "exact, default family", "exact, uniform PIT")


def sample(rng, n):
    """Pairs with X uniform on [-1, 1] and Y ~ N(sin(pi X), (0.15 |1 + X|)^2)."""
    x = rng.uniform(-1, 1, n)
    return x, np.sin(np.pi * x) + np.abs(1 + x) * 0.15 * rng.standard_normal(n)


def experiment(seed):
    """Fit on 100 pairs; targets and predictions of 50 others."""
    rng = np.random.default_rng([3, seed])
    x, y = sample(rng, TRAINING)
    slope, offset = np.polyfit(x, y, 1)
    std = np.std(y - offset - slope * x, ddof=1)
    x, y = sample(rng, VALIDATION)
    return x, y, kc.Normal(offset + slope * x, std)


def pvalues(seed):
    """P-values of the four tests, and the largest gap of the quantile curve."""
    _, y, predictions = experiment(seed)
    settings = {"rng": seed, "draws": DRAWS}
    results = (
        kc.calibration_test(y, predictions, statistic=skce(), null="bootstrap", draws=BOOTSTRAPS, rng=seed),
        kc.calibration_test(y, predictions, statistic=skce(), **settings),
        kc.calibration_test(y, predictions, **settings),
        pit_test(y, predictions, **settings),
    )
    return [*(result.pvalue for result in results), quantile_calibration(y, predictions).largest_gap]


def training(seed):
    """The 100 pairs that the model of a seed was fitted on."""
    return sample(np.random.default_rng([3, seed]), TRAINING)


def bands(axis, x, mean, std, colour, label):
    """Mean, and bands of one and two standard deviations, of a law given X."""
    for width, alpha in ((2, 0.15), (1, 0.3)):
        axis.fill_between(x, mean - width * std, mean + width * std, color=colour, alpha=alpha, linewidth=0)
    axis.plot(x, mean, color=colour, label=label)
    axis.set_xlabel("X")


def draw(seed, p):
    """Figures 1, 4 and 5 for one seed: the true law with training data, the predicted one, and the quantile curve."""
    x, y, predictions = experiment(seed)
    figure, ((true, predicted, right),) = panels(1, 3, 12, 3.6)
    order, grid = np.argsort(x), np.linspace(-1, 1, 201)
    bands(true, grid, np.sin(np.pi * grid), 0.15 * np.abs(1 + grid), GREY, "P(Y | X), mean and 1, 2 sd")
    true.scatter(*training(seed), s=10, color=ORANGE, label=f"{TRAINING} training pairs")
    bands(predicted, x[order], predictions.mean[order], predictions.std[order], BLUE, "predicted P(Y | X)")
    predicted.plot(grid, np.sin(np.pi * grid), color=GREY, label="E(Y | X)")
    predicted.scatter(x, y, s=14, color=GREEN, label=f"{VALIDATION} validation pairs")
    predicted.set_ylim(true.get_ylim())
    true.set_ylabel("Y")
    for axis in (true, predicted):
        axis.legend(fontsize=7)
    values = np.sort(pit(y, predictions))
    steps = np.arange(len(values) + 1) / len(values)
    right.plot([0, 1], [0, 1], color=GREY, label="ideal")
    right.step([0, *values, 1], [*steps, 1], where="post", color=GREEN, label="validation pairs")
    right.set_xlabel("quantile level")
    right.set_ylabel("cumulative probability")
    right.legend(fontsize=7)
    right.set_title(f"p = {p[0]:.4f} (bootstrap), {p[1]:.3f} (exact), {p[3]:.2f} (PIT)", fontsize=9)
    save(figure, "ols")


def summary(p):
    """Share rejected, and quartiles of the p-values."""
    lines = []
    for name, column in zip(TESTS, p.T, strict=False):
        quartiles = np.quantile(column, [0.25, 0.5, 0.75])
        lines.append([name, f"{(column <= LEVEL).mean():.3f}", *(f"{x:.4f}" for x in quartiles)])
    return lines


def main(options):
    repetitions = options.repetitions or 500
    p = np.array(parallel(pvalues, range(repetitions), options.processes))
    write_numbers("ols", ["seed", *TESTS, "largest gap"], [[k, *row] for k, row in enumerate(p.tolist())])
    lines = summary(p)
    write_table("ols", ["test", "share rejected", "25 % quantile of p", "median", "75 % quantile"], lines)
    draw(0, p[0])
    for line in lines:
        print(*line)
    print("seed 0:", *p[0], "median gap:", np.median(p[:, -1]))
