"""How outcomes lie in what was predicted: confidence, flat histograms, shares of outcomes below claimed levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL
from kernelcal.plots.axes import (
    ACCENT,
    BAND,
    EDGE,
    INK,
    INNER_BAND,
    OBSERVED,
    axes_or_new,
    finished,
    literal,
    marks,
    percent,
    where_calibrated,
)

__all__ = ["calibration_plot", "confidence_plot", "curve_plot", "difference_plot", "histogram_plot", "levels_plot"]


def calibration_plot(
    predictions: np.ndarray,
    curve: np.ndarray,
    *,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    outside: np.ndarray | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    title: str = "",
    subtitle: str = "",
    ax: Any = None,
) -> Any:
    """Draw how often outcomes happen at every predicted probability, over the band of calibrated models.

    Parameters
    ----------
    predictions : numpy.ndarray of shape (m,)
        Places, increasing, in [0, 1].
    curve : numpy.ndarray of shape (m,)
        Frequency of outcomes there.
    band : pair of numpy.ndarray of shape (m,), optional
        Ends of the band of curves of calibrated models, all places at once.
    outside : numpy.ndarray of bool, optional
        Which places stand out.
    confidence_level : float
        Of the band.
    title, subtitle : str
        Shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 6.2)
    if band is not None:
        words = f"{where_calibrated(confidence_level)}, everywhere at once"
        ax.fill_between(predictions, *band, color=BAND, linewidth=0, label=words, zorder=0.9)
    ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.9, label="calibrated", zorder=2)
    ax.plot(predictions, curve, color=OBSERVED, linewidth=1.8, label="calibration curve", zorder=3)
    if outside is not None and outside.any():
        look = {"color": ACCENT, "markersize": 5, "markeredgecolor": "white", "zorder": 4}
        ax.plot(predictions[outside], curve[outside], "D", label="outside of the band", **look)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set(xlabel="predicted probability", ylabel="observed frequency")
    return finished(ax, title, subtitle)


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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.plots import confidence_plot
    >>> ax = confidence_plot(np.array([0.0, 0.5]), np.array([0.5, 1.0]), np.array([3, 7]), 0.7, 0.6)
    >>> ax.get_ylabel()
    'rows'
    """
    ax = axes_or_new(ax, 5.0, 4.0)
    width = np.maximum(upper - lower, 0.012)
    middle = (lower + upper) / 2
    ax.bar(middle, rows, width, color=INNER_BAND, edgecolor="white", label="rows")
    ax.axvline(mean_prediction, color=INK, linestyle="--", label=f"mean predicted probability {mean_prediction:.4f}")
    ax.axvline(frequency, color=ACCENT, label=f"observed frequency {frequency:.4f}")
    ax.set(xlim=(-0.02, 1.02), xlabel="predicted probability", ylabel="rows")
    return finished(ax, title)


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
    legend: bool = True,
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
    legend : bool
        Whether the artists are said below.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.plots import histogram_plot
    >>> flat, wide = (np.full(2, 3.0), np.full(2, 7.0)), (np.full(2, 2.0), np.full(2, 8.0))
    >>> bands = {"expected": np.full(2, 5.0), "pointwise": flat, "simultaneous": wide, "confidence_level": 0.95}
    >>> ax = histogram_plot(np.array([0.0, 0.5, 1.0]), np.array([4, 6]), variable="PIT value", **bands)
    >>> ax.get_xlabel()
    'PIT value'
    """
    ax = axes_or_new(ax, 5.0, 4.3)
    where = where_calibrated(confidence_level)
    outline = {"baseline": None, "color": OBSERVED, "linewidth": 2, "zorder": 3}
    ax.stairs(counts, edges, label="observed rows", **outline)
    ax.stairs(
        expected, edges, baseline=None, color=INK, linestyle="--", label="expected of a calibrated model", zorder=2
    )
    known = not np.isnan(simultaneous[1]).all()
    bands = ((pointwise, INNER_BAND, "each bin alone", 1.0), (simultaneous, BAND, "all bins at once", 0.9))
    for (low, high), colour, words, order in bands if known else ():
        ax.stairs(high, edges, baseline=low, fill=True, color=colour, label=f"{where}, {words}", zorder=order)
    ax.set(xlim=(edges[0], edges[-1]), xlabel=literal(variable, 80), ylabel="rows")
    ax.set_ylim(0, 1.05 * max(counts.max(), simultaneous[1].max() if known else expected.max(), 1))
    ax.locator_params(axis="y", integer=True)
    if whole:
        ax.locator_params(axis="x", integer=True)
    return finished(ax, title, legend=legend)


