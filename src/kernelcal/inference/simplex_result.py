"""Calibration of three classes: its table and its triangle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.plots.axes import percent
from kernelcal.plots.simplex import simplex_plot
from kernelcal.statistics.bin_table import BinnedEstimate, BinTable
from kernelcal.tables import Grid, Shown

__all__ = ["SimplexCalibration"]

_SHOWN = 30


@dataclass(frozen=True, eq=False, repr=False)
class SimplexCalibration(Shown):
    """Mean predictions and frequencies of three classes in bins.

    Attributes
    ----------
    ece : BinnedEstimate
        Expected calibration error of these bins, all classes at once.
    names : tuple of str
        Of the classes.
    outside : numpy.ndarray of shape (b,)
        Bins whose gap is larger than any in a share ``confidence_level`` of calibrated models.
    points, outcomes : numpy.ndarray of shape (k, 3) and (k,)
        Predictions and outcomes that are drawn: all, or 2,000 of them.
    confidence_level : float
        Of `outside`.
    draws : int
        Draws behind it.
    """

    ece: BinnedEstimate
    names: tuple[str, ...]
    outside: np.ndarray
    points: np.ndarray
    outcomes: np.ndarray
    confidence_level: float
    draws: int

    @property
    def table(self) -> BinTable:
        """Counts, mean predictions and frequencies of the bins."""
        return self.ece.tables[0]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the points."""
        own = {
            "names": list(self.names),
            "outside": self.outside.tolist(),
            "confidence_level": self.confidence_level,
            "draws": self.draws,
        }
        return {"ece": self.ece.to_dict(), **own, **self.table.to_dict()}

    def plot(self, ax: Any = None) -> Any:
        """Draw the triangle.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        filled, t = self.table.weight > 0, self.table
        some = f" ({len(self.points):,} of them drawn)" if len(self.points) < self.ece.n else ""
        return simplex_plot(
            self.points,
            self.outcomes,
            self.names,
            starts=t.mean_prediction[filled],
            ends=t.frequency[filled],
            outside=self.outside[filled],
            confidence_level=self.confidence_level,
            title=f"Calibration of three classes, ECE {float(self.ece):.4f}",
            subtitle=f"{self.ece.n:,} rows{some}, {self.ece.options['bins']}",
            ax=ax,
        )

    def _table(self) -> Grid:
        t = self.table
        filled = np.flatnonzero(t.weight > 0)
        rows = [
            (
                f"{t.count[k]:,}",
                _numbers(t.mean_prediction[k]),
                _numbers(t.frequency[k]),
                "outside" if self.outside[k] else "",
            )
            for k in filled[:_SHOWN]
        ]
        more = (f"{len(filled) - _SHOWN} more bins are not shown",) if len(filled) > _SHOWN else ()
        words = f"outside: a larger gap than {percent(self.confidence_level)} of calibrated models have in any bin"
        head = ("rows", "mean prediction", "frequencies", "")
        return Grid(f"{self.ece.name} = {float(self.ece):.4f}", head, rows, (words, *more, *self.ece.notes))


def _numbers(values: np.ndarray) -> str:
    return " ".join(f"{value:.3f}" for value in values)
