"""Observed minus predicted over a column: steps of ranges or bars of categories, with the band around 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcal.plots.axes import (
    ACCENT,
    BAND,
    EDGE,
    INK,
    OBSERVED,
    axes_or_new,
    bare,
    legend_below,
    literal,
    percent,
    titled,
)

__all__ = ["profile_plot"]


_DATES = 3  # on an axis: each is ten letters


def profile_plot(
    places: np.ndarray | Sequence[str],
    gap: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    outside: np.ndarray,
    *,
    variable: str,
    label: str = "observed - predicted",
    confidence_level: float,
    dates: bool = False,
    title: str = "",
    legend: bool = True,
    ax: Any = None,
) -> Any:
    """Draw gaps over the ranges or categories of a column.

    Parameters
    ----------
    places : numpy.ndarray of shape (P + 1,), or sequence of P str
        Ends of ranges of numbers, or names of categories.
    gap, low, high : numpy.ndarray of shape (P,)
        Gap of every place, and the ends of its band; NaN where there are too few rows.
    outside : numpy.ndarray of bool, shape (P,)
        Places whose gap leaves the band.
    variable, label, title : str
        Of the two axes, and of the picture; shown letter by letter.
    confidence_level : float
        Share of calibrated models that stay inside the band everywhere.
    dates : bool
        Whether ranges are days since 1970.
    legend : bool
        Whether to say below the axes what everything is.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.plots import profile_plot
    >>> gap, band = np.array([0.2, 0.0]), {"low": np.full(2, -0.1), "high": np.full(2, 0.1)}
    >>> ax = profile_plot(["north", "south"], gap, outside=gap > 0.1, variable="site", confidence_level=0.95, **band)
    >>> ax.get_xlabel()
    'site'
    """
    named = len(places) == len(gap)
    ax = axes_or_new(ax, 5.0, 4.3 if legend else 3.4)
    edges = np.arange(len(gap) + 1) - 0.5 if named else np.asarray(places, dtype=np.float64)
    middle = (edges[:-1] + edges[1:]) / 2
    width = np.diff(edges) * (0.8 if named else 1.0)
    there = ~np.isnan(low) & ~np.isnan(high)
    ax.bar(
        middle[there],
        (high - low)[there],
        width[there],
        low[there],
        color=BAND,
        edgecolor=EDGE,
        linewidth=0.4,
        label=f"{percent(confidence_level)} of calibrated models, at all places of all columns together",
        zorder=1,
    )
    ax.axhline(0, color=INK, linewidth=0.8, linestyle="--", label="as predicted", zorder=2)
    for which, marker, colour, words in (
        (~outside & ~np.isnan(gap), "o", OBSERVED, "observed, inside the band"),
        (outside, "D", ACCENT, "observed, outside the band"),
    ):
        if which.any():
            look = {"color": colour, "markeredgecolor": "white", "markersize": 7, "zorder": 4}
            ax.plot(middle[which], gap[which], marker, label=words, **look)
    if named:
        ax.set_xticks(middle, [literal(name, 14) for name in places], rotation=30 if len(gap) > 4 else 0)
    elif dates:
        at = np.linspace(edges[0], edges[-1], _DATES)
        ax.set_xticks(at, [str(np.datetime64(0, "D") + np.timedelta64(int(day), "D")) for day in at])
    ax.use_sticky_edges = False  # bars end inside the axes
    ax.set(xlabel=literal(variable, 80), ylabel=literal(label, 60))
    titled(ax, title)
    bare(ax)
    if legend:
        legend_below(ax)
    return ax
