"""Histograms that are flat under calibration, with the band of calibrated models."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.plots.axes import (
    BAND,
    INK,
    INNER_BAND,
    OBSERVED,
    axes_or_new,
    bare,
    legend_below,
    literal,
    percent,
    titled,
)

__all__ = ["histogram_plot"]


def histogram_plot(
    edges: np.ndarray,
    counts: np.ndarray,
    *,
    expected: np.ndarray,
    pointwise: tuple[np.ndarray, np.ndarray],
    simultaneous: tuple[np.ndarray, np.ndarray],
    confidence_level: float,
    variable: str,
    whole: bool = False,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw counts as an outline over the bands in which those of calibrated models lie.

    Parameters
    ----------
    edges : numpy.ndarray of shape (K + 1,)
        Edges of the bins.
    counts, expected : numpy.ndarray of shape (K,)
        Rows in each bin: observed, and expected under calibration.
    pointwise, simultaneous : pair of numpy.ndarray of shape (K,)
        Ends of the bands: each bin alone, all bins at once.
    confidence_level : float
        Of the bands.
    variable, title : str
        Of the horizontal axis, and of the picture; shown letter by letter.
    whole : bool
        Whether the variable takes whole numbers only.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 4.3)
    where = f"where {percent(confidence_level)} of calibrated models lie"
    outline = {"baseline": None, "color": OBSERVED, "linewidth": 2, "zorder": 3}
    ax.stairs(counts, edges, label="observed rows", **outline)
    ax.stairs(
        expected, edges, baseline=None, color=INK, linestyle="--", label="expected of a calibrated model", zorder=2
    )
    for (low, high), colour, words, order in (
        (pointwise, INNER_BAND, "each bin alone", 1.0),
        (simultaneous, BAND, "all bins at once", 0.9),
    ):
        ax.stairs(high, edges, baseline=low, fill=True, color=colour, label=f"{where}, {words}", zorder=order)
    ax.set(xlim=(edges[0], edges[-1]), xlabel=literal(variable, 80), ylabel="rows")
    ax.set_ylim(0, 1.05 * max(counts.max(), simultaneous[1].max(), 1))
    titled(ax, title)
    ax.locator_params(axis="y", integer=True)
    if whole:
        ax.locator_params(axis="x", integer=True)
    bare(ax)
    legend_below(ax)
    return ax
