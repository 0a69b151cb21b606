"""Figures 3 to 34 of the supplement in a short form: estimates against the number of classes, two lengthscales."""

from __future__ import annotations

import numpy as np
from common import BLUE, GREY, ORANGE, ece_data_dependent, ece_uniform, panels, parallel, save, skce_estimators, write

import kernelcal as kc
from kernelcal.datasets import DirichletModel

REPETITIONS, MODES = 100, 400  # data sets a setting, 10,000 in the paper; of SKCE ul alone, to see modes
ROWS = 250
CLASSES, SHARES, ALPHAS = (2, 10, 100, 1000), (0.0, 0.5, 1.0), (1.0, 0.1)
BETAS = ("uniform", "first")  # labels that ignore the prediction: uniform over the classes, or always the first
ESTIMATORS = ("ECE uniform", "ECE data-dependent", "SKCE b", "SKCE uq", "SKCE ul")
LENGTHSCALES = ("median", "mean")  # median heuristic; mean total variation distance, known beforehand
FIGURES = {
    ("ECE uniform", ""): 3,  # the first of four: alpha 1 and 0.1 with uniform labels, then with the first class
    ("ECE data-dependent", ""): 7,
    ("SKCE b", "median"): 11,
    ("SKCE b", "mean"): 15,
    ("SKCE uq", "median"): 19,
    ("SKCE uq", "mean"): 23,
    ("SKCE ul", "median"): 27,
    ("SKCE ul", "mean"): 31,
}


def figure_of(column, alpha, beta):
    """Number of the paper's figure; calibrated models, whose labels are all their own, stand in both."""
    return FIGURES[column] + ALPHAS.index(alpha) + 2 * BETAS.index(beta)


def model(m, alpha, beta, share):
    """A share of the labels ignores the prediction."""
    law = np.full(m, 1 / m) if beta == "uniform" else np.eye(m)[0]
    return DirichletModel(np.full(m, alpha), law, share)


def data_set(m, alpha, beta, share, repetition):
    """One model and data set, of a seed of its own."""
    seed = [11, m, round(10 * alpha), BETAS.index(beta), round(10 * share), repetition]
    drawn = model(m, alpha, beta, share)
    return drawn, *drawn.sample(ROWS, np.random.default_rng(seed))


def estimates(task):
    """All estimates on one data set: binned ones, and three of each lengthscale."""
    drawn, y, predictions = data_set(*task)
    values = [float(ece(y, predictions)) for ece in (ece_uniform(), ece_data_dependent(10))]
    tv = kc.TotalVariation()
    median = kc.median_lengthscale(predictions, metric=tv, include_diagonal=True, max_rows=None)
    for scale in (median, drawn.mean_total_variation):
        skce = skce_estimators(kc.Laplacian(scale, metric=tv))
        values += [float(skce[name](y, predictions)) for name in ESTIMATORS[2:]]
    return values


def linear_estimate(task):
    """SKCE ul alone, whose lengthscale is known beforehand."""
    drawn, y, predictions = data_set(*task)
    kernel = kc.Laplacian(drawn.mean_total_variation, metric=kc.TotalVariation())
    return float(skce_estimators(kernel)["SKCE ul"](y, predictions))


def settings_of(classes):
    """Models; labels of calibrated ones are all their own, whatever beta."""
    whole = [(m, alpha, beta, share) for m in classes for alpha in ALPHAS for beta in BETAS for share in SHARES]
    return [setting for setting in whole if setting[3] > 0 or setting[2] == "uniform"]


def simulate(repetitions, processes, classes=CLASSES):
    """Estimates of every setting, each of shape (data sets, 8)."""
    found = {}
    for setting in settings_of(classes):
        found[setting] = np.array(parallel(estimates, [(*setting, k) for k in range(repetitions)], processes))
        print(*setting, flush=True)
    return found


def simulate_modes(repetitions, processes, classes=(100, 1000)):
    """SKCE ul of many data sets."""
    settings = [setting for setting in settings_of(classes) if setting[2] == "uniform"]
    return {s: np.array(parallel(linear_estimate, [(*s, k) for k in range(repetitions)], processes)) for s in settings}


COLUMNS = [("ECE uniform", ""), ("ECE data-dependent", "")]
COLUMNS += [(name, scale) for scale in LENGTHSCALES for name in ESTIMATORS[2:]]


