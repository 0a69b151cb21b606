"""A.3: ten networks and their ensemble on Friedman 1, while they are trained and overfit (Figure 12)."""

from __future__ import annotations

import warnings

import networks
import numpy as np
from common import BLUE, GREEN, KERNEL, LEVEL, ORANGE, panels, parallel, save, skce, write_numbers, write_table

import kernelcal as kc
from kernelcal.kernels.metrics import MixtureWasserstein
from kernelcal.statistics.scores.numbers import mean_squared_error, negative_log_likelihood
from kernelcal.statistics.scores.quantiles import pinball_loss

MEASURES = ("MSE", "NLL", "pinball", "SKCE (unbiased)", "SKCE (biased)", "p, bootstrap", "p, exact")
SHOWN = (100, 500, 1_000, 1_500, 3_000, 5_000)
DATA_SEEDS = 3  # for the onset of overfitting
DRAWS, BOOTSTRAPS = 199, 1_000
MIXTURES = kc.Laplacian(1.0, metric=MixtureWasserstein())


def models(snapshot, name):
    """Predictions of the networks, and of their ensemble: a mixture with equal weights."""
    members = [kc.Normal(mean, std) for mean, std in zip(snapshot.means[name], snapshot.std, strict=True)]
    return [*members, kc.Mixture(None, members)]


def scores(y, predictions):
    """Values of the first five measures."""
    kernel = MIXTURES if isinstance(predictions, kc.Mixture) else KERNEL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kc.errors.KernelcalWarning)  # mixture Wasserstein is not Hilbertian
        errors = [float(skce(name, kernel=kernel)(y, predictions)) for name in ("unbiased", "biased")]
    return [
        mean_squared_error(y, predictions),
        negative_log_likelihood(y, predictions),
        float(pinball_loss(y, predictions)),
        *errors,
    ]


def pvalues(y, predictions, seed):
    """P-values of the unbiased SKCE by the bootstrap of the paper and by redrawn targets."""
    statistic = skce(kernel=MIXTURES if isinstance(predictions, kc.Mixture) else KERNEL)
    return [
        kc.calibration_test(y, predictions, statistic=statistic, null=null, draws=draws, rng=seed).pvalue
        for null, draws in (("bootstrap", BOOTSTRAPS), ("exact", DRAWS))
    ]


def evaluate(task):
    """All measures of the ten networks and the ensemble after some iterations, shape (11, measures)."""
    snapshot, name, y = task
    return [[*scores(y, p), *pvalues(y, p, snapshot.iteration)] for p in models(snapshot, name)]


def quick(task):
    """Scores alone, mean over the networks and the ensemble: for the onset of overfitting."""
    snapshot, name, y = task
    values = np.array([scores(y, p) for p in models(snapshot, name)[:-1]])
    return values.mean(axis=0)


def curves(seed, processes, iterations=networks.ITERATIONS, every=networks.EVERY):
    """Measures by data set, each of shape (snapshots, 11, measures), and the iterations."""
    (_, y), (_, y_test) = networks.data(seed)
    snapshots = networks.train(seed, iterations, every)
    found = {
        name: np.array(parallel(evaluate, [(s, name, targets) for s in snapshots], processes))
        for name, targets in (("train", y), ("test", y_test))
    }
    return np.array([s.iteration for s in snapshots]), found


def table(iterations, found):
    """Mean of the networks with their range, and the ensemble, at some iterations."""
    lines = []
    for name, values in found.items():
        for k, iteration in enumerate(iterations):
            if iteration in SHOWN:
                members, ensemble = values[k, :-1], values[k, -1]
                lines.append([name, iteration, "networks", *map(_number, members.mean(axis=0))])
                lines.append([name, iteration, "ensemble", *map(_number, ensemble)])
    return lines


def _number(x):
    return f"{x:.3g}" if abs(x) < 1e4 else f"{x:.1e}"


def onset(iterations, values):
    """Iteration at which each of the scores is least on the test data."""
    return [int(iterations[k]) for k in values.argmin(axis=0)]


def first_rejected(iterations, p):
    """First iteration from which on all p-values are at most 5 %; empty if there is none."""
    later = np.flatnonzero(p > LEVEL)
    start = later[-1] + 1 if len(later) else 0
    return int(iterations[start]) if start < len(p) else ""


def onsets(seeds, processes):
    """When overfitting shows, for several pairs of training and test data."""
    lines = []
    for seed in range(seeds):
        y = networks.data(seed)[1][1]
        snapshots = networks.train(seed)
        values = np.array(parallel(quick, [(s, "test", y) for s in snapshots], processes))
        lines.append([seed, *onset([s.iteration for s in snapshots], values)])
        print(*lines[-1], flush=True)
    return lines


SCALES = {"MSE": "log", "NLL": ("symlog", 1.0), "pinball": "log", "SKCE (unbiased)": ("symlog", 1e-3)}


def draw(iterations, found):
    """Figure 12: a panel a measure; green and orange are the training data, blue and purple the test data."""
    figure, axes = panels(2, 4, 12, 5.2, sharex=True)
    colours = {"train": (GREEN, ORANGE), "test": (BLUE, "#7b3294")}
    for k, (ax, measure) in enumerate(zip(axes.flat, MEASURES, strict=False)):
        for name, values in found.items():
            members, colour = values[:, :-1, k], colours[name]
            ax.fill_between(
                iterations, members.min(axis=1), members.max(axis=1), color=colour[0], alpha=0.2, linewidth=0
            )
            ax.plot(iterations, members.mean(axis=1), color=colour[0], label=f"{name}, ten networks")
            ax.plot(iterations, values[:, -1, k], color=colour[1], label=f"{name}, ensemble")
        scale = SCALES.get(measure, "log" if measure == "SKCE (biased)" else "linear")
        if isinstance(scale, tuple):
            ax.set_yscale(scale[0], linthresh=scale[1])
        else:
            ax.set_yscale(scale)
        ax.set_title(measure, fontsize=9)
        ax.tick_params(labelsize=7)
    axes[1][3].axis("off")
    axes[1][3].legend(*axes[0][0].get_legend_handles_labels(), fontsize=8, loc="center", frameon=False)
    for ax in axes[1][:3]:
        ax.set_xlabel("iterations")
    save(figure, "friedman")


def main(options):
    iterations, found = curves(0, options.processes)
    rows = [
        [name, int(i), "ensemble" if m == networks.NETWORKS else m, *row]
        for name, values in found.items()
        for i, models_ in zip(iterations, values.tolist(), strict=True)
        for m, row in enumerate(models_)
    ]
    write_numbers("friedman", ["data", "iteration", "network", *MEASURES], rows)
    lines = table(iterations, found)
    write_table("friedman", ["data", "iterations", "model", *MEASURES], lines)
    draw(iterations, found)
    for line in lines:
        print(*line)
    tests = found["test"]
    for k, name in ((5, "bootstrap"), (6, "exact")):
        starts = [first_rejected(iterations, tests[:, m, k]) for m in range(tests.shape[1])]
        print(f"rejected from iteration ({name}, ten networks and ensemble):", *starts, flush=True)
    seeds = DATA_SEEDS if options.repetitions is None else min(DATA_SEEDS, options.repetitions)
    lines = onsets(seeds, options.processes)
    write_table("onset", ["data", *MEASURES[:5]], lines)
