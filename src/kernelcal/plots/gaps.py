"""Gaps between what happened and what was predicted: in bins, of three classes in a triangle, and smoothed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernelcal.plots.axes import (
    ACCENT,
    BAND,
    CLASSES,
    EDGE,
    INK,
    INNER_BAND,
    MARKERS,
    OBSERVED,
    axes_or_new,
    finished,
    legend_below,
    literal,
    marks,
    percent,
    titled,
    where_calibrated,
)

__all__ = ["reliability_plot", "simplex_plot", "witness_plot"]


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
    method: str = "Clopper-Pearson",
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
        Ends of the interval of the frequency, and of the bands of calibrated models: bin by bin, all bins at once; NaN
        where there is no band.
    outside : numpy.ndarray of shape (b,)
        Bins whose frequency lies outside the simultaneous band.
    confidence_level : float
        Of intervals and bands.
    together : str
        What the simultaneous band holds for.
    method : str
        How intervals were made.
    title, subtitle : str
        What is asked, and a line below it; shown letter by letter.
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
    >>> from kernelcal.plots import reliability_plot
    >>> half, edges = np.array([0.25, 0.75]), (np.array([0.0, 0.5]), np.array([0.5, 1.0]))
    >>> around = {name: (half - 0.2, half + 0.2) for name in ("interval", "pointwise", "simultaneous")}
    >>> rest = {"edges": edges, "outside": half > 1, "confidence_level": 0.95}
    >>> ax = reliability_plot(half, half, np.array([3, 7]), **around, **rest)
    >>> ax.get_xlabel()
    'mean predicted probability'
    """
    ax = axes_or_new(ax, 5.0, 6.2 if legend else 5.0)
    filled = np.flatnonzero(~np.isnan(mean_prediction))
    left, width = _widths(edges[0][filled], edges[1][filled])
    ends = [end[filled] for end in interval]
    _points(ax, mean_prediction[filled], frequency[filled], ends, outside[filled], confidence_level, method)
    ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.9, label="frequency = prediction")
    where = where_calibrated(confidence_level)
    _band(ax, left, width, [e[filled] for e in pointwise], INNER_BAND, f"{where}, each bin alone", 1)
    _band(ax, left, width, [e[filled] for e in simultaneous], BAND, f"{where}, {together}", 0.9)
    _counts(ax, left, width, count[filled])
    ax.set(xlim=(-0.02, 1.02), ylim=(-_STRIP - 0.02, 1.02), aspect="equal")
    ax.set(xlabel="mean predicted probability", ylabel="observed frequency")
    ax.set_yticks(np.linspace(0, 1, 6))
    empty = len(count) - len(filled)
    note = f"{empty} of {len(count)} bins empty, not drawn" if empty else ""
    return finished(ax, title, subtitle, note, legend=legend)


def _widths(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    width = np.maximum(upper - lower, _NARROW)
    return (lower + upper - width) / 2, width


def _band(
    ax: Any, left: np.ndarray, width: np.ndarray, ends: list[np.ndarray], colour: str, label: str, zorder: float
) -> None:
    low, high = ends
    if np.isnan(low).all():
        return
    height = np.maximum(high - low, 0.004)  # a band of one value is still seen
    ax.bar(left, height, width, (low + high - height) / 2, align="edge", color=colour, label=label, zorder=zorder)


def _points(
    ax: Any,
    x: np.ndarray,
    y: np.ndarray,
    interval: list[np.ndarray],
    outside: np.ndarray,
    confidence_level: float,
    method: str,
) -> None:
    marks(ax, x, y, outside, "observed frequency", "observed frequency, outside the band of all bins")
    label = f"{percent(confidence_level)} interval of the observed frequency ({method})"
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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.plots import simplex_plot
    >>> p, none = np.array([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]]), np.empty((0, 3))
    >>> arrows = {"starts": none, "ends": none, "outside": np.empty(0, bool), "confidence_level": 0.95}
    >>> ax = simplex_plot(p, np.array([1, 0]), ["a", "b", "c"], title="Two rows", **arrows)
    >>> ax.get_title(loc="left")
    'Two rows'
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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.plots import witness_plot
    >>> x, gap = np.array([0.2, 0.5, 0.8]), np.array([0.1, 0.0, -0.2])
    >>> ax = witness_plot(x, gap, np.full(3, 0.15), np.abs(gap) > 0.15, connected=True, confidence_level=0.95)
    >>> ax.get_xlabel()
    'predicted probability'
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
