"""Figures 1 to 4 and the convergence as pictures, from the tables that the other parts wrote."""

from __future__ import annotations

import common
import numpy as np
from matplotlib.figure import Figure
from simulation import SCALE, model, truth

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"  # distinct for the colour-blind too
STYLES = {"CKCE": (BLUE, "o-"), "JKCE": (ORANGE, "s--"), "ECE": (GREEN, "^:")}
KERNELS = {"linear plus Gaussian": (BLUE, "o-"), "linear": (PINK, "v--"), "Gaussian": (GREEN, "^:")}
SETTINGS = {"as is": ("#444444", "o-"), "confident x5": (BLUE, "s--"), "unconfident x5": (ORANGE, "^:")}


def column(rows, name):
    """Numbers of one column; NaN where a cell is empty."""
    return np.array([float(row[name] or "nan") for row in rows])


def panels(rows, columns, width, height, **options):
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(figure, name):
    figure.savefig(common.TABLES.parent / "images" / f"ckce2025_{name}.png", dpi=90, metadata=common.outputs.metadata())


def draw_setting(axis):
    """What happens, what is predicted, and where three laws of the inputs lie."""
    x = np.linspace(-1, 1, 201)
    axis.plot(x, truth(x), color=BLUE, label="P(Y = 1 | x)")
    axis.plot(x, model(x), "--", color=ORANGE, label="predicted")
    for location in (-0.5, 0, 0.5):
        bell = 0.2 * np.exp(-((x - location) ** 2) / (2 * SCALE**2))
        axis.fill_between(x, bell, color="#999999", alpha=0.3, linewidth=0)
        axis.text(location, 0.21, f"{location:g}", ha="center", fontsize=8, color="#444444")
    axis.set(title=r"the simulation; grey: inputs at three $\alpha$", xlabel="x", ylabel="probability", ylim=(0, 1))
    axis.legend(fontsize=8, loc="upper left")


def draw_bands(axis, rows, styles):
    """Means and one standard deviation of the trials, against the location."""
    alpha = column(rows, "alpha")
    for name, (colour, line) in styles.items():
        mean, sd = (column(rows, f"{name} {what}") for what in ("mean", "sd"))
        axis.plot(alpha, mean, line, color=colour, label=name, markersize=4)
        axis.fill_between(alpha, mean - sd, mean + sd, color=colour, alpha=0.15, linewidth=0)
    axis.set(xlabel=r"location $\alpha$ of the inputs", ylim=(0, None))
    axis.legend(fontsize=8)


def draw_simulation():
    figure, ((left, middle, right),) = panels(1, 3, 12, 3.4)
    draw_setting(left)
    draw_bands(middle, common.read("shift"), STYLES)
    draw_bands(right, common.read("kernels"), KERNELS)
    middle.set(title="Figure 2: three statistics", ylabel="mean of 20 trials, ± sd")
    right.set(title="Figure 4: CKCE with three kernels", ylabel="mean of 20 trials, ± sd")
    save(figure, "simulation")


def draw_convergence():
    figure, axes = panels(1, 3, 12, 3.4)
    rows = common.read("convergence")
    for axis, against in zip(axes[0], ("frequencies", "rank", "tolerance"), strict=True):
        for data, colour, marker in (("simulated", BLUE, "o-"), ("network", ORANGE, "s--")):
            mine = [row for row in rows if (row["data"], row["against"]) == (data, against)]
            axis.loglog(column(mine, "size"), column(mine, "error"), marker, color=colour, label=data, markersize=4)
            if against == "tolerance" and mine:
                axis.loglog(column(mine, "size"), column(mine, "bound"), ":", color=colour, label=f"bound, {data}")
        axis.set(xlabel=against)
    guide = np.array([10, 1000])
    axes[0][0].loglog(guide, 0.25 * guide**-0.5, color="#444444", linewidth=0.8, label=r"slope $-1/2$")
    axes[0][0].set(title="random Fourier features", ylabel="relative error", ylim=(5e-4, 0.2))
    axes[0][1].set(title="incomplete Cholesky factor", ylim=(1e-10, 10))
    axes[0][2].set(title="incomplete Cholesky factor", ylim=(1e-10, 1e3))
    axes[0][2].invert_xaxis()
    for axis in axes[0]:
        axis.legend(fontsize=8, loc="lower left")
    save(figure, "convergence")


def main(options):
    """Write docs/images/ckce2025_*.png; those of the networks where their tables are."""
    from picture_networks import draw_curves, draw_reliability

    (common.TABLES.parent / "images").mkdir(parents=True, exist_ok=True)
    draw_simulation()
    draw_convergence()
    if (common.TABLES / "ckce2025_curves.csv").exists():
        draw_reliability()
        draw_curves()
