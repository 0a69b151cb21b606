"""The history of a monitor: how near both alarms are, batch by batch, and where a change began."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcal.plots.axes import ACCENT, BAND, INK, OBSERVED, axes_or_new, finished

__all__ = ["history_plot"]


_LEAST, _MOST = -0.25, 2.0  # shares of a bound that are drawn


def history_plot(
    rows: Sequence[int],
    ever: Sequence[float],
    drift: Sequence[float],
    *,
    alarms: Sequence[int] = (),
    change: tuple[int, int, int] | None = None,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw logarithms over their bounds against rows.

    Parameters
    ----------
    rows : sequence of int
        Rows after every batch.
    ever, drift : sequence of float
        Logarithms of the e-value and of the drift statistic, 1 where the alarm is; what lies outside -0.25 to 2 is
        drawn at the edge.
    alarms : sequence of int
        Rows after which an alarm was raised first.
    change : (row, low, high), optional
        Where a change began, with its interval.
    title : str
        Of the picture.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 7.5, 3.6)
    if change is not None:
        ax.axvspan(
            change[1], max(change[2], change[1] + 1), color=BAND, label="a change began, 95 % interval", zorder=0
        )
        ax.axvline(change[0], color=INK, linewidth=0.8, linestyle=":", zorder=1)
    for values, colour, name in ((ever, OBSERVED, "e-value since the beginning"), (drift, INK, "drift statistic")):
        shown = np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), neginf=_LEAST), _LEAST, _MOST)
        ax.plot([0, *rows], [0, *shown], color=colour, label=name, marker="o", markersize=3, linewidth=1.4)
    ax.axhline(1, color=ACCENT, linewidth=1.2, linestyle="--", label="alarm")
    for k, row in enumerate(alarms):
        ax.plot([row], [1], "D", color=ACCENT, markeredgecolor="white", label="first alarm" if not k else "_", zorder=5)
    ax.set_xlabel("rows")
    ax.set_ylabel("how near to an alarm (log)")
    ax.set_ylim(_LEAST - 0.05, _MOST + 0.05)
    return finished(ax, title)