def curve_plot(
    levels: np.ndarray,
    shares: np.ndarray,
    *,
    bands: tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None,
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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.plots import curve_plot
    >>> ax = curve_plot(np.array([0.25, 0.5, 0.75]), np.array([0.3, 0.5, 0.7]))
    >>> ax.get_xlabel()
    'level of the predicted quantile'
    """
    ax = axes_or_new(ax, 5.0, 6.0)
    ax.plot(levels, shares, "o-", color=OBSERVED, markersize=4, label="observed share of outcomes below", zorder=3)
    ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.9, label="share = level", zorder=2)
    if bands is not None:
        where = where_calibrated(confidence_level)
        looks = ((INNER_BAND, "each level alone", 1.0), (BAND, "all levels at once", 0.9))
        for ends, (colour, words, order) in zip(bands, looks, strict=True):
            ax.fill_between(levels, *ends, color=colour, linewidth=0, label=f"{where}, {words}", zorder=order)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set(xlabel="level of the predicted quantile", ylabel="observed share of outcomes below it")
    return finished(ax, title)


def difference_plot(
    points: np.ndarray,
    difference: np.ndarray,
    *,
    band: tuple[np.ndarray, np.ndarray],
    confidence_level: float = CONFIDENCE_LEVEL,
    title: str = "",
    ax: Any = None,
    legend: bool = True,
) -> Any:
    """Draw the distribution function of values that should be uniform, less the diagonal, over its band.

    Parameters
    ----------
    points, difference : numpy.ndarray of shape (K,)
        Points between 0 and 1, and shares of values at or below them less the points.
    band : pair of numpy.ndarray of shape (K,)
        Ends of the band of all points at once; NaN where there is none.
    confidence_level : float
        Of the band.
    title : str
        Shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.
    legend : bool
        Whether the artists are said below.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 4.0)
    if not np.isnan(band[0]).all():
        label = f"{where_calibrated(confidence_level)}, all points at once"
        ax.fill_between(points, *band, step="mid", color=BAND, linewidth=0, label=label, zorder=0.9)
    ax.axhline(0, color=INK, linestyle="--", linewidth=0.9, zorder=2)
    ax.step(points, difference, where="mid", color=OBSERVED, label="observed share less the point", zorder=3)
    ax.set(xlim=(0, 1), xlabel="relative rank", ylabel="difference of distribution functions")
    return finished(ax, title, legend=legend)


def levels_plot(
    levels: np.ndarray,
    below: np.ndarray,
    upto: np.ndarray,
    *,
    claimed: tuple[np.ndarray, np.ndarray],
    interval: tuple[np.ndarray, np.ndarray],
    broken: np.ndarray,
    confidence_level: float,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw the share of outcomes below each quantile against its level, from strictly below to at or below.

    Parameters
    ----------
    levels, below, upto : numpy.ndarray of shape (Q,)
        Levels, and the shares strictly below and at or below the quantiles.
    claimed : pair of numpy.ndarray of shape (Q,)
        The most that may lie below, and the least that must lie at or below; equal where no quantiles are.
    interval : pair of numpy.ndarray of shape (Q,)
        Lower end of the interval of the first share, and upper end of that of the second; NaN where there is none.
    broken : numpy.ndarray of shape (Q,)
        Levels whose claim lies outside the interval.
    confidence_level : float
        Of the intervals.
    title : str
        Shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 5.0, 5.6)
    ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.9, label="observed = claimed", zorder=1)
    if not np.allclose(*claimed):
        ax.vlines(levels, *claimed, color=EDGE, linewidth=5, label="claims of equal quantiles", zorder=0)
    if not np.isnan(interval[0]).all():
        label = f"{percent(confidence_level)} interval of the share (Clopper-Pearson)"
        ax.vlines(levels, *interval, color=OBSERVED, linewidth=1.3, label=label, zorder=2)
    tied = not np.array_equal(below, upto)
    if tied:
        label = "from strictly below to at or below the quantile"
        ax.vlines(levels, below, upto, color=OBSERVED, linewidth=4, alpha=0.5, label=label, zorder=2)
    label = f"share {'at or ' * tied}below the quantile"
    marks(ax, levels, upto, broken, label, f"{label}, claim outside the interval")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(xlabel="claimed level", ylabel="observed share of outcomes")
    return finished(ax, title)
