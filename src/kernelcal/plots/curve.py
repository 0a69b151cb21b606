"""The quantile calibration curve: shares of outcomes below predicted quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL
from kernelcal.plots.axes import BAND, INK, INNER_BAND, OBSERVED, axes_or_new, bare, legend_below, percent, titled

__all__ = ["curve_plot"]


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
