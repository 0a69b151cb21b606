"""Predictions of three classes as points of a triangle, with arrows to what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcal.plots.axes import (
    ACCENT,
    CLASSES,
    EDGE,
    INK,
    MARKERS,
    axes_or_new,
    legend_below,
    literal,
    percent,
    titled,
)

__all__ = ["simplex_plot"]


_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def simplex_plot(
    points: np.ndarray,
    outcomes: np.ndarray,
    names: Sequence[str],
    *,
    starts: np.ndarray,
    ends: np.ndarray,
    outside: np.ndarray,
    confidence_level: float,
    title: str = "",
    subtitle: str = "",
    ax: Any = None,
) -> Any:
    """Draw predictions by their outcomes, and an arrow a bin from the mean prediction to the frequencies.

    Parameters
    ----------
    points : numpy.ndarray of shape (k, 3)
        Predicted probabilities.
    outcomes : numpy.ndarray of shape (k,)
        Classes 0, 1, 2 that happened.
    names : sequence of str
        Of the three classes, at the corners; shown letter by letter.
    starts, ends : numpy.ndarray of shape (b, 3)
        Mean predictions and frequencies of bins.
    outside : numpy.ndarray of shape (b,)
        Bins whose gap is larger than chance gives.
    confidence_level : float
        Share of calibrated models without such a bin.
    title, subtitle : str
        Shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 5.7)
    _triangle(ax, names)
    for k, (colour, marker) in enumerate(zip(CLASSES, MARKERS, strict=True)):
        x, y = (points[outcomes == k] @ _CORNERS).T
        look = {"s": 9, "alpha": 0.45, "color": colour, "linewidths": 0, "zorder": 2}
        ax.scatter(x, y, marker=marker, label=f"prediction, the outcome was {literal(names[k], 30)}", **look)
    _arrows(ax, starts[~outside], ends[~outside], INK, "from mean prediction to frequencies of a bin")
    words = f"the same, a gap that {percent(confidence_level)} of calibrated models have in no bin"
    _arrows(ax, starts[outside], ends[outside], ACCENT, words)
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.09, 0.95), aspect="equal")
    ax.set_axis_off()
    titled(ax, title, subtitle)
    legend_below(ax, 0)
    return ax


def _triangle(ax: Any, names: Sequence[str]) -> None:
    for share in (0.25, 0.5, 0.75):
        for k in range(3):  # lines of equal probability of one class
            a, b = (share * _CORNERS[k] + (1 - share) * _CORNERS[j] for j in range(3) if j != k)
            ax.plot(*zip(a, b, strict=True), color="0.88", linewidth=0.7, zorder=0)
    ax.plot(*np.vstack([_CORNERS, _CORNERS[:1]]).T, color=EDGE, linewidth=1, zorder=1)
    for (x, y), name, below in zip(_CORNERS, names, (True, True, False), strict=True):
        ax.text(x, y - 0.02 if below else y + 0.02, literal(name, 24), ha="center", va="top" if below else "bottom")


def _arrows(ax: Any, starts: np.ndarray, ends: np.ndarray, colour: str, label: str) -> None:
    if len(starts) == 0:
        return
    tails, heads = starts @ _CORNERS, ends @ _CORNERS
    ax.plot(*tails.T, "o", color=colour, markersize=3, zorder=3)
    ax.quiver(
        *tails.T,
        *(heads - tails).T,
        angles="xy",
        scale_units="xy",
        scale=1,
        width=0.006,
        color=colour,
        edgecolor="white",
        linewidth=0.5,
        label=label,
        zorder=4,
    )
