"""A statistic among its values under calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.plots.axes import axes_or_new, bare, legend_below, literal, titled
from kernelcal.plots.colours import ACCENT, EDGE, INNER_BAND

__all__ = ["null_plot"]


def null_plot(
    drawn: np.ndarray, observed: float, *, name: str, pvalue: float, null: str = "", title: str = "", ax: Any = None
) -> Any:
    """Draw a histogram of values under calibration, and the observed value as a line.

    Parameters
    ----------
    drawn : numpy.ndarray of shape (B,)
        Values of the draws; those that are not finite are left out, and said.
    observed, pvalue : float
        Observed value and its p-value.
    name, null, title : str
        Of the statistic, of the law that was drawn from, and of the picture; shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 4.0)
    finite = drawn[np.isfinite(drawn)]
    left = len(drawn) - len(finite)
    label = f"{len(finite):,} values under calibration" + (f" ({left} more are not finite)" if left else "")
    ax.hist(finite, bins=_bars(finite), color=INNER_BAND, edgecolor=EDGE, linewidth=0.4, label=label)
    if np.isfinite(observed):
        ax.axvline(observed, color=ACCENT, linewidth=2, label=f"observed value, p = {pvalue:.3g}")
    else:
        ax.plot([], [], color=ACCENT, label=f"observed value is {observed:g}, p = {pvalue:.3g}")
    ax.set(xlabel=literal(name, 80), ylabel="draws")
    ax.locator_params(axis="x", nbins=6)
    ax.locator_params(axis="y", integer=True)
    titled(ax, title, null)
    bare(ax)
    legend_below(ax)
    return ax


def _bars(values: np.ndarray) -> Any:
    """Thirty bars; one for values that are equal but for rounding, whose range has no width."""
    if len(values) == 0:
        return 1
    low, high = values.min(), values.max()
    return 30 if high - low > 1e-9 * max(abs(low), abs(high)) else [low - 0.5, low + 0.5]