def modes(values):
    """Number of groups of at least 5 % of the estimates with nothing between them.

    With many classes a pair of rows counts about ``k = exp(-1)`` if its labels are equal and about 0 otherwise: the
    estimate makes jumps of ``k / 125``. Groups are further apart than a fourth of that.
    """
    ordered = np.sort(values)
    groups = np.split(ordered, np.flatnonzero(np.diff(ordered) > 0.25 * np.exp(-1) / (ROWS // 2)) + 1)
    return sum(len(group) >= 0.05 * len(values) for group in groups)


def table(results):
    rows = []
    for (m, alpha, beta, share), values in results.items():
        true = model(m, alpha, beta, share).expected_calibration_error
        for k, column in enumerate(COLUMNS):
            own = values[:, k]
            bias = f"{own.mean() - true:.4f}" if column[0].startswith("ECE") else ""
            numbers = (own.mean(), own.std(ddof=1), *np.quantile(own, [0.05, 0.5, 0.95]))
            shown = [f"{x:.6f}" for x in numbers]
            figure = figure_of(column, alpha, beta)
            rows.append([figure, *column, m, alpha, beta, share, len(own), f"{true:.4f}", bias, *shown])
    return rows


def claims(results, linear):
    """What section 7.3 says of many classes: sentence, numbers, whether it holds here."""
    found, classes = [], sorted({setting[0] for setting in results})
    for column, name in enumerate(ESTIMATORS[:2]):
        for alpha in ALPHAS:
            means = [results[m, alpha, "uniform", 0.0][:, column].mean() for m in classes]
            numbers = ", ".join(f"{x:.3f} (m = {m})" for m, x in zip(classes, means, strict=True))
            rises = bool(np.all(np.diff(means) > -0.005) and means[-1] > means[0] + 0.1)
            found.append((f"{name} of calibrated models grows with m, alpha {alpha:g}", numbers, rises))
    for name, column in (("SKCE uq", 3), ("SKCE ul", 4)):
        worst = 0.0
        for (_, _, _, share), values in results.items():
            own = values[:, column]
            worst = max(worst, abs(own.mean()) / (own.std(ddof=1) / len(own) ** 0.5) if share == 0 else 0.0)
        found.append((f"{name} of calibrated models is 0 on average for all m", f"largest z {worst:.1f}", worst < 3.5))
    for (m, alpha, _, share), values in linear.items():
        number = modes(values)
        found.append(
            (f"SKCE ul has several modes, m = {m}, alpha {alpha:g}, share {share:g}", f"{number} modes", number > 1)
        )
    return found


def draw(results):
    classes = sorted({setting[0] for setting in results})
    figure, axes = panels(len(classes), len(COLUMNS), 16, 1.6 * len(classes))
    for row, m in zip(axes, classes, strict=True):
        for k, (ax, (name, scale)) in enumerate(zip(row, COLUMNS, strict=True)):
            for share, colour in zip(SHARES, (BLUE, GREY, ORANGE), strict=True):
                values = results[m, 0.1, "uniform", share][:, k]
                ax.hist(values, bins=25, alpha=0.55, color=colour, label=f"share {share:g}")
            ax.tick_params(labelsize=6)
            if m == classes[-1]:
                ax.set_xlabel(f"{name} {scale}".strip(), fontsize=8)
        row[0].set_ylabel(f"m = {m}", fontsize=8)
    axes[0][0].legend(fontsize=6)
    save(figure, "supplement.png")


def main(options):
    repetitions = options.repetitions or REPETITIONS
    results = simulate(repetitions, options.processes)
    linear = simulate_modes(MODES * repetitions // REPETITIONS, options.processes)
    header = ["figure", "estimator", "lengthscale", "m", "alpha", "labels", "share", "data sets", "true ECE", "bias"]
    write("supplement.csv", [*header, "mean", "sd", "5 %", "50 %", "95 %"], table(results))
    found = claims(results, linear)
    write("claims.csv", ["the paper says", "numbers", "here"], [[a, b, "yes" if c else "no"] for a, b, c in found])
    for sentence, numbers, holds in found:
        print(f"{sentence}: {'yes' if holds else 'no'} ({numbers})")
    draw(results)
