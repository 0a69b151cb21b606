"""How predictions and outcomes are distributed: confidence, flat histograms, the quantile calibration curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL
from kernelcal.plots.axes import (
    ACCENT,
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

__all__ = ["confidence_plot", "curve_plot", "histogram_plot"]


def confidence_plot(
    lower: np.ndarray,
    upper: np.ndarray,
    rows: np.ndarray,
    mean_prediction: float,
    frequency: float,
    *,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw a histogram of predicted probabilities with their mean and how often the event occurred.

    Parameters
    ----------
    lower, upper, rows : numpy.ndarray of shape (b,)
        Edges of the bins, and the number of rows in each (or the sum of their weights).
    mean_prediction, frequency : float
        Over all rows; for the top label the mean confidence and the accuracy.
    title : str
        What is asked; shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 4.0)
    width = np.maximum(upper - lower, 0.012)
    middle = (lower + upper) / 2
    ax.bar(middle, rows, width, color=INNER_BAND, edgecolor="white", label="rows")
    ax.axvline(mean_prediction, color=INK, linestyle="--", label=f"mean predicted probability {mean_prediction:.4f}")
    ax.axvline(frequency, color=ACCENT, label=f"observed frequency {frequency:.4f}")
    ax.set(xlim=(-0.02, 1.02), xlabel="predicted probability", ylabel="rows")
    titled(ax, title)
    bare(ax)
    legend_below(ax)
    return ax


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


Ends = tuple[np.ndarray, np.ndarray]


def curve_plot(
    levels: np.ndarray,
    shares: np.ndarray,
    *,
    bands: tuple[Ends, Ends] | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw the share of outcomes below the predicted quantile of every level.

    Parameters
    ----------
    levels, shares : numpy.ndarray of shape (L,)
        Quantile levels, and observed shares.
    bands : pair of pairs of numpy.ndarray of shape (L,), optional
        Ends of the bands of calibrated models: each level alone, and all levels at once.
    confidence_level : float
        Of the bands.
    title : str
        Shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 6.0)
    ax.plot(levels, shares, "o-", color=OBSERVED, markersize=4, label="observed share of outcomes below", zorder=3)
    ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.9, label="share = level", zorder=2)
    if bands is not None:
        where = f"where {percent(confidence_level)} of calibrated models lie"
        looks = ((INNER_BAND, "each level alone", 1.0), (BAND, "all levels at once", 0.9))
        for ends, (colour, words, order) in zip(bands, looks, strict=True):
            ax.fill_between(levels, *ends, color=colour, linewidth=0, label=f"{where}, {words}", zorder=order)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set(xlabel="level of the predicted quantile", ylabel="observed share of outcomes below it")
    titled(ax, title)
    bare(ax)
    legend_below(ax)
    return ax
