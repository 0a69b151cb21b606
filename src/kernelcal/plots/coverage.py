"""Errors among the answers that are kept, against how many are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.plots.axes import BAND, INK, OBSERVED, axes_or_new, finished, where_calibrated

__all__ = ["risk_coverage_plot"]


def risk_coverage_plot(
    coverage: np.ndarray,
    risk: np.ndarray,
    expected: np.ndarray,
    band: tuple[np.ndarray, np.ndarray],
    *,
    confidence_level: float,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw a risk-coverage curve over what calibrated confidences have.

    Parameters
    ----------
    coverage, risk, expected : numpy.ndarray of shape (k,)
        Share that is kept, share of errors among it, and its mean under calibration.
    band : pair of numpy.ndarray
        Ends of the band of calibrated confidences, point by point.
    confidence_level : float
        Of the band.
    title : str
        Of the picture; shown letter by letter.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, 6.2, 4.6)
    ax.fill_between(coverage, *band, color=BAND, label=f"{where_calibrated(confidence_level)}, point by point")
    ax.plot(coverage, expected, color=INK, linewidth=1, linestyle="--", label="expected if calibrated")
    ax.plot(coverage, risk, color=OBSERVED, linewidth=2, label="seen")
    ax.set_xlim(0, 1)
    ax.set_ylim(
        0, max(1e-3, 1.08 * float(max(np.nanmax(risk[len(risk) // 20 :]), np.nanmax(band[1][len(risk) // 20 :]))))
    )
    ax.set_xlabel("coverage: share of all questions that is kept, the surest first")
    ax.set_ylabel("risk: share of wrong answers among these")
    return finished(ax, title)
