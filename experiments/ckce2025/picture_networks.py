"""Figures 1 and 3: reliability of two networks, and values and ranks of eight under the shift."""

from __future__ import annotations

import common
import numpy as np
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator
from picture import SETTINGS, column, panels, save

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C564B")
MARKERS = "osv^DPX*"


def draw_network(top, bottom, rows, network):
    """Accuracy against confidence above, share of the rows in each bin below."""
    top.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
    for setting, (colour, line) in SETTINGS.items():
        mine = [row for row in rows if (row["network"], row["rows"]) == (network, setting)]
        confidence, accuracy, low, high = (column(mine, c) for c in ("confidence", "accuracy", "low", "high"))
        bars = np.abs(np.stack([low, high]) - accuracy)
        top.errorbar(confidence, accuracy, bars, fmt=line, color=colour, label=setting, markersize=4, elinewidth=0.7)
        bottom.semilogy(confidence, column(mine, "share"), line, color=colour, markersize=4)
    top.set(title=network, xlim=(0.15, 1.02), ylim=(0, 1.02))
    bottom.set(xlabel="confidence in the top label")


def draw_reliability():
    rows = common.read("reliability")
    names = list(dict.fromkeys(row["network"] for row in rows))
    figure, axes = panels(2, len(names), 9, 5.6, sharex=True, sharey="row", height_ratios=(2, 1))
    for k, name in enumerate(names):
        draw_network(axes[0][k], axes[1][k], rows, name)
    axes[0][0].set_ylabel("accuracy, 95 % interval")
    axes[1][0].set_ylabel("share of the rows")
    axes[0][0].legend(fontsize=8, title="rows", loc="upper left")
    save(figure, "reliability")


def grid_of(rows, statistic):
    """Factors, names of the networks, and values of shape (factors, networks)."""
    mine = [row for row in rows if row["statistic"] == statistic]
    names = list(dict.fromkeys(row["network"] for row in mine))
    return column(mine, "factor")[:: len(names)], names, column(mine, "value").reshape(-1, len(names))


def draw_curves():
    rows = common.read("curves")
    figure, axes = panels(2, 3, 12, 6, sharex=True)
    for k, statistic in enumerate(("CKCE", "JKCE", "ECE")):
        factors, names, values = grid_of(rows, statistic)
        ranks = values.argsort(axis=1).argsort(axis=1) + 1
        for j, name in enumerate(names):
            style = {"color": COLOURS[j], "marker": MARKERS[j], "markersize": 5, "linewidth": 1.2, "label": name}
            axes[0][k].loglog(factors, values[:, j], **style)
            axes[1][k].semilogx(factors, ranks[:, j], **style)
        axes[0][k].set_title(statistic)
        axes[1][k].set(xlabel="frequency of confident rows, times", yticks=range(1, 9))
        axes[0][k].yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes[0][k].yaxis.set_minor_locator(NullLocator())
        axes[0][k].yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes[1][k].invert_yaxis()
        axes[1][k].set_xticks([0.05, 0.2, 1, 5, 20], ["1/20", "1/5", "1", "5", "20"])
    axes[0][0].set_ylabel("value")
    axes[1][0].set_ylabel("rank, 1 the least error")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    save(figure, "curves")
