"""The witness: smoothed gaps between what happened and what was predicted, with the band of calibrated models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelcal.plots.axes import ACCENT, BAND, INK, OBSERVED, axes_or_new, finished, literal, marks, where_calibrated

__all__ = ["witness_plot"]


_SHADE = 0.13  # opacity of a region outside: the band stays visible in it


def witness_plot(
    position: np.ndarray,
    gap: np.ndarray,
    band: np.ndarray,
    outside: np.ndarray,
    *,
    connected: bool,
    confidence_level: float,
    variable: str = "predicted probability",
    label: str = "observed - predicted, smoothed",
    together: str = "at all places together",
    title: str = "",
    subtitle: str = "",
    legend: bool = True,
    ax: Any = None,
) -> Any:
    """Draw a smoothed gap over the predictions, its band around 0, and where it leaves the band.

    Parameters
    ----------
    position, gap, band : numpy.ndarray of shape (P,)
        Prediction, smoothed gap and half-width of the band at every place; NaN for places far from all rows.
    outside : numpy.ndarray of bool, shape (P,)
        Places where the gap lies outside the band.
    connected : bool
        Whether the places are a grid along the axis. Else they are predictions with several numbers each, of which
        the axis shows one, and every place has a band of its own.
    confidence_level : float
        Share of calibrated models whose gap stays inside the band, `together`.
    variable, label, title, subtitle : str
        Of the two axes, and of the picture; shown letter by letter.
    together : str
        What the band holds for.
    legend : bool
        Whether to say below the axes what everything is.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 4.3 if legend else 3.4)
    order = np.flatnonzero(np.isfinite(gap) & np.isfinite(band))
    order = order[np.argsort(position[order], kind="stable")]
    where = f"{where_calibrated(confidence_level)}, {together}"
    draw = _curve if connected else _places
    draw(ax, position[order], gap[order], band[order], outside[order], where)
    ax.axhline(0, color=INK, linewidth=0.9, linestyle="--", label="as predicted", zorder=2)
    ax.set(xlabel=literal(variable, 80), ylabel=literal(label, 80))
    return finished(ax, title, subtitle, legend=legend)


def _curve(ax: Any, x: np.ndarray, gap: np.ndarray, band: np.ndarray, outside: np.ndarray, where: str) -> None:
    ax.fill_between(x, -band, band, color=BAND, linewidth=0, label=where, zorder=1)
    ax.plot(x, gap, color=OBSERVED, linewidth=1.8, label="smoothed gap", zorder=3)
    said = "smoothed gap outside the band"
    for run in _runs(outside):
        wide = _widened(x, run)
        ax.axvspan(*wide, color=ACCENT, alpha=_SHADE, linewidth=0, zorder=0)
        marker = "-" if len(run) > 1 else "D"  # of a single place there is no line
        ax.plot(x[run], gap[run], marker, color=ACCENT, linewidth=3.2, markersize=5, label=said, zorder=4)
        said = "_again"  # one entry in the legend serves all runs


def _places(ax: Any, x: np.ndarray, gap: np.ndarray, band: np.ndarray, outside: np.ndarray, where: str) -> None:
    ax.vlines(x, -band, band, color=BAND, linewidth=2.2, label=where, zorder=1)
    said = ("smoothed gap", "smoothed gap outside the band")
    marks(ax, x, gap, outside, *said, sizes=(3.5, 4.5), zorder=3, markeredgewidth=0.4)


def _runs(outside: np.ndarray) -> Iterator[np.ndarray]:
    """Neighbouring places outside."""
    places = np.flatnonzero(outside)
    if len(places):
        yield from np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)


def _widened(x: np.ndarray, run: np.ndarray) -> tuple[float, float]:
    """Ends half-way to the neighbours, so that a single place is seen."""
    first, last = int(run[0]), int(run[-1])
    low = x[first] if first == 0 else (x[first - 1] + x[first]) / 2
    high = x[last] if last == len(x) - 1 else (x[last] + x[last + 1]) / 2
    return float(low), float(high)
