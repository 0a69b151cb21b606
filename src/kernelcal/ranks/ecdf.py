"""The difference of the distribution function of ranks or PIT values from the diagonal, with its simultaneous band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL
from kernelcal.plots import difference_plot
from kernelcal.ranks.bands import simultaneous_band
from kernelcal.ranks.table import RankTable
from kernelcal.tables import Shown, Table

__all__ = ["EcdfDifference", "ecdf_difference"]


_MOST_POINTS = 100
_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class EcdfDifference(Shown):
    """Share of values at or below points, less the points.

    Above 0 first and below 0 then: too many values at the ends, posterior too narrow. Below 0 first: too wide. Above 0
    everywhere: values too small, posterior shifted up.

    Attributes
    ----------
    name : str
        Parameter.
    points, difference, low, high : numpy.ndarray of shape (K,)
        Points between 0 and 1, shares less points, and the band of these; NaN where rows depend on each other.
    confidence_level, coverage : float
        What was asked for, and the exact chance that a calibrated difference lies inside everywhere.
    n : int
        Simulations.

    Examples
    --------
    >>> from kernelcal.ranks import rank_test
    >>> found = rank_test([0, 3, 3, 1, 2, 0], draws_per_rank=3).ecdf()
    >>> found.points, found.difference.round(3)
    (array([0.25, 0.5 , 0.75]), array([ 0.083,  0.   , -0.083]))
    """

    name: str
    points: np.ndarray
    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    confidence_level: float
    coverage: float
    n: int

    @property
    def outside(self) -> np.ndarray:
        """Points where it leaves the band, shape (K,)."""
        slack = 1e-12
        return np.asarray((self.difference < self.low - slack) | (self.difference > self.high + slack))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        known = not np.isnan(self.low).any()
        band = {key: getattr(self, key).tolist() if known else None for key in ("low", "high")}
        arrays = {key: getattr(self, key).tolist() for key in ("points", "difference")}
        told = {"confidence_level": self.confidence_level, "coverage": self.coverage if known else None, "n": self.n}
        return {"name": self.name, **arrays, **band, "outside": self.outside.tolist(), **told}

    def plot(self, ax: Any = None, *, legend: bool = True) -> Any:
        """Draw the difference over its band.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.
        legend : bool
            Whether the artists are said below.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return difference_plot(
            self.points,
            self.difference,
            band=(self.low, self.high),
            confidence_level=self.confidence_level,
            title=f"{self.name}, {self.n:,} simulations",
            ax=ax,
            legend=legend,
        )

    def _table(self) -> Table:
        places = np.unique(np.linspace(0, len(self.points) - 1, min(_SHOWN, len(self.points))).astype(int))
        out = self.outside
        rows = [
            (
                f"{self.points[k]:.3g}",
                f"{self.difference[k]:+.3f}, calibrated {self.low[k]:+.3f} to {self.high[k]:+.3f}"
                + (", outside" if out[k] else ""),
            )
            for k in places
        ]
        said = f"calibrated: where {self.coverage:.1%} of calibrated differences lie, at all points at once"
        return Table(
            f"Distribution function of {self.name} less the diagonal", [("rows", f"{self.n:,}"), *rows], (said,)
        )


def ecdf_difference(
    table: RankTable, k: int, confidence_level: float = CONFIDENCE_LEVEL, *, independent: bool = True
) -> EcdfDifference:
    """Difference of one parameter; at most 100 points, for ranks at steps between them.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.ranks import RankTable, ecdf_difference
    >>> ecdf_difference(RankTable(np.array([[0], [3], [1], [2]]), ("mu",), 3), 0).difference
    array([0., 0., 0.])
    """
    n, size, own = len(table), table.draws_per_rank, table.values[:, k]
    if size is None:
        points = np.arange(1, _MOST_POINTS) / _MOST_POINTS
        counts = np.searchsorted(np.sort(own), points, side="right")
    else:
        steps = np.unique(np.linspace(1, size, min(size, _MOST_POINTS)).astype(int))
        points, counts = steps / (size + 1), np.searchsorted(np.sort(own), steps, side="left")
    difference = counts / n - points
    if not independent:
        nowhere = np.full(len(points), np.nan)
        return EcdfDifference(table.names[k], points, difference, nowhere, nowhere, confidence_level, np.nan, n)
    band = simultaneous_band(n, points, confidence_level)
    ends = band.low / n - points, band.high / n - points
    return EcdfDifference(table.names[k], points, difference, *ends, confidence_level, band.coverage, n)
