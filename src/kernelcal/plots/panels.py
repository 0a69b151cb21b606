"""Several drawings side by side, with one legend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelcal.plots.axes import literal, pyplot

__all__ = ["panel"]


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
