"""Histograms whose expected counts are known under calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.plots.axes import percent
from kernelcal.plots.histogram import histogram_plot
from kernelcal.statistics.null_band import NullBand
from kernelcal.tables import Shown, Table

__all__ = ["UniformHistogram"]


@dataclass(frozen=True, eq=False, repr=False)
class UniformHistogram(Shown):
    """Counts in bins whose probabilities are known under calibration.

    Attributes
    ----------
    title, variable : str
        What is counted.
    edges : numpy.ndarray of shape (K + 1,)
        Edges of the bins.
    counts, expected : numpy.ndarray of shape (K,)
        Rows in each bin, and how many are expected under calibration.
    band : NullBand
        Where counts of calibrated models lie.
    n : int
        Rows.
    notes : tuple of str
        What the reader must know.
    """

    title: str
    variable: str
    edges: np.ndarray
    counts: np.ndarray
    expected: np.ndarray
    band: NullBand
    n: int
    notes: tuple[str, ...] = ()

    @property
    def outside(self) -> np.ndarray:
        """Bins whose count lies outside the band of all bins at once, shape (K,)."""
        return self.band.outside(self.counts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("edges", "counts", "expected", "outside")}
        return {
            "variable": self.variable,
            **arrays,
            "null_band": self.band.to_dict(),
            "n": self.n,
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the histogram with its band.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        band = self.band
        return histogram_plot(
            self.edges,
            self.counts,
            expected=self.expected,
            pointwise=(band.pointwise_low, band.pointwise_high),
            simultaneous=(band.low, band.high),
            confidence_level=band.confidence_level,
            variable=self.variable,
            whole=self.edges[0] < 0,
            title=f"{self.title}, {self.n:,} rows",
            ax=ax,
        )

    def _table(self) -> Table:
        out, band = self.outside, self.band
        rows = [
            (f"{a:g} to {b:g}", f"{c:,}, calibrated {low:.0f} to {high:.0f}" + (", outside" if o else ""))
            for a, b, c, low, high, o in zip(
                self.edges, self.edges[1:], self.counts, band.low, band.high, out, strict=False
            )
        ]
        said = f"calibrated: where {percent(band.confidence_level)} of calibrated models lie, all bins at once"
        return Table(self.title, [("rows", f"{self.n:,}"), (self.variable, "rows"), *rows], (said, *self.notes))
