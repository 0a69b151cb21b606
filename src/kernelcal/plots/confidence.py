"""How many rows have which predicted probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.plots.axes import ACCENT, INK, INNER_BAND, axes_or_new, bare, legend_below, titled

__all__ = ["confidence_plot"]


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
