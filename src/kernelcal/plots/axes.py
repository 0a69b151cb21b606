"""Where to draw and how text gets there: no global setting is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelcal.errors import MissingExtraError

__all__ = [
    "ACCENT",
    "BAND",
    "CLASSES",
    "EDGE",
    "INK",
    "INNER_BAND",
    "MARKERS",
    "OBSERVED",
    "axes_or_new",
    "bare",
    "finished",
    "legend_below",
    "literal",
    "marks",
    "panel",
    "percent",
    "pyplot",
    "titled",
    "where_calibrated",
]


OBSERVED = "#0072B2"  # blue: what happened
ACCENT = "#D55E00"  # vermilion: what lies outside a band
INK = "#333333"
EDGE = "#8a8a8a"
BAND = "#e3e3e3"  # where calibrated models lie, all at once
INNER_BAND = "#c4c4c4"  # one at a time
CLASSES = ("#0072B2", "#E69F00", "#009E73")
MARKERS = ("o", "s", "^")


_LONGEST = 48  # letters of a name before it is cut: longer ones leave no room for the picture


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """Return the axes as given, or those of a new figure of this size in inches.

    Examples
    --------
    >>> from kernelcal.plots import axes_or_new
    >>> ax = axes_or_new(None, 4, 3)
    >>> [round(float(inches), 1) for inches in ax.figure.get_size_inches()]
    [4.0, 3.0]
    """
    if ax is not None:
        return ax
    _, ax = pyplot().subplots(figsize=(width, height), layout="constrained")
    return ax


def pyplot() -> Any:
    """Matplotlib's figures, asked for when something is drawn."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing") from None
    return plt


def literal(text: Any, longest: int = _LONGEST) -> str:
    r"""Text that matplotlib shows letter by letter: a dollar sign begins no formula, and a line break no line.

    Outside formulae matplotlib turns each escaped dollar sign back into a plain one, and takes backslashes,
    underscores and carets as they are. So to escape every dollar sign is enough, and nothing else may be escaped.

    Examples
    --------
    >>> from kernelcal.plots import literal
    >>> literal("price in $")
    'price in \\$'
    """
    words = " ".join(str(text).split())
    cut = words if len(words) <= longest else words[: longest - 1] + "…"
    seen = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in cut)
    return seen.replace("$", r"\$")


def percent(share: float) -> str:
    """Share in words of the tables: 0.95 is ``95 %``."""
    return f"{100 * share:g} %"


def where_calibrated(confidence_level: float) -> str:
    """What a band is, in the words of every legend."""
    return f"where {percent(confidence_level)} of calibrated models lie"


def marks(
    ax: Any,
    x: np.ndarray,
    y: np.ndarray,
    outside: np.ndarray,
    inside_label: str,
    outside_label: str,
    *,
    sizes: tuple[float, float] = (6, 6),
    zorder: float = 4,
    **look: Any,
) -> None:
    """Draw points as blue dots, and those outside a band as vermilion diamonds."""
    kinds = (("o", OBSERVED, ~outside, inside_label), ("D", ACCENT, outside, outside_label))
    for (marker, colour, which, label), size in zip(kinds, sizes, strict=True):
        if which.any():
            look |= {"color": colour, "markersize": size, "markeredgecolor": "white", "zorder": zorder}
            ax.plot(x[which], y[which], marker, label=label, **look)


def finished(ax: Any, *lines: str, legend: bool = True) -> Any:
    """Write lines above the axes and the legend below; without a legend, in a panel, letters are small."""
    titled(ax, *lines, size="medium" if legend else "small")
    bare(ax)
    if legend:
        legend_below(ax)
    return ax


def bare(ax: Any) -> None:
    """Take away the frame's upper and right sides."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)


def titled(ax: Any, *lines: str, size: str = "medium") -> None:
    """Write lines above the axes, letter by letter; empty ones are left out."""
    ax.set_title("\n".join(literal(line, 80) for line in lines if line), loc="left", fontsize=size)


def legend_below(ax: Any, lines: float = 4.4) -> None:
    """Say what everything is, so many lines below the axes, where it hides nothing."""
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        borderaxespad=lines,  # in units of the letters, so that tall and flat axes leave the same room for labels
        fontsize="small",
        frameon=False,
        handlelength=1.6,
        labelspacing=0.3,
    )


_ACROSS = 4


def panel(drawings: Sequence[Callable[..., Any]], title: str = "", axes: Any = None) -> Any:
    """Draw each on axes of its own.

    Parameters
    ----------
    drawings : sequence of callable
        Each is called as ``drawing(ax, legend=False)``.
    title : str
        Of the whole figure, where it is new; shown letter by letter.
    axes : sequence of matplotlib.axes.Axes, optional
        Where to draw; default a new figure with one legend for all.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes

    Examples
    --------
    >>> from kernelcal.plots import panel
    >>> axes = panel([lambda ax, legend: ax, lambda ax, legend: ax], "Two pictures")
    >>> axes.shape
    (2,)
    """
    if axes is None:
        return _new(drawings, title)
    for drawing, ax in zip(drawings, axes, strict=False):
        drawing(ax, legend=False)
    return np.asarray(axes, dtype=object)


def _new(drawings: Sequence[Callable[..., Any]], title: str) -> Any:
    across = min(len(drawings), _ACROSS)
    down = -(-len(drawings) // across)
    size = (max(2.9 * across, 5.0), 3.6 * down + 2.0)
    figure, grid = pyplot().subplots(down, across, figsize=size, layout="constrained", squeeze=False)
    axes = grid.ravel()
    for unused in axes[len(drawings) :]:
        unused.remove()
    axes = axes[: len(drawings)]
    for drawing, ax in zip(drawings, axes, strict=True):
        drawing(ax, legend=False)
    for number, ax in enumerate(axes):  # what an axis means is said at the outer ones
        if number % across:
            ax.set_ylabel("")
        if number + across < len(axes):
            ax.set_xlabel("")
    figure.suptitle(literal(title, 120))
    said: dict[str, Any] = {}
    for ax in axes:
        said |= {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(said.values(), said.keys(), loc="outside lower center", fontsize="small", frameon=False)
    return axes
