"""Reliability of all classes, and how it prints and draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelcal.inference.reliability_result import Reliability
from kernelcal.plots.panel import panel
from kernelcal.statistics.bin_table import BinnedEstimate
from kernelcal.tables import Grid, Shown

__all__ = ["ClassReliability"]

_DRAWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class ClassReliability(Shown):
    """Reliability of every class.

    Attributes
    ----------
    ece : BinnedEstimate
        Mean of the errors of the classes.
    parts : tuple of Reliability
        One for every class, in the order of the classes. Bands hold for all bins of all classes at once.
    """

    ece: BinnedEstimate
    parts: tuple[Reliability, ...]

    def worst(self, number: int = _DRAWN) -> tuple[Reliability, ...]:
        """Return the classes with the largest errors, the largest first."""
        return tuple(sorted(self.parts, key=lambda part: -float(part.ece))[:number])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"ece": self.ece.to_dict(), "parts": [part.to_dict() for part in self.parts]}

    def plot(self, axes: Any = None, *, number: int = _DRAWN) -> Any:
        """Draw a reliability diagram for each of the worst classes, the worst first.

        Parameters
        ----------
        axes : sequence of matplotlib.axes.Axes, optional
            Where to draw, one a class; as many classes are drawn as there are axes. Default a new figure.
        number : int
            Largest number of classes that are drawn in a new figure; it says how many are left out.

        Returns
        -------
        numpy.ndarray of matplotlib.axes.Axes
        """
        number = len(self.parts) if axes is None and len(self.parts) < number else number
        shown = self.worst(number if axes is None else len(axes))
        left = len(self.parts) - len(shown)
        more = f", the {len(shown)} worst of {len(self.parts)} ({left} left out)" if left else ""
        return panel([part.plot for part in shown], f"Reliability, {self.ece.name} {float(self.ece):.4f}{more}", axes)

    def _table(self) -> Grid:
        rows = [
            (
                part.question,
                f"{float(part.ece):.4f}",
                f"{int(part.outside.sum())} of {int((part.table.weight > 0).sum())}",
            )
            for part in self.parts
        ]
        header = ("question", "ECE", "bins outside\nthe band")
        return Grid(f"Reliability, {self.ece.name} = {float(self.ece):.4f}", header, rows, self.ece.notes)
