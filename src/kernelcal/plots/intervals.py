"""Estimates with their intervals, one line a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelcal.plots.axes import OBSERVED, axes_or_new, bare, literal

__all__ = ["interval_plot"]


def interval_plot(
    names: Sequence[str],
    estimates: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    *,
    label: str,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw estimates as dots on their intervals, the first name on top.

    Parameters
    ----------
    names : sequence of str
        What is estimated; shown as text, dollar signs included.
    estimates : sequence of float
        The dots.
    intervals : sequence of (float, float)
        Lower and upper ends.
    label, title : str
        Of the horizontal axis, and of the picture.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 7.0, 1.2 + 0.35 * len(names))
    rows = range(len(names))
    ax.hlines(rows, [low for low, _ in intervals], [high for _, high in intervals], color=OBSERVED, linewidth=2)
    ax.plot(estimates, rows, "o", color=OBSERVED, markersize=6)
    ax.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
    ax.set_yticks(list(rows), [literal(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(literal(label, 100))
    ax.set_title(literal(title, 100), loc="left")
    ax.grid(axis="x", color="0.9")
    bare(ax)
    return ax
