"""Claimed against observed levels of quantile forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.plots.axes import ACCENT, EDGE, INK, OBSERVED, axes_or_new, bare, legend_below, percent, titled

__all__ = ["levels_plot"]


def levels_plot(
    levels: np.ndarray,
    below: np.ndarray,
    upto: np.ndarray,
    *,
    claimed: tuple[np.ndarray, np.ndarray],
    interval: tuple[np.ndarray, np.ndarray],
    broken: np.ndarray,
    confidence_level: float,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw the share of outcomes below each quantile against its level, from strictly below to at or below.

    Parameters
    ----------
    levels, below, upto : numpy.ndarray of shape (Q,)
        Levels, and the shares strictly below and at or below the quantiles.
    claimed : pair of numpy.ndarray of shape (Q,)
        The most that may lie below, and the least that must lie at or below; equal where no quantiles are.
    interval : pair of numpy.ndarray of shape (Q,)
        Lower end of the interval of the first share, and upper end of that of the second; NaN where there is none.
    broken : numpy.ndarray of shape (Q,)
        Levels whose claim lies outside the interval.
    confidence_level : float
        Of the intervals.
    title : str
        Shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 5.6)
    ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.9, label="observed = claimed", zorder=1)
    if not np.allclose(*claimed):
        ax.vlines(levels, *claimed, color=EDGE, linewidth=5, label="claims of equal quantiles", zorder=0)
    if not np.isnan(interval[0]).all():
        label = f"{percent(confidence_level)} interval of the share (Clopper-Pearson)"
        ax.vlines(levels, *interval, color=OBSERVED, linewidth=1.3, label=label, zorder=2)
    tied = not np.array_equal(below, upto)
    if tied:
        label = "from strictly below to at or below the quantile"
        ax.vlines(levels, below, upto, color=OBSERVED, linewidth=4, alpha=0.5, label=label, zorder=2)
    kinds = [("o", OBSERVED, ~broken, ""), ("D", ACCENT, broken, ", claim outside the interval")]
    for marker, colour, which, where in kinds:
        if which.any():
            look = {"color": colour, "markersize": 6, "markeredgecolor": "white", "zorder": 4}
            label = f"share {'at or ' * tied}below the quantile{where}"
            ax.plot(levels[which], upto[which], marker, label=label, **look)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(xlabel="claimed level", ylabel="observed share of outcomes")
    titled(ax, title, "", "", size="medium")
    bare(ax)
    legend_below(ax)
    return ax
