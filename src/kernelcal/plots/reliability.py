"""The reliability diagram: what happened against what was predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.plots.axes import (
    ACCENT,
    BAND,
    EDGE,
    INK,
    INNER_BAND,
    OBSERVED,
    axes_or_new,
    bare,
    legend_below,
    percent,
    titled,
)

__all__ = ["reliability_plot"]


_STRIP = 0.26  # height of the strip below 0 that holds the counts
_NARROW = 0.012  # width at which a bin of one value is drawn
_NUMBERED = 20  # more bins have no room for numbers


def reliability_plot(
    mean_prediction: np.ndarray,
    frequency: np.ndarray,
    count: np.ndarray,
    *,
    edges: tuple[np.ndarray, np.ndarray],
    interval: tuple[np.ndarray, np.ndarray],
    pointwise: tuple[np.ndarray, np.ndarray],
    simultaneous: tuple[np.ndarray, np.ndarray],
    outside: np.ndarray,
    confidence_level: float,
    together: str = "all bins at once",
    title: str = "",
    subtitle: str = "",
    legend: bool = True,
    ax: Any = None,
) -> Any:
    """Draw frequencies with their intervals, bands of calibrated models, and the number of rows in each bin.

    Parameters
    ----------
    mean_prediction, frequency, count : numpy.ndarray of shape (b,)
        What was predicted, what happened, and rows; a bin whose mean prediction is NaN is empty and not drawn.
    edges : pair of numpy.ndarray of shape (b,)
        Lower and upper edges of the bins.
    interval, pointwise, simultaneous : pair of numpy.ndarray of shape (b,)
        Ends of the interval of the frequency, and of the bands of calibrated models: bin by bin, all bins at once.
    outside : numpy.ndarray of shape (b,)
        Bins whose frequency lies outside the simultaneous band.
    confidence_level : float
        Of intervals and bands.
    together : str
        What the simultaneous band holds for.
    title, subtitle : str
        What is asked, and a line below it; shown letter by letter.
    legend : bool
        Whether to say below the axes what everything is.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 6.2 if legend else 5.0)
    filled = np.flatnonzero(~np.isnan(mean_prediction))
    left, width = _widths(edges[0][filled], edges[1][filled])
    ends = [end[filled] for end in interval]
    _points(ax, mean_prediction[filled], frequency[filled], ends, outside[filled], confidence_level)
    ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.9, label="frequency = prediction")
    where = f"where {percent(confidence_level)} of calibrated models lie"
    _band(ax, left, width, [e[filled] for e in pointwise], INNER_BAND, f"{where}, each bin alone", 1)
    _band(ax, left, width, [e[filled] for e in simultaneous], BAND, f"{where}, {together}", 0.9)
    _counts(ax, left, width, count[filled])
    ax.set(xlim=(-0.02, 1.02), ylim=(-_STRIP - 0.02, 1.02), aspect="equal")
    ax.set(xlabel="mean predicted probability", ylabel="observed frequency")
    ax.set_yticks(np.linspace(0, 1, 6))
    empty = len(count) - len(filled)
    note = f"{empty} of {len(count)} bins empty, not drawn" if empty else ""
    titled(ax, title, subtitle, note, size="medium" if legend else "small")
    bare(ax)
    if legend:
        legend_below(ax)
    return ax


def _widths(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    width = np.maximum(upper - lower, _NARROW)
    return (lower + upper - width) / 2, width


def _band(
    ax: Any, left: np.ndarray, width: np.ndarray, ends: list[np.ndarray], colour: str, label: str, zorder: float
) -> None:
    low, high = ends
    height = np.maximum(high - low, 0.004)  # a band of one value is still seen
    ax.bar(left, height, width, (low + high - height) / 2, align="edge", color=colour, label=label, zorder=zorder)


def _points(
    ax: Any, x: np.ndarray, y: np.ndarray, interval: list[np.ndarray], outside: np.ndarray, confidence_level: float
) -> None:
    kinds = [("o", OBSERVED, ~outside, ""), ("D", ACCENT, outside, ", outside the band of all bins")]
    for marker, colour, which, where in kinds:
        if which.any():
            look = {"color": colour, "markersize": 6, "markeredgecolor": "white", "zorder": 4}
            ax.plot(x[which], y[which], marker, label=f"observed frequency{where}", **look)
    label = f"{percent(confidence_level)} interval of the observed frequency (Clopper-Pearson)"
    ax.vlines(x, *interval, color=OBSERVED, linewidth=1.3, label=label, zorder=3)


def _counts(ax: Any, left: np.ndarray, width: np.ndarray, count: np.ndarray) -> None:
    """Bars below 0, and the numbers on them: how much each point rests on."""
    ax.axhline(0, color=EDGE, linewidth=0.6, zorder=0)
    height = 0.09 * count / count.max()
    look = {"align": "edge", "color": EDGE, "edgecolor": "white", "linewidth": 0.5}
    ax.bar(left, height, width, -_STRIP, label="rows in the bin", **look)
    if len(count) > _NUMBERED:
        return
    names = [f"{number:,}" for number in count]
    turned = 90 if width.min() * ax.bbox.width / ax.figure.dpi < 0.055 * max(map(len, names)) else 0  # inches
    for x, top, name in zip(left + width / 2, height - _STRIP, names, strict=True):
        ax.text(x, top + 0.015, name, ha="center", va="bottom", fontsize=6, color=INK, rotation=turned)
