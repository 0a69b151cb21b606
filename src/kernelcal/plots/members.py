"""One line a name: estimates on their intervals, and statistics of a family among values under calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL
from kernelcal.plots.axes import (
    ACCENT,
    EDGE,
    INK,
    INNER_BAND,
    OBSERVED,
    axes_or_new,
    bare,
    finished,
    literal,
    percent,
)

__all__ = ["forest_plot", "interval_plot", "members_plot", "null_plot"]


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

    Examples
    --------
    >>> from kernelcal.plots import interval_plot
    >>> ax = interval_plot(["a", "b"], [0.1, 0.2], [(0.05, 0.15), (0.1, 0.3)], label="error")
    >>> ax.get_xlabel()
    'error'
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


def forest_plot(
    names: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    bands: Sequence[tuple[float, float]],
    expected: Sequence[float],
    pvalues: Sequence[float],
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw one line a measure: its value and interval, over the band that calibrated predictions stay in.

    Measures have scales of their own: every line is drawn in units of half its band, around the mean under calibration,
    and the value and that mean are written beside it.

    Parameters
    ----------
    names : sequence of str
        Measures, the first on top; shown letter by letter.
    values, expected, pvalues : sequence of float
        Values, their means under calibration, and p-values; a value that is not finite is only written.
    intervals, bands : sequence of (float, float)
        Ends of intervals and of bands; NaN where there are none.
    confidence_level : float
        Of both; a p-value at or below ``1 - confidence_level`` stands out.
    title : str
        Of the picture.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 7.5, 2.0 + 0.36 * len(names))
    found, level = np.asarray(pvalues, dtype=np.float64) <= 1 - confidence_level + 1e-12, percent(confidence_level)
    said: set[str] = set()

    def once(label: str) -> str:
        new = label not in said
        said.add(label)
        return label if new else "_"

    for row, (value, (low, high), (left, right), centre) in enumerate(
        zip(values, intervals, bands, expected, strict=True)
    ):
        words = f"{value:.3g}" + ("" if np.isnan(centre) else f", expected {centre:.3g}")
        ax.annotate(words, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize="small")
        half = (right - left) / 2
        if not np.isfinite([value, centre, half]).all() or half <= 0:
            continue
        band = once(f"where {level} of calibrated models lie")
        ax.barh(row, 2.0, 0.55, (left - centre) / half, color=INNER_BAND, label=band, zorder=1)
        colour, marker = (ACCENT, "D") if found[row] else (OBSERVED, "o")
        if np.isfinite([low, high]).all():
            ends = ((low - centre) / half, (high - centre) / half)
            ax.hlines(row, *ends, color=colour, linewidth=2, zorder=3)
        label = once(f"value and {level} interval, p {'at most' if found[row] else 'above'} {1 - confidence_level:.3g}")
        look = {"color": colour, "markeredgecolor": "white", "markersize": 7, "zorder": 4}
        ax.plot([(value - centre) / half], [row], marker, label=label, **look)
    ax.axvline(0, color=INK, linewidth=0.8, linestyle="--", label="mean under calibration", zorder=0)
    ax.set_yticks(range(len(names)), [literal(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("half widths of the band under calibration, from the mean")
    return finished(ax, title)


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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.plots import null_plot
    >>> ax = null_plot(np.arange(9.0), 12.0, name="SKCE", pvalue=0.1)
    >>> ax.get_xlabel()
    'SKCE'
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
    return finished(ax, title, null)


def _bars(values: np.ndarray) -> Any:
    """Thirty bars; one for values that are equal but for rounding, whose range has no width."""
    if len(values) == 0:
        return 1
    low, high = values.min(), values.max()
    return 30 if high - low > 1e-9 * max(abs(low), abs(high)) else [low - 0.5, low + 0.5]


_TICKS = [10**e for e in range(1, 12)]  # of a logarithmic axis
_FAR = 25.0  # standard deviations above which the axis is logarithmic


def members_plot(
    names: Sequence[str],
    deviations: Sequence[float],
    pvalues: Sequence[float],
    *,
    drawn: Sequence[np.ndarray] = (),
    confidence_level: float = CONFIDENCE_LEVEL,
    title: str = "",
    subtitle: str = "",
    ax: Any = None,
) -> Any:
    """Draw one line a statistic: its observed value over the range of its values under calibration.

    Parameters
    ----------
    names : sequence of str
        Of the statistics; shown letter by letter, the first on top.
    deviations, pvalues : sequence of float
        Observed values in standard deviations under calibration, from the mean, and p-values.
    drawn : sequence of numpy.ndarray, optional
        Values of the draws of every statistic, in the same unit.
    confidence_level : float
        Share of the draws below the end of the thick bar; a p-value at or below ``1 - confidence_level`` stands out.
    title, subtitle : str
        Shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from kernelcal.plots import members_plot
    >>> ax = members_plot(["slope", "bias"], [4.0, 0.3], [0.001, 0.7])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['slope', 'bias']
    """
    ax = axes_or_new(ax, 6.0, 2.2 + 0.34 * len(names))
    values = np.asarray(deviations, dtype=np.float64)
    found = np.asarray(pvalues) <= 1 - confidence_level + 1e-12
    _ranges(ax, drawn, confidence_level)
    right = max([3.0, *values[np.isfinite(values)], *(float(np.max(d)) for d in drawn if len(d))])
    shown = np.where(values == np.inf, right, values)
    rows = np.arange(len(names))
    for which, marker, colour, label in (
        (found, "D", ACCENT, f"observed value, p at most {1 - confidence_level:.3g}"),
        (~found, "o", OBSERVED, f"observed value, p above {1 - confidence_level:.3g}"),
    ):
        if which.any():
            look = {"color": colour, "markeredgecolor": "white", "markersize": 7, "zorder": 4}
            ax.plot(shown[which], rows[which], marker, label=label, **look)
    for row, (value, p) in enumerate(zip(values, pvalues, strict=True)):
        ax.annotate(_said(value, p), (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize="small")
    if right > _FAR:
        ax.set_xscale("symlog", linthresh=5)
        ticks = [tick for tick in _TICKS if tick <= 1.5 * right]
        ticks = ticks[:: -(-len(ticks) // 2)]  # two, which have room for their digits
        ax.set_xticks([0, *ticks], [f"{tick:,}" for tick in (0, *ticks)])
        ax.minorticks_off()
    ax.use_sticky_edges = False  # bars end inside the axes
    ax.set_yticks(rows, [literal(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("standard deviations under calibration, from the mean")
    return finished(ax, title, subtitle)


def _ranges(ax: Any, drawn: Sequence[np.ndarray], confidence_level: float) -> None:
    """Thin lines over all draws, thick ones up to their quantile: large values speak against calibration."""
    kept = [(row, d) for row, d in enumerate(drawn) if len(d)]
    ax.axvline(0, color=INK, linewidth=0.8, linestyle="--", label="mean under calibration", zorder=0)
    if not kept:
        return
    rows = [row for row, _ in kept]
    low, cut, high = (np.array([np.quantile(d, q) for _, d in kept]) for q in (0.0, confidence_level, 1.0))
    label = f"{percent(confidence_level)} of the draws under calibration"
    ax.barh(rows, cut - low, 0.5, low, color=INNER_BAND, label=label, zorder=1)
    ax.hlines(rows, cut, high, color=EDGE, linewidth=1.2, label="the other draws", zorder=1)


def _said(deviation: float, pvalue: float) -> str:
    if np.isnan(deviation):
        return "no variance"
    return f"p = {pvalue:.3g}" + (", beyond all" if np.isinf(deviation) else "")
